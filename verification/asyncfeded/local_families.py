"""Instances of one arrival that a search draws, to the ends of Theorem 1, and what its proofs say on coded rounds."""
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded import noise_paths as paths
from verification.asyncfeded.instances import at_cap

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

SMOOTHNESS = ft.Variable("smoothness constant L", lambda i: i.L)
SKEWNESS = ft.Variable("skewness of the noise", lambda i: _skewness(i.noise_law))
ENDS = {"clients": (1, 300), "local steps": (1, 300), SMOOTHNESS: (Q(1, 100), 100), "step over its cap": (Q(1, 100), 1),
        SKEWNESS: (0, Q(99, 10))}


def _skewness(law):
    """The largest |third moment| over sigma^3, of the two laws where the noise depends on the state; 0 for signs and no noise."""
    out = []
    for part in paths._parts(law):
        v = paths.variance(part)
        third = abs(sum(p * paths._vector(x, 1)[0] ** 3 for p, x in part.outcomes))
        out.append(0 if v == 0 else float(third) / float(v) ** 1.5)
    return max(out)


def clients(slopes, knots, b, L=1, calm=None):
    """Clients on the line with the slopes times L, and gradients b at 0."""
    L = Q(L)
    scaled = [[L * Q(s) for s in row] for row in slopes]
    return ft.PiecewiseQuadratic(scaled, knots, [-L * Q(v) for v in b], calm=calm)


def concave(b=(0,), L=1, n=None):
    """f_i = -L x^2/2 + L b_i x."""
    b = b * n if n else b
    return clients([[-1, -1]] * len(b), [[0]] * len(b), b, L)


def noises(draw, sigma):
    """None, signs, skewed ones, or skewed by the state."""
    kind = draw(st.sampled_from(["none", "signs", "skewed", "by state"]))
    if kind == "none":
        return paths.CALM
    r = 1 if kind == "signs" else draw(st.sampled_from([Q(2), Q(1, 3), Q(10)]))
    law = paths.skewed(sigma, r)
    return law if kind != "by state" else paths.ByState(law, paths.skewed(sigma, draw(st.sampled_from([1, Q(1, 2)]))))


def drawn(draw, n=None, K=None, L=None, share=None, law=None, name="drawn", extra=None):
    """Clients with common slopes far out, so that Assumption 3 holds, and two kinks each; steps within (T1)."""
    n, K = n or draw(st.integers(1, 3)), K or draw(st.integers(1, 6))
    L, share = L or draw(st.sampled_from([Q(1), Q(1, 100), Q(100)])), share or draw(st.sampled_from([1, 1, Q(1, 2), Q(1, 100)]))
    outer = draw(st.sampled_from([-1, -1, 0, Q(1, 2), 1])), draw(st.sampled_from([-1, -1, 0, Q(1, 2), 1]))
    slopes, knots, b = [], [], []
    for _ in range(min(n, 3)):
        at = Q(draw(st.integers(-4, 4)), 4)
        slopes.append([outer[0], draw(st.sampled_from([Q(-1), Q(1), Q(-1, 2)])), outer[1]])
        knots.append([at, at + draw(st.sampled_from([Q(1, 8), Q(1), Q(3)]))])
        b.append(Q(draw(st.integers(-4, 4)), 2))
    each = range(n)
    slopes, knots, b = ([v[j % len(v)] for j in each] for v in (slopes, knots, b))
    calm = [draw(st.integers(-1, 1))] * n if draw(st.integers(0, 3)) == 0 else None
    problem = clients(slopes, knots, b, L, calm)
    sigma = L * draw(st.sampled_from([Q(1), Q(1, 4), Q(30)]))
    law = noises(draw, sigma) if law is None else law
    loud = None if K <= 6 else sorted({0, K // 2, K - 1})
    eta = at_cap(K, L, share, 12 if K <= 12 else 4)
    base = Q(draw(st.integers(-6, 6)), 4)
    return paths.local(name, problem, eta, base, law, sigma=sigma if law is not paths.CALM else 0, who=draw(st.integers(0, n - 1)),
                       loud=loud, L=L, **(extra or {}))


CORNERS = ({"n": 300, "K": 1}, {"n": 1, "K": 300, "L": Q(1, 100), "share": Q(1)}, {"n": 2, "K": 6, "L": Q(100), "share": Q(1)},
           {"K": 2, "share": Q(1, 100)})


def linear(problem, who):
    """(H, b) of a client whose gradient is H y - b everywhere, as lists; None otherwise."""
    if isinstance(problem, ft.Quadratic):
        return [[ft.fraction(v) for v in row] for row in problem.H[who]], [ft.fraction(v) for v in problem.b[who]]
    slopes = {ft.fraction(v) for v in problem.slopes[who]} if hasattr(problem, "slopes") else ()
    return ([[slopes.pop()]], [ft.fraction(problem.b[who])]) if len(slopes) == 1 and problem.calm is None else None


def covariance(i):
    """Of the noise of one step, as lists."""
    d = range(i.d)
    return [[sum((p * u[a] * u[b] for p, v in i.noise_law.outcomes for u in [paths._vector(v, i.d)]), Q(0)) for b in d] for a in d]


def places(K):
    """Local steps k = 1..K at which a claim looks: all of few, else some of them and both ends."""
    return list(range(1, K + 1)) if K <= 12 else sorted({1, 2, 3, 4, 8, 12, K // 2, K - 1, K})


def steps_of(i):
    """What the symbols of the proofs are at some steps of the coded round: numbers, and vectors at the last outcome."""
    run, drift = paths.path(i), paths.path(i).drift
    fixed = {"L": i.L, "F2": i.slope2, "sg2": i.sigma_g2, "sigma2": i.sigma2, "K": i.K, "DK": drift[-1]}
    for k in sorted({1, 2, i.K} & set(range(1, i.K + 1))):
        y, g, n = (run.y[k - 1] - run.y[0], run.exact[k - 1], run.noise[k - 1])
        after = run.y[k] - run.y[0]
        at = {"m": k, "k": k - 1, "eta": i.eta[k - 1], "D": drift[k - 1], "Dn": drift[k], "En": run.square(n), "Eyn": run.dot(y, n),
              "Egn": run.dot(g, n), "d2": (after[-1] ** 2).sum()}
        vectors = {"y": y[-1], "g": g[-1], "a": i.own, "h": i.slope, "n": n[-1]}
        if i.domain.exact:
            yield fixed | at, vectors
        else:   # balls at their midpoints
            yield ({name: float(v) for name, v in (fixed | at).items()}, {name: list(map(float, v)) for name, v in vectors.items()})


def one_step_of(i):
    """The same with a few values of the auxiliary number q of (22)."""
    for numbers, points in steps_of(i):
        for q in (2 * numbers["m"], Q(1, 3), Q(7)):
            yield numbers | {"q": q}, points
