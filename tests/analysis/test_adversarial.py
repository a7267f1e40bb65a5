"""The largest drift over bounded gradients: against closed forms, signs one by one, and coded rounds."""
import itertools
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput, NotAffine

ETA = Q(1, 10)


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_plain_steps_drift_by_their_number(steps):
    found = ft.adversarial(ft.FedAvg(ETA, steps), 3, [{1: steps}])
    assert found.value == found.reached == ETA * steps
    assert set(found.worst) == {(0, k, 1) for k in range(steps)}


def test_heavy_ball_and_proximal_steps_by_their_accumulated_weights():
    heavy = ft.adversarial(ft.FedAvg(ETA, 3, ft.Momentum(Q(1, 2))), 1, [{0: 3}])
    assert heavy.value == ETA * (1 + (1 + Q(1, 2)) + (1 + Q(1, 2) + Q(1, 4)))
    prox = ft.adversarial(ft.FedProx(ETA, 3, mu=1), 1, [{0: 3}])
    assert prox.value == ETA * (1 + Q(9, 10) + Q(81, 100))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_control_variates_let_a_client_drift_nearly_three_times_as_far(n):
    steps = 4
    full = dict.fromkeys(range(n), steps)
    for algorithm in (ft.Scaffold(ETA, steps), ft.FedResAvg(ETA, steps, personal_lr=1)):
        found = ft.adversarial(algorithm, n, [full, {0: steps}])
        assert found.value == found.reached == ETA * steps * (3 - Q(2, n))


def test_no_signs_do_better():
    n, steps = 2, 2
    algorithm = ft.Scaffold(ETA, steps).to(ft.RATIONAL)
    problem = ft.Quadratic.from_linear([[[0]]] * n, [[0]] * n).to(ft.RATIONAL)
    found = ft.adversarial(ft.Scaffold(ETA, steps), n, [{0: 2, 1: 2}, {0: 2}])
    most = 0
    for signs in itertools.product((-1, 1), repeat=8):
        xi = ft.RATIONAL.array(np.array(signs).reshape(2, 2, n, 1))
        state = algorithm.init(problem, ft.RATIONAL.array([0]))
        for r, present in enumerate(([1, 1], [1, 0])):
            old, draw = state.x, ft.everyone(n, steps, np.array(present))
            state = algorithm.round(problem, state, draw._replace(xi=lambda k, r=r, xi=xi: xi[r, k]))
        most = max(most, abs(ft.fraction((state.x - old)[0])))
    assert most == found.value


def test_weights_and_memories():
    found = ft.adversarial(ft.FedAvg(ETA, 2), 2, [{0: 2, 1: 2}], weights=["1/4", "3/4"])
    assert found.value == ETA * 2
    own = ft.adversarial(ft.FedResSgd(ETA, 3, personal_lr="1/7"), 2, [{0: 3, 1: 3}], leaf="theta", client=1)
    assert own.value == own.reached == Q(3, 7)


def test_a_stated_supremum_is_compared():
    found = ft.adversarial(ft.FedAvg(ETA, 2), 1, [{0: 2}])
    assert found.compared("1/5").status == "HOLDS"
    assert found.compared("1/4").status == found.compared("1/6").status == "FALSIFIED"


@pytest.mark.parametrize(("given", "says"), [
    ({"rounds": []}, "at least one round"), ({"rounds": [{}]}, "local steps"), ({"rounds": [{3: 1}]}, "local steps"),
    ({"n": 0}, "int >= 1"), ({"algorithm": "sgd"}, "not linear"), ({"algorithm": ft.AsyncFedED}, "not linear")])
def test_bad_input(given, says):
    with pytest.raises(BadInput, match=says):
        ft.adversarial(**{"algorithm": ft.FedAvg(ETA, 1), "n": 1, "rounds": [{0: 1}]} | given)


def test_too_many_gradients():
    with pytest.raises(ft.TooLarge, match="free numbers"):
        ft.adversarial(ft.FedAvg(ETA, 1000), 100, [dict.fromkeys(range(100), 1000)])
    assert issubclass(NotAffine, ft.FLTheoryError)


@pytest.mark.parametrize("algorithm", [ft.FedResAvg(ETA, 2, personal_lr=1, start="warm"), ft.Focus(ETA, 2, init="warm")],
                         ids=["residual", "focus"])
def test_a_start_that_takes_gradients_is_refused(algorithm):
    """Its control variates can pull in the first round already, by gradients that no round hands in."""
    with pytest.raises(BadInput, match="start takes gradients"):
        ft.adversarial(algorithm, 2, [{0: 2, 1: 2}])
