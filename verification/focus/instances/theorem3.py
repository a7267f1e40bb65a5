"""Instances for Lemmas 1 and 2, Theorem 3 and its corollaries: equal Hessians, Huber and logistic clients."""
from fractions import Fraction as Q
from itertools import pairwise

import numpy as np

from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.core.laws.weighted import Weighted
from fltheory.core.optima import optimum
from fltheory.core.problems.huber import HuberLoss
from fltheory.core.problems.logistic import Logistic
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.scalars import FLOAT, RATIONAL, fraction
from verification.focus.formulas import fedavg as f
from verification.focus.instances import line, plane
from verification.focus.instances.fedavg import RARE, make

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


def floor(name, H, c, law, eta, tau, **extra):
    """Clients with one Hessian H and minimisers c."""
    return make(name, Quadratic([H] * len(c), c), law, eta, tau, **extra)


SLANTED = [[2, "1/2"], ["1/2", 1]]
e2 = floor("mu=L=.1, one client a round, q=(.9,.1)", [["1/10"]], [[1], [-1]], Weighted(1, ("9/10", "1/10")), "1/100", 1)
several_of_three = floor("two of three, tau=4", [[1, 0], [0, 4]], [[1, 0], [-1, 2], [0, -3]], Uniform(2), "1/48", 4)
everybody = floor("all, tau=5", SLANTED, [[1, 0], [-1, 2], [0, -3]], Full(), "1/48", 5)
small_step = floor("two of three, tau=2, small step", [[1]], [[1], [-1], [3]], Uniform(2), "1/20000", 2)
uniform = [  # several local steps first: the dimensional test rescales the first two
    several_of_three, everybody, small_step,
    floor("one of two", [[1]], [[1], [-1]], Uniform(1), "1/100", 1),
    floor("one of two, step 1/3", [[1]], [[1], [-1]], Uniform(1), "1/3", 1),
    floor("one of three, kappa = 40, tau=3", [["1/10", 0], [0, 4]], [[1, 1], [-1, 2], [0, -3]], Uniform(1), "1/32", 3),
    floor("homogeneous, tau=3", [[1]], [[2], [2]], Uniform(1), "1/10", 3),
]
one_step = [i for i in uniform if i.tau == 1] + [
    floor("one of three in the plane, tau=1", SLANTED, [[1, 0], [-1, 2], [0, -3]], Uniform(1), "1/20", 1),
    floor("two of three, tau=1", [[1]], [[1], [-1], [3]], Uniform(2), "1/20000", 1)]
arbitrary = [
    e2, floor("rare client, tau=4", [[1, 0], [0, 4]], [[1, 0], [-1, 2], [0, -3]], RARE, "1/48", 4),
    floor("two of three, weighted, tau=2", SLANTED, [[1, 0], [-1, 2], [0, -3]], Weighted(2, ("7/10", "1/5", "1/10")), "1/20", 2),
    floor("q=(.9,.1), tau=6", [["1/10"]], [[1], [-1]], Weighted(1, ("9/10", "1/10")), "1/20", 6)]
unequal = make("unequal Hessians", line([1, 3], [2, -1]), Uniform(1), "1/20", 2)
too_large = floor("step above 1/(3L)", [[1]], [[1], [-1]], Uniform(1), "1/2", 1)
small_units = [i.rescaled(Q(1, 10**6), 1).but(name=f"{i.name}, L and mu divided by 10^6") for i in (several_of_three, everybody)]


# ---- Lemmas 1 and 2 ---------------------------------------------------------------------------------------
def stacked(name, problem, law, eta, X):
    """Any stacked state X (n, d) inside a round."""
    return make(name, problem, law, eta, 1, x0=X)


