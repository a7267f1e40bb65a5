"""The server's step (5) to (7): lam = lambda, gamma the staleness, D = |x_t - x_{t-tau}|, delta = |Delta|."""


def staleness(D, delta):
    """(6)."""
    return D / delta


def step(lam, eps, gamma):
    """eta_g of (7)."""
    return lam / (gamma + eps)


def move(lam, eps, D, delta):
    """The length of the server's move, |x_{t+1} - x_t|."""
    return lam * delta**2 / (D + eps * delta)
