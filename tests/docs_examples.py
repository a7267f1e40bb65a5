"""The examples of the documentation: `python -m tests.docs_examples [PAGE ...]` runs them and writes what they print.

On a page, ```python blocks share one namespace; a ```text block after one is what it prints. A line of a ```console block that
starts with `$ ` is a command, run in a scratch folder of the page (with `verification` in it); what it prints stands below. A
code block with a `:caption:` is a file of that folder.
"""
from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks" / "docs"
PAGES = sorted(p for p in FOLDER.rglob("*.md") if "notebooks" not in p.relative_to(FOLDER).parts)
BLOCK = re.compile(r"^```(\{code-block\} )?(\w+)\n(?::caption: (\S+)\n\n)?(.*?)^```$", re.S | re.M)
PASSING = ((re.compile(r"\bin \d+(\.\d+)?s\b( \(\d+:\d+:\d+\))?"), "in 1.00s"),     # as pytest says it
           (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "2026-01-01"), (re.compile(r"(year +=) \{20\d\d\}"), r"\1 {2026}"))


@dataclass
class Example:
    """kind: "python", "console" or "file"; code: what runs, a command or the file's text; name: of the file; printed: what the page
    shows; where: (start, end) in the page of what is shown, for writing it anew."""

    kind: str
    code: str
    name: str
    printed: str
    where: tuple


def examples(text) -> list[Example]:
    """The examples of a page, in order. Raises ValueError on a block of another kind: nothing on a page may go untested."""
    out = []
    blocks = list(BLOCK.finditer(text))
    opened = re.findall(r"^```(?:\{code-block\} )?\w+$", text, re.M)
    if len(opened) != len(blocks):
        raise ValueError(f"{len(opened)} blocks are opened, and {len(blocks)} closed")
    for at, block in enumerate(blocks):
        language, name, body, start = block[2], block[3], block[4], block.start(4)
        if name:
            out.append(Example("file", body, name, "", (start, start)))
        elif language == "python":
            after = blocks[at + 1] if at + 1 < len(blocks) else None
            shown = after is not None and after[2] == "text" and text[block.end():after.start()].strip() == ""
            where = (after.start(4), after.end(4)) if shown else (block.end(), block.end())
            out.append(Example("python", body, "", after[4] if shown else "", where))
        elif language == "console":
            for part in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.M):
                out.append(Example("console", part[1], "", part[2], (start + part.start(2), start + part.end(2))))
        elif language != "text":
            raise ValueError(f"a block of {language!r} is not run: write python, console, text, or a file with a caption")
    return out


def command(line, folder) -> str:
    """What a command prints in a folder, times, dates and the folder replaced. Raises AssertionError where it is refused."""
    program, *words = shlex.split(line)
    module = {"fltheory": ["-m", "fltheory"], "pytest": ["-m", "pytest", "-p", "no:cacheprovider"], "python": []}[program]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run([sys.executable, "-P", *module, *words], cwd=folder, capture_output=True, text=True, timeout=240,
                          env=os.environ | {"PYTHONPATH": path, "COLUMNS": "120", "PYTHONWARNINGS": "error"})
    assert done.returncode in (0, 1), (line, done.returncode, done.stdout, done.stderr)
    printed = done.stdout.replace(f"{Path(folder).resolve()}/", "")
    for pattern, said in PASSING:
        printed = pattern.sub(said, printed)
    return printed


@contextlib.contextmanager
def importing(folder):
    """Files of the folder can be imported, and are forgotten afterwards."""
    before = dict(sys.modules)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        for name in set(sys.modules) - set(before):
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
                del sys.modules[name]


def run(text, name="page"):
    """(example, what it printed) of each example that prints."""
    space = {}
    with tempfile.TemporaryDirectory() as folder, importing(folder):
        (Path(folder) / "verification").symlink_to(ROOT / "verification")
        for example in examples(text):
            if example.kind == "file":
                target = Path(folder) / example.name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(example.code)
            elif example.kind == "console":
                yield example, command(example.code, folder)
            else:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed), contextlib.chdir(folder):
                    exec(compile(example.code, name, "exec"), space)
                yield example, printed.getvalue()


def write(path):
    """Put into a page what its examples print now; returns whether it changed."""
    text = path.read_text()
    new = text
    for example, printed in reversed(list(run(text, path.name))):
        if example.kind == "python" and not example.printed and printed:
            printed = f"\n\n```text\n{printed}```"
        new = new[:example.where[0]] + printed + new[example.where[1]:]
    path.write_text(new)
    return new != text


if __name__ == "__main__":
    for page in PAGES:
        if len(sys.argv) < 2 or page.stem in sys.argv[1:]:
            print(page.relative_to(FOLDER), "changed" if write(page) else "as it was")
