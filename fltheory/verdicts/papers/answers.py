"""A paper's answer in plain language, `answer.md`: sentences that each name the verdicts they rest on.

    # What the method gains

    It converges to the optimum on quadratics. [table1-focus, thm1-sc=FALSE]

Every sentence ends with ids of the paper's ledger, each with the word that the sentence relies on, or without one where
it relies on the ledger's expected word. Ids of figures and tables may be added; they have no verdict. Lines with `##`
start a new part. A number in a sentence must stand in the records of what the sentence names.
"""
from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from fltheory.core.errors import BadInput, refuse
from fltheory.verdicts import records
from fltheory.verdicts.deciding.evidence import CERTIFIED, CONFIRMED, DECIDED, OPEN, PROVED, SKIPPED, SUPPORTED, VACUOUS

FILE = "answer.md"
WORDS = (*DECIDED, CONFIRMED)
# A word that says more than the one relied on carries the sentence too.
_CARRIES = {SUPPORTED: (SUPPORTED, CERTIFIED, PROVED), CERTIFIED: (CERTIFIED, PROVED)}
CARRIED, LOST, WAITING, NOT_RUN = "carried", "lost", "not yet written", "not run"

_SENTENCE = re.compile(r"\s*(?P<text>.+?[.!?])\s+\[(?P<ids>[^\[\]]+)\](?=\s|$)", re.DOTALL)
_INNER_END = re.compile(r"[.!?]\s+[A-Z$`*]")
_FORMULA = re.compile(r"\$[^$]*\$|`[^`]*`")
_REFERENCE = re.compile(r"(?P<id>[\w./:-]+)(?:=(?P<word>[A-Z]+))?")
_KINDS = "Theorem|Lemma|Corollary|Table|Figure|Section|Equation|Appendix|Algorithm|Assumption|Case"
# Names: Theorem 1, Lemmas 3 and 4, and (8), an equation.
_NAMED = re.compile(rf"\b(?:{_KINDS})s? \(?\d+\w*(?:(?:, | and | to )\d+\b)*|(?<![\w)])\(\d+\w?\)")
_NUMBER = r"(?:\d+(?:\.\d+)?|\.\d+)(?:/\d+)?(?!\d)"
_STATED = re.compile(r"(?<![\w.\\^])(?<![_^]\{)" + _NUMBER)  # neither an index nor an exponent nor part of a name
_ANYWHERE = re.compile(r"(?<![\d.])" + _NUMBER)
# Fields that repeat the ledger, name things, or say nothing about the result.
_TYPED = ("says", "reading", "survives", "seconds", "id", "claim", "paper", "place", "instead", "finding",
          "breaks", "covers", "label")


