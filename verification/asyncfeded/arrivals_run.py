"""Runs of asynchronous methods arrival by arrival, as the coded rounds make them, in exact rationals.

What the lemmas speak of at one arrival is exact in every dimension. Only AsyncFedED's server step needs a square root: it is
exact on the line and for rational lengths, and elsewhere rounded down to `ROOT` digits. Digits of exact models grow
exponentially with the arrivals; `digits` rounds the server's model after each of them, which statements about single arrivals
do not see.
"""
from fractions import Fraction as Q
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

import fltheory as ft
from fltheory.asynchronous.arrivals import arrives, brought, of
from fltheory.core.algorithms.solvers import descend
from fltheory.core.laws.draw import Draw
from fltheory.core.numbers.arrays import ratio, take

ROOT = 40


class Arrival(NamedTuple):
    """One arrival at the server, numbers as Fractions: t = 1, 2, .. its place; x = x_t, base = x_{t-tau}, delta, after = x_{t+1}
    (d,), before it is rounded; gamma2 = |x - base|^2/|delta|^2 (6), 0 if both vanish and None if delta alone does; eta: the step
    eta_g with which after = x + eta delta, None where it is no multiple of delta or delta = 0."""

    t: int
    client: int
    K: int
    lag: Any
    x: np.ndarray
    base: np.ndarray
    delta: np.ndarray
    after: np.ndarray
    gamma2: Any
    eta: Any

    @property
    def gamma(self):
        """gamma, exact where it is rational, else rounded down to `ROOT` digits."""
        return None if self.gamma2 is None else root(self.gamma2)


