"""SCAFFOLD, option I: the client variate becomes the gradient at the server model."""

from tests.naive.vectors import add, mix, scale, sub, zeros_like


def rounds(clients, x0, lr, schedule, controls=None, fresh=None):
    """(x, c, [c_i]) after each round; schedule, weights and the server's c as in scaffold.rounds.

    fresh(round, client), a vector, is the noise of the gradient that becomes c_i; none by default.
    """
    x = x0
    c_i = [zeros_like(x0)] * clients.n if controls is None else list(controls)
    c = mix(clients.p, c_i)
    history = []
    for r, cohort in enumerate(schedule):
        p_cohort = sum(clients.p[i] for i, _ in cohort)
        x_new, c_new, c_i_new = x, c, list(c_i)
        for i, steps in cohort:
            y = x
            for _ in range(steps):
                y = sub(y, scale(lr, add(sub(clients.grad(i, y), c_i[i]), c)))
            c_i_new[i] = clients.grad(i, x)
            if fresh is not None:
                c_i_new[i] = add(c_i_new[i], fresh(r, i))
            x_new = add(x_new, scale(clients.p[i] / p_cohort, sub(y, x)))
            c_new = add(c_new, scale(clients.p[i], sub(c_i_new[i], c_i[i])))
        x, c, c_i = x_new, c_new, c_i_new
        history.append((x, c, c_i))
    return history
