"""Worst cases against closed forms, against each other, and against the functions that attain them."""
from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput, TooLarge
from fltheory.worstcase import certificate as certificates

pytest.importorskip("cvxpy")
pytest.importorskip("flint")

KIND = ft.SmoothConvex(1, "1/10")
FAR = ["distance", lambda s: s.mean_square(s.grads(s.star)) <= 1]


# ---- closed forms ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_gradient_descent_on_convex_functions_has_the_value_of_drori_and_teboulle(steps):
    found = ft.worst_case(ft.FedAvg(1, steps), ft.SmoothConvex(1), measure="gap")
    assert found.value == pytest.approx(1 / (4 * steps + 2), abs=1e-7)
    assert Q(1, 4 * steps + 2) <= found.bound <= Q(1, 4 * steps + 2) + Q(1, 10**6)


@pytest.mark.parametrize(("lr", "steps"), [("1/5", 1), (1, 2), ("3/2", 3)])
def test_gradient_descent_on_strongly_convex_functions_contracts_as_on_quadratics(lr, steps):
    rate = max(abs(1 - Q(lr)), abs(1 - Q(lr) / 10)) ** (2 * steps)
    for kind in (KIND, ft.QuadraticClass(1, "1/10")):
        found = ft.worst_case(ft.FedAvg(lr, steps), kind)
        assert found.value == pytest.approx(float(rate), abs=1e-6) and rate <= found.bound <= rate + Q(1, 10**5)


def test_one_smooth_step_leaves_the_gradient_of_the_descent_lemma():
    # F(x) - F(x+) >= (1 - lr L / 2) lr |g|^2, with equality for the concave-convex extremes
    found = ft.worst_case(ft.FedAvg("1/2", 1), ft.Smooth(1), measure=lambda s: s.F(s.next) - s.F(s.x), initial=lambda s:
                          s.square(s.grad(s.x)).equals(1))
    assert found.value == pytest.approx(-(1 - 0.25) / 2, abs=1e-7)


# ---- two routes -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [2, 3])
def test_counted_clients_have_the_value_of_listed_ones(count):
    listed = ft.worst_case(ft.FedAvg("1/5", 2), KIND, clients=count, initial=FAR)
    counted = ft.worst_case(ft.FedAvg("1/5", 2), KIND, counts=[count], initial=FAR)
    assert listed.value == pytest.approx(counted.value, abs=1e-7)


def test_ten_thousand_counted_clients_cost_what_two_cost():
    few, many = (ft.worst_case(ft.FedAvg("1/5", 3), KIND, counts=[n], initial=FAR) for n in (2, 10_000))
    assert many.size == few.size and many.certificate is not None and many.recheck()


def test_quadratics_are_no_worse_than_convex_functions():
    convex = ft.worst_case(ft.FedAvg("1/5", 3), KIND, clients=2, initial=FAR)
    quadratic = ft.worst_case(ft.FedAvg("1/5", 3), ft.QuadraticClass(1, "1/10"), clients=2, initial=FAR)
    assert quadratic.value < convex.value - 1e-3


def test_a_uniform_cohort_of_all_is_full_participation():
    full = ft.worst_case(ft.FedAvg("1/5", 2), KIND, clients=2, initial=FAR)
    one, two = (ft.worst_case(ft.FedAvg("1/5", 2), KIND, ft.Uniform(m), clients=2, initial=FAR) for m in (1, 2))
    assert two.value == pytest.approx(full.value, abs=1e-8) and one.value > full.value + 1e-3


def test_noise_adds_its_variance_to_one_step():
    # |x - lr (g + v)|^2 has expectation |x - lr g|^2 + lr^2 sigma^2 / n
    found = ft.worst_case(ft.FedAvg("1/5", 1), KIND, clients=2, initial=FAR, noise=3)
    assert found.value == pytest.approx(0.98**2 + 3 / 25 / 2, abs=1e-7)


