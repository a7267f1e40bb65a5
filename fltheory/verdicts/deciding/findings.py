"""Confirm a finding by the procedure of its kind."""
from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass, replace

from fltheory.core.evidence import FALSIFIED, HOLDS, STRENGTH, show
from fltheory.core.numbers.scalars import Balls
from fltheory.verdicts import records
from fltheory.verdicts.claims.claim import Claim, Finding
from fltheory.verdicts.deciding.check import check_instance
from fltheory.verdicts.deciding.evidence import CONFIRMED, NOT_CONFIRMED, OUT_OF_SCOPE, SKIPPED
from fltheory.verdicts.deciding.word import accuses
from fltheory.verdicts.records import Step, declared

SCRIPT_LINES = 40
SCRIPT_SECONDS = 120


@dataclass
class FindingVerdict:
    """CONFIRMED if every step of the kind's procedure succeeded."""

    finding: Finding
    steps: list
    source: str = ""
    output: str = ""
    seconds: float = 0.0

    @property
    def word(self) -> str:
        states = {s.status for s in self.steps}
        return CONFIRMED if states == {"ok"} else SKIPPED if "skipped" in states and "failed" not in states \
            else NOT_CONFIRMED

    @property
    def as_expected(self) -> bool:
        return self.word in (self.finding.expect, SKIPPED)

    def record(self) -> dict:
        """The finding's record as JSON."""
        return declared(
            records.Finding, self.finding, word=self.word, expected=self.finding.expect, as_expected=self.as_expected,
            procedure=self.steps, script_source=self.source, script_output=self.output, seconds=round(self.seconds, 3)).to_json()


def confirm(finding: Finding, claims: dict[str, Claim], mutant=None) -> FindingVerdict:
    """Run the procedure of the finding's kind. claims: id -> Claim of the same paper. mutant: as for `check`."""
    began = time.perf_counter()
    out = FindingVerdict(finding, [])
    needs_point = finding.kind in ("counterexample", "wrong-formula", "missing-hypothesis")
    if needs_point or finding.at:
        out.steps += _points(finding, claims, mutant)
    if finding.check is not None:
        out.steps += _steps_of_check(finding)
    elif finding.kind in ("asymptotic", "gap", "remark"):
        out.steps.append(Step("proof of its own", "failed", f"a finding of kind {finding.kind} needs check="))
    if finding.kind in ("counterexample", "wrong-formula"):
        if finding.script is None:
            out.steps.append(
                Step("witness script", "failed", "a published theorem is called false only with a witness")
            )
        if finding.corrected is None or finding.corrected not in claims:
            out.steps.append(Step("corrected statement", "failed", f"{finding.corrected!r} is no claim of this paper"))
    if finding.script is not None:
        step, out.source, out.output = run_witness(finding)
        out.steps.append(step)
    out.seconds = time.perf_counter() - began
    return out


def _points(finding, claims, mutant):
    """The broken claim at the finding's instances: hypotheses hold exactly, and the statement fails exactly.

    A missing hypothesis that the claim has added itself is left out again: without it the statement fails.
    """
    broken = claims.get(finding.breaks)
    if broken is None or not finding.at:
        return [
            Step("instances", "failed", f"breaks={finding.breaks!r} at={finding.at!r}: name a claim and its instances")
        ]
    steps = []
    by_name = {i.name: i for i in broken.on}
    for name in finding.at:
        if name not in by_name:
            steps.append(Step(f"instance {name}", "failed", "no such instance of the broken claim"))
            continue
        instance = mutant(by_name[name]) if mutant else by_name[name]
        v = check_instance(broken, instance)
        if finding.kind == "missing-hypothesis" and v.status == OUT_OF_SCOPE:  # the statement without what it lacks
            lacking = {h.name for h in v.hypotheses if not h.holds}
            v = check_instance(replace(broken, needs=tuple(h for h in broken.needs if h.name not in lacking)), instance)
        exact = v.status == FALSIFIED and accuses(v.evidence)
        state = "skipped" if v.status == SKIPPED else "ok" if exact else "failed"
        sides = "; ".join(f"{show(c.lhs)} against {show(c.rhs)}" for c in v.comparisons if c.status == FALSIFIED)
        steps.append(Step(f"instance {name}: hypotheses hold, statement fails ({v.evidence})", state,
                           sides or v.reason or v.status))
    return steps


def _steps_of_check(finding):
    """What the check compared. What was seen in experiments may rest on runs and floats; everything else needs proof."""
    least = STRENGTH.index("statistical" if finding.kind == "empirical" else "ball")
    try:
        with Balls.apart():
            result = finding.check()
    except ImportError as error:
        return [Step("proof", "skipped", str(error))]
    except Exception as error:
        return [Step("proof", "failed", f"{type(error).__name__}: {error}")]
    result = result if isinstance(result, (list, tuple)) else [result]
    steps = []
    for c in result:
        strong = c.status == HOLDS and STRENGTH.index(c.evidence) >= least
        steps.append(Step(f"{c.label or c.relation} ({c.evidence})", "ok" if strong else "failed",
                           f"{show(c.lhs)} {c.relation} {show(c.rhs)}. {c.detail}".strip()))
    return steps or [Step("proof", "failed", "the check compared nothing")]


def run_witness(finding: Finding):
    """(step, source, output) of the witness script, run alone with the standard library."""
    path = finding.folder / finding.script  # type: ignore[operator]
    if not path.is_file():
        return Step("witness script", "failed", f"{finding.script} does not exist"), "", ""
    source = path.read_text()
    if len(source.splitlines()) > SCRIPT_LINES:
        return Step("witness script", "failed", f"longer than {SCRIPT_LINES} lines"), source, ""
    try:
        process = subprocess.run([sys.executable, "-I", "-S", str(path)], capture_output=True, text=True,
                                 timeout=SCRIPT_SECONDS)
    except subprocess.TimeoutExpired:
        return Step("witness script", "failed", f"ran past {SCRIPT_SECONDS} s"), source, ""
    last = (process.stdout.strip().splitlines() or [""])[-1]
    ok = process.returncode == 0 and last.startswith("VERDICT")
    return (Step("witness script, second route", "ok" if ok else "failed", last or process.stderr[-300:]), source,
            process.stdout)
