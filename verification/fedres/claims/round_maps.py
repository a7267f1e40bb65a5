"""Section 3: one round of every algorithm on quadratics, as an affine map in closed form."""
import numpy as np

import fltheory as ft
from verification.fedres import bugs
from verification.fedres.formulas import round_maps as f
from verification.fedres.free import Answers, Free, array, cut, listed, numbers, read, same, symbolic
from verification.symbols import Symbols

DOMAIN = ("every K by induction on the coded local step (blocks of size 2, all entries free); the whole coded round for one to "
          "three clients, K = 1 to 3 and personal parts of unequal size in symbols, and from a free state on every listed instance")
COVERS = {"n": "1 to 3", "d": "1, 2", "tau": "all"}


def maker(cls, **options):
    """(eta, lambda, K, alpha) -> the algorithm."""
    averaged = {"alpha"} if cls is ft.FedResAvg else set()
    return lambda eta, lam, K, alpha=1: cls(eta, K, personal_lr=lam, **options, **({"alpha": alpha} if averaged else {}))


def rounds(make):
    """All symbols: unequal personal parts, blocks of size 2, several K; in numbers: N = 1 to 5, K = 1 to 200, condition 1e8."""
    free = [symbolic(f"{len(dims)} clients, d={d}, personal {dims}, K={K}, all symbols",
                     lambda s, K=K: make(s.eta, s.lam, K, s.al), d, dims)
            for d, dims, K in ((1, (1,), 3), (1, (1, 2), 1), (2, (1, 2), 2), (1, (1, 1, 2), 3))]
    shown = [listed(name, problem, make(eta, lam, K, alpha), says) for name, problem, eta, lam, K, alpha, says in (
        ("three clients", numbers(3, 2, (1, 2, 3)), "1/50", "1/30", 20, "3/2", "blocks that do not commute, alpha = 3/2"),
        ("five clients", numbers(5, 2, (1, 2, 3, 1, 2), 10**4), "1/100", "1/30", 30, 2, "condition number 1e8"),
        ("one client, long", numbers(1, 2, (1,)), "1/100", "1/100", 200, 1, "one client, 200 local steps"))]
    return [*free, *ft.illustrate(shown, symbols=True)]


def every_K(make):
    """One client and one local step: P, R, Q, G are the matrices that K steps have made, free symbols."""
    return symbolic("every K", lambda s: make(s.eta, s.lam, 1), 2, (2,), induced=True,
                    says="one more coded local step after any number of them", more={"P": 4, "R": 4, "Q": 4, "G": 16, "k": 1})


def square(entries):
    size = int(len(entries) ** 0.5)
    return array(entries).reshape(size, size)


def next_step(M, G, lr=1):
    """lr sum_{k<K+1} (I - M)^k from G, the same to K."""
    return lr * f.eye(M) + G - f.linalg.matmul(M, G)


def personal_steps(i):
    """Step 1 for every K: theta' = P theta + R (bt - B'w)."""
    (client,), s, C = i.clients, i.s, i.clients[0][2]
    P, R = square(s.P), square(s.R)
    one = f.eye(C)
    after = i.personal(i.coded(i.w, [f.personal(client, i.w, i.theta[0], P, R)]))[0]
    later = f.personal(client, i.w, i.theta[0], P - i.lam * f.linalg.matmul(C, P), next_step(i.lam * C, R, i.lam))
    return ft.induction([(f.personal(client, i.w, i.theta[0], one, 0 * one), i.theta[0])], [(after, later)], "Step 1", over="K")


