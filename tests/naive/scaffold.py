"""SCAFFOLD, option II, any server step, each client with its own number of steps."""

from tests.naive.vectors import add, mix, scale, sub, zeros_like


def rounds(clients, x0, lr, schedule, controls=None, server_lr=1):
    """(x, c, [c_i]) after each round.

    A cohort is a list of (client, steps) without repeats, because a client has one control variate to update.
    `controls` are the initial c_i, zero by default.  The server's c moves with the full weights p_i, not with
    those renormalised over the cohort, so that c = sum_i p_i c_i always; p_i = 1/N gives the usual 1/N sum.
    """
    x = x0
    c_i = [zeros_like(x0)] * clients.n if controls is None else list(controls)
    c = mix(clients.p, c_i)
    history = []
    for cohort in schedule:
        assert len({i for i, _ in cohort}) == len(cohort), "a client may appear once per round"
        p_cohort = sum(clients.p[i] for i, _ in cohort)
        x_new, c_new, c_i_new = x, c, list(c_i)
        for i, steps in cohort:
            y = x
            for _ in range(steps):
                g = clients.grad(i, y)
                y = sub(y, scale(lr, add(sub(g, c_i[i]), c)))
            mean_step = scale(1 / (steps * lr), sub(x, y))
            c_i_new[i] = add(sub(c_i[i], c), mean_step)
            x_new = add(x_new, scale(server_lr * clients.p[i] / p_cohort, sub(y, x)))
            c_new = add(c_new, scale(clients.p[i], sub(c_i_new[i], c_i[i])))
        x, c, c_i = x_new, c_new, c_i_new
        history.append((x, c, c_i))
    return history
