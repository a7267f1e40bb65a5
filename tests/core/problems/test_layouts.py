"""Gradients of cohorts drawn per replicate: what is kept of the last cohort follows its value, not its place in memory."""
import numpy as np
import pytest

from fltheory.core.problems.rows import client_major
from tests.runs.traces import torch


@pytest.mark.parametrize("kind", [np.array, torch.tensor], ids=["numpy", "torch"])
def test_a_cohort_that_is_changed_in_place_has_its_own_gradients(kind):
    slopes = kind([[1.0], [10.0], [100.0]])
    who, y = kind([[0, 1], [2, 1]]), kind([[[1.0], [2.0]], [[3.0], [4.0]]])

    def seen():
        return np.asarray(client_major(3, who, y, lambda points: points * slopes))[..., 0].tolist()
    assert seen() == [[1, 20], [300, 40]] == seen()
    who[0, 0] = 2
    assert seen() == [[100, 20], [300, 40]]
    who[:] = kind([[1, 0], [0, 1]])
    assert seen() == [[10, 2], [3, 40]]
