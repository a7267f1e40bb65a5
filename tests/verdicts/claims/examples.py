"""Small claims for the tests, built without a paper folder."""

from dataclasses import replace
from fractions import Fraction as Q

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.evidence import Terms
from fltheory.core.laws.memoryless import Full
from fltheory.core.numbers.scalars import Field
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.relations import agrees, at_most, equal
from fltheory.core.statistics import Interval
from fltheory.verdicts import records
from fltheory.verdicts.claims.claim import Claim, Instance

X, Y = Field("x y").symbols


def made(body=None, on=None, kind="identity", name="example", **options):
    """A claim with one instance whose body ignores it, unless told otherwise. search: its search plan."""
    options["search_plan"] = options.pop("search", None)
    return Claim(name, body, tuple(on or (Instance("only"),)), kind=kind, **options)


def always(*comparisons, **options):
    return made(lambda i: comparisons, **options)


def averaging(name="fedavg", eta="1/4", steps=2, weights=("3/4", "1/4"), **extra):
    """FedAvg on two scalar clients (x - 1)^2/2 and 2 (x + 1)^2/2."""
    problem = Quadratic([[[1]], [[2]]], [[1], [-1]], weights)
    return Instance(name, problem, FedAvg(Q(eta), steps), Full(), **extra)


def contraction(i):
    """The coded round's factor is sum p_i (1 - eta h_i)^tau."""
    stated = sum(Q(p) * (1 - Q(1, 4) * h) ** 2 for p, h in zip(("3/4", "1/4"), (1, 2), strict=True))
    return equal(i.op.mean_map()[0][0, 0], stated)


def bounded(parts):
    """One over every named part, each needed."""

    def body(i):
        """A sum of named terms bounds 1."""
        return at_most(i.left, Terms(**parts))

    return body


TRUE, EXACT, FLOATING = equal(X * Y, Y * X), equal(Q(1, 2), Q(2, 4)), equal(0.1 + 0.2, 0.3)
RUN = agrees(Interval(0.5, 0.1, 0.999, 256), Q(1, 2))
WRONG_RUN = agrees(Interval(0.5, 0.1, 0.999, 256), 9)
FALSE_EXACT, FALSE_FLOAT = equal(Q(1), Q(2)), equal(1.0, 2.0)
UNDECIDED = at_most(1.0, 1.0 + 1e-12)
FOUND_NOTHING = {"tries": 10, "in_scope": 10, "families": {"f": 10}, "best": 0.5, "found": None}


class Searched:
    """A search with a given outcome."""

    def __init__(self, verdict=None, **changes):
        self.outcome = records.Searched(**FOUND_NOTHING | changes), verdict

    def run(self, claim, quick=False, reach=None):
        return self.outcome


def raising(error):
    def body(i):
        raise error

    return body


def more_steps(algorithm):
    """One step too many."""
    return replace(algorithm, steps=algorithm.steps + 1)
