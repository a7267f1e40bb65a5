"""Section 2: the joint problem (1) beside the formulations (4) and (5) of earlier work."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.fedres.formulas import formulations as f
from verification.fedres.proofs import formulations as proofs
from verification.fedres.symbols import symbols


def outer_mean(u, v):
    """The mean over samples of u v', per client: u (n, m, a), v (n, m, b) -> (n, a, b)."""
    return (u[..., :, None] * v[..., None, :]).sum(1) * Q(1, u.shape[1])


def linear_model(xg, xl, y):
    """The losses (2) of clients with samples (x_g, x_l, y), up to the mean of y^2: features (n, m, d), labels (n, m)."""
    bw, bt = ((2 * x * y[..., None]).sum(1) * Q(1, y.shape[1]) for x in (xg, xl))
    return ft.Residual(2 * outer_mean(xg, xg), list(2 * outer_mean(xg, xl)), list(2 * outer_mean(xl, xl)), bw, list(bt))


# ---- (5) as a case of (1) ---------------------------------------------------------------------------------
def local_features_reversed(problem):
    """The local features are the global ones in another order."""
    return ft.Residual(problem.A, problem.B[..., ::-1], problem.C[:, ::-1, ::-1], problem.bw, problem.btheta[:, ::-1])


local_features_reversed.of = "problem"


def _equal_features():
    field, s = symbols(x=(2, 2, 2), y=(2, 2), w=(2,), t=(2, 2), W=(3, 2), T=(3, 2))
    return ft.Instance("all symbols, d=2", linear_model(s["x"], s["x"], s["y"]), domain=field, **s,
                       says="two clients with two samples each; features, labels, w and theta_i are symbols; 3 classes in (3)")


@ft.claim("eq5-special-case", on=[_equal_features()], rejects=[local_features_reversed],
          covers={"tau": "none", "d": "all", "n": "all"},
          domain="(2) and (3) depend on w'x + theta'x and W x + Theta x alone, identically in w, theta and x; the objective of (2) "
                 "in all symbols for two clients with two samples in the plane, the logits of (3) for three classes; sums over "
                 "more coordinates, samples and clients are of the same terms")
def eq5_special_case(i):
    r"""With the linear models (2), (3) and equal features $x_g=x_l$, $L_i(w,\theta_i)=L_i(w+\theta_i,0)$: (5) without its penalty
    and its constraint is the joint problem (1)."""
    samples = [[(x, x, y) for x, y in zip(*rows, strict=True)] for rows in zip(i.x, i.y, strict=True)]
    models = [i.w + t for t in i.t]
    paper = sum(f.squared_error(rows, u, 0 * u) for rows, u in zip(samples, models, strict=True)) * Q(1, len(samples))
    coded = i.problem.joint_value(i.w, i.t) + sum((v * v).sum() * Q(1, v.size) for v in i.y) * Q(1, len(i.y))
    x = i.x[0, 0]
    return (ft.equal(coded, paper, "(1) with the loss (2) = mean of L_i(w + theta_i)"),
            ft.equal(f.logits(i.W, x, i.T, x), f.logits(i.W + i.T, x, 0 * i.T, x), "the logits of (3)"))


# ---- footnote 2 -------------------------------------------------------------------------------------------
def coded_objective(problem, models, lam):
    """(1/N) sum_i (L_i(w_i) + lambda/2 |w_i - mean of the w_i|^2), with the losses of an engine problem."""
    own = np.eye(problem.n, dtype=int)
    middle = sum(models) * Q(1, problem.n)
    losses = sum(problem.surrogate(list(row)).value(u) for row, u in zip(own, models, strict=True))
    return (losses + lam / 2 * sum(((u - middle) * (u - middle)).sum() for u in models)) * Q(1, problem.n)


def from_the_first(objective):
    """Deviations are taken from the first client's model instead of the mean."""
    def wrong(problem, models, lam):
        shift = models[0] - sum(models) * Q(1, len(models))
        return objective(problem, models, lam) + lam / 2 * (shift * shift).sum()
    return wrong


def penalty_not_halved(objective):
    """The penalty lacks its factor 1/2."""
    return lambda problem, models, lam: objective(problem, models, 2 * lam)


from_the_first.of = penalty_not_halved.of = "objective"


