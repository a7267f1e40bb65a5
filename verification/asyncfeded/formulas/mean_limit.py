"""The mean of the server's model for clients h_i (x - b_i)^2/2 that are drawn uniformly and are never stale."""


def shares(h, eta):
    """Q_i: the share of the way to b_i that a run of the local steps eta moves client i."""
    out = []
    for a in h:
        left = 1
        for v in eta:
            left = left * (1 - a * v)
        out.append(1 - left)
    return out


def resting(Q, b):
    """Where the mean update vanishes: sum_i Q_i b_i/sum_i Q_i."""
    return sum(q * v for q, v in zip(Q, b, strict=True)) / sum(Q)


def factor(Q, eta_g):
    """By which one arrival multiplies the distance of the mean from there."""
    return 1 - eta_g * sum(Q) / len(Q)


def mean(Q, b, eta_g, x, t):
    """E x_t from x_1 = x."""
    r = resting(Q, b)
    return r + factor(Q, eta_g) ** (t - 1) * (x - r)
