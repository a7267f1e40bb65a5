"""One line per verdict, and a summary, for a terminal."""

import re
from collections import Counter

from . import records as rec

_CODES = {
    "true": "32",
    "support": "34",
    "false": "31",
    "error": "33",
    "finding": "35",
    "neutral": "90",
    "plain": "0",
    "alert": "1;31",
}


def _paint(words, tone, color) -> str:
    return f"\x1b[{_CODES[tone]}m{words}\x1b[0m" if color else words


def _flat(value) -> str:
    """One line without control characters: a statement must not be able to drive the terminal."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", rec.show(value)).split())


def _name(record) -> str:
    return _flat(f"{rec.text(record, 'paper')}/{rec.text(record, 'id')}")


def _word(record, width, color) -> str:
    word = _flat(rec.text(record, "word")) or "(no word)"
    return _paint(word.ljust(width), rec.look(word).tone, color)


def _unexpected(record, color) -> list:
    if not rec.mismatch(record):
        return []
    expected = _flat(rec.text(record, "expected")) or "(unstated)"
    return [_paint(f"!= expected {expected}", "alert", color)]


def claim_line(record, color=False) -> str:
    """id, word, evidence, scope, looseness and mutants of a claim on one line."""
    parts = [_name(record).ljust(40), _word(record, 9, color), _flat(rec.text(record, "evidence")).ljust(11)]
    parts.append(_flat(rec.text(record, "scope")))
    if rec.looseness(record):
        parts.append(f"looseness {rec.looseness(record)}")
    killed, every = rec.mutant_score(record)
    if every:
        parts.append(f"mutants {killed}/{every}")
    if record.get("powerless"):
        parts.append(_paint("POWERLESS", "alert", color))
    parts += _unexpected(record, color)
    return "  ".join(p for p in parts if p.strip()).rstrip()


def finding_line(record, color=False) -> str:
    """id, word, kind, what it breaks and what it says, on one line."""
    parts = [_name(record).ljust(40), _word(record, 13, color), _flat(rec.text(record, "kind"))]
    if rec.text(record, "breaks"):
        parts.append(f"breaks {_flat(rec.text(record, 'breaks'))}")
    failed = [
        _flat(rec.text(s, "step")) for s in rec.items(record, "procedure") if s.get("status") == "failed"
    ]
    if failed:
        parts.append(f"failed: {', '.join(failed)}")
    parts += _unexpected(record, color)
    return "  ".join(p for p in parts if p.strip()).rstrip()


def _totals(title, counts, order=()) -> str:
    rank = {word: place for place, word in enumerate(order)}
    words = sorted(counts, key=lambda w: (rank.get(w, len(rank)), w))
    listed = ", ".join(f"{counts[w]} {_flat(w)}" for w in words)
    return f"{title}: {sum(counts.values())}" + (f" ({listed})" if listed else "")


def summary(records, color=False) -> str:
    """Totals, mutants per claim, and every verdict that differs from the expected one, by name."""
    book = rec.Book.of(records)
    instances = Counter(rec.text(i, "status") for group in book.instances.values() for i in group)
    lines = [
        _totals("claims", rec.word_counts(book.claims), rec.CLAIM_WORDS),
        _totals("findings", rec.word_counts(book.findings), ("CONFIRMED",)),
        _totals("instances", instances, ("HOLDS", "FALSIFIED")),
    ]
    for run in book.runs:
        if run.get("quick"):
            lines.append("this was a quick run: searches were shortened")
        lines += [f"not available here: {_flat(name)}" for name in run.get("skipped_features") or []]
    tested = [claim for claim in book.claims if rec.mutants(claim)]
    if tested:
        lines += ["", "mutants:"]
    for claim in tested:
        found = rec.mutants(claim)
        order = ("killed", "survived", "unstable", "inapplicable")
        statuses = [s for s in order if s in found] + sorted(set(found) - set(order))
        listed = "; ".join(f"{_flat(s)} {', '.join(map(_flat, found[s]))}" for s in statuses)
        lines.append(f"  {_name(claim)}: {listed}")
    powerless = [claim for claim in book.claims if claim.get("powerless")]
    if powerless:
        lines += ["", "powerless (the check would pass whatever the claim says):"]
        lines += [f"  {_name(c)}: {_flat(rec.text(c, 'powerless_reason'))}" for c in powerless]
    if book.orphans or book.unknown:
        lines += ["", f"records left over: {len(book.orphans)} instances of no claim, {book.unknown} unknown"]
    wrong = book.mismatches()
    lines += (
        ["", _paint(f"{rec.plural(len(wrong), 'verdict')} not as expected:", "alert", color)] if wrong else []
    )
    for record in wrong:
        expected = _flat(rec.text(record, "expected")) or "(unstated)"
        lines.append(
            f"  {record['type']} {_name(record)}: {_flat(rec.text(record, 'word'))} != expected {expected}"
        )
    if not wrong and (book.claims or book.findings):
        lines += ["", "every verdict is as expected"]
    return "\n".join(lines)
