"""Eq 8 and Theorem 1 in the paper's symbols, as terms by name; what we derive from them with the gradient bound left out.

gamma, G2 = G^2, sigma2: Assumptions 1 to 3; N clients, K local steps, R rounds, lambda = eta/N; gap: Delta at the start, D the
distance from the optimum, beta the joint curvature. Numbers may be symbols; roots are asked for where they are needed.
"""
from fractions import Fraction as Q

DECREASE, NOISE = Q(1, 5), Q(3, 2)   # eq 8 without G: constants of our proof for eta <= 1/(2 gamma K)


def squared_gradient(shared, own, N):
    """|grad F|^2 = |(1/N) sum grad_w L_i|^2 + (1/N^2) sum |grad_theta L_i|^2; shared: the first, own: sum |grad_theta L_i|^2."""
    return shared + own / N**2


# ---- one round -----------------------------------------------------------------------------------------------
def eq8_noise(gamma, eta, sigma2, N, K):
    return gamma * eta**2 * sigma2 * K / N


def eq8_drift(gamma, eta, G2, N, K):
    return gamma**2 * eta**3 * G2 * K**3 / N**2


def eq8_gain(eta, K):
    """Factor of -E|grad F|^2."""
    return eta * K / 4


def quadratic_noise(gamma, eta, sigma2, N, K, depends=False):
    """The noise of one round on quadratics. depends: the noise may depend on the state, so that both blocks can be at their
    worst."""
    half = gamma * eta**2 * sigma2 * K / (2 * N)
    return half + half / N if depends else half


def free_gain(eta, K):
    return DECREASE * eta * K


def free_noise(gamma, eta, sigma2, N, K):
    return NOISE * eq8_noise(gamma, eta, sigma2, N, K)


# ---- R rounds ------------------------------------------------------------------------------------------------
def stationarity(gamma, eta, sigma2, G2, gap, N, K, R):
    """The bound on the average of E|grad F|^2, proof of Theorem 1."""
    return {"start": 4 * gap / (eta * K * R), "noise": 4 * gamma * eta * sigma2 / N,
            "drift": 4 * gamma**2 * eta**2 * G2 * K**2 / N**2}


def free_stationarity(gamma, eta, sigma2, gap, N, K, R):
    return {"start": gap / (DECREASE * eta * K * R), "noise": NOISE / DECREASE * gamma * eta * sigma2 / N}


def convex_slope(eta, D, K, gain=Q(1, 4)):
    """c of Lemma 3: Delta falls by c Delta^2 in a round."""
    return gain * eta * K / D**2


def free_convex(eta, D, K, R, root):
    """Delta after R rounds. root: sqrt(gamma eta sigma^2 / N) times D, times sqrt(15/2)."""
    return {"start": D**2 / (DECREASE * eta * K * R), "noise": root}


def free_convex_noise2(gamma, eta, sigma2, D, N):
    """The square of `root` above: d/c of Lemma 3."""
    return NOISE / DECREASE * D**2 * gamma * eta * sigma2 / N


def tuned(a, b):
    """min over eta of a/eta + b sqrt(eta) as (m^3, factor of m)."""
    return a * b**2 / 4, 3


def free_tuned(gamma, sigma2, D, N, K, R):
    """(m^3, D^2 gamma/R): Delta <= 3 m + 10 D^2 gamma/R after the step is tuned."""
    cube = tuned(D**2 / (DECREASE * K * R), 1)[0] * free_convex_noise2(gamma, 1, sigma2, D, N)
    return cube, D**2 * gamma / R


def contraction(eta, beta, K, gain=Q(1, 4)):
    """1 - eta beta K/2 for the gain of eq 8: by |grad F|^2 >= 2 beta Delta."""
    return 1 - 2 * gain * eta * beta * K


def sc_floor(gamma, eta, sigma2, G2, beta, N, K):
    """The floor of the linear recursion, proof of Theorem 1."""
    return {"noise": 2 * gamma * eta * sigma2 / (beta * N), "drift": 2 * gamma**2 * eta**2 * G2 * K**2 / (beta * N**2)}


def quadratic_floor(gamma, eta, sigma2, beta, N):
    return gamma * eta * sigma2 / (beta * N)


def free_floor(gamma, eta, sigma2, beta, N):
    return NOISE / (2 * DECREASE) * gamma * eta * sigma2 / (beta * N)


# ---- Theorem 1 as printed ---------------------------------------------------------------------------------------
def leading3(gamma, sigma2, D, N, K, R):
    """The cube of the leading convex term."""
    return D**4 * gamma * sigma2 / (N * K * R)


def middle2(gamma, G, D, N, R, power):
    """The square of the middle convex term; power of D: 2 as printed, 3 from the proof's own expression."""
    return D**power * gamma * G / (N * R)


def strongly_convex(gamma, beta, sigma2, N, K, R):
    return gamma * sigma2 / (beta**2 * N * K * R)


def of_gradient(G2, beta):
    """F - F* by the gradient alone."""
    return G2 / (2 * beta)


def sc_step(beta, K, R, log_R):
    """The step that the logarithm of the rate asks for: (1 - eta beta K/2)^R <= R^-2."""
    return 4 * log_R / (beta * K * R)


def alike_error(problem, variance, n, K, rounds, eta, lam):
    """E F - F* of FedResSGD after `rounds` rounds from all coordinates at 1, optimum 0; n clients with the same one-dimensional
    blocks (a, b, c), independent noise of this variance on every coordinate of a mini-batch.

    By symmetry (w, the mean of theta) and the deviations from that mean are enough: two numbers and one, whatever n is."""
    a, b, c = problem
    kept = (1 - lam * c) ** K
    own = lam**2 * variance * (1 - kept**2) / (1 - (1 - lam * c) ** 2)     # variance of theta_i' given theta_i
    moved = -(1 - kept) * b / c                                            # theta' = kept theta + moved w + noise
    h = eta * K
    rows = ((1 - h * a - h * b * moved, -h * b * kept), (moved, kept))
    through = (-h * b, 1)                                                  # how the noise of the mean of theta' enters
    ww, wt, tt, apart = 1, 1, 1, 0 * own
    for _ in range(rounds):
        (p, q), (r, s) = rows
        ww, wt, tt = (p * p * ww + 2 * p * q * wt + q * q * tt + through[0] ** 2 * own / n + h * h * variance / (K * n),
                      p * r * ww + (p * s + q * r) * wt + q * s * tt + through[0] * own / n,
                      r * r * ww + 2 * r * s * wt + s * s * tt + own / n)
        apart = kept**2 * apart + own
    return a * ww / 2 + b * wt + c * (tt + (1 - 1 / n) * apart) / 2
