"""How long a round takes: measured tables with their provenance, drawn against clients, dimension and replicates.

Run by `fltheory reproduce verification/engine`. Times belong to one machine; the slopes say how work grows.
"""
import json
import subprocess
from pathlib import Path

import numpy as np

from fltheory.algorithms.scaffold import Scaffold
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.errors import refuse
from fltheory.core.laws.draw import everyone
from fltheory.core.laws.memoryless import Full, Uniform
from fltheory.core.numbers.scalars import FLOAT
from fltheory.derivation import derive
from fltheory.pictures import COLOURS, MARKERS, canvas, finish
from fltheory.runs import run
from fltheory.verdicts.report.figures import Figure
from verification.engine.bench.timing import CLIENTS, DIMENSION, LR, STEPS, least, random_quadratic

AXES = {"clients": (1, 3, 10, 30, 100, 300, 1000, 3000), "dimension": (2, 5, 10, 20, 50, 100, 200, 400),
        "replicates": (1, 4, 16, 64, 256, 1024, 4096)}
SMALL_DIMENSION, FEW_CLIENTS, COHORT, ROUNDS = 20, 50, 10, 4
LABELS = {"clients": "clients ($d=20$, all take part)", "dimension": "dimension (50 clients, all take part)",
          "replicates": "replicates (10 of 100 clients, $d=50$, noise)"}


def _loop(problem, members):
    """A plain numpy loop over some clients, as one writes FedAvg."""
    H, b = problem.to(FLOAT)._H, problem.to(FLOAT)._b
    x = np.ones(problem.d)
    move = 0 * x
    for i in members:
        y = x.copy()
        for _ in range(STEPS):
            y = y - LR * (H[i] @ y - b[i])
        move += (y - x) / len(members)
    return x + move


def _noisy_loop(problem, rng):
    H, b, x, d = problem.H, problem.b, np.ones(problem.d), problem.d
    move = 0 * x
    for i in rng.choice(problem.n, COHORT, replace=False):
        y = x.copy()
        for _ in range(STEPS):
            y = y - LR * (H[i] @ y - b[i] + rng.standard_normal(d) / np.sqrt(d))
        move += (y - x) / COHORT
    return x + move


def _full(problem):
    """[(method, seconds)] of one round in which everybody takes part."""
    algorithm, floats, draw = FedAvg(LR, STEPS).to(FLOAT), problem.to(FLOAT), everyone(problem.n, STEPS)
    state = algorithm.init(floats, np.ones(problem.d))
    M, c = derive(FedAvg(LR, STEPS), problem, Full()).mean_map()
    x, many = np.ones(problem.d), range(200)
    return [("plain loop", least(lambda: _loop(problem, range(problem.n)), 3)),
            ("numpy round", least(lambda: algorithm.round(floats, state, draw), 3)),
            ("derived operator", least(lambda: [M @ x + c for _ in many], 3) / len(many))]


def _drawn(problem, replicates):
    """[(method, seconds for each replicate and round)] of rounds with ten of all clients and noise."""
    rng, rows = np.random.default_rng(0), []
    loops = range(20)
    rows.append(("plain loop", least(lambda: [_noisy_loop(problem, rng) for _ in loops], 3) / len(loops)))
    methods = {"FedAvg": (FedAvg(LR, STEPS), {}), "FedAvg, noise collapsed": (FedAvg(LR, STEPS), {"collapsed": True}),
               "SCAFFOLD": (Scaffold(LR, STEPS), {})}
    for what, (algorithm, options) in methods.items():
        def one(rounds, algorithm=algorithm, options=options):
            return least(lambda: run(algorithm, problem, Uniform(COHORT), rounds, replicates, noise=1, audit=False, **options), 3)
        # what a run costs before its first round is no part of a round
        rows.append((what, max(one(ROUNDS + 1) - one(1), 1e-9) / ROUNDS / replicates))
    return rows


