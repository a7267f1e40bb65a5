"""The engine's own folder: no paper, no shared code with the engine in its other leg, a catalogue that still applies."""
import ast
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fltheory.verdicts.claims.claim import Claim, Instance
from fltheory.verdicts.deciding.check import check
from fltheory.verdicts.papers.discover import load
from fltheory.verdicts.report import html, markdown, terminal
from tests.verification import test_papers
from verification.engine import faults, measure, mutator
from verification.engine.planting import ENGINE, CannotPlant, Fault, planted

FOLDER = Path(faults.FOLDER)
PAPER = load(FOLDER)
NAMED = {bug.__name__: claim for claim in PAPER.claims.values() for bug in claim.rejects}
ROOT = FOLDER.parents[1] / ENGINE
PARTS = {".".join(p.parent.relative_to(ROOT).parts) for p in ROOT.rglob("__init__.py")} - {"", "core", "verdicts", "workbench"}


# ---- the catalogue ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", faults.FAULTS)
def test_a_fault_applies_and_is_taken_out_again(name):
    fault = faults.FAULTS[name]
    source = (ROOT / Path(*fault.module.split("."))).with_suffix(".py")
    source = source if source.is_file() else source.with_suffix("") / "__init__.py"
    before = source.read_bytes()
    with planted(fault):
        pass
    assert source.read_bytes() == before
    assert len(fault.__doc__) > 20 and fault.__doc__.endswith(".")


def test_every_fault_is_named_by_a_claim_that_must_notice_it():
    assert not set(faults.FAULTS) - set(NAMED)


def test_the_catalogue_covers_every_folder_of_the_engine():
    count = {part: sum(f.folder == part for f in faults.FAULTS.values()) for part in sorted(PARTS)}
    assert not {part for part, n in count.items() if n < 3}, count
    assert len(faults.FAULTS) >= 60
    assert sum(f.origin.startswith("seed") for f in faults.FAULTS.values()) >= 30


def test_what_was_excluded_says_why_and_is_not_planted():
    rows = faults.read("excluded.csv")
    assert rows and all(len(r["reason"]) > 12 for r in rows)
    assert not {r["origin"] for r in rows if r["origin"] != "by hand"} & {f.origin for f in faults.FAULTS.values()}


# ---- the mutator ------------------------------------------------------------------------------------------
SAMPLE = '''
def f(x, y):
    """No + inside texts."""
    if x < 0:
        raise ValueError("x < 0")
    z = x + 2 * y
    z = x + 2 * y
    return max(z - 1, y) if not y > 3 else g(x, y)
'''


def test_the_mutator_changes_one_thing_on_one_line():
    made = mutator.changes(SAMPLE)
    assert {old for old, _, _ in made} == {"return max(z - 1, y) if not y > 3 else g(x, y)"}  # refusals and repeats left out
    kinds = {kind for _, _, kind in made}
    assert {"- +", "drop a term", "constant + 1", "arguments swapped", "negated condition", "> >="} <= kinds
    for old, new, _ in made:
        assert old != new
        ast.parse(SAMPLE.replace(old, new))


def test_a_seed_gives_one_order_whatever_the_number(tmp_path):
    part = tmp_path / "part"
    part.mkdir()
    (part / "a.py").write_text(SAMPLE)
    (part / "b.py").write_text("def h(a):\n    return a - 1\n")
    first = mutator.drawn(3, "part", 5, tmp_path)
    assert first == mutator.drawn(3, "part", 9, tmp_path)[:5]
    assert first != mutator.drawn(4, "part", 5, tmp_path)
    assert {row[0] for row in first} <= {"part.a", "part.b"}


