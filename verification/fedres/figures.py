"""Figure 1 with its closed forms and coded rounds, and where the variants really converge as the step and K grow."""
from fractions import Fraction

import numpy as np

from fltheory.algorithms.fedresavg import FedResAvg
from fltheory.algorithms.fedresnaive import FedResNaive
from fltheory.algorithms.fedressgd import FedResSgd
from fltheory.core.laws.draw import everyone
from fltheory.core.numbers.scalars import FLOAT
from fltheory.pictures import (
    COLOURS,
    DIVERGES,
    MARKERS,
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
from fltheory.verdicts.report.figures import Figure
from verification.fedres.formulas import figure1 as f
from verification.fedres.instances import figure1, scalar

ETA, LOCAL, ROUNDS = 0.01, (1, 2, 10, 50, 100), 3000
SHOWN = np.unique(np.rint(np.geomspace(1, ROUNDS, 60)).astype(int))
LOWEST = 1e-8     # losses below are not shown, and coded ones are what rounding leaves
CODED = (1, 3, 10, 30, 100)       # rounds of which the coded algorithm is run
VARIANTS = {"FedResNaive, simultaneous": lambda lr, K: FedResNaive(lr, K, personal_lr=lr, order="sim"),
            "FedResNaive, sequential": lambda lr, K: FedResNaive(lr, K, personal_lr=lr, order="seq"),
            "FedResSGD": lambda lr, K: FedResSgd(lr, K, personal_lr=lr),
            "FedResAvg, Option I": lambda lr, K: FedResAvg(lr, K, personal_lr=lr, option=1),
            "FedResAvg, Option II": lambda lr, K: FedResAvg(lr, K, personal_lr=lr, option=2)}


def start():
    """(w, theta_1, theta_2), drawn from N(0, 0.1), read as a variance."""
    return np.sqrt(0.1) * Stream(1, "fedres", "fig1").generator().standard_normal(3)


def predicted(name, K, rounds=ROUNDS):
    """(u (rounds + 1,), loss, w) by the closed forms; w where the formulas have it, else nan."""
    w, theta_1, theta_2 = start()
    r, q = np.arange(rounds + 1), f.shrink(ETA, K)
    if name == "FedResAvg, Option II":
        block, at = np.array(f.option2_block(K, ETA, ETA)), np.array([w + theta_1, 10.0])
        path = [at] + [at := block @ at for _ in range(rounds)]
        u = np.array(path)[:, 0]
    else:
        order = "sim" if "simul" in name else "seq"
        rest, factor = {"FedResSGD": (0.0, f.sgd_factor(K, ETA, ETA)),
                        "FedResAvg, Option I": (f.option1(K, ETA, ETA), f.option1_factor(K, ETA, ETA))}.get(name) or (
            f.naive_sim(K, ETA, ETA) if order == "sim" else f.naive_seq(K, ETA, ETA), f.naive_factor(K, ETA, ETA, order))
        u = rest + factor**r * (w + theta_1 - rest)
    moved = np.cumsum(u[1:] - q * u[:-1]) if "Avg" in name or "SGD" in name else np.full(rounds, np.nan)
    return u, f.loss(u, q**r * theta_2), np.concatenate([[w], w + moved])   # after Step 1 w + theta_1' = q u


def coded(name, K, at=CODED):
    """{round: (loss, w)} of the coded rounds."""
    p, a, (w, *theta) = figure1().to(FLOAT), VARIANTS[name](ETA, K).to(FLOAT), start()
    state = a.init(p, np.array([w]))._replace(theta=np.array(theta)[:, None])
    seen = {}
    for r in range(1, max(at) + 1):
        state = a.round(p, state, everyone(2, K))
        if r in at:
            seen[r] = float(p.joint_value(state.x, state.theta)), float(state.x[0])
    return seen


def fig1_data():
    """Average loss and w by the closed forms, beside the coded rounds where there are some (else nan)."""
    rows = []
    for name in VARIANTS:
        for K in LOCAL:
            _, loss, w = predicted(name, K)
            seen = coded(name, K)
            for r in sorted({*SHOWN.tolist(), *CODED}):
                run = seen.get(r, (float("nan"),) * 2)
                run = (run[0] if run[0] > LOWEST else float("nan"), run[1])
                rows.append({"method": name, "K": K, "round": r, "loss": float(loss[r]), "w": float(w[r]), "run_loss": run[0],
                             "run_w": run[1]})
    return rows


def fig1_draw(rows):
    figure, axes = canvas(3, 2, width=3.5, height=2.8)
    signs = {K: {"color": c, "marker": m} for K, c, m in zip(LOCAL, COLOURS, MARKERS, strict=False)}
    places = list(axes.flat)
    for ax, name in zip(places, VARIANTS, strict=False):
        for K, sign in signs.items():
            _line(ax, [r for r in rows if r["method"] == name and r["K"] == K], "loss", sign)
        finish(ax, name, xscale="log", yscale="log", ylim=(LOWEST, 10), ylabel="average loss" if ax in axes[:, 0] else None)
    for K in (10, 50, 100):
        _line(places[-1], [r for r in rows if r["method"] == "FedResAvg, Option I" and r["K"] == K], "w", signs[K])
    finish(places[-1], r"FedResAvg, Option I: $w$ itself", xscale="log", yscale="log", ylim=(0.02, 2000), ylabel=r"$w$")
    for ax in axes[1]:
        ax.set_xlabel("round")
    key(figure, {"prediction: closed form": PREDICTION, "coded rounds": RUN} | {f"$K={K}$": RUN | sign | {"linestyle": "-"}
                                                                            for K, sign in signs.items()})
    return figure


def _line(ax, mine, what, sign):
    x, line, seen = (np.array([r[k] for r in mine]) for k in ("round", what, f"run_{what}"))
    ax.plot(x, line, color=sign["color"], **PREDICTION)
    runs(ax, x[np.isfinite(seen)], seen[np.isfinite(seen)], **sign)


# ---- the map ---------------------------------------------------------------------------------------------------------
MAPPED = ("FedResNaive, simultaneous", "FedResAvg, Option I", "FedResSGD", "FedResAvg, Option II")


def pair():
    """Two scalar clients whose gradients in w differ at the joint optimum w = 8/7."""
    return scalar((1, Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 8)), (1, 1), (1, 0), (0, -1))


