"""Wrong variants for the deterministic theory of FOCUS."""
from dataclasses import dataclass

from fltheory.core.algorithms.focus import Focus, State
from fltheory.core.arrays import put, spread, take
from verification.focus.bugs.structure import _as


@dataclass(frozen=True, init=False)
class _Slow(Focus):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        return new._replace(x=s.x - self.lr * new.y / 16)


def slow_server(algorithm):
    """The server moves by a sixteenth of its step."""
    return _as(_Slow, algorithm) if type(algorithm) is Focus else None


@dataclass(frozen=True, init=False)
class _Tenth(Focus):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        g = s.g + (new.g - s.g) / 10
        y = s.y + (g - s.g).sum(-2)
        return State(s.x - self.lr * y, y, g)


def tenth_of_the_change(algorithm):
    """Clients store and push a tenth of the change of their gradient."""
    return _as(_Tenth, algorithm) if type(algorithm) is Focus else None


@dataclass(frozen=True, init=False)
class _Plain(Focus):
    def round(self, problem, s, draw):
        cohort = problem.at(draw.who)
        u = spread(s.x, draw.who)
        old = stored = take(s.g, draw.who)
        for k, on in draw.local_steps():
            stored = stored + on * (cohort.grad(u, draw.xi_at(k)) - stored)
            u = u - self.lr * on * stored
        y = s.y + (draw.present[..., None] * (stored - old)).sum(-2)
        return State(s.x - self.lr * y, y, put(s.g, draw.who, stored, draw.present))


def moves_by_gradient(algorithm):
    """Local moves follow the client's own gradient instead of its change."""
    return _as(_Plain, algorithm) if type(algorithm) is Focus and algorithm.steps != 1 else None


def printed_step(step):
    """The step bound is twice as large, as printed."""
    return lambda *numbers: 2 * step(*numbers)


def twice_the_step(step):
    """The step is twice as large as allowed."""
    return lambda *numbers: 2 * step(*numbers)


def forgets_clients(factor):
    """The number of clients is left out of the factor."""
    return lambda eta, N: factor(eta, N) * N


printed_step.of = "half_step"
twice_the_step.of = "step"
forgets_clients.of = "factor"


def square_root_forgotten(largest):
    """The step condition is read without the square root of N."""
    return lambda L, N, q: largest(L, N, q) * N


square_root_forgotten.of = "largest"