def _any_losses(n):
    field, s = symbols("lam", h=(n, 3), e=(n, 2), w=(2,), t=(n, 2))
    H = [[[a, b], [b, c]] for a, b, c in s["h"]]
    return ft.Instance(f"n={n}, d=2, all symbols", ft.Quadratic(H, s["e"]), domain=field, objective=coded_objective, **s,
                       says="every quadratic loss, w, theta_i and lambda a symbol")


def meaning(i):
    """One client's theta_i and their mean, at small integers: only the penalty is spoken of."""
    if not hasattr(i, "t"):
        return
    theta = [[Q((3 * j + k * k) % 5 - 2) for k in range(2)] for j in range(len(i.t))]
    mean = [sum(column) / len(theta) for column in zip(*theta, strict=True)]
    squares = sum(v * v for t in theta for v in t)
    spread = sum((v - m) ** 2 for t in theta for v, m in zip(t, mean, strict=True))
    for t in theta:
        yield {"N": Q(len(theta)), "lam": Q(3), "ST": squares, "SM": len(theta) * sum(m * m for m in mean), "SD": spread,
               "D": sum((v - m) ** 2 for v, m in zip(t, mean, strict=True))}, {"t": t, "m": mean}


@ft.claim("footnote2", on=[_any_losses(2), _any_losses(3)], rejects=[from_the_first, penalty_not_halved], covers={"tau": "none"},
          proof=proofs.footnote2, meaning=meaning,
          domain="every number of clients, dimension and losses (the losses are the same on both sides, the penalties are the step "
                 "of the proof); in all symbols for two and three quadratic clients in the plane")
def footnote2(i):
    r"""With $w_i=w+\theta_i$ the objective of (5) is $\frac1N\sum_i\big(L_i(w_i)+\frac\lambda2\|w_i-\bar w\|^2\big)+
    \frac\lambda2\|\bar\theta\|^2$: equal to that of footnote 2 where $\sum_i\theta_i=0$, and larger by the last term elsewhere.
    Every $(w_i)$ is met by $w=\bar w$, $\theta_i=w_i-\bar w$, so for $\lambda>0$ both problems have the same solutions, with
    the constraint or without."""
    n, models = len(i.t), [i.w + t for t in i.t]
    losses = sum(i.problem.surrogate(list(row)).value(u) for row, u in zip(np.eye(n, dtype=int), models, strict=True)) * Q(1, n)
    mean = i.t.sum(0) * Q(1, n)
    centred = losses + f.penalty(i.t - mean, i.lam)
    return (ft.equal(i.objective(i.problem, models, i.lam), centred, "theta_i with sum 0: both objectives agree"),
            ft.equal(f.penalty(i.t, i.lam) - f.penalty(f.deviations(models), i.lam), i.lam / 2 * (mean * mean).sum(),
                     "without the constraint (5) is larger by lambda/2 |mean theta|^2"))


# ---- (4) can be arbitrarily bad for a client ----------------------------------------------------------------
def weights_squared(problem):
    """The single client counts 1/N^2 of the mean."""
    q = problem.weights[1]
    return problem.surrogate([1 - q * q, q * q])


weights_squared.of = "problem"


def _far_client():
    field, s = symbols("q M w")
    problem = ft.Quadratic([[[2]], [[2]]], [[0], [s["M"]]], [1 - s["q"], s["q"]])
    return ft.Instance("N - 1 clients at 0, one at M", problem, domain=field, **s,
                       says="q = 1/N is the weight of the last client, the others are one client of weight 1 - q")


@ft.claim("remark-eq4-bad", on=[_far_client()], rejects=[weights_squared], covers={"n": "all", "d": "1", "tau": "none"},
          domain="every N >= 2 (q = 1/N) and every M")
def remark_eq4_bad(i):
    r"""$L_i(w)=(w-m_i)^2$ with $m=(0,..,0,M)$: the minimiser $w^*=M/N$ of (4) leaves the last client the loss $M^2(1-1/N)^2$,
    beyond every bound as $M\to\infty$; under (1), with $L_i(w+\theta_i)$, every client has loss 0."""
    best = ft.optimum(i.problem)
    last = i.problem.surrogate([0, 1]).value(best.x)
    joint = ft.Residual([[[2]]] * 2, [[[2]]] * 2, [[[2]]] * 2, [[0], [2 * i.M]], [[0], [2 * i.M]], i.problem.weights)
    constant = i.problem.weights[1] * i.M * i.M   # (w + theta - m)^2 has the constant m^2
    return (ft.equal(best.x, [i.q * i.M], "minimiser of (4)"),
            ft.equal(last, i.M * i.M * (1 - i.q) ** 2, "loss of the last client"),
            ft.equal(ft.limit((1 / last).substitute(M=1 / i.M), "M"), 0, "it grows beyond every bound"),
            ft.equal(joint.joint_value([i.w], [[-i.w], [i.M - i.w]]) + constant, 0, "under (1), theta_i = m_i - w"))


