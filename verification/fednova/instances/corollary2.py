"""Instances for Corollary 2: the FedProx bound as a function of alpha, and its rate."""
from fractions import Fraction
from math import isqrt

import numpy as np

import fltheory as ft
from verification.fednova.instances.surrogate import Descending

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

def _relaxed():
    field = ft.Field("alpha step u v W s")
    return ft.Instance("m = u^2, taubar = v^2, T = W^6", domain=field,
                       s=dict(zip(field.names, field.symbols, strict=True)),
                       says="perfect powers, so that every exponent of (138)-(141) is rational")


relaxed = [_relaxed()]


# ---- Corollary 2: exact bounds as functions of alpha ------------------------------------------------------
def corollary2(name, u, tau, W, xi, x0, says):
    """Equal steps tau = v^2, m = u^2 unit quadratics with minimisers xi, T = W^6, eta = sqrt(m/(tau T)) and free alpha.
    """
    field = ft.Field("alpha")
    v = next(k for k in range(1, tau + 1) if k * k == tau)
    m, T, eta = u * u, W**6, Fraction(u, v * W**3)
    point, n = [ft.fraction(c) for c in x0], len(xi)
    centre = [sum(ft.fraction(c[k]) for c in xi) / n for k in range(len(x0))]
    one = [[1 if j == k else 0 for k in range(len(x0))] for j in range(len(x0))]
    problem = ft.Quadratic([one] * m, xi)
    kappa2 = ft.fraction(problem.dissimilarity([Fraction(1, m)] * m, 1))
    gap = sum((a - b) ** 2 for a, b in zip(point, centre, strict=True)) / 2
    return ft.Instance(name, problem, ft.FedAvg(eta, tau, ft.Proximal(alpha=field.symbols[0])), ft.Full(), domain=field,
                       L=ft.fraction(problem.constants.L), kappa2=kappa2, gap=gap, x0=x0, m=m, T=T, u=u,
                       v=v, W=W, alpha=field.symbols[0], s={"x": 0 * field.symbols[0]}, general=False,
                       says=says)


_plane = [[1, 0], [1, 0], [-1, 0], [-1, 0]]
at_zero = corollary2("m=4, tau=16, T=15^6", 2, 16, 15, _plane, [1, 1],
                     "L = kappa = gap = 1, no noise: T exceeds the threshold 8,856,576, so alpha = 0 is the minimiser")
nonzero = [corollary2("m=4, tau=16, T=8^6", 2, 16, 8, _plane, [1, 1],
                      "below the threshold a positive alpha is better"), at_zero]


def _threshold_symbols():
    """Equal steps; (1 - alpha)^tau = 1 - tau alpha + tau (tau - 1)/2 alpha^2 - r alpha^3 with r finite (binomial
    theorem)."""
    field = ft.Field("alpha tau r eta L kappa2 gap m v x z k")
    s = dict(zip(field.names, field.symbols, strict=True))
    return ft.Instance("any tau", None, ft.FedAvg(1, 1, ft.Proximal(alpha=s["v"])), ft.Full(), domain=field,
                       solver="proximal",
                       value=s["v"],
                       s=s, general=True, says="every L, kappa, gap, eta, m and integer tau >= 2; T = m/(tau eta^2)")


threshold = [_threshold_symbols(), *nonzero,
             corollary2("m=4, tau=4, T=10^6", 2, 4, 10, _plane, [1, 1], "above the threshold 112,896"),
             corollary2("m=4, tau=4, T=6^6", 2, 4, 6, _plane, [1, 1], "below the threshold 112,896")]

# ---- Corollary 2: the rate --------------------------------------------------------------------------------
def _root(number, bits=40):
    """A rational square root, from above, to 2^-bits."""
    number = Fraction(number)
    scaled = number.numerator * 4**bits * number.denominator
    low = isqrt(scaled)
    return Fraction(low + (low * low < scaled), 2**bits * number.denominator)


def _power(number, k):
    """Number^(1/k) as a rational: exact where the float is (perfect powers), else to 15 digits."""
    root = round(float(number) ** (1 / k))
    return Fraction(root) if root**k == number else Fraction(float(number) ** (1 / k))


def rate(name, problem, taus, T, L, kappa2, gap, sigma=0, x0=None, measured=False, kind=ft.Instance, domain=ft.RATIONAL,
         says=""):
    """FedProx with the prescribed eta and alpha, up to 1e-9 where they are irrational; uniform p, beta^2 = 1.

    measured: the coded rounds are run as well. Constants are declared: bounds of the problem's own."""
    m, total = len(taus), sum(taus)  # m taubar
    eta, alpha = _root(Fraction(m * m, total * T)), min(Fraction(m) / _power(total, 2) / _power(T, 6), Fraction(1))
    return kind(name, problem, ft.FedAvg(eta, tuple(taus), ft.Proximal(alpha=alpha)), ft.Full(), noise=sigma,
                domain=domain,
                x0=x0,
                alpha=alpha, value=alpha, solver="proximal", fednova=False, m=m, T=T, rounds=T,
                L=ft.fraction(L),
                kappa2=ft.fraction(kappa2), gap=ft.fraction(gap), root=_root(total * T), measured=measured, units=False,
                says=says)


