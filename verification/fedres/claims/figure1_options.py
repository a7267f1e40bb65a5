"""Figure 1 (Appendix E.1): FedResAvg's two options, and the figure's message for every K."""
from itertools import pairwise

import numpy as np

import fltheory as ft
from verification.fedres import bugs
from verification.fedres.claims.figure1 import EVERY, RATE, START, alone, along, exact, sums, system
from verification.fedres.claims.round_maps import maker
from verification.fedres.formulas import figure1 as f
from verification.fedres.free import array, read

option1, option2 = (maker(ft.FedResAvg, option=k) for k in (1, 2))
sgd, sim, seq = maker(ft.FedResSgd), maker(ft.FedResNaive, order="sim"), maker(ft.FedResNaive, order="seq")


# ---- Step 2 for every K -----------------------------------------------------------------------------------
def shared_path(i):
    """The local path of the instance's one client in Step 2, for every K, by induction on the coded local step."""
    s, offset = i.s, i.c[0] - i.cs[0][0]

    def here(k, z):
        first, second = f.shared_path(k, i.eta, s.w + s.t[0], -offset if i.client else offset, z)
        return s.w + (second if i.client else first)

    def step(w):
        return i.coded([w], [[(s.t[0] + i.lam / 5 * w * (1 - i.client)) / (1 - i.lam / 5)]], i.c, i.cs).x[0]  # Step 1 makes it t
    at = here(s.k, s.z)
    return ft.induction([(here(0 * s.k, 0 * s.z + 1), s.w)], [(step(at), here(s.k + 1, (1 - i.eta / 5) * s.z))],
                        f"client {i.client + 1}", over="K")


def whole_round(i):
    """(u, f) after a round in closed form: K, the power z of 1 - eta/5 and q = x are symbols; c is the mean of the c_i."""
    s = i.s
    u, slope = s.x * (s.w + s.t[0]), 10 - (s.v[0] - s.v[1]) / 2
    first, second = f.shared_path(s.k, i.eta, u, slope - 10, s.z)
    own = -first / (i.eta * s.k) - (slope - 10)    # c_1 after the round; c_2 is -10
    return [u + i.alpha * (first + second) / 2, 10 - (own + 10) / 2]


def option(make):
    """One client for every K, one step with alpha = 1; whole rounds in symbols; the experiment."""
    local = maker(ft.FedResAvg, option=2 if make is option2 else 1)
    single = [system(f"client {k + 1}, every K", lambda eta, lam, K, al: local(eta, lam, K), 1, alone(k), client=k) for k in (0, 1)]
    return [*single, *(system(f"whole round, K={K}", make, K) for K in (1, 2, 3)), *exact(make)]


def mean_variates(i):
    """(c, [c_1, c_2]) with c the mean."""
    return array([(i.s.v[0] + i.s.v[1]) / 2]), i.cs


@ft.claim("fig1-option1", on=option(option1), covers=EVERY,
          rejects=[bugs.variates_kept, bugs.alpha_dropped, bugs.old_theta_in_step_two],
          domain="every K, eta, lambda and alpha: local paths by induction on the coded step, (1 - 0.2 eta)^K and q free symbols; "
                 "whole rounds for K = 1 to 3")
def fig1_option1(i):
    r"""Option I rests at $u^*=\frac{5\alpha\eta(K-m)}{1-q(1-0.1\alpha\eta m)}$ with $m=\sum_{k<K}(1-0.2\eta)^k$,
    $q=(1-0.2\lambda)^K$; a round multiplies $u-u^*$ by $q(1-0.1\alpha\eta m)$ and $\theta_2$ by $q$."""
    if "client" in i.extra:
        return shared_path(i)
    rates = i.K, i.eta, i.lam, i.alpha
    limit, factor, q = f.option1(*rates), f.option1_factor(*rates), f.shrink(i.lam, i.K)
    if i.illustrates:
        return along(i, limit, factor, q)
    s, u = i.s, i.s.w + i.s.t[0]
    powers = s.k, i.eta, i.lam, i.alpha, s.z, s.x
    general = f.option1(*powers)
    closed = s.x * u + i.alpha / 2 * sum(f.shared_path(s.k, i.eta, s.x * u, 0 * u, s.z))
    return (ft.equal(sums(i, i.coded(i.w, i.theta)), [limit + factor * (u - limit), q * s.t[1]], "(u, theta_2)"),
            ft.equal(closed, general + f.option1_factor(*powers) * (u - general), "every K"))


@ft.claim("fig1-option1-drift", covers=EVERY, on=[*(system(f"at u*, K={K}", option1, K) for K in (1, 2, 3))],
          rejects=[bugs.old_theta_in_step_two, bugs.alpha_dropped],
          domain="w, eta, lambda and alpha free for K = 1 to 3; for every K by fig1-option1: at u* Step 1 takes theta_1 back by "
                 "(1 - q) u*, so w must move by it; positive by fig1-stall")
