"""Faults of the engine are really planted, really gone afterwards, and count as noticed only where a verdict turns."""
import functools

import pytest

import fltheory as ft
from fltheory.core import relations
from fltheory.core.laws.memoryless import Bernoulli
from fltheory.core.statistics import Interval
from fltheory.runs.streams import Stream
from fltheory.verdicts.claims.claim import Claim
from fltheory.verdicts.deciding.check import apply_bug, check, check_instance
from verification.engine.planting import CannotPlant, Fault, planted

HALF = ft.Quadratic([[[1]], [[3]]], [[0], [1]])
RIGHT = Fault("equal-always", "core.relations", "status = FALSIFIED if wrong else HOLDS", "status = HOLDS", "says yes")


def instance(**more):
    return ft.Instance("two", HALF, ft.FedAvg("1/20", 2), ft.Full(), **more)


def test_references_taken_before_run_the_wrong_line_too():
    taken = relations.equal
    assert taken(1, 2).status == "FALSIFIED"
    with RIGHT.planted():
        assert taken(1, 2).status == ft.equal(1, 2).status == "HOLDS"
    assert taken(1, 2).status == "FALSIFIED"


def test_the_line_comes_back_after_an_error():
    with pytest.raises(ZeroDivisionError), RIGHT.planted():
        1 / 0  # noqa: B018
    assert ft.equal(1, 2).status == "FALSIFIED"


def test_what_functions_remember_is_forgotten_on_both_sides():
    fault = Fault("count", "core.laws.memoryless", "nobody = math.prod((1 - v for v in p), start=Fraction(1))",
                  "nobody = math.prod((v for v in p), start=Fraction(1))", "wrong mass of the empty round")
    right = Bernoulli("1/4").feature_moments(3)[2]
    with planted(fault):
        wrong = Bernoulli("1/4").feature_moments(3)[2]
    assert right == Bernoulli("1/4").feature_moments(3)[2] != wrong


def test_methods_properties_and_decorated_functions_are_reached():
    for module, old, new in (
        ("core.statistics", "return self.value - self.half_width", "return 7"),                                  # a property
        ("core.relations", "if len(top) > 1 or len(bottom) > 1:", "if top is None:"),             # wrapped
        ("core.laws.memoryless", "law = [Fraction(1)]", "law = [Fraction(2)]"),
    ):
        with Fault("x", module, old, new, "").planted():
            pass
    interval = Interval(3.0, 1.0, 0.9, 300)
    with Fault("low", "core.statistics", "return self.value - self.half_width", "return 7", "").planted():
        assert interval.low == 7
    assert interval.low == 2.0


def test_functions_made_by_a_decorator_are_reached():
    fault = Fault("quiet", "core.relations", "return relation(*args, **options)", "return 5", "")
    with fault.planted():
        assert ft.equal(1, 2) == 5
    assert ft.equal(1, 2).status == "FALSIFIED"


def test_a_part_of_a_line_names_it_if_it_stands_nowhere_else():
    with Fault("part", "core.relations", "FALSIFIED if wrong else HOLDS", "HOLDS", "").planted():
        assert ft.equal(1, 2).status == "HOLDS"
    assert ft.equal(1, 2).status == "FALSIFIED"
    with pytest.raises(CannotPlant), Fault("often", "core.relations", "HOLDS", "FALSIFIED", "").planted():
        pass


def test_a_constant_of_a_module_can_be_wrong():
    with Fault("tol", "core.relations", relations_line("FLOAT_TOLERANCE"), "FLOAT_TOLERANCE = 1e3", "").planted():
        assert ft.equal(1.0, 2.0).status == "HOLDS"
    assert ft.equal(1.0, 2.0).status == "FALSIFIED"


def relations_line(name):
    import inspect
    return next(line for line in inspect.getsource(relations).splitlines() if line.startswith(name)).strip()


@pytest.mark.parametrize(("old", "new"), [
    ("no such line", "pass"), ("import functools", "import os"), ("@_worded", "")], ids=["gone", "import", "often"])
