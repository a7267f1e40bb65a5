"""Noise that every client shares, or every run of one client: Assumption 2 holds, and averaging removes nothing."""
import itertools
from math import comb

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


fresh = ft.Hypothesis("fresh runs", "every draw makes a run of its own (number of shared runs is 0)", lambda i: (i.shared, 0))
FAIR = ("No numbered assumption asks for noise that is independent across clients, but the paper says so: Section 2 prints 'each "
        "client independently runs' its local solver, Appendix C.1, before (48), 'since workers are independent to each other, we "
        "have E<d_i - h_i, d_j - h_j> = 0'. The rows ask for it; this is what it is worth.")


def exceeded(left, right, label):
    """What noise that all clients share does to a bound: its left side is above the right one."""
    return ft.at_most(right, left, label, strict=True)


independent = ft.Hypothesis("noise independent across clients", r"$|E\langle\xi_i,\xi_j\rangle|\le0$ for clients $i\ne j$",
                            lambda i: (ft.fraction(0) if i.problem is None else covariance(i), 0))


class CommonNoise(Local):
    """Scalar clients that make one local step each and share its noise: the left side from the coded round itself."""

    def cohorts(self):
        """[(probability, who)] of a round."""
        return [(ft.fraction(1), np.arange(self.n))]

    def maps(self):
        """[(probability, slope, push)] of the coded round x -> slope x + push for each cohort under each noise value."""
        problem, algorithm = self.problem.to(ft.RATIONAL), self.algorithm.to(ft.RATIONAL)

        def moved(x, who, noise):
            draw = ft.everyone(len(who), np.array(self.taus)[who])._replace(who=who, xi=lambda k: ft.RATIONAL.array(noise[who]))
            return ft.fraction(algorithm.round(problem, algorithm.init(problem, ft.RATIONAL.array(np.array([x]))), draw).x[0])
        drawn = self.outcomes(self.n)
        ends = [(q / len(drawn), moved(0, who, v), moved(1, who, v)) for q, who in self.cohorts() for v in drawn]
        return [(q, far - near, near) for q, near, far in ends]

    def moments(self):
        """Yield (E x, E x^2) of every round from x0 on."""
        maps, mean = self.maps(), ft.fraction(self.x0[0])
        square = mean * mean
        while True:
            yield mean, square
            mean, square = (sum(q * (a * mean + b) for q, a, b in maps),
                            sum(q * (a * a * square + 2 * a * b * mean + b * b) for q, a, b in maps))

    def left_side(self):
        """(1/T) sum E|grad F|^2 for F = x^2/2; for infinite T the stationary value, where the round contracts."""
        if self.rounds is not None:
            return read(sum(square for _, square in itertools.islice(self.moments(), self.rounds))) / self.rounds
        maps = self.maps()
        slope, push, shrink = sum(q * a for q, a, _ in maps), sum(q * b for q, _, b in maps), sum(q * a * a for q, a, _ in maps)
        if not shrink < 1:
            raise ArithmeticError("the round does not contract")
        mean = push / (1 - slope)
        return sum(q * (2 * a * b * mean + b * b) for q, a, b in maps) / (1 - shrink)


class SharedRuns(CommonNoise):
    """Independent draws from two kinds of clients that differ in their noise alone; all draws of the first kind are one run."""

    def cohorts(self):
        """One cohort for every number of draws of the first kind."""
        first, q = self.p[0], self.q
        chances = [(comb(q, k) * first**k * (1 - first) ** (q - k), k) for k in range(q + 1)]
        return [(chance, np.array([0] * k + [1] * (q - k))) for chance, k in chances if chance]


def shared(name, algorithm, m=64, law=None, kind=CommonNoise, rounds=None, x0=0, **extra):
    """m clients F_i = x^2/2, one local step, noise +1 or -1 for all of them at once."""
    problem = ft.Quadratic([[[1]]] * m, [[0]] * m)
    return kind(name, problem, algorithm, law or ft.Full(), noise=1, x0=[x0], rounds=rounds, units=False,
                outcomes=one_sign, says="F_i = x^2/2; in each round one noise value, +1 or -1, for all clients", **extra)
