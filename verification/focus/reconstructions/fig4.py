"""Figure 4 in both set-ups against rounds and traffic, with predicted mean squares; MIFA's divergence in one picture."""
from fractions import Fraction as Q

import numpy as np

from fltheory.laws.memoryless import Bernoulli
from fltheory.laws.modes import Replay
from fltheory.operators.operator import derive
from fltheory.report.figures import COLOURS, canvas
from fltheory.runs import run
from fltheory.scalars import FLOAT
from verification.focus.bugs.figures import PreviousModelMifa
from verification.focus.formulas import figures as f
from verification.focus.instances import figures as I
from verification.focus.instances import line

LEVEL = 0.999
ROUNDS, SEEDS, EVERY = 300, 32, 10
PREDICTED, KRYLOV = 60, 25               # rounds of the exact second moment; from there on its rate, to about 1 %
LINES = ("FOCUS", "FOCUS, matched step")  # methods with a predicted line
FAR = 1e150                             # diverged: squares would leave the range of float64


def _runs(problem, law, lr, tau):
    digits = I.Digits(problem)
    for name, (algorithm, vectors) in I.methods(lr, tau, isinstance(law, I.Full)).items():
        rounds = 150 if name in ("ProxSkip, late", "MIFA, notebook") else ROUNDS  # these diverge
        trace = run(algorithm, problem, law, rounds=rounds, replicates=SEEDS, seed=4, metrics={"digits": digits})
        for r in range(0, rounds + 1, EVERY):
            i = trace.interval(r, "digits", LEVEL)
            yield {"method": name, "round": r, "vectors": vectors * r, "digits": i.value, "half_width": i.half_width,
                   "predicted": float("nan")}


def _predictions(problem, law, lr, tau):
    """log10 of the root of the exact E|x - x*|^2 over |x*|^2, continued at the mean-square rate."""
    H, b = np.array(problem.H, dtype=float), np.array(problem.b, dtype=float)
    best, both = np.linalg.solve(H.sum(0), b.sum(0)), I.pairs(law)
    for name in LINES:
        algorithm, vectors = I.methods(lr, tau)[name]
        errors, X = f.focus_errors(H, b, algorithm.lr, tau, both, PREDICTED)
        rate, _ = f.focus_rate(H, algorithm.lr, tau, both, X, KRYLOV)
        for r in range(0, ROUNDS + 1, EVERY):
            square = errors[r] if r <= PREDICTED else errors[PREDICTED] * rate ** (r - PREDICTED)
            value = np.log10(max(square, 1e-300) / (best @ best)) / 2
            yield {"method": name, "round": r, "vectors": vectors * r, "digits": float("nan"), "half_width": float("nan"),
                   "predicted": float(max(value, -16))}


def fig4_data():
    """log10 |x - x*|/|x*|: mean over 32 participation seeds with 99.9 % half-widths, and predicted root mean squares."""
    rows = []
    for setup, s in I.SETUPS.items():
        for (panel, law), lr in zip(I.laws().items(), s.lr, strict=True):
            for made in (_runs, _predictions):
                rows += [{"setup": setup, "panel": panel, **row} for row in made(s.problem(), law, lr, s.tau)]
    return rows


STYLES = dict(zip(("FOCUS", "FOCUS, matched step", "SCAFFOLD", "FedAvg", "FedAU", "MIFA", "MIFA, notebook", "ProxSkip, late",
                   "ProxSkip, immediate"),
                  ((COLOURS[0], "-"), (COLOURS[0], ":"), (COLOURS[1], "-"), (COLOURS[2], "-"), (COLOURS[2], ":"),
                   (COLOURS[3], "-"), (COLOURS[3], ":"), (COLOURS[4], ":"), (COLOURS[4], "-")), strict=True))


def _panel(ax, rows, axis, names):
    for name in names:
        mine = [r for r in rows if r["method"] == name]
        seen, exact = ([r for r in mine if r[k] == r[k]] for k in ("digits", "predicted"))
        colour, style = STYLES[name]
        x, y, h = (np.array([r[k] for r in seen]) for k in (axis, "digits", "half_width"))
        ax.plot(x, y, color=colour, ls=style, lw=1.2, label=name)
        ax.fill_between(x, y - h, y + h, color=colour, alpha=0.15, lw=0)
        if exact:
            ax.plot([r[axis] for r in exact], [r["predicted"] for r in exact], color="black", lw=0.7, ls=(0, (4, 3)),
                    label="predicted root mean square" if name == "FOCUS" else None)
    ax.set(ylim=(-16.5, 3.5), xlabel="round" if axis == "round" else "vectors sent per participating client")


def fig4_draw(rows):
    figure, axes = canvas(3, 4, width=3.6, height=2.7)
    for k, setup in enumerate(I.SETUPS):
        for column, panel in enumerate(I.PANELS):
            mine = [r for r in rows if (r["setup"], r["panel"]) == (setup, panel)]
            for j, axis in enumerate(("round", "vectors")):
                ax = axes[2 * k + j][column]
                _panel(ax, mine, axis, [n for n in STYLES if j == 0 or "matched" not in n])
                ax.set_xlim(0, ROUNDS if axis == "round" else 2 * ROUNDS)
                ax.set_title(f"{setup}: {panel}", fontsize=8)
                if column == 0:
                    ax.set_ylabel(r"mean of $\log_{10}\|x-x^\star\|/\|x^\star\|$", fontsize=8)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=4, loc="outside lower center", fontsize=8)
    figure.suptitle("Ridge regressions of Figure 4; 32 participation seeds, bands 99.9 %", fontsize=10)
    return figure


