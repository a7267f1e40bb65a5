"""Figure 1 (Appendix E.1): the two-client system, FedResNaive and FedResSGD on it."""
import fltheory as ft
from verification.fedres import bugs
from verification.fedres.claims.constants import wrong
from verification.fedres.claims.round_maps import maker
from verification.fedres.formulas import figure1 as f
from verification.fedres.formulas import round_maps as maps
from verification.fedres.free import Free, array, read
from verification.fedres.instances import figure1
from verification.symbols import Symbols

RATE = ft.fraction("1/100")    # eta = lambda of the experiment
START = ["1/10"], [["-1/5"], ["3/10"]]    # some (w, theta)
KS = (1, 2, 10, 50, 100)


def alone(k):
    """Client k of the system as a problem of its own."""
    p = figure1()
    return ft.Residual(*([v[k]] for v in (p.A, p.B, p.C, p.bw, p.btheta)))


def system(name, make, K, problem=None, equal=False, **extra):
    """The system, or one client of it, with all step sizes and the state symbols; equal: lambda = eta."""
    s = Symbols("eta lam al w c z k x y D e", t=2, v=2)
    problem = problem or figure1()
    return Free(name, problem, make(s.eta, s.eta if equal else s.lam, K, s.al), ft.Full(), domain=s.field, s=s, w=array([s.w]),
                theta=[array([t]) for t in s.t[:problem.n]], c=array([s.c]), cs=[array([v]) for v in s.v[:problem.n]], **extra,
                says="state and step sizes are symbols")


def exact(make, order=None):
    """The experiment: eta = lambda = 0.01, alpha = 1, several K, along coded rounds in rationals."""
    return ft.illustrate([Free(f"the experiment, K={K}", figure1(), make(RATE, RATE, K), ft.Full(), order=order, rounds=10,
                               says="eta = lambda = 0.01, alpha = 1; ten coded rounds") for K in KS])


def sums(i, state):
    """(u, theta_2) of a state."""
    first, *others = i.personal(state)
    return [read(state.x)[0] + first[0], *(t[0] for t in others)]


def along(i, limit, factor, q):
    """u_r = u* + factor^r (u_0 - u*) and theta_2 = q^r theta_2 after coded rounds from some start."""
    problem, algorithm = i.algebra
    state = i.start(*START)
    u, t = sums(i, state)
    for _ in range(i.rounds):
        state = algorithm.round(problem, state, ft.everyone(2, i.K))
    return ft.equal(sums(i, state), [limit + factor**i.rounds * (u - limit), q**i.rounds * t], "(u, theta_2) after the rounds")


# ---- the system -------------------------------------------------------------------------------------------
k = Symbols("k")
curvature = Free("curvature k for 1/5", ft.Residual([[[k.k]], [[0 * k.k]]], [[[k.k]], [[0 * k.k]]], [[[k.k]], [[k.k]]],
                                                    [[-10], [10]], [[0], [0]]), domain=k.field, k=k.k, constant=f.gamma2,
                 says="the system with any curvature k; its cap in numbers")
diagonal_blocks = wrong("diagonal_blocks", "The coupling of w and theta_1 is left out: gamma = k.", lambda right: lambda k: k * k)
whole_hessian = wrong("whole_hessian", "The spectral norm 2k of the whole Hessian.", lambda right: lambda k: 4 * k * k)


@ft.claim("fig1-constants", on=[curvature], covers={"n": "2", "d": "1", "tau": "all"},
          rejects=[diagonal_blocks, whole_hessian],
          domain="any curvature k; the step over its cap grows with K, so that two K decide each cap")
