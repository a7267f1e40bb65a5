"""Figures of FOCUS's error floors: FedAvg in Theorem 3, SG-FOCUS in Theorems 4 to 6; printed, exact and measured.

Part of `figures`, where the names are.
"""
from fractions import Fraction as Q

import numpy as np

from fltheory.algorithms.focus import Focus
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.core.laws.weighted import Weighted
from fltheory.derivation import derive
from fltheory.pictures import APPROXIMATION, COLOURS, FLOOR, GREY, PREDICTION, PRINTED, RUN, canvas, finish, key
from fltheory.runs import run
from verification.focus.formulas import fedavg, stochastic
from verification.focus.instances import line, theorem4_step, theorem5_step, theorem6_step
from verification.focus.panels import NO_RUN, columns, pick, ran, run_row

EXACT, STATED, CORRECTED, CLOSE = ({"color": c} for c in (COLOURS[0], COLOURS[1], COLOURS[2], GREY))
BELOW = {"facecolor": COLOURS[1], "alpha": 0.18, "linewidth": 0}    # where what is printed cannot hold
COUNTER_EXAMPLE = {"linestyle": "none", "marker": "P", "markersize": 8, "markeredgecolor": "white"}
FLOOR_KEY = {"prediction: exact floor": FLOOR | EXACT, "run with 99.9 % intervals": RUN | EXACT}


# ---- Theorem 3 --------------------------------------------------------------------------------------------
FLOOR_WEIGHTS, FLOOR_H, FLOOR_B = (Q(9, 10), Q(1, 10)), Q(1, 10), (1, -1)
FLOOR_RUNS = (0.1, 0.3, 1.0, 3.0)


def theorem3_data():
    """Error floor of FedAvg on the instance of finding e2 (mu = L = .1, one client a round, q = (.9, .1), tau = 1)
    against eta up to 1/(3L): exact stationary second moment, both forms of the bound, and runs."""
    problem, law = line([FLOOR_H] * 2, FLOOR_B), Weighted(1, FLOOR_WEIGHTS)
    H, b = np.array([[[FLOOR_H]]] * 2), np.array([[FLOOR_H * v] for v in FLOOR_B])
    delta2, sigma2 = fedavg.constants(H, b, FLOOR_WEIGHTS)
    rows = []
    for eta in sorted({*(float(v) for v in np.geomspace(1e-3, 10 / 3, 36)), *FLOOR_RUNS}):
        op = derive(FedAvg(eta, 1), problem, law)
        bounds = {k: float(sum(fedavg.thm3(eta, 1, FLOOR_H, FLOOR_H, delta2, sigma2, printed).values()))
                  for k, printed in (("printed", True), ("corrected", False))}
        seen = NO_RUN
        if eta in FLOOR_RUNS:
            rounds = 100 + int(80 / eta)
            trace = run(FedAvg(eta, 1), problem, law, rounds=rounds, replicates=512, seed=3, x0=op.fixed_point().x)
            seen = run_row(trace.floor())
        rows.append({"eta": eta, "exact": float(op.floor()), **bounds, **seen})
    return rows


def theorem3_draw(rows):
    figure, axes = canvas(1, width=6.4, height=3.9)
    ax = axes[0][0]
    eta, exact, printed, corrected = columns(rows, "eta", "exact", "printed", "corrected")
    ax.plot(eta, corrected, **PRINTED | CORRECTED)
    ax.plot(eta, printed, **PRINTED | STATED)
    ax.plot(eta, exact, **FLOOR | EXACT)
    ran(ax, rows, "eta", COLOURS[0])
    ax.fill_between(eta, printed, exact, where=printed < exact, **BELOW)
    finish(ax, xscale="log", yscale="log", xlabel=r"$\eta$", ylabel=r"floor of $E\|x-x^\star\|^2$")
    key(figure, {r"printed bound, with $10\,\kappa\,\delta_q^2$": PRINTED | STATED,
                 r"corrected bound, with $10\,\delta_q^2/\mu^2$": PRINTED | CORRECTED, **FLOOR_KEY,
                 "printed bound below the exact floor": BELOW}, ncols=2)
    return figure


# ---- Theorem 4 --------------------------------------------------------------------------------------------
NOISY_P, NOISY_TAU, SIGMA2 = (Q(9, 10), Q(1, 2), Q(1, 5)), 2, Q(1, 4)
NOISY_C, NOISY_RUNS = (1, -1, 2), (0.005, 0.02, 0.08, 0.2)


