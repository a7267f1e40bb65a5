"""FOCUS's figures: the printed matrices, where FOCUS is stable, and the printed bounds beside exact values and runs.

The paper's own Figures 1-3 and 5-7 are diagrams; `fig1` holds their matrices and the other figures are ours.
"""
from fractions import Fraction as Q

import numpy as np

from fltheory.algorithms.focus import Focus
from fltheory.laws.memoryless import Bernoulli, Uniform
from fltheory.laws.modes import Markov
from fltheory.operators.operator import derive
from fltheory.operators.stability import stable_steps
from fltheory.report.figures import COLOURS, Figure, canvas
from fltheory.runs import run
from verification.focus import figures_floors as floors
from verification.focus import table1
from verification.focus.formulas import lemmas, matrices, stability
from verification.focus.instances import line
from verification.focus.panels import columns, finish, markers, note, pick, run_row

SPREAD, P = (1, 3, 10), (Q(9, 10), Q(1, 2), Q(1, 20))
CENTRES = (1, -1, 2)


# ---- Figure 1: the matrices of S = {1, 3} -----------------------------------------------------------------
EXAMPLE = {"R, assign": matrices.assign, "A, average": matrices.average, "C, collect": matrices.collect,
           "W, formula": matrices.mixing, "W, as drawn": matrices.mixing_of_the_figure}


def fig1_data():
    """Entries of the five matrices for S = {1, 3}, N = 4."""
    present = matrices.indicators((1, 3), 4)
    return [{"matrix": name, "row": i, "column": j, "value": float(v)} for name, build in EXAMPLE.items()
            for i, entries in enumerate(build(present)) for j, v in enumerate(entries)]


def fig1_draw(rows):
    figure, axes = canvas(5, width=2.05, height=2.6)
    for ax, name in zip(axes[0], EXAMPLE, strict=True):
        values = np.array([r["value"] for r in pick(rows, matrix=name)]).reshape(5, 5)
        ax.imshow(values, cmap="Blues", vmin=0, vmax=1.3)
        for (i, j), v in np.ndenumerate(values):
            if v:
                ax.text(j, i, str(Q(v).limit_denominator(10)), ha="center", va="center", fontsize=8,
                        color="white" if v > 0.8 else "black")
        ax.grid(False)
        finish(ax, name, xticks=range(5), yticks=range(5))
        ax.tick_params(length=0)
    return note(figure, "$S=\\{1,3\\}$ of four clients; row and column 0 are the server's. "
                 "The drawn $W$ has 1/3 where its formula says 1/2.")


# ---- stability --------------------------------------------------------------------------------------------
EQUAL = (1, 2, 4)


def stability_data():
    """Both rates over (eta, p_3) for h = (1, 3, 10), p = (.9, .5, p_3), tau = 1; and the limits of eta N h of N equal
    clients: closed forms, and crossings of the derived rates at some p."""
    rows, problem = [], line(SPREAD, CENTRES)
    for p in np.geomspace(0.01, 1, 22):
        law = Bernoulli((*P[:2], float(p)))
        for eta in np.geomspace(1e-3, 0.4, 30):
            op = derive(Focus(float(eta), 1), problem, law)
            rows.append({"panel": "map", "N": 3, "p": float(p), "eta": float(eta), "mean": op.rate(),
                         "mean_square": op.mean_square_rate()})
    for n in EQUAL:
        for p in np.linspace(0.05, 1, 39):
            mean = stability.mean_threshold(p) if n == 1 else float("nan")
            rows.append({"panel": "limit", "N": n, "p": float(p), "eta": float("nan"), "mean": float(mean),
                         "mean_square": float(stability.limit_one_step(n, p))})
        for p in (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0):
            rows.append({"panel": "crossing", "N": n, "p": p, "eta": float("nan"),
                         "mean": _crossing(n, p, "mean", 1.2 * stability.mean_threshold(p)) if n == 1 else float("nan"),
                         "mean_square": _crossing(n, p, "mean-square", 1.2 * stability.limit_one_step(n, p))})
    return rows


