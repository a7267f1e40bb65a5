"""Appendix A: Lemmas 1 to 4, on functions with exact values and on listed sequences."""
from dataclasses import dataclass, replace
from fractions import Fraction as Q
from itertools import pairwise
from math import floor

import numpy as np

import fltheory as ft
from verification.fedres.formulas import appendix_a as f
from verification.fedres.proofs import appendix_a as proofs

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


# ---- functions: Lemmas 1 and 2 ------------------------------------------------------------------------------
@dataclass(frozen=True)
class HalfGradient:
    """A function whose gradient is returned with the factor 1/2 that belongs to its value."""

    right: object

    def value(self, x):
        return self.right.value(x)

    def gradient(self, x):
        return self.right.gradient(x) / 2


def gradient_halved(function):
    """The gradient is half of what it is: a loss 1/2 |residual|^2 is differentiated as if it were |residual|^2/4."""
    return HalfGradient(function)


gradient_halved.of = "problem"


class AtPoints(ft.Instance):
    """One function (a problem of one client) at points a, b, c, or at x with its minimum `least`."""

    def f(self, x):
        return ft.fraction(self.problem.value(list(x)))

    def g(self, x):
        return ft.linalg.to_fractions(self.problem.gradient(list(x)))


def points(*given):
    return [np.array([ft.fraction(v) for v in x], dtype=object) for x in given]


def three(name, problem, a, b, c):
    a, b, c = points(a, b, c)
    return AtPoints(name, problem, a=a, b=b, c=c, says=f"a={list(map(str, a))}, b={list(map(str, b))}, c={list(map(str, c))}")


convex = ft.Hypothesis("convex", r"$f$ convex", lambda i: (0, i.mu))
strongly = ft.Hypothesis("strongly convex", r"$\beta>0$", lambda i: (0, i.mu), strict=True)

PLANE = ft.Quadratic.from_linear([[[2, "1/2"], ["1/2", 1]]], [[1, -1]])
LINE = ft.Quadratic.from_linear([[[2]]], [[1]])
HUBER = ft.HuberLoss([[[1], [2]]], [[0, 1]], [[1, "1/2"]])
FAR_HUBER = ft.HuberLoss([[[1, 1], [0, 2]]], [[0, 3]], 2)
on_lem1 = [three("a far, c at the minimum", LINE, [3], ["1/2"], ["1/2"]), three("b just below", LINE, [3], [2], [3]),
           three("b = c: equality", LINE, [-2], [5], [5]), three("plane", PLANE, [1, 2], [0, -3], ["1/2", 4]),
           three("Huber", HUBER, [-3], [2], ["1/2"]), three("Huber in the plane", FAR_HUBER, [4, -1], [0, 1], [1, 1])]


def quadratic(draw, least):
    """One client with curvature at least `least`, turned by the rational rotation (3/5, 4/5) in the plane."""
    d, values = draw(st.integers(1, 2)), st.integers(0, 5)
    h = [least + draw(values) for _ in range(d)]
    b = [draw(st.integers(-4, 4)) for _ in range(d)]
    turn = np.array([[Q(3, 5), Q(-4, 5)], [Q(4, 5), Q(3, 5)]], dtype=object)
    H = [[h[0]]] if d == 1 else ft.linalg.matmul(ft.linalg.matmul(turn, np.diag(np.array([Q(v) for v in h], dtype=object))), turn.T)
    return ft.Quadratic.from_linear([H], [b])


def huber(draw, reg=0, centred=False):
    """One client, a sum of at most three Huber losses on the line."""
    size = draw(st.integers(1, 3))
    U = [[draw(st.integers(-3, 3))] for _ in range(size)]
    offsets = [0 if centred else draw(st.integers(-3, 3)) for _ in range(size)]
    return ft.HuberLoss([U], [offsets], draw(st.sampled_from([Q(1, 2), Q(1), Q(3)])), 1, reg)


def drawn_three(build):
    def made(draw):
        problem, x = build(draw), st.integers(-8, 8)
        return three("drawn", problem, *([Q(draw(x), 2) for _ in range(problem.d)] for _ in range(3)))
    return made


def lem1_numbers(i):
    a, b, g = i.a - i.c, i.b - i.c, i.g(i.c)
    yield {"gamma": i.L, "fa": i.f(i.a), "fb": i.f(i.b), "fc": i.f(i.c)}, {"a": a, "b": b, "g": g}


