"""FOCUS, Algorithm 1.  It minimises the plain sum of the f_i; the weights p_i play no part."""

from tests.naive.vectors import add, scale, sub, zeros_like


def rounds(clients, x0, lr, schedule, init="zero"):
    """(x, y, [g_i]) after each round; a cohort is a list of (client, steps) without repeats, possibly empty.

    init "zero": g_i = 0, y = 0.  init "warm": g_i = grad f_i(x0), y = sum_i g_i.
    """
    if init == "zero":
        g = [zeros_like(x0) for _ in range(clients.n)]
    elif init == "warm":
        g = [clients.grad(i, x0) for i in range(clients.n)]
    else:
        raise ValueError(f"unknown init {init!r}")
    x, y = x0, zeros_like(x0)
    for stored in g:
        y = add(y, stored)

    history = []
    for cohort in schedule:
        assert len({i for i, _ in cohort}) == len(cohort), "a client may appear once per round"
        g = list(g)
        for i, steps in cohort:
            u, v = x, zeros_like(x0)
            for _ in range(steps):
                current = clients.grad(i, u)
                v = add(v, sub(current, g[i]))
                g[i] = current
                u = sub(u, scale(lr, v))
            y = add(y, v)  # pushed and summed, not averaged
        x = sub(x, scale(lr, y))  # in every round, also after an empty cohort
        history.append((x, y, g))
    return history
