"""Section 3.1 and App. C.6: misalignment, edge weights, neighbour matrix and Laplacian, and what the text leaves open."""
from itertools import combinations

import numpy as np

import fltheory as ft
from verification.simfed import bugs
from verification.simfed.claims.lemma1 import lemma1, one_round
from verification.simfed.formulas import graph as f
from verification.simfed.instances import FOUR, SWAP, UNEQUAL, complete, matching, ours, ring, star
from verification.simfed.proofs import graph as proofs
from verification.symbols import Symbols

FLAT = {"tau": "none"}


def wrong(name, says, of, right, changed):
    """A mutant of a function that an instance carries as `of`: `changed` in place of `right`."""
    def mutant(value):
        return changed if value is right else None
    mutant.__name__, mutant.__doc__, mutant.of = name, says, of
    return mutant


def refused(make, label):
    """The engine refuses to make it."""
    try:
        make()
    except ft.BadInput:
        return ft.equal(1, 1, f"{label}: refused")
    return ft.equal(0, 1, f"{label}: refused")


# ---- messages -------------------------------------------------------------------------------------------------------
def unit(*t):
    """The point of the unit sphere that the stereographic projection takes to t: every point but one, rational where t is."""
    size = sum(v * v for v in t)
    return [*(2 * v / (size + 1) for v in t), (size - 1) / (size + 1)]


def sphere(n, d):
    s = Symbols(t=n * (d - 1))
    parts = [s.t[k * (d - 1):(k + 1) * (d - 1)] for k in range(n)]
    return ft.Instance(f"{n} messages in {d} dimensions", domain=s.field, m=[unit(*t) for t in parts], measure=ft.misalignment,
                       says="unit vectors over free symbols, by stereographic projection: all but one point")


def listed(name, m, **extra):
    exact = [[ft.fraction(v) for v in row] for row in m]
    return ft.Instance(name, m=exact, measure=ft.misalignment, says="exact rationals", **extra)


DEGREES = listed("0, 60 and 120 degrees", [["1", 0, 0, 0], ["1/2"] * 4, ["-1/2", "1/2", "1/2", "1/2"]], apart=True)
ENDS = listed("equal, antipodal and orthogonal", [["3/5", "4/5"], ["3/5", "4/5"], ["-3/5", "-4/5"], ["4/5", "-3/5"]])
LONG = listed("300 dimensions", [unit(*[ft.fraction(k) / (j + 1) for j in range(299)]) for k in (0, 1, -2)])
spheres = [sphere(2, 2), sphere(2, 4), sphere(3, 2), sphere(3, 3)]
shown = [*spheres, *ft.illustrate([DEGREES, ENDS, LONG, listed("one dimension", [[1], [-1]])])]


def pairs(i):
    """(m, n, coded misalignment) of every pair."""
    mis = i.measure(i.m)
    return [(i.m[a], i.m[b], mis[a][b]) for a, b in combinations(range(len(i.m)), 2)]


def numbers(i):
    return not isinstance(i.domain, ft.Field)


half_forgotten = wrong("half_forgotten", "1 - m'n without the half.", "measure", ft.misalignment, lambda m: 2 * ft.misalignment(m))
sign_blind = wrong("sign_blind", "The cosine enters squared.", "measure", ft.misalignment,
                   lambda m: (1 - (1 - 2 * ft.misalignment(m)) ** 2) / 2)
squared = wrong("squared", "The misalignment enters squared.", "measure", ft.misalignment, lambda m: ft.misalignment(m) ** 2)


@ft.claim("def1-id", on=shown, rejects=[half_forgotten, sign_blind], covers=FLAT, proof=proofs.misalignment,
          domain="unit messages of every dimension; 1 - mis is a quarter of |m_i + m_n|^2")
def def1_id(i):
    r"""For unit messages ${\rm mis}(i,n)=\frac12(1-m_i^\top m_n)=\frac14\|m_i-m_n\|^2$, and it lies in $[0,1]$."""
    out = []
    for m, n, mis in pairs(i):
        minus, plus = (f.quarter([a + s * b for a, b in zip(m, n, strict=True)]) for s in (-1, 1))
        out += [ft.equal(mis, f.misalignment(m, n), "as printed"), ft.equal(mis, minus, "a quarter of the squared distance"),
                ft.equal(1 - mis, plus, "1 - mis is a quarter of a square too")]
        out += [ft.at_most(0, mis, "at least 0"), ft.at_most(mis, 1, "at most 1")] if numbers(i) else []
    return out


@ft.claim("mis-sign", on=shown, rejects=[sign_blind], covers=FLAT, proof=proofs.flipped,
          domain="unit messages of every dimension; edge weights are -ln mis, so they change unless mis = 1/2")
