"""Families of admissible instances of client sampling for counter-example searches."""
from fractions import Fraction

import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.instances.client_sampling import Enumerated, sampled

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

RANGES = {"proximal": (Fraction(0), Fraction(1)), "momentum": (Fraction(0), Fraction(7, 8)),
          "decay": (Fraction(1, 2), Fraction(1))}
SMALLER = ("vanilla", "momentum", "decay")  # solvers whose prefix coefficients are at most a_i


def _weights(draw, n):
    parts = [draw(st.integers(1, 5)) for _ in range(n)]
    return [Fraction(v, sum(parts)) for v in parts]


def _quadratic(draw):
    n, d = draw(st.integers(2, 3)), draw(st.integers(1, 2))
    H = []
    for _ in range(n):
        diagonal, off = [draw(st.integers(-1, 4)) for _ in range(d)], draw(st.integers(-1, 1))
        H.append([diagonal] if d == 1 else [[diagonal[0], off], [off, diagonal[1]]])
    e = [[draw(st.integers(-3, 3)) for _ in range(d)] for _ in range(n)]
    return ft.Quadratic.from_linear(H, e, _weights(draw, n)), None, f"H={H}, e={e}"


def _huber(draw):
    """(problem, kappa^2 admissible for every beta^2 >= 1, text): data gradients are at most delta sum |u|."""
    n = draw(st.integers(2, 3))
    U = [[[draw(st.sampled_from([1, 2, -1]))] for _ in range(draw(st.integers(1, 2)))] for _ in range(n)]
    offsets = [[draw(st.integers(-3, 3)) for _ in u] for u in U]
    delta, p = draw(st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2)])), _weights(draw, n)
    problem = ft.HuberLoss(U, offsets, delta, 1, draw(st.sampled_from([0, Fraction(1, 4)])), p)
    kappa2 = sum(w * (delta * sum(abs(r[0]) for r in u)) ** 2 for w, u in zip(p, U, strict=True))
    return problem, kappa2, f"U={U}, offsets={offsets}, delta={delta}"


def _setting(draw, n, names):
    """Steps, solver with its parameter, sample size."""
    taus, solver = tuple(draw(st.integers(1, 4)) for _ in range(n)), draw(st.sampled_from(sorted(names)))
    value = ft.fraction(draw(st.fractions(*RANGES[solver], max_denominator=8))) if solver in RANGES else None
    return taus, solver, value, draw(st.integers(1, 2))


def _step(draw, problem, taus, solver, value):
    """(eta, tau_eff) at a drawn share of what the step conditions allow."""
    L = ft.fraction(problem.constants.L)
    longest = max(f.norm1(f.a_vector(solver, t, value)) for t in taus)
    share = draw(st.sampled_from([Fraction(1, 12), Fraction(1, 30), Fraction(1, 100)]))
    tau_eff = draw(st.sampled_from([Fraction(1, 1000), Fraction(1), longest]))
    return (share / (L * longest), tau_eff) if L else (None, None)


def _build(draw, huber, names, rounds, free_step=False):
    problem, kappa2, text = (_huber if huber else _quadratic)(draw)
    taus, solver, value, q = _setting(draw, problem.n, names)
    eta, tau_eff = _step(draw, problem, taus, solver, value)
    if eta is None:
        return None
    eta = draw(st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(1)])) if free_step else eta
    T = draw(st.sampled_from(rounds))
    sigma = 0 if huber or free_step else draw(st.sampled_from([0, 1]))
    x0 = [draw(st.integers(-3, 3)) for _ in range(problem.d)]
    extra = {"beta2": draw(st.sampled_from([Fraction(1), Fraction(3), Fraction(20)]))}
    if huber:
        extra |= {"kappa2": kappa2, "units": False, "kind": Enumerated}
    return sampled("random " + ("Huber" if huber else "quadratic"), problem, taus, eta, q, tau_eff, solver, value,
                   sigma, T, x0,
                   says=f"{text}, tau={taus}, {solver} {value}, q={q}, eta={eta}, tau_eff={tau_eff}, sigma={sigma}, "
                        f"T={T}, x0={x0}", **extra)


def _family(huber, names, rounds, free_step=False):
    def build(draw):
        return _build(draw, huber, names, rounds, free_step)
    return build


EVERY = ("vanilla", *RANGES)
lem5_quadratics, lem5_hubers = (_family(huber, EVERY, [1], free_step=True) for huber in (False, True))
descent_quadratics, descent_hubers = (_family(huber, EVERY, [1]) for huber in (False, True))
cor3_quadratics, cor3_hubers = _family(False, SMALLER, [1, 3, None]), _family(True, SMALLER, [1, 2])
cor3_any_quadratics, cor3_any_hubers = _family(False, EVERY, [1, 3, None]), _family(True, EVERY, [1, 2])
