"""Closed forms of one round on quadratics, and what follows where all clients have one curvature h.

z is a power that k local steps leave: (1 - gamma beta h)^k for the method, (1 - gamma (h + alpha))^k for FedProx.
q_i = (1 - z_i)/beta = gamma h_i sum_{j<E} (1 - gamma beta h_i)^j for a client of its own curvature h_i.
"""


def client(z, beta, x, u, c):
    """A client's model after its local steps from the server's x, with its neighbours' mean u and its own minimiser c."""
    return z * x + (1 - z) * (c - (1 - beta) * u) / beta


def client_prox(z, h, alpha, x, c):
    """The same for FedProx."""
    return (alpha * x + h * c + z * h * (x - c)) / (h + alpha)


def mean_ours(z, beta):
    """Factor of wbar - w* in one round, identical curvatures."""
    return 1 - (1 - z) / beta


def mean_prox(z, h, alpha):
    return (alpha + h * z) / (h + alpha)


def phi(gamma, s, E):
    """(1 - (1 - gamma s)^E)/s, as a sum that has no pole at s = 0."""
    return gamma * sum((1 - gamma * s) ** j for j in range(E))


def gradient_step(h, gamma, E):
    """What a round tends to as beta goes to 0: one gradient step of size gamma E."""
    return 1 - gamma * E * h


def reach(h, gamma, beta, E):
    """q_i of a client."""
    return h * phi(gamma, beta * h, E)


def two_clients(q, c, beta):
    """Fixed point of wbar, two clients that listen to each other, p = (1/2, 1/2)."""
    pull = [q[i] * (1 - (1 - beta) * q[1 - i]) for i in (0, 1)]
    return (pull[0] * c[0] + pull[1] * c[1]) / (pull[0] + pull[1])


def two_clients_apart(q, c, beta):
    """(w_1, w_2) there."""
    half = q[0] * q[1] * (c[1] - c[0]) / (q[0] + q[1] - 2 * (1 - beta) * q[0] * q[1])
    middle = two_clients(q, c, beta)
    return middle - half, middle + half


def two_clients_bias(q, c, beta):
    """The same less the mean of c with weights q: what is left of the bias where these weights are right, as at E = 1."""
    total = q[0] + q[1]
    return (1 - beta) * q[0] * q[1] * (q[1] - q[0]) * (c[1] - c[0]) / (total * (total - 2 * (1 - beta) * q[0] * q[1]))


def weighted(weights, c):
    """Mean of c: the optimum with weights p_i h_i, FedAvg's or the rank-one fixed point with p_i q_i."""
    return sum(w * v for w, v in zip(weights, c, strict=True)) / sum(weights)


def noise(gamma, a, E):
    """Variance that E noisy local steps of one client add, per unit of the variance of a gradient; a = 1 - gamma beta h."""
    return gamma**2 * sum(a ** (2 * j) for j in range(E))


def floor(kappa, gamma, a, E, S, sigma2):
    """Stationary variance of wbar, S = sum_i p_i^2."""
    return S * sigma2 * noise(gamma, a, E) / (1 - kappa**2)
