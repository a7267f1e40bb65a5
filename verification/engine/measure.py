"""Which claims notice which planted fault: `python -m verification.engine.measure [NAME ...]`.

Each fault is planted in a forked process, where the claims that name it are decided, then, if none notices it, every other
claim of this folder and of the papers beside it. A claim notices a fault where a comparison that held fails, or one that
failed holds; errors do not count. `word` is what the first of these claims is called under the fault, and what was expected.
The table `measured.csv`, with versions in `measured.json`, is written when all faults are measured.
"""
from __future__ import annotations

import argparse
import csv
import io
import json
import os
import sys
import time
from pathlib import Path

from fltheory.core.evidence import FALSIFIED, HOLDS
from fltheory.runs.trace import write_atomically
from fltheory.verdicts.deciding.check import apply_bug, check, check_instance
from fltheory.verdicts.papers.discover import papers
from verification.engine.faults import FAULTS, FOLDER

HEAD = ("fault", "folder", "origin", "claims", "word", "seconds")
TURNED = {(HOLDS, FALSIFIED), (FALSIFIED, HOLDS)}


def notices(claim, fault) -> bool:
    """Whether a fault turns the verdict of a claim on one of its instances."""
    for instance in claim.on:
        wrong = check_instance(claim, apply_bug(fault, instance)).status
        if wrong in (HOLDS, FALSIFIED) and (check_instance(claim, instance).status, wrong) in TURNED:
            return True
    return False


def noticed(fault, found) -> list[str]:
    """Names of the claims that notice a fault: of those that name it, else the first of all others."""
    every = [(p, c) for p in sorted(found, key=lambda p: p.folder != FOLDER) for c in p.claims.values()]
    own = [(p, c) for p, c in every if any(b is fault for b in c.rejects)]
    names = [f"{p.slug}/{c.id}" for p, c in own if notices(c, fault)]
    if names:
        return names
    others = (f"{p.slug}/{c.id}" for p, c in every if (p, c) not in own and notices(c, fault))
    return [name for name in [next(others, None)] if name]


def word(fault, found, name) -> str:
    """The word of a claim under a fault, with what was expected: what `tests/verification/test_papers.py` asserts."""
    slug, _, claim = name.partition("/")
    claim = next(p for p in found if p.slug == slug).claims[claim]
    wrong = check(claim, mutant=lambda i: apply_bug(fault, i), quick=True).word
    return f"{wrong} for {claim.expect}"


def decided(fault, found) -> list:
    """[claims that notice a fault, the word of the first of them under it]."""
    names = noticed(fault, found)
    return [names, word(fault, found, names[0]) if names else ""]


def forked(work):
    """What `work` returns in a process of its own, None if that dies."""
    sys.stdout.flush()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            os.write(write, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as handle:
        answer = handle.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else None


def measure(fault, found) -> dict:
    """One row of the table."""
    began = time.perf_counter()
    names, said = forked(lambda: decided(fault, found)) or ([], "")
    seconds = time.perf_counter() - began
    return {"fault": fault.__name__, "folder": fault.folder, "origin": fault.origin, "claims": " ".join(names),
            "word": said, "seconds": f"{seconds:.1f}"}


def read() -> list[dict]:
    """The measured table."""
    with open(FOLDER / "measured.csv", newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def write(rows):
    """The table and its provenance."""
    from fltheory.runs import provenance
    text = io.StringIO()
    table = csv.DictWriter(text, HEAD, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    write_atomically(FOLDER / "measured.csv", lambda f: f.write(text.getvalue().encode()))
    record = {"faults": len(rows), "noticed by claims": sum(bool(r["claims"]) for r in rows), **provenance()}
    write_atomically(FOLDER / "measured.json", lambda f: f.write((json.dumps(record, indent=1) + "\n").encode()))


def main(arguments=None) -> int:
    """Measure and print; exit 1 if a fault is noticed by no claim."""
    parser = argparse.ArgumentParser(prog="verification.engine.measure")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these faults")
    given = parser.parse_args(arguments)
    found, rows = papers([Path(FOLDER).parent]), []
    for name in given.names or FAULTS:
        row = measure(FAULTS[name], found)
        rows.append(row)
        print(*row.values(), sep=" | ", flush=True)
    if not given.names:
        write(rows)
    return int(any(not r["claims"] for r in rows))


if __name__ == "__main__":
    sys.exit(main())