@pytest.mark.parametrize(("steps", "rounds", "vectors"), [(1, 1, 1), (2, 1, 1 + 2), (3, 1, 1 + 2 + 4), (1, 3, 1 + 2 + 4)])
def test_noise_may_depend_on_all_that_was_drawn_before(steps, rounds, vectors):
    found = ft.worst_case(ft.FedAvg("1/5", steps), KIND, rounds=rounds, noise=1, initial=FAR, certify=False)
    assert found.setting.programme().gram.leaves.count("noise of client 0") == vectors


def test_two_rounds_of_one_step_are_one_round_of_two_for_one_client():
    one, two = (ft.worst_case(ft.FedAvg("1/5", k), KIND, rounds=3 - k).value for k in (1, 2))
    assert one == pytest.approx(two, abs=1e-7)


# ---- certificates ---------------------------------------------------------------------------------------------------
PLAIN = ft.FedAvg("1/5", 2)
CASES = [(PLAIN, {}), (ft.FedProx("1/5", 2, mu="1/2"), {}), (ft.FedNova("1/5", (1, 2)), {}), (ft.Scaffold("1/5", 2), {}),
         (ft.Focus("1/20", 2), {}), (PLAIN, {"law": ft.Uniform(1)}), (PLAIN, {"rounds": 2})]


@pytest.mark.parametrize(("method", "given"), CASES, ids=lambda v: type(v).__name__)
def test_values_are_certified_and_attained(method, given):
    found = ft.worst_case(method, KIND, clients=2, initial=FAR, **given)
    assert found.status == "Solved" and 0 <= float(found.bound) - found.value <= 1e-5
    assert found.recheck()
    assert found.witness.attained == pytest.approx(found.value, abs=5e-5)
    assert found.witness.attained <= float(found.bound)


ATTAINED = [(ft.FedAvg("1/5", 1), 1), (ft.FedAvg("1/5", 2), 1), (ft.FedAvg("1/5", 2), 3), (ft.FedProx("1/5", 2, mu="1/2"), 2),
            (ft.FedProx("1/5", 3, mu=2), 2), (ft.FedNova("1/5", (1, 3)), 2), (ft.FedNova("1/5", (2, 1)), 2),
            (ft.Focus("1/20", 2), 2), (ft.Focus("1/10", (1, 2)), 2), (ft.Scaffold("1/10", 2), 2)]


@pytest.mark.parametrize("measure", ["distance", "gap"])
@pytest.mark.parametrize(("method", "clients"), ATTAINED, ids=lambda v: type(v).__name__)
def test_functions_attain_the_value_in_the_float_round(method, clients, measure):
    found = ft.worst_case(method, KIND, clients=clients, measure=measure, initial=FAR, certify=False)
    assert found.witness.attained == pytest.approx(found.value, abs=1e-5)


def test_a_perturbed_multiplier_is_rejected():
    found = ft.worst_case(ft.FedAvg("1/5", 2), KIND, clients=2, initial=FAR)
    programme, good = found.setting.programme(), found.certificate
    assert certificates.holds(programme, certificates.Certificate.from_json(good.to_json()))
    largest = max(range(len(good.multipliers)), key=lambda k: good.multipliers[k])
    for change in (-good.multipliers[largest], Q(1, 1000), -2 * good.multipliers[largest]):
        y = list(good.multipliers)
        y[largest] += change
        assert not certificates.holds(programme, replace(good, multipliers=tuple(y)))
    assert not certificates.holds(programme, replace(good, bound=good.bound - Q(1, 100)))
    assert not certificates.holds(programme, replace(good, multipliers=good.multipliers[:-1]))


def test_a_certificate_of_another_step_is_rejected():
    one, other = (ft.worst_case(ft.FedAvg(lr, 2), KIND, clients=2, initial=FAR) for lr in ("1/5", "1/9"))
    assert not certificates.holds(one.setting.programme(), other.certificate)


@pytest.mark.parametrize("data", [None, {}, {"bound": "x", "multipliers": []}, {"bound": "1", "multipliers": ["1/0"]}])
def test_what_is_no_certificate_is_refused(data):
    with pytest.raises(BadInput, match="certificate"):
        certificates.Certificate.from_json(data)