def fig1_constants(i):
    r"""The Figure 1 system has $\gamma=0.2\sqrt2$ and $\beta=0$, and its $\eta=0.01$ meets the theorem's
    $\eta\le1/(96\gamma\sqrt NK)$ only for $K\le2$, and Lemma 8's $\eta\le1/(96\gamma\alpha K)$ with its
    $\alpha=1$ only for $K\le3$."""
    columns = [[A[0, 0] ** 2 + B[0, 0] ** 2, B[0, 0] ** 2 + C[0, 0] ** 2] for A, B, C, _, _ in i.clients]
    used = [(96 * K * RATE) ** 2 * alpha2 * i.constant(ft.fraction("1/5")) for alpha2, K in ((2, 2), (2, 3), (1, 3), (1, 4))]
    return (*[ft.equal(v, i.constant(i.k), "client 1: gamma^2") for v in columns[0]],
            *[ft.nonnegative(i.constant(i.k) - v, "client 2: below it") for v in columns[1]],
            ft.equal(ft.linalg.determinant(maps.hessian(i.clients)), 0 * i.k, "det of the Hessian of F: beta = 0"),
            ft.at_most(used[0], 1, "K = 2: the cap, squared"), ft.at_most(1, used[1], "K = 3: beyond it", strict=True),
            ft.at_most(used[2], 1, "alpha = 1, K = 3"), ft.at_most(1, used[3], "alpha = 1, K = 4: beyond it", strict=True))


@ft.claim("fig1-optimum", on=[system("FedResSGD, K=2", maker(ft.FedResSgd), 2)], covers={"n": "2", "d": "1", "tau": "none"},
          rejects=[bugs.local_steps_for_large_step, bugs.personal_averaged],
          domain="every (w, theta_1, theta_2); F is a sum of squares")
def fig1_optimum(i):
    r"""$F=\frac1{20}(u^2+\theta_2^2)$ with $u=w+\theta_1$: its optimum is the line $w+\theta_1=0$, $\theta_2=0$ with value 0, and
    every point of that line is a fixed point of FedResSGD."""
    problem, (w, (first, second)) = i.problem.to(i.domain), (i.w, i.theta)
    value = problem.joint_value(w, i.start(w, i.theta).theta)
    line = w, [-w, 0 * w]
    return (ft.equal(value, f.loss(w[0] + first[0], second[0]), "F"), ft.equal(f.loss(0 * w[0]), 0 * w[0], "its value there"),
            ft.equal(i.moved(*line), i.flat(*line), "a line of fixed points"))


# ---- FedResNaive ------------------------------------------------------------------------------------------
def path(i):
    """The local path of the instance's one client, for every K, by induction on the coded local step."""
    s, order = i.s, i.order

    def here(k, z):
        if i.client == 1:
            return array([s.w + f.naive_path(k, i.eta, i.lam, order, 0 * z, 0 * z)[2], z * s.t[0]])
        w, t, _ = f.naive_path(k, i.eta, i.lam, order, s.w + s.t[0], z)
        return array([s.w + w, s.t[0] + t])
    factor = f.local_factor(i.eta, i.lam, order) if i.client == 0 else 1 - i.lam / 5
    at = here(s.k, s.z)
    return ft.induction([(here(0 * s.k, 0 * s.z + 1), array([s.w, s.t[0]]))],
                        [(i.moved(at[:1], [at[1:]]), here(s.k + 1, factor * s.z))], f"client {i.client + 1}", over="K")


def naive_round(i):
    """One round in closed form from the local paths: K and the power z of the local factor are symbols."""
    s, u = i.s, i.s.w + i.s.t[0]
    w, t, other = f.naive_path(s.k, i.eta, i.lam, i.order, u, s.z)
    return u + (w + other) / 2 + t


def naive(order):
    make = maker(ft.FedResNaive, order=order)
    return [*(system(f"client {k + 1}, every K", make, 1, alone(k), client=k, order=order) for k in (0, 1)),
            *(system(f"whole round, K={K}", make, K, order=order) for K in (1, 2, 3)), *exact(make, order)]


def naive_legs(i, stated):
    if "client" in i.extra:
        return path(i)
    limit, factor = stated(i.K, i.eta, i.lam), f.naive_factor(i.K, i.eta, i.lam, i.order)
    if i.illustrates:
        return along(i, limit, factor, f.shrink(i.lam, i.K))
    u, other = sums(i, i.coded(i.w, i.theta))
    start, s = sums(i, i.start(i.w, i.theta))[0], i.s
    general = stated(s.k, i.eta, i.lam, s.z)
    return (ft.equal(u - limit, factor * (start - limit), "u - u*"), ft.equal(other, f.shrink(i.lam, i.K) * s.t[1], "theta_2"),
            ft.equal(naive_round(i) - general, f.naive_factor(s.k, i.eta, i.lam, i.order, s.z) * (start - general), "every K"))