states = [
    stacked("consensus at x*, q=(.9,.1)", line([1, 1], [1, -1]), Weighted(1, ("9/10", "1/10")), "1/10", [[0], [0]]),
    stacked("apart, mean at x*", line([1, 1], [1, -1]), Uniform(1), "1/3", [[2], [-2]]),
    stacked("apart, h=(1,3)", line([1, 3], [1, -1]), Uniform(1), "1/9", [[-10], ["17/2"]]),
    stacked("far away", line([1, 1], [1, -1]), Uniform(1), "1/100", [[100], [100]]),
    stacked("plane, three Hessians, one of three", plane(), Uniform(1), "1/20", [[1, 0], [2, 5], [-3, 1]]),
    stacked("plane, one Hessian, rare client", Quadratic([SLANTED] * 3, [[1, 0], [-1, 2], [0, -3]]), RARE, "1/8",
            [[1, 0], [2, 5], [-3, 1]])]
equal_steps = [stacked("all, equal clients apart", line([1, 1], [1, -1]), Full(), "1/10", [[0], [0]])]


def within(name, H, c, law, eta, tau, x0):
    """All clients start a round at x0."""
    return floor(name, H, c, law, eta, tau, x0=x0)


inside = [
    within("two clients, tau=8", [[1]], [[1], [-1]], Uniform(1), "1/100", 8, [3]),
    within("q=(.9,.1), tau=3", [["1/10"]], [[1], [-1]], Weighted(1, ("9/10", "1/10")), "1", 3, [0]),
    within("concave clients, tau=5", [[-1]], [[1], [-1], [4]], Uniform(2), "1/16", 5, [1]),
    within("rare client, plane", SLANTED, [[1, 0], [-1, 2], [0, -3]], RARE, "1/40", 4, [1, 1])]


# ---- clients that are not quadratic -----------------------------------------------------------------------
def law_of(draw, n):
    """A law without empty rounds."""
    kind = draw(st.sampled_from(["all", "uniform", "weighted", "bernoulli"]))
    if kind == "all":
        return Full()
    if kind == "uniform":
        return Uniform(draw(st.integers(1, n)))
    w = [draw(st.sampled_from([1, 3, 9])) for _ in range(n)]
    return Weighted(draw(st.integers(1, n - 1)), w) if kind == "weighted" else Bernoulli([Q(v, 10) for v in w], "redraw")


def uniform_law(draw, n):
    return Uniform(draw(st.integers(1, n)))


def largest_step(L, tau, share):
    return share / max(3 * L, 4 * (tau - 1) * L)


def _share(draw):
    return draw(st.sampled_from([Q(1), Q(1, 2), Q(1, 10), Q(1, 100)]))


def quadratics(pick, steps, start=False):
    """Equal Hessians on the line or in the plane, random minimisers."""
    def build(draw):
        n, d, tau = draw(st.integers(2, 3)), draw(st.integers(1, 2)), draw(st.sampled_from(steps))
        top = draw(st.sampled_from([Q(1), Q(4), Q(1, 10), Q(40)]))
        H = [[[Q(1)]], [[1, 0], [0, top]]][d - 1]
        c = [[draw(st.integers(-5, 5)) for _ in range(d)] for _ in range(n)]
        eta = largest_step(max(Q(1), top if d == 2 else Q(1)), tau, _share(draw))
        extra = {"x0": [draw(st.integers(-5, 5)) for _ in range(d)]} if start else {}
        return floor("random equal Hessians", H, c, pick(draw, n), eta, tau, **extra)
    return build


def kinks(U, offsets):
    """Places on the line where some gradient bends (all deltas 1), in order."""
    return sorted({Q(o + side, u) for rows, part in zip(U, offsets, strict=True)
                   for (u,), o in zip(rows, part, strict=True) for side in (-1, 1)})


def slopes(problem, x):
    """Gradients (n, 1) of all clients at x, exactly."""
    p = problem.to(RATIONAL)
    return np.array([[fraction(v[0])] for v in p.grad(RATIONAL.array(np.array([[x]] * problem.n, dtype=object)))], dtype=object)


