"""Derived fact D5: with many local steps or a small beta a round overshoots, in the mean model or in the local models alone."""
from fractions import Fraction as Q

import numpy as np
import sympy

import fltheory as ft
from verification.simfed import bugs, instances
from verification.simfed.claims.identical import LOCAL_BUGS, every_E, free, neighbours, read, stated
from verification.simfed.formulas import rates
from verification.simfed.formulas import stability as f
from verification.simfed.proofs import rates as proofs
from verification.symbols import Symbols

try:
    import hypothesis.strategies as st
except ImportError:  # the search says that it is skipped
    st = None

COVERS = {"n": "all", "d": "all", "tau": "all"}
RADIUS = ft.Hypothesis("step", r"$|1-\gamma\beta h|<1$", lambda i: ft.ASSUMED if isinstance(i.domain, ft.Field) else (
    abs(1 - stated(i)[0] * stated(i)[1] * ft.fraction(i.stated.L)), 1), strict=True)


def alternating(n):
    """Directions of weighted mean 0 for graphs below, with the eigenvalue of the neighbour matrix."""
    return [([1 if k == a else -1 if k == a + 1 else 0 for k in range(n)], -1) for a in range(0, n, 2)] + [
        ([1, 1, *[0] * (2 * a), -1, -1, *[0] * (n - 4 - 2 * a)], 1) for a in range((n - 2) // 2)]


def leaves(n):
    """Of a star: centre against leaves (-1), and leaves against each other (0)."""
    return [([1, *[-1] * (n - 1)], -1)] + [([0, 1, *[-1 if k == a else 0 for k in range(n - 2)]], 0) for a in range(n - 2)]


def differences(n):
    """Of a complete graph: -1/(n - 1)."""
    return [([1, *[-1 if k == a else 0 for k in range(n - 1)]], Q(-1, n - 1)) for a in range(n - 1)]


GRAPHS = {instances.matching: alternating, instances.star: leaves, instances.complete: differences}


def clients(name, kind, n, gamma, E, beta, h=1, **more):
    """n clients of curvature h on a graph whose neighbour matrix has rational eigenvectors."""
    graph = kind(n)
    return ft.Instance(name, instances.scalar([Q(h)] * n, range(n), graph), instances.ours(gamma, E, beta, graph), ft.Full(),
                       directions=GRAPHS[kind](n), says=f"{kind.__name__} of {n}, h = {h}", **more)


def factors(i):
    """(coded factor of the mean, [coded factors of the directions], comparisons that they are eigenvectors of the coded round)."""
    M, _ = i.op_anywhere.mean_map()   # acts on (wbar, w_1, .., w_n)
    M = M if isinstance(i.domain, ft.Field) else np.array([read(row) for row in M], dtype=object)
    found, seen = [], []
    for v, start in [([1] * i.n, 1), *((v, 0) for v, _ in i.directions)]:
        v = np.array([start, *v], dtype=object)
        at = next(k for k, entry in enumerate(v) if k and entry)
        found.append((M @ v)[at] / v[at])
        seen.append(ft.equal(M @ v, found[-1] * v, "an eigenvector of the coded round"))
    return found[0], found[1:], seen


def R_of(i):
    gamma, beta, _, E = stated(i)
    return f.reached(ft.fraction(i.stated.L), gamma, beta, E), beta


def largest(i):
    return max((abs(value) for _, value in i.directions), default=0)


# ---- the two factors ---------------------------------------------------------------------------------------------
LISTED = [clients("E = 3, beta = 1/5: mean in, models out", instances.matching, 2, "1/2", 3, "1/5"),
          clients("five steps below the critical beta", instances.matching, 2, "1/2", 5, "1/5"),
          clients("between the critical values", instances.matching, 2, "1/2", 5, "3/10"),
          clients("above both", instances.matching, 2, "1/2", 5, "1/2"),
          clients("star of five", instances.star, 5, "1/2", 10, "47/100"),
          clients("complete of five: both below 1/2", instances.complete, 5, "1/2", 10, "47/100"),
          clients("pairs, deadbeat", instances.matching, 4, 2, 1, "1/2", "1/2"),
          clients("R = 1 at beta = 1/2: factor -1", instances.matching, 2, 2, 4, "1/2"),
          clients("step beyond the cap", instances.star, 3, "19/10", 2, "9/10"),
          clients("condition 1e-8, 300 steps", instances.complete, 3, 1, 300, "1/1000", Q(1, 10**8))]
ft.illustrate(LISTED)
on_mean = [free("three clients, every E", 3), *LISTED]


@ft.claim("d5-mean", on=on_mean, needs=[RADIUS], rejects=[*LOCAL_BUGS, bugs.one_step_less], covers=COVERS,
          domain="every E by induction on the coded local step, all numbers symbols; every number of clients and symmetric graph "
                 "by d1's proof, d > 1 in the eigenbasis of H; R > 0 as |1 - gamma beta h| < 1")
def d5_mean(i):
    r"""Identical Hessians, $|1-\gamma\beta h|<1$, $R=1-(1-\gamma\beta h)^E$: the factor of $\bar w-w_*$ is $1-R/\beta$, and
    $1-(1-R/\beta)^2=R(2\beta-R)/\beta^2$, so that $\bar w$ converges iff $R<2\beta$. As $E\to\infty$ the factor tends to
    $1-1/\beta$: it oscillates without end at $\beta=\frac12$ and diverges below."""
    if isinstance(i.domain, ft.Field):
        s, z = i.s, i.s.z[0]
        x = sum(p * w for p, w in zip(i.weights, s.w, strict=True))
        factor = rates.mean_ours(z, s.beta)
        return (every_E(i, x, s.w), ft.equal(factor, f.mean(1 - z, s.beta), "the factor of d1"),
                ft.equal(1 - factor**2, (1 - z) * (2 * s.beta - (1 - z)) / s.beta**2, "below 1 iff R < 2 beta"),
                ft.equal(ft.limit(factor, "z0"), 1 - 1 / s.beta, "z = (1 - gamma beta h)^E to 0"))
    (coded_mean, _, seen), (R, beta) = factors(i), R_of(i)
    truth = f.mean_stable(R, beta)
    return (seen[0], ft.equal(coded_mean, f.mean(R, beta), "factor"),
            ft.equivalent((abs(coded_mean) < 1, (abs(coded_mean), 1)), truth, "stable iff R < 2 beta"))


@ft.claim("d5-deviations", on=[free("three clients, every E, any direction", 3, more="v0 v1"), *LISTED], needs=[RADIUS],
          rejects=[*LOCAL_BUGS, bugs.own_for_neighbours, bugs.server_for_neighbours], covers=COVERS,
          domain="every E by induction on the coded local step, every graph on three clients and direction of weighted mean 0 in "
                 "symbols; any number of clients as a client's move is linear in its own neighbours' mean; P is self-adjoint in "
                 "the inner product with weights p, so its eigenvectors span all directions")
def d5_deviations(i):
    r"""On local models of weighted mean 0 a round is $-\frac{1-\beta}\beta RP$. The local models and their neighbours' means
    converge iff also $(1-\beta)R\max|\lambda|<\beta$, $\lambda$ over the eigenvalues of $P$ on these directions.
    $\bar w$ does not see that: $h=1$, $\gamma=\frac12$, $E=3$, $\beta=\frac15$ has $-0.355$ for it and $1.084$ for two clients."""
    if isinstance(i.domain, ft.Field):
        return any_direction(i)
    (mean, apart, seen), (R, beta) = factors(i), R_of(i)
    truth, both = f.models_stable(R, beta, largest(i)), max(map(abs, (mean, *apart)))
    bounds = truth[0] and f.mean_stable(R, beta)[0]
    return (*seen[1:], ft.equal(apart, [f.deviation(R, beta, value) for _, value in i.directions], "factors"),
            ft.equivalent((max(map(abs, apart)) < 1, (max(map(abs, apart)), 1)), truth, "deviations stable"),
            ft.equivalent((both < 1, (both, 1)), (bounds, (0, int(bounds))), "all stable iff both conditions"))


def any_direction(i):
    s, z = i.s, i.s.z[0]
    x = sum(p * w for p, w in zip(i.weights, s.w, strict=True))
    v = [s.v0, s.v1]
    v.append(-(i.weights[0] * v[0] + i.weights[1] * v[1]) / i.weights[2])

    def after(w):
        return [rates.client(z, s.beta, x, u, c) for u, c in zip(neighbours(i, w), s.c, strict=True)]
    moved = [b - a for a, b in zip(after(s.w), after([w + e for w, e in zip(s.w, v, strict=True)]), strict=True)]
    heard = neighbours(i, v)
    return (every_E(i, x, s.w), ft.equal(moved, [f.deviation(1 - z, s.beta, 1) * u for u in heard], "-(1 - beta)/beta R P v"),
            ft.equal(sum(p * m for p, m in zip(i.weights, moved, strict=True)), 0 * z, "the mean does not see it"))


# ---- where they leave it -----------------------------------------------------------------------------------------
WIDTH = Q(1, 20000)   # half a unit of the fourth decimal


def one_symbol(E):
    s = Symbols("beta")
    return clients(f"E = {E}", instances.matching, 2, "1/2", E, s.beta, domain=s.field)


def roots(value, low, high):
    """Number of zeros of a rational function of beta in an open interval whose ends are no zeros but for beta = 0 (Sturm)."""
    beta = sympy.Symbol("beta")
    terms = [(powers[0], c) for powers, c in value.terms()[0]]
    least = min(power for power, _ in terms)
    polynomial = sympy.Poly(sum(sympy.Rational(c.numerator, c.denominator) * beta ** (power - least) for power, c in terms), beta)
    return int(polynomial.count_roots(*(sympy.Rational(v.numerator, v.denominator) for v in (Q(low), Q(high)))))


def crossings(factor, predicted, critical, label):
    """factor reaches 1 in (0, 1) once, at the critical beta, and lies below it beyond; or nowhere. Its zeros are the coded round's,
    the signs at the ends of the decimal also the formula's."""
    def at(value):
        return factor.substitute(beta=Q(value))
    out = [ft.equal(roots(factor - 1, 0, 1), int(critical is not None), f"{label}: crossings in (0, 1)"),
           ft.equal(roots(factor + 1, 0, 1), 0, f"{label}: never at the other end"),
           ft.at_most(0, 1 - at("19/20"), f"{label}: stable at 19/20", strict=True)]
    if critical is None:
        return out
    low, high = critical - WIDTH, critical + WIDTH
    return [*out, ft.equal(roots(factor - 1, low, high), 1, f"{label}: crosses at {float(critical):.4f}"),
            ft.at_most(0, at(low) - 1, f"{label}: unstable below", strict=True),
            ft.at_most(0, predicted(low), f"{label}: formula below", strict=True),
            ft.at_most(0, -predicted(high), f"{label}: formula above", strict=True)]


@ft.claim("d5-critical", on=[one_symbol(E) for E in f.CRITICAL_MEAN], rejects=[bugs.one_step_more, bugs.beta_swapped,
                                                                              bugs.iterate_perturbed],
          domain="E = 1, 2, 3, 4, 5, 10, 50 (deviations: to 10), h = 1, gamma = 1/2, two clients: zeros of the coded round's "
                 "factors as polynomials in beta, counted by Sturm's theorem and isolated to four decimals")
def d5_critical(i):
    r"""$h=1$, $\gamma=\frac12$: $\bar w$ is unstable below $\beta=0.2236$ ($E=5$), $0.4644$ (10), $0.5000$ (50), and for no
    $\beta$ if $E\le4$; the local models of two clients below $0.2447$ ($E=3$), $0.3486$ (4), $0.4032$ (5), $0.4838$ (10), and
    for no $\beta$ if $E\le2$."""
    (mean, (apart,), _), E = factors(i), i.stated.algorithm.steps
    out = crossings(-mean, lambda b: f.overshoot(b, E), f.CRITICAL_MEAN[E], "mean")
    if E in f.CRITICAL_APART:
        out += crossings(apart, lambda b: f.apart(b, E), f.CRITICAL_APART[E], "deviations")
    return out


# ---- where they cannot ---------------------------------------------------------------------------------------
def safe_in(i):
    """(1 - largest |factor|, what the proofs leave of it, in which of the two regimes)."""
    gamma, beta, _, E = stated(i)
    x = gamma * beta * ft.fraction(i.stated.L)
    short = E * x <= beta
    return short, (x / beta, beta) if short else ((2 * beta - 1) * x / beta**2, (2 * beta - 1) / beta)


regime = ft.Hypothesis("one of the two regimes",
                       r"$\gamma\beta L\le1$ and $\beta>\frac12$, or $\gamma EL\le1$: least of $\max\{\gamma\beta L,1/(2\beta)\}$, "
                       r"$\gamma EL$ is at most 1",
                       lambda i: (min(max(stated(i)[0] * stated(i)[1] * i.stated.L, 1 / (2 * stated(i)[1])),
                                      stated(i)[0] * stated(i)[3] * i.stated.L), 1))
SAFE = [clients("beta just above 1/2, gamma beta L = 1", instances.matching, 2, "1000/501", 9, "501/1000"),
        clients("beta = 3/5, 100 steps", instances.star, 4, 1, 100, "3/5"),
        clients("small beta, gamma E L = 1", instances.matching, 4, "1/20", 20, "1/1000"),
        clients("one step, gamma L = 1", instances.complete, 3, 1, 1, "1/10"),
        clients("Theorem 3's step", instances.matching, 2, "1/12", 6, "1/5"),
        clients("condition 1e-8", instances.matching, 2, "1/6", 6, "1/2", Q(1, 10**8))]


def drawn(draw, n=None, E=None, beta=None):
    kind = draw(st.sampled_from(tuple(GRAPHS)))
    n, E = n or draw(st.sampled_from((2, 4, 6))), E or draw(st.integers(1, 12))
    beta = ft.fraction(beta or draw(st.sampled_from(("1/1000", "1/3", "501/1000", "3/4", "99/100"))))
    share, h = draw(st.sampled_from((Q(1), Q(1, 2), Q(1, 1000)))), draw(st.sampled_from((Q(1), Q(1, 7))))
    gamma = share / (h * (beta if beta > Q(1, 2) and draw(st.booleans()) else E))
    return clients("drawn", kind, n, gamma, E, beta, h)


def read_safe(i):
    """R and |lambda| as the coded factors have them. Each proof has names that the other has not."""
    (mean, apart, _), (gamma, beta, _, E) = factors(i), stated(i)
    x, R = gamma * beta * ft.fraction(i.stated.L), beta * (1 - mean)
    numbers = {"x": x, "b": 1 - x, "t": 1 - beta, "m": E - 1, "lam": max(map(abs, apart)) * beta / ((1 - beta) * R)}
    if x < 1:
        numbers["rE"] = (R - x) / (1 - x)
    if beta > Q(1, 2):
        yield numbers | {"s": beta - Q(1, 2)}, {}
    if x * E <= beta:
        yield numbers | {"gamma": gamma, "h": ft.fraction(i.stated.L), "beta": beta}, {}


@ft.claim("d5-safe", on=SAFE, needs=[regime], meaning=read_safe, rejects=[*LOCAL_BUGS, bugs.own_for_neighbours], proof=proofs.safe,
          search=ft.Search((ft.Family("identical clients", drawn, (
              {"n": 60, "E": 1}, {"n": 2, "E": 300, "beta": "1/1000"}, {"n": 2, "E": 300, "beta": "99/100"})),), tries=16),
          ends={"clients": (2, 60), "local steps": (1, 300), ft.Variable("beta", lambda i: stated(i)[1]): (Q(1, 1000), Q(99, 100))},
          domain="every E by induction over local steps, every number of clients and graph through the factors of d5-mean and "
                 "d5-deviations with |lambda| <= 1, every curvature h <= L with the factors at h")
def d5_safe(i):
    r"""Identical Hessians. For $\beta>\frac12$ and $\gamma\beta L\le1$, and for every $\beta$ if $\gamma EL\le1$, $\bar w$ and the
    local models are stable: in the first case $1-(1-R/\beta)^2\ge(2\beta-1)\gamma h/\beta$ and the factors of the deviations are
    at most $1-(2\beta-1)/\beta$, in the second at least $\gamma h$ and at most $1-\beta$. Theorem 3's step is in the second."""
    (mean, apart, _), (R, beta) = factors(i), R_of(i)
    _, (of_mean, of_apart) = safe_in(i)
    return (ft.at_most(mean**2, 1 - of_mean, "the mean"),
            ft.at_most(max(map(abs, apart)), 1 - of_apart, "deviations"),
            ft.equal((mean, *apart), (f.mean(R, beta), *(f.deviation(R, beta, v) for _, v in i.directions)), "factors"))


@ft.claim("d5-cause",
          reading="Undecided: a guess at what the figures show. The paper's data and code are not public, its figures are images, "
                  "and E there counts epochs. That it can happen is d5-mean and d5-critical; d5-safe says where it cannot.",
          powerless="no instance is checked: the data are not at hand")
def d5_cause(i):
    r"""The oscillating $\beta=0.5$ curves of Figure 2 and the spikes at large steps of Figures 12 and 13 come from the overshoot
    of `d5-mean`, and not from the $G^2/\beta^2$ term of Theorem 3."""
    return []
