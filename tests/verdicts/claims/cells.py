"""Claims declared in a notebook cell, for the tests."""

import functools
from fractions import Fraction as Q

import pytest

import fltheory as ft

PROBLEM = ft.Quadratic(H=[[[1]], [[1]]], c=[[0], [1]])
CELL = '''
@ft.claim("my-theorem", on=[ft.Instance("two clients", PROBLEM, ft.{algorithm}("1/20", [1, 10]), ft.Full())])
def my_theorem(i):
    r"""The fixed point is the <b>optimum</b>, $x^*<y$."""
    return ft.equal(i.op.fixed_point().x, ft.optimum(i.problem).x)
'''


class Clock:
    """A search's clock that advances by a millisecond per reading and by what a claim's body adds: no machine is too slow."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr("fltheory.verdicts.search.search.time", self)

    def perf_counter(self):
        self.now += 0.001
        return self.now


def cell(text, **names):
    """Run a notebook cell: its functions belong to no file."""
    space = {"__name__": "a notebook", "ft": ft, "PROBLEM": PROBLEM, "Q": Q, **names}
    exec(compile(text, "<cell>", "exec"), space)
    return space


def theorem(algorithm="FedAvg"):
    return cell(CELL.format(algorithm=algorithm))["my_theorem"]


@functools.cache
def refuted():
    """The false theorem and what the search found against it."""
    pytest.importorskip("hypothesis")
    claim = theorem()
    return claim, claim.search(seconds=None, tries=40)


def about(body, *on, **options):
    return ft.claim("about", on=on, **options)(body)


def simple(**changes):
    given = {"problem": PROBLEM, "algorithm": ft.FedAvg("1/20", 2), "law": ft.Full()} | changes
    return ft.Instance("simple", **given)


def never(i):
    """Nothing holds."""
    return ft.equal(1, 2)


def always(i):
    """One is one."""
    return ft.equal(1, 1)