def mis_sign(i):
    r"""Flipping the sign of one message turns its misalignments $\rm mis$ into $1-{\rm mis}$ and leaves the others: the edge
    weights $-\ln{\rm mis}$ depend on signs."""
    before, after = i.measure(i.m), i.measure([[-v for v in i.m[0]], *i.m[1:]])
    others = range(1, len(i.m))
    return (*(ft.equal(after[0][b], 1 - before[0][b], f"message 0 and {b}") for b in others),
            *(ft.equal(after[a][b], before[a][b], f"messages {a} and {b}") for a, b in combinations(others, 2)))


@ft.claim("mis-sqrt-metric", on=[*spheres[2:], *ft.illustrate([DEGREES, ENDS, LONG])], rejects=[squared], covers=FLAT,
          proof=proofs.root_metric,
          domain="three unit messages of every dimension: sqrt(mis) is half a Euclidean distance; that the misalignment breaks the "
                 "inequality is shown by one exact triple")
def mis_sqrt_metric(i):
    r"""$\sqrt{\rm mis}=\frac12\|m_i-m_n\|$ obeys the triangle inequality, in the form
    $4bc-(a-b-c)^2\ge0$ for the misalignments $a,b,c$ of three messages; $\rm mis$ itself does not (messages at 0, 60 and
    120 degrees: $\frac34>\frac14+\frac14$)."""
    mis, out = i.measure(i.m), []
    for j, k, n in combinations(range(len(i.m)), 3):
        a, b, c = mis[j][n], mis[j][k], mis[k][n]
        x, y = ([v - w for v, w in zip(i.m[k], i.m[o], strict=True)] for o in (j, n))
        out.append(ft.equal(4 * b * c - (a - b - c) ** 2, f.minors(x, y) / 4, "a sum of squares: Lagrange's identity"))
    return [*out, *([ft.at_most(mis[0][1] + mis[1][2], mis[0][2], "not so mis", strict=True)] if "apart" in i.extra else [])]


def _not_a_distance():
    near, far = f.misalignment(DEGREES.m[0], DEGREES.m[1]), f.misalignment(DEGREES.m[0], DEGREES.m[2])
    return (ft.equal(near, f.misalignment(DEGREES.m[1], DEGREES.m[2]), "60 degrees, twice"),
            ft.at_most(2 * near, far, "1/4 + 1/4 < 3/4 at 120 degrees", strict=True),
            refused(lambda: ft.SimilarityGraph.of([[1, 0], [1, 0], [0, 1]]), "identical messages, whose mis = 0 has no logarithm"),
            refused(lambda: ft.SimilarityGraph.of([[1, 0], [-1, 0]]), "two antipodal messages, whose edge weights sum to 0"))


ft.finding("err-mis", kind="remark", breaks="mis-sqrt-metric", check=_not_a_distance, script="witnesses/err-mis.py",
           reading="'Distance measure' and 'metric' in the mathematical sense; the text also says that mis is a quarter of a "
                   "squared distance, which is right.",
           survives="Its square root is a metric, and no proof uses that mis is one. Clip misalignments away from 0 and 1.")


# ---- what the messages leave open --------------------------------------------------------------------------------------
SIXTY = [["1/1", 0, 0, 0], ["1/2"] * 4, ["1/2", "1/2", "1/2", "-1/2"]]


def _signs():
    """Three messages at 60 degrees: equal weights; with the first one turned round its weight is less than the others'."""
    s = Symbols(X=6, v=3)
    score = [sum(f.dot(s.X[3 * k:3 * k + 3], [sign * v for v in s.v]) ** 2 for k in range(2)) for sign in (1, -1)]
    out = [ft.equal(score[0], score[1], "m and -m explain the same variance |X m|^2")]
    for sign in (1, -1):
        m = [[sign * ft.fraction(v) for v in SIXTY[0]], *([ft.fraction(v) for v in row] for row in SIXTY[1:])]
        mis = ft.misalignment(m)
        own, other = mis[0][1] * mis[0][2], mis[0][1] * mis[1][2]    # degrees are minus the logarithms of such products
        out.append(ft.equal(own, other, "all three degrees agree") if sign > 0 else
                   ft.at_most(other, own, "turned round: client 0 has the smaller degree", strict=True))
    return out


ft.finding("note-pca-sign", kind="remark", breaks="mis-sign", check=_signs,
           reading="A first principal component is a line; its unit vector has two signs, and the paper gives no rule.",
           survives="Any fixed rule, such as a positive sum of the entries; every bound holds whatever the graph is (d6-any-p).")


