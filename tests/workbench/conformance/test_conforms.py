"""`ft.conforms` on algorithms that a user wrote elsewhere: a file, a cell, a prompt; and what its report says."""
import importlib.util
import linecache
import re
import sys
from dataclasses import dataclass, replace
from fractions import Fraction as Q
from typing import ClassVar

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.algorithms.fedavg import State
from fltheory.core.errors import BadInput
from fltheory.core.numbers.arrays import spread
from fltheory.workbench.conformance import RULES
from fltheory.workbench.conformance.cases import Case

OWN = '''
from __future__ import annotations

from dataclasses import dataclass

from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import State, shares
from fltheory.core.numbers.arrays import spread
from fltheory.core.numbers.scalars import Number


def halve(v):
    return v / 2


@dataclass(frozen=True)
class Mine(Algorithm):
    """Plain local steps, damped."""

    damping: Number = "1/3"

    def init(self, problem, x0, draw=None):
        return State(x0)

    def round(self, problem, s, draw):
        cohort = problem.at(draw.who)
        y = x = spread(s.x, draw.who)
        for k, on in draw.local_steps():
            y = y - self.lr * on * cohort.grad(y, draw.xi_at(k))
        share = shares(cohort, draw.present, "plain")[..., None]
        return State(s.x + self.damping * halve((share * (y - x)).sum(-2)))
'''


def from_file(tmp_path, text, name="mine_own"):
    path = tmp_path / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.Mine


@pytest.fixture(autouse=True)
def _forget():
    yield
    sys.modules.pop("mine_own", None)


def test_a_class_in_a_file_of_its_own_conforms(tmp_path):
    report = ft.conforms(from_file(tmp_path, OWN)("1/20"))
    assert report.ok, str(report)
    assert bool(report)
    assert len(report.rules) == len(RULES) == 12
    assert {"Mine.round", "halve", "shares"} <= set(report["reads_well"].found.split(", "))
    assert report["absent_clients_remember"].status == "does not apply"
    assert all(r.says.endswith(".") and r.repair.endswith((".", "`.")) for r in report.rules)


@pytest.mark.parametrize(("old", "new", "rule", "found", "line"), [
    ("return v / 2", "return 0.5 * v", "reads_well", "float literal 0.5", "line 13, in halve"),
    ("return v / 2", "return 0.5 * v", "stays_in_the_arithmetic", "", ""),
    ("on * cohort.grad", "cohort.grad", "finished_clients_stand_still", "x depends on steps", ""),
    ("cohort.grad(y, draw.xi_at(k))", "(problem._b[0] + 0 * y)", "reads_well", "`problem._b`",
     "line 29, in Mine.round"),
    ("problem.at(draw.who)\n", "problem.at(draw.who)\n        x = self.steps\n", "reads_well", "`self.steps`", ""),
    ("(y - x)", "(y - x) * (y - x)", "affine", "x of f(u + v)", "round, cohort mask 1 1 1"),
    ("return State(s.x +", "return (s.x +", "keeps_the_structure", "a state is a NamedTuple", "round"),
    ("* halve(", "* undefined(", "batches", "raises NameError", "mine_own.py, line 31, in round"),
], ids=lambda v: str(v)[:20])
def test_what_breaks_a_rule_is_found_with_its_place(tmp_path, old, new, rule, found, line):
    assert old in OWN
    report = ft.conforms(from_file(tmp_path, OWN.replace(old, new))("1/20"))
    result = report[rule]
    assert not report.ok
    assert result.status == "failed"
    assert found in result.found
    assert line in result.where
    text = " ".join(str(report).split())
    assert result.repair in text
    assert " ".join(result.found.split()) in text


LOOP = "            y = y - self.lr * on * cohort.grad(y, draw.xi_at(k))"
KEPT = '    damping: Number = "1/3"\n'


def guarded(condition, before=""):
    text = OWN.replace(KEPT, KEPT + "    cut: int = 2\n    rates: tuple = (1, 2)\n    scale: Number = 2\n")
    return text.replace(LOOP, f"            {before or 'pass'}\n            if {condition}:\n    {LOOP}")


@pytest.mark.parametrize("condition", ["k < 2", "not k >= 2", "k < len(self.rates)", "k < self.cut", "0 <= k - 1 < 2 * self.cut",
                                       "any(j > 0 for j in range(3))", "any(j >= 0 for j, _ in enumerate(self.rates))"])
def test_the_place_of_a_local_step_may_be_compared(tmp_path, condition):
    result = ft.conforms(from_file(tmp_path, guarded(condition))("1/20"))["reads_well"]
    assert result.status == "passed", result.found