def _crossing(n, p, measure, up_to):
    """eta N h at the first crossing of the coded round's rate."""
    problem, law = line([1] * n, range(n)), Bernoulli([p] * n)
    return n * stable_steps(Focus(1, 1), problem, law, measure=measure, up_to=up_to / n, points=8).first


def stability_draw(rows):
    from matplotlib.colors import TwoSlopeNorm
    figure, axes = canvas(2, width=4.2, height=3.3)
    left, right = axes[0]
    cells = pick(rows, panel="map")
    eta, p = (np.unique(v) for v in columns(cells, "eta", "p"))
    mean, square = (v.reshape(len(p), len(eta)) for v in columns(cells, "mean", "mean_square"))
    image = left.pcolormesh(eta, p, square, norm=TwoSlopeNorm(1, 0.85, 1.15), cmap="RdBu_r", shading="nearest")
    left.contour(eta, p, square, levels=[1], colors="black", linewidths=1.5)
    left.contour(eta, p, mean, levels=[1], colors="black", linewidths=1.5, linestyles="dashed")
    left.plot(0.01, 0.05, marker="*", ms=9, color="black", ls="none")
    left.annotate("converges in mean,\ndiverges in mean square", (0.01, 0.05), (0.016, 0.0125), fontsize=7,
                  arrowprops={"arrowstyle": "-", "lw": 0.6})
    finish(left, r"$h$ = (1, 3, 10), $p$ = (.9, .5, $p_3$), $\tau=1$", xscale="log", yscale="log",
            xlabel=r"$\eta$", ylabel="$p_3$")
    left.grid(False)
    figure.colorbar(image, ax=left, label="mean-square rate per round", extend="both")
    for colour, n in zip(COLOURS, EQUAL, strict=False):
        circles = {"ls": "none", "marker": "o", "mfc": "none", "ms": 4}
        for panel, style in (("limit", {"ls": "-"}), ("crossing", circles)):
            mine = pick(rows, panel=panel, N=n)
            x, both, m = columns(mine, "p", "mean_square", "mean")
            right.plot(x, both, color=colour, **style, label=f"N={n}, mean square" if panel == "limit" else None)
            if n == 1:
                shown = style | ({"ls": "--"} if panel == "limit" else {})
                right.plot(x, m, color="black", **shown, label="N=1, mean" if panel == "limit" else None)
    finish(right, r"equal clients, $\tau=1$", {}, yscale="log", xlabel="$p$", ylabel=r"limit of $\eta Nh$")
    return note(figure, "Left: solid, mean-square rate 1; dashed, mean rate 1. Right: lines, closed forms; circles, "
                 "crossings of the derived rates.")


# ---- Markov participation ---------------------------------------------------------------------------------
CHAINS = {"h=(1,3,10), p=(.9,.5,.05)": (SPREAD, P), "h=(1,1,1), p=.5": ((1, 1, 1), (Q(1, 2),) * 3),
          "h=(1,2,3), p=.3": ((1, 2, 3), (Q(3, 10),) * 3)}
CORRELATIONS = ("-3/10", "-1/20", "0", "15/100", "3/10", "45/100", "6/10", "7/10", "8/10", "9/10", "95/100", "99/100")


def _first_crossing(problem, law, start):
    """Smallest step found with mean-square rate 1: up from a stable start by a quarter at a time, then refined."""
    from scipy.optimize import brentq

    def rate(lr):
        return derive(Focus(lr, 1), problem, law).mean_square_rate()
    low = start
    while rate(low) >= 1:
        low /= 2
    high = low
    while rate(high) < 1:
        low, high = high, 1.25 * high
    return float(brentq(lambda v: rate(v) - 1, low, high, xtol=1e-12 * high, rtol=1e-12))


