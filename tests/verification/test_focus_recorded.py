"""FOCUS with a passive memory: the round is untouched, and the memory holds the points of the stored gradients."""
from fractions import Fraction as Q

import numpy as np
import pytest

from fltheory.core.laws.draw import everyone
from fltheory.core.numbers.linalg import to_fractions
from fltheory.core.numbers.scalars import RATIONAL
from verification.focus.bugs import structure as bugs
from verification.focus.claims.sg_lemmas import recorded_rounds
from verification.focus.coded import centres, curvatures
from verification.focus.recorded import recorded, spread_form

SETS = [(1, 0, 1), (0, 1, 0), (0, 0, 0), (1, 1, 1), (0, 0, 1)]


def states(i, noise=False):
    """States of an instance's coded round on fixed sets; noise: with fixed samples."""
    algorithm, problem = i.algorithm.to(RATIONAL), i.problem.to(RATIONAL)
    out = [algorithm.init(problem, RATIONAL.array(np.array(i.x0)))]
    for r, S in enumerate(SETS):
        draw = everyone(problem.n, i.tau, np.array(S[:problem.n]))
        sample = RATIONAL.array(np.array([[k + r] for k in range(problem.n)]))
        out.append(algorithm.round(problem, out[-1], draw._replace(xi=lambda k, v=sample: v * (k + 1)) if noise else draw))
    return out


VARIANTS = [pytest.param(i.but(algorithm=a), id=f"{i.name}, {type(a).__name__}") for i in recorded_rounds
            for a in (i.algorithm, bugs.server_moves_first(i.algorithm), bugs.one_sample_a_round(i.algorithm)) if a is not None]


@pytest.mark.parametrize("i", VARIANTS)
def test_the_recorded_round_is_the_round(i):
    for a, b in zip(states(recorded(i), noise=True), states(i, noise=True), strict=True):
        for leaf in b._fields:
            assert (getattr(a, leaf) == getattr(b, leaf)).all()


@pytest.mark.parametrize("instance", recorded_rounds, ids=lambda i: i.name)
def test_without_noise_the_stored_gradient_says_the_point(instance):
    for s in states(recorded(instance)):
        z, g = to_fractions(s.z)[:, 0], to_fractions(s.g)[:, 0]
        assert all(v == gradient / h + c for v, gradient, h, c in zip(z, g, curvatures(instance), centres(instance), strict=True))


def test_the_spread_is_a_form_of_the_state():
    i = recorded(recorded_rounds[0])
    op = i.op_anywhere
    state = np.array([Q(k * k, 3) for k in range(op.dimension)], dtype=object)
    at = dict(zip(op.reach.names, state, strict=True))
    assert state @ spread_form(op.reach.names) @ state == sum((at["x[0]"] - at[f"z[{k}][0]"]) ** 2 for k in range(i.n))


def test_one_bug_is_unbiased():
    i = recorded_rounds[1]
    wrong = i.but(algorithm=bugs.one_sample_a_round(i.algorithm))
    assert all((a == b).all() for a, b in zip(i.op.mean_map(), wrong.op.mean_map(), strict=True))
    assert i.op.floor() != wrong.op.floor()
