"""FedNova's figures: 2 and 4 regenerated with exact predictions drawn in, and where the methods really converge."""
from pathlib import Path

import numpy as np

from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.vrlsgd import VRLSGD
from fltheory.core.algorithms.fedavg import FedAvg, FedProx
from fltheory.core.laws.draw import everyone
from fltheory.core.laws.memoryless import Full
from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.problems.quadratic import Quadratic
from fltheory.derivation import derive
from fltheory.pictures import (
    COLOURS,
    DIVERGES,
    FIXED_POINT,
    FLOOR,
    GREY,
    NO_DISTANCE,
    PREDICTION,
    RUN,
    canvas,
    distances,
    finish,
    key,
    runs,
)
from fltheory.runs.streams import Stream
from fltheory.verdicts.deciding.tight import tight
from fltheory.verdicts.report.figures import Figure
from verification.fednova import formulas as f
from verification.fednova.formulas import figures as ff

CLIENTS, DIMENSION, PHASES = 30, 10, ((0.05, 600), (0.01, 300), (0.002, 300))  # rounds 600 and 900 divide eta by 5
METHODS = {"FedAvg": FedAvg, "FedProx": lambda lr: FedProx(lr, mu=1), "VRLSGD": VRLSGD, "FedNova": FedNova}
EVERY = 5


def _problem():
    """30 unit quadratics, e_i ~ N(0, 0.01 I); d = 10 is ours, the paper does not print it."""
    e = 0.1 * Stream(2, "fig2", "minimisers").generator().standard_normal((CLIENTS, DIMENSION))
    return Quadratic(np.stack([np.eye(DIMENSION)] * CLIENTS), e)


def _gaussian_steps(label, rounds):
    """(rounds, clients) local steps: Gaussian with mean 30 and s.d. 20 (ours), rounded and clipped to [1, 96]."""
    draws = 30 + 20 * Stream(2, "fig2", label).generator().standard_normal((rounds, CLIENTS))
    return np.clip(np.rint(draws), 1, 96).astype(np.int64)


def _fixed_steps():
    """One draw of step counts with plain mean exactly 30."""
    steps = _gaussian_steps("fixed", 1)[0]
    while steps.sum() != 30 * CLIENTS:
        steps[np.argmax(steps) if steps.sum() > 30 * CLIENTS else np.argmin(steps)] -= np.sign(
            steps.sum() - 30 * CLIENTS)
    return steps


def fig2_data():
    """Squared distance to the optimum every 10 rounds, with the exact fixed point or mean-square floor of each phase."""
    problem, rows = _problem(), []
    p = problem.to(FLOAT)
    best = problem.c.mean(0)
    total = sum(r for _, r in PHASES)
    panels = {"equal": np.full((total, CLIENTS), 30), "fixed": np.tile(_fixed_steps(), (total, 1)),
              "random": _gaussian_steps("random", total)}
    for panel, steps in panels.items():
        for name, make in METHODS.items():
            state, t = None, 0
            for lr, length in PHASES:
                algorithm = make(lr)
                state = algorithm.init(p, np.ones(DIMENSION)) if state is None else state
                predicted = _prediction(panel, make(lr), problem, steps[0], lr, best)
                for _ in range(length):
                    if t % EVERY == 0:
                        rows.append({"panel": panel, "method": name, "round": t, "error": _distance(state.x, best),
                                     "predicted": predicted})
                    if np.abs(state.x).max() < 1e100:  # VRLSGD overflows under random steps, as the paper reports
                        state = algorithm.round(p, state, everyone(CLIENTS, steps[t]))
                    t += 1
    return rows


def _distance(x, best):
    return float(((x - best) ** 2).sum()) if np.abs(x).max() < 1e100 else float("inf")


