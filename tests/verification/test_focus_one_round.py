"""Quadratic forms of a round against the coded round on every set of the law: two routes to the same exact numbers."""
from fractions import Fraction as Q

import numpy as np
import pytest

from fltheory.core.evidence import FALSIFIED, HOLDS
from fltheory.core.laws.memoryless import Bernoulli, Uniform
from fltheory.core.numbers import linalg
from verification.focus import steps
from verification.focus.crowd import Crowd, one_round
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
    assert s.sums(everything, [1, 2], s.A)[1][1].tolist() == (s.A + s.A1).tolist()


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


# ---- many equal clients ---------------------------------------------------------------------------------------
CROWDED = [steps.largest("sc", "", line((2,) * n, (3,) * n), law, tau, few=1, rounds=4, x0=[1])
           for n, law, tau in ((3, Uniform(1), 1), (4, Uniform(2), 3), (3, Bernoulli("1/3"), 2))]


@pytest.mark.parametrize("i", CROWDED, ids=lambda i: f"N={i.n}, tau={i.tau}")
def test_three_blocks_say_what_all_clients_say(i):
    """Every form before and after the round at a state with deviations, their sums and totals from a full pass."""
    many, each = one_round(i), one_round(i.but(few=5))
    assert isinstance(many, Crowd) and type(each) is Forms
    apart = [Q(v) for v in (2, -1, -1, 0)[:i.n]]  # deviations of the z_i, mean square 2 or 3/2
    v = np.array([Q(3), *(Q(1) + a for a in apart)], dtype=object)
    for name in ("A", "B", "gap", "grad2", "A1", "B1", "gap1", "grad2_1"):
        V = getattr(many, name)
        spread = V[2, 2] * sum(a * a for a in apart) / i.n
        assert value(V, np.array([Q(3), Q(1), Q(0)], dtype=object)) + spread == value(getattr(each, name), v)
    assert all(a == b for a, b in zip(many.sums(many.warm, [1, 4], many.B), each.sums(each.warm, [1, 4], each.B), strict=True))
    left, right = (linalg.matmul(s.warm.T, linalg.matmul(s.total(s.grad2), s.warm)) for s in (many, each))
    assert (left == right).all()
