"""The numbers of an instance in words, and that the record of a failing instance holds them."""

from fractions import Fraction

import numpy as np

import fltheory as ft
from fltheory.verdicts.deciding.at_instance import data
from tests.verdicts.claims.examples import X, always, equal


def quadratic(h, c):
    return ft.Quadratic(np.array(h, dtype=object).reshape(-1, 1, 1), np.array(c, dtype=object).reshape(-1, 1))


def instance(**changes):
    given = {"problem": quadratic([1, 1, 2], [0, 1, -1]), "algorithm": ft.FedProx("1/7", steps=(1, 2, 5), mu=3),
             "law": ft.Uniform(2)}
    return ft.Instance("one", **{**given, **changes})


def test_the_numbers_of_an_instance():
    found = data(instance(noise="1/2", x0=3, eta=Fraction(1, 7), rounds=9, words="none"))
    assert found["$H_i$"] == "1 (2 clients), 2" and found["minimisers $c_i$"] == "0, 1, -1"
    assert found["weights $p_i$"] == "1/3 (3 clients)"
    assert found["step size"] == "1/7" and found["local steps"] == "(1, 2, 5)"
    assert found["local solver"] == "Proximal(mu=3)"
    assert found["participation"] == "Uniform(m=2)" and found["noise"] == "1/2" and found["start $x_0$"] == "3"
    assert found["rounds"] == "9" and "eta" not in found and "words" not in found


def test_an_extra_that_says_something_else_stays():
    assert data(instance(eta=Fraction(1, 9)))["eta"] == "1/9"


def test_matrices_many_clients_and_bare_instances():
    plane = ft.Quadratic([[[2, 0], [0, 1]]] * 2, [[1, 0], [0, 1]])
    assert data(instance(problem=plane, algorithm=None))["$H_i$"] == "((2, 0), (0, 1)) (2 clients)"
    many = data(ft.Instance("many", problem=quadratic(range(1, 41), [0] * 40)))
    assert many["$H_i$"].endswith("12, ...") and many["minimisers $c_i$"] == "0 (40 clients)"
    assert data(ft.Instance("bare")) == {} and data(ft.Instance("numbers", n=2)) == {"n": "2"}


def test_other_problems_and_symbols():
    huber = ft.HuberLoss([[[1]], [[2]]], [[0], [1]])
    assert data(ft.Instance("huber", problem=huber))["problem"] == "HuberLoss, 2 clients in dimension 1"
    assert data(ft.Instance("free", algorithm=ft.FedAvg(X, steps=2)))["step size"] == "x"


def test_the_record_of_a_failing_instance_carries_them():
    wrong = always(equal(1, 2), on=[instance()]).check().records()[1]
    assert wrong["status"] == "FALSIFIED" and wrong["data"]["step size"] == "1/7"
    assert always(equal(1, 1), on=[instance()]).check().records()[1]["data"] == {}
