"""Theorems 2 and 3: bounds after R rounds, as printed and with constants. G2 = G^2, root = sqrt N, u = eta sqrt(N) K."""


def stationarity(gamma, eta, sigma2, G2, root, K, R, gap):
    """(1/R) sum_r E|grad F(x^r)|^2, for every eta up to the cap."""
    return {"start": 4 * gap / (eta * root * K * R), "noise": 8 * gamma * eta * sigma2 / root,
            "drift": 44 * gamma**2 * eta**2 * G2 * K**2}


def stationarity_roots(gamma, sigma2, G2, N, K, R, gap):
    """{term: (radicand, degree)} of the tuned bound; its terms are twice these roots and 384 gamma gap/R."""
    return {"noise": (32 * gamma * sigma2 * gap / (N * K * R), 2), "drift": (704 * (gap * gamma) ** 2 * G2 / (N * R**2), 3)}


def convex_roots(gamma, sigma2, G2, N, K, R, D2):
    """The same of the convex bound, D2 = D^2; its terms are twice these roots and 384 gamma D^2/R."""
    return {"noise": (32 * D2**2 * gamma * sigma2 / (N * K * R), 3), "drift": (704 * D2**3 * gamma**2 * G2 / (N * R**2), 4)}


def third_root(gamma, G2, R, D2):
    """The radicand of the printed third term (D^8 G^2 gamma^3/R^3)^(1/5)."""
    return D2**4 * G2 * gamma**3 / R**3


def tuned(gamma, R, size, noise, drift):
    """A tuned bound from its two roots. size: the gap, or D^2."""
    return {"noise": 2 * noise, "drift": 2 * drift, "cap": 384 * gamma * size / R}


def tuned_printed(noise, drift, third):
    """The convex bound with the printed third term (its root) in place of gamma D^2/R, which is at most that term or idle."""
    return {"noise": 2 * noise, "drift": 2 * drift, "third": 384 * third}


def recursion(gamma, eta, root, N, G2, sigma2, K):
    """The noise and G terms of (10), with constant 1: those of the strongly convex recursion too."""
    return {"noise": gamma * eta**2 * sigma2 * K, "drift": root * gamma**2 * eta**3 * G2 * K**3,
            "last": gamma**3 * eta**4 * N**2 * G2 * K**4}


def contraction(beta, eta, root, K):
    """What the strongly convex recursion takes off the gap in a round."""
    return beta * eta * root * K / 4


def floor_last(gamma, beta, eta, root, G2, K, power):
    """The floor's last term, (gamma^power eta^3 N^(3/2) G^2 K^3)/beta, printed with power 2."""
    return gamma**power * eta**3 * root**3 * G2 * K**3 / beta


def tuned_last(gamma, beta, G2, R, power):
    """The last term after tuning, gamma^power G^2/(beta^4 R^3) up to logarithms, printed with power 2."""
    return gamma**power * G2 / (beta**4 * R**3)


def quad_rate(beta, eta, root, K):
    """The squared contraction factor per round that the theorem claims."""
    return 1 - beta * eta * root * K / 4


def quad_floor(gamma, eta, sigma2, beta, root):
    """The stationary floor without a constant."""
    return gamma * eta * sigma2 / (beta * root)


def leading(gamma, beta, sigma2, N, K, R, gap, D2):
    """{statement: (radicand, degree)} of what Theorem 2 prints."""
    return {"convex": (D2**2 * gamma * sigma2 / (N * K * R), 3),
            "strongly convex": (gamma * sigma2 / (beta**2 * N * K * R), 1)}


def leading_restated(gamma, beta, sigma2, N, K, R, gap, D2):
    """The same of Theorem 3, which prints the stationarity bound too."""
    return {"stationarity": (gamma * sigma2 * gap / (N * K * R), 2), "convex": (D2**2 * gamma * sigma2 / (N * K * R), 3),
            "strongly convex": (gamma / beta * sigma2 / (beta * N * K * R), 1)}


def lower_orders(gamma, beta, sigma2, G2, N, K, R, gap, D2):
    """{statement: ((radicand, degree) of the dominant term, those of the others)}, from the appendix, without constants."""
    main = leading_restated(gamma, beta, sigma2, N, K, R, gap, D2)
    return {"stationarity": (main["stationarity"], [(gap**2 * gamma**2 * G2 / (N * R**2), 3), (gap**3 * gamma**3 * G2 / R**3, 4),
                                                    (gamma * gap / R, 1)]),
            "convex": (main["convex"], [(D2**3 * gamma**2 * G2 / (N * R**2), 4), (D2**4 * G2 * gamma**3 / R**3, 5), (gap / R, 1)]),
            "strongly convex": (main["strongly convex"], [(gap / R**2, 1), (gamma**2 * G2 / (beta**3 * N * R**2), 1),
                                                          (gamma**3 * G2 / (beta**4 * R**3), 1)])}


__all__ = ["contraction", "convex_roots", "floor_last", "leading", "leading_restated", "lower_orders", "quad_floor",
           "quad_rate", "recursion", "stationarity",
           "stationarity_roots", "third_root", "tuned", "tuned_last", "tuned_printed"]
