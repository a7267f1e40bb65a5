"""Section 3 and Appendix C: stochastic matrices, their means, and what they preserve."""
from fractions import Fraction as Q

import numpy as np

from fltheory.core import linalg
from fltheory.verdicts.claims.claim import Hypothesis, claim
from fltheory.verdicts.claims.relations import at_most, equal, equivalent
from verification.focus.bugs import structure as bugs
from verification.focus.formulas import matrices as m
from verification.focus.instances import structure as I

never_empty = Hypothesis("no empty round", r"$P(S=\emptyset)=0$",
                         lambda i: (sum((q for q, S in i.law_list if not S), Q(0)), Q(0)))


def _ones(A, axis):
    return equal(A.sum(axis), 0 * A[0] + 1, f"{'row' if axis else 'column'} sums")


def _entries(*matrices):
    """Smallest entry of matrices of numbers; symbols stand for 0/1 indicators and have no order."""
    values = [v for A in matrices for v in A.reshape(-1)]
    return [at_most(Q(0), min(values), "entries")] if all(isinstance(v, (int, Q)) for v in values) else []


@claim("lem-matrices", covers={"n": "all"},
       on=I.every_set, rejects=[bugs.indices_swapped, bugs.not_transposed],
       domain="every non-empty participation set of N = 1 to 5 clients (indicators as free symbols; non-negativity set by "
              "set); row i of R and A involves I_i and the sum of the indicators only, so N does not matter")
def lem_matrices(i):
    r"""For every non-empty set $S$, $R(S)$ and $A(S)$ are row-stochastic, and $C(S)=R(S)^\top$ is column-stochastic."""
    out = []
    for I_S in i.sets:
        R, A = i.assign(I_S), i.average(I_S)
        C = i.transpose(R)
        out += [_ones(R, 1), _ones(A, 1), _ones(C, 0), equal(C, m.collect(I_S), "C = R'"), *_entries(R, A, C)]
    return out


@claim("lem-matrices-w", covers={"n": "1 to 5"},
       on=I.every_set, rejects=[bugs.figure_mixing],
       domain="every non-empty participation set of N = 1 to 5 clients (indicators as free symbols; non-negativity set by set)")
def lem_matrices_w(i):
    r"""$W(S)$ with off-diagonal entries $W_{i0}=W_{0i}=1/|S|$, $i\in S$, and a diagonal that fills the rows up to 1 is
    symmetric and doubly stochastic; its server entry is 0.
    """
    out = []
    for I_S in i.sets:
        W = i.mixing(I_S)
        out += [_ones(W, 1), _ones(W, 0), equal(W, W.T, "symmetric"), equal(W[0, 0], 0 * W[0, 0], "W_00 = 0"), *_entries(W)]
    return out


def _unit(*columns, N=4):
    """Rows that are unit vectors with their ones in these columns."""
    return np.array([[Q(int(j == c)) for j in range(N + 1)] for c in columns], dtype=object)


@claim("example-matrices", on=I.examples, rejects=[bugs.indices_swapped],
       domain="the printed matrices: S = {1,3} and {2,3,4} of four clients, S = {1} and {1,2} of two")
