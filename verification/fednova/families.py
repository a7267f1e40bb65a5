"""Families of admissible instances for counter-example searches; hypothesis draws, shrinks and stops."""
from fractions import Fraction

import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.instances import SOLVERS, descending, surrogate

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None


def _fraction(draw, low, high):
    return ft.fraction(draw(st.fractions(low, high, max_denominator=8)))


def _setting(draw, n):
    """Steps, solver with its parameter, and the share of the largest admissible step."""
    taus = tuple(draw(st.integers(1, 5)) for _ in range(n))
    solver = draw(st.sampled_from(sorted(SOLVERS)))
    ranges = {"proximal": (0, 1), "momentum": (0, Fraction(7, 8)), "decay": (Fraction(1, 2), 1)}
    value = _fraction(draw, *ranges[solver]) if solver in ranges else None
    return taus, solver, value, draw(st.sampled_from([Fraction(1, 8), Fraction(1, 4), Fraction(1, 2)]))


def weights(draw, n):
    parts = [draw(st.integers(1, 5)) for _ in range(n)]
    return [Fraction(v, sum(parts)) for v in parts]


def quadratics(draw):
    """Random quadratics (some with a concave client), any solver, with and without noise."""
    n, d = draw(st.integers(2, 3)), draw(st.integers(1, 2))
    numbers, H = st.integers(-3, 3), []
    for _ in range(n):
        diagonal = [draw(st.integers(-1, 4)) for _ in range(d)]
        off = draw(st.integers(-1, 1))
        H.append([diagonal] if d == 1 else [[diagonal[0], off], [off, diagonal[1]]])
    e = [[draw(numbers) for _ in range(d)] for _ in range(n)]
    problem = ft.Quadratic.from_linear(H, e, weights(draw, n))
    taus, solver, value, share = _setting(draw, n)
    rounds, sigma = draw(st.sampled_from([1, 2, 5, None])), draw(st.sampled_from([0, 1]))
    x0 = [draw(numbers) for _ in range(d)]
    L = ft.fraction(problem.constants.L)
    if L == 0:
        return None
    eta = share / (L * max(f.norm1(f.a_vector(solver, t, value)) for t in taus))
    return surrogate("random quadratic", problem, taus, eta, solver, value, sigma, rounds, x0,
                     says=f"H={H}, e={e}, tau={taus}, {solver} {value}, eta={eta}, sigma={sigma}, T={rounds}, x0={x0}")


def hubers(draw):
    """Sums of Huber losses on the line, run in exact rationals: gradients with kinks."""
    n = draw(st.integers(2, 3))
    U = [[[draw(st.sampled_from([1, 2, -1]))] for _ in range(draw(st.integers(1, 3)))] for _ in range(n)]
    offsets = [[draw(st.integers(-3, 3)) for _ in u] for u in U]
    delta = draw(st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2)]))
    problem = ft.HuberLoss(U, offsets, delta, 1, draw(st.sampled_from([0, Fraction(1, 4)])), weights(draw, n))
    taus, solver, value, share = _setting(draw, n)
    w = f.plain_averaging(_exact(problem), [f.norm1(f.a_vector(solver, t, value)) for t in taus])[1]
    # data gradients are bounded by G_i = sum delta |u|, so kappa^2 = sum w_i G_i^2 is admissible with every beta^2 >= 1
    kappa2 = sum(q * (delta * sum(abs(r[0]) for r in u)) ** 2 for q, u in zip(w, U, strict=True))
    rounds, x0 = draw(st.sampled_from([1, 3])), [draw(st.integers(-4, 4))]
    return descending(
        "random Huber", problem, ft.RATIONAL, kappa2, taus, share, solver, value, rounds, x0,
        says=f"U={U}, offsets={offsets}, delta={delta}, tau={taus}, {solver} {value}, T={rounds}, x0={x0}")


def logistics(draw):
    """Regularised logistic regression in the plane, in floats."""
    n = draw(st.integers(2, 3))
    A = [[[draw(st.integers(-2, 2)) for _ in range(2)] for _ in range(draw(st.integers(2, 4)))] for _ in range(n)]
    labels = [[draw(st.integers(0, 1)) for _ in a] for a in A]
    if not any(v for a in A for r in a for v in r):
        return None
    problem = ft.Logistic(A, labels, Fraction(1, 10), weights=weights(draw, n))
    taus, solver, value, share = _setting(draw, n)
    w = f.plain_averaging(_exact(problem), [f.norm1(f.a_vector(solver, t, value)) for t in taus])[1]
    kappa2 = sum(
        q * sum(ft.fraction(abs(r[0]) + abs(r[1])) for r in a) ** 2 / len(a) ** 2 for q, a in zip(w, A, strict=True))
    rounds, x0 = draw(st.sampled_from([1, 5, 20])), [draw(st.integers(-3, 3)), draw(st.integers(-3, 3))]
    return descending("random logistic", problem, ft.FLOAT, kappa2, taus, share, solver, value, rounds, x0,
                        says=f"A={A}, labels={labels}, tau={taus}, {solver} {value}, T={rounds}, x0={x0}")


def _exact(problem):
    return [ft.fraction(v) for v in problem.weights]
