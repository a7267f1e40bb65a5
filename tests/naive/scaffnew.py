"""Scaffnew with a fixed number of local steps, in its two partial-participation forms, and with its coin (ProxSkip)."""

from tests.naive.vectors import add, mix, scale, sub, zeros_like


def _local(clients, i, x, h, lr, steps):
    for _ in range(steps):
        x = sub(x, scale(lr, sub(clients.grad(i, x), h)))
    return x


def _average(clients, x, ends):
    """Weighted mean of {client: local model}; x if nobody came."""
    if not ends:
        return x
    total = sum(clients.p[i] for i in ends)
    return mix([clients.p[i] / total for i in ends], list(ends.values()))


def immediate(clients, x0, lr, schedule, shifts=None):
    """(x, [h_i]) after each round; a cohort is a list of (client, steps) without repeats, possibly empty.

    A participant corrects its shift with the average of the very round in which it took part.
    """
    x, history = x0, []
    h = [zeros_like(x0)] * clients.n if shifts is None else list(shifts)
    for cohort in schedule:
        ends = {i: _local(clients, i, x, h[i], lr, steps) for i, steps in cohort}
        x, h = _average(clients, x, ends), list(h)
        for i, steps in cohort:
            h[i] = add(h[i], scale(1 / (steps * lr), sub(x, ends[i])))
        history.append((x, h))
    return history


def late(clients, x0, lr, schedule):
    """(x, [h_i], [last local model]) after each round.

    A participant corrects its shift when it pulls, by the distance from the model it left behind, x0 if it never came.
    """
    x, h, last, history = x0, [zeros_like(x0)] * clients.n, [x0] * clients.n, []
    for cohort in schedule:
        h, last = list(h), list(last)
        for i, steps in cohort:
            h[i] = add(h[i], scale(1 / (steps * lr), sub(x, last[i])))
            last[i] = _local(clients, i, x, h[i], lr, steps)
        x = _average(clients, x, {i: last[i] for i, _ in cohort})
        history.append((x, h, last))
    return history


def skipping(clients, x0, lr, p, coins):
    """(last average, [x_i], [h_i]) after each iteration; coins: one 0 or 1 per iteration, 1 where all average."""
    mean, x, h, history = x0, [x0] * clients.n, [zeros_like(x0)] * clients.n, []
    for coin in coins:
        ahead = [_local(clients, i, x[i], h[i], lr, 1) for i in range(clients.n)]
        if coin:
            mean = mix(clients.p, ahead)
            h = [add(h[i], scale(p / lr, sub(mean, ahead[i]))) for i in range(clients.n)]
            x = [mean] * clients.n
        else:
            x = ahead
        history.append((mean, x, h))
    return history
