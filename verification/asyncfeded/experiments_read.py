"""The committed tables of the experiments, as claims read them."""
import functools
from pathlib import Path

import numpy as np

from fltheory.core.statistics import Interval, quantile
from fltheory.verdicts.report.figures import from_csv

DATA, LEVEL = Path(__file__).parent / "data", 0.9999


@functools.cache
def table(name):
    return from_csv(DATA / f"{name}.csv")


def values(name, quantity, longest=np.inf, **wanted):
    """The quantity by seed (seeds,), at most `longest`."""
    found = {r["seed"]: min(r[quantity], longest) for r in table(name) if all(r[k] == v for k, v in wanted.items())}
    return np.array([found[s] for s in sorted(found)])


def roughness(**wanted):
    """How many points the accuracy of fig4 falls in all, from one grid time to the next, by seed (seeds,)."""
    mine = [r for r in table("fig4") if all(r[k] == v for k, v in wanted.items())]
    seen = [[r["accuracy"] for r in mine if r["seed"] == s] for s in sorted({r["seed"] for r in mine})]
    return np.maximum(-np.diff(seen, axis=1), 0).sum(1)


def interval(differences):
    """The mean of differences by seed, as an interval at the level of this project; so few seeds decide nothing."""
    count = len(differences)
    error = float(np.std(differences, ddof=1)) / count**0.5
    return Interval(float(np.mean(differences)), quantile(LEVEL, count) * error, LEVEL, count)
