"""The locally perturbed gradient over a similarity graph ("Ours", Algorithm 1)."""

from tests.naive.vectors import add, mix, scale, sub


def rounds(clients, x0, lr, beta, p_in, schedule, average="full", absent="stale"):
    """(wbar, [w_E^i]) after each round; the schedule lists per round the (client, steps) that take part.

    p_in are the symmetric edge weights, all of them summing to 1; their row sums p_i are the aggregation
    weights, so clients.p is not used.  In the first round u^i = wbar_0.
    """
    n = clients.n
    p = [sum(row) for row in p_in]
    wbar, last = x0, [x0 for _ in range(n)]
    history = []
    for cohort in schedule:
        u = [scale(1 / p[i], mix(p_in[i], last)) for i in range(n)]
        there, total, weight = {}, [0 * v for v in x0], 0
        for i, steps in cohort:
            w = wbar
            for _ in range(steps):
                w_tilde = add(scale(beta, w), scale(1 - beta, u[i]))
                w = sub(w, scale(lr, clients.grad(i, w_tilde)))
            there[i] = w
            total, weight = add(total, scale(p[i], w)), weight + p[i]
        if absent == "reset":
            last = [wbar for _ in range(n)]
        last = [there.get(i, last[i]) for i in range(n)]
        if average == "printed":
            wbar = total
        elif weight:
            wbar = scale(1 / weight, total)
        history.append((wbar, last))
    return history