def shared_steps(i):
    """Step 2 of A4 for every K: w_i and the sum of the local gradients, with theta' the result of Step 1."""
    (client,), s, (A, B, C, _, bt), w, theta = i.clients, i.s, i.clients[0], i.w, i.theta[0]
    Q, k, offset = square(s.Q), s.k[0], i.c - i.cs[0]

    def here(Q, k):  # where K = k steps lead, and the sum of their gradients
        move = f.shared(client, w, theta, offset, i.eta, Q)
        return np.concatenate([w + move, -move / i.eta - k * offset])
    at = here(Q, k)
    before = f.linalg.solve(f.eye(C) - i.lam * C, theta - i.lam * (bt - f.times(B.T, at[:2])))  # Step 1 makes it theta
    state = i.coded(at[:2], [before], i.c, i.cs)
    step = [(state.x, here(next_step(i.eta * A, Q), k + 1)[:2])]
    if i.option == 2:
        step.append((at[2:] + state.ci[0], here(next_step(i.eta * A, Q), k + 1)[2:]))
    return ft.induction([(here(0 * Q, 0 * k), np.concatenate([w, 0 * w]))], step, "Step 2", over="K")


on_a3 = [every_K(maker(ft.FedResSgd)), *rounds(maker(ft.FedResSgd))]


@ft.claim("a3-round-map", on=on_a3, covers=COVERS, domain=DOMAIN,
          rejects=[bugs.old_theta_in_step_two, bugs.personal_step_fewer, bugs.large_step_not_multiplied,
                   bugs.local_steps_for_large_step, bugs.personal_averaged, bugs.personal_step_with_lr])
def a3_round_map(i):
    r"""A round of FedResSGD on quadratics is $\theta_i'=P_i\theta_i+R_i(b_{\theta,i}-B_i^\top w)$,
    $w^+=w-\eta K\frac1N\sum_i(A_iw+B_i\theta_i'-b_{w,i})$ with $P_i=(I-\lambda C_i)^K$ and
    $R_i=\lambda\sum_{k<K}(I-\lambda C_i)^k$."""
    if "induced" in i.extra:
        return personal_steps(i)
    return same(i, i.coded(i.w, i.theta), *f.a3(i.clients, i.w, i.theta, *i.rates))


on_a4 = [v.but(name=f"Option {'I' * k}: {v.name}") for k in (1, 2)
         for v in (every_K(maker(ft.FedResAvg, option=k)), *rounds(maker(ft.FedResAvg, option=k)))]


@ft.claim("a4-round-map", on=on_a4, covers=COVERS, domain=DOMAIN,
          rejects=[bugs.old_theta_in_step_two, bugs.personal_step_fewer, bugs.alpha_dropped, bugs.variates_dropped,
                   bugs.variates_kept, bugs.mean_not_divided, bugs.variates_not_averaged, bugs.personal_averaged])
def a4_round_map(i):
    r"""A round of FedResAvg on quadratics: Step 1 as FedResSGD; with $r_i=A_iw+B_i\theta_i'-b_{w,i}$, $o_i=c-c_i$ and
    $Q_i=\sum_{k<K}(I-\eta A_i)^k$ then $w^+=w-\frac{\alpha\eta}N\sum_iQ_i(r_i+o_i)$ and
    $c_i^+=\frac1KQ_i(r_i+o_i)-o_i$ (Option II) or $0$ (Option I), $c^+=\frac1N\sum_ic_i^+$."""
    if "induced" in i.extra:
        return personal_steps(i), shared_steps(i)
    return same(i, i.coded(i.w, i.theta, i.c, i.cs),
                *f.a4(i.clients, i.w, i.theta, i.c, i.cs, *i.rates, i.alpha, i.option))


on_a2 = [every_K(maker(ft.FedResNaive, order="sim")), *rounds(maker(ft.FedResNaive, order="sim"))]


@ft.claim("a2-round-map", on=on_a2, covers=COVERS, domain=DOMAIN,
          rejects=[bugs.sequential_for_simultaneous, bugs.personal_averaged, bugs.personal_step_with_lr, bugs.personal_reset])
