"""The coded rounds on quadratics as affine maps: the method, its limit as beta goes to 0 and its stationary covariance, FedProx."""
from types import SimpleNamespace

import numpy as np

import fltheory as ft
from verification.simfed import bugs
from verification.simfed.claims.lemma1 import ALL, POINT, read, triangle
from verification.simfed.formulas import graph
from verification.simfed.formulas import operators as f
from verification.simfed.instances import SWAP, UNEQUAL, complete, matching, ours, prox, star
from verification.simfed.proofs import graph as proofs
from verification.symbols import Symbols


# ---- the method as an affine map -------------------------------------------------------------------------------------------------
def array(values):
    return np.array([v if hasattr(v, "terms") else ft.fraction(v) for v in values], dtype=object)


def hessian(v, d):
    """A symmetric array from d (d + 1)/2 numbers."""
    at = {(j, k): x for x, (j, k) in zip(v, [(j, k) for j in range(d) for k in range(j + 1)], strict=True)}
    return np.array([[at[max(j, k), min(j, k)] for k in range(d)] for j in range(d)], dtype=object)


def quadratics(n, d, stretch=1):
    """n strictly convex clients in rationals whose Hessians do not commute, their last coordinate divided by `stretch`."""
    H, c = [], []
    for i in range(n):
        B = array([(3 * i + 5 * j + i * j) % 5 - 2 for j in range(d * d)]).reshape(d, d)
        scale = array([1] * (d - 1) + [ft.fraction(1) / stretch])
        H.append((B.T.dot(B) / 20 + f.eye(d) * ft.fraction("1/5")) * scale * scale[:, None])
        c.append(array([(2 * i + 3 * j) % 7 - 3 for j in range(d)]))
    return H, c


def affine(name, H, c, pattern, lr, E, beta, A=None, field=ft.RATIONAL, **extra):
    """H, c: what the formula reads; pattern: a graph; A: its adjacency in symbols."""
    A = A or [[ft.fraction(v) for v in row] for row in pattern.adjacency]
    problem = ft.Quadratic(np.array(H), np.array(c), graph.weights(A))
    return ft.Instance(name, problem, ours(lr, E, beta, SimpleNamespace(edges=graph.edges(A))), ft.Full(), domain=field, H=H, c=c,
                       adjacency=A, gamma=lr if hasattr(lr, "terms") else ft.fraction(lr),
                       beta=beta if hasattr(beta, "terms") else ft.fraction(beta), **extra)