@pytest.mark.parametrize(("condition", "before"), [
    ("(y < 1).all()", ""), ("k < y.sum()", ""), ("s.x.sum() > 0", ""), ("k * self.lr < 2", ""), ("k < self.scale", ""),
    ("k / 2 < 1", ""), ("on.sum() > 0", ""), ("k < 2", "k = y.sum()"), ("k < 2", "k = k"), ("len(y) < y.sum()", ""),
    ("any(v > 0 for _, v in enumerate(y))", ""), ("any(a > 0 for a in y)", "")])
def test_states_and_data_may_not_be_compared_by_order(tmp_path, condition, before):
    result = ft.conforms(from_file(tmp_path, guarded(condition, before))("1/20"))["reads_well"]
    assert result.status == "failed" and "compares by order" in result.found


def test_annotations_may_be_evaluated(tmp_path):
    text = OWN.replace("from __future__ import annotations", "")
    assert ft.conforms(from_file(tmp_path, text)("1/20")).ok
    other = text.replace("from fltheory.core.numbers.scalars import Number", "Number = object")
    result = ft.conforms(from_file(tmp_path, other, "mine_own_other")("1/20"))["stays_in_the_arithmetic"]
    assert (result.status, result.where) == ("failed", "Mine.damping") and "damping = '1/3' is not moved" in result.found


def test_one_error_in_every_rule_is_told_once(tmp_path):
    report = ft.conforms(from_file(tmp_path, OWN.replace("* halve(", "* undefined("))("1/20"))
    assert len(report.failed) == 10
    assert str(report).count("NameError") == 1
    assert str(report).count("as above") == 9


def test_a_helper_of_a_module_is_read_too(tmp_path, monkeypatch):
    (tmp_path / "mine_own_parts.py").write_text("def halve(v):\n    return v * 0.5\n")
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "mine_own"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text("def halve(v):\n    return v * 0.5\n")
    (package / "method.py").write_text(OWN.replace("def halve(v):\n    return v / 2\n", "").replace(
        "from dataclasses", "import mine_own.parts as parts\nfrom dataclasses").replace("halve(", "parts.halve("))
    cls = importlib.import_module("mine_own.method").Mine
    result = ft.conforms(cls("1/20"))["reads_well"]
    for name in [m for m in sys.modules if m.startswith("mine_own")]:
        sys.modules.pop(name)
    assert "float literal 0.5" in result.found
    assert "parts.py, line 2, in halve" in result.where


def test_a_prompt_without_text_is_not_checked_and_no_pass():
    space = {"__name__": "prompt"}
    module = type(sys)("prompt")
    sys.modules["prompt"] = module
    try:
        exec(compile(OWN, "<prompt>", "exec"), space)
        report = ft.conforms(space["Mine"]("1/20"))
    finally:
        sys.modules.pop("prompt")
    assert report["reads_well"].status == "not checked"
    assert "Mine.round" in report["reads_well"].found
    assert [r.status for r in report.rules].count("passed") == 10
    assert not report.ok
    assert "not checked     reads well: the text of" in str(report)
    with pytest.raises(AssertionError, match="1 not checked"):
        ft.assert_conforms(space["Mine"]("1/20"))


def test_a_notebook_cell_has_its_text_in_the_line_cache():
    name = "<cell-12>"
    linecache.cache[name] = (len(OWN), None, OWN.splitlines(True), name)
    space = {"__name__": "cell"}
    sys.modules["cell"] = type(sys)("cell")
    try:
        exec(compile(OWN, name, "exec"), space)
        assert ft.conforms(space["Mine"]("1/20")).ok
    finally:
        sys.modules.pop("cell")
        linecache.cache.pop(name)


# ---- rounds that are not affine ------------------------------------------------------------------------------
class Signs(ft.AdaptiveServer):
    """Not affine; the base of the wrong ones below."""


class SumsReplicates(ft.AdaptiveServer):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        return new._replace(v=new.v + 0 * new.v.sum(0) + (new.v.sum(0) if new.v.ndim > 1 else 0 * new.v))


class InPlace(ft.AdaptiveServer):
    def round(self, problem, s, draw):
        v = s.v
        v += 1
        return super().round(problem, s, draw)._replace(v=v)


class FirstPlace(ft.AdaptiveServer):
    def round(self, problem, s, draw):
        g = problem.at(draw.who).grad(spread(s.x, draw.who))
        return s._replace(x=s.x - self.lr * (draw.present[..., None] * g)[..., 0, :])


class Single(ft.AdaptiveServer):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        return new._replace(x=new.x * np.float32(1) if not hasattr(new.x, "detach") else new.x.float())