# ---- refusals -------------------------------------------------------------------------------------------------------
def test_the_direction_of_an_unbounded_measure_is_named():
    with pytest.raises(BadInput, match=r"without limit along .*gradient of client 0"):
        ft.worst_case(ft.FedAvg("1/5", 2), KIND, clients=2)


def test_a_solver_that_is_not_content_gives_no_value(monkeypatch):
    from fltheory.worstcase import programme
    right = programme.Programme.solve
    monkeypatch.setattr(programme.Programme, "solve", lambda self: replace(right(self), status="AlmostSolved"))
    found = ft.worst_case(ft.FedAvg("1/5", 2), KIND)
    assert (found.value, found.bound, found.status) == (None, None, "AlmostSolved") and not found.recheck()


@pytest.mark.parametrize(("given", "words"), [
    ({"classes": []}, "no class of functions"),
    ({"classes": [3]}, "no class of functions"),
    ({"clients": 0}, "int >= 1"),
    ({"rounds": 1.5}, "int >= 1"),
    ({"classes": [KIND, KIND], "clients": 3}, "2 classes"),
    ({"counts": [2, 3]}, "one per class"),
    ({"counts": [2], "law": ft.Uniform(1)}, "full participation"),
    ({"counts": [2], "noise": 1}, "no noise"),
    ({"law": ft.Cyclic([[0], [1]]), "clients": 2}, "modes"),
    ({"noise": -1}, "not negative"),
    ({"start": "warm"}, "or a function"),
    ({"measure": "loss"}, "function of the situation"),
    ({"measure": 3}, "function of the situation"),
    ({"initial": lambda s: True}, "no condition"),
    ({"initial": lambda s: s.square(s.next) <= 1}, "after the rounds"),
])
def test_what_has_no_meaning_is_refused(given, words):
    with pytest.raises(BadInput, match=words):
        ft.worst_case(ft.FedAvg("1/5", 1), **{"classes": KIND, **given})


def test_roots_are_refused():
    with pytest.raises(BadInput, match="AdaptiveServer cannot run on abstract vectors"):
        ft.worst_case(ft.AdaptiveServer("1/5", 2), KIND, clients=2, initial=FAR)


@pytest.mark.parametrize("make", [lambda: ft.SmoothConvex(0), lambda: ft.SmoothConvex(1, 1), lambda: ft.SmoothConvex(1, "-1/2"),
                                  lambda: ft.Smooth(-1), lambda: ft.Smooth(1, -2), lambda: ft.QuadraticClass(1, 2),
                                  lambda: ft.Dissimilar("1/2"), lambda: ft.Dissimilar(1, -1)])
def test_classes_with_impossible_constants_are_refused(make):
    with pytest.raises(BadInput):
        make()


def test_programmes_beyond_the_stated_size_are_refused():
    with pytest.raises(TooLarge, match="abstract vectors"):
        ft.worst_case(ft.FedAvg("1/5", 60), KIND, clients=2, initial=FAR)


def test_conditions_are_neither_true_nor_false():
    with pytest.raises(BadInput, match="neither true nor false"):
        ft.worst_case(ft.FedAvg("1/5", 1), KIND, initial=lambda s: [s.square(s.x) <= 1] if s.square(s.x) <= 1 else [])


# ---- ends -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("lr", "mu"), [(Q(1, 10**4), Q(1, 10)), (Q(1), Q(1, 10**8)), (Q(19, 10), Q(1, 2)), (Q(100), Q(1, 10))])
def test_small_steps_flat_functions_and_divergence(lr, mu):
    rate = float(max(abs(1 - lr), abs(1 - lr * mu)) ** 2)
    found = ft.worst_case(ft.FedAvg(lr, 1), ft.SmoothConvex(1, mu))
    assert found.value == pytest.approx(rate, rel=1e-6) and found.recheck()


def test_unequal_weights_and_unequal_classes():
    found = ft.worst_case(ft.FedAvg("1/5", 2), [ft.SmoothConvex(1, "1/10"), ft.SmoothConvex(4, "1/2")], weights=["9/10", "1/10"],
                          initial=FAR)
    assert found.recheck() and found.witness.attained == pytest.approx(found.value, abs=1e-4)
    assert np.allclose(found.witness.problem.p, [0.9, 0.1])
