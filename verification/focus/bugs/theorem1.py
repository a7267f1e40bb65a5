"""Wrong variants for the deterministic theory of FOCUS."""
from fltheory.algorithms.focus import Focus, State
from fltheory.core.numbers.arrays import put, spread, take
from fltheory.mutants.base import changed


@changed(Focus, "round")
def slow_server(self, right, problem, s, draw):
    """The server moves by a sixteenth of its step."""
    new = right(problem, s, draw)
    return new._replace(x=s.x - self.lr * new.y / 16)


@changed(Focus, "round")
def tenth_of_the_change(self, right, problem, s, draw):
    """Clients store and push a tenth of the change of their gradient."""
    new = right(problem, s, draw)
    g = s.g + (new.g - s.g) / 10
    y = s.y + (g - s.g).sum(-2)
    return State(s.x - self.lr * y, y, g)


@changed(Focus, "round", lambda a: a.steps != 1)
def moves_by_gradient(self, right, problem, s, draw):
    """Local moves follow the client's own gradient instead of its change."""
    cohort = problem.at(draw.who)
    u = spread(s.x, draw.who)
    old = stored = take(s.g, draw.who)
    for k, on in draw.local_steps():
        stored = stored + on * (cohort.grad(u, draw.xi_at(k)) - stored)
        u = u - self.lr * on * stored
    y = s.y + (draw.present[..., None] * (stored - old)).sum(-2)
    return State(s.x - self.lr * y, y, put(s.g, draw.who, stored, draw.present))


def printed_step(step):
    """The step bound is twice as large, as printed."""
    return lambda *numbers: 2 * step(*numbers)


def twice_the_step(step):
    """The step is twice as large as allowed."""
    return lambda *numbers: 2 * step(*numbers)


def forgets_clients(factor):
    """The number of clients is left out of the factor."""
    return lambda eta, N: factor(eta, N) * N


def square_root_forgotten(largest):
    """The step condition is read without the square root of N."""
    return lambda L, N, q: largest(L, N, q) * N


printed_step.of, twice_the_step.of, forgets_clients.of = "half_step", "step", "factor"
square_root_forgotten.of = "largest"
