"""AsyncFedED on an event clock, in floats because of the norms."""

import math

from tests.naive import arrivals as arrivals_
from tests.naive.vectors import add, dot, scale, sub


def norm(v):
    return math.sqrt(dot(v, v))


def staleness(x, base, delta):
    """gamma = |x_t - x_base| / |Delta| (eq 6), with 0/0 read as 0."""
    distance, length = norm(sub(x, base)), norm(delta)
    if length == 0:
        return 0 if distance == 0 else math.inf
    return distance / length


def next_steps(K, gamma, gbar, kappa, rounding="down", clamp=True, real=False):
    """K + floor((gbar - gamma) kappa) (eq 8), at least 1; kappa = 0 keeps K whatever gamma is.

    rounding "strict": the largest integer smaller than (gbar - gamma) kappa; real: no rounding; clamp: K stays at least 1.
    """
    if kappa == 0:
        return K
    if gamma == math.inf:
        return 1
    change = (gbar - gamma) * kappa
    if not real:
        change = math.floor(change) if rounding == "down" else math.ceil(change) - 1
    return max(1, K + change) if clamp else K + change


def events(clients, x0, lr, lam, eps, gbar, kappa, K0, c, arrivals, discard=None, rule=None, **clock):
    """The first `arrivals` server updates as dicts of time, client, K, gamma and x (Algorithm 1), see `arrivals.events`.

    rule: the readings of `next_steps`.
    """
    def server(x, base, delta, event):
        event["gamma"] = staleness(x, base, delta)
        if discard is not None and event["gamma"] > discard:
            return None
        return add(x, scale(lam / (event["gamma"] + eps), delta))

    def steps(K, event):
        return next_steps(K, event["gamma"], gbar, kappa, **(rule or {}))
    return arrivals_.events(clients, x0, lr, K0, c, arrivals, server, steps, **clock)
