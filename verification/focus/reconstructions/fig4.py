"""Figure 4 in both set-ups against rounds and traffic, with predicted mean squares; MIFA's divergence in one picture."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from fltheory.core.laws.memoryless import Bernoulli
from fltheory.core.laws.modes import Replay
from fltheory.core.numbers.scalars import FLOAT
from fltheory.derivation import derive
from fltheory.pictures import COLOURS, FIXED_POINT, GREY, PREDICTION, RUN, canvas, finish, key, runs
from fltheory.runs import run
from verification.focus import setups
from verification.focus.bugs.figures import PreviousModelMifa
from verification.focus.formulas import figures as f
from verification.focus.instances import line

LEVEL = 0.999
ROUNDS, SEEDS, EVERY = 300, 32, 10
PREDICTED, KRYLOV = 60, 25               # rounds of the exact second moment; from there on its rate, to about 1 %
LINES = ("FOCUS", "FOCUS, matched step")  # methods with a predicted line
FAR = 1e150                             # diverged: squares would leave the range of float64


def _runs(problem, law, lr, tau):
    digits = setups.Digits(problem)
    for name, (algorithm, vectors) in setups.methods(lr, tau, isinstance(law, ft.Full)).items():
        rounds = 150 if name in ("ProxSkip, late", "MIFA, notebook") else ROUNDS  # these diverge
        trace = run(algorithm, problem, law, rounds=rounds, replicates=SEEDS, seed=4, metrics={"digits": digits})
        for r in range(0, rounds + 1, EVERY):
            i = trace.interval(r, "digits", LEVEL)
            yield {"method": name, "round": r, "vectors": vectors * r, "digits": i.value, "half_width": i.half_width,
                   "predicted": float("nan")}


def _predictions(problem, law, lr, tau):
    """log10 of the root of the exact E|x - x*|^2 over that of x = 0, the start, continued at the mean-square rate."""
    H, b = np.array(problem.H, dtype=float), np.array(problem.b, dtype=float)
    both = setups.pairs(law)
    for name in LINES:
        algorithm, vectors = setups.methods(lr, tau)[name]
        errors, X = f.focus_errors(H, b, algorithm.lr, tau, both, PREDICTED)
        rate, _ = f.focus_rate(H, algorithm.lr, tau, both, X, KRYLOV)
        for r in range(0, ROUNDS + 1, EVERY):
            square = errors[r] if r <= PREDICTED else errors[PREDICTED] * rate ** (r - PREDICTED)
            value = np.log10(max(square, 1e-300) / errors[0]) / 2
            yield {"method": name, "round": r, "vectors": vectors * r, "digits": float("nan"), "half_width": float("nan"),
                   "predicted": float(max(value, -16))}


def fig4_data():
    """log10 |x - x*|/|x*|: mean over 32 participation seeds with 99.9 % half-widths, and predicted root mean squares."""
    rows = []
    for setup, s in setups.SETUPS.items():
        for (panel, law), lr in zip(setups.laws().items(), s.lr, strict=True):
            for made in (_runs, _predictions):
                rows += [{"setup": setup, "panel": panel, **row} for row in made(s.problem(), law, lr, s.tau)]
    return rows


SIGNS = {name: {"color": COLOURS[k], "marker": marker} for name, k, marker in (
    ("FOCUS", 0, "o"), ("FOCUS, matched step", 5, "s"), ("SCAFFOLD", 1, "D"), ("FedAvg", 2, "^"), ("FedAU", 2, "v"),
    ("MIFA", 3, "P"), ("MIFA, notebook", 3, "p"), ("ProxSkip, late", 4, "<"), ("ProxSkip, immediate", 4, ">"))}
SPARSE = 4     # one recorded round in so many is drawn, each method from a round of its own
LOWEST, HIGHEST = -16.5, 3.5


def _panel(ax, rows, axis, names):
    for k, name in enumerate(names):
        mine, sign = [r for r in rows if r["method"] == name], SIGNS[name]
        exact = [r for r in mine if r["predicted"] > -16]      # the table's values end at rounding
        ax.plot([r[axis] for r in exact], [r["predicted"] for r in exact], color=sign["color"], **PREDICTION)
        seen = [r for r in mine if r["digits"] == r["digits"]]
        stays = seen[-1]["digits"] < HIGHEST
        shown = [r for r in (seen[1 + k % SPARSE :: SPARSE] if stays else seen[1:]) if r["digits"] < HIGHEST]
        x, y, half = (np.array([r[c] for r in shown]) for c in (axis, "digits", "half_width"))
        ax.errorbar(x, y, yerr=half, elinewidth=0.9, capsize=1.5, **RUN | sign)
    finish(ax, ylim=(LOWEST, HIGHEST), xlabel="round" if axis == "round" else "vectors sent per participating client")


def fig4_draw(rows):
    figure, axes = canvas(3, 4, width=3.6, height=2.9, sharey=True)
    for k, setup in enumerate(setups.SETUPS):
        for column, panel in enumerate(setups.PANELS):
            mine = [r for r in rows if (r["setup"], r["panel"]) == (setup, panel)]
            for j, axis in enumerate(("round", "vectors")):
                ax = axes[2 * k + j][column]
                _panel(ax, mine, axis, [n for n in SIGNS if j == 0 or "matched" not in n])
                finish(ax, f"{setup}: {panel}", xlim=(0, 1.02 * ROUNDS * (1 if axis == "round" else 2)))
                if column == 0:
                    ax.set_ylabel(r"mean of $\log_{10}\|x-x^\star\|/\|x^\star\|$")
    key(figure, {f"{name}, prediction": PREDICTION | {"color": SIGNS[name]["color"]} for name in LINES}
        | {f"{name}, run with 99.9 % intervals" if name == "FOCUS" else name: RUN | sign for name, sign in SIGNS.items()}, ncols=4)
    return figure


# ---- MIFA -------------------------------------------------------------------------------------------------
ABSENT = range(5, 15)  # rounds without the second client
CHANCES = tuple(Q(k, 20) for k in range(2, 21))


def _schedule():
    """x, and what the absent client's stored update moves it by, two clients with minimisers 1 and -1."""
    problem = line((1, 1), (1, -1))
    law = Replay([([0] if r in ABSENT else [0, 1], None) for r in range(20)])
    for name, algorithm in (("MIFA", ft.Mifa(0.1, 3)), ("previous local model", PreviousModelMifa(0.1, 3))):
        trace = run(algorithm, problem, law, rounds=20, x0=[2], metrics={"x": lambda x: x[..., 0]})
        yield from ({"panel": "schedule", "method": name, "at": r, "value": v, "half_width": 0.0}
                    for r, v in enumerate(trace.mean("x").tolist()))


