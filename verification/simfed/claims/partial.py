"""Algorithm 1 as printed for a part of the clients, and its mini-batches drawn as a partition."""
from dataclasses import replace
from itertools import permutations, product

import numpy as np

import fltheory as ft
from verification.simfed.claims.lemma1 import one_round, partial, read, triangle
from verification.simfed.formulas import graph
from verification.simfed.instances import SWAP, complete, ours
from verification.symbols import Symbols


# ---- the server rule -------------------------------------------------------------------------------------------------
def printed(lr, steps, beta, g):
    return ours(lr, steps, beta, g, average="printed")


def cohorts(n):
    return list(product((0, 1), repeat=n))


def divided(algorithm):
    """The partial sum is divided by the weight of those that take part."""
    return replace(algorithm, average="renormalised") if algorithm.average == "printed" else None


def pair(s):
    return [[0, s.a[0]], [s.a[0], 0]]


def square(s):
    return [[0, s.a[0], 0, s.a[3]], [s.a[0], 0, s.a[1], 0], [0, s.a[1], 0, s.a[2]], [s.a[3], 0, s.a[2], 0]]


rules = [one_round("two clients", 2, 2, pair, printed, lone=True, a=1),
         one_round("three clients", 3, 2, triangle, printed, lone=True, a=3),
         one_round("four clients in a ring", 4, 1, square, printed, lone=True, a=4)]


@ft.claim("eq2-full", on=rules, rejects=[divided], covers={"n": "all", "d": "all", "tau": "all"},
          domain="every coordinate, any local models: Algorithm 1's sum less that of (2) is -(1 - p_S) wbar, p_S the weight of the "
                 "cohort, an identity in sum_S p_i w_i; p_S = 1 only for all clients, as every p_i > 0. Every cohort of two to "
                 "four clients in symbols",
          reading="(2) is printed for one local step; here it is summed over the steps of a round.")
def eq2_full(i):
    r"""Summed over a round, (2) gives $\bar w_{t+1}=\bar w_t-\sum_{i\in S}p_i(\bar w_t-w_{t,E}^i)$, Algorithm 1
    $\bar w_{t+1}=\sum_{i\in S}p_iw_{t,E}^i$: they differ by $(1-\sum_{i\in S}p_i)\bar w_t$, which vanishes for every $\bar w_t$
    under full participation only."""
    problem, algorithm, out = i.problem.to(i.domain), i.algorithm.to(i.domain), []
    p, x = graph.weights(i.adjacency), i.x
    state = algorithm.init(problem, i.domain.array([x]))._replace(w=i.domain.array(np.array(i.w, dtype=object)[:, None]))
    for there in cohorts(i.n):
        draw = ft.everyone(i.n, algorithm.steps, np.array(there))._replace(xi=lambda k: np.array(i.e[k], dtype=object))
        w, now = algorithm.local(problem, state, draw)[:, 0], algorithm.round(problem, state, draw).x[0]
        share = sum(q * k for q, k in zip(p, there, strict=True))
        rule = x - sum(q * k * (x - v) for q, k, v in zip(p, there, w, strict=True))
        out.append(ft.equal(rule - now, (1 - share) * x, f"cohort {there}"))
        missing = sum(q for q, k in zip(p, there, strict=True) if not k)      # a sum of weights > 0
        out.append(ft.equal(1 - share, missing, "weight of the absent clients"))
    return out


# ---- what it does ---------------------------------------------------------------------------------------------------------
def resting(C, M, E, gamma, h=1, **options):
    """(fixed point, factor) of the mean model, C clients alike (w - 1)^2/2 with equal weights, M of them at a time, beta = 1."""
    algorithm = ours(gamma, E, 1, complete(C), **options)
    op = ft.derive(algorithm, ft.Quadratic([[[h]]] * C, [[1]] * C), ft.Uniform(M), domain=ft.RATIONAL)
    return op.fixed_point().x[0], op.mean_map()[0][0, 0]


def _shrinks():
    """Fixed points of Algorithm 1 as printed and divided, and Lemma 1 off everywhere but under full participation."""
    kappa, out = ft.fraction("9/10") ** 2, []
    for M in (1, 2, 3):
        at, factor = resting(3, M, 2, "1/10", average="printed", absent="reset")
        share = ft.fraction(M) / 3
        out += [ft.equal(factor, share * kappa, f"M = {M}: the mean model's factor is M/C of FedAvg's"),
                ft.equal(at, share * (1 - kappa) / (1 - share * kappa), f"M = {M}: its fixed point")]
    for absent in ("stale", "reset"):
        at, _ = resting(3, 1, 2, "1/10", average="printed", absent=absent)
        out.append(ft.equal(at, ft.fraction("19/219"), f"M = 1, {absent}: .0868"))
    return [*out, ft.equal(resting(3, 1, 2, "1/10", average="renormalised")[0], 1, "divided by the weight of the cohort: 1")]


