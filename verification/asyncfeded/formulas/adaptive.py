"""The adaptive step of (6) and (7) as one function of the noisy update: eta_g Delta with gamma = D/|Delta|, and its mean.

lam, eps: lambda and epsilon; D = |x_t - x_{t-tau}|; size = |Delta|; part: one coordinate of Delta.
"""


def move(lam, eps, D, size, part):
    """One coordinate of eta_g Delta = lambda |Delta| Delta/(D + eps |Delta|)."""
    return lam * size * part / (D + eps * size)


def line(lam, eps, D, delta):
    """On the line, 0 where nothing arrives."""
    return move(lam, eps, D, abs(delta), delta) if delta else 0 * delta


def mean(lam, eps, D, outcomes):
    """E eta_g Delta on the line. outcomes: [(chance, Delta)]."""
    return sum(p * line(lam, eps, D, v) for p, v in outcomes)


def kink(lam, eps, first, second):
    """E eta_g Delta where f' = max(x, 0), noise +-1, D = 0, x_{t-tau} = 0 and K = 2: half of the paths see the slope."""
    return -lam / eps * first * second / 2