def all_symbols(n, d, E, A=None, **lists):
    s = Symbols("gamma beta", h=n * d * (d + 1) // 2, c=n * d, **lists)
    m = d * (d + 1) // 2
    H, c = [hessian(s.h[k * m:(k + 1) * m], d) for k in range(n)], [array(s.c[k * d:(k + 1) * d]) for k in range(n)]
    return affine(f"{n} clients, d={d}, E={E}, all symbols", H, c, complete(n), s.gamma, E, s.beta, A and A(s), s.field, s=s,
                  says="curvatures, minimisers, step and beta are symbols")


def every_E(**lists):
    """One client's coded local step from where k steps have led; Z = (I - gamma beta H)^k is free, and so are x and u."""
    return all_symbols(2, 2, 1, x=2, u=2, **lists).but(name="every E", general=True,
                                                      says="one more coded local step after any number of them")


def coded_step(i, at):
    """The coded model of client 0 after one local step from a model, with u as neighbour average."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    state = algorithm.init(problem, array(at))._replace(w=np.stack([array(i.s.u)] * 2))
    return algorithm.local(problem, state, ft.everyone(2, 1))[0]


def local_steps(i):
    Z, (h, c), x, u = array(i.s.Z).reshape(2, 2), (i.H[0], i.c[0]), array(i.s.x), array(i.s.u)
    at, next_Z = f.local_model(x, u, c, Z, i.beta), (f.eye(2) - i.gamma * i.beta * h).dot(Z)
    return ft.induction([(f.local_model(x, u, c, f.eye(2), i.beta), x)],
                        [(coded_step(i, at), f.local_model(x, u, c, next_Z, i.beta))], "local steps", over="E")


def stacked(i):
    """(M, r) of the coded round on the stacked last models: its map of (wbar, W), with wbar = sum_i p_i w_i put in; and the rows
    of the new wbar, which are that sum again."""
    A, r = (read(v) for v in i.op_anywhere.mean_map())
    d, p = i.d, graph.weights(i.adjacency)
    mean = f.averaging(p, d)
    M = A[d:, d:] + A[d:, :d].dot(mean)
    return M, r[d:], ft.equal(A[:d, d:] + A[:d, :d].dot(mean), mean.dot(M), "wbar is the weighted mean")


def predicted(i):
    P = [[v / q for v in row] for row, q in zip(graph.edges(i.adjacency), graph.weights(i.adjacency), strict=True)]
    return f.stacked(i.H, i.c, P, graph.weights(i.adjacency), i.gamma, i.beta, i.stated.tau)


WEIGHTED = ft.SimilarityGraph([[0 if j == k else 1 + (j + k) % 3 for k in range(7)] for j in range(7)])
mapped = [affine("seven clients, d=3, E=20", *quadratics(7, 3), WEIGHTED, "1/9", 20, "1/3"),
          affine("condition 1e8", *quadratics(3, 2, 10**4), UNEQUAL, "1/20", 5, "1/2"),
          affine("star of twelve", *quadratics(12, 1), star(12), "1/2", 3, "1/50"),
          affine("pairs, E=200", *quadratics(4, 2), matching(4), "1/50", 200, "99/100")]
on_ours = [every_E(Z=4), *(all_symbols(2, 1, E) for E in (1, 2, 3)), all_symbols(3, 1, 2, triangle, a=3), all_symbols(2, 2, 2),
           *ft.illustrate(mapped)]


@ft.claim("op-ours", on=on_ours, covers=ALL, rejects=[*POINT, bugs.own_for_neighbours, bugs.server_for_neighbours,
                                                     bugs.neighbours_of_this_round, bugs.iterate_perturbed, bugs.one_step_less],
          domain="every E by induction on the coded local step, with the 2 x 2 Hessian and its power free; the identity is one of "
                 "a client's own Hessian and uses no commutation, so every d; other clients enter through wbar and u_i alone, so "
                 "every n. Whole rounds for two and three clients in symbols, up to twelve clients and 200 steps in rationals")
def op_ours(i):
    r"""With $R_i=I-(I-\gamma\beta H_i)^E$ a round takes the stacked last models $W$ to $MW+r$,
    $M=(I-R)(\mathbf1p^\top\otimes I)-\frac{1-\beta}\beta R(P\otimes I)$, $r_i=R_ic_i/\beta$."""
    if "general" in i.extra:
        return local_steps(i)
    M, r, mean = stacked(i)
    stated = predicted(i)
    return ft.equal(M, stated[0], "M"), ft.equal(r, stated[1], "r"), mean


def small_beta(i):
    """k local steps lead to x - k gamma H (u - c) - beta r with a remainder r without pole at beta = 0; then so do k + 1."""
    k, r, x, u, h, c = i.s.k[0], array(i.s.r), array(i.s.x), array(i.s.u), i.H[0], i.c[0]

    def here(k, r):
        return x - k * i.gamma * h.dot(u - c) - i.beta * r
    at = here(k, r)
    more = r + i.gamma * h.dot(at - u)
    return (ft.induction([(here(0 * k, 0 * r), x)], [(coded_step(i, at), here(k + 1, more))], "local steps", over="E"),
            ft.equal(ft.limit(here(k + 1, more), "beta"), x - (k + 1) * i.gamma * h.dot(u - c), "its limit"))


@ft.claim("op-beta0", on=[every_E(k=1, r=2), *(all_symbols(2, d, E) for d, E in ((1, 1), (1, 4), (2, 2), (1, 7)))], covers=ALL,
          rejects=[bugs.beta_swapped, bugs.own_for_neighbours, bugs.one_step_more],
          domain="every E by induction on the coded local step with a remainder that has no pole at beta = 0; free 2 x 2 Hessian, "
                 "models and step, no commutation used; the limit of whole coded rounds of two clients for E = 1 to 7")
def op_beta0(i):
    r"""As $\beta\to0$: $R_i/\beta\to\gamma EH_i$ and $R_i\to0$, so that a round becomes one gradient step of size $\gamma E$, taken
    at the neighbours' mean: $w_i'\to\bar w-\gamma EH_i(u_i-c_i)$."""
    if "general" in i.extra:
        return small_beta(i)
    M, r, _ = stacked(i)
    E, d, p, P = i.stated.tau, i.d, graph.weights(i.adjacency), [[0, 1], [1, 0]]
    gains = [i.gamma * E * h for h in i.H]
    stated = np.block([[f.eye(d) * p[k] - gains[j] * P[j][k] for k in range(2)] for j in range(2)])
    return (ft.equal(ft.limit(r, "beta"), np.concatenate([g.dot(c) for g, c in zip(gains, i.c, strict=True)]), "gain R/beta"),
            ft.equal(ft.limit(M, "beta"), stated, "the round"))


# ---- its second moments ---------------------------------------------------------------------------------------------
ALARM = 1e-4   # level of a false alarm of the statistical comparison


def spread(i):
    """(mean of wbar, its covariance) that the formulas predict of step noise with E|noise|^2 = sigma^2 in every direction alike."""
    M, r = predicted(i)
    noise = f.eye(i.d) * i.sigma**2 / i.d
    W, X = f.stationary(M, r, f.blocks([f.injected(h, noise, i.gamma, i.beta, i.stated.tau) for h in i.H]))
    mean = f.averaging(graph.weights(i.adjacency), i.d)
    return mean.dot(W), mean.dot(X).dot(mean.T)


def error(i):
    """Predicted stationary E|wbar - w*|^2."""
    at, X = spread(i)
    p = graph.weights(i.adjacency)
    H, b = sum(q * h for q, h in zip(p, i.H, strict=True)), sum(q * h.dot(c) for q, h, c in zip(p, i.H, i.c, strict=True))
    away = at - ft.linalg.solve(H, b)
    return away.dot(away) + sum(X[k, k] for k in range(i.d))


noisy = [affine("unequal weights, d=2, E=4", *quadratics(3, 2), UNEQUAL, "1/5", 4, "1/2", noise="1/2"),
         affine("star of six", *quadratics(6, 1), star(6), "1/2", 3, "1/20", noise=2),
         affine("two clients, E=100", *quadratics(2, 2), SWAP, "1/50", 100, "9/10", noise=1),
         affine("4,096 runs", *quadratics(3, 1), UNEQUAL, "1/2", 3, "2/5", noise=1, x0=[0],
                simulate={"rounds": 120, "replicates": 4096, "seed": 15})]
on_moments = [*(all_symbols(2, 1, E).but(noise=1) for E in (1, 2)), *ft.illustrate(noisy)]


@ft.claim("op-lyapunov", on=on_moments, covers=ALL, proof=lambda: (proofs.noise_of_steps(), proofs.noise_of_rounds()),
          rejects=[bugs.beta_swapped, bugs.own_for_neighbours, bugs.server_for_neighbours, bugs.rows_not_normalised,
                   bugs.one_step_less, bugs.iterate_perturbed],
          domain="every n, d and E: additive noise with mean 0 given the past, uncorrelated across clients and steps, of a "
                 "constant covariance; stable rounds (spectral radius of M below 1), in which X is unique; M by op-ours")
def op_lyapunov(i):
    r"""With additive step noise of covariance $\Sigma_i$ the stationary covariance of the stacked last models solves $X=MXM^\top
    +{\rm blkdiag}\big(\gamma^2\sum_{j<E}(I-\gamma\beta H_i)^j\Sigma_i(I-\gamma\beta H_i)^j\big)$, and
    ${\rm Cov}(\bar w)=(p^\top\otimes I)X(p\otimes I)$."""
    coded, (mean, covariance) = i.op.stationary(), spread(i)
    out = [ft.equal(coded.mean, mean, "mean"), ft.equal(coded.covariance, covariance, "covariance")]
    return [*out, ft.agrees(i.run.floor(level=1 - ALARM), error(i), "measured E|wbar - w*|^2")] if i.simulate else out


# ---- FedProx --------------------------------------------------------------------------------------------------------
def pulled(name, H, c, weights, lr, E, alpha, field=ft.RATIONAL, **extra):
    exact = [v if hasattr(v, "terms") else ft.fraction(v) for v in (lr, alpha)]
    return ft.Instance(name, ft.Quadratic(np.array(H), np.array(c), weights), prox(lr, E, alpha), ft.Full(), domain=field, H=H, c=c,
                       weights=weights, gamma=exact[0], alpha=exact[1], **extra)


def pulled_symbols(n, E):
    """Scalar clients; z_i = (1 - gamma (h_i + alpha))^k after k steps."""
    s = Symbols("gamma alpha x", h=n, c=n, z=n, q=n - 1)
    return pulled(f"{n} clients, E={E}", [hessian([v], 1) for v in s.h], [array([v]) for v in s.c], [*s.q, 1 - sum(s.q)],
                  s.gamma, E, s.alpha, s.field, s=s, says="curvatures, minimisers, weights, step and alpha are symbols")


PARTS = [ft.fraction(v) for v in ("1/2", "3/10", "1/5")]
proximals = [pulled("non-commuting, d=2", *quadratics(3, 2), PARTS, "1/5", 7, "3/2"),
             pulled("condition 1e8", *quadratics(3, 2, 10**4), PARTS, "1/10", 4, "1/100"),
             pulled("one client", *quadratics(1, 3), [ft.fraction(1)], "1/4", 60, 1),
             pulled("sixty clients, alpha = 20", *quadratics(60, 1), [ft.fraction("1/60")] * 60, "1/50", 3, 20),
             pulled("alpha = 0, FedAvg", *quadratics(4, 2), [ft.fraction("1/4")] * 4, "1/4", 5, 0)]


@ft.claim("op-fedprox", on=[*(pulled_symbols(n, E) for n, E in ((1, 3), (2, 1), (2, 3), (3, 2))), *ft.illustrate(proximals)],
          covers=ALL, rejects=[bugs.proximal_repelling, bugs.proximal_missing, bugs.unscaled_proximal, bugs.one_step_more,
                               bugs.uniform_weights],
          domain="every E by induction on the coded local step; Pi_i is a polynomial in a client's own symmetric Hessian, which "
                 "scalars decide for every d; the server step is a weighted sum. One to three clients in symbols; the fixed point "
                 "where sum_i p_i Pi_i is regular")
def op_fedprox(i):
    r"""With $\Pi_i=\gamma\sum_{j<E}(I-\gamma(H_i+\alpha I))^jH_i$ a round of FedProx is $\bar w'=\bar w-\sum_ip_i\Pi_i(\bar
    w-c_i)$; it rests where $\sum_ip_i\Pi_i(w-c_i)=0$, the stationary point of the surrogate
    $\frac12\sum_ip_i(w-c_i)^\top\Pi_i(w-c_i)$ and its minimiser if $\sum_ip_i\Pi_i\succ0$."""
    A, r = f.proximal_map(i.H, i.c, i.weights, i.gamma, i.alpha, i.stated.tau)
    found, point = i.op.mean_map(), i.op.fixed_point().x
    out = [ft.equal(found[0], A, "its matrix"), ft.equal(found[1], r, "its constant"),
           ft.equal(point - A.dot(point), r, "rests there")]
    if not isinstance(i.domain, ft.Field):
        return out
    s = i.s

    def change(z):                      # -Pi_i (x - c_i) with the power z_i
        return np.array([[-h * (1 - v) / (h + s.alpha) * (s.x - c)] for h, c, v in zip(s.h, s.c, z, strict=True)], dtype=object)
    return [*out, ft.local_run(i, [s.x], change, s.z, np.array([1 - s.gamma * (h + s.alpha) for h in s.h], dtype=object))]