# ---- MIFA -------------------------------------------------------------------------------------------------
ABSENT = range(5, 15)  # rounds without the second client
CHANCES = tuple(Q(k, 20) for k in range(2, 21))


def _schedule():
    """x, and what the absent client's stored update moves it by, two clients with minimisers 1 and -1."""
    problem = line((1, 1), (1, -1))
    law = Replay([([0] if r in ABSENT else [0, 1], None) for r in range(20)])
    for name, algorithm in (("MIFA", I.Mifa(0.1, 3)), ("previous local model", PreviousModelMifa(0.1, 3))):
        trace = run(algorithm, problem, law, rounds=20, x0=[2], metrics={"x": lambda x: x[..., 0]})
        yield from ({"panel": "schedule", "method": name, "at": r, "value": v, "half_width": 0.0}
                    for r, v in enumerate(trace.mean("x").tolist()))


def _rates():
    problem = line((1, 1, 2, 2), (1, -1, 2, 0))
    for p in CHANCES:
        law = I.Full() if p == 1 else Bernoulli([p] * 4)
        for name, algorithm in (("MIFA", I.Mifa("1/10", 3)), ("previous local model", PreviousModelMifa("1/10", 3))):
            yield {"panel": "rate", "method": name, "at": float(p), "value": derive(algorithm, problem, law).mean_square_rate(),
                   "half_width": 0.0}


def _errors():
    s = I.SETUPS["as stated"]
    law, made, digits = I.laws()["4 of 16, uniform"], I.methods(s.lr[0], s.tau), I.Digits(s.problem())
    for name, label in (("MIFA", "MIFA"), ("MIFA, notebook", "previous local model"), ("FedAvg", "FedAvg")):
        trace = run(made[name][0], s.problem(), law, rounds=60, replicates=SEEDS, seed=4, metrics={"digits": digits})
        for r in range(0, 61, 2):
            i = trace.interval(r, "digits", LEVEL)
            yield {"panel": "error", "method": label, "at": r, "value": i.value, "half_width": i.half_width}
    everybody = derive(made["FedAvg"][0], s.problem(), I.Full(), domain=FLOAT).fixed_point().x
    gap = np.linalg.norm(everybody - digits.best) / np.linalg.norm(digits.best)
    yield {"panel": "error", "method": "FedAvg with everybody, fixed point", "at": 0, "value": float(np.log10(gap)),
           "half_width": 0.0}


def mifa_data():
    return [*_schedule(), *_errors(), *_rates()]


def mifa_draw(rows):
    figure, axes = canvas(3, width=3.7, height=3.1)
    colours = dict(zip(("MIFA", "previous local model", "FedAvg"), (COLOURS[0], COLOURS[1], COLOURS[2]), strict=True))
    for ax, panel in zip(axes[0], ("schedule", "error", "rate"), strict=True):
        mine = [r for r in rows if r["panel"] == panel]
        for name, colour in colours.items():
            x, y, h = (np.array([r[k] for r in mine if r["method"] == name]) for k in ("at", "value", "half_width"))
            if panel == "rate" and len(x):  # at p = 1 it jumps
                ax.plot(x[-1:], y[-1:], "o", color=colour, ms=4, mfc="none" if name == "MIFA" else None)
                x, y, h = x[:-1], y[:-1], h[:-1]
            if len(x):
                ax.plot(x, y, color=colour, marker="o" if panel == "schedule" else None, ms=3, lw=1.3, label=name)
                ax.fill_between(x, y - h, y + h, color=colour, alpha=0.2, lw=0)
        for r in mine:
            if "fixed point" in r["method"]:
                ax.axhline(r["value"], color="black", lw=0.8, ls="--", label=r["method"].replace(", ", ",\n"))
    first, error, rate = axes[0]
    first.axvspan(ABSENT.start, ABSENT.stop, color="grey", alpha=0.15, lw=0)
    first.text((ABSENT.start + ABSENT.stop) / 2, 0.97, "client 2 absent", fontsize=8, ha="center", va="top",
               transform=first.get_xaxis_transform())
    first.set(xlabel="round", ylabel=r"server model $x$")
    first.set_title("The stored change is added again\nin every round of absence", fontsize=9)
    error.set(xlabel="round", ylabel=r"mean of $\log_{10}\|x-x^\star\|/\|x^\star\|$")
    error.set_title("Figure 4, 4 of 16, uniform", fontsize=9)
    rate.axhline(1, color="black", lw=0.8)
    rate.set(xlabel="probability of taking part, four clients", ylabel="mean-square rate per round")
    rate.set_title("Exact rates; at p = 1 both are FedAvg", fontsize=9)
    for ax in axes[0][:2]:
        ax.legend(fontsize=7)
    return figure