def markov_data():
    """First crossing of eta against the correlation of each client's two-state chain, tau = 1; and the closed form of
    one client with h = 1, p = 1/2."""
    rows = []
    for name, (h, p) in CHAINS.items():
        found = None
        for c in CORRELATIONS:
            if Q(c) < max(-min(v, 1 - v) / max(v, 1 - v) for v in p):
                continue  # no chain of this probability is so negatively correlated
            found = _first_crossing(line(h, CENTRES), Markov(p, c, 3), 0.6 * found if found else 0.002)
            rows.append({"instance": name, "correlation": float(Q(c)), "eta": found, "closed_form": float("nan")})
    for c in np.linspace(-0.3, 0.99, 44):
        coded = _first_crossing(line([1], [0]), Markov("1/2", float(c), 1), 0.01)
        rows.append({"instance": "one client, h=1, p=.5", "correlation": float(c), "eta": coded,
                     "closed_form": float(stability.markov_threshold(0.5, c))})
    return rows


def markov_draw(rows):
    figure, axes = canvas(2, width=3.9, height=3)
    left, right = axes[0]
    for colour, name in zip(COLOURS, CHAINS, strict=False):
        x, y = columns(pick(rows, instance=name), "correlation", "eta")
        alone = y[x == 0]
        left.plot(x, y / alone, color=colour, marker="o", ms=3, label=name)
    left.axhline(1, color="black", lw=0.8, ls=":")
    finish(left, "three clients", {"loc": "lower left"}, xlabel="correlation from round to round",
            ylabel="largest stable $\\eta$ / that without memory")
    x, y, formula = columns(pick(rows, instance="one client, h=1, p=.5"), "correlation", "eta", "closed_form")
    right.plot(x, formula, color="black", label="closed form")
    right.plot(x[::4], y[::4], color=COLOURS[0], marker="o", ls="none", mfc="none",
               label="crossing of the derived rate")
    finish(right, "one client, $p=1/2$", {}, xlabel="correlation from round to round", ylabel=r"limit of $\eta h$")
    return note(figure, r"FOCUS, $\tau=1$, mean square. Memory shrinks the range of steps, or enlarges it.")


# ---- Theorem 1 --------------------------------------------------------------------------------------------
SC_CASES = {"one of two clients": ((1, 2), Uniform(1)), "rare client": ((1, 2), Bernoulli((1, Q(1, 4)), "redraw"))}
SC_ROUNDS, SC_TAU, SC_EVERY, SC_REPLICATES, SC_START = 240, 3, 8, 512, 2


def theorem1_data():
    """E|x_R - x*|^2 of FOCUS at the largest step of Theorem 1 from the literal start: exact, run, and the bound with
    the appendix weight, rate^(R-1) Psi_1, from round 1 on."""
    rows = []
    for name, (h, law) in SC_CASES.items():
        mu, L, N, q = min(h), max(h), len(h), min(law.averaging_weights(len(h)))
        largest = float(lemmas.admissible(lemmas.steps_strongly_convex(N, L, mu, q, SC_TAU))) ** 0.5
        eta = float(Q(largest * (1 - 1e-9)).limit_denominator(10**6))
        problem = line(h, (1, -1))
        best = (h[0] - h[1]) / (h[0] + h[1])
        algorithm, x0 = Focus(eta, SC_TAU), [SC_START]
        exact = [float(second[0, 0] - 2 * best * mean[0] + best**2) for mean, second in
                 derive(algorithm, problem, law).trajectory(SC_ROUNDS + 1, x0)]
        weight = float(lemmas.weight_of_the_appendix(eta, L, N, mu))
        first = exact[1] + weight * sum((SC_START - c) ** 2 for c in (1, -1))  # z_i = c_i where no gradient is stored
        rate = float(lemmas.strongly_convex_rate(eta, mu, N))
        trace = run(algorithm, problem, law, rounds=SC_ROUNDS, replicates=SC_REPLICATES, seed=1, x0=x0)
        for r in range(1, SC_ROUNDS + 1, SC_EVERY):
            rows.append({"instance": name, "eta": eta, "round": r, "exact": exact[r], "bound": rate ** (r - 1) * first,
                         **run_row(trace.interval(r))})
    return rows


