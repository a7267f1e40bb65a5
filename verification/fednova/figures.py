"""FedNova's figures: 2 and 4 regenerated with exact predictions drawn in, and where the methods really converge."""
import numpy as np

from fltheory.algorithms.fedavg import FedAvg, FedProx
from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.vrlsgd import VRLSGD
from fltheory.laws.draw import everyone
from fltheory.laws.memoryless import Full
from fltheory.operators.operator import derive
from fltheory.problems.quadratic import Quadratic
from fltheory.report.figures import COLOURS, Figure, canvas
from fltheory.scalars import FLOAT
from fltheory.streams import Stream
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
            steps.sum() - 30 * CLIENTS
        )
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


def fig2_draw(rows):
    figure, axes = canvas(3)
    for ax, (panel, title) in zip(axes[0], {"equal": "equal steps, 30", "fixed": "fixed unequal steps", "random":
                                            "random steps each round"}.items(), strict=True):
        for colour, name in zip(COLOURS, METHODS, strict=False):
            mine = [r for r in rows if r["panel"] == panel and r["method"] == name]
            x, y = ([r[k] for r in mine] for k in ("round", "error"))
            shown = [(a, b) for a, b in zip(x, y, strict=True) if b < 10]
            ax.plot(*zip(*shown, strict=True), color=colour, lw=1, marker="o", ms=2, markevery=6, label=name)
            predicted = [r["predicted"] if r["predicted"] > 1e-28 else np.nan for r in mine]
            ax.plot(x, predicted, color=colour, ls="--", lw=1.2)
        ax.set(yscale="log", title=title, xlabel="round", ylim=(1e-34 if panel == "equal" else 1e-9, 20))
    axes[0][0].set_ylabel(r"$\|x-x^\star\|^2$")
    axes[0][0].set_xlim(0, 60)  # all four reach rounding level within a few rounds
    axes[0][2].legend(ncols=2, fontsize=7)
    axes[0][2].text(
        0.02, 0.03, "VRLSGD overflows within a few dozen rounds", transform=axes[0][2].transAxes, fontsize=7
    )
    figure.suptitle("Markers: runs. Dashed: exact fixed point (left, middle) or mean-square floor (right).", fontsize=8)
    return figure


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
        rows.append(
            {
                "alpha": float(alpha),
                "weight_bias": float(f.chi2(p, w)),
                "slowdown": float(taus.mean() / tau_eff),
                "relative_variance": float(A),
            }
        )
    return [r | {"relative_variance": r["relative_variance"] / rows[0]["relative_variance"]} for r in rows]


def fig4_draw(rows):
    figure, axes = canvas(3)
    alpha = [r["alpha"] for r in rows]
    for ax, (key, label) in zip(axes[0], {"weight_bias": r"weight bias $\chi^2_{p\|w}$", "slowdown":
                                          r"slowdown $\bar\tau/\tau_{\rm eff}$", "relative_variance":
                                          r"relative variance $A(\alpha)/A(0)$"}.items(), strict=True):
        ax.plot(alpha, [r[key] for r in rows], color=COLOURS[0])
        ax.set(xlabel=r"$\alpha=\eta\mu$", title=label)
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


def map_draw(rows):
    from matplotlib.colors import LogNorm
    figure, axes = canvas(3, height=3)
    for ax, name in zip(axes[0], ("FedAvg", "FedProx", "FedNova"), strict=True):
        mine = [r for r in rows if r["method"] == name]
        eta, tau = (sorted({r[k] for r in mine}) for k in ("eta", "tau"))
        bias = np.array([r["bias"] for r in mine]).reshape(len(tau), len(eta))
        shown = np.where(np.isfinite(bias), np.maximum(bias, 1e-4), np.nan)
        image = ax.pcolormesh(eta, tau, shown, norm=LogNorm(1e-4, 1), cmap="viridis", shading="nearest")
        ax.contourf(eta, tau, ~np.isfinite(bias), levels=[0.5, 1.5], colors="none", hatches=["////"])
        ax.set(xscale="log", yscale="log", xlabel=r"$\eta$", title=name + (r" ($\mu=1$)" if name == "FedProx" else ""))
    axes[0][0].set_ylabel(r"$\tau_2$ beside $\tau_1=1$")
    figure.colorbar(image, ax=list(axes[0]), label="fixed point to optimum")
    figure.suptitle("Hatched: the mean round diverges.", fontsize=8)
    return figure


FIGURES = {
    "fig2": Figure(fig2_data, fig2_draw, "Figure 2 with exact fixed points and floors drawn in."),
    "fig4": Figure(fig4_data, fig4_draw, "Figure 4: FedProx against alpha, closed forms."),
    "map": Figure(
        map_data, map_draw, "Where FedAvg, FedProx and FedNova really converge as eta and the spread of steps grow."
    ),
}