def theorem4_data():
    """Error floor of SG-FOCUS, three clients of curvature 1, independent participation without empty rounds, tau = 2,
    sigma = 1/2, against eta: exact, run, first order in eta, and the printed floor of Theorem 4."""
    problem, law = line([1] * 3, NOISY_C), Bernoulli(NOISY_P, "redraw")
    p, q = law.inclusion(3), min(law.averaging_weights(3))
    largest = float(theorem4_step((1, 1, 1), q, NOISY_TAU))
    rows = []
    for eta in sorted({*(float(v) for v in np.geomspace(3e-4, 1, 34)), *NOISY_RUNS}):
        op = derive(Focus(eta, NOISY_TAU), problem, law, noise="1/2")
        seen = NO_RUN
        if eta in NOISY_RUNS:
            trace = run(Focus(eta, NOISY_TAU), problem, law, rounds=120 + int(6 / eta), replicates=512, seed=4,
                        noise="1/2", x0=op.fixed_point().x)
            seen = run_row(trace.floor())
        rows.append({"eta": eta, "exact": float(op.floor()),
                     "first_order": float(stochastic.small_step_error(eta, 1, p, SIGMA2)),
                     "printed": float(stochastic.theorem4_floor(eta, 1, 3, q, SIGMA2)), "largest_step": largest,
                     **seen})
    return rows


def theorem4_draw(rows):
    figure, axes = canvas(1, width=6.4, height=3.7)
    ax = axes[0][0]
    eta, exact, first, printed = columns(rows, "eta", "exact", "first_order", "printed")
    ax.plot(eta, first, **APPROXIMATION | CLOSE)
    ax.plot(eta, printed, **PRINTED | STATED)
    ax.plot(eta, exact, **FLOOR | EXACT)
    ran(ax, rows, "eta", COLOURS[0])
    _limit(ax, rows[0]["largest_step"], " largest step of Theorem 4")
    finish(ax, xscale="log", yscale="log", xlabel=r"$\eta$", ylabel=r"floor of $E\|x-x^\star\|^2$")
    key(figure, {"printed floor of Theorem 4": PRINTED | STATED, **FLOOR_KEY,
                 r"first order, $\eta\sigma^2\,\mathrm{mean}(2/p_i-1)/(2h)$": APPROXIMATION | CLOSE}, ncols=2)
    return figure


def _limit(ax, step, text, side="left"):
    """A grey line at the largest step of a theorem; the text begins (side="left") or ends (side="right") at it."""
    ax.axvline(step, color=GREY, lw=0.8)
    ax.text(step, 0.98, text, transform=ax.get_xaxis_transform(), fontsize=8, va="top", ha=side, color=GREY)


def _power(v):
    digit, exponent = f"{v:.0e}".split("e")
    return rf"{digit}\cdot10^{{{int(exponent)}}}"


# ---- Theorem 5 --------------------------------------------------------------------------------------------
GAP_N, GAP_Q = 6, Q(1, 6)
GAP_CASES = {1000: (9e-10, 1e-5, (3e-6, 9e-6)), 1: (9e-7, 3e-2, (2e-3, 1.2e-2))}  # h: steps, steps of the runs
GAP_STEP = float(Q(9, 10) * GAP_Q / (16 * 1000**2))  # the step of finding e15


def theorem5_data():
    """Stationary E F(x) - F* of SG-FOCUS, six clients of curvature h = L = beta, one of them a round, tau = 1, sigma = 1, against
    eta: exact, run, first order in eta, and the printed floor of Theorem 5, which lies below for h = 1000, above for h = 1."""
    rows, law = [], Uniform(1)
    for h, (low, high, runs) in GAP_CASES.items():
        problem, largest = line([h] * GAP_N, [0] * GAP_N), float(theorem5_step([h] * GAP_N, GAP_Q, 1))
        for eta in sorted({*(float(v) for v in np.geomspace(low, high, 28)), *runs, *([GAP_STEP] if h == 1000 else [])}):
            seen = NO_RUN
            if eta in runs:
                trace = run(Focus(eta, 1), problem, law, rounds=150 + int(20 / (eta * GAP_N * h)), replicates=256, seed=5,
                            noise=1, x0=[0])
                seen = {k: h / 2 * v for k, v in run_row(trace.floor()).items()}
            rows.append({"h": h, "eta": eta, "exact": h / 2 * float(derive(Focus(eta, 1), problem, law, noise=1).floor()),
                         "first_order": float(stochastic.small_step_gap(eta, [GAP_Q] * GAP_N, 1)),
                         "printed": float(stochastic.theorem5_floor(eta, h, h, GAP_Q, 1, 1)), "largest_step": largest, **seen})
    return rows


def theorem5_draw(rows):
    figure, axes = canvas(2, width=4, height=3.7)
    for ax, h in zip(axes[0], GAP_CASES, strict=True):
        mine = pick(rows, h=h)
        eta, exact, first, printed = columns(mine, "eta", "exact", "first_order", "printed")
        ax.plot(eta, first, **APPROXIMATION | CLOSE)
        ax.plot(eta, printed, **PRINTED | STATED)
        ax.plot(eta, exact, **FLOOR | EXACT)
        ran(ax, mine, "eta", COLOURS[0])
        ax.fill_between(eta, printed, exact, where=printed < exact, **BELOW)
        if h == 1000:
            there = eta == GAP_STEP
            ax.plot(eta[there], exact[there], color="black", zorder=4, **COUNTER_EXAMPLE)
        _limit(ax, mine[0]["largest_step"], "largest step \nof Theorem 5 ", "right")
        finish(ax, rf"$h=L=\beta={h}$", xscale="log", yscale="log", xlabel=r"$\eta$")
    axes[0][0].set_ylabel(r"floor of $E\,F(x)-F^\star$")
    key(figure, {"printed floor of Theorem 5": PRINTED | STATED, **FLOOR_KEY,
                 r"first order, $\eta\sigma^2\,(2/p-1)/4$": APPROXIMATION | CLOSE, "printed floor below the exact one": BELOW,
                 "counter-example at an allowed step": COUNTER_EXAMPLE | {"color": "black"}}, ncols=2)
    return figure


