"""Appendix A and C: limits of powers, conserved mass, decentralised gradient descent; the traffic of Table 1."""
import itertools
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.focus.bugs import structure as bugs
from verification.focus.formulas import limits as f
from verification.focus.formulas import matrices as m
from verification.focus.instances import line, plane, traffic

row_sums = ft.Hypothesis("row-stochastic", r"$R\mathbf 1=\mathbf 1$, entries $\ge0$",
                         lambda i: (0, min(v for v in i.R.reshape(-1)) if (i.R.sum(1) == 1).all() else None))
primitive = ft.Hypothesis("primitive", r"some power of $R$ has positive entries only",
                          lambda i: (0, min(v for v in ft.linalg.power(i.R, f.primitivity_bound(len(i.R))).reshape(-1))),
                          strict=True)


def _converges(i, limit):
    """R L = L R = L, and powers of R - L tend to 0: some power of it has row sums of absolute values below 1, exactly."""
    L = np.array([limit] * len(i.R), dtype=object)
    rest = ft.linalg.power(i.R - L, 64)
    return (ft.equal(ft.linalg.matmul(i.R, L), L, "R L = L"), ft.equal(ft.linalg.matmul(L, i.R), L, "L R = L"),
            ft.at_most(max(sum(abs(v) for v in row) for row in rest), Q(1), "norm of (R - L)^64", strict=True))


def _array(rows):
    return np.array([[Q(v) for v in row] for row in rows], dtype=object)


def weights_of(R):
    """The vector whose weighted average the powers tend to."""
    return m.perron(R)


def _powers(name, R, x0, **extra):
    return ft.Instance(name, R=_array(R), x0=_array([[v] for v in x0]), weights_of=weights_of, **extra)


row_stochastic = [
    _powers("three rows", [["1/2", "1/4", "1/4"], ["1/3", "2/3", 0], [0, "1/5", "4/5"]], [1, -2, 5]),
    _powers("two rows", [["9/10", "1/10"], ["3/10", "7/10"]], [1, 0]),
    _powers("four rows, sparse", [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], ["1/2", "1/2", 0, 0]], [3, 0, -1, 2]),
]


@ft.claim("appc-row-limit", on=row_stochastic, needs=[row_sums, primitive], rejects=[bugs.right_vector])
def appc_row_limit(i):
    r"""(32)-(33), transposed: powers of a primitive row-stochastic $R$ tend to $\mathbf 1p^\top$, $p$ the left Perron vector, so
    $x_\infty=\mathbf 1p^\top x_0$.
    """
    return _converges(i, i.weights_of(i.R))


def _e7():
    R, x = row_stochastic[0].R, row_stochastic[0].x0
    p = m.perron(R)
    n = len(p)
    right, printed = np.array([p] * n, dtype=object), np.array([p] * n, dtype=object).T
    return (ft.equal(ft.linalg.matmul(R, right), right, "R 1p' = 1p'"),
            ft.at_most(Q(1, 100), max(abs(v) for v in (ft.linalg.matmul(R, printed) - printed).reshape(-1)),
                       "p 1' is not fixed by R"),
            ft.at_most(Q(1, 100), max(abs(v) for v in ft.linalg.matmul(right - printed, x)[:, 0]), "and has another limit"))


ft.finding("e7", kind="misprint", breaks="appc-row-limit", check=_e7,
           says="Index and letter slips; the one that changes a formula is (33), which must read 1p'x_0. Re-derived: line 9 of "
                "Algorithm 1 (x_{t,i}), the sum in (25), (57), (63), (127) and (129), FedAvg's A_k, the tables of E.1, K for "
                "tau, = for <= below (37), P for W in Appendix C.")

example_34 = [_powers("the printed example", [["1/2", 0, "1/2", 0], ["1/2", "1/2", 0, 0], ["1/2", 0, "1/2", 0],
                                              ["1/2", 0, 0, "1/2"]], [4, 1, -2, 7])]


@ft.claim("eq34", on=example_34, needs=[row_sums], rejects=[bugs.right_vector], domain="the printed 4 x 4 matrix")
def eq34(i):
    r"""(34): the printed matrix, though not primitive, has $p=(\frac12,0,\frac12,0)$ and its powers tend to $\mathbf 1p^\top$."""
    p = i.weights_of(i.R)
    zeros = sum(v == 0 for v in ft.linalg.power(i.R, f.primitivity_bound(4)).reshape(-1))
    return (ft.equal(p, [Q(1, 2), 0, Q(1, 2), 0], "p"), *_converges(i, p),
            ft.at_most(1, int(zeros), "zero entries of a high power"))


def _columns(n):
    """Two column-stochastic matrices in a row, all entries symbols (the last row fills up the columns)."""
    names = [f"{s}{i}{j}" for s in "ab" for i in range(n - 1) for j in range(n)] + [f"x{j}" for j in range(n)]
    k = ft.Field(" ".join(names))
    s = list(k.symbols)
    out = []
    for _ in range(2):
        top = np.array([[s.pop(0) for _ in range(n)] for _ in range(n - 1)], dtype=object)
        out.append(np.concatenate([top, (1 - top.sum(0))[None]]))
    return ft.Instance(f"n={n}", domain=k, matrices=out, x=np.array(s, dtype=object), transpose=lambda C: C,
                       says="entries are symbols; by induction over the factors, any sequence")


column_stochastic = [_columns(2), _columns(3)]


