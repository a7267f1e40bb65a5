"""Step 1 and Step 2 over whole classes of functions with gamma = 1, without noise: settings, and the quantities of one coded step.

With w frozen Step 1 is K gradient steps of one function, the coded FedAvg with one client; Step 2 of FedResSGD is FedAvg with one
local step of size eta K; Step 2 of FedResAvg is SCAFFOLD with server step alpha, from any c_i with c as their mean. Whole rounds of
FedResSGD run as they are, on functions of both parts under Assumption 1.
"""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft

CONVEX, SMOOTH = ft.SmoothConvex(1), ft.Smooth(1)
NOISELESS = {"sigma": "0"}


def gradient_steps(kind, K, lr):
    """K steps of size lr of one function: Step 1."""
    return ft.Instance(f"{words(kind)}, K={K}, lambda={lr}", algorithm=ft.FedAvg(lr, K), law=ft.Full(), classes=kind, n=1, K=K,
                       lam=Q(lr), gamma=Q(1))


def large_step(kind, n, K, lr):
    """One step of size K lr of the mean of n functions: Step 2 of FedResSGD."""
    return ft.Instance(f"{words(kind)}, N={n}, K={K}, eta={lr}", algorithm=ft.FedAvg(K * Q(lr), 1), law=ft.Full(),
                       classes=kind, n=n, K=K, eta=Q(lr), gamma=Q(1))


def variates(kind, n, K, alpha, lr):
    """K local steps with variates on n functions: Step 2 of FedResAvg."""
    return ft.Instance(f"{words(kind)}, N={n}, K={K}, alpha={alpha}, eta={lr}", algorithm=ft.Scaffold(lr, K, server_lr=alpha),
                       law=ft.Full(), classes=kind, n=n, K=K, alpha=Q(alpha), eta=Q(lr), gamma=Q(1))


def words(kind):
    return "convex" if isinstance(kind, ft.SmoothConvex) else "smooth"


def mean_consistent(lr):
    """Any variates c_i, and c as their mean; counted in 1/lr, as they move the local models."""
    def start(s):
        ci = s.vectors("c") / ft.RATIONAL.scalar(lr)
        return {"ci": ci, "c": (s.problem.p[..., None] * ci).sum(-2)}
    return start


def points(s, i):
    """[(points (n, d), gradients (n, d))] of the coded local steps, and of SCAFFOLD's with its variates."""
    state, lr, out = s.before, i.algorithm.to(ft.RATIONAL).lr, []
    shift = state.c - state.ci if hasattr(state, "ci") else 0
    at = np.stack([s.x] * i.n)
    for _ in range(i.algorithm.steps):
        out.append((at, s.grads(at)))
        at = at - lr * (out[-1][1] + shift)
    return out


def certified(i, left, tight, initial=(), label="", **terms):
    """left <= sum of coefficient * form after the coded rounds, for every function of the class."""
    start = {"start": mean_consistent(i.eta)} if isinstance(i.algorithm, ft.Scaffold) else {}
    return ft.certified_over(i.algorithm, i.classes, i.law, clients=i.n, left=left, terms=terms, tight=tight, initial=initial,
                             label=label, **start)


def change(s):
    """F after the step minus F before it."""
    return s.F(s.next) - s.F(s.x)


def slope(s):
    """|grad F|^2 before the step."""
    return s.square(s.grad(s.x))


# ---- Step 1 -------------------------------------------------------------------------------------------------
STEP1 = [gradient_steps(kind, K, lr) for kind in (CONVEX, SMOOTH) for K in (1, 2, 3) for lr in sorted({Q(1), Q(1, K)})]
STEP1 += [gradient_steps(CONVEX, 5, lr) for lr in (Q(1, 5), 1)]


def lemma5(i, descent, drift):
    """F(theta') - F(theta) + descent |grad|^2 <= drift G^2, with |grad| <= G at every point of Step 1; two coefficients."""
    def bounded(s):
        return [s.square(g[0]) <= 1 for _, g in points(s, i)[1:]]
    return certified(i, lambda s: change(s) + slope(s) * descent, "drift", bounded, drift=(drift, slope))


# ---- Step 2 of FedResSGD --------------------------------------------------------------------------------------
STEP2 = [large_step(kind, n, K, share / K) for kind in (CONVEX, SMOOTH) for n in (1, 2, 3) for K in (1, 5)
         for share in (Q(1), Q(1, 2))]


