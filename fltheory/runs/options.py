"""How a run is made, beside what it is made of: one record that `run`, `record` and `sweep` hand to what is behind them."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fltheory.core.numbers.scalars import to_float
from fltheory.core.records import Record, count, declared, flag, within

MOST_REPLICATES = 10**8

a_seed = count(0, 2**128 - 1, "a seed is an int from 0 to 2^128 - 1", "Choose one, for example 0.")


def in_seconds(value, what) -> float:
    """A time >= 0."""
    return to_float(within(0)(value, what))


@dataclass(frozen=True)
class RunOptions(Record):
    """The options of `run`, which says what each is; read, so that what no run can be made with is refused here.

    rounds: of a single algorithm, None where phases have numbers of their own. seconds: between two snapshots.
    """

    rounds: Any = None
    replicates: int = declared(count(1, MOST_REPLICATES, remedy="Give a positive int."), 1)
    seed: int = declared(a_seed, 0)
    device: Any = "cpu"
    noise: Any = None
    x0: Any = None
    metrics: Any = None
    tail: Any = declared(within(0, 1, "(]", "Give a fraction of the rounds, for example 0.25."), 0.25)
    chunk: Any = declared(count(1, MOST_REPLICATES, remedy="Give a positive int."), None)
    checkpoint: Any = None
    seconds: float = declared(in_seconds, 5.0)
    progress: bool = declared(flag, False)
    audit: bool = declared(flag, True)
    collapsed: bool = declared(flag, False)
