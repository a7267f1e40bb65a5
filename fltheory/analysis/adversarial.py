"""Adversarial gradients: how far a coded round can move if its gradients are any vectors of bounded norm.

Where every loss is zero and gradients are handed in, a round is linear in them, and the largest change is the sum of the
moduli of their coefficients: the exact supremum that a drift lemma with a bound G on gradients speaks of, attained by
gradients that all lie on one line.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fltheory.algorithms.residual_problem import Residual
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.errors import NotAffine, TooLarge, listed, refuse
from fltheory.core.evidence import FALSIFIED, HOLDS, Comparison, evidence_of
from fltheory.core.kinds import Problem
from fltheory.core.laws.draw import Slots, everyone
from fltheory.core.numbers.scalars import RATIONAL, Number, Numbers, fraction, is_count
from fltheory.core.problems.quadratic import Quadratic

LARGEST = 2_000  # numbers that are free


@dataclass(frozen=True)
class Supremum:
    """value: the largest change per unit of G; worst: {(round, slot, client): +1 or -1}, gradients that attain it; reached: the
    change that the coded rounds make with them. Fractions."""

    value: Fraction
    worst: dict
    reached: Fraction

    def compared(self, stated: Number, label: str = "") -> Comparison:
        """Whether a stated supremum (per unit of G) is this one, attained."""
        stated = fraction(stated)
        holds = self.value == stated and self.reached == stated
        return Comparison("supremum over bounded gradients", self.value, stated, HOLDS if holds else FALSIFIED,
                          evidence_of(self.value, stated), label, -abs(self.value - stated),
                          detail=f"attained by {len(self.worst)} gradients of norm G on one line: {self.reached}")


def adversarial(algorithm: Algorithm, n: int, rounds: Sequence[dict[int, int]], leaf: str = "x", client: int | None = None,
                weights: Numbers | None = None) -> Supremum:
    """The largest |new - old| of a leaf of the state over the last round, for all gradients of norm at most 1 in all rounds.

    algorithm: with an affine round; n: clients; rounds: one {client: local steps} per round, in which a client alone shows its own
    displacement; leaf: "x" or another vector of the state; client: whose row, for memories such as "theta"; weights (n,). With
    personal parameters both parts of a gradient count for its norm. Raises BadInput on wrong input, NotAffine where rounds are no
    linear maps of gradients or one gradient enters through both parts, TooLarge above 2,000 of their numbers.
    """
    schedule = _schedule(algorithm, n, rounds)
    zero = np.zeros((n, 1), dtype=int).tolist()
    flat = [[[0]]] * n
    problem = Residual(flat, flat, flat, zero, zero, weights) if algorithm.personal else Quadratic.from_linear(flat, zero, weights)
    alg, problem = algorithm.to(RATIONAL), problem.to(RATIONAL)
    start = alg.init(problem, RATIONAL.array([0]))
    _refuse_warm(alg, problem, start)
    if not isinstance(leaf, str) or leaf not in start._fields:
        refuse("leaf", leaf, f"is a part of the state: {', '.join(start._fields)}", "Name one of them.")
    rows = getattr(getattr(start, leaf), "ndim", 0) > 1
    if rows != (client is not None) or (client is not None and not (is_count(client, 0) and client < n)):
        refuse("client", client, f"{leaf} has {'a row for each client, 0 to ' + str(n - 1) if rows else 'no rows of clients'}",
               "Give the number of a client for memories, and none for the server's vectors.")
    counts = _counts(alg, problem, schedule)
    shape = (len(schedule), max(counts), n, problem.drawn)
    if np.prod(shape) > LARGEST:
        raise TooLarge(f"{np.prod(shape)} free numbers of gradients, above {LARGEST}: take fewer rounds, steps or clients")
    unit = np.eye(int(np.prod(shape)), dtype=int).reshape(-1, *shape)

    def change(gradients):
        """Of the leaf, for gradients (lanes, rounds, slots, n, parts)."""
        samples = RATIONAL.array(gradients)
        state = alg.init(problem, RATIONAL.array(np.zeros((len(gradients), 1), dtype=int)))
        for r, draw in enumerate(schedule):
            old, state = state, alg.round(problem, state, draw._replace(xi=lambda k, r=r: samples[:, r, k]))
        moved = getattr(state, leaf) - getattr(old, leaf)
        moved = moved[:, 0] if moved.ndim == 2 else moved[:, client, 0]
        return np.array([fraction(v) for v in moved], dtype=object)
    both = change(unit).reshape(shape)
    if ((both != 0).sum(-1) > 1).any():
        raise NotAffine("a gradient enters through its shared and its personal part: its norm is no sum of moduli")
    signs = np.sign(both.astype(float)).astype(int)
    worst = {tuple(int(v) for v in at[:3]): int(signs[tuple(at)]) for at in np.argwhere(signs)}
    return Supremum(sum((abs(v) for v in both.reshape(-1)), Fraction(0)), worst, abs(change(signs[None])[0]))


def _schedule(algorithm: Algorithm, n, rounds):
    if not isinstance(algorithm, Algorithm) or not algorithm.affine:
        refuse("algorithm", algorithm, "its rounds are not linear in gradients", "Give an affine algorithm, for example ft.FedAvg.")
    if not is_count(n):
        refuse("n", n, "is an int >= 1", "Give the number of clients.")
    draws = []
    for r, cohort in enumerate(listed(rounds, "rounds", "is a list with one cohort per round", "For example [{0: 5, 1: 5}].")):
        if not isinstance(cohort, dict) or not cohort or not all(k in range(n) and is_count(v) for k, v in cohort.items()):
            refuse(f"rounds[{r}]", cohort, f"maps clients 0..{n - 1} to local steps >= 1", "For example {0: 5, 1: 5}.")
        draws.append(everyone(n, np.array([cohort.get(i, 1) for i in range(n)]),
                              np.array([int(i in cohort) for i in range(n)])))
    return draws or refuse("rounds", rounds, "has at least one round", "For example [{0: 5}].")


def _refuse_warm(alg, problem: Problem, start):
    """Refuse a start that takes gradients: they are the adversary's, too, and are not handed in before the first round."""
    sloped = problem.surrogate(problem.weights)
    linear = "_bw" if alg.personal else "_b"
    setattr(sloped, linear, getattr(problem, linear) + 1)
    for mine, theirs in zip(alg.init(sloped, RATIONAL.array([0])), start, strict=True):
        if not np.array_equal(mine, theirs):
            refuse("algorithm", alg, "its start takes gradients, before the first round of those that are free",
                   'Give start="zero" and let a round of all clients come first.')


def _counts(alg, problem: Problem, schedule):
    """Gradient slots of each round."""
    state, counts = alg.init(problem, RATIONAL.array([0])), []
    for draw in schedule:
        slots = Slots()
        state = alg.round(problem, state, draw._replace(xi=slots))
        counts.append(slots.count)
    return counts
