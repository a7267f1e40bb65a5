"""Random instances of Theorem 3 and its lemmas: equal Hessians, Huber and logistic clients."""
from fractions import Fraction as Q
from itertools import pairwise

import numpy as np

import fltheory as ft
from verification.focus.formulas import fedavg as f
from verification.focus.formulas import limits
from verification.focus.instances import make, st


def heterogeneity(i):
    """(delta_q^2, sigma_G^2): computed on quadratics (None where infinite), declared by the other instances."""
    return (i.delta2, i.sigma2) if "sigma2" in i.extra else f.constants(i.problem.H, i.problem.b, i.q)


def curvatures(i):
    """(mu, L) over the clients."""
    return ft.fraction(i.constants.mu), ft.fraction(i.constants.L)


def best(i):
    return i.best if "best" in i.extra else limits.minimiser(i.problem.H, i.problem.b)


def floor(name, H, c, law, eta, tau, **extra):
    """Clients with one Hessian H and minimisers c."""
    return make(name, ft.Quadratic([H] * len(c), c), law, eta, tau, **extra)


def law_of(draw, n):
    """A law without empty rounds."""
    kind = draw(st.sampled_from(["all", "uniform", "weighted", "bernoulli"]))
    if kind == "all":
        return ft.Full()
    if kind == "uniform":
        return ft.Uniform(draw(st.integers(1, n)))
    w = [draw(st.sampled_from([1, 3, 9])) for _ in range(n)]
    return ft.Weighted(draw(st.integers(1, n - 1)), w) if kind == "weighted" else ft.Bernoulli([Q(v, 10) for v in w], "redraw")


def uniform_law(draw, n):
    return ft.Uniform(draw(st.integers(1, n)))


def largest_step(L, tau, share):
    return share / max(3 * L, 4 * (tau - 1) * L)


def share(draw):
    return draw(st.sampled_from([Q(1), Q(1, 2), Q(1, 10), Q(1, 100)]))


MANY, LONG, TINY = 20, 100, Q(1, 1000)  # clients, local steps and share of the cap at the ends of a search
CORNERS = ({"n": MANY, "tau": 1, "pick": lambda draw, n: ft.Uniform(1)}, {"n": 2, "tau": LONG, "size": Q(1)},
           {"n": 2, "tau": 1, "size": TINY}, {"n": 2, "d": 2, "top": Q(1000)},
           {"n": 2, "pick": lambda draw, n: ft.Weighted(1, (99, 1))})
ENDS = {"clients": (2, MANY), "local steps": (1, LONG), "step over its cap": (TINY, 1), "condition number": (1, 1000),
        "averaging weight": (Q(1, 100), Q(99, 100))}
EVEN_CORNERS, EVEN_ENDS = CORNERS[:-1], {k: v for k, v in ENDS.items() if k != "averaging weight"}


def quadratics(pick, steps, start=False):
    """Equal Hessians on the line or in the plane, random minimisers."""
    def build(draw, n=None, d=None, tau=None, top=None, size=None, pick=pick):
        n, d = n or draw(st.integers(2, 3)), d or draw(st.integers(1, 2))
        tau = tau or draw(st.sampled_from(steps))
        top = top or draw(st.sampled_from([Q(1), Q(4), Q(1, 10), Q(40)]))
        H = [[[Q(1)]], [[1, 0], [0, top]]][d - 1]
        c = [[draw(st.integers(-5, 5)) for _ in range(d)] for _ in range(n)]
        eta = largest_step(max(Q(1), top if d == 2 else Q(1)), tau, size or share(draw))
        extra = {"x0": [draw(st.integers(-5, 5)) for _ in range(d)]} if start else {}
        return floor("random equal Hessians", H, c, pick(draw, n), eta, tau, **extra)
    return build


def kinks(U, offsets):
    """Places on the line where some gradient bends (all deltas 1), in order."""
    return sorted({Q(o + side, u) for rows, part in zip(U, offsets, strict=True)
                   for (u,), o in zip(rows, part, strict=True) for side in (-1, 1)})


def slopes(problem, x):
    """Gradients (n, 1) of all clients at x, exactly."""
    p = problem.to(ft.RATIONAL)
    return np.array([[ft.fraction(v[0])] for v in p.grad(ft.RATIONAL.array(np.array([[x]] * problem.n, dtype=object)))],
                    dtype=object)


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
    problem = ft.HuberLoss(U, offsets, 1, 1, reg)
    L = ft.fraction(problem.constants.L)
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
        return huber("random Huber", U, offsets, reg, pick(draw, n), share(draw), tau, rounds=4 if n == 2 else 3,
                     **({} if extra is None else {"x0": extra(draw, n)}))
    return build


def logistics(pick, steps, extra=None):
    """Random logistic clients with a common ridge term in the plane, in floats."""
    def build(draw):
        n, tau = draw(st.integers(2, 3)), draw(st.sampled_from(steps))
        A = [[[draw(st.integers(-2, 2)) for _ in range(2)] for _ in range(draw(st.integers(1, 3)))] for _ in range(n)]
        labels = [[draw(st.integers(0, 1)) for _ in a] for a in A]
        problem = ft.Logistic(A, labels, draw(st.sampled_from([Q(1), Q(1, 10)])))
        L = ft.fraction(problem.constants.L)
        # data gradients lie within the mean row length, so differences from their mean within the sum of both
        reach = [sum(float(np.hypot(*r)) for r in a) / len(a) for a in A]
        sigma2 = ft.fraction(max(v * (n - 1) / n + (sum(reach) - v) / n for v in reach)) ** 2 * (1 + Q(1, 10**9))
        base = make("random logistic", problem, pick(draw, n), largest_step(L, tau, share(draw)), tau, ft.FLOAT, units=False,
                    rounds=4, **({} if extra is None else {"x0": extra(draw, n, 2)}))
        delta2 = Q(0) if len(set(base.q)) == 1 else sigma2
        return base.but(best=ft.optimum(problem).x, sigma2=sigma2, delta2=delta2)
    return build


def start(draw, n, d=1):
    """A server model."""
    return [draw(st.integers(-5, 5)) for _ in range(d)]


def stack(draw, n, d=1):
    """A stacked state."""
    return [[draw(st.integers(-5, 5)) for _ in range(d)] for _ in range(n)]
