"""Frameworks and reconstructions before `identify`: each verdict, the hand check beside it, and the gallery as committed."""
import ast
import json

import numpy as np
import pytest

from fltheory.blackbox.clients import Problems
from verification.frameworks import gallery
from verification.frameworks.cases import CASES, DIFFERS

EXACT, SINGLE, FAR = 1e-13, 1e-6, 1e-3
COMMITTED = json.loads((gallery.HERE / "gallery.json").read_text())


def marked(case):
    missing = case.package and case.version() is None
    marks = [pytest.mark.frameworks] if case.package else []
    marks += [pytest.mark.skipif(True, reason=f"{case.package} is not installed; see .ci/frameworks")] if missing else []
    return pytest.param(case, id=case.name, marks=marks)


@pytest.mark.parametrize("case", [marked(c) for c in CASES])
def test_the_verdict_and_the_hand_check(case):
    result, replaced = gallery.decide(case)
    assert result.verdict == case.verdict, result
    said, published = gallery.gaps(case)
    assert said < (SINGLE if case.package == "pfl" else EXACT)
    assert (published > FAR) == (case.verdict == DIFFERS)
    assert (case.fault != "") == (case.verdict == DIFFERS)
    assert bool(case.fault) <= bool(case.reading)
    assert sum(replaced.values()) > 0 or case.package == "pfl"  # pfl asks the model itself for its loss
    kept = {(r["framework"], r["algorithm"]): r for r in COMMITTED["rows"]}[case.package or case.source, case.algorithm]
    named = result.faults[0].sentence if result.verdict == DIFFERS else ""
    assert [kept[k] for k in gallery.KEPT] == [result.verdict, named, case.fault, case.call]
    assert kept["where"] == case.where


@pytest.mark.frameworks
def test_two_scalar_quadratics():
    pytest.importorskip("pfl")
    for option, far in ((1, 0.25), (2, -1800)):
        found = gallery.two_scalars(option)
        assert np.allclose(found["code"], found["numpy, as said"], rtol=1e-5, atol=1e-6)
        assert abs(found["numpy, as published"][-1] - 0.75) < 1e-5
        assert abs(found["code"][-1] - far) < 1e-2 * max(abs(far), 0.1)
        assert COMMITTED["two_scalar_quadratics"][f"option {option}"]["numpy, as said"] == found["numpy, as said"]


def test_the_page_is_that_of_the_numbers():
    assert (gallery.HERE / "gallery.md").read_text() == gallery.page(COMMITTED)


def test_every_case_has_one_row_and_its_provenance():
    assert [(r["framework"], r["algorithm"]) for r in COMMITTED["rows"]] == [(c.package or c.source, c.algorithm) for c in CASES]
    assert set(COMMITTED["versions"]) == {"torch", "numpy", "flwr", "pfl", "fedlab", "nvflare"}
    assert COMMITTED["date"]


def test_those_who_do_not_take_part_do_not_matter():
    """A cohort reaches every framework as it was given: with one participant the model depends on nobody else."""
    for case in CASES:
        if (case.package and case.version() is None) or case.full:
            continue
        clients, x = Problems(3, 2, case.weights).generic().clients, np.array([0.5, 0.25])
        other = Problems(3, 2, case.weights, seed=9).generic().clients
        round_fn, reset = case.build()
        one = round_fn(x, clients, cohort=[1])
        reset()
        assert np.array_equal(one, round_fn(x, [other[0], clients[1], other[2]], cohort=[1])), case.name
        reset()


def test_a_row_that_became_another_one_is_told():
    old = {"rows": [{"framework": "a", "algorithm": "b", "verdict": "matches"}, {"framework": "a", "algorithm": "c"}]}
    new = {"rows": [{"framework": "a", "algorithm": "b", "verdict": "differs", "named": "x"}, {"framework": "a", "algorithm": "d"}]}
    assert list(gallery.changes(old, new)) == ["changed: a, b: verdict: matches -> differs; named: nothing -> x"]
    assert not list(gallery.changes(COMMITTED, COMMITTED))


def test_the_hand_checks_run_without_torch_and_without_the_package():
    nodes = list(ast.walk(ast.parse((gallery.HERE / "hand.py").read_text())))
    names = [a.name for node in nodes if isinstance(node, ast.Import) for a in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    assert sorted(names) == ["functools", "numpy"]
    for row in COMMITTED["rows"]:
        for who in ("said", "published"):  # the calls of the page are calls of the listing
            assert callable(eval(row["by_hand"][who], vars(gallery.hand))), row


def test_a_fault_is_one_sentence():
    for row in COMMITTED["rows"]:
        assert len(row["fault"]) < 160 and row["fault"].count(". ") == 0, row["fault"]
