"""The gallery: every case decided by `identify` and checked by hand in numpy, as gallery.json and gallery.md beside this file.

`fltheory reproduce gallery` writes it, in the environment that `.ci/frameworks` makes; packages that are not installed are
listed as skipped.
"""
from __future__ import annotations

import datetime
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

import fltheory as ft
from fltheory.blackbox.clients import Problems
from verification.frameworks import hand
from verification.frameworks.cases import CASES, DIFFERS, STANDS, pfl_scaffold

HERE = Path(__file__).parent
START = (0.75, -0.5)  # of the rounds by hand


def decide(case):
    """What `identify` says of a case: a fresh adapter, 3 clients, d = 2."""
    round_fn, reset = case.build()
    result = ft.identify(round_fn, 3, 2, case.reference, reset=reset, weights=case.weights)
    reset()
    return result, dict(round_fn.replaced)


def by_hand(case):
    """Models (rounds, d) over the rounds of case.cohorts: of the code, of numpy as is said of it, of numpy as published."""
    clients, x = Problems(3, 2, case.weights, seed=5).generic().clients, np.array(START)
    round_fn, reset = case.build()
    made, now = [], x
    for cohort in case.cohorts:
        now = np.asarray(round_fn(now, clients) if case.full else round_fn(now, clients, cohort=cohort), dtype=float)
        made.append(now)
    reset()
    published = hand.models(case.published, clients, x, case.cohorts)
    said = published if case.does is None else hand.models(case.does, clients, x, case.cohorts)
    return np.array(made), said, published


def gaps(case):
    """Largest distances over these rounds of the code's models from numpy's: (what is said, what is published)."""
    made, *others = by_hand(case)
    return tuple(float(np.abs(made - other).max()) for other in others)


class Scalar:
    """A client on the line: h/2 (w - c)^2."""

    def __init__(self, h, c):
        self.X, self.y, self.size, self.weight = np.array([[h**0.5]]), np.array([h**0.5 * c]), 1, 0.5


def two_scalars(option, rounds=(1, 5, 20)):
    """pfl's SCAFFOLD on w^2/2 and 3 (w - 1)^2/2, K = 10 steps of 1/20 from 0: models of the code, of numpy with the faults that
    are said, and of numpy as published, after these rounds; the minimiser is 3/4."""
    clients, cohorts = [Scalar(1, 0), Scalar(3, 1)], [[0, 1]] * max(rounds)
    round_fn, reset = pfl_scaffold(option == 1, epochs=10)
    code, now = [], np.zeros(1)
    for _ in cohorts:
        now = np.asarray(round_fn(now, clients), dtype=float)
        code.append(now)
    reset()
    wrong, right = (hand.models(hand.scaffold(option, sign, shared=option == 1 and sign < 0, steps=10), clients, np.zeros(1),
                                cohorts) for sign in (-1, 1))
    return {name: [float(f"{np.ravel(values[k - 1])[0]:.6g}") for k in rounds]
            for name, values in (("code", code), ("numpy, as said", wrong), ("numpy, as published", right))}


LAST = ("last model of the code", "last model of numpy, as said", "last model of numpy, as published")


def row(case):
    if case.package and case.version() is None:
        return {"framework": case.package, "algorithm": case.algorithm, "verdict": "skipped",
                "reason": f"{case.package} is not installed"}
    result, replaced = decide(case)
    made, said, published = by_hand(case)
    last = ["(" + ", ".join(f"{v:.6g}" for v in models[-1]) + ")" for models in (made, said, published)]
    return {
        "framework": case.package or case.source, "version": case.version() if case.package else "",
        "reconstruction": not case.package, "algorithm": case.algorithm, "call": case.call,
        "compared_with": repr(case.reference), "clients": "alike" if case.weights else "of different sizes",
        "verdict": result.verdict, "named": result.faults[0].sentence if result.verdict == DIFFERS and result.faults else "",
        "fault": case.fault, "where": case.where, "reading": case.reading, "calls": result.calls,
        "replaced_by_the_adapter": replaced,
        "distance_from_numpy_as_said": float(f"{np.abs(made - said).max():.1e}"),
        "distance_from_numpy_as_published": float(f"{np.abs(made - published).max():.1e}"),
        "by_hand": {"participants": "; ".join(" ".join(map(str, c)) for c in case.cohorts), "start": f"{START}",
                    "said": (case.does or case.published).call, "published": case.published.call,
                    **dict(zip(LAST, last, strict=True))},
    }


def make():
    """The whole gallery as a dict."""
    packages = ["torch", "numpy", *sorted({c.package for c in CASES if c.package and c.version()})]
    whole = {"made_by": "fltheory reproduce gallery", "date": datetime.date.today().isoformat(),
             "python": platform.python_version(), "versions": {p: version(p).partition("+")[0] for p in packages},
             "put_in_place_by_the_adapters": STANDS, "rows": [row(c) for c in CASES]}
    if "pfl" in whole["versions"]:
        whole["two_scalar_quadratics"] = {"rounds": [1, 5, 20], **{f"option {k}": two_scalars(k) for k in (1, 2)}}
    return whole


