"""Section 3.1: FedResSGD as block coordinate descent, its limit of many personal steps, its stability; beta <= gamma/N."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.fedres import bugs
from verification.fedres.claims.round_maps import linear, square
from verification.fedres.formulas import appendix_a, constants
from verification.fedres.formulas import descent as f
from verification.fedres.formulas import round_maps as maps
from verification.fedres.free import Free, listed, numbers, read, symbolic
from verification.fedres.instances import alike, figure1
from verification.fedres.one_round import root_above
from verification.fedres.proofs import appendix_a as proofs_a
from verification.fedres.proofs import descent as proofs

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


# ---- block coordinate descent -------------------------------------------------------------------------------
def common_step(problem, lr, K):
    """FedResSGD with lambda = eta/N."""
    return ft.FedResSgd(lr, K, personal_lr=ft.fraction(lr) / problem.n)


free_bcd = [symbolic(f"{len(dims)} clients, d={d}, personal {dims}, K={K}, all symbols",
                     lambda s, K=K, dims=dims: ft.FedResSgd(s.eta, K, personal_lr=s.eta / len(dims)), d, dims)
            for d, dims, K in ((1, (1,), 3), (1, (1, 2), 2), (2, (1, 1), 1), (1, (1, 1, 1), 2))]
shown_bcd = [listed(name, problem, common_step(problem, lr, K)) for name, problem, lr, K in (
    ("five clients, unequal sizes", numbers(5, 2, (1, 2, 3, 1, 2)), "1/20", 20),
    ("one client, K=200", numbers(1, 2, (1,)), "1/50", 200),
    ("too large a step", numbers(2, 1, (1, 1)), 3, 3))]


@ft.claim("remark-bcd", on=[*free_bcd, *ft.illustrate(shown_bcd, symbols=True)], covers={"n": "1 to 3", "d": "1, 2"},
          rejects=[bugs.old_theta_in_step_two, bugs.large_step_not_multiplied, bugs.personal_averaged,
                   bugs.local_steps_for_large_step],
          domain="every entry of the blocks, every state and step, for one to three clients and K = 1 to 3; every state on the "
                 "listed ones, K up to 200. The rounds ask for nothing but gradients, so the same identity holds for any losses")
def remark_bcd(i):
    r"""With $\lambda=\eta/N$ a round of FedResSGD is gradient block coordinate descent on $F$ with the common step $\eta$:
    $K$ steps on all $\theta_i$, then one of size $\eta K$ on $w$."""
    F = i.problem.joint().to(i.domain)
    return ft.equal(i.moved(i.w, i.theta), f.block_descent(F.gradient, i.flat(i.w, i.theta), i.d, i.eta, i.K))


def everyone_moves():
    """In a coded round from a state where no theta_i is optimal, all of them change."""
    i = Free("five clients", numbers(5, 2, (1, 2, 3, 1, 2)), common_step(numbers(5, 2, (1, 2, 3, 1, 2)), "1/20", 2), ft.Full())
    w, thetas = next(states(i))
    moved = sum((a != b).any() for a, b in zip(i.personal(i.coded(w, thetas)), thetas, strict=True))
    return ft.equal(int(moved), i.n, "personal parameters that a round changes, of five")


ft.finding("err-14-subsampled", kind="misprint", breaks="remark-bcd", check=everyone_moves,
           reading="The sentence says that only some theta_i are sub-sampled in each round; Section 3 and Algorithm 3 have every "
                   "client in every round, and the theorems' proofs too.",
           survives="As block coordinate descent with all theta_i in every round: remark-bcd.")


# ---- many personal steps ------------------------------------------------------------------------------------
def one_step(s):
    return ft.FedResSgd(s.eta, 1, personal_lr=s.lam)


on_limit = [symbolic("every K: P stands for (I - lambda C)^K", one_step, 2, (2,), more={"P": 4, "z": 1}),
            symbolic("two clients: p_i stands for (1 - lambda C_i)^K", one_step, 1, (1, 1), more={"P": 2, "z": 1})]


def towards(client, w, theta, P):
    """theta' after any number of personal steps, P = (I - lambda C)^K: from theta (P = I) to the best response (P = 0)."""
    best = maps.best_personal(client, w)
    return best + maps.times(P, theta - best)


@ft.claim("remark-bcd-limit", on=on_limit, rejects=[bugs.personal_averaged, bugs.personal_reset],
          covers={"n": "1, 2", "d": "1, 2", "tau": "all"},
          domain="every K by induction on the coded personal step, all blocks and states in symbols; (I - lambda C_i)^K tends to 0 "
                 "for 0 < lambda < 2/lambda_max(C_i), and the coded large step is continuous in it")
