"""How sure our own statistical checks are: false alarms where nothing is wrong, and power against a wrong prediction.

A repetition is what a claim does: a batched run, the interval of its recorded trace, a comparison with the value the
derived operator predicts. Predictions are exact, so every rejection is a false alarm. `verification/engine/calibrating.py`
counts them; the table it makes is committed beside the papers, and `verify` reports it, replays a share and says if it is stale.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import metadata
from pathlib import Path

import numpy as np

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.digests import digest_of
from fltheory.core.errors import BadInput, CertificateFailed
from fltheory.core.evidence import FALSIFIED
from fltheory.core.laws.base import RandomSteps
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform, WithReplacement
from fltheory.core.numbers.scalars import FLOAT, fraction, have, need
from fltheory.core.optima import optimum
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.relations import agrees
from fltheory.core.statistics import moments
from fltheory.runs.streams import Stream
from fltheory.verdicts.claims.claim import Instance
from fltheory.verdicts.claims.floors import ChiSquareFloor, chi_square_floor
from fltheory.verdicts.folders import beside
from fltheory.verdicts.records import Calibrated

LEVELS = (0.05, 0.01, 1e-3, 1e-4)  # the last is the one the claims use
SHIFT = Fraction(1, 10)             # relative error of the wrong predictions
CONFIDENCE = 0.999                 # of the intervals of the rates: a page shows dozens of them
BATCH = 20                         # repetitions in one run
NAME = "calibration"               # of the committed .csv and .json
CODE = ("verdicts/calibration.py", "core/statistics.py", "runs/streams.py", "runs/normals.py", "runs/trace.py",
        "runs/batched.py", "runs/preparation.py", "runs/options.py", "runs/draws.py", "runs/arguments.py", "runs/client_major.py",
        "core/relations.py", "verdicts/claims/floors.py")
COUNTED_BY = "engine/calibrating.py"     # in the folder of papers: `calibrate`, which makes the table


@dataclass(frozen=True)
class Check:
    """A statistical check on one null instance. at: "floor" or a round; more: repetitions per repetition asked for
    (cheap checks are repeated more often); bound: the one-sided check of a bound that is met with equality."""

    name: str
    instance: Instance
    rounds: int
    replicates: int
    at: str = "floor"
    bound: bool = False
    more: int = 1
    note: str = ""

    def predicted(self):
        """The exact expectation: a rational from the derived operator."""
        op, at = self.instance.op, optimum(self.instance.problem).x
        if self.at == "floor":
            return op.floor()
        *_, (mean, second) = op.trajectory(self.rounds + 1, self.instance.x0 or [0] * self.instance.problem.d)
        return sum(fraction(second[k, k]) - 2 * fraction(mean[k]) * fraction(v) + fraction(v) ** 2 for k, v in enumerate(at))

    def measured(self, trace, level):
        return trace.floor(level=level) if self.at == "floor" else trace.interval(-1, level=level)

    def rejects(self, interval, value) -> bool:
        """Whether the comparison that claims make says that the value is wrong."""
        if not self.bound:
            return agrees(interval, value).status == FALSIFIED
        half = fraction(value) / 2  # (1 + c) chi^2 kappa^2 = value at c = 1
        return chi_square_floor(interval, ChiSquareFloor((), half, 1, 1)).status == FALSIFIED


def checks() -> list[Check]:
    """Every calibrated check: those that the papers' claims make, with their own settings, and the harder case of
    squared errors at one round."""
    three = ["1/2", "3/10", "1/5"]
    line = Quadratic([[[1]]] * 3, [[0], [1], [5]])
    skewed = Quadratic([[[1]]] * 3, [[0], [1], [5]], three)
    pair = Quadratic([[[1]]] * 2, [[1], [-1]])
    plane = Quadratic([[[2, 0], [0, 1]], [[1, 0], [0, 1]]], [[1, 0], [0, 2]])
    steps = RandomSteps((("1/2", 1), ("1/2", 9)))
    noise = Instance("noise", pair, FedAvg("1/100", (9, 1)), Full(), noise=fraction("1/4"), x0=["4/5"])
    move = FedAvg("1/5", 2)
    rare = Instance("rare clients", plane, move, Bernoulli(["1/10", "1/2"]), x0=[1, -1])
    skewed_errors = "squared error after 4 rounds; its distribution is strongly skewed"
    return [
        Check("floor, random step counts", Instance("steps", line, FedAvg("1/20"), Full(steps=steps)), 120, 2048,
              note="2,048 replicates, 120 rounds, as the claims on random step counts"),
        Check("floor, clients drawn with replacement",
              Instance("draws", skewed, FedAvg("1/20", 3, averaging="plain"), WithReplacement(2, three)), 150, 4096,
              note="4,096 replicates, 150 rounds, as the claims on sampling"),
        Check("floor, gradient noise", noise, 300, 256, note="256 replicates, 300 rounds, as the claims on floors"),
        Check("bound of a floor, gradient noise", noise, 300, 256, bound=True,
              note="one-sided, at a bound met with equality; the planted bound is 10 % too small"),
        Check("error at a round, gradient noise", Instance("noise at a round", plane, move, Full(), noise=1, x0=[1, -1]),
              6, 256, at="round", more=10, note="256 replicates; squared error after 6 rounds, skewed"),
        Check("error at a round, one client of three", Instance("one of three", skewed, move, Uniform(1)), 4, 256,
              at="round", more=10, note=f"256 replicates; {skewed_errors}"),
        Check("error at a round, rare clients", rare, 4, 256, at="round", more=10,
              note=f"256 replicates, the fewest that may decide; {skewed_errors}"),
        Check("error at a round, rare clients, more replicates", rare, 4, 8192, at="round",
              note=f"8,192 replicates; {skewed_errors}"),
        Check("error at a round, 16 replicates", rare, 4, 16, at="round", more=10,
              note="too few replicates: the check says that it is inconclusive instead of deciding"),
    ]


# ---- repetitions -------------------------------------------------------------------------------------------------
def traces(check: Check, batch: int, seed=0) -> list:
    """The traces of BATCH independent repetitions, made as one run.

    Replicates of a run are independent of each other as those of runs with different seeds are, so that disjoint
    groups of them are independent repetitions. A group's moments are computed as `run` computes its own; together
    they must give the moments that the run itself recorded, or CertificateFailed is raised.
    """
    need("torch", "repeated runs")
    i, snapshots = check.instance, []
    target = FLOAT.array(optimum(i.problem).x)

    def keep(x):
        values = ((x - x.new_tensor(target)) ** 2).sum(-1)
        snapshots.append(values.cpu().numpy())
        return values

    start = int.from_bytes(Stream(seed, NAME, i.name, batch).key()[:6], "big")
    whole = i.but(simulate={"rounds": check.rounds, "replicates": BATCH * check.replicates, "seed": start,
                            "metrics": {"kept": keep}, "device": "cpu"}).run
    chunks = [snapshots[k:k + check.rounds + 1] for k in range(0, len(snapshots), check.rounds + 1)]
    last = whole.tail_rounds if check.at == "floor" else 1
    values = np.concatenate([np.mean(c[-last:], axis=0) for c in chunks])
    recorded = whole.tail["error"] if check.at == "floor" else {k: v[-1] for k, v in whole.metrics["error"].items()}
    if not np.allclose(moments(values)[:2], (recorded["mean"], recorded["m2"]), rtol=1e-8, atol=0):
        raise CertificateFailed(f"{check.name}: the repetitions together are not the run that made them")
    out = []
    for group in values.reshape(BATCH, check.replicates):
        part = dict(zip(("mean", "m2", "m3"), moments(group), strict=True))
        out.append(replace(whole, replicates=check.replicates, tail={"error": part},
                           metrics={"error": {k: np.array([v]) for k, v in part.items()}}))
    return out


def share(seed=0) -> dict:
    """The intervals of the first BATCH repetitions of one cheap check, to be recomputed by whoever reads the table."""
    check = next(c for c in checks() if c.name.endswith("one client of three"))
    intervals = [check.measured(t, 1 - LEVELS[0]) for t in traces(check, 0, seed)]
    truth = check.predicted()
    return {"check": check.name, "alarms": sum(check.rejects(i, truth) for i in intervals),
            "intervals": [[i.value, i.half_width] for i in intervals]}


# ---- the committed table -----------------------------------------------------------------------------------------
def code_hash() -> str:
    """Hash of the code that the table depends on; its comments and docstrings do not count."""
    here = Path(__file__).parents[1]
    files = {**{name: here / name for name in CODE}, COUNTED_BY: beside() / COUNTED_BY}
    return digest_of((name, _bare(path.read_text(encoding="utf-8"))) for name, path in files.items() if path.is_file())[:16]


def _bare(source) -> str:
    """Code without docstrings, comments and empty lines, by positions alone, so that every Python gives the same."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0] - 1] = lines[token.start[0] - 1][:token.start[1]]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False) is not None:
            said = node.body[0]
            end = said.end_lineno or said.lineno
            lines[said.lineno - 1:end] = [""] * (end - said.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def read(folder) -> tuple[list, dict] | None:
    """(rows, provenance) of a folder's table; None if it has none. Raises BadInput for a table that cannot be read."""
    from fltheory.verdicts.report.figures import from_csv
    path = Path(folder) / f"{NAME}.csv"
    if not path.is_file():
        return None
    rows = from_csv(path)
    try:
        provenance = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        if not isinstance(provenance, dict) or not isinstance(provenance["replay"]["intervals"], list):
            raise ValueError("it holds no recorded intervals")
        if not rows or {"check", "level", "repetitions", "alarms", "low", "high", "power"} - set(rows[0]):
            raise ValueError("columns are missing")
        rows = [{**row, **{k: int(row[k]) for k in ("repetitions", "alarms")}} for row in rows]
        for row in rows:
            Calibrated.of(row)  # refused before a run rests on it
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{NAME}.csv and .json in {str(folder)!r} cannot be read ({error}). "
                       "Make them again with `fltheory calibrate`.") from None
    return rows, provenance