def descent(i, share):
    """F(w') - F(w) <= -share eta K |grad F|^2, as F(w') - F(w) + eta K |grad F|^2 <= (1 - share) eta K |grad F|^2."""
    step = i.eta * i.K
    return certified(i, lambda s: change(s) + slope(s) * step, "second order", **{"second order": ((1 - share) * step, slope)})


# ---- Step 2 of FedResAvg --------------------------------------------------------------------------------------
CAP = Q(1, 96)   # of gamma alpha eta K
LOCAL = [variates(kind, n, K, alpha, CAP / (alpha * K)) for kind in (CONVEX, SMOOTH) for n, K, alpha in
         ((1, 2, 1), (1, 3, 1), (2, 1, 1), (2, 2, 1), (2, 2, 2), (2, 3, 2), (3, 2, 3))]


def drift(s, i):
    """(1/(N K)) sum_{i,k} |w_i^[k] - w|^2."""
    return sum((s.mean_square(at - s.x) for at, _ in points(s, i)[1:]), s.mean_square(points(s, i)[0][0] - s.x)) * Q(1, i.K)


def lemma8(i, share, scale):
    """F(w') - F(w) + share alpha eta K |grad F|^2 <= scale * drift, gradients at the new theta."""
    step = i.alpha * i.eta * i.K * share
    return certified(i, lambda s: change(s) + slope(s) * step, "drift", drift=(scale, lambda s: drift(s, i)))


def lemma8_old(i, share, scale, personal, lam):
    """The same with the gradient at the old theta, whose parts are e_i off those at the new one: |e_i| <= gamma lambda G K."""
    e2 = (i.gamma * lam * i.K) ** 2   # at G = 1
    def old(s):
        g = s.grads(s.x) + s.vectors("e")
        return s.square((s.problem.p[..., None] * g).sum(-2))
    def small(s):
        return [s.square(e) <= e2 for e in s.vectors("e")[1:]]
    step = i.alpha * i.eta * i.K * share
    return certified(i, lambda s: change(s) + old(s) * step, "personal", small, drift=(scale, lambda s: drift(s, i)),
                     personal=(personal, lambda s: s.square(s.vectors("e")[0]) * (1 / e2)))


# ---- whole rounds of FedResSGD -----------------------------------------------------------------------------------
def whole_round(convex, n, K, share):
    """FedResSGD at this share of the step 1/(gamma K), lambda = eta/N, from any w and theta_i."""
    kind, eta = ft.SmoothBlocks(1, convex), Q(share) / K
    return ft.Instance(f"{'convex' if convex else 'smooth'}, N={n}, K={K}, eta={eta}", law=ft.Full(), classes=kind, n=n, K=K,
                       eta=eta, algorithm=ft.FedResSgd(eta, K, personal_lr=eta / n), lam=eta / n, gamma=Q(1))


SIZES = ((1, 1), (1, 2), (1, 5), (2, 1), (2, 2), (3, 1), (3, 2))
ROUNDS = [whole_round(convex, n, K, 1) for convex in (True, False) for n, K in SIZES]
HALF_ROUNDS = [whole_round(False, n, K, Q(1, 2)) for n, K in SIZES]


def both_slopes(s):
    """|grad F|^2 before the round: |(1/N) sum grad_w L_i|^2 + (1/N^2) sum |grad_theta L_i|^2."""
    shared, own = s.grad_pairs(s.x, s.before.theta)
    total = sum((s.square(g) for g in own[1:]), s.square(own[0]))
    return s.square((s.problem.p[..., None] * shared).sum(-2)) + total * Q(1, len(own) ** 2)


def decrease(i, gain):
    """F(x') - F(x) <= -gain |grad F(x)|^2, as F(x') - F(x) + eta K |grad F|^2 <= (eta K - gain) |grad F|^2."""
    def left(s):
        return s.joint_value(s.next, s.after.theta) - s.joint_value(s.x, s.before.theta) + both_slopes(s) * (i.eta * i.K)
    return ft.certified_over(i.algorithm, i.classes, i.law, clients=i.n, start=lambda s: {"theta": s.vectors("theta")}, left=left,
                             terms={"second order": (i.eta * i.K - gain, both_slopes)}, tight="second order")
