"""Section 3 and Appendix C: stochastic matrices, their means, and what they preserve."""
import itertools
import math
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.focus.bugs import structure as bugs
from verification.focus.formulas import matrices as m
from verification.focus.instances import SAMPLED, _law, law_of, subsets


def _ones(A, axis):
    return ft.equal(A.sum(axis), 0 * A[0] + 1, f"{'row' if axis else 'column'} sums")


def _entries(*matrices):
    """Smallest entry of matrices of numbers; symbols stand for 0/1 indicators and have no order."""
    values = [v for A in matrices for v in A.reshape(-1)]
    return [ft.at_most(Q(0), min(values), "entries")] if all(isinstance(v, (int, Q)) for v in values) else []


BUILDERS = {"assign": m.assign, "average": m.average, "mixing": m.mixing, "transpose": lambda R: R.T}


def _any_set(N):
    k = ft.Field(" ".join(f"I{i}" for i in range(1, N + 1)))
    return ft.Instance(f"any set, N={N}", domain=k, sets=[list(k.symbols)], N=N, **BUILDERS,
                       says="indicators are symbols; only I_i itself is used, never I_i^2 = I_i")


every_set = ft.illustrate([*(_any_set(N) for N in range(1, 6)),
                           *(ft.Instance(f"all subsets, N={N}", sets=[m.indicators(S, N) for S in subsets(N)], N=N, **BUILDERS,
                                         says=f"the {2**N - 1} non-empty sets one by one") for N in (1, 2, 3, 5))])


@ft.claim("lem-matrices", covers={"n": "all"},
          on=every_set, rejects=[bugs.indices_swapped, bugs.not_transposed],
          domain="every non-empty participation set of N = 1 to 5 clients (indicators as free symbols; non-negativity set by "
                 "set); row i of R and A involves I_i and the sum of the indicators only, so N does not matter")
def lem_matrices(i):
    r"""For every non-empty set $S$, $R(S)$ and $A(S)$ are row-stochastic, and $C(S)=R(S)^\top$ is column-stochastic."""
    out = []
    for I_S in i.sets:
        R, A = i.assign(I_S), i.average(I_S)
        C = i.transpose(R)
        out += [_ones(R, 1), _ones(A, 1), _ones(C, 0), ft.equal(C, m.collect(I_S), "C = R'"), *_entries(R, A, C)]
    return out


@ft.claim("lem-matrices-w", covers={"n": "1 to 5"},
          on=every_set, rejects=[bugs.figure_mixing],
          domain="every non-empty participation set of N = 1 to 5 clients (indicators as free symbols; non-negativity set by "
                 "set)")
def lem_matrices_w(i):
    r"""$W(S)$ with off-diagonal entries $W_{i0}=W_{0i}=1/|S|$, $i\in S$, and a diagonal that fills the rows up to 1 is
    symmetric and doubly stochastic; its server entry is 0.
    """
    out = []
    for I_S in i.sets:
        W = i.mixing(I_S)
        out += [_ones(W, 1), _ones(W, 0), ft.equal(W, W.T, "symmetric"), ft.equal(W[0, 0], 0 * W[0, 0], "W_00 = 0"),
                *_entries(W)]
    return out


def _e6():
    one = m.indicators((1, 3), 4)
    return (ft.equal(m.mixing(one)[0, 0], 0, "formula: W_00"), ft.equal(m.mixing(one)[1, 1], Q(1, 2), "formula: W_11"),
            ft.equal(m.mixing_of_the_figure(one)[0, 0], Q(1, 3), "figure: W_00"),
            ft.equal(m.mixing_of_the_figure(one)[1, 1], Q(2, 3), "figure: W_11"),
            ft.equal(m.average(one).sum(1), [1] * 5, "A({1,3}), indices swapped back: rows sum to 1"),
            ft.at_most(1, max(abs(v - 1) for v in m.average_swapped(one).sum(1)), "A as printed: they do not"))


ft.finding("e6", kind="misprint", breaks="lem-matrices-w", check=_e6,
           says="The figure's W uses 1/(|S|+1) where the formula says 1/|S|; the cases of (4) swap the indices of A(S).")


def _unit(*columns, N=4):
    """Rows that are unit vectors with their ones in these columns."""
    return np.array([[Q(int(j == c)) for j in range(N + 1)] for c in columns], dtype=object)


