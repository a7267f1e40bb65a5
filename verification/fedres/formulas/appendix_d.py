"""Appendix D of the paper: the terms of Lemmas 7 to 9 and of (9), (10), as printed and as corrected. G2 = G^2.

drift: (1/N) sum_i (1/K) sum_k |w_i^[k] - w|^2; gradients are not among the terms.
"""
from fractions import Fraction as Q


def step_one(gamma, lam, sigma2, G2, K):
    """Lemma 7 with K^3 for K^2 and the noise along Step 1, beside -lambda K/4 |grad_theta L_i|^2."""
    return {"noise": gamma * lam**2 * sigma2 * K / 2, "drift_noise": gamma**2 * lam**3 * sigma2 * K**2 / 2,
            "drift": gamma**2 * lam**3 * G2 * K**3 / 3}


def lem8(gamma, alpha, eta, lam, sigma2, G2, N, K, drift):
    """Lemma 8 as printed, beside -alpha eta K/4 |grad_w F(w, theta)|^2 at the old theta."""
    return {"noise": gamma * alpha**2 * eta**2 * sigma2 * K / N, "local": gamma**2 * alpha * eta**3 * G2 * K**3,
            "personal": gamma**2 * eta * lam**2 * G2 * K**3 / N, "drift": gamma * drift}


def lem8_quiet(gamma, alpha, eta, lam, G2, K, drift, personal=1, scale=1):
    """Lemma 8 without noise as corrected: alpha in place of 1/N in the personal term, none of the local steps."""
    return {"personal": personal * gamma**2 * alpha * eta * lam**2 * G2 * K**3, "drift": scale * gamma * drift}


def lem8_noisy(gamma, alpha, eta, lam, sigma2, G2, N, K, drift, scale=1):
    """Lemma 8 in full expectation, with `scale` on every term: 1 as we prove it, 2 as first corrected."""
    personal = gamma**2 * alpha * eta * lam**2 * K**2
    return {"noise": scale * gamma * alpha**2 * eta**2 * sigma2 * K / N, "personal": scale * personal * K * G2,
            "personal_noise": scale * personal * sigma2, "drift": scale * gamma * drift}


def lem8_sharp(gamma, alpha, eta, sigma2, N, K, drift):
    """Lemma 8 with smaller constants, beside -alpha eta K/2 |grad_w F(w, theta')|^2 at the new theta."""
    return {"noise": Q(97, 192) * gamma * alpha**2 * eta**2 * sigma2 * K / N, "drift": gamma * drift / 96}


def lem9(gamma, eta, lam, sigma2, G2, N, K, gradient, noise=18, drift=192):
    """Lemma 9 with the constants of its proof. gradient: |grad_w F|^2 of the last round."""
    return {"noise": noise * eta**2 * sigma2 * K,
            "drift": drift * gamma**2 * eta**2 * (eta + lam) ** 2 * N**2 * G2 * K**4,
            "gradient": 6 * eta**2 * K**2 * gradient}


def crude_drift(eta, sigma2, G2, K):
    """E|w_i^[k] - w|^2 in every round, from bounded gradients alone."""
    return {"noise": 18 * eta**2 * sigma2 * K, "gradients": 18 * eta**2 * G2 * K**2}


def first_round(gamma, eta, G2, K):
    """What round 1 adds to (9) with c_i = 0: the drift of Lemma 8 where Lemma 9 says nothing, without noise."""
    return {"start": gamma * eta**2 * G2 * K**2}


def eq9(gamma, eta, lam, sigma2, G2, N, root, K, before, power=3):
    """(9) with K^3 for K^2 (power), beside its two gradients; root = sqrt N, before = |grad_w F|^2 of the last round."""
    return {"personal_noise": gamma * lam**2 * sigma2 * K / 2,
            "personal": gamma**2 * lam**3 * G2 * K**power / 2,
            "noise": 19 * gamma * eta**2 * sigma2 * K, "steps": root * gamma**2 * eta**3 * G2 * K**3,
            "drift": 192 * gamma**3 * eta**4 * N**2 * G2 * K**4, "before": 6 * gamma * eta**2 * K**2 * before}


def either(gamma, eta, sigma2, G2, root, K):
    """One round of either option, beside -eta sqrt(N) K/4 |grad F|^2."""
    return {"noise": 2 * gamma * eta**2 * sigma2 * K, "drift": 11 * root * gamma**2 * eta**3 * G2 * K**3}


def delta(gamma, eta, K, before):
    """delta^(r) of (10). before: |grad F|^2 of the last round."""
    return 6 * gamma * eta**2 * K**2 * before


def algorithm4(gradients, w, theta, variates, eta, lam, alpha, K, option):
    """(w, theta, c_i) after a round of Algorithm 4 without noise. gradients(w_i (n, d), theta_i (n, k)) -> both blocks."""
    c, local = variates.mean(0), 0 * variates + w
    for _ in range(K):
        theta = theta - lam * gradients(0 * variates + w, theta)[1]
    total = 0 * variates
    for _ in range(K):
        g = gradients(local, theta)[0]
        local, total = local - eta * (g - variates + c), total + g
    return w + alpha * (local - w).mean(0), theta, total / K if option == 2 else 0 * total


__all__ = ["algorithm4", "crude_drift", "delta", "either", "eq9", "first_round", "lem8", "lem8_noisy", "lem8_quiet", "lem8_sharp",
           "lem9", "step_one"]
