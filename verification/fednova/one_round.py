"""What happens inside one coded round of FedNova's framework, with the noise averaged exactly."""
from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

import fltheory as ft
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.problems.base import Cohort


class Recorder:
    """A problem that notes where a round asks for gradients, what the exact answer is, and what it was given."""

    def __init__(self, problem):
        self.problem, self.n, self.p, self.d = problem, problem.n, problem.p, problem.d
        self.points, self.exact, self.given = [], [], []

    def at(self, who=EVERYONE):
        return Cohort(self, who)

    def _gradient(self, who, y, sample):
        exact = self.problem._gradient(who, y, None)
        given = exact if sample is None else self.problem._gradient(who, y, sample)
        self.points.append(y + 0 * exact)
        self.exact.append(exact)
        self.given.append(given)
        return given


@dataclass(frozen=True)
class Round:
    """One coded round from a fixed server model x (d,), over a batch of noise values (batch axis first).

    points, exact, given: per local step (batch, n, d); after (batch, d). variance: sigma^2/d where the batch is [no
    noise, unit noise in each coordinate] and everything is affine in the noise; None where the batch lists all
    outcomes, equally likely."""

    x: np.ndarray
    points: list
    exact: list
    given: list
    after: np.ndarray
    variance: object

    def mean(self, v):
        """E v for v affine in the noise (any v if all outcomes are listed)."""
        return v.sum(0) / len(v) if self.variance is None else v[0]

    def square(self, v):
        """E|v|^2 over the last axis, for v affine in the noise."""
        if self.variance is None:
            return (v * v).sum(-1).sum(0) / len(v)
        spread = v[1:] - v[:1]
        return (v[0] * v[0]).sum(-1) + self.variance * (spread * spread).sum(-1).sum(0)

    def value(self, problem):
        """E F(x+): F quadratic, or all outcomes listed."""
        def value(x):
            return ft.linalg.to_fractions(problem.to(ft.RATIONAL).value(ft.RATIONAL.array(x)))
        if self.variance is None:
            return value(self.after).sum(0) / len(self.after)
        at, spread = self.after[:1], self.after[1:] - self.after[:1]
        bend = value(at + spread) + value(at - spread) - 2 * value(at)
        return value(at)[0] + self.variance * bend.sum() / 2

    def drifts(self, n, tau):
        """[E|x - y_k|^2 for k < tau] of client n."""
        return [self.square(v[:, n] - self.x) for v in self.points[:tau]]

    def directions(self, vectors, which="given"):
        """d_i (which = "given") or h_i ("exact"), eqs 46-47: (batch, n, d), from the recorded gradients and a_i."""
        steps = getattr(self, which)
        sums = [sum(q * g[:, n] for q, g in zip(a, steps, strict=False)) / sum(a) for n, a in enumerate(vectors)]
        return np.stack(sums, 1)


SIGNS = 4   # scalar noise values of a round of which all outcomes are listed


def one_round(i, draw=None) -> Round:
    """Run the instance's coded round once from its x0, for every noise value that matters. draw: who makes it, a fresh run at each
    place; default every client once. In what it returns clients are places."""
    domain = i.domain
    problem, algorithm = Recorder(i.problem.to(domain)), i.algorithm.to(domain)
    draw = ft.everyone(problem.n, np.array(algorithm.steps)) if draw is None else draw
    places = len(draw.present)
    noise = domain.scalar(i.noise)
    slots = [(k, n) for n, tau in enumerate(np.broadcast_to(draw.steps, places)) for k in range(int(tau))]
    variance, samples = None, np.zeros((1, len(slots), problem.d), dtype=object)
    if "outcomes" in i.extra:
        samples = np.array(i.outcomes(len(slots)), dtype=object)
    elif noise != 0 and isinstance(i.problem, ft.Quadratic) and (problem.d > 1 or len(slots) > SIGNS or domain is not ft.RATIONAL):
        size = len(slots) * problem.d
        variance = noise * noise / problem.d
        units = np.concatenate([np.zeros((1, size), dtype=object), np.eye(size, dtype=object)])
        samples = units.reshape(-1, len(slots), problem.d)
    elif noise != 0:  # all outcomes of independent signs; one dimension
        samples = np.array(list(itertools.product((-1, 1), repeat=len(slots))), dtype=object)[..., None]
        samples = samples * noise
    xi = np.zeros((len(samples), int(draw.steps.max()), places, problem.d), dtype=object)
    for at, (k, n) in enumerate(slots):
        xi[:, k, n] = samples[:, at]
    xi = domain.array(xi)
    x = domain.array(np.array(i.x0, dtype=object))
    start = algorithm.init(problem, x[None] + 0 * xi[:, 0, 0])
    after = algorithm.round(problem, start, draw._replace(xi=lambda k: xi[:, k]))
    parts = [x, problem.points, problem.exact, problem.given, after.x]
    if domain is ft.RATIONAL:  # mixed with the paper's formulas, which are Fractions
        parts = [[ft.linalg.to_fractions(v) for v in part] if isinstance(part, list) else ft.linalg.to_fractions(part)
                 for part in parts]
        variance = None if variance is None else ft.fraction(variance)
    return Round(*parts, variance)
