"""The baselines of Appendix B.4: FedAvg as printed in (38) and with weights that sum to 1, FedAsync in the two forms of (40)."""


def shares(sizes):
    """|xi_i| / sum_j |xi_j|."""
    return [v / sum(sizes) for v in sizes]


def printed(sizes, models):
    """(38) as printed, with 1/m before the sum."""
    return corrected(sizes, models) / len(models)


def corrected(sizes, models):
    """(38) without the additional 1/m."""
    return sum(p * y for p, y in zip(shares(sizes), models, strict=True))


def mixed(alpha, x, trained):
    """(40): the server's model and the client's, mixed."""
    return (1 - alpha) * x + alpha * trained


def moved(alpha, x, base, update):
    """(40) as a step of the server: the update, and the way back to the model that the client started from."""
    return x + alpha * update + alpha * (base - x)
