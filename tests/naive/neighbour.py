"""The locally perturbed gradient over a similarity graph ("Ours", Algorithm 1), full participation."""

from tests.naive.vectors import add, mix, scale, sub


def rounds(clients, x0, lr, beta, p_in, steps, n_rounds):
    """(wbar, [w_E^i]) after each round.

    p_in are the symmetric edge weights, all of them summing to 1; their row sums p_i are the aggregation
    weights, so clients.p is not used.  In the first round u^i = wbar_0.
    """
    n = clients.n
    p = [sum(row) for row in p_in]
    wbar = x0
    u = [wbar for _ in range(n)]
    history = []
    for _ in range(n_rounds):
        w_E = []
        for i in range(n):
            w = wbar
            for _ in range(steps):
                w_tilde = add(scale(beta, w), scale(1 - beta, u[i]))
                w = sub(w, scale(lr, clients.grad(i, w_tilde)))
            w_E.append(w)
        u = [scale(1 / p[i], mix(p_in[i], w_E)) for i in range(n)]
        wbar = mix(p, w_E)
        history.append((wbar, w_E))
    return history
