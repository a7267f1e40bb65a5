"""VRL-SGD with unequal local steps; the divisor of its corrections is the client's own or the mean number of steps."""

from tests.naive.vectors import add, scale, sub, zeros_like


def rounds(clients, x0, lr, schedule, mean_divisor=False):
    """(x, [D_i]) after each round.

    A cohort is a list of (client, steps) without repeats; the weights are renormalised over it, an empty one changes
    nothing.  D_i = 0 at the start and stays as it is while client i is absent.
    """
    x, D, history = x0, [zeros_like(x0)] * clients.n, []
    for cohort in schedule:
        p_cohort = sum(clients.p[i] for i, _ in cohort)
        ends, x_new = [], x
        for i, steps in cohort:
            y = x
            for _ in range(steps):
                y = sub(y, scale(lr, sub(clients.grad(i, y), D[i])))
            ends.append(y)
            x_new = add(x_new, scale(clients.p[i] / p_cohort, sub(y, x)))
        D = list(D)
        for (i, steps), y in zip(cohort, ends, strict=True):
            total = sum(k for _, k in cohort)
            over = len(cohort) / (total * lr) if mean_divisor else 1 / (steps * lr)
            D[i] = add(D[i], scale(over, sub(x_new, y)))
        x = x_new
        history.append((x, D))
    return history
