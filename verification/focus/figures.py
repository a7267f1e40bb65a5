"""FOCUS's figures: the printed matrices, where FOCUS is stable, and the printed bounds beside exact values and runs.

The paper's own Figures 1-3 and 5-7 are diagrams; `fig1` holds their matrices and the other figures are ours.
"""
from fractions import Fraction as Q
from pathlib import Path

import numpy as np

from fltheory.algorithms.focus import Focus
from fltheory.analysis.stability import stable_steps
from fltheory.core.laws.memoryless import Bernoulli, Uniform
from fltheory.core.laws.modes import Markov
from fltheory.derivation import derive
from fltheory.pictures import COLOURS, CROSSING, GREY, PREDICTION, PRINTED, RUN, canvas, finish, key
from fltheory.runs import run
from fltheory.verdicts.deciding.tight import tight
from fltheory.verdicts.report.figures import Figure
from verification.focus import figures_floors as floors
from verification.focus import table1
from verification.focus.formulas import lemmas, matrices, stability
from verification.focus.instances import line
from verification.focus.panels import columns, pick, ran, run_row

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
    figure, axes = canvas(5, width=2.05, height=2.9)
    for ax, name in zip(axes[0], EXAMPLE, strict=True):
        values = np.array([r["value"] for r in pick(rows, matrix=name)]).reshape(5, 5)
        ax.imshow(values, cmap="Blues", vmin=0, vmax=1.3)
        for (i, j), v in np.ndenumerate(values):
            if v:
                ax.text(j, i, str(Q(v).limit_denominator(10)), ha="center", va="center", fontsize=8.5,
                        color="white" if v > 0.8 else "black")
        ax.grid(False)
        finish(ax, name, xticks=range(5), yticks=range(5))
        ax.tick_params(length=0)
    key(figure, {"entry, darker where it is larger; exact, none is measured": {"facecolor": "#6aaed6"},
                 "0": {"facecolor": "#f7fbff", "edgecolor": GREY, "linewidth": 0.5}})
    return figure


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
    figure, axes = canvas(2, width=4.4, height=3.7)
    left, right = axes[0]
    cells = pick(rows, panel="map")
    eta, p = (np.unique(v) for v in columns(cells, "eta", "p"))
    mean, square = (v.reshape(len(p), len(eta)) for v in columns(cells, "mean", "mean_square"))
    image = left.pcolormesh(eta, p, square, norm=TwoSlopeNorm(1, 0.85, 1.15), cmap="RdBu_r", shading="nearest")
    left.contour(eta, p, square, levels=[1], colors="black", linewidths=1.6)
    left.contour(eta, p, mean, levels=[1], colors="black", linewidths=1.6, linestyles="dotted")
    left.plot(0.01, 0.05, marker="P", ms=8, mec="white", color="black", ls="none")
    left.annotate("converges in mean,\ndiverges in mean square", (0.01, 0.05), (0.0055, 0.0125), fontsize=8,
                  arrowprops={"arrowstyle": "-", "lw": 0.6})
    finish(left, r"$h$ = (1, 3, 10), $p$ = (.9, .5, $p_3$)", xscale="log", yscale="log", xlabel=r"$\eta$", ylabel="$p_3$")
    left.grid(False)
    figure.colorbar(image, ax=left, label="mean-square rate", extend="both")
    lines = {}
    for n, colour in zip(EQUAL, COLOURS, strict=False):
        lines[f"N = {n}, mean square"] = "mean_square", n, {"color": colour}
    lines["N = 1, mean"] = "mean", 1, {"color": "black", "linestyle": "dotted"}
    for measure, n, sign in lines.values():
        right.plot(*columns(pick(rows, panel="limit", N=n), "p", measure), **PREDICTION | sign)
        right.plot(*columns(pick(rows, panel="crossing", N=n), "p", measure), **CROSSING | {"color": sign["color"]})
    finish(right, "equal clients", yscale="log", xlabel="$p$", ylabel=r"limit of $\eta Nh$")
    key(figure, {"prediction: mean-square rate is 1 (left)": {"color": "black", "linewidth": 1.6},
                 "prediction: mean rate is 1 (left)": {"color": "black", "linewidth": 1.6, "linestyle": "dotted"},
                 "the instance of the notebook (left)": {"color": "black", "marker": "P", "linestyle": "none"},
                 "where the derived rate is 1 (right)": CROSSING}
        | {f"closed form, {name}": PREDICTION | sign for name, (_, _, sign) in lines.items()}, ncols=2)
    return figure


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
    figure, axes = canvas(2, width=4.2, height=3.5)
    left, right = axes[0]
    signs = {name: {"color": colour} for colour, name in zip(COLOURS, CHAINS, strict=False)}
    for name, sign in signs.items():
        x, y = columns(pick(rows, instance=name), "correlation", "eta")
        left.plot(x, y / y[x == 0], **CROSSING | {"linestyle": ":", "linewidth": 1} | sign)
    left.axhline(1, color=GREY, lw=0.8)
    finish(left, "three clients", xlabel="correlation from round to round",
           ylabel="largest stable $\\eta$,\nrelative to no memory")
    x, y, formula = columns(pick(rows, instance="one client, h=1, p=.5"), "correlation", "eta", "closed_form")
    right.plot(x, formula, color="black", **PREDICTION)
    right.plot(x[::4], y[::4], color="black", **CROSSING)
    finish(right, "one client, $p=1/2$", xlabel="correlation from round to round", ylabel=r"limit of $\eta h$")
    key(figure, {"closed form": PREDICTION | {"color": "black"}, "where the derived rate is 1": CROSSING | {"color": "black"}}
        | {_spaced(name): CROSSING | {"linestyle": ":"} | sign for name, sign in signs.items()}, ncols=3)
    return figure


