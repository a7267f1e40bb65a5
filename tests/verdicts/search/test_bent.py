"""The second default family of a search: Huber losses, for claims that run on them."""
from fractions import Fraction as Q

import pytest

import fltheory as ft
from fltheory.core.errors import NotAffine
from fltheory.core.laws.draw import everyone
from fltheory.core.numbers.scalars import is_rational
from fltheory.verdicts.search import drawing
from fltheory.verdicts.search.search import Family, explore
from tests.verdicts.claims.cells import Clock, about, always, cell, simple, theorem

pytest.importorskip("hypothesis")

CODE = '''
import numpy as np
from fltheory.core.laws.draw import everyone
from fltheory.core.numbers.scalars import RATIONAL


def moved(i, x):
    """The server model after one coded round from x (d equal numbers), in rationals."""
    problem, algorithm = i.problem.to(RATIONAL), i.algorithm.to(RATIONAL)
    state = algorithm.init(problem, RATIONAL.array(np.array([x] * problem.d, dtype=object)))
    return algorithm.round(problem, state, everyone(problem.n, np.array([1] * problem.n))).x


@ft.claim("affine", on=[ft.Instance("two clients", PROBLEM, ft.FedAvg("1/20", 1), ft.Full())])
def affine(i):
    """One round of gradient steps is an affine map: true of quadratics, not of losses in general."""
    return ft.equal(moved(i, 9) - moved(i, 0), 9 * (moved(i, 1) - moved(i, 0)))


@ft.claim("descent", on=[ft.Instance("two clients", PROBLEM, ft.FedAvg("1/20", 1), ft.Full())])
def descent(i):
    """A gradient step of at most 1/L does not raise the objective."""
    problem = i.problem.to(RATIONAL)
    return ft.at_most(problem.value(moved(i, 5)), problem.value(RATIONAL.array(np.array([5] * problem.d, dtype=object))))
'''


def test_a_statement_that_only_quadratics_obey_is_refuted_by_a_small_witness_that_runs():
    space = cell(CODE)
    result = space["affine"].search(seconds=None, tries=40)
    assert (result.found, result.exact, list(result.families)) == (True, True, ["quadratics", "Huber losses"])
    assert (result.witness.problem.n, result.witness.problem.d) == (1, 1)
    assert type(result.witness.problem) is ft.HuberLoss
    for shown in (str(result), result._repr_html_()):
        assert "these losses are no quadratics" in shown
    assert "ft.HuberLoss(U=[[[1]]], offsets=[[" in result.code()
    exec(compile(result.code(), "<witness>", "exec"), {"affine": space["affine"]})  # asserts FALSIFIED


def test_a_true_statement_survives_in_both_families():
    result = cell(CODE)["descent"].search(seconds=None, tries=25)
    assert not result.found and result.error == "" and result.left_out == {}
    assert {k: v >= 20 for k, v in result.families.items()} == {"quadratics": True, "Huber losses": True}


def test_where_the_claim_needs_an_operator_the_family_is_left_out_and_that_is_said():
    result = theorem("Scaffold").search(seconds=None, tries=10)
    assert list(result.families) == ["quadratics"]
    assert result.left_out["Huber losses"].startswith(NotAffine.__name__)
    assert "Huber losses left out, the claim does not run there: NotAffine" in str(result)
    assert "Huber losses left out" in result._repr_html_()


def test_where_the_claim_breaks_off_on_some_huber_losses_only_nothing_else_is_lost():
    def body(i):
        """Runs on one dimension only, and on every quadratic."""
        if type(i.problem) is ft.HuberLoss and i.problem.d > 1:
            raise RuntimeError("only the line")
        return ft.equal(1, 1)
    result = about(body, simple()).search(seconds=None, tries=20)
    assert result.error == "" and not result.found and result.families["quadratics"] >= 15
    assert "RuntimeError: only the line" in result.left_out["Huber losses"] and result.witness is None


def test_draws_are_admissible_exact_and_not_quadratic():
    like = simple(algorithm=ft.FedAvg("1/20", [1, 2]), x0=["1/3"], noise="1/7", T=40, eta=Q(1, 20))
    seen = []

    def body(i):
        """Remembers."""
        seen.append(i)
        return ft.equal(1, 1)
    claim = about(body, like)
    explore(claim, drawing.bent(claim, Family), 60)
    assert {i.problem.n for i in seen} == {1, 2, 3, 4} and {i.problem.d for i in seen} == {1, 2, 3}
    for i in seen:
        assert type(i.problem) is ft.HuberLoss and i.problem.native is ft.RATIONAL
        assert i.problem.constants.mu > 0
        assert 0 < i.algorithm.lr * i.problem.constants.L <= Q(1001, 1000)  # L is bounded from above
        assert (i.T, i.eta, len(i.x0), i.noise > 0) == (40, i.algorithm.lr, i.problem.d, True)
        problem, algorithm = i.problem.to(ft.RATIONAL), i.algorithm.to(ft.RATIONAL)
        start = algorithm.init(problem, ft.RATIONAL.array([Q(v) for v in i.x0]))
        moved = algorithm.round(problem, start, everyone(i.problem.n, 2)).x
        assert is_rational(moved[0]) and len(moved) == i.problem.d
    assert len({str(i.problem.rows) for i in seen}) > 10


@pytest.mark.parametrize("problem", [
    ft.HuberLoss([[[1, 0]], [[1, 2], [0, 1]]], [[0], [1, "1/2"]]),
    ft.HuberLoss([[[1]], [[2]]], [["1/3"], [0]], deltas=[["1/2"], [3]], scales=2, reg="1/4", weights=["1/3", "2/3"]),
], ids=["plain", "everything"])
def test_a_huber_problem_is_written_and_read_back(problem):
    from fltheory.verdicts.search.rebuild import text
    back = eval(text(simple(problem=problem)), {"ft": ft, "Q": Q}).problem
    assert type(back) is ft.HuberLoss and list(back.sizes) == list(problem.sizes)
    for name in ("rows", "targets", "scale", "ridge", "weights"):
        assert (getattr(back, name) == getattr(problem, name)).all(), name


def test_the_same_tries_give_the_same_result():
    first, second = (cell(CODE)["affine"].search(seconds=None, tries=30) for _ in range(2))
    assert (first.code(), first.tries, first.families) == (second.code(), second.tries, second.families)


def test_time_is_shared_by_both_families(monkeypatch):
    Clock(monkeypatch)
    result = about(always, simple()).search(seconds=0.6)
    assert set(result.families) == {"quadratics", "Huber losses"} and min(result.families.values()) > 0


def test_numbers_that_may_not_be_zero_shrink_to_their_own_value():
    """A server step of 0 is refused: the plainest draw once failed there, and the family was tried in vain."""
    simplest = drawing.plainest(theorem("Scaffold"))
    assert (simplest.algorithm.server_lr, type(simplest.problem)) == (1, ft.HuberLoss)