NOTHING = 1e-10     # distances below are zeros in floats


def one_round(algorithm, problem):
    """(M, c) of the affine noiseless round z -> M z + c, z the entries of the state in order: coded rounds of the unit vectors."""
    p, a = problem.to(FLOAT), algorithm.to(FLOAT)
    zero = a.init(p, np.zeros(p.d))
    ends = np.cumsum([0, *(leaf.size for leaf in zero)])
    units = np.concatenate([np.eye(ends[-1]), np.zeros((1, ends[-1]))])
    state = type(zero)(*(units[:, b:e].reshape(-1, *leaf.shape)
                         for b, e, leaf in zip(ends[:-1], ends[1:], zero, strict=True)))
    new = a.round(p, state, everyone(p.n, algorithm.steps))
    rows = np.concatenate([leaf.reshape(len(units), -1) for leaf in new], 1)
    return (rows[:-1] - rows[-1]).T, rows[-1]


def map_data():
    """|w - w*| of the fixed point of the coded round, lambda = eta, and infinite where the round diverges."""
    problem, rows = pair(), []
    best = float(problem.joint_optimum()[0][0])
    for K in np.unique(np.rint(np.geomspace(1, 128, 16)).astype(int)):
        for lr in np.geomspace(1e-3, 4, 31):
            for name in MAPPED:
                M, c = one_round(VARIANTS[name](float(lr), int(K)), problem)
                rate = float(np.abs(np.linalg.eigvals(M)).max())
                bias = abs(float(np.linalg.solve(np.eye(len(c)) - M, c)[0]) - best) if rate < 1 else float("inf")
                rows.append({"method": name, "K": int(K), "eta": float(lr), "rate": rate,
                             "bias": bias if bias > NOTHING else 0.0})
    return rows


def map_draw(rows):
    figure, axes = canvas(len(MAPPED), width=2.9, height=3.3, sharey=True)
    for ax, name in zip(axes[0], MAPPED, strict=True):
        mine = [r for r in rows if r["method"] == name]
        eta, K = (np.array(sorted({r[k] for r in mine})) for k in ("eta", "K"))
        bias = np.array([r["bias"] for r in mine]).reshape(len(K), len(eta))
        image = distances(ax, eta, K, bias, name, xlabel=r"$\eta=\lambda$")
    axes[0][0].set_ylabel(r"$K$")
    figure.colorbar(image, ax=list(axes[0]), label=r"prediction: $|w_\infty-w^\star|$", extend="both")
    key(figure, {"the fixed point is the joint optimum: distance 0": NO_DISTANCE,
                 "no fixed point is reached: the round diverges": DIVERGES})
    return figure


FIGURES = {
    "fig1": Figure(
        fig1_data, fig1_draw,
        r"Figure 1: $\eta=\lambda=0.01$, $\alpha=1$, one start from $N(0,0.1)$; lines are closed forms, markers the coded rounds. "
        r"FedResSGD and Option II reach 0 for every $K$. FedResNaive and Option I stall for $K\geq2$ (the sequential one for "
        r"$K=1$ too) at a loss that grows with $K$; while Option I's loss rests, $w$ and $-\theta_1$ grow without end."),
    "map": Figure(
        map_data, map_draw,
        r"Where the variants really converge as $\eta$ and the number $K$ of local steps grow: two clients with scalar blocks "
        r"$A=(1,1/4)$, $B=(1/2,1/8)$, $C=(1,1)$, $\lambda=\eta$, $\alpha=1$; distances of the fixed point of the coded round from "
        r"the joint optimum."),
}
