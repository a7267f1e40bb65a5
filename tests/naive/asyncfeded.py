"""AsyncFedED on an event clock, in floats because of the norms."""

import heapq
import math

from tests.naive.vectors import add, dot, scale, sub


def norm(v):
    return math.sqrt(dot(v, v))


def staleness(x, base, delta):
    """gamma = |x_t - x_base| / |Delta| (eq 6), with 0/0 read as 0."""
    distance, length = norm(sub(x, base)), norm(delta)
    if length == 0:
        return 0 if distance == 0 else math.inf
    return distance / length


def next_steps(K, gamma, gbar, kappa):
    """K + floor((gbar - gamma) kappa) (eq 8), at least 1; kappa = 0 keeps K whatever gamma is."""
    if kappa == 0:
        return K
    if gamma == math.inf:
        return 1
    return max(1, K + math.floor((gbar - gamma) * kappa))


def events(clients, x0, lr, lam, eps, gbar, kappa, K0, c, arrivals):
    """The first `arrivals` server updates as dicts of time, client, K, gamma and x.

    K is the number of steps of the update that arrived, x the model after it.  At time 0 every client starts
    from x0 with K0 steps; a local run of client i lasts c[i] * K, c[i] an integer; arrivals at the same time
    are served in the order of the client index.
    """
    x = x0
    base = [x0 for _ in range(clients.n)]
    K = [K0 for _ in range(clients.n)]
    queue = [(c[i] * K[i], i) for i in range(clients.n)]
    heapq.heapify(queue)
    history = []
    for _ in range(arrivals):
        time, i = heapq.heappop(queue)
        y = base[i]
        for _ in range(K[i]):
            y = sub(y, scale(lr, clients.grad(i, y)))
        delta = sub(y, base[i])

        gamma = staleness(x, base[i], delta)
        eta_g = lam / (gamma + eps)
        x = add(x, scale(eta_g, delta))
        history.append({"time": time, "client": i, "K": K[i], "gamma": gamma, "x": x})

        # the uploader starts again at once, from the new model and with its new K
        K[i] = next_steps(K[i], gamma, gbar, kappa)
        base[i] = x
        heapq.heappush(queue, (time + c[i] * K[i], i))
    return history