def example_matrices(i):
    r"""The printed examples: for $S=\{1,3\}$, $N=4$, $R$ has the rows $e_0,e_0,e_2,e_0,e_4$ and $A$ the first row
    $(0,\frac12,0,\frac12,0)$; (44): all rows of $W$ are that row, and $(0,0,\frac13,\frac13,\frac13)$ for $\{2,3,4\}$; the toy
    pair with $N=2$ is $R(\{1\})$, $A(\{1,2\})$.
    """
    half, third = Q(1, 2), Q(1, 3)
    R, A = i.assign(m.indicators((1, 3), 4)), i.average(m.indicators((1, 3), 4))
    printed = _unit(0, 1, 2, 3, 4)
    printed[0] = [0, half, 0, half, 0]
    toy = _unit(0, 1, 2, N=2)
    toy[0] = [0, half, half]
    return (equal(R, _unit(0, 0, 2, 0, 4), "R({1,3})"), equal(A, printed, "A({1,3})"),
            equal(m.collect(m.indicators((1, 3), 4)), _unit(0, 0, 2, 0, 4).T, "C({1,3})"),
            equal(m.fedavg_mixing(m.indicators((1, 3), 4)), np.array([[0, half, 0, half, 0]] * 5), "(44), {1,3}"),
            equal(m.fedavg_mixing(m.indicators((2, 3, 4), 4)), np.array([[0, 0, third, third, third]] * 5), "(44), {2,3,4}"),
            equal(i.assign(m.indicators((1,), 2)), _unit(0, 0, 2, N=2), "toy assign"),
            equal(i.average(m.indicators((1, 2), 2)), toy, "toy average"))


@claim("fedavg-w-mean", covers={"n": "2, 3"},
       on=[*I.mean_matrices, *I.empty_rounds], needs=[never_empty],
       rejects=[bugs.averaging_for_participation],
       domain="every law over the non-empty sets of 2 and 3 clients (all probabilities symbols), any dependence between clients")
def fedavg_w_mean(i):
    r"""$W(S)=R(\text{all})A(S)$ has all rows equal to $A(S)$'s server row; without empty rounds $E\,W=\mathbf 1q^\top$ and
    $q^\top E\,W=q^\top$, $q=(0,q_1,\dots,q_N)$.
    """
    chances = _weights(i, averaging=True)
    mean = m.mean(m.fedavg_mixing, i.law_list, i.N)
    row = np.array([0 * chances[0], *chances], dtype=object)
    everybody = m.indicators(range(1, i.N + 1), i.N)
    products = [equal(linalg.matmul(m.assign(everybody), m.average(m.indicators(S, i.N))), m.fedavg_mixing(m.indicators(S, i.N)),
                      f"S={S}") for _, S in i.law_list]
    return (*products, equal(mean, np.stack([row] * (i.N + 1)), "E W = 1 q'"),
            equal(linalg.matmul(row[None], mean)[0], row, "left eigenvector"))


def _weights(i, averaging=False):
    """p_i, or q_i: `weights` = "p" means as the statement says, "q" the other way round."""
    p, q = m.participation(i.law_list, i.N)
    return q if (i.weights == "p") == averaging else p


@claim("eq5", on=I.LAWS, finding="e1", instead="eq5-corrected", rejects=[],
       reading="$E\\,R(S)$ of (5) at the averaging weights $q_i=E[I_i/\\sum_jI_j]$ of Assumption 1, as its rows are printed.",
       survives="Every round has exactly one participant: then $p_i=q_i$.")
def eq5(i):
    r"""As printed: $E\,R(S)$ has the rows $e_0$ and, for client $i$, $q_i$ in column 0 and $1-q_i$ in column $i$."""
    _, q = m.participation(i.law_list, i.N)
    return equal(m.mean(m.assign, i.law_list, i.N), m.assign(q), "E R")


@claim("eq5-corrected", covers={"n": "2, 3"},
       on=I.mean_matrices_or_empty, rejects=[bugs.averaging_for_participation],
       domain="every law over the sets of 2 and 3 clients (all probabilities symbols), empty rounds allowed, any dependence "
              "between clients")
def eq5_corrected(i):
    r"""$E\,R(S)$ has the rows $e_0$ and, for client $i$, $p_i$ in column 0 and $1-p_i$ in column $i$; $E\,C=(E\,R)^\top$."""
    chances = _weights(i)
    return (equal(m.mean(m.assign, i.law_list, i.N), m.assign(chances), "E R"),
            equal(m.mean(m.collect, i.law_list, i.N), m.assign(chances).T, "E C"))


@claim("eq5-average", covers={"n": "2, 3"},
       on=I.mean_matrices, needs=[never_empty], rejects=[bugs.averaging_for_participation],
       domain="every law over the non-empty sets of 2 and 3 clients (all probabilities symbols)")
