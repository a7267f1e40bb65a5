"""An instance reads as code that makes it again; a witness as a cell that checks it again."""

import sys
import types
from dataclasses import dataclass, replace

import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from fltheory.core.numbers.scalars import fraction
from fltheory.verdicts.search.rebuild import text
from tests.verdicts.claims.cells import PROBLEM, about, always, cell, never, refuted, simple, theorem


def test_the_code_of_a_witness_rebuilds_it_and_checks_it_again():
    pytest.importorskip("hypothesis")
    claim, result = refuted()
    space = cell(result.code(), my_theorem=claim)
    assert text(space["witness"]) == text(result.witness)
    assert space["verdict"].word == "FALSE"
    with pytest.raises(AssertionError):  # the check can fail
        cell(result.code(), my_theorem=theorem("Scaffold").__class__("other", always, ()))


def test_the_code_names_the_claim_as_the_notebook_does_and_not_by_an_old_output(monkeypatch):
    claim, result = refuted()
    notebook = types.ModuleType("a notebook")
    notebook.__dict__.update({"___": claim, "_7": claim, "renamed": claim})
    monkeypatch.setitem(sys.modules, "a notebook", notebook)
    assert "verdict = renamed.check(on=[witness])" in result.code()
    notebook.my_theorem = claim
    assert "verdict = my_theorem.check(on=[witness])" in result.code()
    unnamed = replace(result, claim=ft.claim("unnamed", on=[simple()])(lambda i: ft.equal(1, 2)))
    assert "verdict = claim.check(on=[witness])" in unnamed.code()


def some_instances():
    linear = ft.Quadratic.from_linear([[[2, 0], [0, 0]]], [[1, 0]], offset=["1/3"])
    yield simple(problem=linear, x0=["1/2", -1], noise="1/7", simulate={"rounds": 3, "seed": 1}, T=None)
    yield simple(domain=ft.Balls(128), law=ft.Bernoulli(["1/2", "1/3"], empty="skip"), taus=(2,), target=PROBLEM)
    yield simple(domain=ft.FLOAT, algorithm=ft.FedProx("1/9", None, alpha="1/2"), law=ft.Full(steps=(1, 2)), low=0.25)
    yield simple(law=ft.Replay([((0,), 2), ((0, 1), (1, 2))]), algorithm=ft.Focus("1/9", init="warm"))
    yield ft.Instance("bare", k=3, text="it's", flag=True, none=None, array=PROBLEM.c)


@pytest.mark.parametrize("instance", list(some_instances()), ids=lambda i: i.name)
def test_an_instance_reads_as_code_that_makes_it_again(instance):
    code = text(instance)
    again = cell(f"again = {code}")["again"]
    assert text(again) == code
    assert (fraction(again.noise), again.domain) == (fraction(instance.noise), instance.domain)
    assert again.extra.keys() == instance.extra.keys()
    if instance.law is not None:
        assert (again.algorithm, again.law) == (instance.algorithm, instance.law)
        assert (again.problem.H == instance.problem.H).all()
        assert (again.problem.b == instance.problem.b).all()
        assert (again.problem.offset == instance.problem.offset).all()


@dataclass(frozen=True)
class Mine(ft.FedAvg):
    """An algorithm of the reader's own."""


def test_code_imports_the_readers_own_classes_and_refuses_what_cannot_be_written():
    pytest.importorskip("hypothesis")
    claim = about(never, simple(algorithm=Mine("1/20", 2)))
    code = claim.search(seconds=None, tries=5).code()
    assert f"from {__name__} import Mine" in code
    assert "Mine(lr=1, steps=1)" in code

    @dataclass(frozen=True)
    class Local(ft.FedAvg):
        """Nobody can import it."""

    result = about(never, simple(algorithm=Local("1/20", 2), note=print)).search(seconds=None, tries=5)
    assert result.found
    with pytest.raises(BadInput, match="cannot be imported"):
        result.code()
    assert "cannot be imported" in result._repr_html_()