def remark_bcd_limit(i):
    r"""On quadratics with $0<\lambda<2/\max_i\lambda_{\max}(C_i)$ fixed, $K\to\infty$ and $\eta K=s$ fixed, a round of FedResSGD
    becomes $\theta_i'=\arg\min L_i(w,\cdot)$ and the gradient step $w^+=w-\frac sN\sum_i(S_iw-s_i)$ on the averaged Schur
    problem."""
    s, n, (z,) = i.s, i.n, i.s.z
    P = [square(s.P)] if n == 1 else [square([v]) for v in s.P]
    one = [maps.eye(v) - i.lam * C for v, (_, _, C, _, _) in zip(P, i.clients, strict=True)]

    def at(Ps):
        return [towards(v, i.w, t, M) for v, t, M in zip(i.clients, i.theta, Ps, strict=True)]
    step = i.personal(i.coded(i.w, at(P)))
    later = at([ft.linalg.matmul(a, M) for a, M in zip(one, P, strict=True)])
    # the same round, Step 1 of which leads to towards(z P): its large step has size s = eta, K = 1
    before = [ft.linalg.solve(a, t - i.lam * maps.times(C, maps.best_personal(v, i.w)))
              for a, t, v, (_, _, C, _, _) in zip(one, at([z * M for M in P]), i.clients, i.clients, strict=True)]
    pull = maps.mean([S.dot(i.w) - b for S, b in map(maps.schur, i.clients)])
    return (ft.induction([(np.concatenate(at([maps.eye(M) for M in P])), np.concatenate(i.theta))],
                         [(np.concatenate(step), np.concatenate(later))], "personal steps", over="K"),
            ft.equal(ft.limit(i.coded(i.w, before).x, "z0"), i.w - i.eta * pull, "large step in the limit"))


# ---- stability ----------------------------------------------------------------------------------------------
def tops(i):
    """(largest curvature in a theta_i, largest curvature of F in w), from above."""
    bound = ft.linalg.largest_eigenvalue_bound
    return max(bound(v[2]) for v in i.clients), bound(sum(v[0] for v in i.clients) / i.n)


personal = ft.Hypothesis("personal step", r"$\lambda<2/\max_i\lambda_{\max}(C_i)$", lambda i: (i.lam * tops(i)[0], 2), True, cap=1)
shared = ft.Hypothesis("shared step", r"$\eta K<2/\lambda_{\max}(\frac1N\sum_iA_i)$", lambda i: (i.eta * i.K * tops(i)[1], 2), True,
                       cap=1)


def near_cap(name, problem, K, lam, eta):
    """lam, eta: shares of the caps."""
    base = Free(name, problem, ft.FedResSgd(1, K, personal_lr=1), ft.Full())
    own, both = tops(base)
    algorithm = ft.FedResSgd(2 * ft.fraction(eta) / (both * K), K, personal_lr=2 * ft.fraction(lam) / own)
    return base.but(algorithm=algorithm, says=f"{lam} and {eta} of the largest steps")


on_stability = [near_cap("one client, near both caps", numbers(1, 2, (1,)), 1, "99/100", "99/100"),
                near_cap("three clients, near both caps", numbers(3, 2, (1, 2, 3)), 2, "99/100", "99/100"),
                near_cap("five clients, short steps", numbers(5, 1, (1, 2, 1, 1, 2)), 5, "1/100", "1/100"),
                near_cap("strong coupling, K=50", alike(2, 1, Q(9, 10), 1), 50, "1/10", "9/10"),
                near_cap("Figure 1, strictly convex in no direction of w + theta_1", figure1(), 5, "1/10", "1/10")]
at_cap = near_cap("lambda at its cap, K even", alike(1), 2, 1, "1/2")


def states(i):
    """Two states (w, theta) in small rationals."""
    for k in (1, 3):
        yield read([k - j for j in range(i.d)]), [read([(2 * j + k) % 5 - 2 for j in range(size)]) for size in i.problem.dims]


def value(i, w, thetas):
    z = i.flat(w, thetas)
    return ft.fraction(i.problem.joint().to(i.domain).value(i.domain.array(z)))


def stability_numbers(i):
    """Step 1 of each client (K = 1) and Step 2 as block steps, from the listed states."""
    own, both = tops(i)
    for w, thetas in states(i):
        state = i.coded(w, thetas)
        new, after = i.personal(state), read(state.x)
        g = maps.mean([maps.gradients(v, w, t)[0] for v, t in zip(i.clients, new, strict=True)])
        A = sum(v[0] for v in i.clients) / i.n
        yield ({"t": i.eta * i.K, "mu": both, "V": value(i, w, new), "V1": value(i, after, new), "q": g.dot(A).dot(g)}, {"g": g})
        for j, (v, t) in enumerate(zip(i.clients, thetas, strict=True)) if i.K == 1 else ():
            h = maps.gradients(v, w, t)[1]
            moved = [new[k] if k == j else thetas[k] for k in range(i.n)]
            yield ({"t": i.lam, "mu": own, "V": i.n * value(i, w, thetas), "V1": i.n * value(i, w, moved), "q": h.dot(v[2]).dot(h)},
                   {"g": h})


