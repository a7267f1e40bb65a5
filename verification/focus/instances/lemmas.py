"""Instances for Lemmas 3 and 4 and (94)-(128): every state of quadratic clients, single states of Huber clients."""

import itertools
from fractions import Fraction as Q
from math import isqrt
from types import SimpleNamespace

from fltheory.core import linalg
from fltheory.core.algorithms.focus import Focus
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.core.laws.weighted import Weighted
from fltheory.core.problems.huber import HuberLoss
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.scalars import Field, fraction
from fltheory.verdicts.claims.claim import Instance, illustrate
from verification.focus.formulas import lemmas as f
from verification.focus.instances import line, plane

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

NO_EMPTY = Bernoulli(("9/10", "1/2", "1/5"), "redraw")
WEIGHTED = Weighted(2, ("7/10", "1/5", "1/10"))


def root_below(square, digits=4):
    """The root of a rational square, or a short rational just below the root."""
    square = fraction(square)
    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    if top * top == square.numerator and bottom * bottom == square.denominator:
        return Q(top, bottom)
    scale = 10 ** (digits + max(0, len(str(square.denominator // square.numerator)) // 2))
    return Q(isqrt(square.numerator * scale**2 // square.denominator), scale)


def smallest_weight(law, n):
    """q_min of Assumption 1."""
    return min(law.averaging_weights(n))


def make(name, problem, law, tau, eta, init="zero", **extra):
    """An instance with its step; q is the smallest averaging weight of the law it was made with."""
    return Instance(
        name,
        problem,
        Focus(eta, tau, init),
        law,
        N=problem.n,
        q=smallest_weight(law, problem.n),
        **extra,
    )


def numbers(problem, law, tau):
    """N, L, mu, q_min, tau and beta, the least curvature of F, which for quadratics is the PL constant."""
    c, beta = problem.constants, fraction(problem.constants.mu)
    if isinstance(problem, Quadratic):
        beta = linalg.smallest_eigenvalue_bound(problem.H.sum(0)) / problem.n
    return SimpleNamespace(
        N=problem.n, L=fraction(c.L), mu=fraction(c.mu), q=smallest_weight(law, problem.n), tau=tau, beta=beta
    )


def with_largest(steps, default="1"):
    """A builder of instances with the largest admissible step times `share`; steps(numbers) -> squared bounds, or None."""

    def build(name, problem, law, tau, share=1, **extra):
        k = numbers(problem, law, tau)
        bounds = steps(k) if k.L else None
        if bounds is None:
            return None
        bound = f.admissible(bounds)
        eta = Q(default) if bound is None else root_below(bound)
        return make(name, problem, law, tau, eta * Q(share), **extra)

    return build


def lemma3_steps(k):
    return [None if k.tau == 1 else (1 / (3 * k.L * (k.tau - 1))) ** 2, (1 / k.mu) ** 2] if k.mu > 0 else None


RULES = {
    "lem3": lemma3_steps,
    "lem4": lambda k: f.steps_lemma4(k.N, k.L, k.q, k.tau),
    "lem4-corrected": lambda k: f.steps_lemma4_corrected(k.N, k.L, k.q, k.tau),
    "eq96": lambda k: [(1 / (3 * k.L * max(k.tau - 1, 1))) ** 2],
    "nc": lambda k: f.steps_nonconvex(k.N, k.L, k.q, k.tau) if k.beta > 0 else None,
    "any": lambda k: f.steps_nonconvex(k.N, k.L, k.q, k.tau),
    "sc": lambda k: f.steps_strongly_convex(k.N, k.L, k.mu, k.q, k.tau) if k.mu > 0 else None,
    "pl": lambda k: f.steps_pl(k.N, k.L, k.beta, k.q) if k.beta > 0 else None,
    "pl-tied": lambda k: (
        [*f.steps_pl(k.N, k.L, k.beta, k.q), f.step_lemma4_tau(k.L, k.q, k.tau)] if k.beta > 0 else None
    ),
    "eq123": lambda k: [(1 / (4 * k.L * k.N)) ** 2, None if k.tau == 1 else (1 / (2 * k.L * (k.tau - 1))) ** 2],
}

# ---- problems ---------------------------------------------------------------------------------------------
CONVEX = [
    ("three clients, one at a time", line((1, 2, 4), (1, -1, 2)), Uniform(1)),
    ("five equal clients, one at a time", line((1,) * 5, range(5)), Uniform(1)),
    ("(1,3,10), all", line((1, 3, 10), (1, -1, 2)), Full()),
    ("(1,3,10), Bernoulli without empty rounds", line((1, 3, 10), (1, -1, 2)), NO_EMPTY),
    ("two of three, weighted", line((2, 1, 3), (0, 1, 5)), WEIGHTED),
    ("plane, two of three", plane(), Uniform(2)),
    ("one client", line((1,), (0,)), Full()),
]
CONCAVE = [
    ("a concave client, one at a time", line((3, -1, 2), (1, -1, 2)), Uniform(1)),
    ("a concave client, all", line((1, "-1/2"), (0, 0)), Full()),
    ("concave F", line((-1, -2), (1, 3)), Uniform(1)),
    ("plane, an indefinite client", Quadratic([[[1, 0], [0, -2]], [[3, 1], [1, 4]]], [[1, 0], [0, 2]]), Uniform(1)),
    ("five clients, three concave", line((-1, 4, -2, 3, -1), range(5)), Bernoulli(["1/2"] * 5, "redraw")),
]


def spread(rule, problems, taus=(1, 3), shares=(1,), **extra):
    """Every problem with every number of local steps and share of the largest step."""
    build = with_largest(RULES[rule] if isinstance(rule, str) else rule)
    return [
        build(
            f"{name}, tau={tau}" + ("" if share == 1 else f", {share} of the step"), problem, law, tau, share, **extra
        )
        for name, problem, law in problems
        for tau in taus
        for share in shares
    ]


lemma3 = spread("lem3", CONVEX[:-1], (1, 3), (1, "1/20"))
lemma3_broken = make(
    "one of two, eta=40, literal start at x*", line((1, 1), (1, -1)), Uniform(1), 1, 40, state=([0], [[1], [-1]])
)
lemma3_empty = make(
    "rare clients, empty rounds, eta=10",
    line((1, 1), (0, 0)),
    Bernoulli(("1/1000", "1/1000")),
    1,
    10,
    state=([0], [[1], [1]]),
)
lemma3_far = [make("N=2, full, eta=1/mu, tau=1", line((1, 1), (1, -1)), Full(), 1, 1)]
lemma4 = spread("lem4-corrected", [p for p in CONVEX + CONCAVE if p[1].n > 1], (1, 3))
lemma4_broken = make(
    "N=10, one at a time, eta=1/800, x=1, z=1.15",
    line((1,) * 10, (0,) * 10),
    Uniform(1),
    1,
    "1/800",
    state=([1], [["23/20"]] * 10),
)
lemma4_small = spread("lem4", CONVEX[:1] + CONCAVE[:2], (1, 3))
mismatch = spread("eq96", CONVEX + CONCAVE, (1, 2, 5))
descent = spread("eq123", CONVEX + CONCAVE, (1, 3), (1, "1/10"))


def reached(passes=3, N=10):
    """State of the literal start x_0 = 1 on f_i = x^2/2 after round-robin passes, tau = 1, eta = 1/800."""
    x, z, eta = Q(1), [Q(0)] * N, Q(1, 800)
    for k in range(passes * N):
        z[k % N] = x
        x -= eta * sum(z)
    return [x], [[v] for v in z]


lemma4_reached = make(
    "N=10, three passes from the literal start, then one at a time",
    line((1,) * 10, (0,) * 10),
    Uniform(1),
    1,
    "1/800",
    state=reached(),
)
STARTS = [
    ("N=10, one at a time", line((1,) * 10, (0,) * 10), Uniform(1), 1),
    ("N=4, one at a time", line((1,) * 4, (0,) * 4), Uniform(1), 1),
    ("h=(1,2,4), one at a time, tau=3", line((1, 2, 4), (1, -1, 2)), Uniform(1), 3),
    ("h=(3,-1,2), two of three", line((3, -1, 2), (1, -1, 2)), Uniform(2), 2),
]
from_the_start = [
    with_largest(RULES["lem4"])(name, problem, law, tau, state=([1], problem.c), rounds=25)
    for name, problem, law, tau in STARTS
]
in_the_long_run = with_largest(RULES["lem4"])(
    "N=12, one at a time, 69 rounds", line((1,) * 12, (0,) * 12), Uniform(1), 1, state=([1], [[0]] * 12), rounds=69
)
lemma4_smaller = [
    lemma4_broken.but(
        name="N=10, one at a time, x=1, z=1.15, corrected step", algorithm=Focus("1/4000", 1)
    )
]
averages = spread("any", list(CONVEX[:3] + CONVEX[5:6] + CONCAVE[:2] + CONCAVE[4:]), (1, 3))

# ---- one client inside a round ----------------------------------------------------------------------------


def pulled(name, problem, tau, eta, x, z):
    """All clients pull the model x while their stored gradients belong to the points z."""
    return make(name, problem, Full(), tau, eta, state=([x], [[v] for v in z]))


eq94_broken = pulled("f=-x^2/2, tau=100, eta=.05025", line((-1,), (0,)), 100, "201/4000", 1, [0])
inside = [
    pulled("h=(2,-1,1), tau=5", line((2, -1, 1), (0, 1, 3)), 5, "1/16", 2, (0, -1, 5)),
    pulled("concave, tau=2", line((-1,), (0,)), 2, "1/2", 1, [0]),
    pulled("concave, tau=4", line((-3,), (1,)), 4, "1/18", -2, [4]),
    pulled("plane", line((4, 1), (0, 0)), 3, "1/16", 2, (1, 0)),
    pulled("no pull distance", line((1,), (3,)), 3, "1/4", 2, [2]),
]

convex_pulls = [
    pulled("h=(2,1,1/3), tau=5, largest step", line((2, 1, Q(1, 3)), (0, 1, 3)), 5, "1/8", 2, (0, -1, 5)),
    pulled("one client, tau=101, largest step", line((1,), (0,)), 101, "1/20", 1, [0]),
    pulled("no pull distance, tau=5, largest step", line((1,), (3,)), 5, "1/4", 2, [2]),
    pulled("small curvatures, tau=17", line((Q(1, 50), 1), (0, 2)), 17, "1/8", -1, (3, 1)),
]

# ---- Huber clients ----------------------------------------------------------------------------------------


def minimiser(problem):
    """The root of the exact, increasing, piecewise linear gradient of F in one dimension."""
    p = problem.to(problem.native)

    def slope(x):
        return fraction(p.gradient(p.native.array([x]))[0])

    kinks = sorted(
        {
            (o + s * fraction(t)) / fraction(u[0])
            for U, T in zip(problem.rows, problem.targets, strict=True)
            for u, (o, t) in zip(U, ((fraction(a), b) for a, b in T), strict=True)
            if fraction(u[0])
            for s in (-1, 1)
        }
    )
    points = [kinks[0] - 1, *kinks, kinks[-1] + 1]
    low, high = points[-2], points[-1]
    for a, b in itertools.pairwise(points):
        if slope(a) <= 0 <= slope(b):
            low, high = a, b
            break
    else:
        if slope(points[0]) > 0:
            low, high = points[0], points[1]
    rise = slope(high) - slope(low)
    return low if rise == 0 else low - slope(low) * (high - low) / rise


def huber(name, U, offsets, delta, reg, law, tau, rule, share, x, z, **extra):
    """Huber clients on the line at one state."""
    problem = HuberLoss([[[v] for v in u] for u in U], offsets, delta, 1, reg)
    return with_largest(RULES[rule] if isinstance(rule, str) else rule)(
        name, problem, law, tau, share, state=([x], [[v] for v in z]), best=[minimiser(problem)], units=False, **extra
    )


huber_states = [
    huber(
        "Huber, N=2, tau=3",
        [[1, 2], [1]],
        [[0, 3], [-1]],
        Q(1),
        "1/4",
        Uniform(1),
        3,
        "eq123",
        1,
        Q(4),
        [Q(-2), Q(1, 2)],
    ),
    huber(
        "Huber, N=3, tau=2",
        [[1], [-1, 1], [2]],
        [[2], [0, 1], [-3]],
        Q(1, 2),
        "1/4",
        Full(),
        2,
        "eq123",
        1,
        Q(-1),
        [Q(3)] * 3,
    ),
]
LAWS = {
    "all": lambda n: Full(),
    "one": lambda n: Uniform(1),
    "all but one": lambda n: Uniform(max(n - 1, 1)),
    "Bernoulli": lambda n: Bernoulli(["1/2", "1/5", "9/10", "1/3"][:n], "redraw"),
    "with empty rounds": lambda n: Bernoulli(["1/2", "1/5", "9/10", "1/3"][:n]),
}


def draw_law(draw, n):
    return LAWS[draw(st.sampled_from(sorted(LAWS)))](n)


def quadratics(rule, curvatures=(1, 6), taus=(1, 2, 5, 12), least=1, started=False, **extra):
    """Random quadratics of dimension 1 (sometimes 2), any law, every state."""

    def build(draw):
        n, d = draw(st.integers(least, 4)), draw(st.sampled_from([1, 1, 1, 2]))
        n, whole = (n if d == 1 else 2), st.integers(*curvatures)
        diagonal = [[draw(whole) for _ in range(d)] for _ in range(n)]
        H = [[[v]] if d == 1 else [[v, 0], [0, w]] for v, *rest in diagonal for w in (rest or [0])]
        if d == 2:  # turn the last client, so that curvatures do not commute
            a, b = diagonal[-1]
            H[-1] = [[Q(9 * a + 16 * b, 25), Q(12 * (a - b), 25)], [Q(12 * (a - b), 25), Q(16 * a + 9 * b, 25)]]
        problem = Quadratic(H, [[0] * d] * n)
        total = [sum(row[k] for row in diagonal) for k in range(d)]
        if any(v == 0 for row in diagonal for v in row) or (d == 1 and total[0] == 0):
            return None
        if d == 2:
            s = sum(Q(h[0][0]) for h in H) * sum(Q(h[1][1]) for h in H) - sum(Q(h[0][1]) for h in H) ** 2
            if s == 0:
                return None
        return with_largest(RULES[rule] if isinstance(rule, str) else rule)(
            "random quadratic",
            problem,
            draw_law(draw, n),
            draw(st.sampled_from(taus)),
            draw(st.sampled_from(["1", "1/2", "1/20"])),
            **extra,
            **({"x0": [1] * d} if started else {}),
        )

    return build


def hubers(rule, reg=("0", "1/4"), taus=(1, 2, 4), least=1):
    """Random Huber clients on the line at a random state, in exact rationals."""

    def build(draw):
        n = draw(st.integers(least, 3))
        U = [[draw(st.sampled_from([1, 2, -1])) for _ in range(draw(st.integers(1, 3)))] for _ in range(n)]
        offsets = [[draw(st.integers(-3, 3)) for _ in u] for u in U]
        halves = st.integers(-8, 8)
        return huber(
            "random Huber",
            U,
            offsets,
            draw(st.sampled_from([Q(1, 2), Q(1), Q(2)])),
            draw(st.sampled_from(reg)),
            draw_law(draw, n),
            draw(st.sampled_from(taus)),
            rule,
            draw(st.sampled_from(["1", "1/4"])),
            Q(draw(halves), 2),
            [Q(draw(halves), 2) for _ in range(n)],
        )

    return build


def small_changes(draw):
    """Random quadratic clients, concave ones among them, that pull a model far from their stored points."""
    n, tau = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 3, 6, 15]))
    h = [draw(st.integers(-4, 4)) for _ in range(n)]
    if 0 in h:
        return None
    eta = Q(1, 2 * max(map(abs, h)) * max(tau - 1, 1)) * draw(st.sampled_from([Q(1), Q(1, 3)]))
    points = [draw(st.integers(-5, 5)) for _ in range(2 * n + 1)]
    return pulled("random clients", line(h, points[n + 1 :]), tau, eta, points[0], points[1 : n + 1])


def convex_changes(draw):
    """Random convex quadratic clients at steps up to 1/(2L sqrt(tau-1)), which is rational where tau - 1 is a square."""
    n, root = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    h = [draw(st.sampled_from([Q(1, 20), Q(1, 3), Q(1), Q(2), Q(4)])) for _ in range(n)]
    eta = draw(st.sampled_from([Q(1), Q(1, 2), Q(1, 10)])) / (2 * max(h) * root)
    points = [draw(st.integers(-5, 5)) for _ in range(2 * n + 1)]
    return pulled("random convex clients", line(h, points[n + 1 :]), root**2 + 1, eta, points[0], points[1 : n + 1])


# ---- symbols ----------------------------------------------------------------------------------------------


def half_step(N, L, mu, q):
    """Half of the step bound printed under (110)."""
    return f.eq110_step(N, L, mu, q) / 2


def quarter_step(N, L):
    """1/(4 L N)."""
    return 1 / (4 * L * N)


def _factors():
    k = Field("N L mu q s")
    N, L, mu, q, s = k.symbols
    return Instance(
        "any N, L, mu, q", domain=k, N=N, L=L, mu=mu, q=q, s=s, half_step=half_step, says="s >= 0, eta = step/(1 + s)"
    )


def _numbers(name, N, L, mu, q):
    return Instance(name, N=Q(N), L=Q(L), mu=Q(mu), q=Q(q), s=Q(0), half_step=half_step)


factors = [
    _factors(),
    _numbers("q=1/2, N=2, L=mu=1", 2, 1, 1, "1/2"),
    _numbers("q=1/40, N=3, L=10, mu=1", 3, 10, 1, "1/40"),
]


def _descent():
    k = Field("N L s")
    N, L, s = k.symbols
    return Instance("any N, L", domain=k, N=N, L=L, s=s, step=quarter_step, says="s >= 0, eta = 1/(4 L N (1 + s))")


coefficients = [_descent(), Instance("N=3, L=2", N=Q(3), L=Q(2), s=Q(0), step=quarter_step)]

# in numbers what the others prove in symbols
illustrate([*coefficients, *factors])