def fig1_option1_drift(i):
    r"""Once $u=w+\theta_1$ rests at $u^*$, Option I moves $w$ by $(1-q)u^*$ and $\theta_1$ by the opposite in every round:
    for $K\ge2$ the shared parameter drifts to infinity at a constant rate, and only the loss converges."""
    rates = i.K, i.eta, i.lam, i.alpha
    limit, step = f.option1(*rates), f.option1_drift(*rates)
    state = i.coded(i.w, [array([limit - i.s.w]), i.theta[1]])
    s = i.s
    powers = s.k, i.eta, i.lam, i.alpha, s.z, s.x
    resting = f.option1(*powers)
    back = s.x * resting - resting
    return (ft.equal(state.x[0] - s.w, step, "w"), ft.equal(i.personal(state)[0][0], limit - s.w - step, "theta_1"),
            ft.equal(f.option1_drift(*powers), -back, "every K: what Step 1 takes off theta_1"))


@ft.claim("fig1-option2-jury", on=[system("signs", option2, 1, signs=True), *option(option2)], covers=EVERY,
          rejects=[bugs.variates_dropped, bugs.mean_not_divided],
          domain="every K >= 1, 0 < 0.2 eta, 0.2 lambda < 1 and 0 < alpha <= 4: the block from the local paths (by induction, "
                 "powers free) and whole rounds for K = 1 to 3; Jury's conditions as signs in s, h, q, alpha")
def fig1_option2_jury(i):
    r"""On $(u,f)$, $f=10-\frac12(c_1-c_2)$, a round of Option II is
    $\begin{pmatrix}q(1-0.1\alpha\eta m)&\frac12\alpha\eta(K-m)\\-0.1qm/K&\frac{K-m}{2K}\end{pmatrix}$, of spectral radius below 1
    for every $K\ge1$ and $0<\alpha\le4$ if $0<0.2\eta,0.2\lambda<1$."""
    if "client" in i.extra:
        return shared_path(i)
    if "signs" in i.extra:
        return jury(i)
    B = np.array(f.option2_block(i.K, i.eta, i.lam, i.alpha), dtype=object)
    if i.illustrates:
        state = i.start(*START)
        first = array([sums(i, state)[0], ft.fraction(10)])
        for _ in range(i.rounds):
            state = i.algebra[1].round(i.algebra[0], state, ft.everyone(2, i.K))
        return ft.equal(pair(i, state), (ft.linalg.power(B, i.rounds) * first).sum(-1), "(u, f) after the rounds")
    s, c = i.s, mean_variates(i)
    start = array([s.w + s.t[0], 10 - (s.v[0] - s.v[1]) / 2])
    every = np.array(f.option2_block(s.k, i.eta, i.lam, i.alpha, s.z, s.x), dtype=object)
    return (ft.equal(pair(i, i.coded(i.w, i.theta, *c)), (B * start).sum(-1), "(u, f)"),
            ft.equal(whole_round(i), (every * start).sum(-1), "every K"))


def pair(i, state):
    """(u, f) of a state."""
    c = read(state.ci)[:, 0]
    return [sums(i, state)[0], 10 - (c[0] - c[1]) / 2]


def jury(i):
    """s = 0.2 eta m and q in (0, 1), h = 1 - m/K in [0, 1), alpha in (0, 4], as quotients of symbols >= 0."""
    x = i.s
    s, q, h, alpha = 1 / (1 + x.w), 1 / (1 + x.z), x.x / (1 + x.x), 4 / (1 + x.y)
    K = 5 * s / (i.eta * (1 - h))
    (a, b), (c, d) = f.option2_block(K, i.eta, i.lam, alpha, 1 - s, q)
    trace, det = a + d, a * d - b * c
    return (ft.nonnegative(1 - trace + det - (1 - q) / 2, "1 - tr + det >= (1 - q)/2 > 0"),
            ft.nonnegative(1 + trace + det - (1 - q), "1 + tr + det >= 1 - q > 0"),
            ft.nonnegative(ft.fraction("1/2") - det, "det <= 1/2"), *steady(i))


def steady(i):
    """0 < m <= K: m = S of b = 1 - eta/5, and what one more step adds."""
    s, b = i.s, 1 - i.eta / 5
    z = 1 / (1 + s.z)
    now, later = f.lag(s.k, b, z), f.lag(s.k + 1, b, b * z)
    return (ft.equal(f.work(s.k, i.eta, z), now[0], "m"), ft.equal(later[2] - now[2], 1 - z, "K - m grows by 1 - z"),
            ft.nonnegative(1 - z, "1 - z >= 0"), ft.equal(f.lag(1, b, b)[2], 0 * b, "K = 1: m = K"))


