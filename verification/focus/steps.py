"""Lemmas 3 and 4, Theorem 1: hypotheses on the step, and instances at the largest steps that they admit."""
import itertools
from fractions import Fraction as Q
from math import isqrt
from types import SimpleNamespace

import fltheory as ft
from verification import piecewise
from verification.focus.bugs import structure as wrong
from verification.focus.bugs import theorem1 as bugs
from verification.focus.formulas import lemmas as f
from verification.focus.instances import line, plane, st


def squared(name, text, bound):
    """A step condition with both sides squared: eta^2 against bound(i)."""
    return ft.Hypothesis(name, text, lambda i: (ft.fraction(i.eta) ** 2, bound(i)), cap=2)


convex = ft.Hypothesis("strongly convex clients", r"$0<\mu$", lambda i: (0, i.mu), strict=True)
smooth = ft.Hypothesis("smooth clients", r"$|\nabla^2f_i|\le L$, both signs", lambda i: (abs(i.mu), i.L))
participation = ft.Hypothesis("participation", r"$0<q_{\min}$", lambda i: (0, i.q), strict=True)
weights = ft.Hypothesis("smallest weight", r"$q_{\min}\le1/N$", lambda i: (i.q * i.n, 1))
several = ft.Hypothesis("several clients", r"$N\ge2$", lambda i: (2, i.n))
half = ft.Hypothesis("local steps", r"$\eta\le1/(2L(\tau-1))$", lambda i: (2 * i.L * (i.tau - 1) * i.eta, 1), cap=1)
nonconvex = squared("steps of Theorem 1 (25)", r"$\eta\le\min\{1/(2L(\tau-1)),q^{3/2}/(8L\sqrt N),q/(16L\sqrt{2N}),1/(4LN)\}$, "
                                               "squared",
                    lambda i: f.admissible(f.steps_nonconvex(i.n, i.L, i.q, i.tau)))


def pl_constant(i):
    """beta of F: the least curvature of a quadratic F, the common strong convexity otherwise."""
    if isinstance(i.problem, ft.Quadratic):
        return ft.linalg.smallest_eigenvalue_bound(i.problem.H.sum(0)) / i.n
    return i.mu


attained = ft.Hypothesis("F has a minimum", r"$F^\star>-\infty$; for quadratics no negative curvature of F",
                         lambda i: ft.ASSUMED if i.problem is None else (0, pl_constant(i)))
pl_condition = ft.Hypothesis("PL condition", r"$0<\beta$", strict=True,
                             sides=lambda i: ft.ASSUMED if i.problem is None else (0, pl_constant(i)))
BUGS = [bugs.slow_server, wrong.tracking_reset]


def root_below(square, digits=4):
    """The root of a rational square, or a short rational just below the root."""
    square = ft.fraction(square)
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
    return ft.Instance(name, problem, ft.Focus(eta, tau, init), law, q=smallest_weight(law, problem.n), **extra)


def numbers(problem, law, tau):
    """N, L, mu, q_min, tau and beta, the least curvature of F, which for quadratics is the PL constant."""
    c, beta = problem.constants, ft.fraction(problem.constants.mu)
    if isinstance(problem, ft.Quadratic):
        beta = ft.linalg.smallest_eigenvalue_bound(problem.H.sum(0)) / problem.n
    return SimpleNamespace(N=problem.n, L=ft.fraction(c.L), mu=ft.fraction(c.mu), q=smallest_weight(law, problem.n), tau=tau,
                           beta=beta)


def largest(rule, name, problem, law, tau, share=1, **extra):
    """An instance with `share` of the largest step that a rule admits, None where the rule does not apply."""
    k = numbers(problem, law, tau)
    bounds = RULES[rule](k) if k.L else None
    if bounds is None:
        return None
    bound = f.admissible(bounds)
    return make(name, problem, law, tau, (Q(1) if bound is None else root_below(bound)) * Q(share), **extra)


def lemma3_steps(k):
    return [None if k.tau == 1 else (1 / (3 * k.L * (k.tau - 1))) ** 2, (1 / k.mu) ** 2] if k.mu > 0 else None