ft.finding("err-partial", kind="missing-hypothesis", breaks="lem1", at=tuple(i.name for i in partial), check=_shrinks,
           script="witnesses/err-partial.py",
           step="Algorithm 1 draws M of C clients and sums p_i w_i over them; u_i speaks of last models of absent clients",
           reading="M < C, the sum as printed; absent clients keep their last model, or hold the round's wbar. Lemma 1's "
                   "sums run over the cohort; over all clients, absent ones idle at wbar, it fails too (witness). Divided by the "
                   "weight of the cohort the fixed point is right, Lemma 1 still fails.",
           survives="Everything else: Assumption 1 has all clients take part, and so do the experiments. (2) is another rule for a "
                    "part of them, and it does not shrink (eq2-full).")


# ---- mini-batches -----------------------------------------------------------------------------------------------------------
def partition(k):
    """All orders in which k samples are drawn as k mini-batches of one sample."""
    return list(permutations(range(k)))


def drawn_again(value):
    """Every mini-batch is drawn from all samples, whatever was drawn before."""
    return (lambda k: list(product(range(k), repeat=k))) if value is partition else None


drawn_again.of = "orders"


def two_points():
    """f = mean of (w - x)^2/2 over x = s, -s; a mini-batch x has the gradient w - x."""
    s = Symbols("gamma s x")
    return [ft.Instance(name, ft.Quadratic([[[1]]] * 2, [[0]] * 2), algorithm, ft.Full(), domain=s.field, samples=[s.s, -s.s],
                        x=0 * s.s, orders=partition, says="gamma and the samples s, -s are symbols")
            for name, algorithm in (("FedAvg's local steps", ft.FedAvg(s.gamma, 2)), ("beta = 1", ours(s.gamma, 2, 1, SWAP)))]


def steps_of(i):
    """Of each order: (w_1, gradient of f there, stochastic gradient of the second step), by coded rounds of one and two steps."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    out = []
    for order in i.orders(2):
        w = [i.x]
        for k in (1, 2):
            draw = ft.everyone(2, k)._replace(xi=lambda j, order=order: i.domain.array([[-i.samples[order[j]]]] * 2))
            w.append(read(algorithm.round(problem, algorithm.init(problem, i.domain.array([i.x])), draw).x)[0])
        out.append((w[1], w[1], (w[1] - w[2]) / i.stated.algorithm.lr))
    return out


points = two_points()


@ft.claim("batches-cross", on=points, rejects=[drawn_again], covers={"n": "none", "d": "1", "tau": "2"},
          domain="two samples s and -s, w_0 = 0, every step size: both orders enumerated, gamma and s symbols")
def batches_cross(i):
    r"""Samples $x=\pm s$, $f=\frac12{\rm mean}(w-x)^2$, $w_0=0$, $E=2$ batches of one sample drawn as a partition:
    $E[w_1(\nabla f(w_1)-g_1)]=-\gamma s^2$ (so $-\gamma$ for $x=\pm1$), although $E\,g_1=E\nabla f(w_1)$."""
    found = steps_of(i)
    cross, mean = (sum(v) / len(found) for v in ([w * (exact - g) for w, exact, g in found], [exact - g for _, exact, g in found]))
    return (ft.equal(cross, -i.stated.algorithm.lr * i.samples[0] ** 2, "cross term"),
            ft.equal(mean, 0 * mean, "unbiased in total"))


def _conditional():
    """Given w_1 the second batch is known; drawn independently it is unbiased given w_1."""
    (i, _), out = points, []
    for says, orders in (("a partition", partition), ("drawn independently", drawn_again(partition))):
        found = steps_of(i.but(orders=orders))
        for w1 in dict.fromkeys(w for w, _, _ in found):
            given = [exact - g for w, exact, g in found if w == w1]
            bias = -w1 / i.stated.algorithm.lr if orders is partition else 0 * w1
            out.append(ft.equal(sum(given) / len(given), bias, f"{says}: E[grad f - g | w_1] at w_1 = {w1}"))
    return out


ft.finding("err-batches", kind="remark", breaks="batches-cross", check=_conditional, script="witnesses/err-batches.py",
           reading="Algorithm 1 splits the client's data into its E mini-batches; the proofs erase products of a noise with what "
                   "came before, which needs noise of mean 0 given the past. Assumption 2 has the total expectation.",
           survives="Mini-batches drawn independently of each other, as the theorems are read and tested; a full batch, too.")