def crossing(problem, at):
    """The exact minimiser on the line: grad F is increasing and linear between kinks."""
    def slope(x):
        return f.plain_mean(slopes(problem, x))[0]
    at = [at[0] - 1, *at, at[-1] + 1]
    while slope(at[0]) > 0:
        at[0] = 2 * at[0] - at[1]
    while slope(at[-1]) < 0:
        at[-1] = 2 * at[-1] - at[-2]
    low, high = next((a, b) for a, b in pairwise(at) if slope(a) <= 0 <= slope(b))
    left, right = slope(low), slope(high)
    return low if left == 0 else low - left * (high - low) / (right - left)


def huber(name, U, offsets, reg, law, share, tau, **extra):
    """Huber losses on the line: x*, sigma_G^2 and delta_q^2 exactly, since differences of gradients bend at kinks only."""
    problem = HuberLoss(U, offsets, 1, 1, reg)
    L = fraction(problem.constants.L)
    base = make(name, problem, law, largest_step(L, tau, share), tau, units=False, **extra)
    at = kinks(U, offsets)
    rows = [slopes(problem, x) for x in (at[0] - 1, *at, at[-1] + 1)]
    return base.but(best=np.array([crossing(problem, at)], dtype=object), sigma2=max(f.heterogeneity(g) for g in rows),
                    delta2=max(f.sampling(base.q, g) for g in rows))


def hubers(pick, steps, extra=None):
    """Random Huber clients on the line, exact numbers."""
    def build(draw):
        n, tau = draw(st.integers(2, 3)), draw(st.sampled_from(steps))
        U = [[[draw(st.sampled_from([1, 2, -1]))] for _ in range(draw(st.integers(1, 2)))] for _ in range(n)]
        offsets = [[draw(st.integers(-4, 4)) for _ in u] for u in U]
        reg = draw(st.sampled_from([Q(1), Q(1, 4), Q(1, 10)]))
        return huber("random Huber", U, offsets, reg, pick(draw, n), _share(draw), tau, rounds=4 if n == 2 else 3,
                     **({} if extra is None else {"x0": extra(draw, n)}))
    return build


def logistics(pick, steps, extra=None):
    """Random logistic clients with a common ridge term in the plane, in floats."""
    def build(draw):
        n, tau = draw(st.integers(2, 3)), draw(st.sampled_from(steps))
        A = [[[draw(st.integers(-2, 2)) for _ in range(2)] for _ in range(draw(st.integers(1, 3)))] for _ in range(n)]
        labels = [[draw(st.integers(0, 1)) for _ in a] for a in A]
        problem = Logistic(A, labels, draw(st.sampled_from([Q(1), Q(1, 10)])))
        L = fraction(problem.constants.L)
        # data gradients lie within the mean row length, so differences from their mean within the sum of both
        reach = [sum(float(np.hypot(*r)) for r in a) / len(a) for a in A]
        sigma2 = fraction(max(v * (n - 1) / n + (sum(reach) - v) / n for v in reach)) ** 2 * (1 + Q(1, 10**9))
        base = make("random logistic", problem, pick(draw, n), largest_step(L, tau, _share(draw)), tau, FLOAT, units=False,
                    rounds=4, **({} if extra is None else {"x0": extra(draw, n, 2)}))
        delta2 = Q(0) if len(set(base.q)) == 1 else sigma2
        return base.but(best=optimum(problem).x, sigma2=sigma2, delta2=delta2)
    return build


def start(draw, n, d=1):
    """A server model."""
    return [draw(st.integers(-5, 5)) for _ in range(d)]


def stack(draw, n, d=1):
    """A stacked state."""
    return [[draw(st.integers(-5, 5)) for _ in range(d)] for _ in range(n)]


def stacked_quadratics(draw):
    """Any Hessians under uniform weights, one Hessian otherwise; any stacked state."""
    n = draw(st.integers(2, 3))
    even = draw(st.booleans())
    h = [draw(st.integers(1, 6)) for _ in range(n)] if even else [draw(st.integers(1, 6))] * n
    c = [draw(st.integers(-5, 5)) for _ in range(n)]
    law = uniform_law(draw, n) if even else law_of(draw, n)
    return stacked("random quadratic", line(h, c), law, largest_step(Q(max(h)), 1, _share(draw)), stack(draw, n))