examples = [ft.Instance("printed examples", **BUILDERS)]


@ft.claim("example-matrices", on=examples, rejects=[bugs.indices_swapped],
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
    return (ft.equal(R, _unit(0, 0, 2, 0, 4), "R({1,3})"), ft.equal(A, printed, "A({1,3})"),
            ft.equal(m.collect(m.indicators((1, 3), 4)), _unit(0, 0, 2, 0, 4).T, "C({1,3})"),
            ft.equal(m.fedavg_mixing(m.indicators((1, 3), 4)), np.array([[0, half, 0, half, 0]] * 5), "(44), {1,3}"),
            ft.equal(m.fedavg_mixing(m.indicators((2, 3, 4), 4)), np.array([[0, 0, third, third, third]] * 5), "(44), {2,3,4}"),
            ft.equal(i.assign(m.indicators((1,), 2)), _unit(0, 0, 2, N=2), "toy assign"),
            ft.equal(i.average(m.indicators((1, 2), 2)), toy, "toy average"))


@ft.claim("rem-w-not-doubly-restricted", covers={"n": "1 to 5"},
          on=every_set, rejects=[bugs.indices_swapped],
          domain="any set of N = 1 to 5 clients as symbols: the column of client j sums to N I_j/|S|, which is 1 for every j "
                 "only if all indicators equal |S|/N, so all are 1; subset by subset for N = 1, 2, 3, 5")
def rem_w_not_doubly(i):
    r"""The client block of FedAvg's $W(S)$ is doubly stochastic if and only if every client takes part."""
    out = []
    for I_S in i.sets:
        block, size = np.stack([i.average(I_S)[0]] * (i.N + 1))[1:, 1:], sum(I_S)
        out += [ft.equal(block.sum(1), 0 * block[0] + 1, "row sums"),
                ft.equal(block.sum(0), [i.N * v / size for v in I_S], "column sums N I_j/|S|")]
        if all(isinstance(v, Q) for v in I_S):
            out.append(ft.equal(int(all(v == 1 for v in block.sum(0))), int(size == i.N), "doubly stochastic iff everybody"))
    return out


def _rem_w_column0():
    W = m.fedavg_mixing(m.indicators((1, 2, 3), 3))
    return (ft.equal(W[:, 0], [0] * 4, "column of the server under full participation"),
            ft.equal(W[1:, 1:].sum(0), [1] * 3, "client block"))


ft.finding("rem-w-column0", kind="remark", breaks="rem-w-not-doubly-restricted", check=_rem_w_column0,
           reading="Doubly stochastic as a statement about all N + 1 nodes.",
           survives="The client block, under full participation.")


@ft.claim("eq78", covers={"n": "1 to 5"},
          on=every_set, rejects=[bugs.server_row_pulled],
          domain="every participation set of N = 1 to 5 clients as symbols, and subset by subset")
def eq78(i):
    r"""(78): $e_0^\top R_k=e_0^\top$: nobody overwrites the server."""
    unit = [int(j == 0) for j in range(i.N + 1)]
    return [ft.equal(i.assign(I_S)[0], unit, "server row") for I_S in i.sets]


never_empty = ft.Hypothesis("no empty round", r"$P(S=\emptyset)=0$",
                            lambda i: (sum((q for q, S in i.law_list if not S), Q(0)), Q(0)))


def _weights(i, averaging=False):
    """p_i, or q_i: `weights` = "p" means as the statement says, "q" the other way round."""
    p, q = m.participation(i.law_list, i.N)
    return q if (i.weights == "p") == averaging else p


def _any_law(N, empty=False):
    """A law whose probabilities are symbols: it says nothing about independence between clients."""
    sets = ([()] if empty else []) + subsets(N)
    k = ft.Field(" ".join(f"c{j}" for j in range(len(sets) - 1)))
    chances = [*k.symbols, 1 - sum(k.symbols[1:], k.symbols[0])]
    return ft.Instance(f"any law, N={N}", domain=k, law_list=list(zip(chances, sets, strict=True)), N=N, weights="p",
                       says="the probability of every non-empty set is a symbol"
                       + (", so is that of the empty one" if empty else ""))


mean_matrices = ft.illustrate([*(_any_law(N) for N in (2, 3)), *SAMPLED])
empty_rounds = ft.illustrate([_law("Bernoulli", ft.Bernoulli(("9/10", "1/2", "1/20")), 3)])


@ft.claim("fedavg-w-mean", covers={"n": "2, 3"},
          on=[*mean_matrices, *empty_rounds], needs=[never_empty],
          rejects=[bugs.averaging_for_participation],
          domain="every law over the non-empty sets of 2 and 3 clients (all probabilities symbols), any dependence between "
                 "clients")
def fedavg_w_mean(i):
    r"""$W(S)=R(\text{all})A(S)$ has all rows equal to $A(S)$'s server row; without empty rounds $E\,W=\mathbf 1q^\top$ and
    $q^\top E\,W=q^\top$, $q=(0,q_1,\dots,q_N)$.
    """
    chances = _weights(i, averaging=True)
    mean = m.mean(m.fedavg_mixing, i.law_list, i.N)
    row = np.array([0 * chances[0], *chances], dtype=object)
    everybody = m.indicators(range(1, i.N + 1), i.N)
    products = [ft.equal(ft.linalg.matmul(m.assign(everybody), m.average(m.indicators(S, i.N))),
                         m.fedavg_mixing(m.indicators(S, i.N)),
                         f"S={S}") for _, S in i.law_list]
    return (*products, ft.equal(mean, np.stack([row] * (i.N + 1)), "E W = 1 q'"),
            ft.equal(ft.linalg.matmul(row[None], mean)[0], row, "left eigenvector"))


def _e8():
    law = ft.Bernoulli(("9/10", "1/2", "1/20"))
    q = law.averaging_weights(3)
    redrawn = ft.Bernoulli(("9/10", "1/2", "1/20"), "redraw").averaging_weights(3)
    return (ft.equal(sum(q), Q("0.9525"), "sum of q"), ft.equal(sum(redrawn), 1, "sum of q once empty rounds are redrawn"))


ft.finding("e8", kind="missing-hypothesis", breaks="fedavg-w-mean", at=("Bernoulli",), check=_e8,
           step="Case 2 lets every client decide for itself, so a round can be empty; A(S) is then undefined",
           reading="Independent Bernoulli participation, an empty round contributing nothing to the averages.",
           survives="Rounds conditioned to be non-empty (empty=\"redraw\").")


@ft.claim("eq5", on=SAMPLED, finding="e1", instead="eq5-corrected", rejects=[],
          reading="$E\\,R(S)$ of (5) at the averaging weights $q_i=E[I_i/\\sum_jI_j]$ of Assumption 1, as its rows are printed.",
          survives="Every round has exactly one participant: then $p_i=q_i$.",
          at=("full, N=2", "two of three"), script="witnesses/e1.py")
def eq5(i):
    r"""As printed: $E\,R(S)$ has the rows $e_0$ and, for client $i$, $q_i$ in column 0 and $1-q_i$ in column $i$."""
    _, q = m.participation(i.law_list, i.N)
    return ft.equal(m.mean(m.assign, i.law_list, i.N), m.assign(q), "E R")


mean_matrices_or_empty = ft.illustrate([_any_law(2, empty=True), *SAMPLED, *empty_rounds])


@ft.claim("eq5-corrected", covers={"n": "2, 3"},
          on=mean_matrices_or_empty, rejects=[bugs.averaging_for_participation],
          domain="every law over the sets of 2 and 3 clients (all probabilities symbols), empty rounds allowed, any dependence "
                 "between clients")
def eq5_corrected(i):
    r"""$E\,R(S)$ has the rows $e_0$ and, for client $i$, $p_i$ in column 0 and $1-p_i$ in column $i$; $E\,C=(E\,R)^\top$."""
    chances = _weights(i)
    return (ft.equal(m.mean(m.assign, i.law_list, i.N), m.assign(chances), "E R"),
            ft.equal(m.mean(m.collect, i.law_list, i.N), m.assign(chances).T, "E C"))


@ft.claim("eq5-average", covers={"n": "2, 3"},
          on=mean_matrices, needs=[never_empty], rejects=[bugs.averaging_for_participation],
          domain="every law over the non-empty sets of 2 and 3 clients (all probabilities symbols)")
def eq5_average(i):
    r"""If rounds are never empty, $E\,A(S)$ has the server row $q$ and the rows $e_i$."""
    return ft.equal(m.mean(m.average, i.law_list, i.N), m.mean_average(_weights(i, averaging=True)), "E A")


uniform_laws = ft.illustrate([_law(f"{size} of {n}", ft.Uniform(size), n, size=size) for n in (2, 3, 5)
                              for size in range(1, n + 1)])


@ft.claim("case3a-weights", on=uniform_laws, finding="e3", instead="case3a-weights-corrected",
          reading="$q_i=1/m$ of Case 3a as an averaging weight of Assumption 1, for $m$ clients drawn uniformly without "
                  "replacement.",
          survives="All clients take part, $m=N$; or read as the weight a client has once it was drawn.",
          at=("1 of 2", "2 of 3"), script="witnesses/e3.py")
def case3a_weights(i):
    r"""As printed: uniform sampling of $m$ of $N$ clients has $q_i=1/m$."""
    return ft.equal(i.law.averaging_weights(i.N), [Q(1, i.size)] * i.N, "q")


def _e3_weights():
    law = ft.Weighted(2, ("7/10", "1/5", "1/10"))
    q, listed = law.averaging_weights(3), law_of(law, 3)
    out = [ft.equal(q, m.participation(listed, 3)[1], "q from the listed sets")]
    for w, v, digits in zip(("7/10", "1/5", "1/10"), q, (".47639", ".34444", ".17917"), strict=True):
        out += [ft.at_most(abs(v - Q("0" + digits)), Q(1, 2 * 10**5), f"q for w={w} has the digits {digits}"),
                ft.at_most(Q(1, 100), abs(v - Q(w)), f"q differs from w={w}")]
    return out


ft.finding("e3-weights", kind="remark", breaks="case3a-weights", check=_e3_weights,
           reading="Case 3 samples m = 2 of 3 clients in turn with the weights (.7, .2, .1).",
           survives="m = 1, or m draws with replacement averaged draw by draw (a client counts as often as it is drawn). With "
                    "Assumption 1's weights, in which it counts once, replacement does not help (case3-draw-weight).")


def _case3_draw_weight():
    """Three draws with replacement, weights (.7, .2, .1): p_i, and q_i with every participant counted once."""
    w = [Q(7, 10), Q(1, 5), Q(1, 10)]
    found = [(math.prod(w[k] for k in drawn), set(drawn)) for drawn in itertools.product(range(3), repeat=3)]
    p, q = ([sum(c * Q(1, size(S)) for c, S in found if i in S) for i in range(3)] for size in (lambda S: 1, len))
    return (ft.equal(p, [1 - (1 - v) ** 3 for v in w], "p_i = 1 - (1 - w_i)^m with the draw weights w"),
            ft.equal(q[0], Q(161, 250), "but the averaging weight is q_1 = .644, not w_1 = .7"),
            ft.at_most(1 - (1 - q[0]) ** 3, p[0], "so 1 - (1 - q_1)^3 with Assumption 1's q_1 is too small", strict=True),
            ft.equal(ft.WithReplacement(3, w).inclusion(3), p, "p_i of the law"))


ft.finding("case3-draw-weight", kind="remark", breaks="case3a-weights", check=_case3_draw_weight,
           step="Case 3 writes p_i = 1 - (1 - q_i)^m with q as draw weight, Assumption 1 makes q_i an averaging weight",
           reading="Three draws with replacement, weights (.7, .2, .1).",
           survives="m = 1 and m = 2 (every pair of draws averages to the weights), or equal weights.")


def _uniform_symbol():
    k = ft.Field("N m B")
    N, size, count = k.symbols
    return ft.Instance("any m and N", domain=k, N=N, size=size, count=count, says="B stands for C(N-1, m-1)")


uniform_symbols = [_uniform_symbol()]


@ft.claim("case3a-weights-corrected", covers={"n": "all"},
          on=[*uniform_laws, *uniform_symbols],
          rejects=[bugs.one_client_more],
          domain="every m and N: a set of size m is drawn with one probability, so counting sets gives C(N-1,m-1)/C(N,m) = m/N; "
                 "listed laws up to N = 5")
def case3a_weights_corrected(i):
    r"""Uniform sampling of $m$ of $N$ clients has $p_i=m/N$ and $q_i=1/N$."""
    if i.law is None:  # C(N-1, m-1)/C(N, m) from C(N, m) = (N/m) C(N-1, m-1), with C(N-1, m-1) a free symbol
        containing, every = i.count, i.count * i.N / i.size
        return (ft.equal(containing / every, i.size / i.N, "p"), ft.equal(containing / every / i.size, 1 / i.N, "q"))
    p, q = i.law.inclusion(i.N), i.law.averaging_weights(i.N)
    return ft.equal(p, [Q(i.size, i.N)] * i.N, "p"), ft.equal(q, [Q(1, i.N)] * i.N, "q")


def _bernoulli(N):
    k = ft.Field(" ".join(f"p{i}" for i in range(1, N + 1)))
    chances, law_list = k.symbols, []
    for bits in itertools.product((0, 1), repeat=N):
        terms = [v if b else 1 - v for b, v in zip(bits, chances, strict=True)]
        weight = terms[0]
        for v in terms[1:]:
            weight = weight * v
        law_list.append((weight, tuple(i + 1 for i, b in enumerate(bits) if b)))
    return ft.Instance(f"N={N}, any p", domain=k, law_list=law_list, p=chances, N=N, weights="p", says="p_i are symbols")


bernoulli = [_bernoulli(N) for N in (1, 2, 3, 4)]


@ft.claim("empty-round-mass", covers={"n": "1 to 4"},
          on=bernoulli, rejects=[bugs.averaging_for_participation], domain="every p, N = 1 to 4 clients")
def empty_round_mass(i):
    r"""Independent Bernoulli participation has $\sum_iq_i=1-\prod_i(1-p_i)$."""
    q = _weights(i, averaging=True)
    nobody = 1 - i.p[0]
    for v in i.p[1:]:
        nobody = nobody * (1 - v)
    return ft.equal(sum(q), 1 - nobody, "sum of q")


def _fixed_space(N):
    k = ft.Field(" ".join(f"{v}{i}" for v in "Ix" for i in range(N + 1)))
    symbols = k.symbols
    return ft.Instance(f"any set, N={N}", domain=k, N=N, present=list(symbols[1:N + 1]), X=list(symbols[N + 1:]), cover=None)


fixed_spaces = [_fixed_space(N) for N in (1, 2, 4)]


def union(sets):
    """Clients that occur in some set."""
    return {i for S in sets for i in S}


coverings = ft.illustrate([ft.Instance(f"N={n}, sets {', '.join(str(set(S)) for S in sets)}", N=n, cover=sets, covered=union)
                           for n, sets in (
    (1, [(1,)]), (2, [(1,), (2,)]), (2, [(1,)]), (3, [(1, 2), (2, 3)]), (3, [(1, 3)]), (3, [(1,), (2,), (1, 2)]),
    (4, [(1, 2), (3, 4)]), (4, [(1, 2), (2, 4)]), (4, [(1, 2, 3, 4)]))])


@ft.claim("eq10-consensus", covers={"n": "all"},
          on=[*fixed_spaces, *coverings], rejects=[bugs.not_the_union],
          domain="every law of 1 to 4 clients (only the union of its sets enters); nullity of the stacked I - R(S) is one plus "
                 "the number of clients that no set covers, for any N, since I - R(S) has the rows I_i (e_i - e_0)")
def eq10_consensus(i):
    r"""$R(S)X=X$ for every set of the law holds exactly at consensus if and only if the sets cover all clients."""
    if i.cover is None:  # I - R(S) acts on X row by row: nothing but x_i = x_0 for i in S is asked
        moved = (ft.linalg.identity(i.N + 1, m.assign(i.present)) - m.assign(i.present)) @ np.array(i.X)
        return ft.equal(moved[1:], [v * (x - i.X[0]) for v, x in zip(i.present, i.X[1:], strict=True)], "rows I_i (x_i - x_0)")
    stacked = np.concatenate([ft.linalg.identity(i.N + 1, m.assign(m.indicators(S, i.N))) - m.assign(m.indicators(S, i.N))
                              for S in i.cover])
    nullity = i.N + 1 - ft.linalg.rank(stacked)
    missing = i.N - len(i.covered(i.cover))
    return (ft.equivalent((nullity == 1, (nullity, 2)), (missing == 0, (missing, 1)), "consensus only"),
            ft.equal(nullity, 1 + missing, "dimension of the fixed space"))