ONE_A_ROUND = "{} equal clients, one a round"
CROWDS = (1, 2, 16, 32, 64, 256, 1000)


def crowd(rule, *sizes, h=1, m=1, tau=1, **extra):
    """Equal clients of which m take part in each round, at the largest step of a rule."""
    name = ONE_A_ROUND if (m, tau) == (1, 1) else f"{{}} equal clients, {m} a round, tau={tau}"
    return [largest(rule, name.format(n), line((h,) * n, (0,) * n), ft.Uniform(m), tau, units=False, **extra) for n in sizes]


def crowds(rule, least=1, **extra):
    """One a round of 1 to 1000, and half of 64 with four local steps."""
    return [*crowd(rule, *(n for n in CROWDS if n >= least), **extra), *crowd(rule, 64, tau=4, m=32, **extra)]


def equals(rule, **extra):
    """A family of 6 to 80 equal clients, every state, of which a fixed number or a random one takes part."""

    def build(draw):
        n, h, tau = draw(st.integers(6, 80)), draw(st.sampled_from(["1/3", "8/9", 1, 2])), draw(st.sampled_from([1, 1, 2, 5]))
        law = ft.Uniform(draw(st.integers(1, n))) if draw(st.booleans()) else ft.Bernoulli(draw(st.sampled_from(CHANCES)), "redraw")
        return largest(rule, "equal clients", line((h,) * n, (0,) * n), law, tau, draw(st.sampled_from(SHARES)), **extra)

    return ft.Family("6 to 80 equal clients, every state", build, most=15)


CHANCES, SHARES = ("1/50", "1/5", "1/2", "9/10"), ("1", "1", "1/2", "1/20")
RULES = {"lem3": lemma3_steps, "lem4": lambda k: f.steps_lemma4(k.N, k.L, k.q, k.tau),
         "lem4-corrected": lambda k: f.steps_lemma4_corrected(k.N, k.L, k.q, k.tau),
         "half": lambda k: [(1 / (2 * k.L * (k.tau - 1))) ** 2], "eq94": lambda k: [1 / (4 * k.L ** 2 * (k.tau - 1))],
         "eq96": lambda k: [(1 / (3 * k.L * max(k.tau - 1, 1))) ** 2],
         "nc": lambda k: f.steps_nonconvex(k.N, k.L, k.q, k.tau) if k.beta > 0 else None,
         "any": lambda k: f.steps_nonconvex(k.N, k.L, k.q, k.tau),
         "sc": lambda k: f.steps_strongly_convex(k.N, k.L, k.mu, k.q, k.tau) if k.mu > 0 else None,
         "sc-small": lambda k: f.steps_proved(k.N, k.L, k.mu, k.q, k.tau) if k.mu > 0 else None,
         "rate": lambda k: f.steps_of_the_rate(k.N, k.L, k.q, k.tau) if k.beta > 0 else None,
         "pl-small": lambda k: ([*f.steps_pl(k.N, k.L, k.beta, k.q), f.step_lemma4_tau(k.L, k.q, k.tau), (k.q / (72 * k.N**2)) ** 2]
                                if k.beta > 0 else None),
         "pl": lambda k: f.steps_pl(k.N, k.L, k.beta, k.q) if k.beta > 0 else None,
         "pl-tied": lambda k: ([*f.steps_pl(k.N, k.L, k.beta, k.q), f.step_lemma4_tau(k.L, k.q, k.tau)] if k.beta > 0
                               else None),
         "rates": lambda k: [*f.steps_strongly_convex(k.N, k.L, k.mu, k.q, k.tau), *f.steps_pl(k.N, k.L, k.beta, k.q)],
         "eq123": lambda k: [(1 / (4 * k.L * k.N)) ** 2, None if k.tau == 1 else (1 / (2 * k.L * (k.tau - 1))) ** 2]}
MANY, LONG, TINY = 20, 100, Q(1, 1000)   # clients, local steps and share of the cap at the ends of a search
ENDS = {"clients": (1, MANY), "local steps": (1, LONG), "step over its cap": (TINY, 1), "averaging weight": (Q(1, 100), 1)}
CONVEX_ENDS = ENDS | {"condition number": (1, 1000)}
CROWDED = {"clients": (1, CROWDS[-1])}   # where the instances hold `crowds`
CONCAVE_ENDS = ENDS | {"curvature": (-1, 1)}


