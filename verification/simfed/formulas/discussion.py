"""Section 5: decay factors, rounds ratios and iteration complexities; the constants of the experiments; weighted sines."""
from fractions import Fraction

from verification.simfed.formulas import theorems as th

MU, ROUNDS = Fraction(1, 10**4), 200   # penalty weight and rounds of Table 2


def factors(L, mu, alpha, beta):
    """(9) at t = 1: (ours, FedAvg, FedProx)."""
    return 1 - mu / ((beta + 2) * L), 1 - mu / (3 * L), 1 - mu / (3 * (alpha + L))


def decay3(L, mu, beta, t):
    """The power in Theorem 3, read off its first term."""
    return th.theorem3(L, mu, beta, mu / L, 0, 0, 0, 0, 1, t)["decay"]


# ---- what a round gains at mu/L = x: 1 minus the factor -----------------------------------------------------------------
def gain9(x, beta):
    """In (9)."""
    return x / (beta + 2)


def gain191(x, beta):
    """In (191), before mu <= L is used."""
    return x / (2 + beta * x)


def gain_exact(x, beta, E):
    """On identical quadratics of curvature mu, gamma = 1/(2 L E)."""
    return 1 - th.kappa_ours(beta, x, Fraction(1, 2 * E), E)


def gains(x, beta, E):
    """{name: gain}."""
    return {"(9)": gain9(x, beta), "(191)": gain191(x, beta), "exact": gain_exact(x, beta, E)}


def minus_log(y, terms=40):
    """Rational bounds of -ln(1 - y), 0 < y < 1, from its series and the geometric series beyond."""
    low = sum(y**k / k for k in range(1, terms + 1))
    return low, low + y ** (terms + 1) / ((terms + 1) * (1 - y))


# ---- iteration complexities as printed: {term: (power, T to this power)} -------------------------------------------------
def complexity_prox(L, alpha, gap, S, sigma2, G2, E, eps):
    """FedProx; the last one has G^(4/3) eps^(-2/3), so that its cube is rational."""
    La = L + alpha
    return {"start": (1, 64 * La**2 * gap**2 / (E * eps**2)), "noise": (1, L**2 * S**2 * sigma2**2 / (La**2 * E * eps**2)),
            "proximal": (1, alpha**2 * E**3 * G2**2 / (La**2 * eps**2)), "drift": (1, 2 * L**2 * E * G2 / (La**2 * eps)),
            "last": (3, alpha**4 * L**2 * E * G2**2 / (16**2 * La**6 * eps**2))}


def complexity_ours(L, beta, gap, S, sigma2, G2, E, eps):
    """The method."""
    return {"start": (1, 16 * L**2 * gap**2 / (E * eps**2)), "noise": (1, S**2 * sigma2**2 / (4 * E * eps**2)),
            "drift": (1, E * G2 / eps * th.drift_constant(beta))}


# ---- sum_i p_i sin(w - phi_i), with c_i = cos phi_i and s_i = sin phi_i --------------------------------------------------
def sine_least2(p, c, s):
    """The square of its minimum -|sum_i p_i e^(-i phi_i)|."""
    return sum(v * w for v, w in zip(p, c, strict=True)) ** 2 + sum(v * w for v, w in zip(p, s, strict=True)) ** 2
