"""Where each algorithm rests on quadratics (Sections 3.1 and 3.2, and derived)."""
from math import prod

import numpy as np

import fltheory as ft
from verification.fedres import bugs
from verification.fedres.claims.round_maps import linear, maker, next_step, square
from verification.fedres.formulas import round_maps as f
from verification.fedres.free import Free, any_loss, cut, numbers, placed, read, rests, same, symbolic
from verification.fedres.instances import figure1


def least_curvature(i):
    """(0, a bound below the smallest eigenvalue of the Hessian of F)."""
    return ft.ASSUMED if isinstance(i.domain, ft.Field) else (0, ft.linalg.smallest_eigenvalue_bound(f.hessian(i.clients)))


def largest_step(i):
    """(largest of lambda |C_i| and, where w_i moves locally, eta |A_i|, 2)."""
    if isinstance(i.domain, ft.Field):
        return ft.ASSUMED
    bound = ft.linalg.largest_eigenvalue_bound
    local = i.clients if hasattr(i.algorithm, "option") else ()
    return max([i.lam * bound(v[2]) for v in i.clients] + [i.eta * bound(v[0]) for v in local]), 2


strictly_convex = ft.Hypothesis("strictly convex F", r"$\nabla^2F\succ0$", least_curvature, strict=True)
stable_steps = ft.Hypothesis("stable steps", r"$\lambda\,\lambda_{\max}(C_i)<2$; FedResAvg: $\eta\,\lambda_{\max}(A_i)<2$",
                             largest_step, strict=True, cap=1)



SIZES = ((1, (1, 1), 3), (2, (1, 2), 2), (1, (1, 1, 1), 1))   # d, personal sizes, K
COVERS = {"n": "2, 3", "d": "1, 2"}
SHOWN = (("one client", numbers(1, 2, (1,)), "1/10", "1/5", 5, 1),
         ("three clients", numbers(3, 2, (1, 2, 3)), "1/50", "1/30", 4, "3/2"),
         ("five clients", numbers(5, 1, (1, 2, 3, 1, 2)), "1/50", "1/25", 10, 2),
         ("condition 1e8", numbers(2, 1, (1, 1), 10**4), "1/10", "1/20", 3, 1),
         ("long rounds", numbers(2, 1, (1, 1)), "1/50", "1/40", 100, 1))


def coordinates(i):
    return i.d + sum(i.problem.dims)


def free_points(make, steps=None, **more):
    """All symbols, in the sizes above; steps: other K."""
    sizes = [(d, dims, K if steps is None else steps) for d, dims, K in SIZES]
    return [symbolic(f"{len(dims)} clients, d={d}, personal {dims}, K={K}, all symbols",
                     lambda s, K=K: make(s.eta, s.lam, K, s.al), d, dims, **more) for d, dims, K in sizes]


def balanced(make, steps=None):
    """All symbols, with (w, theta) the joint optimum: there the client gradients are free vectors that sum to zero."""
    out = []
    for i in free_points(make, steps, says="blocks, optimum, client gradients there and step sizes are symbols"):
        last = -sum(i.cs[:-1], 0 * i.c)
        out.append(placed(i, [i.w] * i.n, i.theta, [*i.cs[:-1], last]))
    return out


def shown(make, *further):
    return ft.illustrate([Free(name, p, make(eta, lam, K, alpha), ft.Full(), says="exact rationals")
                          for name, p, eta, lam, K, alpha in (*SHOWN, *further)])


def optimum(i):
    """(w*, [theta_i*]) from the joint problem's own minimiser."""
    x = read(ft.optimum(i.problem.joint()).x)
    return x[:i.d], cut(list(x[i.d:]), i.problem.dims)


def personal_determinants(i):
    return prod(ft.linalg.determinant(f.personal_map(v, i.lam, i.K)[1]) for v in i.clients)


