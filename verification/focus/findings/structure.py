"""Findings about Sections 3 and 4, Appendix C and E: weights, matrices, starts and misprints."""
from fractions import Fraction as Q

import numpy as np

from fltheory import linalg
from fltheory.claims.claim import finding
from fltheory.claims.relations import at_most, equal
from fltheory.laws.memoryless import Bernoulli
from fltheory.laws.weighted import Weighted
from verification.focus.claims.trajectories import _gradients, _stack
from verification.focus.formulas import matrices as m
from verification.focus.instances import limits
from verification.focus.instances import structure as I

finding("e1", kind="wrong-formula", breaks="eq5", at=("full, N=2", "two of three"), script="witnesses/e1.py",
        reading="$q_i$ in (5) is the averaging weight of Assumption 1, $E[I_i/\\sum_jI_j]$, as everywhere else in the paper.",
        survives="One participant in every round, where $p_i=q_i$.")

finding("e1-81-82", kind="wrong-formula", breaks="eq81-82", at=("full, N=2", "two of three"), script="witnesses/e1_81_82.py",
        step="(99) repeats the weights; harmless in Lemmas 3 and 4 because q_i <= p_i",
        reading="(81) and (82) on the client rows, conditional on the past.",
        survives="One participant in every round; as inequalities in the direction in which they are used.")

finding("e3", kind="wrong-formula", breaks="case3a-weights", at=("1 of 2", "2 of 3"), script="witnesses/e3.py",
        reading="$q_i$ of Case 3a is the averaging weight of Assumption 1.", survives="$m=N$.")


def _sampling_weights():
    law = Weighted(2, ("7/10", "1/5", "1/10"))
    q, listed = law.averaging_weights(3), I.law_of(law, 3)
    out = [equal(q, m.participation(listed, 3)[1], "q from the listed sets")]
    for w, v, digits in zip(("7/10", "1/5", "1/10"), q, (".47639", ".34444", ".17917"), strict=True):
        out += [at_most(abs(v - Q("0" + digits)), Q(1, 2 * 10**5), f"q for w={w} has the digits {digits}"),
                at_most(Q(1, 100), abs(v - Q(w)), f"q differs from w={w}")]
    return out


finding("e3-weights", kind="remark", breaks="case3a-weights", check=_sampling_weights,
        reading="Case 3 samples m = 2 of 3 clients in turn with the weights (.7, .2, .1).",
        survives="m = 1, or sampling with replacement: then the averaging weights are the sampling weights.")


def _figure():
    one = m.indicators((1, 3), 4)
    return (equal(m.mixing(one)[0, 0], 0, "formula: W_00"), equal(m.mixing(one)[1, 1], Q(1, 2), "formula: W_11"),
            equal(m.mixing_of_the_figure(one)[0, 0], Q(1, 3), "figure: W_00"),
            equal(m.mixing_of_the_figure(one)[1, 1], Q(2, 3), "figure: W_11"),
            equal(m.average(one).sum(1), [1] * 5, "A({1,3}), indices swapped back: rows sum to 1"),
            at_most(1, max(abs(v - 1) for v in m.average_swapped(one).sum(1)), "A as printed: they do not"))


finding("e6", kind="misprint", breaks="lem-matrices-w", check=_figure,
        says="The figure's W uses 1/(|S|+1) where the formula says 1/|S|; the cases of (4) swap the indices of A(S).")


def _shift():
    """The matrix form with C_k = R_k' at the same k, as the sentence says, is another trajectory."""
    i = I.focus_schedules[2]
    grad = _gradients(i.problem)
    X = _stack([i.x0, *([c] for c in (2, -1, 1))])
    right = m.push_pull(i.sets, i.tau, i.eta, X, grad)
    wrong = m.push_pull(i.sets, i.tau, i.eta, X, grad, shifted=False)
    gap = max(abs(a[0][0, 0] - b[0][0, 0]) for a, b in zip(right, wrong, strict=True))
    return at_most(Q(1, 100), gap, "largest difference of the server models on the schedule")


finding("e7-shift", kind="misprint", breaks="alg1-equiv", check=_shift,
        says="C_k is the transpose of R_k only up to a shift by one round.")


def _missing_factor():
    i = I.displacements[0]
    X = np.array([[v] for v in (i.x, *i.z)], dtype=object)
    states = m.push_pull([(1,)], i.tau, i.eta, X, _gradients(i.problem))
    moved = (states[i.tau][0] - states[1][0])[1, 0]
    pushed = states[2][1][1, 0]
    return equal(moved, -i.eta * pushed, "x_{(r+1) tau} - x_{r tau + 1} = -eta y_{r tau + 2} at tau = 2, all symbols")