@ft.claim("lem1", needs=[convex], on=on_lem1, rejects=[gradient_halved], proof=proofs.lemma1, meaning=lem1_numbers,
          domain=proofs.FUNCTIONS, ends={"dimension": (1, 2)},
          search=ft.Search((ft.Family("quadratic", drawn_three(lambda draw: quadratic(draw, 0))),
                            ft.Family("Huber", drawn_three(huber))), tries=40))
def lem1(i):
    r"""For every $\gamma$-smooth convex $f$ and all $a,b,c$:
    $f(a)-f(b)\le(a-b)\cdot\nabla f(c)+\frac\gamma2\|a-c\|^2$."""
    bound = f.lemma1(i.L, (i.a - i.b) @ i.g(i.c), (i.a - i.c) @ (i.a - i.c))
    return ft.at_most(i.f(i.a) - i.f(i.b), ft.Terms(**bound))


def above(name, problem, x, least=None, tight=False):
    least = ft.optimum(problem).value if least is None else least
    return AtPoints(name, problem, x=points(x)[0], least=ft.fraction(least), tight=tight, says=f"x={list(map(str, x))}")


on_lem2 = [above("weakest direction", ft.Quadratic.from_linear([[[2, 0], [0, "1/3"]]], [[0, 0]]), [0, 5], tight=True),
           above("line", LINE, [4], tight=True), above("plane", PLANE, [1, 2]),
           above("Huber with a ridge", ft.HuberLoss([[[1], [2]]], [[0, 0]], 1, 1, "1/4"), [3], 0)]


def drawn_above(build, least=None):
    def made(draw):
        problem = build(draw)
        return above("drawn", problem, [Q(draw(st.integers(-9, 9)), 2) for _ in range(problem.d)], least)
    return made


def lem2_numbers(i):
    if isinstance(i.problem, ft.Quadratic):
        best = ft.linalg.to_fractions(ft.optimum(i.problem).x)
        yield {"beta": i.mu, "fx": i.f(i.x), "fs": i.least}, {"v": best - i.x, "g": i.g(i.x)}


@ft.claim("lem2", needs=[strongly], on=on_lem2, rejects=[gradient_halved], proof=proofs.lemma2, meaning=lem2_numbers,
          domain=proofs.FUNCTIONS, ends={"dimension": (1, 2)},
          search=ft.Search((ft.Family("quadratic", drawn_above(lambda draw: quadratic(draw, Q(1, 4)))),
                            ft.Family("Huber", drawn_above(lambda draw: huber(draw, Q(1, 4), True), 0))), tries=40))
def lem2(i):
    r"""For every differentiable $\beta$-strongly convex $f$ with minimiser $x^*$:
    $f(x)-f(x^*)\le\frac1{2\beta}\|\nabla f(x)\|^2$, with equality along an eigenvector of curvature $\beta$."""
    gap, bound = i.f(i.x) - i.least, f.lemma2(i.mu, i.g(i.x) @ i.g(i.x))
    return (ft.at_most(gap, ft.Terms(**bound)), *([ft.equal(gap, bound["gradient"], "weakest direction: equality")]
                                                  if i.extra.get("tight") else []))


# ---- sequences: Lemmas 3 and 4 ------------------------------------------------------------------------------
DIGITS = 10**15   # values are rounded down, which the recursions allow, so that numbers stay short


@dataclass(frozen=True)
class Recursion:
    """B' = B - c B^power + noise, rounded down and, for power 2, at most 1/(2c)."""

    c: Q
    noise: Q
    first: Q
    power: int

    def values(self, rounds):
        """[B_1, .., B_rounds]."""
        out = [self.first]
        while len(out) < rounds:
            new = Q(floor((out[-1] - self.c * out[-1] ** self.power + self.noise) * DIGITS), DIGITS)
            out.append(min(new, 1 / (2 * self.c)) if self.power == 2 else new)
        return out


def decrease_halved(rule):
    """The decrease of one round is half of what the recursion says."""
    return replace(rule, c=rule.c / 2)


def noise_doubled(rule):
    """The noise of one round enters twice."""
    return replace(rule, noise=2 * rule.noise)


decrease_halved.of = noise_doubled.of = "rule"


def sequence(power, c, root, first, rounds, **extra):
    """root: sqrt(d/c) for power 2, d/c for power 1."""
    c, root, first = ft.fraction(c), ft.fraction(root), ft.fraction(first)
    rule = Recursion(c, c * root**power, first, power)
    return ft.Instance(f"c={c}, floor {root}, B_1={first}, {rounds} rounds", rule=rule, declared=rule, floor=root, c=c,
                       d_=c * root**power, rounds=rounds, says="equality in every round, rounded down", **extra)


