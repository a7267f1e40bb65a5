"""Theorem 2, its one-step form (36), the repaired bound, and closed forms of the counter-examples.

L: smoothness; K, N, M: local steps, mean step, mean squared step; log = ln(K + 1); S = K N; theta = Theta(Gamma); sl2,
sg2 = sigma_l^2, sigma_g^2; gap = F(x_1) - F(x_*), or F(x_1) - E F(x_{T+1}) where it says so.
"""


def floor(L, K, N, theta, log, eta_g, sl2, sg2):
    """The terms of (11) that do not fall with T."""
    return {"noise": eta_g / N * (log + 4 * K) / (72 * L * theta) * sl2,
            "heterogeneity": eta_g / N * (3 * log + 4 * K) / (18 * L * theta) * sg2}


def bound(L, K, N, theta, log, eta_g, T, gap, sl2, sg2):
    """(11)."""
    return {"start": 2 * gap / (eta_g * K * N * T)} | floor(L, K, N, theta, log, eta_g, sl2, sg2)


def one_step(L, K, N, theta, log, eta_g, slope2, sl2, sg2):
    """(36): what E F(x_{t+1}) - F(x_t) is said to be at most, slope2 = |grad F(x_t)|^2."""
    return (-K * N * eta_g / 2 * slope2 + L * eta_g**2 / 2 * (K * log + 4 * K**2) / (72 * L**2 * theta) * sl2
            + L * eta_g**2 / 2 * (3 * K * log + 4 * K**2) / (18 * L**2 * theta) * sg2)


# ---- repaired -------------------------------------------------------------------------------------------------------
def rho(L, K, N, log, c4):
    """c4 = c^4, where eta_k is at most c times its cap."""
    return c4 * log / (4 * K * L**2 * N**2)


def weight(L, K, N, log, c4):
    """w."""
    return 3 * N**2 * L**2 + c4 * log / (4 * K)


def room(L, K, N, log, c4, eta_g, Gamma2):
    """2 S L eta_g + 2 K^2 Gamma^2 w, which has to be at most 1."""
    return 2 * K * N * L * eta_g + 2 * K**2 * Gamma2 * weight(L, K, N, log, c4)


def repaired_floor(L, K, N, M, log, c4, eta_g, Gamma2, sl2, sg2):
    """The two floors of one arrival, before the division by 1 - rho."""
    r = rho(L, K, N, log, c4)
    return {"heterogeneity": (3 + r / 2) * sg2,
            "noise": (r / 24 + room(L, K, N, log, c4, eta_g, Gamma2) * M / (K * N**2)) * sl2}


def repaired(L, K, N, M, log, c4, eta_g, T, gap, Gamma2, sl2, sg2, spread=1):
    """gap = F(x_1) - E F(x_{T+1}); spread: mean over minimum of the server steps, eta_g their minimum."""
    r, found = rho(L, K, N, log, c4), repaired_floor(L, K, N, M, log, c4, eta_g, Gamma2, sl2, sg2)
    whole = {"start": 2 * gap / (eta_g * K * N * T), "heterogeneity": spread * found["heterogeneity"],
             "noise": found["noise"]}
    return {k: v / (1 - r) for k, v in whole.items()}


# ---- one client x^2/2 -----------------------------------------------------------------------------------------------
def moved(eta, a=1):
    """q: a round of local steps on a x^2/2 + const moves the model by the share q towards the minimiser."""
    left = 1
    for v in eta:
        left = left * (1 - a * v)
    return 1 - left


def descent(q, eta_g, T):
    """The average of x_t^2 over t = 1..T for x_{t+1} = (1 - eta_g q) x_t, x_1 = 1."""
    r2 = (1 - eta_g * q) ** 2
    return (1 - r2**T) / (1 - r2) / T


def ratio(q, S):
    """Left side over bound as T grows, at eta_g = 1/S."""
    return 1 / (1 - (1 - q / S) ** 2)


# ---- two clients that both pull -------------------------------------------------------------------------------------
def resting(pulls, weights):
    """The point where sum_i w_i Q_i (x - B_i) = 0, pulls = [(Q_i, B_i)]."""
    return sum(w * Q * B for w, (Q, B) in zip(weights, pulls, strict=True)) / sum(
        w * Q for w, (Q, _) in zip(weights, pulls, strict=True))


def spread(pulls, weights, g):
    """The stationary variance of x <- x - g Q_i (x - B_i), i drawn anew with chances w_i."""
    x = resting(pulls, weights)
    both = list(zip(weights, pulls, strict=True))
    left = sum(w * (1 - g * Q) ** 2 for w, (Q, _) in both)
    return g * g * sum(w * (Q * (x - B)) ** 2 for w, (Q, B) in both) / (1 - left)


def approach(s, T):
    """The average of x_t^2 over t = 1..T for x_{t+1} = x_t - s (x_t - 1), x_1 = 0: 1 - 2 mean r^t + mean r^2t."""
    r = 1 - s
    return 1 - 2 * (1 - r**T) / (s * T) + (1 - r ** (2 * T)) / ((1 - r * r) * T)


RADIUS = 5   # times g kappa, see `box`


def box(pulls, g):
    """(x, r): clients that alternate from the point x where both pull equally, each from the model it was sent after
    its own last update, keep all models within r of x, if g (Q_1 + Q_2) <= 1/3; pulls = [(Q_1, B_1), (Q_2, B_2)], B_1
    above x."""
    x = resting(pulls, [1, 1])
    return x, RADIUS * g * pulls[0][0] * (pulls[0][1] - x)


def alternating_gamma(pulls, g):
    """A bound on gamma there: the other client's update over the own one, times g."""
    x, r = box(pulls, g)
    both = [abs(Q * (x - B)) for Q, B in pulls]
    most = r * max(Q for Q, _ in pulls)
    return g * (max(both) + most) / (min(both) - most)


# ---- one client with a kink, and noise ------------------------------------------------------------------------------
def noise_push(L, a, e1, e2, s):
    """How far two local steps e1, e2 from the minimiser 0 of F' = L max(x, a x) move the mean, if the noise of the first
    one is +-s."""
    return L * e1 * e2 * (1 - a) * s / 2


def noise_drift(eta, L, a, s):
    """(push, pull): from x a round moves the mean by at most -(push - pull |x|)."""
    return noise_push(L, a, eta[0], eta[1], s) * (1 - moved(eta[2:], a * L)), moved(eta, L)


def noise_floor(eta, L, a, s):
    """What the average of E|F'(x_t)| does not fall below as T grows."""
    push, pull = noise_drift(eta, L, a, s)
    return a * L * push / pull


def kinked_mean(eta, a, s, x):
    """E[x - y_2] of two local steps from x on F' = max(x, a x), the noise of the first one +-s."""
    def slope(y):
        return max(y, a * y)
    after = x - eta[0] * slope(x)
    return eta[0] * slope(x) + eta[1] * (slope(after - eta[0] * s) + slope(after + eta[0] * s)) / 2
