"""Participation that changes with the round: its law, its operator against a run, and refusals."""
from fractions import Fraction as Q

import numpy as np
import pytest

from fltheory.algorithms.focus import Focus
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.errors import BadInput
from fltheory.core.laws.base import RandomSteps
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform, WithReplacement
from fltheory.core.laws.modes import Cyclic
from fltheory.core.laws.periodic import Periodic
from fltheory.core.problems.quadratic import Quadratic
from fltheory.derivation import derive
from fltheory.runs.streams import Stream

P = ("9/10", "1/2", "1/20")


def problem():
    return Quadratic([[[1]], [[3]], [[10]]], [[1], [-1], [2]])


def test_each_round_has_its_own_probabilities():
    law = Periodic([Bernoulli(P), Uniform(1), Full()])
    assert law.inclusion(3, 0) == [Q(9, 10), Q(1, 2), Q(1, 20)]
    assert law.inclusion(3, 1) == [Q(1, 3)] * 3 and law.inclusion(3, 2) == [1] * 3
    assert law.inclusion(3) == [(Q(v) + Q(1, 3) + 1) / 3 for v in P]


def test_a_period_of_one_is_the_law_itself():
    for law in (Bernoulli(P), Uniform(2), Bernoulli(P, "skip"), Bernoulli(P, "redraw")):
        a, b = (derive(Focus("1/100", 2), problem(), w) for w in (law, Periodic([law])))
        assert a.mean_square_rate() == pytest.approx(b.mean_square_rate(), rel=1e-12)


def test_certain_rounds_are_a_schedule():
    laws = [Bernoulli([1, 1, 1]), Full()]
    a = derive(FedAvg("1/20", 2), problem(), Periodic(laws)).exact().fixed_point().x
    b = derive(FedAvg("1/20", 2), problem(), Cyclic([(0, 1, 2), (0, 1, 2)])).exact().fixed_point().x
    assert a.tolist() == b.tolist()


def test_steps_may_change_with_the_round():
    law = Periodic([Full(steps=2), Full(steps=(1, 2, 3))])
    assert law.steps_of(3, 0).tolist() == [2, 2, 2] and law.steps_of(3, 1).tolist() == [1, 2, 3]


def test_random_steps_of_the_whole_sequence_are_drawn():
    law = Periodic([Full(), Full(steps=3)], steps=RandomSteps([("1/2", 1), ("1/2", 4)]))
    draw, mode = law.sample(Stream(1), 3, 50, np.ones(50, dtype=np.int64))
    assert (mode == 0).all() and set(draw.steps.reshape(-1).tolist()) == {1, 4}
    assert set(np.ravel(law.sample(Stream(1), 3, 50, mode)[0].steps).tolist()) == {3}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [FedAvg("1/50", 2), Focus("1/200", 2)], ids=["FedAvg", "FOCUS"])
def test_a_run_agrees_with_the_exact_floor(algorithm):
    runs = pytest.importorskip("fltheory.runs")
    law = Periodic([Bernoulli(P), Uniform(1), Full()])
    op = derive(algorithm, problem(), law, noise="1/2")
    trace = runs.run(algorithm, problem(), law, rounds=300, replicates=4000, noise="1/2")
    assert trace.floor(level=1 - 1e-4).contains(op.floor())
    assert trace.audit < 1e-12


@pytest.mark.parametrize(("make", "words"), [
    (lambda: Periodic([]), ["at least one round"]),
    (lambda: Periodic([Bernoulli]), ["memoryless"]),
    (lambda: Periodic([WithReplacement(2)]), ["without repeats"]),
    (lambda: Periodic([Cyclic([(0,), (1,)])]), ["memoryless"]),
    (lambda: Periodic([Full(noise=1)]), ["Give them to Periodic"]),
    (lambda: Periodic([Bernoulli(P, "skip"), Full()]), ["skipped in all rounds or in none"]),
    (lambda: Periodic([Full(steps=1)]).with_steps(2), ["Give them once"]),
])
def test_refusals(make, words):
    with pytest.raises(BadInput) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


def test_sampled_masks_are_of_the_round():
    from fltheory.runs.streams import Stream
    law = Periodic([Uniform(1, steps=1), Full(steps=1)])
    draw, mode = law.sample(Stream(0), 3, 50, np.ones(50, dtype=np.int64))
    assert (mode == 0).all() and (draw.present.sum(-1) == 1).all()
    draw, mode = law.sample(Stream(0), 3, 50, mode)
    assert (mode == 1).all() and (draw.present == 1).all()