def _thresholds():
    A = ft.SimilarityGraph([[0, 4, 1], [4, 0, 2], [1, 2, 0]])
    low, high = A.above(1), A.above(2)
    kept = high.adjacency
    return (ft.equal(low.weights, [ft.fraction(v) / 14 for v in (5, 6, 3)], "threshold 1: weights (5, 6, 3)/14"),
            ft.equal(high.weights, [ft.fraction(v) / 12 for v in (4, 6, 2)], "threshold 2: weights (4, 6, 2)/12"),
            ft.equal(kept, kept.T, "cut on both sides the edge weights stay symmetric"),
            refused(lambda: A.above(3), "threshold 3, which leaves client 2 without an edge: p_2 = 0"),
            refused(lambda: ft.SimilarityGraph([[0, 4, 0], [4, 0, 2], [1, 2, 0]]), "an edge cut on one side"))


ft.finding("note-threshold", kind="remark", breaks="weights-stationary", check=_thresholds,
           reading="p_in = 0 where two clients are 'not statistically affine', with no threshold: the weights of clients depend "
                   "on it, and 1/p_i needs an edge for everybody.",
           survives="Every rule that keeps p_in symmetric and isolates no client; the experiments use the complete graph.")


def _message_dimension():
    rows = [[[1, 2, 0], [0, 1, 1], [2, 1, 0]], [[1, 0, 1], [2, 1, 1], [0, 0, 1]]]
    model = ft.Logistic(rows, [[0, 1, 2], [2, 1, 0]], "1/10000", classes=3)
    two = [ft.fraction(2), ft.fraction(0)]
    return (ft.equal(ft.messages(rows).shape[-1], 3, "numbers of a message: the features"),
            ft.at_most(4, model.d, "numbers of a softmax model on three classes", strict=True),
            ft.at_most(f.misalignment(two, two), -1, "off the unit sphere (1 - m'n)/2 leaves [0, 1]"))


ft.finding("note-message-dim", kind="remark", breaks="def1-id", check=_message_dimension,
           reading="Definition 1 maps R^D x R^D to [0, 1], D the dimension of the model in (1).",
           survives="With the number of features for D, and unit vectors, as the text around it says; messages never meet models.")


# ---- Laplacian -----------------------------------------------------------------------------------------------------------
def laplacian(graph):
    return graph.laplacian


def form(name, graph):
    s = Symbols(x=graph.n)
    return ft.Instance(name, domain=s.field, graph=graph, x=s.x, laplacian=laplacian,
                       says="a listed adjacency, a free vector")


signless = wrong("signless", "diag(A 1) + A, the signless Laplacian.", "laplacian", laplacian,
                 lambda g: 2 * np.diag(g.adjacency.sum(-1)) - g.laplacian)


@ft.claim("lap", on=[form("two clients", SWAP), form("unequal weights", UNEQUAL), form("four clients", FOUR),
                     form("star", star(40)), form("matching", matching(6)), form("ring", ring(7)), form("complete", complete(12))],
          rejects=[signless], covers=FLAT | {"d": "none"}, proof=proofs.laplacian,
          domain="every number of clients and all edge weights >= 0, which -ln mis is as mis <= 1 (def1-id)")
def lap(i):
    r"""$\mathcal L={\rm diag}(A\mathbf1)-A$ has $\mathcal L\mathbf1=0$ and
    $x^\top\mathcal Lx=\sum_{i<n}A_{in}(x_i-x_n)^2\ge0$, since $A_{in}=-\ln{\rm mis}(i,n)\ge0$."""
    lap, x = i.laplacian(i.graph), np.array(i.x, dtype=object)
    A = [[ft.fraction(v) for v in row] for row in i.graph.adjacency]
    return (ft.equal(lap.sum(-1), 0 * lap[0], "the ones vector in its kernel"), ft.at_most(0, min(map(min, A)), "edge weights"),
            ft.equal((x[:, None] * lap * x).sum(), f.energy(A, list(x)), "x'Lx is a sum over edges"))


# ---- weights ---------------------------------------------------------------------------------------------------------------
def free(name, pattern):
    """All edge weights of a pattern are symbols, and so are the clients' last models and everything of a round of two steps."""
    links = [(a, b) for a, b in combinations(range(pattern.n), 2) if pattern.adjacency[a][b]]
    return one_round(name, pattern.n, 2, lambda s: _weighted(pattern.n, dict(zip(links, s.a, strict=True))), a=len(links),
                     pattern=pattern, says="edge weights, models, gradients, step and beta are symbols")


