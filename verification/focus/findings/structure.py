"""Findings about Sections 3 and 4, Appendix C and E: weights, matrices, starts and misprints."""
from fractions import Fraction as Q

import numpy as np

from fltheory.core import linalg
from fltheory.core.laws.memoryless import Bernoulli
from fltheory.core.laws.weighted import Weighted
from fltheory.core.scalars import RATIONAL, fraction
from fltheory.verdicts.claims.claim import finding
from fltheory.verdicts.claims.relations import at_most, equal
from verification.focus.claims.trajectories import _gradients, _stack, coded
from verification.focus.formulas import matrices as m
from verification.focus.instances import limits, line
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


def _server(i, sets, printed=False):
    """Largest difference between the server models of Algorithm 1 as coded and of the matrix form, over the rounds of `sets`."""
    points = [linalg.solve(H, b) for H, b in zip(i.problem.H, i.problem.b, strict=True)]
    states = m.push_pull(sets, i.tau, i.eta, _stack([i.x0, *points]), _gradients(i.problem), printed=printed)
    mine = [linalg.to_fractions(s.x) for s in coded(i, sets=i.sets[:len(sets)])]
    return [max(abs(v) for v in s - states[r * i.tau + 1][0][0]) for r, s in enumerate(mine)]


def _lists():
    out = []
    for i in I.focus_schedules:
        right, wrong = _server(i, i.sets), _server(i, i.sets, printed=True)
        out += [equal(max(right), Q(0), f"{i.name}: R(S_(r+1)), C(S_r) at k = r tau is Algorithm 1"),
                equal(max(wrong[:1]), Q(0), f"{i.name}: the tables' column k = 0 agrees"),
                at_most(Q(1, 100), wrong[1], f"{i.name}: the tables' R(S_r), C(S_(r-1)), server off by, one round later")]
        last = (len(i.sets) - 1) // i.tau
        picked = {p: [i.sets[r] for r in m.rounds_of(i.tau, last, p)] for p in (False, True)}
        out.append(equal(max(_server(i, picked[False])), Q(0), f"{i.name}: r = floor(k/tau)"))
        if i.tau > 1 and last:
            out.append(at_most(Q(1, 100), max(_server(i, picked[True])), f"{i.name}: r = floor(k/tau) tau, server off by"))
    return [*out, *_footnote()]


def _footnote():
    """|f_i(x) - F(x)|, as Table 1's footnote has it, against |grad f_i(x) - grad F(x)|, on equal Hessians."""
    problem = line([1, 1], [1, -1])
    one, everybody, values, gradients = problem.surrogate([1, 0]).to(RATIONAL), problem.to(RATIONAL), [], []
    for x in (RATIONAL.array(np.array([v])) for v in (0, 10, 1000)):
        values.append(abs(fraction(one.value(x) - everybody.value(x))))
        gradients.append(abs(fraction((one.gradient(x) - everybody.gradient(x))[0])))
    return (equal(gradients, [Q(1)] * 3, "gradients of equal quadratics differ by the same at x = 0, 10, 1000"),
            equal(values, [Q(0), Q(10), Q(1000)], "values, as the footnote prints, by more and more"))


finding("e7-tables", kind="misprint", breaks="alg1-equiv", check=_lists,
        says="The two tables of Appendix E.1 start with S_1 at k = 0 but put R(S_r), C(S_{r-1}) at k = r tau, where Algorithm 1 "
             "needs S_{r+1} and S_r; Table 2 prints r as floor(k/tau) tau instead of floor(k/tau); Table 1's footnote omits "
             "the gradients.",
        reading="Matrix form (73)-(74) run with the sets that the tables name, against the coded Algorithm 1 on the schedules of "
                "alg1-equiv.",
        survives="r = floor(k/tau) tau at tau = 1; the tables with S_0 for their first set.")


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
        step="before (75): collecting from everybody amounts to collecting from participants, since the others' y is zero",
        reading="C(S) collects from participants only and Y_0 = grad f(X_0). (79) is printed for collect-all, where it holds.",
        survives="Collect-all, zero initial tracking, or once every client has taken part (eq79-restricted).")


def _server_column():
    W = m.fedavg_mixing(m.indicators((1, 2, 3), 3))
    return (equal(W[:, 0], [0] * 4, "column of the server under full participation"),
            equal(W[1:, 1:].sum(0), [1] * 3, "client block"))


finding("rem-w-column0", kind="remark", breaks="rem-w-not-doubly-restricted", check=_server_column,
        reading="Doubly stochastic as a statement about all N + 1 nodes.",
        survives="The client block, under full participation.")


def _one_vector():
    return [equal([*i.least_traffic, i.algorithm.uplink, i.algorithm.downlink], [1] * 4, f"{i.name}: needed and sent, up and down")
            for i in limits.proxskip_traffic]


finding("comm-proxskip", kind="remark", breaks="comm-cost", check=_one_vector,
        says="Table 1 and Figure 4 count 2d for ProxSkip; its clients send one vector and receive one.",
        reading="Scaffnew with a fixed number of local steps, full participation and both forms of partial participation: shifts "
                "stay with the clients.",
        survives="SCAFFOLD, which needs two vectors down.")
