"""The README's quick start prints what the README says; its counts and commands are true."""
import contextlib
import io
import re
from pathlib import Path

import pytest

from fltheory.claims.discover import papers
from fltheory.cli import parser

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()


def test_quick_start_output():
    pytest.importorskip("flint")  # its last line asks for a certificate
    code, output = re.search(r"```python\n(import fltheory.*?)```\s*```text\n(.*?)```", TEXT, re.S).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == output


def test_counts_in_the_text():
    (paper,) = papers([ROOT / "verification"])
    kinds = [row["type"] for row in paper.ledger.values()]
    said = [
        int(v)
        for v in re.search(r"holds (\d+) of the paper's (\d+) claims and (\d+) of its (\d+)\s+findings", TEXT).groups()
    ]
    assert said == [len(paper.claims), kinds.count("claim"), len(paper.findings), kinds.count("finding")]


def test_named_commands_and_options_exist():
    commands = re.search(r"## Commands\n\n```\n(.*?)```", TEXT, re.S).group(1)
    subparsers = next(a for a in parser()._actions if hasattr(a, "choices") and a.choices)
    for name in ("verify", "list", "show", "witness", "figures", "reproduce", "bench"):
        assert name in commands and name in subparsers.choices
    for option in re.findall(r"--[a-z]+", commands.replace("--claims", "")):
        assert any(option in a.option_strings for a in subparsers.choices["verify"]._actions), option
