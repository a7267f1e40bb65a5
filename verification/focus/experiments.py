"""Exact second moments against large batched runs, one of which converges in mean only; the list of long experiments.

Run by `fltheory reproduce`, which commits the tables: two minutes on one core with 10,000 replicates; a million where
a CUDA device is there.
"""
import numpy as np

from fltheory.algorithms.fedavg import FedAvg
from fltheory.algorithms.focus import Focus
from fltheory.algorithms.scaffold import Scaffold
from fltheory.laws.memoryless import Bernoulli, Uniform
from fltheory.laws.modes import Markov
from fltheory.laws.weighted import Weighted
from fltheory.operators.operator import derive
from fltheory.optima import optimum
from fltheory.report.figures import COLOURS, Figure, canvas
from fltheory.runs import run
from fltheory.scalars import FLOAT
from verification.focus.instances import line, plane
from verification.focus.reconstructions import fig4, fig9

LEVEL = 0.999
RARE = Bernoulli(("9/10", "1/2", "1/20"))
SPREAD, EQUAL = line((1, 3, 10), (1, -1, 2)), line((1, 1, 1), (1, -1, 2))
BY_WAITING = "mean only: h=(1,3,10), eta=.01"
# name -> (algorithm, problem, law, rounds): mean-square growth or decay along the trajectory
MOVING = {
    BY_WAITING: (Focus("1/100", 1), SPREAD, RARE, 200),
    "the same with tau=5": (Focus("1/100", 5), SPREAD, RARE, 200),
    "eta=.6, no memory": (Focus("3/5", 1), EQUAL, Bernoulli(["1/2"] * 3), 20),  # heavy tails: later, samples miss them
    "eta=.6, correlation .6": (Focus("3/5", 1), EQUAL, Markov("1/2", "3/5", 3), 20),
    "plane, one of three": (Focus("1/20", 4), plane(), Uniform(1), 60),
    "SCAFFOLD, plane, one of three": (Scaffold("1/20", 4), plane(), Uniform(1), 60),
}
# name -> (algorithm, problem, law, noise, rounds): stationary error
RESTING = {
    "FedAvg, one of two, q=(.9,.1)": (FedAvg("1", 1), line(["1/10"] * 2, (1, -1)), Weighted(1, ("9/10", "1/10")), None,
                                      120),
    "FedAvg, plane, two of three": (FedAvg("1/20", 4), plane(), Uniform(2), None, 120),
    "SG-FOCUS, three equal clients": (Focus("1/20", 2), EQUAL, Bernoulli(("9/10", "1/2", "1/5"), "redraw"), "1/2", 240),
    "SG-FOCUS, plane, one of three": (Focus("1/20", 4), plane(), Uniform(1), "1/2", 160),
    "SG-FOCUS, correlation .6": (Focus("1/5", 1), EQUAL, Markov("1/2", "3/5", 3), "1/2", 160),
}
POINTS = 20  # rounds of a trajectory that are recorded


def _device():
    import torch
    return ("cuda", 1_000_000) if torch.cuda.is_available() else ("cpu", 10_000)


def _measured(found, instance, quantity, when, op, predicted, trace):
    return {"instance": instance, "quantity": quantity, "round": when, "predicted": float(predicted),
            "measured": found.value, "half_width": found.half_width, "mean_rate": op.rate(),
            "mean_square_rate": op.mean_square_rate(), "replicates": trace.replicates, "device": trace.device,
            "audit": trace.audit}