@ft.claim("remark-fedressgd-stability", on=[*on_stability, at_cap], needs=[personal, shared], proof=proofs.block_step,
          meaning=stability_numbers, rejects=[bugs.old_theta_in_step_two, bugs.personal_averaged], domain=proofs.DOMAIN)
def stability(i):
    r"""On quadratics, for $0<\lambda<2/\max_i\lambda_{\max}(C_i)$ and $0<\eta K<2/\lambda_{\max}(\frac1N\sum_iA_i)$, neither step
    of FedResSGD raises $F$; for strictly convex $F$ every round lowers $F-F^*$ away from the optimum, so the round map contracts:
    $\nabla^2F-T^\top\nabla^2F\,T\succ0$. Where $F$ is convex, not strictly (Figure 1), it does not rise and need not contract."""
    T, H = linear(i, i.moved), maps.hessian(i.clients)
    gain, strict = H - ft.linalg.matmul(ft.linalg.matmul(T.T, H), T), ft.linalg.is_positive_definite(H)
    kept = [ft.at_most(after, before, "neither step raises F") for w, thetas in states(i) for state in [i.coded(w, thetas)]
            for before, after in ((value(i, w, thetas), value(i, w, i.personal(state))),
                                  (value(i, w, i.personal(state)), value(i, read(state.x), i.personal(state))))]
    falls = ft.linalg.is_positive_definite(gain, strict=strict)
    return (*kept, ft.equal(falls, True, f"F falls in every direction, strictly: {strict}"))


# ---- strong convexity ---------------------------------------------------------------------------------------
def summed(problem):
    """F is taken as the sum of the L_i instead of their mean."""
    return SumOfClients(problem)


summed.of = "problem"


class SumOfClients:
    def __init__(self, right):
        self.right, self.n, self.d, self.dims, self.weights = right, right.n, right.d, right.dims, right.weights

    def joint(self):
        q = self.right.joint()
        return ft.Quadratic.from_linear(q.H * self.n, q.b * self.n, q.weights)


def convexity(i):
    """The smallest eigenvalue of the Hessian of F, from above."""
    q = i.problem.joint()
    return -ft.linalg.largest_eigenvalue_bound(-sum(w * H for w, H in zip(q.weights, read(q.H), strict=True)))


strongly = ft.Hypothesis("strongly convex F", r"$\beta>0$", lambda i: (0, ft.linalg.smallest_eigenvalue_bound(
    maps.hessian(i.clients))), strict=True)


def plain(name, problem):
    return Free(name, problem, says=f"{problem.n} clients")


on_beta = [plain(f"{n} clients, curvature 1 in every theta_i: equality", alike(n, 1, 0, 1)) for n in (1, 4, 40)]
on_beta += [plain("three clients", numbers(3, 2, (1, 2, 3))), plain("badly conditioned", numbers(2, 1, (1, 1), 10**3))]


def drawn_beta(draw, n=None):
    n = n or draw(st.integers(1, 4))
    share, c = draw(st.sampled_from([Q(0), Q(1, 2), Q(9, 10)])), draw(st.sampled_from([Q(1, 3), Q(1), Q(2)]))
    return plain("drawn", alike(n, 1 + draw(st.integers(0, 4)), share * c, c))


def beta_numbers(i):
    """A unit step of the first coordinate of theta_1 from 0."""
    (_, _, C, _, bt), gamma = i.clients[0], root_above(max(constants.gamma2(*v[:3]) for v in i.clients))
    unit = read([1] + [0] * (len(C) - 1))
    g, u = -bt, C[:, 0]
    start, rest = read([0] * i.d), [read([0] * k) for k in i.problem.dims]
    yield ({"gamma": gamma, "N": Q(i.n), "beta": ft.linalg.smallest_eigenvalue_bound(maps.hessian(i.clients)),
            "F0": value(i, start, rest), "F1": value(i, start, [unit, *rest[1:]])}, {"v": unit, "g": g, "u": u})


@ft.claim("beta-le-gamma-over-n", on=on_beta, needs=[strongly], rejects=[summed], proof=proofs_a.beta_cap, meaning=beta_numbers,
          domain=proofs_a.FUNCTIONS, ends={"clients": (1, 40)},
          search=ft.Search((ft.Family("quadratic", drawn_beta, [{"n": 1}, {"n": 40}]),), tries=30))
def beta_cap(i):
    r"""If $F$ is $\beta$-strongly convex in $(w,\theta_1,\dots,\theta_N)$ and Assumption 1 holds with $\gamma$, then
    $\beta\le\gamma/N$: $F$ sees each $\theta_i$ through $L_i/N$ alone. So
    $\gamma\sigma^2/(\beta^2NKR)\ge N\sigma^2/(\gamma KR)$."""
    gamma, beta = root_above(max(constants.gamma2(*v[:3]) for v in i.clients)), convexity(i)
    return (ft.at_most(beta, ft.Terms(cap=appendix_a.beta_cap(gamma, i.n))),
            *([ft.equal(beta, appendix_a.beta_cap(gamma, i.n))] if "equality" in i.name else []))
