"""The kinds of object that are handed through the package, under the names that annotations use.

A module annotates with these names and imports only this one: at run time they are `Any` and nothing else is loaded, so that a
file on a lower floor may say that it is given an operator.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from fltheory.core.algorithms.base import Algorithm
    from fltheory.core.laws.base import Law
    from fltheory.core.laws.draw import Draw
    from fltheory.core.operators.operator import Operator
    from fltheory.core.problems.base import Problem

    class Open:
        """A class whose sub-classes have data of their own, as problems, laws and methods do: none is unknown to mypy."""

        def __getattr__(self, name: str) -> Any: ...
else:
    Algorithm = Draw = Law = Operator = Problem = Any
    Open = object

Who: TypeAlias = Any     # who takes part: slice(None) for everyone, indices of clients (.., m), or an `arrays.LaidOut`
Steps: TypeAlias = Any   # local steps: an int, one per client, or `RandomSteps`
Slots: TypeAlias = Any   # the samples of a round's gradients, `draw.Slots`, or None
Stream: TypeAlias = Any  # a round's random numbers, by name: see `runs.streams`
Array: TypeAlias = Any   # numbers of any arithmetic that a round computes with: numpy, torch, or laid out
