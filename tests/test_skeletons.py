"""The skeletons: what they write passes its own checks, is refused where it would do harm, and obeys the house rules."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fltheory.core.errors import BadInput
from fltheory.skeletons import TEMPLATES, new_algorithm, new_paper
from fltheory.verdicts.deciding.findings import SCRIPT_LINES
from fltheory.verdicts.papers.discover import COLUMNS, read_ledger

ROOT = Path(__file__).parents[1]


def command(folder, *argv):
    """(exit code, output) of a command in a folder, as a reader would give it."""
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-m", *map(str, argv)], cwd=folder, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """A generated paper folder; only processes of its own import it."""
    parent = tmp_path_factory.mktemp("reader") / "papers"
    new_paper("my_paper", parent)
    return parent / "my_paper"


@pytest.fixture(scope="module")
def algorithm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reader") / "algorithms"
    new_algorithm("PlainSGD", folder)
    return folder


# ---- a paper ----------------------------------------------------------------------------------------------
def test_the_paper_passes_its_own_verification(paper):
    pytest.importorskip("hypothesis")
    code, out = command(paper.parents[1], "fltheory", "verify", "papers/my_paper", "--strict")
    assert code == 0, out
    for line in ("fixed-point +PROVED", "fixed-point-as-printed +FALSE", "distance-bound +SUPPORTED", "e1 +CONFIRMED",
                 "every-tau +PROVED", "small-steps +PROVED", "spectrum +SUPPORTED", "every-hessian +PROVED",
                 "momentum-rate +SUPPORTED", "parameters +PROVED", "progress +PROVED", "floor-measured +SUPPORTED",
                 "local-rate +SUPPORTED"):
        assert re.search(f"my_paper/{line}", out)
    assert "killed drop:start, drop:noise, server_step_two, uniform_weights" in out
    assert "survived" not in out
    assert "answer my_paper: 4 sentences (4 carried)" in out


def test_the_paper_passes_as_pytest_items(paper):
    code, out = command(paper.parents[1], "pytest", "-q", "papers", "--claims", "-p", "no:cacheprovider", "-W", "error")
    assert code == 0, out
    assert "34 passed" in out or "skipped" in out


def test_the_checks_of_the_paper_can_fail(tmp_path):
    new_paper("wrong", tmp_path / "papers")
    formulas = tmp_path / "papers" / "wrong" / "formulas.py"
    formulas.write_text(formulas.read_text().replace("return top /", "return 2 * top /"))
    code, out = command(tmp_path, "fltheory", "verify", "papers/wrong", "--only", "fixed-point", "e1")
    assert code == 1
    assert "wrong/fixed-point" in out
    assert "!= expected PROVED" in out


def test_the_witness_runs_alone(paper):
    script = paper / "witnesses" / "e1.py"
    done = subprocess.run([sys.executable, "-I", "-S", str(script)], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "VERDICT: all hypotheses hold and the statement fails"
    assert len(script.read_text().splitlines()) <= SCRIPT_LINES


def test_the_ledger_has_every_column_and_is_listed_as_written(paper):
    rows = read_ledger(paper / "ledger.csv")
    assert all(set(row) == set(COLUMNS) for row in rows.values())
    assert {row["expected"] for row in rows.values()} == {"PROVED", "FALSE", "SUPPORTED", "CONFIRMED"}
    code, out = command(paper.parents[1], "fltheory", "list", "papers")
    assert code == 0
    assert out.count("not yet written") == 0
    assert out.count(" written ") == len(rows)


def test_two_papers_live_side_by_side(tmp_path):
    for slug in ("first", "second"):
        new_paper(slug, tmp_path / "papers")
    code, out = command(tmp_path, "fltheory", "verify", "papers", "--quick")
    assert code == 0, out
    assert out.count("CONFIRMED") >= 2


def test_the_default_folder_is_that_of_the_papers_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert new_paper("one")[0].is_relative_to(tmp_path / "papers" / "one")
    (tmp_path / "verification").mkdir()
    monkeypatch.setattr("fltheory.verdicts.folders.refuse_module_name", lambda parent: [])  # ours is importable here
    assert new_paper("two")[0].is_relative_to(tmp_path / "verification" / "two")


# ---- an algorithm -----------------------------------------------------------------------------------------
def test_the_algorithm_passes_its_own_tests(algorithm):
    code, out = command(algorithm.parent, "pytest", "-q", "algorithms", "-p", "no:cacheprovider", "-W", "error")
    assert code == 0, out
    assert re.search(r"\b(4 passed|3 passed, 1 skipped)", out)  # the run needs torch


def test_the_conformance_test_of_the_algorithm_notices_a_broken_rule(tmp_path):
    new_algorithm("PlainSGD", tmp_path)
    file = tmp_path / "plainsgd.py"
    file.write_text(file.read_text().replace("(y - x)).sum(-2)", "(y - x) * (y - x)).sum(-2)"))
    code, out = command(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", "-k", "rules_of_a_round", ".")
    assert code == 1, out
    assert "1 failed" in out


@pytest.mark.parametrize(
    ("right", "wrong"),
    [('"plain"', '"weighted"'), ("self.lr * on", "self.lr"), ("(y - x)).sum(-2)", "(y - x)).sum(-2) / 2")],
)
def test_the_tests_of_the_algorithm_notice_a_bug(tmp_path, right, wrong):
    new_algorithm("PlainSGD", tmp_path)
    file = tmp_path / "plainsgd.py"
    assert right in file.read_text()
    file.write_text(file.read_text().replace(right, wrong))
    code, out = command(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", "-k", "hand_written", ".")
    assert code == 1, out
    assert "1 failed" in out


@pytest.mark.parametrize(("name", "module", "cls"), [
    ("PlainSGD", "plainsgd", "PlainSGD"), ("my_method", "my_method", "MyMethod"), ("Fed_X2", "fed_x2", "FedX2"),
])
def test_file_and_class_are_named_after_the_name(tmp_path, name, module, cls):
    files = new_algorithm(name, tmp_path / "new")
    assert [f.name for f in files] == [f"{module}.py", f"test_{module}.py"]
    assert f"class {cls}(Algorithm):" in files[0].read_text()
    assert f"from {module} import {cls}" in files[1].read_text()


def test_inside_a_package_the_test_imports_by_its_dotted_name(tmp_path):
    folder = tmp_path / "project" / "methods"
    folder.mkdir(parents=True)
    for place in (folder, folder.parent):
        (place / "__init__.py").write_text("")
    test = new_algorithm("plain_sgd", folder)[1]
    assert "from project.methods.plain_sgd import PlainSgd" in test.read_text()
    code, out = command(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", "-k", "hand_written", "project")
    assert code == 0, out


# ---- refusals ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("slug", ["", "../out", "a/b", "..", "My", "my-paper", "1st", "clàss", "class", "a b", 7, None])
def test_bad_slugs_are_refused_and_nothing_is_written(tmp_path, slug):
    with pytest.raises(BadInput, match="slug = "):
        new_paper(slug, tmp_path / "papers")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [
    "", "../Out", "a/b", "my-method", "1st", "class", "lambda", "FedAvg", "fedavg", "FEDAVG", "Quadratic", "json", "numpy",
    "State", "Algorithm", "ValueError", "test_this", "TestThis", "été", 7, None,
])
def test_bad_names_are_refused_and_nothing_is_written(tmp_path, name):
    with pytest.raises(BadInput, match="name = "):
        new_algorithm(name, tmp_path / "algorithms")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("parent", ["json", "fltheory", "my-papers", "import"])
def test_a_folder_of_papers_called_like_a_module_is_refused(tmp_path, parent):
    with pytest.raises(BadInput, match=r"Rename|Choose another"):
        new_paper("mine", tmp_path / parent)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path):
    new_paper("mine", tmp_path / "papers")
    before = {p: p.read_text() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(BadInput, match=r"slug = 'mine': mine exists in papers. Nothing is overwritten"):
        new_paper("mine", tmp_path / "papers")
    (tmp_path / "papers" / "bugs.py").write_text("")
    with pytest.raises(BadInput, match=r"bugs.py exists"):
        new_paper("bugs", tmp_path / "papers")
    (tmp_path / "test_plainsgd.py").write_text("mine\n")
    with pytest.raises(BadInput, match=r"test_plainsgd.py exists"):
        new_algorithm("PlainSGD", tmp_path)
    assert not (tmp_path / "plainsgd.py").exists()
    assert all(p.read_text() == text for p, text in before.items())


def test_a_folder_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="is no folder"):
        new_paper("mine", tmp_path / "file")
    with pytest.raises(BadInput, match="is no folder"):
        new_algorithm("PlainSGD", tmp_path / "file" / "deeper")

    def full(path, mode="r", **rest):
        if mode == "x" and path.name == "formulas.py":
            raise PermissionError(13, "Permission denied")
        return open(path, mode, **rest)

    monkeypatch.setattr("fltheory.skeletons.open", full, raising=False)
    with pytest.raises(BadInput, match=r"formulas.py' cannot be written \(Permission denied\)"):
        new_paper("mine", tmp_path / "papers")
    assert not [p for p in (tmp_path / "papers").rglob("*") if p.is_file()]


# ---- house rules ------------------------------------------------------------------------------------------
def test_what_is_written_is_linted_short_and_marked(paper, algorithm):
    ruff = Path(sys.executable).with_name("ruff")
    if not ruff.is_file():
        pytest.skip("ruff is not installed")
    for folder in (paper, algorithm):
        argv = [ruff, "check", "--no-cache", "--config", ROOT / "pyproject.toml", folder.name]
        done = subprocess.run(argv, cwd=folder.parent, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_every_file_is_short_marked_and_without_placeholders(paper, algorithm):
    files = [p for folder in (paper, algorithm) for p in folder.rglob("*") if p.is_file() and p.suffix != ".pyc"]
    assert len(files) >= len(list(TEMPLATES.rglob("*.in"))) == 16
    for file in files:
        text = file.read_text()
        assert "EXAMPLE" in text, file.name
        assert not re.search(r"@\w+@", text)
        assert text.endswith("\n")
        assert file.suffix == ".csv" or max(map(len, text.splitlines())) <= 125
        assert len(text.splitlines()) < 120


def test_the_algorithm_is_about_twenty_lines(algorithm):
    text = (algorithm / "plainsgd.py").read_text()
    assert len(text[text.index("class State"):].splitlines()) <= 26


def test_the_templates_travel_with_the_package():
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["fltheory"]
    package = ROOT / "fltheory"
    shipped = {p for pattern in patterns for p in package.glob(pattern)}
    assert {p for p in TEMPLATES.rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")} <= shipped
