"""Figure 1's system in closed form: L_1 = (w + theta_1)^2/10 + 10 w, L_2 = theta_2^2/10 - 10 w, N = 2 (eqs 11, 12).

u = w + theta_1 and theta_2 alone enter F = (u^2 + theta_2^2)/20. K: local steps; eta, lam, alpha: step sizes. A power with exponent
K may be handed in, which makes K any integer: `power` of the factor that the docstring names, q = (1 - lam/5)^K.
"""


def loss(u, theta_2=0):
    """F at the sum u = w + theta_1."""
    return (u * u + theta_2 * theta_2) / 20


def shrink(lam, K):
    """q = (1 - lam/5)^K: what K personal steps leave of theta_2, and of u with w frozen."""
    return (1 - lam / 5) ** K


# ---- FedResNaive ------------------------------------------------------------------------------------------
def local_factor(eta, lam, order):
    """Factor of u by one local step of client 1: sim 1 - (eta + lam)/5, seq (1 - lam/5)(1 - eta/5)."""
    return 1 - (eta + lam) / 5 if order == "sim" else (1 - lam / 5) * (1 - eta / 5)


def naive_path(k, eta, lam, order, u, power):
    """(change of w_1, of theta_1, of w_2) after k local steps from u; power: local_factor^k."""
    b = local_factor(eta, lam, order)
    centre = -10 * eta * (1 if order == "sim" else 1 - lam / 5) / (1 - b)
    total = k * centre + (u - centre) * (1 - power) / (1 - b)    # sum of the k values of u
    seen = total if order == "sim" else (1 - eta / 5) * total - 10 * eta * k    # what theta_1 sees of them
    return -eta * (total / 5 + 10 * k), -lam * seen / 5, 10 * eta * k


def lag(k, b, power):
    """(S, D, E): S = sum_{j<k} b^j, D = S - k b^k and E = k - S; power: b^k."""
    total = (1 - power) / (1 - b)
    return total, total - k * power, k - total


def naive_factor(K, eta, lam, order, power=None):
    """Factor of u - u* by one round; power: local_factor^K."""
    b = local_factor(eta, lam, order)
    power = b**K if power is None else power
    pull = eta + 2 * lam if order == "sim" else eta + 2 * lam * (1 - eta / 5)
    return 1 - pull / 10 * (1 - power) / (1 - b)


def naive_sim(K, eta, lam, power=None):
    """u* of simultaneous steps, a = 1 - (eta + lam)/5; power: a^K."""
    a = local_factor(eta, lam, "sim")
    power = a**K if power is None else power
    return 50 * eta / (eta + lam) * (K * (1 - a) / (1 - power) - 1)


def naive_seq(K, eta, lam, power=None):
    """u* of sequential steps, b = (1 - lam/5)(1 - eta/5); power: b^K."""
    b = local_factor(eta, lam, "seq")
    power = b**K if power is None else power
    centre, mean = seq_levels(eta, lam)
    return centre + K * (1 - b) / (1 - power) * (mean - centre)


def seq_levels(eta, lam):
    """Where client 1 alone would take u, and the mean of its K local values of u at the fixed point: sequential steps."""
    centre = -10 * eta * (1 - lam / 5) / (1 - local_factor(eta, lam, "seq"))
    return centre, 20 * lam * eta / (eta + 2 * lam * (1 - eta / 5))


def naive_seq_drift(K, eta, lam):
    """What w moves per round once u rests: sequential steps."""
    return -2 * eta * eta * lam * K / (eta + 2 * lam * (1 - eta / 5))


# ---- FedResSGD, FedResAvg ---------------------------------------------------------------------------------
def gamma2(k):
    """gamma^2 where the curvature 1/5 of both clients is k: the block column (k, k)' of client 1."""
    return 2 * k * k


def sgd_factor(K, eta, lam, q=None):
    """Factor of u by one round of FedResSGD."""
    q = shrink(lam, K) if q is None else q
    return q * (1 - eta * K / 10)


def work(K, eta, power=None):
    """m = sum_{k<K} (1 - eta/5)^k; power: (1 - eta/5)^K."""
    power = (1 - eta / 5) ** K if power is None else power
    return 5 * (1 - power) / eta


def shared_path(k, eta, u, offset, power):
    """(change of w_1, of w_2) after k local steps of Step 2 from u, w_i <- w_i - eta (g - c_i + c); offset = c - c_1 = c_2 - c."""
    return -eta * work(k, eta, power) * (u / 5 + 10 + offset), eta * k * (10 + offset)


def option1_factor(K, eta, lam, alpha=1, power=None, q=None):
    """Factor of u - u* by one round of Option I; power as in `work`."""
    q = shrink(lam, K) if q is None else q
    return q * (1 - alpha * eta * work(K, eta, power) / 10)


def option1(K, eta, lam, alpha=1, power=None, q=None):
    """u* of Option I."""
    return 5 * alpha * eta * (K - work(K, eta, power)) / (1 - option1_factor(K, eta, lam, alpha, power, q))


def option1_drift(K, eta, lam, alpha=1, power=None, q=None):
    """What w moves per round, and theta_1 backwards, once u rests: Option I."""
    q = shrink(lam, K) if q is None else q
    return (1 - q) * option1(K, eta, lam, alpha, power, q)


def option2_block(K, eta, lam, alpha=1, power=None, q=None):
    """Map of (u, f), f = 10 - (c_1 - c_2)/2, by one round of Option II after the first."""
    q = shrink(lam, K) if q is None else q
    m = work(K, eta, power)
    return [[q * (1 - alpha * eta * m / 10), alpha * eta * (K - m) / 2], [-q * m / (10 * K), (K - m) / (2 * K)]]
