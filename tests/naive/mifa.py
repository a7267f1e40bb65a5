"""MIFA: stale updates of the absent clients stay in the average."""

from tests.naive.vectors import scale, sub, zeros_like


def rounds(clients, x0, lr, schedule):
    """(x, [G_i]) after each round; a cohort is a list of (client, steps), an empty one still moves the server."""
    x, G, history = x0, [zeros_like(x0)] * clients.n, []
    for cohort in schedule:
        G = list(G)
        for i, steps in cohort:
            y = x
            for _ in range(steps):
                y = sub(y, scale(lr, clients.grad(i, y)))
            G[i] = scale(1 / lr, sub(x, y))
        for i in range(clients.n):
            x = sub(x, scale(lr * clients.p[i], G[i]))
        history.append((x, G))
    return history
