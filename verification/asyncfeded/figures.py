"""Figure 1 in style, on the Griewank function; what staleness and K do far from the optimum and near it, against predictions."""
from fractions import Fraction as Q
from math import sqrt

import numpy as np

import fltheory as ft
from fltheory.core.problems.base import Problem, check_weights
from fltheory.pictures import COLOURS, MARKERS, OPTIMUM, PREDICTION, RUN, canvas, finish, key
from fltheory.verdicts.report.figures import Figure
from verification.asyncfeded.formulas.cycle import gamma_cycle
from verification.asyncfeded.formulas.far_field import gamma_star


# ---- Figure 1 ---------------------------------------------------------------------------------------------------------
class Griewank(Problem):
    """f_i(x) = 1 + |x|^2/4000 - cos(x_1) cos(x_2/sqrt 2) + <v_i, x> on the plane; tilt: (n, 2), of sum 0. Floats."""

    _data = ("tilt",)

    def __init__(self, tilt):
        self.tilt = np.asarray(tilt, dtype=float)
        self.n, self.d, self.weights = len(self.tilt), 2, check_weights(None, len(self.tilt))

    def _gradient(self, who, y, sample):
        return slope(y) + self._tilt[who]

    def _values(self, x):
        return height(x)[..., None] + x @ self._tilt.T


def height(x):
    a, b = x[..., 0], x[..., 1] / np.sqrt(2)
    return 1 + (x * x).sum(-1) / 4000 - np.cos(a) * np.cos(b)


def slope(x):
    a, b = x[..., 0], x[..., 1] / np.sqrt(2)
    return x / 2000 + np.stack([np.sin(a) * np.cos(b), np.cos(a) * np.sin(b) / np.sqrt(2)], -1)


TILTS = (-0.35, 0.1), (0.1, -0.3), (0.3, 0.05), (-0.05, 0.15)
START, MOVED = (-1.35, -1.8), (-1.2, -1.55)
STEP, PASSES, LAM, EPS = 0.25, 8, 1, 2


def fig1_data():
    """Local paths of four clients from one stale model, and the server's moves as they arrive, one after the other."""
    problem = Griewank(TILTS).to(ft.FLOAT)
    method = ft.AsyncFedED(STEP, PASSES, lam=LAM, eps=EPS).to(ft.FLOAT)
    rows, y = [], np.tile(START, (4, 1))
    for k in range(PASSES + 1):
        rows += [{"what": "local", "client": i + 1, "k": k, "x": a, "y": b, "loss": float(height(y[i])), "step": 0.0}
                 for i, (a, b) in enumerate(y)]
        y = y - STEP * problem.grad(y)
    draw = ft.everyone(4, PASSES)
    state = method.init(problem, np.array(START), draw)._replace(x=np.array(MOVED))
    for i in range(5):
        before = state.x
        rows.append({"what": "server", "client": i + 1, "k": 0, "x": state.x[0], "y": state.x[1], "loss": float(height(state.x)),
                     "step": 0.0})
        if i < 4:
            state = method.round(problem, state, draw)
            (last,) = pick(rows, what="local", client=i + 1, k=PASSES)
            change = np.array([last["x"], last["y"]]) - START
            rows[-1]["step"] = float(np.linalg.norm(state.x - before) / np.linalg.norm(change))    # eta_g of the arrival
    return rows


def pick(rows, **wanted):
    return [r for r in rows if all(r[k] == v for k, v in wanted.items())]


CLIENTS = [{"color": c, "marker": m} for c, m in zip(COLOURS, MARKERS, strict=False)][:4]


