"""Running `verify` in tests: a small paper whose claims do something more, processes, records."""

import json
import os
import subprocess
import sys
from pathlib import Path

from fltheory.verdicts.papers.discover import COLUMNS

ROOT = Path(__file__).parents[1]
FEDNOVA = ROOT / "verification" / "fednova"
PYTHON = [sys.executable, "-m", "fltheory"]


def quiet(records):
    pass


def untimed(value):
    """Records without what may differ between two runs."""
    if isinstance(value, dict):
        return {k: untimed(v) for k, v in value.items() if k != "seconds"}
    return [untimed(v) for v in value] if isinstance(value, list) else value


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def environment():
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def finished(report):
    """Keys of the verdicts that are safely on disk."""
    path, keys = report / "verdicts.partial.jsonl", set()
    for line in path.read_text(errors="replace").splitlines() if path.exists() else []:
        try:
            keys.add(tuple(json.loads(line)["key"]))
        except (ValueError, KeyError, TypeError):
            continue
    return keys


def of_group(group):
    """Processes of a process group, by the kernel's table."""
    alive = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            alive.append(int(stat.parent.name))
    return alive


TWO = """
import os
import signal
from fractions import Fraction
from pathlib import Path

from fltheory.verdicts.claims.claim import Instance, claim
from fltheory.core.relations import equal
from {package} import formulas as f

HERE = Path(__file__).parent


def visits(name):
    path = HERE.parents[2] / f"{{name}}.visits"
    with open(path, "a") as handle:
        handle.write("x")
    return len(path.read_text())


@claim("one", on=[Instance("only")], domain="one", powerless="an example")
def one(i):
    \"\"\"A whole.\"\"\"
    {one}
    return equal(f.share(1), 1)


@claim("two", on=[Instance("only")], domain="two", powerless="an example")
def two(i):
    \"\"\"Two halves.\"\"\"
    {two}
    return equal(2 * f.share(2), 1)


@claim("three", on=[Instance("only")], domain="three", powerless="an example")
def three(i):
    \"\"\"Three thirds.\"\"\"
    return equal(3 * f.share(3), 1)
"""
RIGHT, BAD = "from fractions import Fraction\n\n\ndef share(k):\n    return Fraction(1, k)\n", \
    "from fractions import Fraction\n\n\ndef share(k):\n    return Fraction(2, k)\n"


def small(tmp_path, one="pass", two="pass", slug="small"):
    """A paper of three true claims whose bodies do something more."""
    parent = tmp_path / "papers"
    folder = parent / slug
    (folder / "claims").mkdir(parents=True)
    (folder / "claims" / "all.py").write_text(TWO.format(package=f"papers.{slug}", one=one, two=two))
    (folder / "formulas.py").write_text(RIGHT)
    rows = [f"{name},Sec 1,claim,identity,CERTIFIED,exact,,{name} of them." for name in ("one", "two", "three")]
    (folder / "ledger.csv").write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
    return folder


def words(records):
    return {r["id"]: r["word"] for r in records if r["type"] == "claim"}


ALL = dict.fromkeys(("one", "two", "three"), "CERTIFIED")


def command_line(folder, *options):
    return subprocess.run([*PYTHON, "verify", str(folder), *options], cwd=ROOT, env=environment(), capture_output=True,
                          text=True)


