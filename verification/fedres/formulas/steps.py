"""Appendices C and D, Lemmas 5 to 7 and (6): what one step of a round adds to F, as terms {name: value}; G2, sigma2: squares.

The descent, a multiple of a squared gradient, is a function of its own: it stands on the left, so that no term is negative.
"""


def step1_descent(lam, K, own2):
    """own2 = (1/N) sum_i |grad_theta L_i(w, theta_i)|^2."""
    return lam * K / 4 * own2


def lemma5(gamma, lam, K, G2, sigma2):
    """As printed, and Lemma 7."""
    return {"noise": gamma * lam**2 * sigma2 * K / 2, "gradients": gamma**2 * lam**3 * G2 * K**2 / 2}


def lemma5_k3(gamma, lam, K, G2, sigma2):
    """With the power that the proof's last display gives."""
    return {"noise": gamma * lam**2 * sigma2 * K / 2, "gradients": gamma**2 * lam**3 * G2 * K**3 / 2}


def lemma5_sharper(gamma, lam, K, G2, sigma2):
    """With half of that term, for convex losses."""
    return {"noise": gamma * lam**2 * sigma2 * K / 2, "gradients": gamma**2 * lam**3 * G2 * K**3 / 4}


def lemma5_corrected(gamma, lam, K, G2, sigma2):
    """The drift of K steps, noise included."""
    return {"noise": gamma * lam**2 * sigma2 * K / 2,
            "drift": gamma**2 * lam**3 * (G2 * K**3 / 3 + sigma2 * K**2 / 2)}


def step2_descent(eta, K, shared2):
    """Of (6): shared2 = |(1/N) sum_i grad_w L_i(w, theta_i')|^2."""
    return eta * K / 2 * shared2


def lemma6_descent(eta, K, shared2):
    """Of Lemma 6, half of that of (6)."""
    return eta * K / 4 * shared2


def eq6(gamma, eta, K, N, sigma2):
    return {"noise": gamma * eta**2 * sigma2 * K / (2 * N)}


def lemma6(gamma, eta, lam, K, N, G2, sigma2):
    return eq6(gamma, eta, K, N, sigma2) | {"gradients": gamma**2 * eta * lam**2 * G2 * K**3 / 2}
