"""The authors' public logs, aggregated: accuracies and times in rationals, with standard errors where they are recorded.

The raw logs do not stand here. The table was aggregated from them twice, with equal results; `data/published.json` says of what.
"""
import csv
import functools
from fractions import Fraction as Q
from pathlib import Path

from fltheory.core.statistics import Interval, quantile

TABLE = Path(__file__).parent / "data" / "published.csv"
TASKS = ("Synthetic", "FEMNIST", "Shakespeare")
METHODS = OURS, CONSTANT, HINGE, FEDAVG, FEDPROX = ("AsyncFedED", "FedAsync, constant", "FedAsync, hinge", "FedAvg", "FedProx")
RIVALS = METHODS[1:]
PS = tuple(Q(k, 10) for k in range(10))
NEVER = Q(10**6)     # seconds: larger than all times
FEWEST, LEVEL = 4, 0.9999     # runs of a cell, at least


@functools.cache
def table():
    """{(quantity, task, method, P): (value, standard error or None)}; a time that is never reached is `NEVER`."""
    with open(TABLE, newline="", encoding="utf-8") as handle:
        return {(r["quantity"], r["task"], r["method"], Q(r["P"] or 0)):
                (NEVER if r["value"] == "never" else Q(r["value"]), Q(r["error"]) if r["error"] else None)
                for r in csv.DictReader(handle)}


def logged(quantity, task, method, P):
    """The mean over the runs of a cell: "maximum" (%), "own" or "common" (seconds)."""
    return table()[quantity, task, method, P][0]


def cells(quantity):
    """[(task, P)] for which the quantity is recorded, of AsyncFedED and at least one rival."""
    return list(dict.fromkeys((task, P) for what, task, method, P in table() if what == quantity and method in RIVALS))


def rivals(quantity, task, P):
    """The methods beside AsyncFedED for which a cell is recorded."""
    return [m for m in RIVALS if (quantity, task, m, P) in table()]


def gap(quantity, task, first, second, P, least=0):
    """(first - second, its standard error). least: in the place of standard errors that are not recorded."""
    (a, s), (b, t) = (table()[quantity, task, m, P] for m in (first, second))
    s, t = (float(least if v is None else v) for v in (s, t))
    return float(a - b), (s * s + t * t) ** 0.5


def apart(quantity, task, first, second, P, least=0):
    """first - second as an interval at the level of this project, from as few runs as a cell has at least."""
    value, error = gap(quantity, task, first, second, P, least)
    return Interval(value, quantile(LEVEL, FEWEST) * error, LEVEL, FEWEST)