def fig1_draw(rows):
    figure, axes = canvas(2, width=4.3, height=3.8)
    place = axes[0][0].get_subplotspec()
    axes[0][0].remove()
    solid, flat = figure.add_subplot(place, projection="3d"), axes[0][1]
    a, b = np.meshgrid(np.linspace(-2.2, 0.9, 120), np.linspace(-2.4, 0.9, 120))
    values = height(np.stack([a, b], -1))
    solid.plot_surface(a, b, values, cmap="Greys", alpha=0.75, linewidth=0, rcount=60, ccount=60)
    solid.set(xlabel="$x_1$", ylabel="$x_2$", zlabel="$F$")
    solid.view_init(42, -60)
    flat.contourf(a, b, values, levels=18, cmap="Greys", alpha=0.7)
    for i, sign in enumerate(CLIENTS, 1):
        mine = pick(rows, what="local", client=i)
        x, y, z = (np.array([r[k] for r in mine]) for k in ("x", "y", "loss"))
        solid.plot(x, y, z + 0.03, color=sign["color"], linewidth=1.6, zorder=5)
        flat.plot(x, y, color=sign["color"], linewidth=0.9, **{"marker": ".", "markersize": 3})
        _arrow(flat, (x[-2], y[-2]), (x[-1], y[-1]), sign["color"])
    moves = pick(rows, what="server")
    x, y, z = (np.array([r[k] for r in moves]) for k in ("x", "y", "loss"))
    solid.plot(x, y, z + 0.03, color="black", linewidth=1.8, zorder=6)
    for k in range(4):
        _arrow(flat, (x[k], y[k]), (x[k + 1], y[k + 1]), "black")
    steps = ", ".join(f"{m['step']:.2f}" for m in moves[:4])
    flat.text(0.02, 0.04, rf"$\eta_g={steps}$", transform=flat.transAxes, fontsize=8)
    flat.plot(*START, color=COLOURS[1], marker="s", markersize=5, linestyle="none", markeredgecolor="white")
    flat.plot(*MOVED, color="black", marker="s", markersize=5, linestyle="none", markeredgecolor="white")
    flat.plot(0, 0, color="black", **OPTIMUM)
    finish(flat, xlabel="$x_1$", ylabel="$x_2$")
    flat.grid(False)
    key(figure, {f"client {i}, {PASSES} local steps": {"linestyle": "-", "color": s["color"]} for i, s in enumerate(CLIENTS, 1)}
        | {"server, arrival by arrival": {"linestyle": "-", "color": "black"}, "minimum": OPTIMUM | {"color": "black"}})
    return figure


def _arrow(ax, start, end, colour):
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0,
                                            "mutation_scale": 9})


# ---- staleness and K over arrivals ------------------------------------------------------------------------------------
SETTING = {"lam": 5, "eps": 5, "gbar": 3, "kappa": 1}     # Table 4, Synthetic
EQUAL, FAR, NEAR, FIRST = 10, 400, 1000, 10


def linear():
    """Ten clients with one linear loss: as far from an optimum as can be."""
    return ft.Quadratic.from_linear([[[0]]] * EQUAL, [[1]] * EQUAL)


def three():
    """Three quadratics on the line, curvatures 1, .6 and .3, optima -1, -1 and 2."""
    return ft.Quadratic([[["1"]], [["3/5"]], [["3/10"]]], [[-1], [-1], [2]])


def arrivals(problem, method, count, start, steps=FIRST):
    """[(client, gamma, K it made)] of the first arrivals, clients of one speed, by coded rounds in floats."""
    problem, method = problem.to(ft.FLOAT), method.to(ft.FLOAT)
    draw = ft.everyone(problem.n, steps)
    state, out = method.init(problem, np.array([float(start)]), draw), []
    for _ in range(count):
        who = int(state.finish.argmin())
        base, K, before = state.base[who, 0], int(state.K[who]), state.x[0]
        state = method.round(problem, state, draw)
        moved = float(state.x[0] - before)      # eta_g Delta, from which gamma follows: eta_g = lam/(gamma + eps)
        out.append((who, _gamma(abs(before - base), abs(moved), method), K))
    return out


def _gamma(distance, moved, method):
    """gamma from |x - base| and the server's move |Delta| lam/(gamma + eps): gamma^2 |move| + gamma (..) = .."""
    lam, eps = float(method.lam), float(method.eps)
    if moved == 0:
        return 0.0 if distance == 0 else np.inf
    # |Delta| = distance/gamma, so move = lam distance/(gamma (gamma + eps))
    return (-eps + sqrt(eps * eps + 4 * lam * distance / moved)) / 2


