"""Sums in proofs, over clients, with weights, over rounds; multipliers without a pole; facts tried at numbers."""
from fractions import Fraction as Q

import pytest

from fltheory.core.numbers.scalars import fraction
from fltheory.proofs.argument import Proof


def start():
    p = Proof("L n", "v v2 V sigma2 count", vectors="g")
    return p, p.given("one", p("L") * p("sigma2") - p("v"))


def test_a_weighted_sum_multiplies_what_is_common_by_the_sum_of_the_weights():
    p, one = start()
    total = p.total("all", one, {"v": "V"}, "count", "sigma2", "weights w_i >= 0 with sum count", "local steps")
    assert total.expression == p("L") * p("sigma2") * p("count") - p("V")
    assert p.steps[-1].rule == "sum over local steps"
    assert p.conclude(total).status == "HOLDS"


def test_a_sum_refuses_what_differs_between_clients_and_is_not_summed():
    p, one = start()
    p.total("all", one, {"v": "V"}, "n", says="sigma2 of each client")
    assert p.steps[-1].status == "INCONCLUSIVE"
    assert "sigma2" in p.steps[-1].detail


def test_a_sum_refuses_products_of_two_numbers_of_a_client():
    p = Proof("L", "v w V W")
    p.total("all", p.given("product", p("v") * p("w")), {"v": "V", "w": "W"}, 1)
    assert p.steps[-1].detail == "it is not linear in what is averaged"


@pytest.mark.parametrize("number", [Q(1, 2), 0.5])
def test_facts_are_tried_at_exact_numbers_and_floats(number):
    p, _ = start()
    p.given("norm", p("L") ** 2 * p("g").square / p("n") - p("v"))
    found = {fact.name: value for fact, value in p.tested({"L": 2, "n": 4, "v": number, "sigma2": 1}, {"g": [1, 2], "other": [1]})}
    assert found == {"one": 2 - number, "norm": 5 - number}
    assert p.tested({"v": number}) == []


def test_a_pole_is_no_test():
    p, _ = start()
    p.given("inverse", 1 / p("n"))
    assert [fact.name for fact, _ in p.tested({"n": 0})] == []
    assert [v for _, v in p.tested({"n": fraction("1/3")})] == [3]


def test_an_equality_times_a_pole_proves_nothing():
    p = Proof("L", "v", "x y")
    zero = p.given("equal", p("x") - p("y"), equality=True)
    p.follows("anything", -p("L"), (-p("L") / (p("x") - p("y")), zero))
    assert "pole" in p.steps[-1].detail
    p.follows("their squares", p("x") ** 2 - p("y") ** 2, ((p("x") + p("y")) / (1 + p("L")), zero, 1 + p("L")))
    assert p.steps[-1].status == "HOLDS"
