"""Long runs for the counter-examples to Theorem 2: derived operators and coded periods, exact or in rigorous balls."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.asyncfeded import arrivals_run as arrivals
from verification.asyncfeded import runs_theorem2 as runs

BITS = 256


def from_operator(i):
    """The average of E|grad F(x_t)|^2 over T arrivals from the mean fixed point of `Fresh` rounds: the mean stays, the
    variance grows from 0 towards the stationary one. F is quadratic where the models are; `twin` are the clients
    there."""
    there = i.but(problem=i.twin) if "twin" in i.extra else i
    moments, problem = there.op.stationary(), there.problem
    h = arrivals.square(runs.slope(problem, [moments.mean[0] + 1]) - runs.slope(problem, moments.mean))
    low = runs.slope2(problem, moments.mean)
    return ft.Bounds(low, low + h * moments.covariance[0, 0])


def coded_move(i, client, x, problem=None):
    """What one coded arrival of the client makes of the model x, without staleness; problem: another than its own."""
    algorithm, problem = i.algorithm.to(ft.RATIONAL), (i.problem if problem is None else problem).to(ft.RATIONAL)
    state = algorithm.init(problem, ft.RATIONAL.array(np.array([Q(x)], dtype=object)))
    present = np.eye(problem.n, dtype=int)[client]
    return ft.fraction(algorithm.round(problem, state, ft.everyone(problem.n, i.K, present)).x[0])


def coded_period(i):
    """(A, c) of one period of the coded rounds on (x, base of every client): state -> A state + c, read off n + 2
    states around the start, at which all models stay where the clients' gradients are straight."""
    algorithm, problem, n = i.algorithm.to(ft.RATIONAL), i.problem.to(ft.RATIONAL), i.problem.n

    def after(state):
        s = algorithm.init(problem, ft.RATIONAL.array(np.array([state[0]], dtype=object)))
        s = s._replace(base=ft.RATIONAL.array(np.array(state[1:], dtype=object)[:, None]))
        seen = []
        for client in i.period:
            seen.append(s.x[0])
            s = algorithm.round(problem, s, ft.everyone(n, i.K, np.eye(n, dtype=int)[client]))
        return [ft.fraction(v) for v in (s.x[0], *s.base[:, 0], *seen)]
    start = [i.x0[0]] * (n + 1)
    here, step = after(start), Q(1, 100)
    columns = [[(u - v) / step for u, v in zip(after([w + step * (j == k) for k, w in enumerate(start)]), here,
                                               strict=True)]
               for j in range(n + 1)]
    A = np.array(columns, dtype=object).T
    return A[:n + 1], np.array(here, dtype=object)[:n + 1] - A[:n + 1] @ np.array(start, dtype=object), \
        A[n + 1:], np.array(here, dtype=object)[n + 1:] - A[n + 1:] @ np.array(start, dtype=object)


def by_periods(i):
    """The average of x_t^2 over T arrivals, T a multiple of the period, in balls: powers of the coded period."""
    import flint
    A, c, B, b = coded_period(i)
    size = len(c) + 1
    whole = np.zeros((size, size), dtype=object)
    whole[:-1, :-1], whole[:-1, -1], whole[-1, -1] = A, c, 1
    looks = np.concatenate([B, b[:, None]], axis=1)                      # x_t before each arrival of the period
    form = sum(np.outer(row, row) for row in looks).reshape(-1)
    big = np.zeros((size**2 + 1, size**2 + 1), dtype=object)
    big[:-1, :-1], big[-1, :-1], big[-1, -1] = np.kron(whole, whole), form, 1
    with ft.Balls(BITS).working():
        def ball(v):
            v = ft.fraction(v)
            return flint.arb(flint.fmpq(v.numerator, v.denominator))
        power = flint.arb_mat([[ball(v) for v in row] for row in big]) ** (i.T // len(i.period))
        start = np.array([*[i.x0[0]] * (size - 1), 1], dtype=object)
        first = flint.arb_mat([[ball(v)] for v in [*np.outer(start, start).reshape(-1), 0]])
        return (power * first)[size**2, 0] / i.T


__all__ = ["by_periods", "coded_move", "coded_period", "from_operator"]