def _prediction(panel, algorithm, problem, steps, lr, best):
    """Squared bias of the exact fixed point; for random steps the exact mean-square floor of plain averaging."""
    if panel == "random":
        values, chances = ff.clipped_gaussian(30, 20, 1, 96)
        mu = 1 if isinstance(algorithm, FedAvg) and getattr(algorithm.solver, "mu", None) else 0
        if type(algorithm) is not FedAvg:
            return float("nan")
        moved = [1 / (1 + mu) * (1 - (1 - lr * (1 + mu)) ** v) for v in values]
        return ff.random_steps_floor(moved, chances, ((problem.c - best) ** 2).sum(), CLIENTS)
    law = Full(steps=tuple(int(v) for v in steps))
    coordinates = [
        Quadratic([[[1.0]]] * CLIENTS, problem.c[:, j : j + 1]) for j in range(DIMENSION)
    ]  # unit Hessians decouple
    return _distance(np.array([derive(algorithm, q, law).fixed_point().x[0] for q in coordinates]), best)


# FedAvg, VRLSGD and FedNova coincide where all make equal steps: large hollow signs lie under small ones
SIGNS = {"FedAvg": {"color": COLOURS[0], "marker": "o", "markersize": 8}, "FedProx": {"color": COLOURS[1], "marker": "s"},
         "VRLSGD": {"color": COLOURS[3], "marker": "D", "markersize": 5},
         "FedNova": {"color": COLOURS[2], "marker": "^", "markersize": 3.5, "markerfacecolor": COLOURS[2]}}
PANELS = {"equal": ("equal steps, 30", 1, (1e-35, 1e3)), "fixed": ("fixed unequal steps", 16, (3e-7, 5e-3)),
          "random": ("random steps, drawn each round", 6, (2e-9, 2e-2))}    # title, one round in so many shown, range
ROUNDING = 1e-28    # predictions below are those of an exact method in floats


