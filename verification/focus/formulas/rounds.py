"""Section 4 on quadratics of one dimension: one round of FOCUS in closed form."""


def stale_point(h, eta, power, x, z):
    """z' = P x + (1 - P) z with P = (1 - eta h)^(tau - 1) passed in as a number of its own."""
    return power * x + (1 - power) * z


def focus_round(h, c, eta, tau, S, x, y, g):
    """(x', y', g') of clients f_i = h_i (t - c_i)^2/2 with memories g_i = h_i (z_i - c_i); S holds clients 1..n."""
    stored = []
    for k, (curvature, centre, memory) in enumerate(zip(h, c, g, strict=True), start=1):
        z = memory / curvature + centre
        point = stale_point(curvature, eta, (1 - eta * curvature) ** (tau - 1), x, z) if k in S else z
        stored.append(curvature * (point - centre))
    change = [new - old for new, old in zip(stored, g, strict=True)]
    y = y + sum(change)
    return x - eta * y, y, stored


def aggregated_gradients(sets, eta, x, gradient, N):
    """Incremental aggregated gradients: x_0, x_1, ... of x <- x - eta sum_i g_i, g_i refreshed at x for i in S, 0 before.

    gradient(i, x): gradient list of client i in 1..N at x.
    """
    stored, out = {}, [x]
    for S in sets:
        stored |= {i: gradient(i, x) for i in S}
        x = [v - eta * sum((g[j] for g in stored.values()), 0) for j, v in enumerate(x)]
        out.append(x)
    return out


def first_consensus_error(eta, X, gradient):
    """C_0 = eta^2 N^3 |grad F(x_0)|^2 of a common start, App. E.7 corrected. gradient: stacked, row 0 zero."""
    N = len(X) - 1
    total = gradient(X).sum(0) / N
    return eta * eta * N**3 * (total * total).sum()
