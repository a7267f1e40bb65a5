"""Sizes that no list holds: minutes, so left out of `make test`."""
import numpy as np
import pytest

import fltheory as ft
from verification.engine.bench.large import random_clients


@pytest.mark.slow
def test_scaffold_on_ten_thousand_clients_in_a_hundred_dimensions():
    problem = random_clients(10_000, 100)
    op = ft.derive(ft.Scaffold("1/20", 3), problem, ft.Uniform(1000))
    assert op.dimension == 1_000_200 and op.reachable == 1_000_100
    best = ft.optimum(problem).x
    assert np.abs(op.fixed_point().x - best).max() < 1e-11 * np.linalg.norm(best)
    assert 0.9 < op.rate() < 1 and op.accuracy()["rate"].kind == "estimate"
    with pytest.raises(ft.TooLarge, match="GiB"):
        op.floor()
