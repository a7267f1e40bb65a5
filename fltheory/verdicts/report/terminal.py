"""One line per verdict, and a summary, for a terminal."""

from collections import Counter

from . import checks
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


def _name(record) -> str:
    return rec.flat(f"{rec.text(record, 'paper')}/{rec.text(record, 'id')}")


def _word(record, width, color) -> str:
    word = rec.flat(rec.text(record, "word")) or "(no word)"
    return _paint(word.ljust(width), rec.look(word).tone, color)


def _unexpected(record, color) -> list:
    if not rec.mismatch(record):
        return []
    expected = rec.flat(rec.text(record, "expected")) or "(unstated)"
    return [_paint(f"!= expected {expected}", "alert", color)]


def claim_line(record, color=False) -> str:
    """id, word, evidence, scope, looseness and mutants of a claim on one line."""
    parts = [_name(record).ljust(40), _word(record, 9, color), rec.flat(rec.text(record, "evidence")).ljust(11)]
    parts.append(rec.flat(rec.text(record, "scope")))
    if rec.looseness(record):
        parts.append(f"looseness {rec.flat(rec.looseness(record))}")
    killed, every = rec.mutant_score(record)
    if every:
        parts.append(f"mutants {killed}/{every}")
    if record.get("powerless"):
        parts.append(_paint("POWERLESS", "alert", color))
    parts += _unexpected(record, color)
    return "  ".join(p for p in parts if p.strip()).rstrip()


def finding_line(record, color=False) -> str:
    """id, word, kind, what it breaks and what it says, on one line."""
    parts = [_name(record).ljust(40), _word(record, 13, color), rec.flat(rec.text(record, "kind"))]
    if rec.text(record, "breaks"):
        parts.append(f"breaks {rec.flat(rec.text(record, 'breaks'))}")
    failed = [
        rec.flat(rec.text(s, "step")) for s in rec.items(record, "procedure") if s.get("status") == "failed"
    ]
    if failed:
        parts.append(f"failed: {', '.join(failed)}")
    parts += _unexpected(record, color)
    return "  ".join(p for p in parts if p.strip()).rstrip()


_REASON = 110  # characters


def reason(records) -> str:
    """One indented line, or "": why a claim is OPEN or ERROR or has INCONCLUSIVE instances, why a finding was not confirmed.

    records: a claim's with those of its instances, or a finding's.
    """
    first, *instances = records
    if first.get("type") == "finding":
        steps = [s for s in rec.items(first, "procedure") if s.get("status") not in ("ok", "skipped")]
        said = [f"{rec.text(s, 'step')}: {rec.text(s, 'detail')}" for s in steps if s.get("detail")]
        said = said or rec.listed(first, "surprises")
        return _reason(said) if rec.text(first, "word") == "NOT CONFIRMED" else ""
    word, said = rec.text(first, "word"), []
    for status in ("ERROR", "INCONCLUSIVE"):
        found = [i for i in instances if i.get("status") == status]
        said += [f"{rec.text(i, 'instance')}: {status}{_because(i)}" for i in found]
    if word == "ERROR":
        said = said or rec.listed(first, "surprises")
    if word == "OPEN" and not said:
        said = [f"{rec.text(i, 'instance')}: FALSIFIED by {rec.text(i, 'evidence')} numbers, which only raise a suspicion"
                for i in instances if i.get("status") == "FALSIFIED"] or [_no_support(first, instances)]
    return _reason(said)


def _because(instance) -> str:
    if rec.text(instance, "reason"):
        return f", {rec.text(instance, 'reason')}"
    undecided = [c for c in rec.items(instance, "comparisons") if c.get("status") == "INCONCLUSIVE"]
    return "".join(f", {rec.shorten(c.get('lhs'), 30)} {rec.text(c, 'relation')} {rec.shorten(c.get('rhs'), 30)} is undecided"
                   for c in undecided[:1])