EVERY = {"n": "2", "d": "1", "tau": "all"}


@ft.claim("fig1-naive-sim", on=naive("sim"), covers=EVERY, rejects=[bugs.sequential_for_simultaneous, bugs.personal_averaged],
          domain="every K, eta and lambda: local paths by induction on the coded step, a^K a free symbol; whole rounds for K = 1 "
                 "to 3")
def fig1_naive_sim(i):
    r"""Simultaneous FedResNaive rests at $u^*=\frac{10\eta}{0.2(\eta+\lambda)}\big(\frac{K(1-a)}{1-a^K}-1\big)$,
    $a=1-0.2(\eta+\lambda)$, to which $u=w+\theta_1$ goes by a constant factor per round."""
    return naive_legs(i, f.naive_sim)


@ft.claim("fig1-naive-seq", on=naive("seq"), covers=EVERY, rejects=[bugs.simultaneous_for_sequential, bugs.personal_averaged],
          domain="every K, eta and lambda: local paths by induction on the coded step, b^K a free symbol; whole rounds for K = 1 "
                 "to 3")
def fig1_naive_seq(i):
    r"""Sequential FedResNaive rests at
    $u^*=\bar u+\frac{K(1-b)}{1-b^K}\big(\frac{20\eta\lambda}{\eta+2\lambda(1-0.2\eta)}-\bar u\big)$,
    $b=(1-0.2\eta)(1-0.2\lambda)$, $\bar u=-10\eta\frac{1-0.2\lambda}{1-b}$, so at $K=1$ at
    $\frac{20\eta\lambda}{\eta+2\lambda(1-0.2\eta)}>0$; and $w$ drifts by
    $-\frac{2\eta^2\lambda K}{\eta+2\lambda(1-0.2\eta)}$ per round."""
    found = naive_legs(i, f.naive_seq)
    if "client" in i.extra or i.illustrates:
        return found
    w, rests = i.s.w, f.naive_seq(i.K, i.eta, i.lam)
    moved = i.coded(i.w, [array([rests - w]), i.theta[1]]).x[0] - w
    x, y = i.s.x / (1 + i.s.x), i.s.y / (1 + i.s.y)    # 0.2 eta and 0.2 lambda, below 1
    return (*found, ft.equal(moved, f.naive_seq_drift(i.K, i.eta, i.lam), "drift of w"),
            ft.nonnegative(f.naive_seq(1, 5 * x, 5 * y), "K = 1: biased, u* > 0 for eta, lambda > 0"))


# ---- FedResSGD --------------------------------------------------------------------------------------------
sgd = maker(ft.FedResSgd)


@ft.claim("fig1-sgd", covers=EVERY, rejects=[bugs.old_theta_in_step_two, bugs.large_step_not_multiplied],
          on=[system("Step 1 of client 1, every K", sgd, 1, alone(0), client=0),
              *(system(f"whole round, K={K}", sgd, K) for K in (1, 2, 3)), *exact(sgd)],
          domain="every eta and lambda; Step 1 for every K by induction on the coded step, with q a free symbol; whole rounds for "
                 "K = 1 to 3 in symbols and to 100 in numbers")
def fig1_sgd(i):
    r"""FedResSGD multiplies $u=w+\theta_1$ by $q(1-0.1\eta K)$ per round and $\theta_2$ by $q=(1-0.2\lambda)^K$."""
    factor, q = f.sgd_factor(i.K, i.eta, i.lam), f.shrink(i.lam, i.K)
    if i.illustrates:
        return along(i, 0, factor, q)
    w, u = i.w, i.s.w + i.s.t[0]
    if "client" in i.extra:
        after = i.personal(i.coded(w, [i.s.z * u - w]))[0]
        return ft.induction([(i.theta[0], u - w)], [(after, (1 - i.lam / 5) * i.s.z * u - w)], "Step 1", over="K")
    found = sums(i, i.coded(w, i.theta))
    step = f.sgd_factor(i.s.k, i.eta, i.lam, i.s.z) * u - i.s.z * u
    return (ft.equal(found, [factor * u, q * i.s.t[1]], "(u, theta_2)"),
            ft.equal(step, -i.eta * i.s.k * i.s.z * u / 10, "Step 2: the mean gradient is u'/10"))