def _spaced(name):
    """An instance's name as mathematics."""
    h, p = name.split(", ")
    return ", ".join("$" + v.replace("=", "$ = ").replace(",", ", ") for v in (h, p))


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
    figure, axes = canvas(2, width=4, height=3.3)
    for ax, name in zip(axes[0], SC_CASES, strict=True):
        mine = pick(rows, instance=name)
        x, exact, bound = columns(mine, "round", "exact", "bound")
        ax.plot(x, bound, color=COLOURS[1], **PRINTED)
        ax.plot(x, exact, color=COLOURS[0], **PREDICTION)
        ran(ax, mine[::3], "round", COLOURS[0])
        finish(ax, f"{name}, $\\eta$ = {mine[0]['eta']:.4g}", yscale="log", xlabel="round $R$")
    axes[0][0].set_ylabel(r"$E\|x_R-x^\star\|^2$")
    key(figure, {r"printed bound $(1-\eta\mu N/2)^{R-1}\Psi_1$": PRINTED | {"color": COLOURS[1]},
                 "prediction: exact second moment": PREDICTION | {"color": COLOURS[0]},
                 "run with 99.9 % intervals": RUN | {"color": COLOURS[0]}})
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
    figure, axes = canvas(1, width=6.4, height=3.7)
    ax, shown = axes[0][0], {}
    for colour, eta in zip(COLOURS, DAMPING_STEPS, strict=False):
        tau, mean, square = columns(pick(rows, eta=eta), "tau", "mean", "mean_square")
        shown[rf"prediction: mean square, $\eta={eta:g}$"] = sign = PREDICTION | {"color": colour}
        ax.plot(tau, square, **sign)
        shown[rf"prediction: mean, squared, $\eta={eta:g}$"] = sign = sign | {"linestyle": "dotted"}
        ax.plot(tau, mean**2, **sign)
    ax.axhline(1, color=GREY, lw=0.8)
    ax.text(20, 1.001, "diverges above", fontsize=8, ha="right", va="bottom", color=GREY)
    finish(ax, xlabel=r"local steps $\tau$", ylabel="rate per round", xticks=[1, 5, 10, 15, 20])
    key(figure, dict(sorted(shown.items())), ncols=2)
    return figure


FIGURES = {
    "fig1": Figure(
        fig1_data, fig1_draw,
        "The matrices of the printed example, $S=\\{1,3\\}$ of four clients; row and column 0 are the server's. The drawn $W$ has "
        "1/3 where its formula says 1/2."),
    "stability": Figure(
        stability_data, stability_draw,
        r"Where FOCUS with $\tau=1$ converges in mean and in mean square. Left: three clients, one of them rare. Right: the "
        "largest stable step of equal clients."),
    "table1": Figure(table1.table1_data, table1.table1_draw, table1.CAPTION),
    "markov": Figure(
        markov_data, markov_draw,
        r"The largest step at which FOCUS with $\tau=1$ is stable in mean square, against the correlation of participation: memory "
        "shrinks the range of steps, or enlarges it. Dotted lines only guide the eye."),
    "theorem1": Figure(
        theorem1_data, theorem1_draw,
        f"Theorem 1, strongly convex, from the literal start: means over {SC_REPLICATES} replicates."),
    "theorem3": Figure(
        floors.theorem3_data, floors.theorem3_draw,
        r"Theorem 3: the printed bound lies below FedAvg's exact floor. $\mu=L=0.1$, one client a round, "
        r"$q=(0.9,\,0.1)$, $\tau=1$."),
    "theorem4": Figure(
        floors.theorem4_data, floors.theorem4_draw,
        r"Theorem 4: SG-FOCUS with three clients, $h=1$, $p=(0.9,\,0.5,\,0.2)$, $\tau=2$, $\sigma=1/2$. The printed floor lies "
        "far above."),
    "theorem5": Figure(
        floors.theorem5_data, floors.theorem5_draw,
        r"Theorem 5: SG-FOCUS with six clients, one a round, $\tau=1$, $\sigma=1$. The printed floor lies below the exact one for "
        "curvature 1000 (the marked point is a counter-example inside the theorem's steps), above it for curvature 1."),
    "theorem6": Figure(
        floors.theorem6_data, floors.theorem6_draw,
        r"Theorem 6: SG-FOCUS from the optimum, $h=1$, everybody takes part, $\tau=1$, $\sigma=1$. The printed right side falls "
        r"below the exact mean squared gradient, and below 0. Right: the limit $R\to\infty$."),
    "damping": Figure(
        damping_data, damping_draw,
        r"Local steps damp FOCUS: three clients, $h=(1,\,3,\,10)$, $p=(0.9,\,0.5,\,0.05)$; rates of the exact operators, no run "
        "enters."),
    "tight": tight(Path(__file__).parent),
}
