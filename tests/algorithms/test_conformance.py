"""Every algorithm of the package obeys every rule of a round; wrong ones are caught."""
from dataclasses import dataclass
from fractions import Fraction as Q
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from fltheory.algorithms.catalogue import discover
from fltheory.algorithms.focus import Focus
from fltheory.algorithms.scaffold import Scaffold
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import FedAvg, State, shares
from fltheory.core.numbers.arrays import spread, take
from fltheory.core.numbers.scalars import RATIONAL, fraction
from fltheory.workbench.conformance import RULES, rules
from fltheory.workbench.conformance.cases import Case
from fltheory.workbench.conformance.report import FAILED, NOT_APPLICABLE, PASSED, examine
from fltheory.workbench.conformance.source import sources
from tests.algorithms import rules as built
from tests.algorithms.instances import draw, quadratic
from tests.naive import scaffold

EXTRA = [FedAvg("1/10", averaging="plain"), Focus("1/10", init="warm")]
FOUND = [a for cls in discover() for a in built.variants(cls)]
CASES = [Case.of(a) for a in FOUND + EXTRA]


def name(case):
    a = case.algorithm
    solver = getattr(a, "solver", None)
    return type(a).__name__ + ("" if solver is None else "-" + type(solver).__name__)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.__name__)
@pytest.mark.parametrize("case", CASES, ids=name)
def test_rules(case, rule):
    result = examine(rule, case)
    assert result.status in (PASSED, NOT_APPLICABLE), (result.found, result.where)
    if case.affine and case.algorithm.partial and not case.algorithm.absent_act:
        # nothing is left out but memories where there are none
        assert result.status == PASSED or result.found == "the clients keep no memories"


def test_every_class_is_found_and_has_an_instance():
    names = [cls.__name__ for cls in discover()]
    assert {"AsyncFedED", "FedAvg", "FedNova", "FedResAvg", "Focus", "NeighbourAveraging", "Scaffold"} <= set(names)
    assert len(set(names)) == len(names)
    assert {type(c.algorithm) for c in CASES} == set(discover())
    assert len(built.solvers()) == 6                       # Proximal counts twice, once by mu and once by alpha
    assert len(RULES) == 12


def test_the_scan_reaches_solvers_and_helpers():
    names = {f.__qualname__ for f in sources(FedAvg("1/10"))}
    assert {"FedAvg.round", "Vanilla.step", "Solver.start", "descend", "shares"} <= names


@pytest.mark.parametrize("case", [c for c in CASES if c.affine], ids=name)
def test_finished_clients_are_bit_identical_in_floats(case):
    rules.finished_clients_stand_still(case, bits=True)


# ---- wrong on purpose ----------------------------------------------------------------------------------------


class Wrong(FedAvg):
    """A correct base for the wrong ones: FedAvg with one step, written out."""

    def round(self, problem, s, draw):
        y = spread(s.x, draw.who) - self.lr * problem.at(draw.who).grad(spread(s.x, draw.who))
        return State(self.finish(s, (shares(problem.at(draw.who), draw.present, "weighted")[..., None]
                                     * (y - spread(s.x, draw.who))).sum(-2)))

    def finish(self, s, change):
        return s.x + change


class Half(Wrong):
    def finish(self, s, change):
        return s.x + 0.5 * change


class InPlace(Wrong):
    def finish(self, s, change):
        x = s.x
        x += change
        return x


class WritesRow(Wrong):
    def finish(self, s, change):
        x = 1 * s.x
        x[..., 0] = change[..., 0]
        return x


class Maximum(Wrong):
    def finish(self, s, change):
        return s.x + change.max(-1, keepdims=True)


class Ordered(Wrong):
    def finish(self, s, change):
        return s.x + change * (change[..., :1] > 0)


class Quadratically(Wrong):
    def finish(self, s, change):
        return s.x + change * change


class Float32(Wrong):
    def finish(self, s, change):
        return (s.x + change) * np.float32(1)


class DropsAnAxis(Wrong):
    def finish(self, s, change):
        return s.x + change.sum(-1, keepdims=True)[..., 0]


class SumsTheBatch(Wrong):
    def finish(self, s, change):
        return s.x + change.sum(0)


