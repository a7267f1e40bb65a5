"""Appendix A and C: limits of powers, conserved mass, decentralised gradient descent; the traffic of Table 1."""
import itertools
from fractions import Fraction as Q

import numpy as np

from fltheory.core import linalg
from fltheory.verdicts.claims.claim import Hypothesis, claim
from fltheory.verdicts.claims.relations import at_most, equal
from verification.focus.bugs import structure as bugs
from verification.focus.formulas import limits as f
from verification.focus.instances import limits as I

row_sums = Hypothesis("row-stochastic", r"$R\mathbf 1=\mathbf 1$, entries $\ge0$",
                      lambda i: (0, min(v for v in i.R.reshape(-1)) if (i.R.sum(1) == 1).all() else None))
column_sums = Hypothesis("doubly stochastic", r"$\mathbf 1^\top R=\mathbf 1^\top$",
                         lambda i: (max(abs(v - 1) for v in i.R.sum(0)), 0))
primitive = Hypothesis("primitive", r"some power of $R$ has positive entries only",
                       lambda i: (0, min(v for v in linalg.power(i.R, f.primitivity_bound(len(i.R))).reshape(-1))), strict=True)


def _converges(i, limit):
    """R L = L R = L, and powers of R - L tend to 0: some power of it has row sums of absolute values below 1, exactly."""
    L = np.array([limit] * len(i.R), dtype=object)
    rest = linalg.power(i.R - L, 64)
    return (equal(linalg.matmul(i.R, L), L, "R L = L"), equal(linalg.matmul(L, i.R), L, "L R = L"),
            at_most(max(sum(abs(v) for v in row) for row in rest), Q(1), "norm of (R - L)^64", strict=True))


@claim("appc-row-limit", on=I.row_stochastic, needs=[row_sums, primitive], rejects=[bugs.right_vector])
def appc_row_limit(i):
    r"""(32)-(33), transposed: powers of a primitive row-stochastic $R$ tend to $\mathbf 1p^\top$, $p$ the left Perron vector, so
    $x_\infty=\mathbf 1p^\top x_0$.
    """
    return _converges(i, i.weights_of(i.R))


@claim("eq34", on=I.example_34, needs=[row_sums], rejects=[bugs.right_vector], domain="the printed 4 x 4 matrix")
def eq34(i):
    r"""(34): the printed matrix, though not primitive, has $p=(\frac12,0,\frac12,0)$ and its powers tend to $\mathbf 1p^\top$."""
    p = i.weights_of(i.R)
    zeros = sum(v == 0 for v in linalg.power(i.R, f.primitivity_bound(4)).reshape(-1))
    return (equal(p, [Q(1, 2), 0, Q(1, 2), 0], "p"), *_converges(i, p), at_most(1, int(zeros), "zero entries of a high power"))


@claim("appc-column-mass", covers={"n": "2, 3"},
       on=I.column_stochastic, rejects=[bugs.rows_instead_of_columns],
       domain="2 x 2 and 3 x 3 column-stochastic matrices with all entries as symbols; any sequence, factor by factor")
def appc_column_mass(i):
    r"""(36): any sequence of column-stochastic matrices conserves the mass $\mathbf 1^\top x$."""
    x = i.x[:, None]
    for C in i.matrices:
        x = linalg.matmul(i.transpose(C), x)
    return equal(x.sum(), i.x.sum(), "mass")


@claim("appc-doubly-average", on=I.doubly_stochastic, needs=[row_sums, column_sums, primitive], rejects=[bugs.first_row_counts])
def appc_doubly_average(i):
    r"""Powers of a primitive doubly stochastic matrix send every row to the plain average of the initial rows."""
    p = i.weights_of(i.R)
    return (equal(p, [Q(1, len(p))] * len(p), "weights"), *_converges(i, p))


@claim("appa-dgd", on=I.descents, rejects=[bugs.gathers_everything])
def appa_dgd(i):
    r"""(29)-(30): decentralised gradient descent with constant $\eta$ stops at a point whose distance to $x^\star$ is of order
    $\eta$ and, for generic heterogeneous data, not 0.
    """
    best, out = f.minimiser(i.problem.H, i.problem.b), []
    ratios = []
    for eta in i.steps:
        X = f.dgd_limit(i.mixing(i.W), eta, i.problem.H, i.problem.b)
        distance = max(abs(v) for v in (X - best).reshape(-1))
        out.append(at_most(Q(0), distance, f"eta={eta}: not exact", strict=True))
        ratios.append(distance / eta)
    out += [at_most(abs(b - a), abs(a) / 5, "distance/eta settles") for a, b in itertools.pairwise(ratios[1:])]
    return [*out, at_most(ratios[-1], 2 * ratios[0] + 1, "and stays bounded")]


@claim("comm-cost", on=I.traffic, kind="identity", rejects=[bugs.sends_more, bugs.pushes_its_gradient_too],
       domain="the coded rounds on three clients in the plane, tau = 3: what they declare is what is published, and the ranks of "
              "what passes between server and client are no larger (SCAFFOLD's uplink could be cut to one, as footnote 6 says)")
def comm_cost(i):
    r"""Per participant and round FOCUS, FedAvg and MIFA send one vector of size $d$ each way, SCAFFOLD two. The round cannot do
    with fewer, SCAFFOLD's uplink apart: the linear map of what passes has that rank over $d$ (Hessians taken as known).
    """
    declared = [i.algorithm.uplink, i.algorithm.downlink]
    return (equal(declared, list(i.sent), "vectors up and down, declared and published"),
            equal(list(i.least_traffic), list(i.least), "vectors up and down that the coded round needs"),
            at_most(i.least_traffic[0], declared[0], "needed up"), at_most(i.least_traffic[1], declared[1], "needed down"))