# ---- independence -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", sorted((FOLDER / "twins").glob("*.py")), ids=lambda p: p.stem)
def test_twins_use_the_standard_library_alone(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else (
            [node.module] if isinstance(node, ast.ImportFrom) else [])
        assert {n.split(".")[0] for n in names} <= sys.stdlib_module_names


def test_faults_live_outside_the_engine():
    for path in ROOT.rglob("*.py"):
        assert "verification.engine" not in path.read_text(), path.name


# ---- what was measured ------------------------------------------------------------------------------------
ROWS = {r["fault"]: r for r in measure.read()}


def test_the_measured_table_is_that_of_the_catalogue():
    assert list(ROWS) == list(faults.FAULTS)
    for name, row in ROWS.items():
        assert (row["folder"], row["origin"]) == (faults.FAULTS[name].folder, faults.FAULTS[name].origin)


def test_of_sixty_faults_at_least_fifty_five_are_noticed():
    assert sum(bool(r["claims"]) for r in ROWS.values()) * 60 >= 55 * len(ROWS)


HANDFUL = ("ties-are-strict", "markov-stay", "cross-term-added", "markdown-prints-expected", "fedresavg-own-variate")


@pytest.mark.parametrize("name", HANDFUL)
def test_a_handful_is_noticed_as_the_table_says(name):
    names = measure.noticed(faults.FAULTS[name], [PAPER])
    assert " ".join(names) == ROWS[name]["claims"]


def asks_for_its_word(name):
    """The test that asks a claim for its word, on an engine with the fault; the claim has computed nothing before."""
    claim = PAPER.claims[ROWS[name]["claims"].split()[0].removeprefix("engine/")]
    afresh = replace(claim, on=tuple(i.afresh() for i in claim.on))
    with planted(faults.FAULTS[name]):
        test_papers.test_claim_has_its_expected_word(PAPER, afresh)


@pytest.mark.parametrize("name", HANDFUL)
def test_the_tests_fail_under_a_handful_of_faults(name):
    with pytest.raises(AssertionError):
        asks_for_its_word(name)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", faults.FAULTS)
def test_every_fault_is_noticed_as_the_table_says(name):
    assert " ".join(measure.noticed(faults.FAULTS[name], [PAPER])) == ROWS[name]["claims"]
    assert not ROWS[name]["word"].startswith("ERROR")
    with pytest.raises(AssertionError):
        asks_for_its_word(name)


def test_a_fault_that_nothing_can_tell_is_noticed_by_nothing():
    same = Fault("same", "core.relations", "status = FALSIFIED if wrong else HOLDS",
                 "status = HOLDS if not wrong else FALSIFIED", "")
    assert not measure.notices(PAPER.claims["false-optimum"], same)


def test_a_vanished_line_is_an_error_and_no_notice():
    gone = Fault("gone", "core.relations", "this line is not there", "pass", "")
    with pytest.raises(CannotPlant):
        measure.notices(PAPER.claims["false-tie"], gone)


def test_work_in_another_process_leaves_nothing_behind():
    assert measure.forked(lambda: sorted({1, 2})) == [1, 2]
    assert measure.forked(lambda: 1 / 0) is None


# ---- in the report ----------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def records():
    verdict = check(PAPER.claims["false-tie"])
    paper = Claim("eq1", lambda i: __import__("fltheory").equal(1, 1), (Instance("one"),), paper="some-paper", expect="SUPPORTED",
                  powerless="none needed")
    return [*verdict.records(), *check(paper).records()]


def test_the_folder_is_counted_apart_from_papers(records):
    index = html.pages(records)["index.html"]
    assert "1 claim from 1 paper was checked" in index and "1 further claim" in index
    assert "claims: 1 (1 SUPPORTED)\nclaims about the engine: 1 (1 FALSE)" in terminal.summary(records)


def test_faults_and_claims_stand_on_the_folders_page(records):
    pages = html.pages(records)
    assert "Faults of the engine" in pages["engine.html"] and "ties-are-strict" in pages["engine.html"]
    assert "Faults of the engine" not in pages["some-paper.html"] + pages["index.html"]
    assert "## Faults of the engine" in markdown.page(records)