def _no_support(first, instances) -> str:
    """Why a claim is OPEN of which no instance says so."""
    if not instances:
        return "it has no instance"
    if all(i.get("status") in ("OUT_OF_SCOPE", "SKIPPED") for i in instances):
        return "no instance meets the hypotheses"
    search = first.get("search")
    if not isinstance(search, dict):
        return "it speaks of a whole class, and no search went beyond its instances"
    return "" if search.get("in_scope") else "no draw of the search met the hypotheses"


def _reason(said) -> str:
    said = [rec.flat(s) for s in said if rec.flat(s)]
    more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
    return f"    {rec.shorten(said[0], _REASON)}{more}" if said else ""


def _totals(title, counts, order=()) -> str:
    rank = {word: place for place, word in enumerate(order)}
    words = sorted(counts, key=lambda w: (rank.get(w, len(rank)), w))
    listed = ", ".join(f"{counts[w]} {rec.flat(w)}" for w in words)
    return f"{title}: {sum(counts.values())}" + (f" ({listed})" if listed else "")


def summary(records, color=False) -> str:
    """Totals, mutants per claim, and every verdict that differs from the expected one, by name."""
    book = rec.Book.of(records)
    instances = Counter(rec.text(i, "status") for group in book.instances.values() for i in group)
    printed = rec.of_papers(book.claims)
    own = [c for c in book.claims if c not in printed]
    lines = [_totals("claims", rec.word_counts(printed), rec.CLAIM_WORDS)] if printed or not own else []
    lines += [_totals("claims about the engine", rec.word_counts(own), rec.CLAIM_WORDS)] if own else []
    lines += [
        _totals("findings", rec.word_counts(rec.of_papers(book.findings) if printed else book.findings), ("CONFIRMED",)),
        _totals("instances", instances, ("HOLDS", "FALSIFIED")),
    ]
    for run in book.runs:
        if run.get("quick"):
            lines.append("this was a quick run: searches were shortened")
        lines += [f"not available here: {rec.flat(name)}" for name in rec.listed(run, "skipped_features")]
    for record in book.calibrations:
        said = (checks.summary(record), checks.family(record), checks.alarm(record))
        lines.append(f"our own checks: {rec.flat(' '.join(filter(None, said)))}")
    for answer in book.answers:
        states = Counter(rec.text(s, "state") or "unknown" for s in rec.items(answer, "sentences"))
        listed = ", ".join(f"{n} {rec.flat(state)}" for state, n in states.items())
        name = rec.flat(rec.text(answer, "paper"))
        lines.append(f"answer {name}: {rec.plural(sum(states.values()), 'sentence')} ({listed})")
    tested = [claim for claim in book.claims if rec.mutants(claim)]
    if tested:
        lines += ["", "mutants:"]
    for claim in tested:
        found = rec.mutants(claim)
        order = ("killed", "survived", "unstable", "inapplicable")
        statuses = [s for s in order if s in found] + sorted(set(found) - set(order))
        listed = "; ".join(f"{rec.flat(s)} {', '.join(map(rec.flat, found[s]))}" for s in statuses)
        lines.append(f"  {_name(claim)}: {listed}")
    powerless = [claim for claim in book.claims if claim.get("powerless")]
    if powerless:
        lines += ["", "powerless (the check would pass whatever the claim says):"]
        lines += [f"  {_name(c)}: {rec.flat(rec.text(c, 'powerless_reason'))}" for c in powerless]
    if book.orphans or book.unknown:
        lines += ["", f"records left over: {len(book.orphans)} instances of no claim, {book.unknown} unknown"]
    lost = book.lost()
    if lost:
        title = f"{rec.plural(len(lost), 'sentence')} no longer carried by the evidence:"
        lines += ["", _paint(title, "alert", color)]
    for paper, sentence in lost:
        said, reason = (rec.flat(rec.text(sentence, key)) for key in ("text", "reason"))
        lines.append(f"  {rec.flat(paper)}: {said} ({reason})")
    wrong = book.mismatches()
    lines += (
        ["", _paint(f"{rec.plural(len(wrong), 'verdict')} not as expected:", "alert", color)] if wrong else []
    )
    for record in wrong:
        expected = rec.flat(rec.text(record, "expected")) or "(unstated)"
        lines.append(
            f"  {record['type']} {_name(record)}: {rec.flat(rec.text(record, 'word'))} != expected {expected}"
        )
    lines += ["", _paint(book.unfinished(), "alert", color)] if book.unfinished() else []
    if not wrong and (book.claims or book.findings):
        lines += ["", "every verdict is as expected"]
    return "\n".join(lines)