def replayed(provenance) -> tuple[str, bool]:
    """(what a repetition of the recorded share gave, whether it differs though the code is the same)."""
    if not have("torch"):
        return "no: torch is not installed", False
    stored = provenance["replay"]
    try:
        again = share(provenance["seed"])
        same = again["alarms"] == stored["alarms"] and np.allclose(
            again["intervals"], stored["intervals"], rtol=1e-9, atol=0)
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        return f"no: the recorded share cannot be read ({error})", True
    if same:
        return f"{BATCH} repetitions, with equal results", False
    stale = provenance.get("code") != code_hash() or any(
        provenance.get(k) != metadata.version(k) for k in ("numpy", "torch"))
    return f"{BATCH} repetitions, with OTHER results than the table's", not stale


def family(records) -> dict:
    """The statistical comparisons among a report's instance records, and the union bound over their levels: the
    probability, over seeds, that any of them alarms falsely. level: the largest; bound: 1 at most."""
    levels = [level_of(c) for r in records if r.get("type") == "instance" for c in r.get("comparisons", ())
              if c.get("evidence") == "statistical"]
    return {"comparisons": len(levels), "level": max(levels, default=None), "bound": min(1.0, float(sum(levels)))}


def level_of(comparison: dict) -> float:
    """The false-alarm level that a recorded comparison's interval prints; 1 if it prints none."""
    printed = re.search(r"\((\d+(?:\.\d+)?)%, n=\d+\)", f"{comparison.get('lhs')} {comparison.get('rhs')}")
    return 1.0 if printed is None else max(round(1 - float(printed[1]) / 100, 7), 5e-6)  # printed to 1e-5


def record(records, roots) -> list[dict]:
    """The calibration records of a report: one per root folder that holds a table; else the family level alone, if
    any statistical comparison was made."""
    whole = family(records)
    out = []
    for root in dict.fromkeys(Path(r).resolve() for r in roots):
        table = read(root)
        if table is None:
            continue
        rows, provenance = table
        again, failed = replayed(provenance)
        current = provenance.get("code") == code_hash()
        state = "current" if current else "STALE: the code changed since; run `fltheory calibrate`"
        entries = {k: v for k, v in provenance.items() if k != "replay"}
        out.append({"type": "calibration", "rows": rows, "family": whole, "failed": failed,
                    "provenance": {"state": state, "replayed": again, **entries}})
    if not out and whole["comparisons"]:
        out = [{"type": "calibration", "rows": [], "family": whole, "failed": False, "provenance": {}}]
    return out
