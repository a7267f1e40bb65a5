"""AsyncFedED arrival by arrival: the coded round in floats or rationals, and its twin in closed form for long runs on the line.

The twin also runs in balls: numbers of steps are integers and everything else is enclosed. Where the K rule has to round a number
that the ball does not decide, the run stops with `CertificateFailed`, so that what comes out is rigorous.
"""
from math import floor
from typing import Any, NamedTuple

import numpy as np

import fltheory as ft
from fltheory.asynchronous.arrivals import arrives, brought, of
from fltheory.core.numbers.arrays import norm
from fltheory.core.records import unread

SOME = 60   # arrivals of a long run on which the coded round and the closed form are compared


class Seen(NamedTuple):
    """One arrival: its client, K of the run that ends, gamma by its definition (6) (None for Delta = 0 with a moved server), the
    step eta_g that the server has made (None for Delta = 0), the server's model before and after, and K of the next run."""

    client: int
    K: Any
    gamma: Any
    eta: Any
    x: Any
    after: Any
    next: Any


def coded(algorithm, problem, law, x0, count, domain=ft.FLOAT, bases=None):
    """Yield `Seen` of the first arrivals, models as arrays (d,), other numbers plain.

    bases: models (n, d) that the clients' first runs start from, x0 being the server's, where they are not all x0.
    """
    a, p = algorithm.to(domain), problem.to(domain)
    law = law if a.steps is None else law.with_steps(a.steps)
    draw = law.support(p.n)[0][1]
    s = a.init(p, domain.array(np.array(x0, dtype=object)), draw)
    if bases is not None:
        s = s._replace(base=domain.array(np.array(bases, dtype=object)))
    for _ in range(count):
        who = arrives(s)
        delta, moved = brought(a, p, s, draw, who)
        length, distance = norm(delta)[0], norm(moved)[0]
        new = a.round(p, s, draw)
        gamma = (None if distance != 0 else 0 * length) if length == 0 else distance / length
        k = next((j for j in range(p.d) if delta[j] != 0), None)
        eta = None if k is None else (new.x[k] - s.x[k]) / delta[k]
        yield Seen(int(who[0]), int(of(s.K, who)[0]), plain(gamma), plain(eta), *map(vector, (s.x, new.x)), int(of(new.K, who)[0]))
        s = new


def with_steps(algorithm, steps):
    """The algorithm, or a mutant of it, with other numbers of steps in its first runs."""
    return unread(algorithm, steps=tuple(steps))


def plain(v):
    return ft.fraction(v) if type(v).__name__ == "fmpq" else v


def vector(v):
    return v if v.dtype != object else np.array([plain(w) for w in v], dtype=object)


# ---- the twin in closed form -------------------------------------------------------------------------------
def floats(v):
    return float(ft.fraction(v))


def balls(bits):
    return ft.Balls(bits).scalar


class Line(NamedTuple):
    """Clients on the line. change(i, y, K): what K local steps of client i from y change, in closed form; number: turns a
    rational into the run's arithmetic."""

    change: Any
    paces: tuple
    number: Any = floats


def quadratics(h, b, eta, paces, number=floats):
    """f_i = h_i (x - b_i)^2/2."""
    shrink, centre = [1 - number(eta) * number(v) for v in h], [number(v) for v in b]
    return Line(lambda i, y, K: (1 - shrink[i]**K) * (centre[i] - y), tuple(paces), number)


def linear(g, eta, paces, number=floats):
    """f_i = g_i x."""
    slope = [-number(eta) * number(v) for v in g]
    return Line(lambda i, y, K: K * slope[i], tuple(paces), number)


def lowest(v):
    """v rounded down; a ball has to show the integer."""
    if type(v).__name__ != "arb":
        return floor(v)
    found = v.floor().unique_fmpz()
    if found is None:
        raise ft.CertificateFailed(f"whether {v} is below an integer needs more bits")
    return int(found)


def closed(line, x0, K0, count, lam, eps, gbar, kappa, strict=False, clamp=True):
    """Yield `Seen` of the first arrivals of Algorithms 1 and 2: its own code, of which the engine's is the other leg."""
    number, m = line.number, len(line.paces)
    x, lam, eps, gbar, kappa = (number(v) for v in (x0, lam, eps, gbar, kappa))
    K = [K0] * m if isinstance(K0, int) else list(K0)
    base, due = [x] * m, [c * k for c, k in zip(line.paces, K, strict=True)]
    for _ in range(count):
        i = min((j for j in range(m) if due[j] is not None), key=lambda j: (due[j], j), default=None)
        if i is None:
            return
        delta, old, moved = line.change(i, base[i], K[i]), x, 0 * x if base[i] is x else x - base[i]   # a ball minus itself is no 0
        gamma, eta, new = None, None, 1
        if not delta == 0:
            gamma = abs(moved) / abs(delta)
            eta = lam / (gamma + eps)
            x = x + eta * delta
            z = (gbar - gamma) * kappa
            new = K[i] if kappa == 0 else K[i] + (-lowest(-z) - 1 if strict else lowest(z))
            new = max(1, new) if clamp else new
        elif moved == 0:
            gamma, new = number(0), K[i] if kappa == 0 else K[i] + lowest(gbar * kappa)
        yield Seen(i, K[i], gamma, eta, old, x, new)
        K[i], base[i] = new, x
        due[i] = due[i] + line.paces[i] * new if new >= 1 else None


def agree(run, twin, label=""):
    """The coded arrivals are those of the closed form: clients and steps exactly, gamma and models to the run's precision."""
    run, twin = list(run), list(twin)
    return [ft.equal([[a.client, a.K, a.next] for a in run], [[b.client, b.K, b.next] for b in twin], f"{label}clients and K"),
            ft.equal([a.after[0] for a in run], [b.after for b in twin], f"{label}models")]