def corners(least=1, many=MANY, **more):
    """The ends of `quadratics`, one at a time, and many clients of which one takes part at the largest step."""
    single = [{"n": least, "tau": 1, "law": "all"}, {"n": many, "tau": 1, "law": "one", "share": 1}, {"tau": LONG, "share": 1},
              {"n": least, "share": TINY, "law": "rare"}]
    return (*single, *({name: v} for name, values in more.items() for v in values))


LAWS = {"all": lambda n: ft.Full(), "one": lambda n: ft.Uniform(1), "all but one": lambda n: ft.Uniform(max(n - 1, 1)),
        "Bernoulli": lambda n: ft.Bernoulli(["1/2", "1/5", "9/10", "1/3"][:n], "redraw"),
        "with empty rounds": lambda n: ft.Bernoulli(["1/2", "1/5", "9/10", "1/3"][:n]),
        "rare": lambda n: ft.Bernoulli([Q(1, 100)] * n)}


def draw_law(draw, n, law=None):
    return LAWS[draw(st.sampled_from(sorted(set(LAWS) - {"rare"}))) if law is None else law](n)


def quadratics(rule, curvatures=(1, 6), taus=(1, 2, 5, 12), least=1, started=False, **extra):
    """Random quadratics of dimension 1 (sometimes 2), any law, every state."""

    def build(draw, n=None, tau=None, law=None, share=None, spread=None):
        """spread: all curvatures 1 but the last, which is this."""
        d = 1 if n or spread else draw(st.sampled_from([1, 1, 1, 2]))
        n, whole = n or (draw(st.integers(least, 4)) if d == 1 else 2), st.integers(*curvatures)
        diagonal = [[draw(whole) for _ in range(d)] for _ in range(n if n <= 4 else 2)]
        diagonal = [diagonal[0]] * (n - 2) + diagonal if n > 4 else diagonal
        if spread:
            n = max(n, 2 if spread > 0 else 3)
            diagonal = [[1]] * (n - 1) + [[spread]]
        H = [[[v]] if d == 1 else [[v, 0], [0, w]] for v, *rest in diagonal for w in (rest or [0])]
        if d == 2:  # turn the last client, so that curvatures do not commute
            a, b = diagonal[-1]
            H[-1] = [[Q(9 * a + 16 * b, 25), Q(12 * (a - b), 25)], [Q(12 * (a - b), 25), Q(16 * a + 9 * b, 25)]]
        problem = ft.Quadratic(H, [[0] * d] * n)
        total = [sum(row[k] for row in diagonal) for k in range(d)]
        if any(v == 0 for row in diagonal for v in row) or (d == 1 and total[0] == 0):
            return None
        if d == 2:
            s = sum(Q(h[0][0]) for h in H) * sum(Q(h[1][1]) for h in H) - sum(Q(h[0][1]) for h in H) ** 2
            if s == 0:
                return None
        start = {"x0": [1] * d} if started else {}
        share = draw(st.sampled_from(["1", "1/2", "1/20"])) if share is None else share
        return largest(rule, "random quadratic", problem, draw_law(draw, n, law), tau or draw(st.sampled_from(taus)), share,
                       **extra, **start)

    return build


def minimiser(problem):
    """The root of the exact, increasing, piecewise linear gradient of F in one dimension."""
    p = problem.to(problem.native)

    def slope(x):
        return ft.fraction(p.gradient(p.native.array([x]))[0])

    kinks = sorted({(o + s * ft.fraction(t)) / ft.fraction(u[0]) for U, T in zip(problem.rows, problem.targets, strict=True)
                    for u, (o, t) in zip(U, ((ft.fraction(a), b) for a, b in T), strict=True)
                    if ft.fraction(u[0]) for s in (-1, 1)})
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
    problem = ft.HuberLoss([[[v] for v in u] for u in U], offsets, delta, 1, reg)
    return largest(rule, name, problem, law, tau, share, state=([x], [[v] for v in z]), best=[minimiser(problem)],
                              units=False, **extra)