def largest(i):
    return max(i.declared.values(i.rounds))


nonnegative = ft.Hypothesis("non-negative", r"$B_r\ge0$", lambda i: (0, min(i.declared.values(i.rounds))))
recursion3 = ft.Hypothesis("below the cap", r"$B_r\le\frac1{2c}$", lambda i: (largest(i), 1 / (2 * i.c)))
fraction4 = ft.Hypothesis("rate", r"$c<1$", lambda i: (i.c, 1), strict=True)
positive = ft.Hypothesis("positive", r"$c,d>0$", lambda i: (0, min(i.c, i.d_)), strict=True)


def recurs(i):
    """The largest excess of B_{r+1} over the recursion's right side."""
    B = i.declared.values(i.rounds)
    return max((new - (old - i.c * old**i.declared.power + i.d_) for old, new in pairwise(B)), default=Q(-1))


follows = ft.Hypothesis("recursion", r"$B_{r+1}\le B_r-cB_r^p+d$, $p=2$ in Lemma 3, $1$ in Lemma 4", lambda i: (recurs(i), 0))
on_lem3 = [sequence(2, *v) for v in ((1, "1/2", "1/2", 12), (1, "1/10", "1/2", 300), (1, "1/1000", "1/2", 1000),
                                     ("1/50", "1/100", 25, 400), (1, "3/10", 0, 30), (1, 2, "1/2", 5), (3, "1/6", "1/6", 40))]
root_of_floor = ft.Variable("sqrt(cd)", lambda i: i.c * i.floor)
RECURSIONS = {"rounds": (1, 1000)}
ROUNDS = [{"rounds": 1}, {"rounds": 1000}]


def drawn_lem3(draw, rounds=None, share=None):
    c = draw(st.sampled_from([Q(1, 10), Q(1), Q(7)]))
    share = Q(draw(st.integers(1, 60)), 100) if share is None else share
    return sequence(2, c, share / c, Q(draw(st.integers(0, 50)), 100) / c, rounds or draw(st.integers(2, 60)))


def lem3_numbers(i):
    B, c = i.declared.values(min(i.rounds, 40)), i.c
    small = 2 * c * i.floor <= 1
    at = {"c": c, "d": i.d_, ("e" if small else "E"): i.floor}
    for r, (now, new) in enumerate(zip(B, [*B[1:], None], strict=True), 1):
        y = Q(1, 2) - c * now
        yield at | {"r": Q(r), "B": now} | ({"k": Q(r - 1), "J": Q(r - 1), "y": y, "z": y} if small else {}) | (
            {"y1": Q(1, 2) - c * new} if new is not None and small else {}), {}


@ft.claim("lem3", needs=[positive, nonnegative, recursion3, follows], on=on_lem3, rejects=[decrease_halved, noise_doubled],
          proof=lambda: (proofs.lemma3(), proofs.lemma3_large()), meaning=lem3_numbers, domain=proofs.SEQUENCES,
          ends=RECURSIONS | {root_of_floor: (Q(1, 1000), Q(1, 2))},
          search=ft.Search((ft.Family("recursion", drawn_lem3, [*ROUNDS, {"share": Q(1, 1000), "rounds": 400},
                                                                 {"share": Q(1, 2), "rounds": 400}]),), tries=40))
def lem3(i):
    r"""If $B_r\ge0$, $B_{r+1}\le B_r-cB_r^2+d$ and $B_r\le\frac1{2c}$ for all $r$, then $B_r\le\frac1{cr}+\sqrt{d/c}$. By the
    repaired induction even $B_r\le\frac{1-2\sqrt{cd}}{c(r+1)}+\sqrt{d/c}$ where $2\sqrt{cd}\le1$."""
    B = i.rule.values(i.rounds)
    bounds = [f.lemma3(i.c, i.floor, r) for r in range(1, i.rounds + 1)]
    sharper = [f.lemma3_sharper(i.c, i.floor, r) for r in range(1, i.rounds + 1)] if 2 * i.c * i.floor <= 1 else bounds
    return (ft.at_most(max(b - sum(t.values()) for b, t in zip(B, bounds, strict=True)), 0, "every round"),
            ft.at_most(max(b - sum(t.values()) for b, t in zip(B, sharper, strict=True)), 0, "every round, sharper"),
            ft.at_most(B[0], ft.Terms(**bounds[0]), "r = 1"), ft.at_most(B[-1], ft.Terms(**bounds[-1]), f"r = {i.rounds}"))


