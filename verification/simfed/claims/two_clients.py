"""Derived facts D6, D7, D9: where rounds rest, what the neighbour matrix does to that for two clients, and noise."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.simfed import bugs, instances
from verification.simfed.claims.identical import (
    LOCAL_BUGS,
    alike,
    coded,
    coded_models,
    every_E,
    free,
    kappa,
    neighbours,
    read,
    stated,
    weighted_mean,
)
from verification.simfed.formulas import rates as f
from verification.simfed.formulas import theorems as t
from verification.simfed.proofs import rates as proofs
from verification.symbols import Symbols

COVERS = {"n": "all", "d": "all", "tau": "all"}
H, C = (Q(1), Q(1, 5)), (Q(0), Q(1))   # of instances.PAIR, w* = 1/6


# ---- D6: no similarity is needed ----------------------------------------------------------------------------------
def rank_one(name, n, steps=1):
    """n clients that all hear the mean of all, p_in = p_i p_n, everything else symbols."""
    s = Symbols("gamma beta k", h=n, c=n, z=n, w=n, p=n - 1)
    p = [*s.p, 1 - sum(s.p)]
    edges = [[a * b for b in p] for a in p]
    return ft.Instance(name, ft.Quadratic([[[v]] for v in s.h], [[v] for v in s.c], p),
                       ft.NeighbourAveraging(s.gamma, steps, beta=s.beta, graph=edges), ft.Full(), domain=s.field, s=s, h=s.h,
                       z=s.z, weights=p, edges=edges)


on_any = [rank_one("two clients in the rank-one graph", 2), rank_one("four clients in the rank-one graph", 4)]


@ft.claim("d6-any-p", on=on_any, proof=proofs.any_graph, covers=COVERS,
          rejects=[*LOCAL_BUGS, bugs.own_for_neighbours, bugs.rows_not_normalised, bugs.neighbours_counted_alike],
          domain="what the proofs of Lemma 1 and of Appendix B ask of a graph, for every number of clients: rows of P that sum to "
                 "1, and p' P = p'; the rank-one graph of every p has both, with u_i equal to the server's model")
def d6_any_p(i):
    r"""The lemmas of Appendix B and Theorems 3 and 4 use of $P$ only $P\ge0$, $\sum_nP_{in}=1$ and $p^\top P=p^\top$, and no
    bound contains $P$. $P=\mathbf1p^\top$ has all three for every $p>0$: then $u_t^i=\bar w_{t,0}$, no message is needed, and all
    of them hold."""
    s, p = i.s, i.weights
    x, one = sum(a * w for a, w in zip(p, s.w, strict=True)), s.gamma / s.gamma
    P = [[e / a for e in row] for row, a in zip(i.edges, p, strict=True)]
    moved = coded_models(i, [x], s.w)
    at = [s.beta * x + (1 - s.beta) * u for u in neighbours(i, s.w)]   # the perturbed points of the first local step
    return (ft.equal([sum(row) for row in P], [one] * len(p), "rows of P"),
            ft.equal([sum(a * row[k] for a, row in zip(p, P, strict=True)) for k in range(len(p))], p, "p' P = p'"),
            ft.equal(neighbours(i, s.w), [x] * len(p), "neighbours' mean"),
            ft.equal(at, [x] * len(p), "perturbed points: Lemma 1 at k = 0"),
            ft.equal(moved, [x - s.gamma * h * (x - c) for h, c in zip(s.h, s.c, strict=True)], "coded: FedAvg's first step"),
            every_E(i, x, s.w))


# ---- fixed points ----------------------------------------------------------------------------------------------
def limit_of(q, i):
    """q_i at beta = 0, for any number k of local steps: d4 has z_i = 1 - k gamma beta h_i + beta^2 r_i, here with z_i for r_i."""
    s = i.s
    return ft.limit((1 - (1 - s.k * s.gamma * s.beta * i.h[q] + s.beta**2 * i.z[q])) / s.beta, "beta")


def any_E(i):
    """The stated fixed point rests after any number of coded local steps, and its limit as beta goes to 0."""
    s, n = i.s, len(i.weights)
    q = [(1 - z) / s.beta for z in i.z]
    if hasattr(s, "p"):
        x = f.weighted([p * v for p, v in zip(i.weights, q, strict=True)], s.c)
        u, stay = [x] * n, None
        end = ft.equal(f.weighted([p * limit_of(k, i) for k, p in enumerate(i.weights)], s.c),
                       f.weighted([p * h for p, h in zip(i.weights, i.h, strict=True)], s.c), "limit: w*")
    else:
        x, stay = f.two_clients(q, s.c, s.beta), f.two_clients_apart(q, s.c, s.beta)
        u = stay[::-1]
        effective = [limit_of(k, i) for k in (0, 1)]
        end = ft.equal(f.two_clients(effective, s.c, 0 * s.beta) - f.weighted(effective, s.c),
                       f.two_clients_bias(effective, s.c, 0 * s.beta), "limit: its bias")
    models = [f.client(z, s.beta, x, v, c) for z, v, c in zip(i.z, u, s.c, strict=True)]
    return [every_E(i, sum(p * w for p, w in zip(i.weights, s.w, strict=True)), s.w), end,
            ft.equal(sum(p * w for p, w in zip(i.weights, models, strict=True)), x, "rests"),
            *([ft.equal(models, stay, "local models rest")] if stay else [])]


def pair(name, graph, beta, E=5, lr="1/10", **more):
    """h = (1, 1/5), c = (0, 1), w* = 1/6. beta: a number, or None for a symbol."""
    s = Symbols("beta")
    domain = {} if beta else {"domain": s.field}
    return ft.Instance(name, instances.PAIR, instances.ours(lr, E, beta or s.beta, graph), ft.Full(),
                       alike=graph is instances.SWAP, **domain, **more)


MEAN = ft.SimilarityGraph.mean(["1/2", "1/2"])
PRINTED = {True: {1: "0.190034", "1/2": "0.149861", "1/10": "0.110929", 0: "1/10"},
           False: {1: "0.190034", "1/2": "0.178070", "1/10": "0.168901", 0: "1/6"}}
radii = ft.illustrate([pair("FedAvg's radius", instances.SWAP, 1, radius="0.747205"),
                       pair("similarity's radius", instances.SWAP, "1/2", radius="0.696686"),
                       pair("the mean's radius", MEAN, "1/2", radius="0.724771")])
TICK = Q(1, 2 * 10**6)


@ft.claim("d6-rank-one", on=[rank_one("two clients, the mean, every E", 2), rank_one("three clients, the mean, every E", 3),
                             free("two clients, each other, every E", 2, alike=False, more="k"),
                             pair("the mean, E = 5", MEAN, None), pair("each other, E = 5", instances.SWAP, None), *radii],
          rejects=[*LOCAL_BUGS, bugs.own_for_neighbours, bugs.one_step_less], covers={"n": "2, 3", "d": "1", "tau": "all"},
          domain="scalar clients of any curvatures; all numbers symbols, every E by induction on the coded local step; the "
                 "two-client instance h = (1, 1/5), c = (0, 1), gamma = 1/10, E = 5 with beta a symbol, through the coded round's "
                 "own fixed point",
          reading="Not every instance: alike curvatures or minimisers leave no bias (d1, d7-biased). The fixed point's limit "
                  "is meant; beta = 0 itself is excluded.")
def d6_rank_one(i):
    r"""With $q_i=(1-(1-\gamma\beta h_i)^E)/\beta$ the fixed point for $P=\mathbf1p^\top$ is the optimum with weights $p_iq_i$ for
    $p_ih_i$, and tends to $w_*$ as $\beta\to0$. Two clients that hear each other rest at weights $q_i(1-(1-\beta)q_j)$: for
    $h=(1,\frac15)$, $c=(0,1)$, $\gamma=\frac1{10}$, $E=5$ the limit is $\frac1{10}$, against $w_*=\frac16$."""
    if hasattr(i, "radius"):
        low, high = i.op.certify().mean
        return ft.at_most(Q(i.radius) - TICK, low, "radius"), ft.at_most(high, Q(i.radius) + TICK, "radius")
    if not hasattr(i, "alike"):
        return any_E(i)
    gamma, beta, _, E = stated(i)
    x, q = i.op_anywhere.fixed_point().x[0], [f.reach(h, gamma, beta, E) for h in H]
    shown = [(at, ft.limit(x, "beta", Q(at)), Q(value)) for at, value in PRINTED[i.alike].items()]
    return (ft.equal(x, f.two_clients(q, C, beta) if i.alike else f.weighted(q, C), "coded fixed point"),
            *(ft.at_most(abs(ft.fraction(found) - value), TICK * (at != 0), f"at beta = {at}") for at, found, value in shown))


# ---- D7: one local step ------------------------------------------------------------------------------------------
def planar(alpha):
    """Two clients in the plane, every entry a symbol; alpha: a symbol, or 0 for FedAvg."""
    s = Symbols("gamma alpha p", h=6, c=4, x=2)
    hessians = [[[s.h[k], s.h[k + 1]], [s.h[k + 1], s.h[k + 2]]] for k in (0, 3)]
    problem = ft.Quadratic(hessians, [s.c[:2], s.c[2:]], [s.p, 1 - s.p])
    return ft.Instance(f"plane, alpha = {alpha and 'a symbol'}", problem, instances.prox(s.gamma, 1, s.alpha if alpha else 0),
                       ft.Full(), domain=s.field, s=s, x=s.x, hessians=hessians, minima=[s.c[:2], s.c[2:]],
                       weights=[s.p, 1 - s.p])


@ft.claim("d7-unbiased", on=[planar(1), planar(0)], proof=proofs.unbiased, covers={"n": "all", "d": "all", "tau": "1"},
          rejects=[bugs.one_step_more, bugs.uniform_weights, bugs.proximal_repelling],
          domain="every smooth loss, number of clients and dimension, every alpha and gamma: the coded round of two clients in the "
                 "plane with all numbers symbols, and the sum over clients for any number of them")
def d7_unbiased(i):
    r"""At $E=1$ a round of FedAvg or FedProx is $\bar w_{t+1,0}=\bar w_{t,0}-\gamma\nabla f(\bar w_{t,0})$: it rests at the
    stationary points of $f$ and nowhere else, whatever $\alpha$."""
    slope = [sum(p * sum(h * (y - c) for h, y, c in zip(row[k], i.x, at, strict=True))
                 for p, row, at in zip(i.weights, i.hessians, i.minima, strict=True)) for k in (0, 1)]
    return ft.equal(coded(i, i.x).x, [v - i.s.gamma * g for v, g in zip(i.x, slope, strict=True)], "a gradient step of f")


def one_step(name, beta, rests, h=H, c=C, graph=instances.SWAP, lr="1/2", **more):
    return ft.Instance(name, instances.scalar(h, c, graph), instances.ours(lr, 1, beta, graph), ft.Full(), rests=rests, **more)


def all_symbols():
    i = free("two clients, all symbols", 2, alike=False)
    i.extra["free"] = True
    return i


shown_bias = ft.illustrate([
    one_step("beta = 1/2", "1/2", Q(3, 22)), one_step("beta = 9/10", "9/10", Q(19, 118)),
    one_step("four clients, symmetric: none", "1/2", 0, (1, 1, Q(1, 5), Q(1, 5)), (-1, 1, -2, 2), instances.complete(4)),
    one_step("beta = 1: FedAvg", 1, Q(1, 6)), one_step("equal curvatures", "1/2", Q(1, 2), (1, 1))])


@ft.claim("d7-biased", on=[all_symbols(), *shown_bias], covers={"n": "2", "d": "1", "tau": "1"},
          rejects=[*LOCAL_BUGS[:2], bugs.own_for_neighbours, bugs.server_for_neighbours, bugs.one_step_more],
          domain="two scalar clients that hear each other, all numbers symbols: the derived fixed point and its distance from w*; "
                 "more clients by the listed instances")
def d7_biased(i):
    r"""At $E=1$ two clients that hear each other rest off $w_*$ by $\frac{(1-\beta)q_1q_2(q_2-q_1)(c_2-c_1)}
    {(q_1+q_2)(q_1+q_2-2(1-\beta)q_1q_2)}$, $q_i=\gamma h_i$: for $\beta<1$ not 0 unless curvatures or minimisers agree. With
    $h=(1,\frac15)$, $c=(0,1)$, $\gamma=\frac12$, $\beta=\frac12$ they rest at $\frac3{22}$, and $w_*=\frac16$. Clients that are
    symmetric under $w\to-w$ have no bias."""
    x = i.op_anywhere.fixed_point().x[0]
    if not hasattr(i, "free"):
        best = f.weighted([p * h for p, h in zip(read(i.p), read(i.stated.problem.H), strict=True)], read(i.stated.problem.c))
        return ft.equal(x, i.rests, "rests"), ft.equivalent((x == best, (x, best)), (i.rests == best, (i.rests, best)), "at w*")
    s = i.s
    q = [s.gamma * h for h in s.h]
    return (ft.equal(x, f.two_clients(q, s.c, s.beta), "coded fixed point"),
            ft.equal(x - f.weighted(s.h, s.c), f.two_clients_bias(q, s.c, s.beta), "bias"))


# ---- D9 -------------------------------------------------------------------------------------------------------
def noisy(name, graph, gamma, E, beta, h, sigma):
    return alike(name, graph, gamma, E, beta, H=[[h]]).but(noise=ft.fraction(sigma))


on_d9 = [free("every E", 3, more="m noise sigma2")]
shown_d9 = ft.illustrate([noisy("unequal graph", instances.UNEQUAL, "1/10", 4, "1/2", 1, "1/3"),
                          noisy("two clients, 60 steps", instances.SWAP, "1/120", 60, "1/1000", 1, 2),
                          noisy("one step, ring of six", instances.ring(6), "1/2", 1, "9/10", "1/3", 1),
                          noisy("overshoot, mean factor -11/20", instances.SWAP, "1", 2, "11/20", "1", 1)])


@ft.claim("d9", on=[*on_d9, *shown_d9], rejects=[*LOCAL_BUGS, bugs.degrees_not_used], covers={"n": "all", "d": "1", "tau": "all"},
          domain="every E by induction on one more coded, noisy local step; every number of clients, whose noise adds with weights "
                 "p_i; every symmetric graph by d1; the derived second moment of the listed instances in rationals",
          reading="Noise of every gradient has mean 0 and variance sigma^2 given the past, uncorrelated across clients and "
                  "steps; common noise has 1 for S (err-independence). Without |kappa| < 1 and stable local models there is no "
                  "stationary law.")
def d9(i):
    r"""Identical scalar Hessians $h$, gradients with variance $\sigma^2$, $a=1-\gamma\beta h$: the stationary variance of
    $\bar w_{t,0}$ is $\frac{S\gamma^2\sigma^2}{1-\kappa^2}\sum_{j<E}a^{2j}$, $S=\sum_ip_i^2$ and $\kappa$ of Lemma 3, with
    mean $w_*$."""
    gamma, beta, _, E = stated(i)
    if isinstance(i.domain, ft.Field):
        return d9_symbols(i)
    h, law = ft.fraction(i.stated.L), i.op.stationary()
    S, factor = sum(p**2 for p in read(i.p)), kappa(i, h)
    return (ft.equal(law.covariance, [[f.floor(factor, gamma, 1 - gamma * beta * h, E, S, i.sigma**2)]], "variance"),
            ft.equal(law.mean, weighted_mean(i), "mean"))


def d9_symbols(i):
    """A client's model splits into its closed form and the noise so far, m, which one more step turns into own m + added noise;
    `spread` is the variance of m."""
    s, n = i.s, len(i.weights)
    x = sum(p * w for p, w in zip(i.weights, s.w, strict=True))
    u, a, z = neighbours(i, s.w), 1 - s.gamma * s.beta * s.h[0], s.z[0]
    xi = np.array([[s.noise]] * n, dtype=object)

    def after(z):
        return [f.client(z, s.beta, x, u[k], s.c[k]) for k in range(n)]

    def spread(z):
        return s.gamma**2 * s.sigma2 * (1 - z**2) / (1 - a**2)
    grown = [coded_models(i, [after(z)[k] + s.m], s.w, lambda _: xi)[k] - after(z * a)[k] for k in range(n)]
    own, added = grown[0].substitute(m=1, noise=0), grown[0].substitute(m=0, noise=1)
    S, factor = sum(p**2 for p in i.weights), f.mean_ours(z, s.beta)
    D = S * spread(z) / (1 - factor**2)
    return (ft.induction([(after(1), [x] * n)], [(grown, [a * s.m - s.gamma * s.noise] * n)], "noise of one client", "E"),
            ft.induction([(spread(1), 0 * z)], [(own**2 * spread(z) + added**2 * s.sigma2, spread(z * a))], "its variance", "E"),
            ft.equal(D, factor**2 * D + S * spread(z), "at rest"),
            *(ft.equal(D.substitute(z0=a**E), f.floor(t.kappa_ours(s.beta, s.h[0], s.gamma, E), s.gamma, a, E, S, s.sigma2),
                       f"E = {E}") for E in (1, 2, 4)))