# ---- FedResSGD --------------------------------------------------------------------------------------------
SINGULAR = (("Figure 1", figure1(), "1/100", "1/100", 5, 1),
            ("lambda c = 2, K even", numbers(2, 1, (1, 1)), "1/50", 2 / ft.fraction(numbers(2, 1, (1, 1)).C[0][0, 0]), 2, 1))


sgd, avg = maker(ft.FedResSgd), maker(ft.FedResAvg)


def any_K(make):
    return symbolic("every K", lambda s: make(s.eta, s.lam, 1), 2, (2,), more={"R": 4}, induced=True,
                    says="R is what any number of personal steps has made, a free matrix")


def descends(i):
    """Step 1 for every K: theta' = theta - R grad_theta L(w, theta)."""
    (client,), R, C = i.clients, square(i.s.R), i.clients[0][2]
    slope = f.gradients(client, i.w, i.theta[0])[1]
    after = i.personal(i.coded(i.w, [i.theta[0] - f.times(R, slope)]))[0]
    step = after, i.theta[0] - f.times(next_step(i.lam * C, R, i.lam), slope)
    return ft.induction([(i.theta[0] - f.times(0 * R, slope), i.theta[0])], [step], "Step 1", over="K")


@ft.claim("a3-fixed-point", needs=[strictly_convex, stable_steps], covers=COVERS | {"tau": "all"},
          on=[any_loss("any loss", sgd), any_K(sgd), *free_points(sgd), *shown(sgd, *SINGULAR)],
          rejects=[bugs.old_theta_in_step_two, bugs.local_steps_for_large_step, bugs.personal_averaged],
          domain="the optimum rests for every loss: all gradients are asked there. On quadratics x - x+ = U grad F(x) for free x, "
                 "Step 1 for every K by induction; R_i has the eigenvalues (1 - (1 - lambda c)^K)/c, not 0 for 0 < lambda c < 2")
def a3_fixed_point(i):
    r"""The joint optimum is a fixed point of FedResSGD for every $\eta,\lambda,K$: on quadratics a round is
    $x^+=x-U\nabla F(x)$ with $U$ block triangular, its diagonal blocks $\eta KI$ and $NR_i$. For strictly convex quadratics and
    $\lambda<2/\max_i\lambda_{\max}(C_i)$ it is the only one."""
    if "loss" in i.extra:
        return rests(i)
    if "induced" in i.extra:
        return descends(i)
    U = f.preconditioner(i.clients, *i.rates)
    if isinstance(i.domain, ft.Field):
        slopes = [f.gradients(v, i.w, t) for v, t in zip(i.clients, i.theta, strict=True)]
        whole = np.concatenate([f.mean([g for g, _ in slopes]), *(h / i.n for _, h in slopes)])
        return ft.equal(i.flat(i.w, i.theta) - i.moved(i.w, i.theta), f.times(U, whole), "x - x+ = U grad F(x)")
    best, left = optimum(i), np.eye(coordinates(i), dtype=int) - linear(i, i.moved)
    det = (i.eta * i.K) ** i.d * i.n ** (coordinates(i) - i.d) * personal_determinants(i)
    return (ft.equal(i.moved(*best), i.flat(*best), "the optimum rests"), ft.equal(i.flat(*f.optimum(i.clients)), i.flat(*best)),
            ft.equal(ft.linalg.determinant(left), det * ft.linalg.determinant(f.hessian(i.clients)), "det(I - T)"),
            ft.at_most(0, det, "no other fixed point: det(I - T) > 0", strict=True))