def _moving(name, device, replicates):
    algorithm, problem, law, rounds = MOVING[name]
    best = FLOAT.array(optimum(problem).x)
    start = best + 1
    op = derive(algorithm, problem, law)
    trace = run(algorithm, problem, law, rounds=rounds, replicates=replicates, seed=7, x0=start, device=device,
                metrics={"shift": lambda x: x[..., 0] - best[0]})
    exact = list(op.trajectory(rounds + 1, start))
    for r in range(rounds // POINTS, rounds + 1, rounds // POINTS):  # all start at the same point
        mean, second = exact[r]
        square = np.trace(second) - 2 * best @ mean + best @ best
        yield _measured(trace.interval(r, level=LEVEL), name, "E|x-x*|^2", r, op, square, trace)
        yield _measured(trace.interval(r, "shift", LEVEL), name, "E(x-x*)_1", r, op, mean[0] - best[0], trace)


def _resting(name, device, replicates):
    algorithm, problem, law, noise, rounds = RESTING[name]
    op = derive(algorithm, problem, law, noise=noise)
    trace = run(algorithm, problem, law, rounds=rounds, replicates=replicates, seed=8, noise=noise, device=device,
                x0=op.fixed_point().x)
    return _measured(trace.floor(level=LEVEL), name, "floor", rounds, op, op.floor(), trace)


def moments_data():
    """Exact E|x - x*|^2 and E x along trajectories and exact floors, beside means of the runs with 99.9 % intervals."""
    device, replicates = _device()
    rows = [row for name in MOVING for row in _moving(name, device, replicates)]
    return rows + [_resting(name, device, replicates) for name in RESTING]


ABOVE = {"fontsize": 7, "frameon": False, "loc": "lower left", "bbox_to_anchor": (0, 1)}  # the curves fill the panels


def _chosen(rows, quantity, *names):
    return {n: [r for r in rows if r["quantity"] == quantity and r["instance"] == n] for n in names}


def _numbers(rows):
    return [np.array([r[k] for r in rows]) for k in ("round", "predicted", "measured", "half_width")]


def _trajectory(ax, rows, colour, label):
    x, exact, seen, half = _numbers(rows)
    ax.plot(x, exact, color=colour, label=label)
    ax.errorbar(x, seen, yerr=[np.minimum(half, 0.95 * seen), half], fmt="o", mfc="none", ms=4, lw=1, color=colour)


def moments_draw(rows):
    figure, ((moving, mean), (memory, floor)) = canvas(2, 2, width=4.4, height=2.8)
    pairs = ((moving, (BY_WAITING, "the same with tau=5")), (memory, ("eta=.6, no memory", "eta=.6, correlation .6")))
    for ax, names in pairs:
        for colour, (name, mine) in zip(COLOURS, _chosen(rows, "E|x-x*|^2", *names).items(), strict=False):
            _trajectory(ax, mine, colour, f"{name}: mean-square rate {mine[0]['mean_square_rate']:.4f}")
        ax.set(yscale="log", xlabel="round", ylabel=r"$E\|x-x^\star\|^2$")
        ax.legend(**ABOVE)
    (mine,) = _chosen(rows, "E(x-x*)_1", BY_WAITING).values()
    x, exact, seen, half = _numbers(mine)
    mean.plot(x, exact, color=COLOURS[0], label=f"the first of these: rate of the mean {mine[0]['mean_rate']:.4f}")
    mean.errorbar(x, seen, yerr=half, fmt="o", mfc="none", ms=4, lw=1, color=COLOURS[0])
    mean.set(xlabel="round", ylabel=r"$E\,(x-x^\star)$")
    mean.legend(**ABOVE)
    floors = [r for r in rows if r["quantity"] == "floor"]
    for k, r in enumerate(floors):
        floor.errorbar(r["measured"] / r["predicted"], k, xerr=r["half_width"] / r["predicted"], fmt="o", mfc="none",
                       ms=4, color=COLOURS[0])
    floor.axvline(1, color="black", lw=0.8)
    floor.set(ylim=(len(floors) - 0.5, -0.5), xlabel="measured floor / exact floor")
    floor.set_yticks(range(len(floors)), [r["instance"].replace(", ", ",\n", 1) for r in floors], fontsize=7)
    figure.suptitle(f"FOCUS. Lines: exact moments. Circles: runs of {rows[0]['replicates']:.0f} replicates with 99.9 % "
                    "intervals.", fontsize=8)
    return figure


EXPERIMENTS = {
    "fig4": Figure(fig4.fig4_data, fig4.fig4_draw, "Figure 4 in both set-ups against rounds and traffic, 32 seeds with bands."),
    "fig8": Figure(fig9.fig8_data, fig9.fig8_draw, "Figure 8's substitute: rows of each label per client, bundled digits."),
    "fig9": Figure(fig9.fig9_data, fig9.fig9_draw, "Figure 9's substitute: accuracy at equal and matched steps, 16 seeds."),
    "mifa": Figure(fig4.mifa_data, fig4.mifa_draw, "Why the notebook's MIFA diverges: schedule, error, exact rates."),
    "moments": Figure(moments_data, moments_draw, "Exact second moments and floors beside large batched runs."),
}