def test_a_fault_that_does_not_apply_is_refused(old, new):
    with pytest.raises(CannotPlant), Fault("x", "core.relations", old, new, "").planted():
        pass


# ---- as a mutant of a claim -------------------------------------------------------------------------------
def decided(body, on, *faults, **more):
    return check(Claim("inner", body, tuple(on), rejects=faults, **more), search=False)


def status(verdict):
    return [(m.kind, m.status) for m in verdict.mutants]


SERVER = "return x + (shares(cohort, draw.present, self.averaging)[..., None] * change).sum(-2)"
RATE = Fault("rate", "core.algorithms.fedavg", SERVER, SERVER + " / 2", "half a server step")


def test_a_fault_counts_where_a_true_statement_falls():
    assert status(decided(lambda i: ft.equal(i.op.rate(), 0.8125), [instance()], RATE)) == [("engine", "killed")]
    assert status(decided(lambda i: ft.equal(i.op.dimension, 1), [instance()], RATE))[0][1] != "killed"


def test_operators_known_before_are_derived_again():
    here = instance()
    assert here.op.rate() == pytest.approx(0.8125)
    carrying = apply_bug(RATE, here)
    assert "op" not in vars(carrying) and carrying.problem is not here.problem and "_converted" not in vars(carrying.problem)
    inner = Claim("inner", lambda i: ft.equal(i.op.rate(), 0.8125), (here,))
    assert check_instance(inner, carrying).status == "FALSIFIED"
    assert check_instance(inner, here).status == "HOLDS"


def test_a_false_statement_that_loses_its_witness_counts():
    verdict = decided(lambda i: ft.equal(1, 2), [instance()], RIGHT)
    assert verdict.word == "FALSE" and status(verdict) == [("engine", "killed")] and not verdict.surprises()
    verdict = decided(lambda i: ft.equal(1, 2), [instance()], RATE)
    assert verdict.surprises() == ["mutant rate survived"]


def test_errors_and_undecided_comparisons_do_not_count():
    broken = Fault("broken", "core.algorithms.fedavg", SERVER, "return 1 / 0", "an error")
    assert status(decided(lambda i: ft.equal(i.op.rate(), 0.8125), [instance()], broken)) == [("engine", "survived")]
    undecided = Fault("undecided", "core.relations", RIGHT.old, "status = INCONCLUSIVE", "decides nothing")
    verdict = decided(lambda i: ft.equal(1, 1), [instance()], undecided)
    assert status(verdict) == [("engine", "survived")] and verdict.powerless


def test_afresh_keeps_arithmetic_and_drops_memory():
    law = ft.Ages(ft.Full(), 2, 2)
    here = ft.Instance("a", HALF, ft.FedAvg("1/20", 2), law, others=[HALF], domain=ft.RATIONAL)
    assert law.modes >= 1 and "_table" in vars(law)
    HALF.to(ft.RATIONAL)
    new = here.afresh()
    assert new.domain is ft.RATIONAL and new.law == law and "_table" not in vars(new.law)
    assert "_converted" not in vars(new.problem) and "_converted" not in vars(new.others[0])
    assert isinstance(vars(type(law))["_table"], functools.cached_property)


def test_afresh_drops_what_runs_remember():
    problem, law = ft.Quadratic([[[1]], [[3]]], [[0], [1]]), ft.EventClock((1, 2), 2, spread="1/2")
    here = ft.Instance("a", problem, ft.FedAvg("1/20"), law, noise=1, simulate={"rounds": 2, "collapsed": True})
    law.sample(Stream(0), 2, 1)
    assert here.run.rounds == 2 and {"_cached_collapse", "_cached_minimiser"} <= set(vars(problem)) and vars(law)["_known"]
    new = here.afresh()
    assert not [k for record in (new.problem, new.law) for k in vars(record) if k.startswith("_cached") or k == "_known"]