def page(whole):
    """The gallery as Markdown."""
    def cell(text):
        return str(text).replace("|", "\\|")

    versions = ", ".join(f"{k} {v}" for k, v in whole["versions"].items())
    lines = ["# Frameworks before `identify`", "",
             f"Made by `{whole['made_by']}` on {whole['date']} with Python {whole['python']}, {versions}.", "",
             "Three clients on quadratics, 3 local steps of 1/20 in one full batch (FedNova's reconstructions: 1, 3, 5).",
             "The adapters replaced classification losses by half the squared error. *Numpy* is the largest distance of",
             "the code's models from a round in plain numpy that does what the row says, over rounds with varying",
             "participants; *published* that from the algorithm as published. Nothing is said against a row without a",
             "sentence. What else the adapters put in the place of a framework's own parts:", "",
             *[f"- {k}: {v}" for k, v in whole["put_in_place_by_the_adapters"].items()], "",
             "| code | verdict | algorithm, call | numpy | published |", "|---|---|---|---|---|"]
    told = []
    for r in whole["rows"]:
        who = f"reconstruction after {r['framework']}" if r["reconstruction"] else f"{r['framework']} {r['version']}".strip()
        if r["verdict"] == "skipped":
            lines.append(f"| {r['framework']} | skipped | {r['algorithm']} | | |")
            told.append(f"- **{who}, {r['algorithm']}**: skipped, {r['reason']}.")
            continue
        lines.append("| " + " | ".join(map(cell, (
            who, f"**{r['verdict']}**", f"{r['algorithm']}: `{r['call']}`",
            f"{r['distance_from_numpy_as_said']:.0e}", f"{r['distance_from_numpy_as_published']:.0e}"))) + " |")
        if r["fault"] or r["reading"]:
            named = f" Named by `identify`: *{r['named']}*." if r["named"] else ""
            reading = f" Nearest reading: {r['reading']}" if r["fault"] else r["reading"]
            told.append(f"- **{who}, {r['algorithm']}**: " + f"{r['fault']} {r['where']}".strip() + named + reading)
    lines += ["", "What is said of them, and the nearest reading under which it is meant:", "", *told]
    if "two_scalar_quadratics" in whole:
        lines += ["", "pfl's SCAFFOLD on w²/2 and 3 (w - 1)²/2, K = 10 steps of 1/20 from 0; the minimiser is 3/4. Models after",
                  "rounds 1, 5, 20:", "", "| option | code | numpy, as said | numpy, as published |", "|---|---|---|---|"]
        for k in (1, 2):
            found = whole["two_scalar_quadratics"][f"option {k}"]
            lines.append(f"| {'I' * k} | " + " | ".join(", ".join(f"{v:.6g}" for v in found[name]) for name in found) + " |")
    return "\n".join(lines) + "\n"


KEPT = ("verdict", "named", "fault", "call")


def changes(old, new):
    """Lines on the rows whose verdict, named fault, sentence or call is another one than before, or that came or went."""
    before, after = ({(r["framework"], r["algorithm"]): r for r in whole.get("rows", ())} for whole in (old, new))
    for key in dict.fromkeys((*before, *after)):
        was, now = ([r.get(k, "") for k in KEPT] for r in (before.get(key, {}), after.get(key, {})))
        if was != now:
            yield f"changed: {', '.join(key)}: " + "; ".join(
                f"{k}: {a or 'nothing'} -> {b or 'nothing'}" for k, a, b in zip(KEPT, was, now, strict=True) if a != b)


def key(framework, algorithm):
    """A row by name: framework/algorithm."""
    return f"{framework}/{algorithm}"


def main(drawn_only=False, only=()):
    """Write gallery.json and gallery.md (drawn_only: the page alone, from the numbers); 1 where a row differs from before.

    only: rows by `key`, which are decided and compared with those that are kept; then nothing is written, because a gallery is made
    on one day with one set of versions.
    """
    kept = HERE / "gallery.json"
    old = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    if only:
        old = {"rows": [r for r in old.get("rows", ()) if key(r["framework"], r["algorithm"]) in only]}
        whole = {"rows": [row(c) for c in CASES if key(c.package or c.source, c.algorithm) in only]}
        end = [f"nothing is written: without --only the whole gallery is made anew, in {kept} and gallery.md beside it"]
    else:
        whole = old if drawn_only else make()
        if not drawn_only:
            kept.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        (HERE / "gallery.md").write_text(page(whole), encoding="utf-8")
        end = [f"wrote {path}" for path in ([] if drawn_only else [kept]) + [HERE / "gallery.md"]]
    for r in whole["rows"]:
        print(" | ".join(map(str, (r["framework"], r["algorithm"], r["verdict"], r.get("named", r.get("reason"))))))
    print(*changes(old, whole), *end, sep="\n")
    return int(any(changes(old, whole)))


if __name__ == "__main__":
    sys.exit(main("--drawn-only" in sys.argv[1:], sys.argv[sys.argv.index("--only") + 1:] if "--only" in sys.argv else ()))