# ---- Theorem 6 --------------------------------------------------------------------------------------------
MEAN_CASES = {10: (5e-5, 8000, (300, 1200, 3600)), 4: (1e-3, 1600, (50, 200, 800))}  # N: eta, rounds, lengths of the runs
MEAN_FLOORS = (1e-3, 4e-3)  # steps of the runs to the stationary value


def theorem6_data():
    """Mean of E|grad F(x_r)|^2 over rounds r = 1..R of SG-FOCUS from the optimum of N equal clients (h = 1, everybody takes
    part, tau = 1, sigma = 1): exact, run, and the printed right side of Theorem 6; and the limits R to infinity against eta."""
    rows = []

    def row(panel, N, eta, R, exact, printed, trace=None):
        rows.append({"panel": panel, "N": N, "eta": eta, "rounds": R, "exact": exact, "printed": printed,
                     "largest_step": float(theorem6_step([1] * N, Q(1, N), 1)),
                     **(NO_RUN if trace is None else run_row(trace.floor()))})

    for N, (eta, rounds, runs) in MEAN_CASES.items():
        problem, floor = line([1] * N, [0] * N), float(stochastic.theorem6_floor(eta, 1, N, Q(1, N), 1))
        squares = [float(S[0, 0]) for _, S in derive(Focus(eta, 1), problem, Full(), noise=1).trajectory(rounds + 1, [0])]
        means = np.cumsum(squares[1:]) / np.arange(1, rounds + 1)  # |grad F|^2 = x^2 here
        for R in sorted({*(int(v) for v in np.geomspace(10, rounds, 30)), *runs}):
            trace = run(Focus(eta, 1), problem, Full(), rounds=R, replicates=128, seed=6, noise=1, x0=[0], tail=1) \
                if R in runs else None
            row("mean", N, eta, R, float(means[R - 1]), 8 * squares[1] / 2 / (eta * N * R) + floor, trace)
    N, problem = 10, line([1] * 10, [0] * 10)
    for eta in sorted({*(float(v) for v in np.geomspace(3e-6, 1e-2, 24)), 1e-5, *MEAN_FLOORS}):
        trace = run(Focus(eta, 1), problem, Full(), rounds=100 + int(12 / (eta * N)), replicates=256, seed=7, noise=1, x0=[0]) \
            if eta in MEAN_FLOORS else None
        row("limit", N, eta, float("inf"), float(derive(Focus(eta, 1), problem, Full(), noise=1).floor()),
            float(stochastic.theorem6_floor(eta, 1, N, Q(1, N), 1)), trace)
    return rows


def theorem6_draw(rows):
    figure, axes = canvas(3, width=3.4, height=3.5)
    for ax, (N, (eta, *_)) in zip(axes[0], MEAN_CASES.items(), strict=False):
        mine = pick(rows, panel="mean", N=N)
        printed, exact = _pair(ax, mine, "rounds", PREDICTION)
        ax.axhline(0, color="black", lw=0.8)
        finish(ax, rf"$N={N}$, $\eta={_power(eta)}$", xscale="log", xlabel="rounds $R$",
               ylim=(min(0, 1.3 * printed.min()) - 0.05 * exact.max(), 1.45 * max(exact.max(), printed.max() / 1.35)))
        ax.ticklabel_format(axis="y", style="sci", scilimits=(0, 0), useMathText=True)
    axes[0][0].set_ylabel("mean over $r=1..R$\nof $E\\|\\nabla F(x_r)\\|^2$")
    ax, mine = axes[0][2], pick(rows, panel="limit")
    _pair(ax, mine, "eta", FLOOR)
    _limit(ax, mine[0]["largest_step"], "largest step \nof Theorem 6 ", "right")
    finish(ax, r"$N=10$, $R\to\infty$", xscale="log", yscale="log", xlabel=r"$\eta$")
    key(figure, {"printed bound of Theorem 6": PRINTED | STATED, "printed bound below the exact value": BELOW,
                 "prediction: exact mean": PREDICTION | EXACT, **FLOOR_KEY}, ncols=3)
    return figure


def _pair(ax, mine, x, sign):
    """Printed and exact values and runs against a column; returns both arrays."""
    at, exact, printed = columns(mine, x, "exact", "printed")
    ax.plot(at, printed, **PRINTED | STATED)
    ax.plot(at, exact, **sign | EXACT)
    ran(ax, mine, x, COLOURS[0])
    ax.fill_between(at, printed, exact, where=printed < exact, **BELOW)
    return printed, exact