def fig2_draw(rows):
    figure, axes = canvas(3, width=3.5, height=3.5)
    for ax, (name, (title, every, span)) in zip(axes[0], PANELS.items(), strict=True):
        for k, (method, sign) in enumerate(SIGNS.items()):
            mine = [r for r in rows if r["panel"] == name and r["method"] == method]
            seen = [r for r in mine[k * every // len(SIGNS) :: every] if r["error"] < span[1]]     # not all in the same round
            runs(ax, *([r[c] for r in seen] for c in ("round", "error")), zorder=2 + 0.1 * k,
                 **sign if name == "equal" else sign | {"markersize": 3.5})
            _levels(ax, mine, sign["color"], name == "random")
        finish(ax, title, yscale="log", xlabel="round", ylim=span)
    equal, _, random = axes[0]
    equal.set(ylabel=r"$\|x-x^\star\|^2$", xlim=(-2, 62))     # all four reach rounding level within a few rounds
    equal.axhspan(1e-35, ROUNDING, color=GREY, alpha=0.12, lw=0)
    equal.text(2, 3e-29, "rounding", fontsize=8, va="top", color=GREY)
    random.text(0.02, 0.97, "VRLSGD diverges, above this range", fontsize=8, va="top", transform=random.transAxes)
    key(figure, {f"{method}, run": RUN | sign for method, sign in SIGNS.items()}
        | {"exact mean-square floor": FLOOR, r"fixed point: exact $\|x_\infty-x^\star\|^2$": PREDICTION | FIXED_POINT
           | {"linestyle": "-", "color": GREY}}, ncols=3)
    return figure


def _levels(ax, mine, colour, floor):
    """The predicted level of each phase: a line that ends in a fixed point, or dashed where it is a floor."""
    begin = 0
    for _, length in PHASES:
        level = next(r["predicted"] for r in mine if r["round"] >= begin)
        if level > ROUNDING:
            ends = [begin, begin + length]
            ax.plot(ends, [level] * 2, color=colour, zorder=4, **FLOOR | {"linewidth": 2} if floor else PREDICTION)
            if not floor:
                ax.plot(ends[1:], [level], color=colour, zorder=5, **FIXED_POINT)
        begin += length


def fig4_data():
    """Weight bias, slowdown and relative variance of FedProx against alpha; steps N(20, 20 as s.d.) clipped at 1."""
    taus = np.maximum(1, np.rint(20 + 20 * Stream(4, "fig4").generator().standard_normal(CLIENTS))).astype(int)
    p = [1 / CLIENTS] * CLIENTS
    rows = []
    for alpha in np.linspace(0, 1, 101):
        vectors = [f.a_vector("proximal", int(t), float(alpha)) for t in taus]
        norms = [float(f.norm1(a)) for a in vectors]
        tau_eff, w = f.plain_averaging(p, norms)
        A = f.abc(vectors, w, tau_eff)[0]
        rows.append({
                        "alpha": float(alpha),
                        "weight_bias": float(f.chi2(p, w)),
                        "slowdown": float(taus.mean() / tau_eff),
                        "relative_variance": float(A),
                    })
    return [r | {"relative_variance": r["relative_variance"] / rows[0]["relative_variance"]} for r in rows]


def fig4_draw(rows):
    figure, axes = canvas(3, height=2.9)
    alpha = [r["alpha"] for r in rows]
    for ax, (name, label) in zip(axes[0], {"weight_bias": r"weight bias $\chi^2_{p\|w}$", "slowdown":
                                           r"slowdown $\bar\tau/\tau_{\rm eff}$", "relative_variance":
                                           r"relative variance $A(\alpha)/A(0)$"}.items(), strict=True):
        ax.plot(alpha, [r[name] for r in rows], color=COLOURS[0], **PREDICTION)
        finish(ax, label, xlabel=r"$\alpha=\eta\mu$", ylim=(0, None))
    key(figure, {"prediction: the closed forms of FedProx (no run enters)": PREDICTION | {"color": COLOURS[0]}})
    return figure


def map_data():
    """Two unit quadratics at -1 and 1, steps (1, tau): where the mean converges, and how far from the optimum 0."""
    problem, rows = Quadratic([[[1.0]], [[1.0]]], [[1.0], [-1.0]]), []
    for tau in np.unique(np.rint(np.geomspace(1, 128, 22)).astype(int)):
        for lr in np.geomspace(1e-3, 1.9, 34):
            for name in ("FedAvg", "FedProx", "FedNova"):
                op = derive(METHODS[name](float(lr)), problem, Full(steps=(1, int(tau))))
                rate = op.rate()
                rows.append({"method": name, "tau": int(tau), "eta": float(lr), "rate": rate,
                             "bias": abs(float(op.fixed_point().x[0])) if rate < 1 else float("inf")})
    return rows


NOTHING = 1e-12     # distances below are zeros in floats


def map_draw(rows):
    figure, axes = canvas(3, height=3.4, sharey=True)
    for ax, name in zip(axes[0], ("FedAvg", "FedProx", "FedNova"), strict=True):
        mine = [r for r in rows if r["method"] == name]
        eta, tau = (np.array(sorted({r[k] for r in mine})) for k in ("eta", "tau"))
        bias = np.array([r["bias"] for r in mine]).reshape(len(tau), len(eta))
        image = distances(ax, eta, tau, bias, name + (r" ($\mu=1$)" if name == "FedProx" else ""), NOTHING, xlabel=r"$\eta$")
    axes[0][0].set_ylabel(r"$\tau_2$ beside $\tau_1=1$")
    figure.colorbar(image, ax=list(axes[0]), label=r"prediction: $|x_\infty-x^\star|$", extend="max")
    key(figure, {"the fixed point is the optimum: distance 0": NO_DISTANCE,
                 "no fixed point is reached: the mean round diverges": DIVERGES})
    return figure


FIGURES = {
    "fig2": Figure(
        fig2_data, fig2_draw,
        "Figure 2: 30 unit quadratics in 10 dimensions, started at a squared distance of 10; the step size falls by a factor of 5 "
        "at rounds 600 and 900. Markers are single runs, without intervals. With equal steps every fixed point is the optimum, "
        "which is 0 and lies below every logarithmic axis. With random steps the floors of FedAvg and FedProx are exact; none is "
        "derived for FedNova and VRLSGD."),
    "fig4": Figure(
        fig4_data, fig4_draw,
        r"Figure 4: what $\alpha$ does to FedProx with 30 clients whose local steps are Gaussian with mean 20 and standard "
        "deviation 20, clipped at 1."),
    "map": Figure(
        map_data, map_draw,
        r"Where FedAvg, FedProx and FedNova really converge as $\eta$ and the spread of the local steps grow: two clients of "
        r"curvature 1 with minimisers 1 and $-1$, so that $x^\star=0$; distances from the exact operator."),
    "tight": tight(Path(__file__).parent),
}
