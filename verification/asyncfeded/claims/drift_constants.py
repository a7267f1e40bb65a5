"""How large the drift really is: sharper recursions, the largest quotients to Theorem 1's bound, growth, and the usual bound."""
from fractions import Fraction as Q
from functools import lru_cache
from math import isqrt

import fltheory as ft
from verification.asyncfeded import drift_at_cap as cap
from verification.asyncfeded import local_bugs as bugs
from verification.asyncfeded import noise_paths as paths
from verification.asyncfeded.claims.local_drift import H_STAR, KINDS, WRONG
from verification.asyncfeded.formulas import drift as f
from verification.asyncfeded.instances import at_cap
from verification.asyncfeded.local_families import SMOOTHNESS, clients, concave, drawn, places, steps_of
from verification.asyncfeded.noise_paths import local, path, skewed
from verification.asyncfeded.proofs import drift as chain
from verification.asyncfeded.proofs import drift_constants as proofs

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

BALL = ft.Balls(cap.BITS)
HALF = Q(1, 2 * 10**6)   # of the last digit that a value is stated with


# ---- sharper ---------------------------------------------------------------------------------------------------------------
ANY_STEP = ft.Variable("largest L eta", lambda i: max(i.L * e for e in i.eta))


def root(v):
    """sqrt(v) of a Fraction, exactly where it is rational, else from below."""
    n, d = v.numerator, v.denominator
    if isqrt(n) ** 2 == n and isqrt(d) ** 2 == d:
        return Q(isqrt(n), isqrt(d))
    return Q(isqrt(n * 10**40 // d), 10**20)


def constant(name, problem, K, eta, *rest, **more):
    return local(name, problem, [Q(eta)] * K, *rest, **more)


on_sharp = [local("concave, no noise", concave([1]), at_cap(12)), constant("concave, L eta = 3", concave([1], 100), 5, "3/100"),
            local("concave, noise alone", concave([0]), at_cap(6), law=skewed(1)),
            constant("convex, overshooting", clients([[1, 1]], [[0]], [2]), 4, "5/2", 1, skewed(1, 2)),
            local("kinks", clients([[-1, 1, -1], [1, Q(-1, 2), 0]], [[0, 1], [-1, 2]], [1, -2]), at_cap(5), Q(1, 2), skewed(1, 3)),
            local("300 steps", concave([1], Q(1, 100)), at_cap(300, Q(1, 100), digits=4))]


def drawn_any(draw, share=None, **at):
    return drawn(draw, share=share or draw(st.sampled_from([Q(1, 100), Q(1), Q(4), Q(12)])), **at)


SHARP = ft.Search((ft.Family("piecewise quadratics", drawn_any, (
    {"n": 300, "K": 1}, {"K": 300, "n": 1, "L": Q(1, 100), "share": Q(1)}, {"K": 1, "L": Q(100), "share": Q(12)},
    {"K": 2, "share": Q(1, 100), "L": Q(1)})),), tries=24)


def sharp_steps(i):
    """What the symbols of both proofs are on the coded steps, on the line; roots that are no rationals as floats."""
    run, (G, *_) = path(i), map(abs, i.own)
    length = [abs(y - run.y[0])[:, 0] for y in run.y]
    whole = {"PK": f.noise_free(i.eta, i.L, i.L) + 1, "sizeK": length[-1][-1], "G": G}
    for numbers, points in steps_of(i):
        k, D = numbers["m"], numbers["D"]
        r = root(D) if root(D) ** 2 == D else float(D) ** 0.5
        at = {"size": length[k - 1][-1], "Er": run.mean(length[k - 1]), "r": r}
        quiet = {"P": f.noise_free(i.eta[:k - 1], i.L, i.L) + 1, "sizen": length[k][-1]} | whole if i.sigma2 == 0 else {"G": G}
        yield numbers | at | quiet, points


@ft.claim("thm1-sharp", on=on_sharp, needs=paths.NEEDS[:3], rejects=WRONG, search=SHARP, reading=H_STAR,
          proof=lambda: [chain.sharp(), chain.noise_free()], meaning=sharp_steps,
          ends={"clients": (1, 300), "local steps": (1, 300), SMOOTHNESS: (Q(1, 100), 100), ANY_STEP: (Q(1, 400), Q(5, 2))},
          domain=chain.CLASS + "; every step size, every k; client and x_(t-tau) fixed")
def thm1_sharp(i):
    r"""For any step sizes, under Assumptions 1, 2 and H*, with $r_k^2=E\|x^i_{t-\tau,k}-x_{t-\tau}\|^2$ and
    $G=\|\nabla f_i(x_{t-\tau})\|$: $r_k^2\le((1+L\eta_k)r_{k-1}+\eta_kG)^2+\eta_k^2\sigma_l^2$, $r_0=0$. Without noise
    $r_k\le\big(\prod_{j\le k}(1+L\eta_j)-1\big)\frac GL$, with equality for $f=-\frac L2\|x\|^2+\langle b,x\rangle$."""
    D, G = path(i).drift, root(i.own2)
    out = [ft.at_most(D[k], ft.Terms(**f.sharp(i.L * e, e, root(D[k - 1]), D[k - 1], G, i.sigma2)), f"k = {k}")
           for k in places(i.K) for e in [i.eta[k - 1]]]
    if i.sigma2 == 0 and root(i.own2) ** 2 == i.own2:
        whole = f.noise_free(i.eta, i.L, G)
        concave_one = {ft.fraction(v) for v in i.stated.problem.slopes[i.who]} == {-i.L}
        out.append((ft.equal if concave_one else ft.at_most)(D[-1], whole**2, "without noise, all steps"))
    return out


# ---- the largest quotients -----------------------------------------------------------------------------------------------------
def quotients(i):
    """[E|y_k - x|^2 over the bound of Theorem 1], k = 1..K, of the coded client at the very cap of (T1), balls."""
    noisy, L = i.stated.sigma != 0, BALL.scalar(i.L)
    sg2, F2, sigma2 = (BALL.scalar(v) for v in (i.sigma_g2, i.slope2, i.sigma2))
    squares = [sum(y * y) * (sigma2 if noisy else 1) for y in cap.models(i, noisy)]
    return [squares[k] / sum(f.theorem1(k, L, sg2, F2, sigma2).values()) for k in range(1, i.K + 1)]


def worst(name, b, L, sigma, K, at, value):
    return local(name, concave(b, L), at_cap(K, L), law=skewed(sigma)).but(domain=BALL, at=at, value=Q(value))


@ft.claim("thm1-worst-concave", on=[worst("no noise, sigma_g = |grad F|, aligned", [2, 0], 1, 0, 30, 12, "0.437829"),
                                    worst("the same, L = 100", [2, 0], 100, 0, 30, 12, "0.437829"),
                                    worst("noise alone", [0], 1, 1, 30, 2, "0.699940"),
                                    worst("noise alone, L = 1/100", [0], Q(1, 100), 3, 30, 2, "0.699940")],
          rejects=[bugs.first_step_throughout, bugs.gradients_kept], needs=[paths.smooth, paths.near],
          domain="f_i = -L|x|^2/2 + <b_i, x>, sigma_g = |grad F(x)| and both aligned, steps 1/(L sqrt(6k(2k+1))): k = 1..30 in "
                 "balls, every later k by a proof that the quotient falls; any mix lies between, as mean and variance add up")
def thm1_worst_concave(i):
    r"""Concave quadratics at the cap of (T1): the quotient of the drift to Theorem 1's bound is largest at $k=12$ without noise,
    $0.437829$, and at $k=2$ with noise alone, $0.699940$. It falls from then on for every $k$."""
    q, k = quotients(i), i.at
    noisy = i.stated.sigma != 0
    proof = proofs.noise_later() if noisy else proofs.concave_later()
    # w = P_K - 1 from the quotient 4 w^2/K; V_K from the quotient 24 V_K/(K + 1)
    kept, least = (q[-1] * (i.K + 1) / 24, Q(2, 25)) if noisy else (q[-1] * i.K / 4, Q(7, 5) ** 2)
    return [ft.at_most(abs(q[k - 1] - BALL.scalar(i.value)), BALL.scalar(HALF), f"k = {k}: {float(i.value):.6f} to its digits"),
            *(ft.at_most(v, q[k - 1], f"k = {j}", strict=True) for j, v in enumerate(q, 1) if j != k),
            ft.equal(int(proof.status == "HOLDS"), 1, "from there the quotient falls: every step is checked"),
            ft.at_most(BALL.scalar(least), kept, "where that proof begins")]


# ---- never tight -----------------------------------------------------------------------------------------------------------------
def weights(k):
    """Weights s_1, .., s_k for which both numbers are about equal: those of the recursion's own path at its worst mix; floats that
    nothing rests on."""
    a = [0, *(float(cap.a_between(j)[0]) for j in range(1, k + 1))]

    def along(share):
        u, out = 0.0, []
        for j in range(1, k + 1):
            out.append(share**0.5 / u if u else 1e12)
            u = (((1 + a[j]) * u + a[j] * share**0.5) ** 2 + a[j] ** 2 * (1 - share)) ** 0.5
        return u * u / (k / 4 * share + (k + 1) / 24 * (1 - share)), out
    low, high = 1e-9, 1.0
    for _ in range(80):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (one, high) if along(one)[0] < along(two)[0] else (low, two)
    return [Q(round(s * 10**6), 10**6) for s in along(low)[1]]


@lru_cache
def numbers_listed(k):
    """(4 al/k, 24 be/(k + 1)): the drift is at most the larger one of the bound of Theorem 1; exact, from steps rounded up."""
    al = be = Q(0)
    for j, s in enumerate(weights(k), 1):
        factor, slope, loud = f.weighted(cap.a_between(j)[1], s)
        al, be = factor * al + slope, factor * be + loud
    return 4 * al / k, 24 * be / (k + 1)


def attained(k, share):
    """From below: r_k^2 of the recursion r_k^2 = ((1 + a_k) r + a_k G)^2 + a_k^2 sigma_l^2 over Theorem 1's bound, L = 1, for
    G^2 = share = 2 (sigma_g^2 + |grad F|^2) and sigma_l^2 = 1 - share."""
    u2 = Q(0)
    for j in range(1, k + 1):
        a = cap.a_between(j)[0]
        u2 = sum(f.sharp(a, a, root(u2), u2, root(share), 1 - share).values())
    return u2 / sum(f.theorem1(k, Q(1), share / 2, 0, 1 - share).values())


def weighted_steps(i):
    """The symbols of the proofs on the coded steps whose drift has a rational root."""
    if i.domain.exact and i.d == 1:
        last = {}
        if i.K <= proofs.TABLE:
            first, second = numbers_listed(i.K)
            last = {"alK": first * i.K / 4, "beK": second * (i.K + 1) / 24}
        for numbers, points in steps_of(i):
            r, at = root(numbers["D"]), {"A": cap.a_between(numbers["m"])[1], "G": abs(i.own[0]), "a_a": i.own2, "h_h": i.slope2}
            if r**2 == numbers["D"]:
                at |= {"r": r}
            if numbers["m"] > proofs.TABLE and i.L == 1:   # of the induction over later steps
                at |= {"M": numbers["m"], "j": numbers["m"] - proofs.TABLE - 1, "B": cap.a_between(numbers["m"])[0]}
            for s in (Q(1, 2), Q(3)):
                yield numbers | last | at | {"s": s, "EDK": numbers["DK"], "EF2": i.slope2}, points


listed = KINDS["on"][0].but(name="f = 0, and the list for k = 1..30", listed=range(1, proofs.TABLE + 1))


@ft.claim("thm1-never-tight", rejects=WRONG, proof=lambda: [proofs.weighted(), proofs.both(), proofs.table(), proofs.tail()],
          meaning=weighted_steps,
          domain=chain.DOMAIN + "; k = 1..30 by listed numbers, exact, and every later k by induction",
          **KINDS | {"on": [*KINDS["on"], listed]})
def thm1_never_tight(i):
    r"""Whatever the losses, the drift is at most $0.740808$ of Theorem 1's bound, for every $k$: Theorem 1 is never attained. The
    recursion of thm1-sharp with $G^2=2(\sigma_g^2+\|\nabla F\|^2)$ comes that close at $k=3$ for one mix with noise."""
    D, share, list_ = path(i).drift, proofs.SHARE, i.extra.get("listed", ())
    out = [ft.at_most(max(numbers_listed(k)), share, f"the list, k = {k}") for k in list_]
    if list_:
        out.append(ft.at_most(share - HALF, attained(3, Q(286, 10**4)), "k = 3: reached by the recursion, to the digits"))
    for k in places(i.K):
        bound = f.theorem1(k, i.L, i.sigma_g2, i.slope2, i.sigma2)
        out.append(ft.at_most(D[k], ft.Terms(**{name: i.number(share) * v for name, v in bound.items()}), f"k = {k}"))
    return out