# ---- FedResAvg, Option II ---------------------------------------------------------------------------------
def every_round(i):
    """det(I - T) of the round map with free P_i = I - R_i C_i, R_i, Q_i and K: scalar blocks."""
    s, n = i.s, i.n
    maps = [tuple(np.array([[v]], dtype=object) for v in (1 - R * C[0, 0], R, Q))
            for R, Q, (_, _, C, _, _) in zip(s.R, s.Q, i.clients, strict=True)]
    T = linear_with_variates(i, lambda w, t, c, cs: f.a4(i.clients, w, t, c, cs, i.eta, i.lam, s.k[0], i.alpha, 2, maps))
    det = i.alpha * i.eta * s.k[0] * n**n * prod(s.R) * prod(q / s.k[0] for q in s.Q)
    return ft.equal(ft.linalg.determinant(np.eye(len(T), dtype=int) - T), det * ft.linalg.determinant(f.hessian(i.clients)),
                    "det(I - T), every K")


def linear_with_variates(i, round_):
    """The linear part on (w, theta, c_1, .., c_N) with c the mean of the c_i; round_: (w, thetas, c, cs) -> the same after."""
    sizes = [i.d, *i.problem.dims, *[i.d] * i.n]

    def moved(v):
        w, *rest = cut(list(v), sizes)
        w, thetas, _, cs = round_(w, rest[:i.n], f.mean(rest[i.n:]), rest[i.n:])
        return read(np.concatenate([w, *thetas, *cs]))
    unit = read(np.eye(sum(sizes), dtype=int))
    zero = moved(0 * unit[0])
    return np.stack([moved(v) - zero for v in unit], axis=1)


def coded_variates(i):
    """The coded round as `linear_with_variates` takes it."""
    def round_(*start):
        state = i.coded(*start)
        return state.x, i.personal(state), state.c, list(state.ci)
    return round_


scalars = symbolic("every K", lambda s: avg(s.eta, s.lam, 1, s.al), 1, (1, 1), more={"R": 2, "Q": 2, "k": 1}, every=True,
                   says="two scalar clients; R_i, Q_i and K are free symbols")


@ft.claim("a4ii-fixed-point", needs=[strictly_convex, stable_steps], covers=COVERS | {"tau": "all"},
          on=[any_loss("any loss", avg), scalars, *balanced(avg), *shown(avg, *SINGULAR)],
          rejects=[bugs.variates_dropped, bugs.mean_not_divided, bugs.personal_averaged],
          domain="the optimum rests: for every loss, as all gradients are asked there (so for every K: each local step is "
                 "the identity); the only one: det(I - T) of a4-round-map for two scalar clients with R_i, Q_i and K free, in "
                 "numbers on the listed instances; for 0 < lambda c, eta a < 2 all R_i and Q_i are nonsingular")
def a4ii_fixed_point(i):
    r"""The joint optimum with $c_i=\nabla_wL_i(w^*,\theta_i^*)$, $c=0$ is a fixed point of FedResAvg Option II for every
    $\eta,\lambda,K,\alpha$. For strictly convex quadratics, $\lambda<2/\max_i\lambda_{\max}(C_i)$ and
    $\eta<2/\max_i\lambda_{\max}(A_i)$ it is the only one with $c=\frac1N\sum_ic_i$."""
    if "loss" in i.extra:
        return rests(i)
    if "every" in i.extra:
        return every_round(i)
    w, thetas = (i.w, i.theta) if "g" in i.extra else optimum(i)
    g = [f.gradients(v, w, t)[0] for v, t in zip(i.clients, thetas, strict=True)]
    stays = same(i, i.coded(w, thetas, 0 * w, g), w, thetas, 0 * w, g)
    if "g" in i.extra:
        return stays
    T = linear_with_variates(i, coded_variates(i))
    det = (i.alpha * i.eta * i.K) ** i.d * i.n ** (coordinates(i) - i.d) * personal_determinants(i) * prod(
        ft.linalg.determinant(f.geometric(i.eta * v[0], i.K) / i.K) for v in i.clients)
    return (*stays, ft.equal(ft.linalg.determinant(np.eye(len(T), dtype=int) - T),
                             det * ft.linalg.determinant(f.hessian(i.clients)), "det(I - T)"),
            ft.at_most(0, det, "no other fixed point: det(I - T) > 0", strict=True))