def test_the_rules_that_apply_to_a_round_that_is_not_affine():
    report = ft.conforms(Signs("1/10"))
    assert report.ok, str(report)
    assert {r.name for r in report.having("does not apply")} == {
        "affine", "broadcasts_draws", "absent_clients_remember", "sends_what_it_declares"}
    assert "affine = False" in report["affine"].found
    arrivals = ft.conforms(ft.AsyncFedED("1/10"))
    assert arrivals.ok, str(arrivals)
    assert arrivals["masks_are_cohorts"].found == "the round chooses its cohort itself"
    assert "6 passed, 6 do not apply" in arrivals.headline()


@pytest.mark.parametrize(("cls", "rules"), [
    (SumsReplicates, {"batches"}),
    (InPlace, {"writes_nothing", "reads_well"}),
    (FirstPlace, {"numbering_is_irrelevant", "masks_are_cohorts"}),
    (Single, {"stays_in_the_arithmetic"}),
])
def test_wrong_rounds_that_are_not_affine_are_rejected(cls, rules):
    assert rules <= {r.name for r in ft.conforms(cls("1/10")).failed}


# ---- which instance ------------------------------------------------------------------------------------------
def test_arrays_over_clients_decide_how_many_there_are():
    for n in (2, 4):
        graph = [[Q(1, n * n)] * n for _ in range(n)]
        assert Case.of(ft.NeighbourAveraging("1/10", beta="1/2", graph=graph)).n == n
        assert ft.conforms(ft.NeighbourAveraging("1/10", beta="1/2", graph=graph)).ok
    floats = [[0.1, 0.2], [0.2, 0.5]]
    report = ft.conforms(ft.NeighbourAveraging(0.1, beta=0.5, graph=floats))
    assert report.ok, str(report)
    assert report["masks_are_cohorts"].found == "only full participation is defined (partial = False)"


def test_the_given_numbers_are_used_and_steps_per_client_do_not_matter():
    assert ft.conforms(ft.FedAvg(0.1, steps=[1, 10])).ok
    assert ft.conforms(ft.FedAvg("1/10", steps=5, solver=ft.Momentum("9/10"))).ok
    wrong = AtTwo("1/10", steps=3)
    assert ft.conforms(replace(wrong, gain="1/10")).ok
    assert {r.name for r in ft.conforms(replace(wrong, gain=2)).failed} == {"affine"}


@dataclass(frozen=True)
class AtTwo(ft.FedAvg):
    """Affine unless gain = 2."""

    gain: "Number" = 1  # noqa: F821

    def round(self, problem, s, draw):
        x = super().round(problem, s, draw).x
        return State(x + (x * x if self.gain == 2 else 0 * x))


def test_what_is_sent_must_be_declared():
    class Cheap(ft.Scaffold):
        downlink: ClassVar[int] = 1

    result = ft.conforms(Cheap("1/10"))["sends_what_it_declares"]
    assert (result.status, result.found) == ("failed", "2 vectors cannot be done without, downlink = 1")
    assert ft.conforms(ft.Scaffold("1/10"))["sends_what_it_declares"].status == "passed"


def test_memories_must_be_declared():
    class Undeclared(ft.Scaffold):
        stateful: ClassVar[bool] = False

    result = ft.conforms(Undeclared("1/10"))["keeps_the_structure"]
    assert result.status == "failed"
    assert "['ci']" in result.found


@pytest.mark.parametrize("wrong", [ft.FedAvg, 3, None, "FedAvg", ft.Vanilla()], ids=repr)
def test_what_is_no_algorithm_is_refused(wrong):
    with pytest.raises(BadInput, match="algorithm = "):
        ft.conforms(wrong)


def test_symbols_and_missing_methods_are_refused():
    eta, = ft.Field("eta").symbols
    with pytest.raises(BadInput, match="symbols"):
        ft.conforms(ft.FedAvg(eta))
    from fltheory.core.algorithms.base import Algorithm
    with pytest.raises(BadInput, match="has no `init`"):
        ft.conforms(Algorithm("1/10"))


def test_the_report_as_html_marks_failures_and_escapes():
    shown = ft.conforms(InPlace("1/10"))._repr_html_()
    assert re.search(r'<tr style="background:#f9d7c4"><td>failed</td><td>writes nothing</td>', shown)
    assert "InPlace: " in shown
    assert "&#x27;" in shown or "`v += 1` writes in place" in shown
    assert str(ft.conforms(ft.FedAvg("1/10"))).splitlines()[0] == (
        "FedAvg: 11 passed, 1 does not apply of 12 rules of a round")


def test_an_unknown_rule_is_told():
    with pytest.raises(KeyError):
        _ = ft.conforms(ft.FedAvg("1/10"))["nothing"]