def read(folder: Path, ledger: dict) -> records.Answer | None:
    """The answer of a paper folder, before it is judged; None if it has none.

    Raises BadInput for a sentence without evidence, an id that the ledger does not have, or a word that no verdict is.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        return None
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"answer {str(path)!r} cannot be read ({error}). Restore the file.") from None
    title, *lines = _lines(text) or [""]
    if not title.startswith("# "):
        refuse("answer", path.name, "starts with its title", "Write `# What the method gains` on the first line.")
    part, sentences = "", []
    for line in lines:
        if line.startswith("#"):
            part = line.lstrip("#").strip()
        else:
            sentences += [records.Sentence(t, part, evidence=_references(ids, ledger)) for t, ids in _split(line)]
    if not sentences:
        refuse("answer", path.name, "has no sentence", "Write one, or remove the file.")
    return records.Answer("", title[2:].strip(), sentences)


def _lines(text) -> list[str]:
    """Headings and paragraphs, each as one line."""
    out: list[str] = []
    open_paragraph = False
    for line in map(str.strip, text.splitlines()):
        if line and open_paragraph and not line.startswith("#"):
            out[-1] += " " + line
        elif line:
            out.append(line)
        open_paragraph = bool(line) and not line.startswith("#")
    return out


def _split(paragraph) -> list[tuple[str, str]]:
    out, end = [], 0
    while paragraph[end:].strip():
        match = _SENTENCE.match(paragraph, end)
        if match is None or _INNER_END.search(_FORMULA.sub("x", match["text"])):
            refuse("sentence", paragraph[end:].strip()[:80], "names no evidence",
                   "End every sentence of answer.md with ids of the ledger in brackets: [id, id=FALSE].")
        out.append((match["text"], match["ids"]))
        end = match.end()
    return out


def _references(ids, ledger) -> list[records.Weighed]:
    """Ids of the ledger, each with the word relied on, which is empty for a figure or table."""
    out = []
    for item in (i.strip() for i in ids.split(",")):
        match = _REFERENCE.fullmatch(item)
        if match is None or match["id"] not in ledger:
            refuse("evidence", item, "of answer.md is no id of the ledger", "`fltheory list` shows the ids.")
        row, word = ledger[match["id"]], match["word"]
        decided = row["type"] in ("claim", "finding")
        if word is not None and (not decided or word not in WORDS):
            refuse("evidence", item, f"names a word that {row['type']} {match['id']} cannot have",
                   f"Words are {', '.join(WORDS)}.")
        out.append(records.Weighed(match["id"], row["type"], (word or row["expected"]) if decided else ""))
    if not any(on.relies for on in out):
        refuse("evidence", ids, "of answer.md has no verdict", "Name a claim or a finding as well.")
    return out


def numbers(text) -> list[str]:
    """The numbers of a sentence as written, without those of names such as Theorem 1; `0.5` reads `.5`."""
    return [n.removeprefix("0") if n.startswith("0.") else n for n in _STATED.findall(_NAMED.sub("", text))]


def judge(paper, lines) -> list[dict]:
    """The record of the paper's answer under the verdicts of this run; [] without one or if nothing of it was decided."""
    if paper.answer is None:
        return []
    of_paper = [r for r in lines if r.get("paper") == paper.slug]
    decided = {r.id: r for r in map(records.read, of_paper) if isinstance(r, records.Entry)}
    sentences = [_judged(s, paper, decided, of_paper) for s in paper.answer.sentences]
    if not any(on.word for s in sentences for on in s.evidence):
        return []
    return [replace(paper.answer, paper=paper.slug, sentences=sentences).to_json()]


def _judged(sentence, paper, decided, of_paper) -> records.Sentence:
    weighed = [_weighed(on, paper, decided) for on in sentence.evidence]
    evidence, reasons = [on for on, _ in weighed], [reason for _, reason in weighed if reason]
    states = {on.state for on in evidence}
    state = next((s for s in (LOST, NOT_RUN, WAITING) if s in states), CARRIED)
    if state == CARRIED:
        stated = set(_numbers_in([r for r in of_paper if (r.get("claim") or r.get("id")) in {on.id for on in evidence}]))
        unknown = [n for n in numbers(sentence.text) if n not in stated]
        if unknown:
            state, reasons = LOST, [f"the number {', '.join(unknown)} does not stand in the evidence"]
    return replace(sentence, state=state, reason="; ".join(reasons), evidence=evidence)


def _weighed(on, paper, decided) -> tuple:
    """(a reference beside the verdict of this run, why it does not carry or "")."""
    name, relies, verdict, reason = on.id, on.relies, decided.get(on.id), ""
    if not relies:
        return replace(on, state=CARRIED), ""
    if verdict is None or verdict.word == SKIPPED:
        if name in paper.claims or name in paper.findings:
            return replace(on, state=NOT_RUN), f"{name} was not decided in this run"
        return replace(on, state=WAITING), f"{name} is not yet written"
    if verdict.word not in _CARRIES.get(relies, (relies,)):
        reason = f"{name} is {verdict.word}, not {relies}"
    elif verdict.powerless and relies not in (OPEN, VACUOUS):  # these words rest on no instance
        reason = f"the check of {name} is powerless"
    label = verdict.label if verdict.limited else ""  # a sentence says what its proof does not reach
    return replace(on, word=verdict.word, state=LOST if reason else CARRIED, label=label), reason


def _numbers_in(value):
    """The numbers that stand anywhere in some records, except in what was typed into the ledger."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in _TYPED:
                yield from _numbers_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _numbers_in(inner)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield from (n.removeprefix("0") if n.startswith("0.") else n for n in _ANYWHERE.findall(str(value)))