def hubers(rule, reg=("0", "1/4"), taus=(1, 2, 4), least=1):
    """Random Huber clients on the line at a random state, in exact rationals."""

    def build(draw):
        n = draw(st.integers(least, 3))
        U = [[draw(st.sampled_from([1, 2, -1])) for _ in range(draw(st.integers(1, 3)))] for _ in range(n)]
        offsets = [[draw(st.integers(-3, 3)) for _ in u] for u in U]
        halves = st.integers(-8, 8)
        return huber("random Huber", U, offsets, draw(st.sampled_from([Q(1, 2), Q(1), Q(2)])), draw(st.sampled_from(reg)),
                     draw_law(draw, n), draw(st.sampled_from(taus)), rule, draw(st.sampled_from(["1", "1/4"])),
                     Q(draw(halves), 2), [Q(draw(halves), 2) for _ in range(n)])

    return build


def nonconvex_clients(rule, taus=(1, 2, 4), least=1):
    """Clients that are not convex, and neither is their sum, at a random state."""

    def build(draw):
        n = draw(st.integers(least, 3))
        problem = piecewise.either(draw, n, calm=False)
        if problem is None:
            return None
        return largest(rule, "random non-convex clients", problem, draw_law(draw, n), draw(st.sampled_from(taus)),
                       draw(st.sampled_from(["1", "1/4"])), state=piecewise.state(draw, n), best=[problem.least()[0]], units=False,
                       says=piecewise.words(problem))

    return build


def searched(rule, curvatures, regs, least=1, tries=120, many=False, **options):
    """Quadratics over every state, and Huber clients at random states; many: also up to 80 equal clients, every state."""
    ends = corners(least, spread=(1, 1000) if curvatures[0] > 0 else (-1, 1))
    equal = (equals(rule),) if many else ()
    return ft.Search((ft.Family("random quadratics, every state", quadratics(rule, curvatures, least=least, **options), ends),
                      ft.Family("Huber clients, random states", hubers(rule, regs, least=least)), *equal,
                      *((ft.Family("non-convex clients, random states", nonconvex_clients(rule, least=least)),)
                        if curvatures[0] < 0 else ())), tries=tries)


NO_EMPTY = ft.Bernoulli(("9/10", "1/2", "1/5"), "redraw")
WEIGHTED = ft.Weighted(2, ("7/10", "1/5", "1/10"))
CONVEX = [("three clients, one at a time", line((1, 2, 4), (1, -1, 2)), ft.Uniform(1)),
          ("five equal clients, one at a time", line((1,) * 5, range(5)), ft.Uniform(1)),
          ("(1,3,10), all", line((1, 3, 10), (1, -1, 2)), ft.Full()),
          ("(1,3,10), Bernoulli without empty rounds", line((1, 3, 10), (1, -1, 2)), NO_EMPTY),
          ("two of three, weighted", line((2, 1, 3), (0, 1, 5)), WEIGHTED), ("plane, two of three", plane(), ft.Uniform(2)),
          ("one client", line((1,), (0,)), ft.Full())]
CONCAVE = [("a concave client, one at a time", line((3, -1, 2), (1, -1, 2)), ft.Uniform(1)),
           ("a concave client, all", line((1, "-1/2"), (0, 0)), ft.Full()),
           ("concave F", line((-1, -2), (1, 3)), ft.Uniform(1)),
           ("plane, an indefinite client", ft.Quadratic([[[1, 0], [0, -2]], [[3, 1], [1, 4]]], [[1, 0], [0, 2]]),
            ft.Uniform(1)),
           ("five clients, three concave", line((-1, 4, -2, 3, -1), range(5)), ft.Bernoulli(["1/2"] * 5, "redraw"))]


def at_largest(rule, problems, taus=(1, 3), shares=(1,), **extra):
    """Every problem with every number of local steps and share of the largest step."""
    return [largest(rule, f"{name}, tau={tau}" + ("" if share == 1 else f", {share} of the step"), problem, law, tau, share,
                    **extra)
            for name, problem, law in problems for tau in taus for share in shares]