def a2_round_map(i):
    r"""A simultaneous round of FedResNaive on quadratics takes $z=(w,\theta_i)$ to
    $z-\sum_{k<K}(I-\mathcal DH_i)^k\mathcal D(H_iz-b_i)$, $\mathcal D={\rm diag}(\eta I,\lambda I)$, and averages the shared
    parts."""
    if "induced" not in i.extra:
        return same(i, i.coded(i.w, i.theta), *f.a2(i.clients, i.w, i.theta, *i.rates))
    H, b = f.joined(i.clients[0])
    DH, z = f.scaled(H, 2, i.eta, i.lam), np.concatenate([i.w, i.theta[0]])
    push = f.scaled(H, 2, i.eta, i.lam).dot(z) - np.concatenate([i.eta * b[:2], i.lam * b[2:]])

    def here(G):
        return z - f.times(G, push)
    G = square(i.s.G)
    at = here(G)
    return ft.induction([(here(0 * G), z)], [(i.moved(at[:2], [at[2:]]), here(next_step(DH, G)))], "local steps", over="K")


# ---- one local step ---------------------------------------------------------------------------------------
def answered(n, option):
    """n clients that answer every question with free symbols; one step of FedResAvg, and of FedResSGD as `other`."""
    s = Symbols("eta lam", g=2 * n * 2, h=2 * n * 2, w=2, t=2 * n, v=2 * n)
    problem = Answers(np.array(s.g, dtype=object).reshape(2, n, 2), np.array(s.h, dtype=object).reshape(2, n, 2))
    theta, cs = (np.array(v, dtype=object).reshape(n, 2) for v in (s.t, s.v))
    return Free(f"Option {'I' * option}, {n} clients", problem, ft.FedResAvg(s.eta, 1, personal_lr=s.lam, option=option),
                ft.Full(), domain=s.field, other=ft.FedResSgd(s.eta, 1, personal_lr=s.lam), w=array(s.w), theta=theta,
                c=f.mean(list(cs)), cs=cs, says="every stochastic gradient is a free vector")


@ft.claim("remark-k1", on=[answered(n, option) for option in (1, 2) for n in (1, 2, 3)], covers={"n": "1 to 3", "d": "all"},
          rejects=[bugs.old_theta_in_step_two, bugs.personal_averaged],
          domain="every loss and every noise, as the gradients are free vectors and asked at the same points; every coordinate "
                 "is treated alike; any c_i of which c is the mean")
def remark_k1(i):
    r"""With $K=1$, $\alpha=1$ and $c=\frac1N\sum_ic_i$, FedResSGD and FedResAvg (both options) make the same round of
    $(w,\theta)$, stochastic gradients included."""
    first, second = i, i.but(algorithm=i.other)
    (one, asked), (two, also) = first.noted(i.w, i.theta, i.c, i.cs), second.noted(i.w, i.theta)
    following = first.noted(i.w, i.theta, one.c, one.ci)[0]
    return (ft.equal(one.x, two.x, "w"), ft.equal(one.theta, two.theta, "theta"), ft.equal(asked, also, "asked at the same points"),
            ft.equal(following.x, one.x, "the variates of the round serve as well"))


# ---- noise ------------------------------------------------------------------------------------------------
def linear(i, moved):
    """Columns moved(e_j) - moved(0) of an affine function of (w, theta_1, .., theta_N)."""
    sizes = i.problem.dims
    unit = read(np.eye(i.d + sum(sizes), dtype=int))
    zero, *columns = (moved(v[:i.d], cut(list(v[i.d:]), sizes)) for v in [0 * unit[0], *unit])
    return np.stack([v - zero for v in columns], axis=1)


def coded_noise(i):
    """The covariance that the coded round makes of independent noise of variances sw, st per coordinate in every slot."""
    w, thetas, total = np.zeros(i.d, dtype=int), [np.zeros(k, dtype=int) for k in i.problem.dims], 0
    still = i.moved(w, thetas)
    for slot in range(2 * i.K):
        for client, k in enumerate(i.problem.dims):
            for at, variance in [(j, i.sw) for j in range(i.d)] + [(i.d + j, i.st) for j in range(k)]:
                sample = np.zeros((i.n, i.d + i.problem.personal), dtype=int)
                sample[client, at] = 1
                state = i.coded(w, thetas, noise=lambda s, slot=slot, sample=sample: i.domain.array(sample * (s == slot)))
                push = i.flat(state.x, i.personal(state)) - still
                total = total + variance * push[:, None] * push
    return total