def eq5_average(i):
    r"""If rounds are never empty, $E\,A(S)$ has the server row $q$ and the rows $e_i$."""
    return equal(m.mean(m.average, i.law_list, i.N), m.mean_average(_weights(i, averaging=True)), "E A")


@claim("case3a-weights", on=I.uniform_laws, finding="e3", instead="case3a-weights-corrected",
       reading="$q_i=1/m$ of Case 3a as an averaging weight of Assumption 1, for $m$ clients drawn uniformly without replacement.",
       survives="All clients take part, $m=N$; or read as the weight a client has once it was drawn.")
def case3a_weights(i):
    r"""As printed: uniform sampling of $m$ of $N$ clients has $q_i=1/m$."""
    return equal(i.law.averaging_weights(i.N), [Q(1, i.size)] * i.N, "q")


@claim("case3a-weights-corrected", covers={"n": "all"},
       on=[*I.uniform_laws, *I.uniform_symbols],
       rejects=[bugs.one_client_more],
       domain="every m and N: a set of size m is drawn with one probability, so counting sets gives C(N-1,m-1)/C(N,m) = m/N; "
              "listed laws up to N = 5")
def case3a_weights_corrected(i):
    r"""Uniform sampling of $m$ of $N$ clients has $p_i=m/N$ and $q_i=1/N$."""
    if i.law is None:  # C(N-1, m-1)/C(N, m) from C(N, m) = (N/m) C(N-1, m-1), with C(N-1, m-1) a free symbol
        containing, every = i.count, i.count * i.N / i.size
        return (equal(containing / every, i.size / i.N, "p"), equal(containing / every / i.size, 1 / i.N, "q"))
    p, q = i.law.inclusion(i.N), i.law.averaging_weights(i.N)
    return equal(p, [Q(i.size, i.N)] * i.N, "p"), equal(q, [Q(1, i.N)] * i.N, "q")


@claim("empty-round-mass", covers={"n": "1 to 4"},
       on=I.bernoulli, rejects=[bugs.averaging_for_participation], domain="every p, N = 1 to 4 clients")
def empty_round_mass(i):
    r"""Independent Bernoulli participation has $\sum_iq_i=1-\prod_i(1-p_i)$."""
    q = _weights(i, averaging=True)
    nobody = 1 - i.p[0]
    for v in i.p[1:]:
        nobody = nobody * (1 - v)
    return equal(sum(q[1:], q[0]), 1 - nobody, "sum of q")


@claim("eq10-consensus", covers={"n": "all"},
       on=[*I.fixed_spaces, *I.coverings], rejects=[bugs.not_the_union],
       domain="every law of 1 to 4 clients (only the union of its sets enters); nullity of the stacked I - R(S) is one plus the "
              "number of clients that no set covers, for any N, since I - R(S) has the rows I_i (e_i - e_0)")
def eq10_consensus(i):
    r"""$R(S)X=X$ for every set of the law holds exactly at consensus if and only if the sets cover all clients."""
    if i.cover is None:  # I - R(S) acts on X row by row: nothing but x_i = x_0 for i in S is asked
        moved = (linalg.identity(i.N + 1, m.assign(i.present)) - m.assign(i.present)) @ np.array(i.X)
        return equal(moved[1:], [v * (x - i.X[0]) for v, x in zip(i.present, i.X[1:], strict=True)], "rows I_i (x_i - x_0)")
    stacked = np.concatenate([linalg.identity(i.N + 1, m.assign(m.indicators(S, i.N))) - m.assign(m.indicators(S, i.N))
                              for S in i.cover])
    nullity = i.N + 1 - linalg.rank(stacked)
    missing = i.N - len(i.covered(i.cover))
    return (equivalent((nullity == 1, (nullity, 2)), (missing == 0, (missing, 1)), "consensus only"),
            equal(nullity, 1 + missing, "dimension of the fixed space"))