finding("e7-eta", kind="misprint", breaks="eq83-corrected", check=_missing_factor,
        says="(83) and (85) miss the factor -eta; (85) prints x for y.")


def _transposed():
    R, x = limits.row_stochastic[0].R, limits.row_stochastic[0].x0
    p = m.perron(R)
    n = len(p)
    right, printed = np.array([p] * n, dtype=object), np.array([p] * n, dtype=object).T
    return (equal(linalg.matmul(R, right), right, "R 1p' = 1p'"),
            at_most(Q(1, 100), max(abs(v) for v in (linalg.matmul(R, printed) - printed).reshape(-1)), "p 1' is not fixed by R"),
            at_most(Q(1, 100), max(abs(v) for v in linalg.matmul(right - printed, x)[:, 0]), "and has another limit"))


finding("e7", kind="misprint", breaks="appc-row-limit", check=_transposed,
        says="Index and letter slips; the one that changes a formula is (33), which must read 1p'x_0. Re-derived: line 9 of "
             "Algorithm 1 (x_{t,i}), the sum in (25), (57), (63), (127) and (129), FedAvg's A_k, the tables of E.1, K for tau, "
             "= for <= below (37), P for W in Appendix C.")


def _lists():
    k, tau = 11, 4
    return (equal(k // tau, 2, "round of k = 11 at tau = 4, floor(k/tau)"),
            at_most(1, abs((k // tau) * tau - k // tau), "floor(k/tau) tau, as Table 2 prints it, is another number"))


finding("e7-tables", kind="misprint", breaks="alg1-equiv", check=_lists,
        says="Table 2 prints r as floor(k/tau) tau instead of floor(k/tau); Table 1's footnote omits the gradients.")


def _empty_rounds():
    law = Bernoulli(("9/10", "1/2", "1/20"))
    q = law.averaging_weights(3)
    redrawn = Bernoulli(("9/10", "1/2", "1/20"), "redraw").averaging_weights(3)
    return (equal(sum(q), Q("0.9525"), "sum of q"), equal(sum(redrawn), 1, "sum of q once empty rounds are redrawn"))


finding("e8", kind="missing-hypothesis", breaks="fedavg-w-mean", at=("Bernoulli",), check=_empty_rounds,
        step="Case 2 lets every client decide for itself, so a round can be empty; A(S) is then undefined",
        reading="Independent Bernoulli participation, an empty round contributing nothing to the averages.",
        survives="Rounds conditioned to be non-empty (empty=\"redraw\").")

finding("e22-c0", kind="counterexample", breaks="c0-zero", at=("h=(1,2,4)",), script="witnesses/e22_c0.py",
        reading="(75)-(76) run literally from a common model; client rows of the printed difference.",
        survives="A start with one full gradient pass and no server move before round 0.")


def _before_everybody():
    i = I.focus_schedules[0]
    X, grad = _stack([i.x0] * 4), _gradients(i.problem)
    states = m.push_pull(i.sets, i.tau, i.eta, X, grad)  # Y_0 = grad X_0 differs from 0, client 2 is absent in round 1
    gap = states[i.tau + 1][1][0] - grad(states[i.tau][0]).sum(0)
    after = states[2 * i.tau + 1][1][0] - grad(states[2 * i.tau][0]).sum(0)
    return (at_most(Q(1, 100), max(abs(v) for v in gap), "after round 1, client 2 not yet seen: (79) is off by"),
            equal(after, 0 * after, "after round 2, when everybody has taken part"))


finding("eq79-reset", kind="missing-hypothesis", breaks="eq79-restricted", at=("plane, first round only",), check=_before_everybody,
        step="(79) uses that absent clients hold no tracking mass",
        reading="C(S) collects from participants only and Y_0 = grad f(X_0).",
        survives="Collect-all, zero initial tracking, or once every client has taken part (eq79-restricted).")


def _server_column():
    W = m.fedavg_mixing(m.indicators((1, 2, 3), 3))
    return (equal(W[:, 0], [0] * 4, "column of the server under full participation"),
            equal(W[1:, 1:].sum(0), [1] * 3, "client block"))


finding("rem-w-column0", kind="remark", breaks="rem-w-not-doubly-restricted", check=_server_column,
        reading="Doubly stochastic as a statement about all N + 1 nodes.",
        survives="The client block, under full participation.")
