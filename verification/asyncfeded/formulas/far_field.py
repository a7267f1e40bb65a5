"""Linear losses: staleness of clients that arrive in turn, and its fluid limit for clients of unequal speed."""


def gamma_star(m, lam, eps, root):
    """The limit for m equal clients, the positive root of gamma (gamma + eps) = (m - 1) lambda; root: square root."""
    return (root(eps**2 + 4 * (m - 1) * lam) - eps) / 2


def step_star(m, lam, eps, root):
    """The server's step there."""
    return lam / (gamma_star(m, lam, eps, root) + eps)


def shrinking(m, lam, eps, root):
    """theta: every m - 1 arrivals bring the server's steps nearer to their limit by this factor."""
    gamma = gamma_star(m, lam, eps, root)
    return gamma / (gamma + eps)


def next_gap(N, eps, e, gap):
    """From eta <= e + gap to eta <= e + what is returned, two passes later; N = m - 1, e the limit of eta."""
    return N**2 * e**2 * gap / (N * e * (N * e + eps) + eps * (N * (e + gap) + eps))


def stays(low, high, m, lam, eps):
    """Whether steps eta in [low, high] of m - 1 arrivals keep the next one there: the two margins, both >= 0 if they do."""
    return lam - low * ((m - 1) * high + eps), high * ((m - 1) * low + eps) - lam


def fluid(paces, lam, eps, passes=2000):
    """gamma_i = sum_{j != i} (c_i/c_j) lambda/(gamma_j + eps), by damped iteration in floats."""
    m, gamma = len(paces), [1.0] * len(paces)
    for _ in range(passes):
        new = [sum(paces[i] / paces[j] * float(lam) / (gamma[j] + float(eps)) for j in range(m) if j != i) for i in range(m)]
        gamma = [(a + b) / 2 for a, b in zip(gamma, new, strict=True)]
    return gamma