# ---- the figure's message ---------------------------------------------------------------------------------
def methods(Ks, says, **extra):
    """The three that stall, in symbols: Option I with lambda = eta and alpha = 1, as in the experiment."""
    return [system(f"{name}, {says}, K={K}", make, K, order=order, equal=order == "I", **extra) for name, make, order in (
        ("simultaneous", sim, "sim"), ("sequential", seq, "seq"), ("Option I", option1_plain, "I")) for K in Ks]


def option1_plain(eta, lam, K, al=1):
    return ft.FedResAvg(eta, K, personal_lr=lam, option=1)


def limit_of(i, K, eta, lam, power=None):
    """u* of the instance's method; for Option I lambda = eta, so q is the same power, and alpha = 1."""
    return {"sim": f.naive_sim, "seq": f.naive_seq, "I": lambda *v: f.option1(*v[:3], 1, *v[3:] * 2)}[i.order](
        K, eta, lam, *() if power is None else (power,))


def factor_of(i, eta, lam, z):
    """What a round leaves of u - u*; z: the power of the method's local factor."""
    return f.option1_factor(1, eta, lam, 1, z, z) if i.order == "I" else f.naive_factor(1, eta, lam, i.order, z)


def base(i, eta, lam):
    """The factor whose powers are summed: of u by a local step."""
    return 1 - eta / 5 if i.order == "I" else f.local_factor(eta, lam, i.order)


def rests_at(i):
    """Two coded rounds from u = u* keep u."""
    limit = limit_of(i, i.K, i.eta, i.lam)
    state = i.coded(i.w, [array([limit - i.s.w]), i.theta[1]])
    again = i.algebra[1].round(i.algebra[0], state, ft.everyone(2, i.K))
    return ft.equal([sums(i, state)[0], sums(i, again)[0]], [limit] * 2, "u* rests")


def in_signs(i):
    """(eta, lambda, z): 0.2 eta, 0.2 lambda in (0, 1), for simultaneous steps also their sum; z in (0, 1)."""
    s = i.s
    x, y = (v / (1 + s.x + s.y if i.order == "sim" else 1 + v) for v in (s.x, s.y))
    return 5 * x, 5 * (x if i.order == "I" else y), 1 / (1 + s.z)


@ft.claim("fig1-stall", on=methods((2, 3), "whole round"), covers=EVERY, rejects=[bugs.variates_kept, bugs.personal_averaged],
          domain="every K >= 2 and all step sizes with 0.2 eta, 0.2 lambda and, for simultaneous steps, 0.2 (eta + lambda) below "
                 "1 (Option I: lambda = eta, alpha = 1): u* as a multiple of E = K - sum_{j<K} b^j > 0, and the factor of u - u* "
                 "lies in (0, 1), in symbols with the power free; coded rounds at u* for K = 2, 3")
def fig1_stall(i):
    r"""For $K\ge2$ FedResNaive (both orders) and Option I converge to a loss $F=\frac1{20}(u^*)^2>0$: $u^*$ is positive, and a
    round multiplies $u-u^*$ by a factor in $(0,1)$."""
    eta, lam, z = in_signs(i)
    factor, S, E = factor_of(i, eta, lam, z), *f.lag(i.s.k, base(i, eta, lam), z)[::2]
    limit = limit_of(i, i.s.k, eta, lam, z)
    if i.order == "seq":
        centre, mean = f.seq_levels(eta, lam)
        signs = ft.equal(limit, mean + E / S * (mean - centre), "u*"), ft.nonnegative(mean), ft.nonnegative(mean - centre)
    else:
        share = 50 * eta / (eta + lam) if i.order == "sim" else 50 / (2 + z)
        signs = ft.equal(limit, share * E / S, "u* > 0 as E > 0"), ft.nonnegative(share)
    return (rests_at(i), *signs, ft.nonnegative(factor, "factor > 0"), ft.nonnegative(1 - factor, "factor < 1"), *growing(i))


def growing(i):
    """D = S - K b^K > 0 for K >= 1, E = K - S > 0 for K >= 2, by what one more step adds."""
    (eta, lam, z), k = in_signs(i), i.s.k
    b = base(i, eta, lam)
    (_, D, E), (_, D1, E1), (_, D0, E0) = f.lag(k, b, z), f.lag(k + 1, b, b * z), f.lag(1, b, b)
    return (ft.equal([D1 - D, D0], [(k + 1) * (1 - b) * z, 1 - b], "D grows from 1 - b > 0"), ft.nonnegative(1 - b),
            ft.equal([E1 - E, E0], [1 - z, 0 * z], "E grows by 1 - z > 0 from 0"), ft.nonnegative(1 - z), ft.nonnegative(b))


