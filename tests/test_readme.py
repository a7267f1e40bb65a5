"""The README's examples print what the README says; its counts, commands and links are true."""
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import fltheory
from fltheory.cli import main, parser
from fltheory.verdicts.papers.discover import papers

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXT, re.S)
CONSOLE = re.findall(r"```console\n\$ (.*?)\n(.*?)```", TEXT, re.S)


@pytest.mark.parametrize(("code", "output"), EXAMPLES, ids=[
    "quick start", "thousands", "identify", "personal", "asynchronous", "adapters", "worst case"])
def test_examples_print_what_the_text_shows(code, output):
    pytest.importorskip("torch")
    pytest.importorskip("cvxpy")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == output


@pytest.mark.parametrize(("command", "output"), CONSOLE, ids=["predict", "residual"])
def test_commands_print_what_the_text_shows(command, output, capsys, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out == output


def block(words):
    """The text of the Python block that holds these words."""
    return next(code for code in re.findall(r"```python\n(.*?)```", TEXT, re.S) if words in code)


def test_the_claim_is_refuted_and_its_witness_runs():
    here = {"ft": fltheory, "problem": fltheory.Quadratic(H=[[[1]], [[3]]], c=[[0], [1]])}
    exec(block("my_theorem").replace("seconds=60", "tries=5"), here)
    assert here["my_theorem"].check().word == "FALSE"
    assert "ft.Instance('witness'" in str(here["my_theorem"].search(tries=5))


def test_the_proof_holds_with_less_and_not_with_more():
    for share, said in (("eta / 2", "HOLDS"), ("eta / 3", "HOLDS"), ("eta", "INCONCLUSIVE")):
        here, printed = {"ft": fltheory}, io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block("ft.Proof(").replace("drop - eta / 2 * g.square, lemma", f"drop - {share} * g.square, lemma"), here)
        assert printed.getvalue() == f"{said}\n", share


@pytest.mark.slow
def test_the_sweep_runs_as_a_file_and_again_from_its_store(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "sweep.py").write_text(block("ft.sweep("))
    command = [sys.executable, "-P", "sweep.py"]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    first, again = (subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, check=True, timeout=240,
                                   capture_output=True, text=True).stdout.splitlines() for _ in range(2))
    assert first[1:] == again[1:]
    assert "8 chunks computed, 0 from" in first[0] and " 0 chunks computed, 8 from" in again[0]


@pytest.mark.slow
def test_the_assertions_pass_where_they_are_true(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(ROOT)
    problem, algorithm = fltheory.Quadratic(H=[[[1]], [[3]]], c=[[0], [1]]), fltheory.FedAvg("1/20", steps=[1, 10])
    op = fltheory.derive(algorithm, problem, fltheory.Full(), noise="1/2")
    at, best = op.exact().fixed_point().x, fltheory.optimum(problem).x
    here = {"ft": fltheory, "op": op, "MyAlgorithm": lambda lr: fltheory.FedAvg(lr, 2),
            "trace": fltheory.run(algorithm, problem, fltheory.Full(), 200, noise="1/2", replicates=64)}
    expected = {"fixed_point": at, "bias": at - best, "floor": float(op.floor())}
    lines = [line for line in block("ft.assert_fixed_point(").splitlines() if line]
    assert len(lines) == 6
    for line in lines:
        name = re.match(r"ft\.assert_(\w+)", line)[1]
        exec(line.replace('"eq26-28")', '"eq26-28", quick=True)'), here | {"expected": expected.get(name)})


def test_no_block_goes_untried():
    """Blocks with their output are run and compared; each other one by a test of this file or one that it names."""
    tried = ("ft.assert_fixed_point(", "def my_theorem(", "ft.Proof(", "class PlainSGD", "ft.sweep(")
    for code in re.findall(r"```python\n(.*?)```", TEXT, re.S):
        assert code in [c for c, _ in EXAMPLES] or any(words in code for words in tried), code


def test_the_algorithm_obeys_the_rules(tmp_path, monkeypatch):
    (tmp_path / "readme_algorithm.py").write_text(block("class PlainSGD"))
    monkeypatch.syspath_prepend(tmp_path)
    from readme_algorithm import PlainSGD
    fltheory.assert_conforms(PlainSGD("1/20", 3))


def test_counts_in_the_text():
    for paper in papers([ROOT / "verification"]):
        kinds = [row["type"] for row in paper.ledger.values()]
        said = re.search(rf"`verification/{paper.slug}` holds (\d+) of (\d+)\s+claims\s+and\s+(\d+) of (\d+)\s+findings", TEXT)
        assert said, paper.slug
        assert [int(v) for v in said.groups()] == [
            len(paper.claims), kinds.count("claim"), len(paper.findings), kinds.count("finding")]


def test_the_table_of_papers_and_words_is_that_of_the_ledgers():
    """`make verify` fails where a verdict is another word than the ledger's."""
    found = [p for p in papers([ROOT / "verification"]) if p.slug != "engine"]
    assert "decided in five of five papers" in TEXT and len(found) == 5
    part = TEXT[TEXT.index("five of five papers"):TEXT.index("## Commands")]
    head, *rows = re.findall(r"^\| (\w+) \|((?: [\w ]+ \|)+)$", part, re.M)
    words = [w.strip().upper() for w in head[1].split("|")[1:-2]]
    table = {name: [int(v) for v in cells.split("|")[:-1]] for name, cells in rows}
    for paper in found:
        said = [paper.ledger[k]["expected"] for k in paper.claims]
        assert set(said) <= set(words)
        assert table[paper.slug] == [len(said), *map(said.count, words), len(paper.findings)], paper.slug
    assert table.pop("all") == [sum(column) for column in zip(*table.values(), strict=True)]


def test_named_commands_and_options_exist():
    commands = re.search(r"## Commands\n\n```\n(.*?)```", TEXT, re.S).group(1)
    subparsers = next(a for a in parser()._actions if hasattr(a, "choices") and a.choices).choices
    for name in subparsers:
        assert name in commands or name == "calibrate", name
    for line in commands.splitlines():
        words = line.partition("#")[0].split()
        if words[0] == "fltheory":
            for option in re.findall(r"--[a-z]+", line.partition("#")[0]):
                assert any(option in a.option_strings for a in subparsers[words[1]]._actions), (words[1], option)


def test_public_names_in_the_text_exist():
    for name in set(re.findall(r"\bft\.(\w+)", TEXT)):
        assert name in fltheory.__all__, name
    listed = re.search(r"- \*\*Problems\*\*.*?- \*\*Operators\*\*", TEXT, re.S).group(0)
    for name in re.findall(r"`(\w+)(?:\(|`)", listed):
        assert name in fltheory.__all__ or name == "empty", name


def test_links_and_pictures_exist():
    for target in re.findall(r"\]\(((?!https?:)[^)#]+)\)", TEXT + (ROOT / "CONTRIBUTING.md").read_text()):
        assert (ROOT / target).exists(), target


def test_the_newcomers_commands_exist():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M)
    for target in re.findall(r"(?:^|`)make (\w+)", TEXT + (ROOT / "CONTRIBUTING.md").read_text(), re.M):
        assert target in targets, target