def _weighted(n, links):
    return [[links.get((min(a, b), max(a, b)), 0) for b in range(n)] for a in range(n)]


GRAPHS = [free("two clients", SWAP), free("three clients", complete(3)), free("star of four", star(4)),
          free("complete, four", complete(4))]
BLIND = [bugs.rows_not_normalised, bugs.degrees_not_used, bugs.neighbours_counted_alike]


def averaged(i):
    """(the coded u_i, what p'P = p' and P1 = 1 say of them) at the instance's free last models."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    state = algorithm.init(problem, i.domain.array([0]))
    w, p = np.array(i.w, dtype=object)[:, None], f.weights(i.adjacency)
    u = algorithm.averages(problem, state._replace(w=w))[:, 0]
    ones = algorithm.averages(problem, state._replace(w=0 * w + 1))[:, 0]
    return u, (ft.equal(f.dot(p, u), f.dot(p, i.w), "p'P = p'"), ft.equal(ones, [1] * i.n, "P1 = 1"))


@ft.claim("weights-stationary", on=GRAPHS, rejects=BLIND, covers=FLAT | {"d": "none"}, proof=proofs.stationary, domain=proofs.GRAPH,
          reading="Two clients with 0 < mis < 1: identical messages have no finite edge weight, antipodal ones none at all.")
def weights_stationary(i):
    r"""$p_i=\sum_np_{in}$ are the normalised degrees of the graph, and $P_{in}=p_{in}/p_i$ has $P\mathbf1=\mathbf1$ and
    $p^\top P=p^\top$. Two clients with $0<{\rm mis}<1$ always have $p=(\frac12,\frac12)$ and $P$ swaps them."""
    u, found = averaged(i)
    stated = [ft.equal(i.problem.to(i.domain).p, f.weights(i.adjacency), "normalised degrees"),
              ft.equal(u, f.averages(i.adjacency, i.w), "u as printed")]
    if i.n == 2:
        stated += [ft.equal(f.weights(i.adjacency), [ft.fraction("1/2")] * 2, "equal weights"), ft.equal(u, i.w[::-1], "the swap")]
    return *found, *stated


pieces = [free("two pairs", matching(4)), free("three pairs", matching(6)),
          free("a pair and a triangle", ft.SimilarityGraph([[0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 1, 1], [0, 0, 1, 0, 1],
                                                            [0, 0, 1, 1, 0]]))]


@ft.claim("note-connectivity", on=pieces, rejects=BLIND, covers=FLAT | {"d": "all"},
          proof=lambda: (proofs.stationary(), proofs.lemma1()),
          domain=proofs.GRAPH + ". What all bounds use of the graph is P >= 0, P1 = 1, p'P = p' and Lemma 1, whose proofs here "
                 "suppose no path between clients")
def note_connectivity(i):
    r"""Nothing needs a connected graph, only $p_i>0$: on graphs in several pieces $P\mathbf1=\mathbf1$, $p^\top P=p^\top$ and
    Lemma 1 hold, and these are all that the bounds use. A single client has $p_1=A_{11}=0$, which leaves $P$ undefined."""
    return (ft.at_most(2, len(i.pattern.parts()), "pieces of the graph"), *averaged(i)[1], *lemma1(i),
            refused(lambda: ft.SimilarityGraph([[0]]), "one client"))


def _one_sided():
    """Three clients who list their nearest neighbour alone: 0 and 1 each other, 2 client 1; p_in in sixths, rows of sum 1/3."""
    s, third = Symbols(w=3), ft.fraction("1/3")
    p = [[0, third, 0], [third, 0, 0], [0, third, 0]]
    row, column = [sum(r) for r in p], [sum(r[k] for r in p) for k in range(3)]
    mean = sum(f.dot(r, s.w) for r in p)                 # sum_i p_i u_i
    return (ft.equal(mean, f.dot(column, s.w), "sum_i p_i u_i weights models with the column sums"),
            ft.equal(mean - f.dot(row, s.w), (s.w[1] - s.w[2]) / 3, "off sum_n p_n w_n, so off Lemma 1, unless w_1 = w_2"),
            refused(lambda: ours("1/10", 1, "1/2", _OneSided(p)), "such edge weights"))


class _OneSided:
    def __init__(self, edges):
        self.edges = edges


ft.finding("note-symmetry", kind="remark", breaks="lem1", check=_one_sided,
           reading="The last step of Lemma 1's proof writes p_j for sum_i p_ij; the graph of Definition 2 is undirected, so p_in "
                   "is symmetric there. Neighbour lists of each client's own, or a threshold on one side, would not be.",
           survives="Symmetric edge weights, which Definition 2 has (weights-stationary).")
