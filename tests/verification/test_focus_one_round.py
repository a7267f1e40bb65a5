"""Quadratic forms of a round against the coded round on every set of the law: two routes to the same exact numbers."""
from fractions import Fraction as Q

import numpy as np
import pytest

from fltheory.core import linalg
from fltheory.core.evidence import FALSIFIED, HOLDS
from fltheory.core.laws.memoryless import Bernoulli, Uniform
from verification.focus.instances import line
from verification.focus.one_round import Forms, Numbers, semidefinite, state_vector, value, within
from verification.focus.steps import make

NAMES = ("A", "B", "gap", "grad2", "A1", "B1", "gap1", "grad2_1", "mismatch", "present", "absent")


def _instance(law, tau):
    return make("a concave client", line((2, -1, 3), (1, 0, -2)), law, tau, "1/50", state=([2], [[3], [-1], ["1/2"]]), best=[-1])


@pytest.mark.parametrize("law", [Bernoulli(("1/2", "1/5", "9/10")), Uniform(2)], ids=["with empty rounds", "two of three"])
@pytest.mark.parametrize("tau", [1, 4])
def test_forms_and_coded_rounds_agree_exactly(law, tau):
    i = _instance(law, tau)
    forms, numbers, v = Forms(i), Numbers(i), state_vector(i)
    for name in NAMES:
        assert value(getattr(forms, name), v) == getattr(numbers, name), name
    for name in ("A", "gap"):
        assert [value(t, v) for t in forms.potential(name, Q(1, 3))] == list(numbers.potential(name, Q(1, 3)))


def test_sums_over_rounds():
    i = _instance(Uniform(1), 2)
    s, v = Forms(i), state_vector(i)
    rounds = s.along(v, 3, A=s.A)
    assert rounds[0][0]["A"] == value(s.A, v) and rounds[0][1]["A"] == value(s.A1, v)
    S = s.total(s.A)
    assert (s.A + s.after(S) == S).all()  # exact fixed point of the sum
    everything = np.array(linalg.identity(len(S), S))
    assert s.sums(everything, 2, s.A)[1][1].tolist() == (s.A + s.A1).tolist()


def test_an_inequality_that_fails_is_falsified_exactly():
    i = _instance(Uniform(1), 2)
    s = Forms(i)
    assert semidefinite(s.A, "A").status == HOLDS  # singular, yet semidefinite
    found = within(i.but(state=([2], [[3], [-1], ["1/2"]])), s.A, server=s.A / 2)
    assert [c.status for c in found] == [FALSIFIED]
    free = _instance(Uniform(1), 2)
    free.extra.pop("state")
    assert {c.status for c in within(free, s.A, server=s.A / 2)} == {FALSIFIED}
    assert {c.evidence for c in within(free, s.A, server=s.A, rest=s.B)} == {"exact"}