def personal_noise(i):
    """Step 1 for every K: the noise on theta has variance lambda^2 st G, G = sum_{k<K} (1 - lambda C)^{2k}; scalars, G free."""
    (_, _, C, _, _), G = i.clients[0], i.s.G[0]
    zero = [0 * i.w[0]]

    def response(theta, sample):
        draw = i.domain.array(np.array([[0, sample]]))
        return (i.personal(i.coded(zero, [[theta]], noise=lambda k: draw))[0] - i.personal(i.coded(zero, [zero]))[0])[0]
    own, fresh = response(1, 0), response(0, 1)
    after = own**2 * i.lam**2 * i.st * G + fresh**2 * i.st
    later = i.lam**2 * i.st * next_step(1 - (1 - i.lam * C) ** 2, np.array([[G]], dtype=object))[0, 0]
    return ft.induction([(i.lam**2 * i.st * 0 * G, 0 * G)], [(after, later)], "noise of Step 1", over="K")


def noisy(name, problem, eta, lam, K, says):
    """The second moments of the coded round by the engine: sigma^2 = 1 spread over all coordinates of a mini-batch."""
    share = ft.fraction(1) / (problem.d + problem.personal)
    return Free(name, problem, ft.FedResSgd(eta, K, personal_lr=lam), ft.Full(), noise=1, says=says, sw=share, st=share)


on_noise = [symbolic(f"{len(dims)} clients, d={d}, personal {dims}, K={K}, all symbols",
                     lambda s, K=K: ft.FedResSgd(s.eta, K, personal_lr=s.lam), d, dims, more={"sigma": 2})
            for d, dims, K in ((1, (1,), 1), (1, (1,), 3), (1, (1, 2), 2), (2, (1, 1), 2))]
on_noise.append(symbolic("noise of Step 1, every K", lambda s: ft.FedResSgd(s.eta, 1, personal_lr=s.lam), 1, (1,), induced=True,
                         more={"sigma": 2, "G": 1}))
on_noise = [i.but(sw=i.s.sigma[0], st=i.s.sigma[1]) for i in on_noise] + ft.illustrate([
    noisy("one client", numbers(1, 1, (1,)), "1/10", "1/5", 4, "one client"),
    noisy("two clients", numbers(2, 1, (1, 2)), "1/20", "1/10", 3, "unequal personal parts"),
    noisy("flat direction", numbers(2, 1, (1, 1), 100), "1/20", "1/10", 2, "condition number 1e4")])


@ft.claim("a3-lyapunov", on=on_noise, covers={"n": "1, 2", "d": "1, 2", "tau": "all"},
          rejects=[bugs.old_theta_in_step_two, bugs.personal_step_fewer, bugs.large_step_not_multiplied],
          domain="linear part and injected covariance in symbols, hence the equation (K = 1 to 3 in full; the noise of Step 1 for "
                 "every K by induction on the coded step); its solution against the engine's stationary law on listed instances")
def a3_lyapunov(i):
    r"""With independent zero-mean noise of covariances $\Sigma_w,\Sigma_\theta$ (multiples of $I$) in every mini-batch the
    stationary covariance of FedResSGD on a stable quadratic solves $\Sigma=T\Sigma T^\top+\mathcal Q$, where $\mathcal Q$ is
    $\frac{\eta^2K}N\Sigma_w$ on $w$ plus $\lambda^2\sum_{k<K}(I-\lambda C_i)^{2k}\Sigma_\theta$ on $\theta_i'$, pushed
    through Step 2."""
    if "induced" in i.extra:
        return personal_noise(i)
    T = linear(i, lambda w, t: i.flat(*f.a3(i.clients, w, t, *i.rates)))
    Q = f.injected(i.clients, *i.rates, i.sw, i.st)
    same = ft.equal(linear(i, i.moved), T, "linear part"), ft.equal(coded_noise(i), Q, "injected covariance")
    if isinstance(i.domain, ft.Field):
        return same
    return *same, ft.equal(i.op.stationary().covariance, f.lyapunov(T, Q)[:i.d, :i.d], "covariance of w")