# ---- one claim or finding in full -------------------------------------------------------------------------
_WIDTH = 120  # characters of one number


def _lines(value) -> list:
    """Text line by line, each without control characters."""
    return [rec.flat(line) for line in str(value or "").splitlines()]


def _number(value) -> str:
    return rec.shorten(rec.flat(value), _WIDTH)


def _instance(record) -> list:
    head = [rec.flat(rec.text(record, key)) for key in ("status", "evidence", "reason")]
    out = [f"  {rec.flat(rec.text(record, 'instance'))}: {' '.join(filter(None, head))}"]
    for h in rec.items(record, "hypotheses"):
        margin = f", margin {_number(h['margin'])}" if h.get("margin") not in (None, "") else ""
        holds = {True: "holds", False: "does not hold"}.get(h.get("holds"), "unknown")
        sides = f"{_number(h.get('lhs'))} against {_number(h.get('rhs'))}"
        out.append(f"      needs {rec.flat(rec.text(h, 'name'))}: {sides}{margin}: {holds}")
    for c in rec.items(record, "comparisons"):
        margin = f", margin {_number(c['margin'])}" if c.get("margin") not in (None, "") else ""
        label, relation, status = (rec.flat(rec.text(c, key)) for key in ("label", "relation", "status"))
        sides = f"{_number(c.get('lhs'))} {relation} {_number(c.get('rhs'))}"
        out.append(f"      {label or 'statement'}: {sides}{margin} -> {status}")
    return out


def _search(record) -> str:
    search = record.get("search")
    if not isinstance(search, dict):
        return ""
    families = search.get("families")
    listed = ", ".join(f"{n} {f}" for f, n in families.items()) if isinstance(families, dict) else ""
    found = "no counter-example found" if search.get("found") in (None, {}, []) else "a counter-example was found"
    return f"{rec.text(search, 'tries') or '?'} tries" + (f" ({listed})" if listed else "") + f"; {found}"


def entry(records, color=False, notes=()) -> str:
    """A claim's record with those of its instances, or a finding's record, as `fltheory show` prints it.

    notes: pairs (what, text) that the records do not hold: the corrected statement, the witness.
    """
    first, *instances = records
    claim = first.get("type") == "claim"
    out = [(claim_line if claim else finding_line)(first, color)]
    out += [f"  {rec.flat(v)}" for v in (rec.text(first, "place"), rec.says(first)) if v]
    out += ["", *_lines(first.get("statement"))] if first.get("statement") else []
    facts = [(key, rec.text(first, key)) for key in ("domain", "reading", "survives")]
    facts += [("search", _search(first)), ("finding", rec.text(first, "finding"))]
    for m in rec.items(first, "mutants"):
        by = f" by {rec.text(m, 'by')}" if rec.text(m, "by") else ""
        facts.append((f"mutant {rec.text(m, 'name')}", f"{rec.text(m, 'status')}{by} {rec.text(m, 'detail')}"))
    facts += [("surprise", str(s)) for s in rec.listed(first, "surprises")] + list(notes)
    facts = [f"  {rec.flat(what)}: {rec.flat(value)}" for what, value in facts if rec.flat(value)]
    out += ["", *facts] if facts else []
    steps = [
        f"  [{rec.flat(rec.text(s, 'status'))}] {rec.flat(rec.text(s, 'step'))}: {rec.flat(rec.text(s, 'detail'))}"
        for s in rec.items(first, "procedure")
    ]
    body = steps + [line for record in instances for line in _instance(record)]
    return "\n".join(out + (["", *body] if body else []))