# ---- the joint optimum of quadratics --------------------------------------------------------------------
def coupling_halved(problem):
    """The coupling w'B theta is taken once where its gradient is asked for twice: B_i/2."""
    return ft.Residual(problem.A, problem.B * Q(1, 2), problem.C, problem.bw, problem.btheta)


coupling_halved.of = "problem"


def _own_blocks(problem):
    """Lists of A_i, B_i, C_i, bw_i, btheta_i, without padding."""
    cut = list(enumerate(problem.dims))
    return (problem.A, [problem.B[j][:, :k] for j, k in cut], [problem.C[j][:k, :k] for j, k in cut], problem.bw,
            [problem.btheta[j][:k] for j, k in cut])


def _scalar_blocks():
    field, s = symbols(A=(2, 1, 1), B=(2, 1, 1), C=(2, 1, 1), u=(2, 1), v=(2, 1))
    problem = ft.Residual(s["A"], list(s["B"]), list(s["C"]), s["u"], list(s["v"]))
    return ft.Instance("two clients, all symbols", problem, domain=field, says="every entry of the blocks a symbol")


def many(n):
    return ft.Residual([[[2 + k % 3]] for k in range(n)], [[[1 - k % 2]] for k in range(n)], [[[1 + k % 5]] for k in range(n)],
                       [[k % 7 - 3] for k in range(n)], [[k % 4] for k in range(n)])


on_optimum = [
    _scalar_blocks(),
    ft.Instance("one client", ft.Residual([[[3]]], [[[1]]], [[[2]]], [[1]], [[1]]), illustrates=True),
    ft.Instance("unequal sizes", ft.Residual(
        [[[4, 1], [1, 3]], [[5, 0], [0, 2]], [[3, -1], [-1, 3]]], [[[1], [0]], [[1, 0], [-1, 1]], [[0], [2]]],
        [[[2]], [[3, 1], [1, 2]], [[4]]], [[1, 0], [0, 2], [-1, 1]], [[1], [0, 3], [-2]]), illustrates=True,
        says="theta_2 in the plane, the others on the line"),
    ft.Instance("40 clients", many(40), illustrates=True),
    ft.Instance("a concave client", ft.Residual([[[-1]], [[5]]], [[[1]], [[1]]], [[[2]], [[1]]], [[1], [0]], [[0], [3]]),
                illustrates=True, says="A_1 < 0; F is strictly convex"),
]


@ft.claim("quad-joint-optimum", on=on_optimum, rejects=[coupling_halved], covers={"tau": "none", "n": "all", "d": "all"},
          domain="block elimination, the same for every number of clients and every size: each theta_i is eliminated by its own "
                 "equation; in all symbols for two clients on the line, exactly on listed blocks of unequal sizes and 40 clients")
def quad_joint_optimum(i):
    r"""On quadratics with $C_i\succ0$ and strictly convex $F$ the joint optimum is $w^*=(\sum_iS_i)^{-1}\sum_is_i$,
    $\theta_i^*=C_i^{-1}(b_{\theta,i}-B_i^\top w^*)$ with $S_i=A_i-B_iC_i^{-1}B_i^\top$, $s_i=b_{w,i}-B_iC_i^{-1}b_{\theta,i}$."""
    w, theta = f.joint_optimum(*_own_blocks(i.stated.problem))
    padded = np.array([[*t, *[0] * (i.problem.personal - len(t))] for t in theta], dtype=object)
    found = i.problem.joint_optimum()
    domain, coded = i.domain, i.problem.to(i.domain)
    gw, gtheta = coded.at().grad_pair(domain.array(w)[None], domain.array(padded))
    return (ft.equal(found[0], w, "w of the engine's solve"), ft.equal(found[1], padded, "its theta_i"),
            ft.equal(gw.sum(0), 0 * gw[0], "sum of grad_w L_i"), ft.equal(gtheta, 0 * gtheta, "every grad_theta L_i"),
            ft.equal(ft.optimum(i.problem.joint()).x[:i.problem.d], w, "w of the joint problem's minimiser"))