def theorem1_draw(rows):
    figure, axes = canvas(2, width=3.7, height=3)
    for ax, name in zip(axes[0], SC_CASES, strict=True):
        mine = pick(rows, instance=name)
        x, exact, bound, seen, half = columns(mine, "round", "exact", "bound", "run", "half_width")
        ax.plot(x, bound, color=COLOURS[1], ls="--", label=r"bound $(1-\eta\mu N/2)^{R-1}\Psi_1$")
        ax.plot(x, exact, color=COLOURS[0], label="exact")
        markers(ax, x[::3], seen[::3], half[::3], COLOURS[0], "run, 99.9 % interval")
        finish(ax, f"{name}, $\\eta$ = {mine[0]['eta']:.4g}", {}, yscale="log", xlabel="round $R$")
    axes[0][0].set_ylabel(r"$E\|x_R-x^\star\|^2$")
    axes[0][1].get_legend().remove()
    return figure


# ---- local steps ------------------------------------------------------------------------------------------
DAMPING_STEPS = (0.005, 0.01, 0.02)


def damping_data():
    """Both rates of FOCUS on h = (1, 3, 10), p = (.9, .5, .05) for tau = 1 to 20."""
    problem, law, rows = line(SPREAD, CENTRES), Bernoulli(P), []
    for eta in DAMPING_STEPS:
        for tau in range(1, 21):
            op = derive(Focus(eta, tau), problem, law)
            rows.append({"eta": eta, "tau": tau, "mean": op.rate(), "mean_square": op.mean_square_rate()})
    return rows


def damping_draw(rows):
    figure, axes = canvas(1, width=5.2, height=3.2)
    ax = axes[0][0]
    for colour, eta in zip(COLOURS, DAMPING_STEPS, strict=False):
        tau, mean, square = columns(pick(rows, eta=eta), "tau", "mean", "mean_square")
        ax.plot(tau, square, color=colour, marker="o", ms=3, label=rf"$\eta={eta:g}$, mean square")
        ax.plot(tau, mean**2, color=colour, ls="--", lw=1, label=rf"$\eta={eta:g}$, mean, squared")
    ax.axhline(1, color="black", lw=0.8)
    finish(ax, r"FOCUS, $h$ = (1, 3, 10), $p$ = (.9, .5, .05)",
            {"ncols": 3, "loc": "upper center", "bbox_to_anchor": (0.5, -0.2)},
            xlabel=r"local steps $\tau$", ylabel="rate per round", xticks=[1, 5, 10, 15, 20])
    return figure


FIGURES = {
    "fig1": Figure(fig1_data, fig1_draw, "The matrices of the printed example; W by formula and as drawn."),
    "stability": Figure(stability_data, stability_draw, "Where FOCUS converges in mean and in mean square."),
    "table1": Figure(table1.table1_data, table1.table1_draw,
                     "Table 1 computed on quadratics: every method under every kind of participation."),
    "markov": Figure(markov_data, markov_draw, "Largest stable step against the correlation of participation."),
    "theorem1": Figure(theorem1_data, theorem1_draw, "Theorem 1, strongly convex: bound, exact second moment and run."),
    "theorem3": Figure(floors.theorem3_data, floors.theorem3_draw,
                       "Theorem 3: the printed bound lies below FedAvg's exact floor."),
    "theorem4": Figure(floors.theorem4_data, floors.theorem4_draw,
                       "Theorem 4: exact, measured, first-order and printed floor."),
    "theorem5": Figure(floors.theorem5_data, floors.theorem5_draw,
                       "Theorem 5: the printed floor lies below the exact one for curvature 1000, above it for curvature 1."),
    "theorem6": Figure(floors.theorem6_data, floors.theorem6_draw,
                       "Theorem 6: the printed right side falls below the exact mean squared gradient, and below 0."),
    "damping": Figure(damping_data, damping_draw, "Local steps damp FOCUS: rates against tau."),
}