@ft.claim("appc-column-mass", covers={"n": "2, 3"},
          on=column_stochastic, rejects=[bugs.rows_instead_of_columns],
          domain="2 x 2 and 3 x 3 column-stochastic matrices with all entries as symbols; any sequence, factor by factor")
def appc_column_mass(i):
    r"""(36): any sequence of column-stochastic matrices conserves the mass $\mathbf 1^\top x$."""
    x = i.x[:, None]
    for C in i.matrices:
        x = ft.linalg.matmul(i.transpose(C), x)
    return ft.equal(x.sum(), i.x.sum(), "mass")


column_sums = ft.Hypothesis("doubly stochastic", r"$\mathbf 1^\top R=\mathbf 1^\top$",
                            lambda i: (max(abs(v - 1) for v in i.R.sum(0)), 0))
doubly_stochastic = [
    _powers("three rows", [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]], [1, -2, 6]),
    _powers("four rows, a ring", [["1/3", "1/3", 0, "1/3"], ["1/3", "1/3", "1/3", 0], [0, "1/3", "1/3", "1/3"],
                                  ["1/3", 0, "1/3", "1/3"]], [3, 0, -1, 2]),
    _powers("circulant, not symmetric", [["1/2", "1/2", 0], [0, "1/2", "1/2"], ["1/2", 0, "1/2"]], [1, 0, 5]),
]


@ft.claim("appc-doubly-average", on=doubly_stochastic, needs=[row_sums, column_sums, primitive],
          rejects=[bugs.first_row_counts])
def appc_doubly_average(i):
    r"""Powers of a primitive doubly stochastic matrix send every row to the plain average of the initial rows."""
    p = i.weights_of(i.R)
    return (ft.equal(p, [Q(1, len(p))] * len(p), "weights"), *_converges(i, p))


def metropolis(n):
    """The ring's doubly stochastic matrix with weights 1/3."""
    W = [[Q(0)] * n for _ in range(n)]
    for i in range(n):
        for j in (i - 1, i, i + 1):
            W[i][j % n] += Q(1, 3)
    return W


LAZY = [[Q(1 + (i == j), 4) for j in range(3)] for i in range(3)]
descents = [ft.Instance("ring of four, line", line([1, 2, 3, 4], [1, -1, 2, 0]), W=metropolis(4),
                        steps=(Q(1, 20), Q(1, 200), Q(1, 2000)),
                        mixing=lambda W: W),
            ft.Instance("lazy triangle, plane", plane(), W=LAZY, steps=(Q(1, 30), Q(1, 300), Q(1, 3000)),
                        mixing=lambda W: W)]


@ft.claim("appa-dgd", on=descents, rejects=[bugs.gathers_everything])
def appa_dgd(i):
    r"""(29)-(30): decentralised gradient descent with constant $\eta$ stops at a point whose distance to $x^\star$ is of order
    $\eta$ and, for generic heterogeneous data, not 0.
    """
    best, out = f.minimiser(i.problem.H, i.problem.b), []
    ratios = []
    for eta in i.steps:
        X = f.dgd_limit(i.mixing(i.W), eta, i.problem.H, i.problem.b)
        distance = max(abs(v) for v in (X - best).reshape(-1))
        out.append(ft.at_most(Q(0), distance, f"eta={eta}: not exact", strict=True))
        ratios.append(distance / eta)
    out += [ft.at_most(abs(b - a), abs(a) / 5, "distance/eta settles") for a, b in itertools.pairwise(ratios[1:])]
    return [*out, ft.at_most(ratios[-1], 2 * ratios[0] + 1, "and stays bounded")]


@ft.claim("comm-cost", on=traffic, kind="identity", rejects=[bugs.sends_more, bugs.pushes_its_gradient_too],
          domain="the coded rounds on three clients in the plane, tau = 3: what they declare is what is published, and the "
                 "ranks of what passes between server and client are no larger (SCAFFOLD's uplink could be cut to one, as "
                 "footnote 6 says)")
def comm_cost(i):
    r"""Per participant and round FOCUS, FedAvg and MIFA send one vector of size $d$ each way, SCAFFOLD two. The round cannot do
    with fewer, SCAFFOLD's uplink apart: the linear map of what passes has that rank over $d$ (Hessians taken as known).
    """
    declared = [i.algorithm.uplink, i.algorithm.downlink]
    return (ft.equal(declared, list(i.sent), "vectors up and down, declared and published"),
            ft.equal(list(i.least_traffic), list(i.least), "vectors up and down that the coded round needs"),
            ft.at_most(i.least_traffic[0], declared[0], "needed up"),
            ft.at_most(i.least_traffic[1], declared[1], "needed down"))


proxskip_traffic = [ft.Instance(f"ProxSkip, {update}", plane(), ft.Scaffnew("1/50", 3, update=update), ft.Full())
                    for update in ("immediate", "late")]


def _comm_proxskip():
    return [ft.equal([*i.least_traffic, i.algorithm.uplink, i.algorithm.downlink], [1] * 4,
                     f"{i.name}: needed and sent, up and down")
            for i in proxskip_traffic]


ft.finding("comm-proxskip", kind="remark", breaks="comm-cost", check=_comm_proxskip,
           says="Table 1 and Figure 4 count 2d for ProxSkip; its clients send one vector and receive one.",
           reading="Scaffnew with a fixed number of local steps, full participation and both forms of partial participation: "
                   "shifts stay with the clients.",
           survives="SCAFFOLD, which needs two vectors down.")