def root(v, digits=ROOT, up=False):
    """The square root of a rational >= 0: exact if rational, else rounded down, or up."""
    v = ft.fraction(v)
    exact = Q(isqrt(v.numerator), isqrt(v.denominator))
    return exact if exact * exact == v else Q(isqrt(v.numerator * 10 ** (2 * digits) // v.denominator) + up, 10**digits)


class _Lengths:
    """AsyncFedED's staleness in rationals."""

    def staleness(self, delta, moved):
        length, distance = (ft.RATIONAL.array(np.array([root(square(v))], dtype=object)) for v in (delta, moved))
        return ratio(distance, length), (length == 0) * (distance != 0) * 1


class Rooted:
    """A rational whose power 1/2 is `root`: with it wrong methods, which measure lengths in their own ways, run as they are."""

    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v

    def __pow__(self, p):
        return Rooted(root(self.v) if p == 0.5 else self.v ** int(p))

    def __neg__(self):
        return Rooted(-self.v)

    def __abs__(self):
        return Rooted(abs(self.v))

    def __float__(self):
        return float(self.v)

    def __int__(self):
        return int(self.v)

    def __hash__(self):
        return hash(self.v)


def _binary(name):
    does = getattr(Q, name)

    def method(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        found = does(self.v, _plain(int(other) if isinstance(other, bool | np.bool_) else other))
        return found if isinstance(found, bool) else Rooted(Q(found))
    return method


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "eq", "lt", "le", "gt", "ge"):
    setattr(Rooted, f"__{_name}__", _binary(f"__{_name}__"))


class _RootedNumbers(type(ft.RATIONAL)):
    """Their arithmetic."""

    name = "rationals with roots"

    def scalar(self, value):
        return Rooted(ft.fraction(value))

    def owns(self, value):
        return isinstance(value, int | Rooted)


ROOTED = _RootedNumbers()


def rational(algorithm):
    """The algorithm in rationals."""
    algorithm = algorithm.to(ft.RATIONAL)
    if type(algorithm) is not ft.AsyncFedED:
        return algorithm
    made = object.__new__(_Exact)
    made.__dict__.update(algorithm.__dict__)
    return made


class _Exact(_Lengths, ft.AsyncFedED):
    """AsyncFedED with rational lengths."""


def square(v):
    return sum((_plain(w) ** 2 for w in np.asarray(v, dtype=object).reshape(-1)), Q(0))


def fractions(v):
    """An array of rationals as Fractions, its shape kept."""
    v = np.asarray(v, dtype=object)
    out = np.empty(v.shape, dtype=object)
    out.reshape(-1)[:] = [_plain(w) for w in v.reshape(-1)]
    return out


def _plain(w):
    return w.v if isinstance(w, Rooted) else ft.fraction(w)


def record(algorithm, problem, law, x0, rounds, digits=None, noise=None):
    """[Arrival] of AsyncFedED, FedAsync or FedBuff under an `EventClock` without suspension.

    noise(t, k): what is added to the gradients of all clients at local step k = 0, 1, .. of arrival t, (n, d); None: nothing.
    """
    exact = not isinstance(algorithm, ft.AsyncFedED) or type(algorithm) is ft.AsyncFedED
    domain = ft.RATIONAL if exact else ROOTED
    algorithm, problem = rational(algorithm) if exact else algorithm.to(domain), problem.to(domain)
    law = law if algorithm.steps is None else law.with_steps(algorithm.steps)
    draw = law.support(problem.n)[0][1]._replace(xi=None)
    s, out = algorithm.init(problem, _vector(x0, domain), draw), []
    for t in range(1, rounds + 1):
        now = draw if noise is None else draw._replace(xi=lambda k, t=t: _rows(noise(t, k), problem))
        who = arrives(s)
        delta, _ = brought(algorithm, problem, s, now, who)
        after = algorithm.round(problem, s, now)
        out.append(_arrival(t, int(who[0]), of(s.K, who)[0], of(s.lag, who)[0], s.x, take(s.base, who)[0], delta, after.x))
        s = after if digits is None else _rounded(after, int(who[0]), digits, domain)
    return out


def record_stale(algorithm, problem, order, x0, digits=None, noise=None):
    """[Arrival] of `StaleSteps` when the clients of `order` arrive one after the other."""
    algorithm, problem = algorithm.to(ft.RATIONAL), problem.to(ft.RATIONAL)
    s, out, seen = algorithm.init(problem, _vector(x0)), [], [0] * problem.n
    steps = np.broadcast_to(np.asarray(algorithm.steps), (problem.n,))
    for t, i in enumerate(order, 1):
        draw = Draw(np.array([i]), np.array([1]), steps[i:i + 1])
        if noise is not None:
            draw = draw._replace(xi=lambda k, t=t, i=i: _rows(noise(t, k), problem)[i:i + 1])
        base = s.base[i]
        delta, _ = descend(algorithm.solver, algorithm.lr, problem.at(draw.who), s.base[draw.who], draw)
        after = algorithm.round(problem, s, draw)
        out.append(_arrival(t, i, int(steps[i]), t - 1 - seen[i], s.x, base, delta[0], after.x))
        seen[i], s = t, after if digits is None else _rounded(after, i, digits)
    return out


def largest_gamma2(run):
    """The smallest Gamma^2 of A4 for these arrivals; None where an update is 0 although the server has moved."""
    found = [a.gamma2 for a in run]
    return None if None in found else max(found, default=Q(0))


def _arrival(t, client, K, lag, x, base, delta, after):
    x, base, delta, after = map(fractions, (x, base, delta, after))
    length, distance, move = square(delta), square(x - base), after - x
    gamma2 = distance / length if length else None if distance else Q(0)
    eta = (move * delta).sum() / length if length else None
    if eta is not None and (move != eta * delta).any():
        eta = None
    return Arrival(t, client, int(_plain(K)), int(_plain(lag)), x, base, delta, after, gamma2, eta)


def _vector(x0, domain=ft.RATIONAL):
    return domain.array(np.array([Q(v) for v in x0], dtype=object))


def _rows(values, problem):
    return problem.domain.array(np.broadcast_to(np.array(values, dtype=object), (problem.n, problem.d)).copy())


def _rounded(s, client, digits, domain=ft.RATIONAL):
    """The state with the server's model, and the one that the client that arrived has just been sent, rounded."""
    def short(x):
        return domain.array(np.array([Q(round(_plain(v) * 10**digits), 10**digits) for v in x], dtype=object))
    base = s.base.copy()
    base[client] = short(base[client])
    return s._replace(x=short(s.x), base=base)


__all__ = ["Arrival", "fractions", "largest_gamma2", "rational", "record", "record_stale", "root", "square"]
