"""The README's examples print what the README says; its counts, commands and links are true."""
import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

import fltheory
from fltheory.cli import main, parser
from fltheory.verdicts.claims.discover import papers

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXT, re.S)
CONSOLE = re.findall(r"```console\n\$ (.*?)\n(.*?)```", TEXT, re.S)


@pytest.mark.parametrize(("code", "output"), EXAMPLES, ids=[
    "quick start", "identify", "personal", "asynchronous", "adapters", "worst case"])
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
