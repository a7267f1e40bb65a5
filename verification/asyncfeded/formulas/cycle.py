"""The orbit of period m of m clients that arrive in turn, and the linear map around it on the line."""


def gamma_cycle(lam, eps, root):
    """gamma = eta_g of every client on it, the positive root of gamma (gamma + eps) = lambda."""
    return (root(eps**2 + 4 * lam) - eps) / 2


def positions(gamma, q, b):
    """The server's models after each client's arrival, for clients on the line that move by q_i (b_i - y) from y.

    y_i = y_{i-1} + gamma q_i (b_i - y_i), as on the orbit a client starts from the model that its own update made.
    """
    slope, shift = 1, 0
    for qi, bi in zip(q, b, strict=True):
        slope, shift = slope / (1 + gamma * qi), (shift + gamma * qi * bi) / (1 + gamma * qi)
    y, out = shift / (1 - slope), []
    for qi, bi in zip(q, b, strict=True):
        y = (y + gamma * qi * bi) / (1 + gamma * qi)
        out.append(y)
    return out


def slopes(gamma, eps, q):
    """(for the base, for the server's model): how the new model depends on both, at a client of the orbit."""
    late = gamma / (gamma + eps)
    return -q * gamma * (2 * gamma + eps) / (gamma + eps) - late, 1 + late


def polynomial(m, gamma, eps, q):
    """Coefficients, lowest first, of the polynomial whose roots are the factors of one arrival, for m clients of equal q."""
    own, server = slopes(gamma, eps, q)
    return [-own, *[0] * (m - 2), -server, 1] if m > 1 else [-own - server, 1]


def tips_over(m, gamma, eps):
    """(m - 1) gamma/(gamma + eps) - 1: above 0 the orbit is unstable for all small q, below 0 it is stable for them."""
    return (m - 1) * gamma / (gamma + eps) - 1
