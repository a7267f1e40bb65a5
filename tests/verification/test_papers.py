"""Every paper's folder: what is written, every witness, and independence of the paper's leg from the engine.

The words about the papers, and whether every planted bug is noticed, are decided by `make verify`, not a second time here.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from fltheory.algorithms.catalogue import discover
from fltheory.core.numbers.scalars import have
from fltheory.verdicts.deciding import slow
from fltheory.verdicts.deciding.check import check
from fltheory.verdicts.deciding.findings import SCRIPT_LINES
from fltheory.verdicts.deciding.proved_domain import domain
from fltheory.verdicts.papers.discover import papers

PAPERS = {p.slug: p for p in papers([Path(__file__).parents[2] / "verification"])}
CLAIMS = [pytest.param(p, c, id=f"{p.slug}/{c.id}") for p in PAPERS.values() for c in p.claims.values()]
FINDINGS = [pytest.param(p, f, id=f"{p.slug}/{f.id}") for p in PAPERS.values() for f in p.findings.values()]
WITNESSES = [pytest.param(p, w, id=f"{p.slug}/{w.stem}") for p in PAPERS.values()
             for w in sorted((p.folder / "witnesses").glob("*.py"))]
FORMULAS = [pytest.param(p.slug, f, id=f"{p.slug}/{f.stem}") for p in PAPERS.values()
            for f in sorted((p.folder / "formulas").glob("*.py"))]
MODULES = [pytest.param(f, id=f"{p.slug}/{f.stem}") for p in PAPERS.values()
           for f in sorted((p.folder / "claims").glob("[a-z]*.py"))]
MAY_IMPORT = {"math", "fractions", "numpy", "sympy"}


def imported(path):
    """Modules that a file imports, also inside functions; from our own packages every name in full."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            ours = node.module.split(".")[0] in ("fltheory", "verification")
            names |= {f"{node.module}.{a.name}" for a in node.names} if ours else {node.module}
    return names


def test_every_paper_is_here():
    assert {"fednova", "focus", "fedres", "simfed"} <= set(PAPERS)
    assert all(p.claims and p.findings for p in PAPERS.values())


# ---- words of claims about the engine: tests of the engine -------------------------------------------------
@pytest.mark.parametrize(("paper", "claim"), [c for c in CLAIMS if c.values[0].slug == "engine"])
def test_claim_has_its_expected_word(paper, claim):
    verdict = check(claim, quick=True)
    assert verdict.word in (paper.ledger[claim.id]["expected"], "SKIPPED"), verdict.failures()
    assert verdict.word != "SKIPPED" or not all(map(have, ("hypothesis", "flint", "cvxpy")))


# ---- what is written ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_what_is_written_stands_in_the_ledger_with_the_same_kind(paper):
    for name, finding in paper.findings.items():
        assert (paper.ledger[name]["type"], paper.ledger[name]["kind"]) == ("finding", finding.kind)
    for name, claim in paper.claims.items():
        row = paper.ledger[name]
        assert row["type"] == "claim"
        assert row["kind"] == claim.kind or row["note"], f"{name}: another kind needs a reason in the row's note"


@pytest.mark.parametrize("paper", PAPERS.values(), ids=list(PAPERS))
def test_what_a_quick_run_leaves_out_is_there(paper):
    """`python -m verification.slow REPORT` writes the file anew."""
    there = {(c.id, i.name) for c in paper.claims.values() for i in (*c.on, *c.over)}
    assert {(c, i) for c, names in slow.read(paper.folder).items() for i in names} <= there


@pytest.mark.parametrize(("paper", "claim"), [c for c in CLAIMS if c.values[1].expect == "FALSE"])
def test_a_false_claim_says_how_we_could_be_wrong(paper, claim):
    assert len(claim.reading) > 40
    assert len(claim.survives) > 10
    assert claim.instead in paper.claims
    assert paper.findings[claim.finding].breaks == claim.id


@pytest.mark.parametrize(("paper", "claim"), [c for c in CLAIMS if c.values[1].expect in ("PROVED", "CERTIFIED")])
def test_a_true_claim_prints_what_it_covers(paper, claim):
    assert len(domain(claim, claim.expect)) > 15


@pytest.mark.parametrize(("paper", "claim"), CLAIMS)
def test_every_claim_has_a_statement_a_place_and_distinct_instances(paper, claim):
    assert len(claim.statement) > 40
    assert claim.place
    names = [i.name for i in claim.on]
    assert len(set(names)) == len(names)


# ---- witnesses --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("paper", "path"), WITNESSES)
def test_a_witness_stands_alone(paper, path):
    assert len(path.read_text().splitlines()) <= SCRIPT_LINES
    assert imported(path) <= sys.stdlib_module_names
    done = subprocess.run([sys.executable, "-I", "-S", str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("VERDICT")
    assert "[False]" not in done.stdout
    assert any(f.script == f"witnesses/{path.name}" for f in paper.findings.values())


# ---- four legs that share no code -------------------------------------------------------------------------
@pytest.mark.parametrize(("slug", "path"), FORMULAS)
def test_formulas_know_nothing_of_the_engine(slug, path):
    others = {n for n in imported(path) if not n.startswith((f"verification.{slug}.formulas", "fltheory.core.numbers.linalg"))}
    assert {n for n in others if n != "fltheory.core.numbers.linalg"} <= MAY_IMPORT


@pytest.mark.parametrize("path", [m for m in MODULES if not m.id.startswith("engine/")])
def test_bodies_of_claims_construct_no_algorithm(path):
    """Instances beside them do; a body takes the algorithm from its instance, so that a mutant can be swapped in."""
    called = {called_name(n) for body in claim_bodies(path) for n in ast.walk(body) if isinstance(n, ast.Call)}
    solvers = {"FedProx", "Proximal", "Momentum", "Decay", "Listed", "Vanilla"}
    assert not called & ({cls.__name__ for cls in discover()} | solvers | {"derive", "run"})


def claim_bodies(path):
    """The functions of a file that a decorator declares as claims, without their decorators."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and "claim" in {called_name(d) for d in node.decorator_list}:
            yield ast.Module(node.body, [])


def called_name(node):
    function = getattr(node, "func", None)
    return getattr(function, "id", None) or getattr(function, "attr", None)


def test_the_scan_sees_claims_and_what_they_call():
    (path,) = (m.values[0] for m in MODULES if m.id == "fednova/quadratics")
    bodies = list(claim_bodies(path))
    assert len(bodies) == 2 and "mean_map" in {called_name(n) for b in bodies for n in ast.walk(b)}


# ---- bugs -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("slug", [s for s, p in PAPERS.items() if (p.folder / "bugs").is_dir()])
def test_every_bug_of_the_papers_own_catalogue_is_rejected_by_some_claim(slug):
    paper = PAPERS[slug]
    rejected = {b.__name__ for c in paper.claims.values() for b in c.rejects}
    for path in sorted((paper.folder / "bugs").glob("[a-z]*.py")):
        written = {n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef) and n.name[0] != "_"}
        assert written <= rejected, path.stem
