"""Noise that every client shares: Assumption 2 holds at each of them, and averaging over clients removes nothing."""
import itertools

import numpy as np

import fltheory as ft
from verification.fednova.instances import Local, read


def one_sign(clients):
    """Equally likely outcomes (2, n, 1) of one local step each: +1 for everyone, or -1 for everyone."""
    return np.array([[s] * clients for s in (1, -1)], dtype=object)[..., None]


def covariance(i):
    """Largest |E xi_i xi_j| over pairs of clients; 0 where the engine draws the noise, for each client apart."""
    drawn = i.outcomes(i.n)[..., 0] if isinstance(i, CommonNoise) else []
    pairs = itertools.combinations(range(i.n), 2) if len(drawn) else ()
    return max((abs(sum(v[j] * v[k] for v in drawn)) / ft.fraction(len(drawn)) for j, k in pairs), default=ft.fraction(0))


independent = ft.Hypothesis("noise independent across clients", r"$|E\langle\xi_i,\xi_j\rangle|\le0$ for clients $i\ne j$",
                            lambda i: (ft.fraction(0) if i.problem is None else covariance(i), 0))


class CommonNoise(Local):
    """Scalar clients that make one local step each and share its noise: the left side from the coded round itself."""

    def maps(self):
        """[(slope, push)] of the coded round x -> slope x + push under each noise value."""
        problem, algorithm = self.problem.to(ft.RATIONAL), self.algorithm.to(ft.RATIONAL)

        def moved(x, noise):
            draw = ft.everyone(self.n, np.array(self.taus))._replace(xi=lambda k: ft.RATIONAL.array(noise))
            return ft.fraction(algorithm.round(problem, algorithm.init(problem, ft.RATIONAL.array(np.array([x]))), draw).x[0])
        ends = [(moved(0, v), moved(1, v)) for v in self.outcomes(self.n)]
        return [(far - near, near) for near, far in ends]

    def moments(self):
        """Yield (E x, E x^2) of every round from x0 on."""
        maps, mean = self.maps(), ft.fraction(self.x0[0])
        square = mean * mean
        while True:
            yield mean, square
            mean, square = (sum(a * mean + b for a, b in maps) / len(maps),
                            sum(a * a * square + 2 * a * b * mean + b * b for a, b in maps) / len(maps))

    def left_side(self):
        """(1/T) sum E|grad F|^2 for F = x^2/2; for infinite T the stationary value, where the round contracts."""
        if self.rounds is not None:
            return read(sum(square for _, square in itertools.islice(self.moments(), self.rounds))) / self.rounds
        maps = self.maps()
        slope, push = sum(a for a, _ in maps) / len(maps), sum(b for _, b in maps) / len(maps)
        shrink = sum(a * a for a, _ in maps) / len(maps)
        if not shrink < 1:
            raise ArithmeticError("the round does not contract")
        mean = push / (1 - slope)
        return sum(2 * a * b * mean + b * b for a, b in maps) / len(maps) / (1 - shrink)


def shared(name, algorithm, m=64, law=None, kind=CommonNoise, rounds=None, x0=0, **extra):
    """m clients F_i = x^2/2, one local step, noise +1 or -1 for all of them at once."""
    problem = ft.Quadratic([[[1]]] * m, [[0]] * m)
    return kind(name, problem, algorithm, law or ft.Full(), noise=1, x0=[x0], rounds=rounds, units=False,
                outcomes=one_sign, says="F_i = x^2/2; in each round one noise value, +1 or -1, for all clients", **extra)
