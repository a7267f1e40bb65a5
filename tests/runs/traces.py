"""What the tests of runs share: chances, a metric, and when two traces are the same."""
import itertools
from fractions import Fraction as Q

import numpy as np
import pytest

torch = pytest.importorskip("torch")
LR, CHANCES = Q(1, 20), ("9/10", "1/2", "1/5")
NORM = {"norm": lambda x: (x * x).sum(-1)}


def same(a, b, tolerance=0.0):
    for mine, theirs in ((a.metrics, b.metrics), (a.tail, b.tail)):
        assert mine.keys() == theirs.keys()
        for name, part in itertools.product(mine, ("mean", "m2")):
            x, y = np.asarray(mine[name][part]), np.asarray(theirs[name][part])
            scale = tolerance * max(1, np.abs(y).max())
            assert np.array_equal(x, y) if tolerance == 0 else np.abs(x - y).max() <= scale
    assert np.array_equal(a.final, b.final) if tolerance == 0 else np.abs(a.final - b.final).max() <= tolerance