on_increase = methods((2,), "every K") + ft.illustrate([
    v.but(name=v.name.replace("every K, K=2", "the experiment"), domain=ft.RATIONAL, algorithm=make(RATE, RATE, 2), most=most)
    for v, make, most in zip(methods((2,), "every K"), (sim, seq, option1_plain), (1500, 400, 1500), strict=True)])


@ft.claim("fig1-stall-increasing", on=on_increase, covers=EVERY, rejects=[bugs.variates_kept, bugs.personal_averaged],
          domain="every K and all step sizes as in fig1-stall: u*(K + 1) - u*(K) as a sum of non-negative terms, one a positive "
                 "multiple of D = sum_{j<K} b^j - K b^K > 0; at the experiment's step sizes also by comparing exact values for K "
                 "to 1500 (sequential: 400)")
def fig1_stall_increasing(i):
    r"""The stalled losses $\frac1{20}(u^*)^2$ of FedResNaive (both orders) and of Option I ($\lambda=\eta$, $\alpha=1$) increase
    strictly with $K$."""
    if i.illustrates:
        rate = ft.RATIONAL.scalar(RATE)
        values = [limit_of(i, K, rate, rate) for K in range(1, i.most + 1)]
        return ft.at_most(0, values[0], "u* at K = 1"), ft.equal(sum(a < b for a, b in pairwise(values)), i.most - 1, "increases")
    (eta, lam, z), k = in_signs(i), i.s.k
    b = base(i, eta, lam)
    (S, D, E), later = f.lag(k, b, z), f.lag(k + 1, b, b * z)[0]
    step = limit_of(i, k + 1, eta, lam, b * z) - limit_of(i, k, eta, lam, z)
    if i.order == "I":
        most = 50 / (2 + b * z)
        rest = E / S * (most - 50 / (2 + z))
    else:
        centre, mean = f.seq_levels(eta, lam)
        most, rest = (mean - centre if i.order == "seq" else 50 * eta / (eta + lam)), 0 * z
    more = most - 50 / (2 + z) if i.order == "I" else 0 * z
    return (rests_at(i), ft.equal(step, most * D / (S * later) + rest, "u*(K + 1) - u*(K)"), ft.nonnegative(most),
            ft.nonnegative(more, "the factor of E/S"), *growing(i))


@ft.claim("fig1-converge", covers=EVERY,
          rejects=[bugs.old_theta_in_step_two, bugs.variates_dropped, bugs.large_step_not_multiplied],
          on=[*(system(f"{name}, K={K}", make, K, equal=True) for name, make in (("FedResSGD", sgd), ("Option II", option2))
                for K in (1, 2, 3))],
          domain="every K and lambda = eta < 5 (for FedResSGD 1/q >= 1 + 0.2 lambda K by induction; Option II, for 0 < alpha <= 4, "
                 "by fig1-option2-jury, whose block the coded rounds show again)")
def fig1_converge(i):
    r"""FedResSGD and FedResAvg Option II drive $F=\frac1{20}(u^2+\theta_2^2)$ to 0 for every $K$: $\theta_2$ shrinks by $q<1$, $u$
    by $|q(1-0.1\eta K)|<1$ (FedResSGD) or with a block of spectral radius below 1 (Option II)."""
    s, q = i.s, f.shrink(i.lam, i.K)
    u = s.w + s.t[0]
    if hasattr(i.algorithm, "option"):
        B = np.array(f.option2_block(i.K, i.eta, i.lam, i.alpha), dtype=object)
        state = i.coded(i.w, i.theta, *mean_variates(i))
        start = array([u, 10 - (s.v[0] - s.v[1]) / 2])
        return ft.equal(pair(i, state), (B * start).sum(-1), "(u, f)"), ft.equal(sums(i, state)[1], q * s.t[1], "theta_2"), *jury(i)
    found = ft.equal(sums(i, i.coded(i.w, i.theta)), [f.sgd_factor(i.K, i.eta, i.lam) * u, q * s.t[1]], "(u, theta_2)")
    x, K, inverse = s.x / (1 + s.x), 1 + s.k, 1 + (1 + s.k) * s.x / (1 + s.x) + s.e    # 0.2 eta, K >= 1, 1/q with some e >= 0
    later = inverse / (1 - x) - 1 - (K + 1) * x
    factor = f.sgd_factor(K, 5 * x, 5 * x, 1 / inverse)
    return (found, ft.nonnegative(later, "Bernoulli: 1/q >= 1 + K x is kept by one more step"),
            ft.nonnegative((1 - factor) * inverse - K * x, "(1 - factor)/q >= K x > 0"),
            ft.nonnegative((1 + factor) * inverse - 1, "(1 + factor)/q >= 1 > 0"))