def _rates():
    problem = line((1, 1, 2, 2), (1, -1, 2, 0))
    for p in CHANCES:
        law = ft.Full() if p == 1 else Bernoulli([p] * 4)
        for name, algorithm in (("MIFA", ft.Mifa("1/10", 3)), ("previous local model", PreviousModelMifa("1/10", 3))):
            yield {"panel": "rate", "method": name, "at": float(p), "value": derive(algorithm, problem, law).mean_square_rate(),
                   "half_width": 0.0}


def _errors():
    s = setups.SETUPS["as stated"]
    law, made, digits = setups.laws()["4 of 16, uniform"], setups.methods(s.lr[0], s.tau), setups.Digits(s.problem())
    for name, label in (("MIFA", "MIFA"), ("MIFA, notebook", "previous local model"), ("FedAvg", "FedAvg")):
        trace = run(made[name][0], s.problem(), law, rounds=60, replicates=SEEDS, seed=4, metrics={"digits": digits})
        for r in range(0, 61, 2):
            i = trace.interval(r, "digits", LEVEL)
            yield {"panel": "error", "method": label, "at": r, "value": i.value, "half_width": i.half_width}
    everybody = derive(made["FedAvg"][0], s.problem(), ft.Full(), domain=FLOAT).fixed_point().x
    gap = np.linalg.norm(everybody - digits.best) / np.linalg.norm(digits.best)
    yield {"panel": "error", "method": "FedAvg with everybody, fixed point", "at": 0, "value": float(np.log10(gap)),
           "half_width": 0.0}


def mifa_data():
    return [*_schedule(), *_errors(), *_rates()]


def mifa_draw(rows):
    figure, axes = canvas(3, width=3.7, height=3.6)
    signs = {"MIFA": {"color": COLOURS[0]}, "previous local model": {"color": COLOURS[1], "marker": "s"},
             "FedAvg": {"color": COLOURS[2], "marker": "^"}}
    first, error, rate = axes[0]
    for ax, name in zip(axes[0], ("schedule", "error", "rate"), strict=True):
        for method, sign in signs.items():
            mine = [r for r in rows if r["panel"] == name and r["method"] == method]
            x, y, half = (np.array([r[k] for r in mine]) for k in ("at", "value", "half_width"))
            if ax is rate:      # at p = 1 it jumps
                ax.plot(x[:-1], y[:-1], color=sign["color"], **PREDICTION)
                for end in y[-1:]:
                    ax.plot([0.98, 1.02], [end, end], color="black", **PREDICTION)
            elif ax is first and len(x):
                runs(ax, x, y, **sign)
            elif len(x):
                ax.errorbar(x[::2], y[::2], yerr=half[::2], elinewidth=0.9, capsize=1.5, **RUN | sign)
    (limit,) = [r["value"] for r in rows if "fixed point" in r["method"]]
    error.axhline(limit, color="black", **PREDICTION | {"linewidth": 1})
    error.plot([60], [limit], color="black", zorder=4, **FIXED_POINT)
    first.axvspan(ABSENT.start, ABSENT.stop, color=GREY, alpha=0.12, lw=0)
    first.text((ABSENT.start + ABSENT.stop) / 2, 0.97, "client 2 absent", fontsize=8, ha="center", va="top",
               transform=first.get_xaxis_transform())
    rate.axhline(1, color=GREY, lw=0.8, zorder=1)
    rate.text(1.02, 0.42, "both, at $p=1$", fontsize=8, ha="right")
    finish(first, "two clients, one schedule", xlabel="round", ylabel=r"server model $x$")
    finish(error, "Figure 4, 4 of 16, uniform", xlabel="round", ylabel=r"mean of $\log_{10}\|x-x^\star\|/\|x^\star\|$")
    finish(rate, "four clients", ylim=(0.25, 1.5), xlabel="probability $p$ of taking part", ylabel="mean-square rate per round")
    key(figure, {f"{name}, run" + (" with 99.9 % intervals (middle)" if name == "FedAvg" else ""): RUN | sign
                 for name, sign in signs.items()}
        | {f"{name}, prediction": PREDICTION | {"color": signs[name]["color"]} for name in ("MIFA", "previous local model")}
        | {"FedAvg with everybody, predicted fixed point": PREDICTION | FIXED_POINT | {"linestyle": "-", "color": "black"}},
        ncols=3)
    return figure
