"""The worst cases of residual learning speak of the points that the coded rounds visit."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from verification.fedres import over


@pytest.mark.parametrize("setting", [over.gradient_steps(over.SMOOTH, 3, Q(1, 3)), over.large_step(over.SMOOTH, 2, 5, Q(1, 10)),
                                     over.variates(over.SMOOTH, 2, 3, 2, Q(1, 576))], ids=lambda i: i.name)
def test_the_gradients_at_its_points_make_the_coded_move(setting):
    seen = []

    def measure(s):
        at = over.points(s, setting)
        total = sum((g for _, g in at), 0 * at[0][1])
        lr, alpha = setting.algorithm.to(ft.RATIONAL).lr, setting.extra.get("alpha", Q(1))
        move = -ft.RATIONAL.scalar(alpha) * lr * (s.problem.p[..., None] * total).sum(-2)
        seen.append((np.asarray(s.next - s.x) == np.asarray(move)).all())   # the variates cancel
        return s.square(s.next - s.x)

    found = over.certified(setting, measure, "slope", slope=(10**6, over.slope), drift=(10**6, lambda s: over.drift(s, setting)))
    assert all(seen)
    assert seen
    assert found.status in ("HOLDS", "INCONCLUSIVE")