def printed_induction():
    """At c = 1, d = 1/4, B_1 = 1/2, r = 1 the printed chain says B_2 <= -1/2; the sequence stays at 1/2, as the lemma allows."""
    c, root, r, B = Q(1), Q(1, 2), 1, Q(1, 2)
    said, bound = f.induction_of_lemma3(c, root, r), sum(f.lemma3(c, root, r).values())
    return (ft.at_most(1 / (2 * c), bound, "the bound at r = 1 lies above 1/(2c), where B - cB^2 falls", strict=True),
            ft.at_most(said, Recursion(c, c * root**2, B, 2).values(2)[1], "what the induction says of B_2", strict=True),
            ft.at_most(B, sum(f.lemma3(c, root, r + 1).values()), "the lemma at r = 2"))


ft.finding("err-12", kind="gap", breaks="lem3", check=printed_induction,
           reading="The induction step puts the bound at r into B - cB^2 + d, which increases up to 1/(2c) alone; at small r the "
                   "bound lies beyond.",
           survives="The lemma holds, by an induction on a smaller bound that never leaves the increasing part: lem3.")

SYMBOL = ft.Field("r")
on_sharp = [ft.Instance("c=1, d=1/4, B=1/2, every r", rule=Recursion(Q(1), Q(1, 4), Q(1, 2), 2), domain=SYMBOL, r=SYMBOL.symbols[0],
                        says="a stationary sequence; r is a symbol")]


@ft.claim("lem3-sharp", on=on_sharp, rejects=[decrease_halved], domain="the one sequence that it names, every r")
def lem3_sharp(i):
    r"""Lemma 3 cannot be improved by a factor: for $c=1$, $d=\frac14$ the sequence $B_r=\frac12$ obeys its hypotheses and is
    $\frac r{r+2}$ of the bound, which tends to 1."""
    B = i.rule.first
    return (ft.equal(i.rule.values(2)[1], B, "stationary"), ft.equal(2 * i.rule.c * B, 1, "at the cap 1/(2c)"),
            ft.equal(B / sum(f.lemma3(Q(1), Q(1, 2), i.r).values()), i.r / (i.r + 2), "share of the bound"))


on_lem4 = [sequence(1, *v) for v in (("1/2", 1, 8, 20), ("1/1000", 1, 50, 1000), ("99/100", 2, 0, 5), ("1/10", "1/100", 100, 200))]


def drawn_lem4(draw, rounds=None, c=None):
    c = Q(draw(st.integers(1, 99)), 100) if c is None else c
    return sequence(1, c, draw(st.sampled_from([Q(1, 100), Q(1), Q(9)])), draw(st.integers(0, 90)),
                    rounds or draw(st.integers(2, 60)))


def lem4_numbers(i):
    B = i.declared.values(min(i.rounds, 40))
    for r, (old, new) in enumerate(pairwise(B)):
        q = (1 - i.c) ** r
        yield {"c": i.c, "d": i.d_, "B": old, "B2": new, "B1": B[0], "q": q, "Q": q, "BR": old}, {}


@ft.claim("lem4", needs=[positive, nonnegative, fraction4, follows], on=on_lem4, rejects=[decrease_halved, noise_doubled],
          proof=proofs.lemma4, meaning=lem4_numbers, domain=proofs.SEQUENCES,
          ends=RECURSIONS | {ft.Variable("c", lambda i: i.c): (Q(1, 1000), Q(99, 100))},
          search=ft.Search((ft.Family("recursion", drawn_lem4, [*ROUNDS, {"c": Q(1, 1000)}, {"c": Q(99, 100)}]),), tries=40))
def lem4(i):
    r"""If $B_r\ge0$ and $B_{r+1}\le(1-c)B_r+d$ with $0<c<1$, $d>0$, then $B_r\le(1-c)^{r-1}B_1+\frac dc$."""
    B = i.rule.values(i.rounds)
    bounds = [f.lemma4((1 - i.c) ** (r - 1), i.c, i.d_, B[0]) for r in range(1, i.rounds + 1)]
    return (ft.at_most(max(b - sum(t.values()) for b, t in zip(B, bounds, strict=True)), 0, "every round"),
            ft.at_most(B[0], ft.Terms(**bounds[0]), "r = 1"), ft.at_most(B[-1], ft.Terms(**bounds[-1]), f"r = {i.rounds}"))