def scaling_data():
    """Seconds of the processor on one thread, least of three."""
    rows = []
    for n in AXES["clients"]:
        rows += [("clients", n, *row) for row in _full(random_quadratic(n, SMALL_DIMENSION))]
    for d in AXES["dimension"]:
        rows += [("dimension", d, *row) for row in _full(random_quadratic(FEW_CLIENTS, d))]
    problem = random_quadratic(CLIENTS, DIMENSION)
    for replicates in AXES["replicates"]:
        rows += [("replicates", replicates, *row) for row in _drawn(problem, replicates)]
    return [dict(zip(("axis", "value", "method", "seconds"), row, strict=True)) for row in rows]


def slope(x, y):
    """Of log y against log x over the upper half of x: the power with which work grows."""
    half = len(x) // 2
    return float(np.polyfit(np.log(x[half:]), np.log(y[half:]), 1)[0])


def draw_scaling(rows):
    figure, axes = canvas(3, 1, width=3.6, height=3.1)
    for ax, (axis, label) in zip(axes[0], LABELS.items(), strict=True):
        methods = list(dict.fromkeys(r["method"] for r in rows if r["axis"] == axis))
        for k, method in enumerate(methods):
            x, y = np.array([(r["value"], r["seconds"]) for r in rows if (r["axis"], r["method"]) == (axis, method)]).T
            ax.plot(x, 1e6 * y, color=COLOURS[k], marker=MARKERS[k], markersize=4, linewidth=1.2,
                    label=f"{method} (slope {slope(x, y):.2f})")
        finish(ax, xscale="log", yscale="log", xlabel=label,
               ylabel="µs per replicate and round" if axis == "replicates" else "µs per round")
        ax.margins(y=0.17 * len(methods))
        ax.legend(fontsize=7.5, frameon=False, loc="upper right" if axis == "replicates" else "upper left")
    return figure


# ---- beside other people's frameworks -------------------------------------------------------------------------
ROOT = Path(__file__).parents[2]


def peers_data():
    """Rows of `fltheory bench --peers`, made in the environment that has the frameworks."""
    python = ROOT / ".venv-frameworks/bin/python"
    if not python.is_file():
        refuse("frameworks", str(python), "is not there, and they are installed nowhere else", "Run .ci/frameworks first.")
    done = subprocess.run([python, "-W", "ignore", "-m", "fltheory", "bench", "--peers", "--json", "--repeats", "7"], cwd=ROOT,
                          check=True, capture_output=True, text=True)
    return [{"what": what, "seconds": seconds} for what, seconds in json.loads(done.stdout) if seconds is not None]


def draw_peers(rows):
    figure, axes = canvas(1, 1, width=8, height=3)
    ax, base = axes[0, 0], next(r["seconds"] for r in rows if r["what"] == "plain Python loop")
    names, times = [r["what"] for r in rows][::-1], [1e3 * r["seconds"] for r in rows][::-1]
    own = [COLOURS[5] if "numpy" in n or "operator" in n else "#bbbbbb" for n in names]
    ax.barh(range(len(rows)), times, color=own, height=0.7)
    for k, t in enumerate(times):
        ax.annotate(f" {t:.3g} ms, {t / 1e3 / base:.3g} of the loop", (t, k), va="center", fontsize=8)
    ax.set_yticks(range(len(rows)), names, fontsize=8)
    finish(ax, xscale="log", xlabel="ms per round", xlim=(min(times) / 2, max(times) * 5000))
    ax.grid(False, axis="y")
    return figure


EXPERIMENTS = {
    "scaling": Figure(scaling_data, draw_scaling, (
        "Seconds of one thread for a round of FedAvg with 5 local steps: a plain Python loop over clients, the coded round in "
        "numpy, and the operator derived from it; right: runs with noise in every local step, for each replicate and round. "
        "Slopes are those of the upper half of each line. Methods with memories hold a state for every client, so that "
        "SCAFFOLD moves more numbers.")),
    "peers": Figure(peers_data, draw_peers, (
        "One round of FedAvg, 100 clients, $d=50$, 5 local steps, in one process on one thread: every round is checked against "
        "the exact operator. Frameworks run through the adapters of ft.adapters, without the processes and messages that they "
        "use otherwise, which is in their favour; they are made to train networks, where their overhead matters less.")),
}