def _pair(h, xi, x0):
    """Two clients h (x - xi_i)^2 / 2 on the line with their constants L, kappa^2 and initial gap."""
    h, xi, x0 = ft.fraction(h), [ft.fraction(v) for v in xi], ft.fraction(x0)
    mean = sum(xi) / len(xi)
    return {"problem": ft.Quadratic([[[h]]] * len(xi), [[v] for v in xi]), "L": h, "x0": [x0],
            "kappa2": h * h * sum((v - mean) ** 2 for v in xi) / len(xi), "gap": h * (x0 - mean) ** 2 / 2}


corollary2_rate = [
    rate("start only", taus=(4,) * 4, T=4096, **_pair(1, [0] * 4, 3), says="no noise, common minimiser"),
    rate("noise, small L", taus=(4,) * 4, T=4096, sigma=1, **_pair("1/100", [0] * 4, 0), says="started at the optimum"),
    rate("noise, large L", taus=(4,) * 4, T=4096, sigma=1, **_pair(4, [0] * 4, 0), says="the drift of noise matters"),
    rate("drift only", taus=(2, 6, 3, 5), T=4096, **_pair(1, [1, 1, -1, -1], 0),
         says="no noise, unequal comparable steps"),
    rate("steps (1, 2), run", taus=(1, 2), T=216, sigma=1, measured=True, **_pair("1/2", [1, -1], 2), domain=ft.FLOAT,
         says="also the coded rounds' exact moments, in floats"),
    rate("too few rounds", taus=(4,) * 4, T=512, **_pair(1, [1, 1, -1, -1], 1)),
    rate("one long client", taus=(1, 1, 1, 13), T=4096, **_pair("1/8", [1, 1, -1, -1], 1),
         says="steps are not comparable"),
]


def common_hessian(draw):
    """Clients h (x - xi_i)^2 / 2 with noise: every constant exact, the coded rounds' moments in floats."""
    taus, T = _steps(draw)
    h = draw(st.fractions(Fraction(1, 8), 2, max_denominator=8))
    setting = _pair(h, [draw(st.integers(-3, 3)) for _ in taus], draw(st.integers(-3, 3)))
    sigma = draw(st.integers(0, 2))
    return rate("random quadratic", taus=taus, T=T, sigma=sigma, measured=T <= 512, domain=ft.FLOAT, **setting,
                says=f"h={h}, tau={taus}, T={T}, sigma={sigma}, x0={setting['x0']}")


def logistic(draw):
    """Regularised logistic regression, run in floats."""
    taus, T = _steps(draw, longest=512)
    rows, number = draw(st.integers(1, 3)), st.fractions(-1, 1, max_denominator=4)
    A = [[[draw(number)] for _ in range(rows)] for _ in taus]
    if not any(v[0] for a in A for v in a):
        return None
    labels = [[draw(st.integers(0, 1)) for _ in a] for a in A]
    problem = ft.Logistic(A, labels, Fraction(1, 10))
    x0 = [draw(st.integers(-3, 3))]
    # data gradients are bounded by the mean |row|, so this kappa^2 is admissible with beta^2 = 1
    kappa2 = sum((sum(abs(v[0]) for v in a) / len(a)) ** 2 for a in A) / len(A)
    start = ft.fraction(float(problem.to(ft.FLOAT).value(ft.FLOAT.array(np.array(x0, dtype=object)))))
    gap = max(start - ft.fraction(float(ft.optimum(problem).value)), Fraction(0)) + Fraction(1, 10**6)
    return rate("random logistic", problem, taus, T, ft.fraction(problem.constants.L), kappa2, gap, x0=x0,
                measured=True,
                kind=Descending, domain=ft.FLOAT, says=f"A={A}, labels={labels}, tau={taus}, T={T}, x0={x0}")


def _steps(draw, longest=10**6):
    """Comparable steps and enough rounds."""
    taus = tuple(draw(st.integers(1, 3)) for _ in range(draw(st.integers(1, 3))))
    rounds = sum(taus) ** 3 * draw(st.sampled_from([1, 2, 8, 27]))
    return taus, rounds if rounds <= longest else sum(taus) ** 3

# in numbers what the others prove in symbols
ft.illustrate([*threshold])
ft.illustrate(threshold[1:], symbols=True)
