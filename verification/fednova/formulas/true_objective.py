"""Section 4.2 and Appendix D: the true objective (Lemma 3, Theorem 2, Lemma 4), by equation number.

`surrogate_square` stands for |grad F~(x)|^2, `gap` for a vector grad F - grad F~; the rest as in the package.
"""

def lem3(chi2, beta2, kappa2, surrogate_square):
    """Lemma 3: chi^2 [(beta^2 - 1) |grad F~|^2 + kappa^2] as named terms."""
    return {"spread": chi2 * (beta2 - 1) * surrogate_square, "mismatch": chi2 * kappa2}


def lagrange(p, w, gradients):
    """chi^2 sum w_i |g_i - g_w|^2 - |g_p - g_w|^2 as a sum of squares over pairs: [(square, 1/(w_i w_j))].

    gradients: one scalar per client (coordinates add up). Derived; this is the Cauchy-Schwarz step of Appendix D.
    """
    mean = sum(q * g for q, g in zip(w, gradients, strict=True))
    u = [a - b for a, b in zip(p, w, strict=True)]
    v = [g - mean for g in gradients]
    pairs = [(i, j) for i in range(len(w)) for j in range(i + 1, len(w))]
    return [(u[i] * w[j] * v[j] - u[j] * w[i] * v[i], 1 / (w[i] * w[j])) for i, j in pairs]


def eq110(chi2, beta2, kappa2, surrogate_square):
    """Eqs 109-110: 2 [chi^2 (beta^2 - 1) + 1] |grad F~|^2 + 2 chi^2 kappa^2 as named terms."""
    return {"optimisation": 2 * (chi2 * (beta2 - 1) + 1) * surrogate_square, "mismatch": 2 * chi2 * kappa2}


def thm2(chi2, beta2, kappa2, error):
    """Eq 10: 2 [chi^2 (beta^2 - 1) + 1] eps + 2 chi^2 kappa^2; error: the named terms of eps (eqs 96-97)."""
    factor = 2 * (chi2 * (beta2 - 1) + 1)
    return {k: factor * v for k, v in error.items()} | {"mismatch": 2 * chi2 * kappa2}


def thm2_sharper(chi2, beta2, kappa2, eps, c):
    """Derived: (1 + c) chi^2 [(beta^2 - 1) eps + kappa^2] + (1 + 1/c) eps for any c > 0."""
    return {"mismatch": (1 + c) * chi2 * kappa2, "spread": (1 + c) * chi2 * (beta2 - 1) * eps,
            "optimisation": (1 + 1 / c) * eps}


def lem4_limit(t1, t2, a):
    """Lemma 4: lim |grad F|^2 = ((tau_1 - tau_2)/(tau_1 + tau_2))^2 a^2."""
    return ((t1 - t2) / (t1 + t2)) ** 2 * a**2


def lem4_weights(t1, t2):
    """Surrogate weights of Appendix D.1: tau_i / (tau_1 + tau_2)."""
    return [t1 / (t1 + t2), t2 / (t1 + t2)]


def lem4_constants(t1, t2, a, printed):
    """(kappa^2, chi^2) of Appendix D.1. Printed: 2 w_1 w_2 a^2 and (tau_1 - tau_2)^2/(2 tau_1 tau_2); true: 4 and 4."""
    w1, w2 = lem4_weights(t1, t2)
    return (2 if printed else 4) * w1 * w2 * a**2, (t1 - t2) ** 2 / ((2 if printed else 4) * t1 * t2)