class Positional(Wrong):
    """Weighs clients by their place in the cohort."""

    def round(self, problem, s, draw):
        g = problem.at(draw.who).grad(spread(s.x, draw.who))
        return State(s.x - self.lr * (draw.present[..., None] * g)[..., 0, :])


class PeeksAtData(Wrong):
    def round(self, problem, s, draw):
        return State(s.x - self.lr * problem._b[0])


class ForgetsTheMask(Wrong):
    """Local steps go on after a client has finished."""

    def round(self, problem, s, draw):
        cohort, y = problem.at(draw.who), spread(s.x, draw.who)
        for k, _ in draw.local_steps():
            y = y - self.lr * cohort.grad(y, draw.xi_at(k))
        share = shares(cohort, draw.present, "weighted")[..., None]
        return State(s.x + (share * (y - spread(s.x, draw.who))).sum(-2))


class Pair(NamedTuple):
    x: Any
    g: Any


@dataclass(frozen=True)
class Forgetful(Algorithm):
    """Overwrites the memories of absent clients."""

    stateful: ClassVar[bool] = True

    def init(self, problem, x0, draw=None):
        return Pair(x0, 0 * (x0[..., None, :] + problem.p[..., None]))

    def round(self, problem, s, draw):
        g = problem.grad(spread(s.x) + 0 * s.g)
        return Pair(s.x - self.lr * (draw.present[..., None] * g).sum(-2), g)


class OtherType(Forgetful):
    def round(self, problem, s, draw):
        return State(s.x)


class ScaffoldMean(Scaffold):
    """Moves c by the mean over the cohort instead of the weights of all: affine and clean, only its twin objects."""

    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        share = shares(problem.at(draw.who), draw.present, "weighted")[..., None]
        change = take(new.ci, draw.who) - take(s.ci, draw.who)
        return new._replace(c=s.c + (share * change).sum(-2))


@pytest.mark.parametrize(("cls", "broken"), [
    (Half, [rules.reads_well, rules.stays_in_the_arithmetic]),
    (InPlace, [rules.reads_well, rules.writes_nothing]),
    (WritesRow, [rules.reads_well]),
    (Maximum, [rules.reads_well, rules.affine]),
    (Ordered, [rules.reads_well, rules.affine]),
    (Quadratically, [rules.affine]),
    (Float32, [rules.stays_in_the_arithmetic]),
    (DropsAnAxis, [rules.batches]),
    (SumsTheBatch, [rules.batches]),
    (Positional, [rules.numbering_is_irrelevant, rules.masks_are_cohorts]),
    (PeeksAtData, [rules.reads_well, rules.numbering_is_irrelevant]),
    (ForgetsTheMask, [rules.finished_clients_stand_still]),
    (Forgetful, [rules.absent_clients_remember]),
    (OtherType, [rules.keeps_the_structure]),
], ids=lambda v: v.__name__ if isinstance(v, type) else "")
def test_wrong_algorithms_are_rejected(cls, broken):
    case = Case.of(cls("1/10"))
    for rule in broken:
        result = examine(rule, case)
        assert result.status == FAILED, rule.__name__
        assert result.found
        assert result.where
        assert result.repair


def test_the_correct_base_of_the_wrong_ones_passes():
    for rule in RULES:
        assert examine(rule, Case.of(Wrong("1/10"))).status in (PASSED, NOT_APPLICABLE), rule


def test_what_conformance_cannot_see_is_seen_by_the_twins():
    for rule in RULES:
        assert examine(rule, Case.of(ScaffoldMean("1/10"))).status == PASSED
    problem, clients = quadratic()
    cohort = [(0, 2), (2, 1)]
    _, c, _ = scaffold.rounds(clients, [Q(3), Q(-2)], Q(1, 10), [cohort])[0]
    for cls, agrees in ((Scaffold, True), (ScaffoldMean, False)):
        a, p = cls("1/10").to(RATIONAL), problem.to(RATIONAL)
        state = a.round(p, a.init(p, RATIONAL.array(np.array([3, -2]))), draw(cohort, 3, "mask"))
        assert ([fraction(v) for v in state.c] == c) is agrees