def adaptation_data():
    """gamma and K of arrivals, K fixed and adaptive: linear losses, and three quadratics."""
    rows = []
    for panel, clients, lr, start, count, runs in (("far", linear(), Q(1, 20), 0, FAR, (("K = 1", 0, 1), ("K = 10", 0, FIRST),
                                                                                   ("adaptive", 1, FIRST))),
                                              ("near", three(), Q(1, 50), 3, NEAR, (("K = 10", 0, FIRST), ("adaptive", 1, FIRST)))):
        for label, kappa, steps in runs:
            method = ft.AsyncFedED(lr, **SETTING | {"kappa": kappa})
            rows += [{"panel": panel, "method": label, "arrival": t + 1, "client": who, "gamma": gamma, "K": K}
                     for t, (who, gamma, K) in enumerate(arrivals(clients, method, count, start, steps))]
    return rows


FAR_LOOKS = {"K = 1": {"color": COLOURS[4], "marker": "^"}, "K = 10": {"color": COLOURS[1], "marker": "s"},
             "adaptive": {"color": COLOURS[0], "marker": "o"}}


def adaptation_draw(rows):
    figure, axes = canvas(3, 2, width=3.7, height=2.4, sharex="col")
    star, cycle = (f(*v, SETTING["lam"], SETTING["eps"], sqrt) for f, v in ((gamma_star, (EQUAL,)), (gamma_cycle, ())))
    thin = {"markersize": 2.6}
    for k, (label, sign) in enumerate(FAR_LOOKS.items()):
        mine = pick(rows, panel="far", method=label)[k::5]
        axes[0][0].plot([r["arrival"] for r in mine], [r["gamma"] for r in mine], **RUN | sign | thin)
        axes[1][0].plot([r["arrival"] for r in mine], [r["K"] for r in mine], **RUN | sign | thin)
    for c, label in ((1, "K = 10"), (2, "adaptive")):
        for i, sign in enumerate(CLIENTS[:3]):
            mine = [r for r in pick(rows, panel="near", method=label, client=i) if np.isfinite(r["gamma"])][::6 - 3 * (c == 2)]
            axes[0][c].plot([r["arrival"] for r in mine], [max(r["gamma"], 1e-3) for r in mine], **RUN | sign | thin)
            axes[1][c].plot([r["arrival"] for r in mine], [r["K"] for r in mine], **RUN | sign | thin)
    for ax, line in zip(axes[0], (star, cycle, cycle), strict=True):
        ax.axhline(line, color="black", **PREDICTION)
    for ax in axes[0]:
        ax.axhline(SETTING["gbar"], color="black", linewidth=0.9, linestyle=":")
    finish(axes[0][0], rf"ten linear losses, $\gamma^*={star:.2f}$", ylabel=r"$\gamma$", ylim=(0, 8))
    finish(axes[0][1], rf"three quadratics, $K=10$: cycle, $\gamma={cycle:.3f}$", ylim=(0, 8))
    finish(axes[0][2], "three quadratics, adaptive $K$", yscale="log")
    finish(axes[1][0], xlabel="arrival", ylabel="$K$")
    finish(axes[1][1], xlabel="arrival", ylim=(0, 20))
    finish(axes[1][2], xlabel="arrival")
    key(figure, {"prediction: closed form": PREDICTION | {"color": "black"},
                 r"target $\bar\gamma=3$": {"color": "black", "linewidth": 0.9, "linestyle": ":"}}
        | {f"linear, ${n}$" if n != "adaptive" else "linear, adaptive $K$": RUN | s for n, s in FAR_LOOKS.items()}
        | {f"quadratics, client {i + 1}": RUN | s for i, s in enumerate(CLIENTS[:3])})
    return figure


FIGURES = {
    "fig1": Figure(
        fig1_data, fig1_draw,
        r"Figure 1 in style: four clients with tilted Griewank losses make eight steps each from one stale model (orange square). "
        r"The server has moved on (black square) and adds their updates one by one with $\eta_g=\lambda/(\gamma+\varepsilon)$, "
        r"$\lambda=1$, $\varepsilon=2$. Start, steps and tilts are ours; the paper prints none."),
    "adaptation": Figure(
        adaptation_data, adaptation_draw,
        r"Staleness and $K$ with the setting of Table 4 for Synthetic, clients of one speed. Far from the optimum $\gamma$ tends "
        r"to $\gamma^*$, above its target, whatever $K$, and adaptive $K$ falls to 1. Near it, with $K$ fixed, all clients end at "
        r"the $\gamma$ of a cycle, below the target. With adaptive $K$ that of client 3 grows on and on, while the staleness of "
        r"the other two jumps about; marks on the lower edge are $\gamma<10^{-3}$."),
}
