"""One line per verdict, and a summary, for a terminal."""

from collections import Counter

from fltheory.verdicts.comparison_text import Hand, comparison_row, needs
from fltheory.verdicts.records import Claim, Entry, Finding, Instance, read
from fltheory.verdicts.report import checks, range_ends
from fltheory.verdicts.report.book import Book, of_papers, word_counts
from fltheory.verdicts.report.words import CLAIM_WORDS, factors, flat, look, plural, shorten

_CODES = {"true": "32", "support": "34", "false": "31", "error": "33", "finding": "35", "neutral": "90", "plain": "0",
          "alert": "1;31"}
_REASON = 110  # characters
_WIDTH = 120  # characters of one number


def _paint(words, tone, color) -> str:
    return f"\x1b[{_CODES[tone]}m{words}\x1b[0m" if color else words


def _line(entry, width, parts, color) -> str:
    """Name, word and what else there is to say of an entry."""
    word = flat(entry.word) or "(no word)"
    parts = [flat(entry.name).ljust(40), _paint(word.ljust(width), look(entry.word).tone, color), *parts]
    if entry.powerless:
        parts.append(_paint("POWERLESS", "alert", color))
    if entry.unexpected:
        parts.append(_paint(f"!= expected {_expected(entry)}", "alert", color))
    return "  ".join(p for p in parts if p.strip()).rstrip()


def _expected(entry) -> str:
    return flat(entry.expected) or "(unstated)"


def claim_line(record, color=False) -> str:
    """id, word, evidence, scope, what rests on the claim's own words, looseness and mutants of a claim on one line; units where
    they were asked for and not tried."""
    claim = Claim.of(record)
    parts = [flat(claim.evidence).ljust(11), flat(claim.scope)]
    if claim.argued:
        parts.append("as the claim argues: " + ", ".join(f"{flat(k)} = {flat(claim.covers.get(k))}" for k in claim.argued))
    if claim.looseness:
        parts.append(f"looseness {factors(claim.looseness)}")
    killed, every = claim.score
    parts += [f"mutants {killed}/{every}"] * bool(every)
    if claim.dimensional and claim.dimensional.status == "not applicable":
        parts.append(f"units not tried: {flat(claim.dimensional.detail)}")
    return _line(claim, 9, parts, color)


def finding_line(record, color=False) -> str:
    """id, word, kind, what it breaks and what it says, on one line."""
    finding = Finding.of(record)
    parts = [flat(finding.kind), f"breaks {flat(finding.breaks)}" if finding.breaks else ""]
    failed = [flat(s.step) for s in finding.procedure if s.status == "failed"]
    return _line(finding, 13, parts + [f"failed: {', '.join(failed)}"] * bool(failed), color)


def line(record, color=False) -> str:
    """The line of a claim or finding."""
    entry = read(record)
    return (claim_line if isinstance(entry, Claim) else finding_line)(entry, color)


# ---- why a verdict is none --------------------------------------------------------------------------------
def reason(records) -> str:
    """One indented line, or "": why a claim is OPEN or ERROR or has INCONCLUSIVE instances, why a finding was not confirmed, what
    contradicts a declaration although the word is the expected one.

    records: a claim's with those of its instances, or a finding's.
    """
    first, *instances = map(read, records)
    reasons = _of_finding(first) if isinstance(first, Finding) else _of_claim(first, instances)
    return _indented(reasons or _surprised(first))


def _surprised(entry) -> list:
    """The surprises of a verdict that is not as expected."""
    return entry.surprises if entry.unexpected else []


def _indented(reasons) -> str:
    reasons = list(filter(None, map(flat, reasons)))
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f"    {shorten(reasons[0], _REASON)}{more}" if reasons else ""


def _of_finding(finding) -> list:
    if finding.word != "NOT CONFIRMED":
        return []
    steps = [s for s in finding.procedure if s.status not in ("ok", "skipped") and s.detail]
    return [f"{s.step}: {s.detail}" for s in steps] or finding.surprises


def _of_claim(claim, instances) -> list:
    reasons = [f"{i.instance}: {status}{_because(i)}" for status in ("ERROR", "INCONCLUSIVE")
               for i in instances if i.status == status]
    if reasons or claim.word not in ("ERROR", "OPEN"):
        return reasons
    if claim.word == "ERROR":
        return claim.surprises
    refuting = [f"{i.instance}: FALSIFIED by {i.evidence} numbers, which only raise a suspicion"
                for i in instances if i.status == "FALSIFIED"]
    return refuting or [_no_support(claim, instances)]


def _because(instance) -> str:
    if instance.reason:
        return f", {instance.reason}"
    undecided = [c for c in instance.comparisons if c.status == "INCONCLUSIVE"]
    return "".join(f", {shorten(c.lhs, 30)} {c.relation} {shorten(c.rhs, 30)} is undecided" for c in undecided[:1])


def _no_support(claim, instances) -> str:
    """Why a claim is OPEN of which no instance says so."""
    if not instances:
        return "it has no instance"
    if all(i.status in ("OUT_OF_SCOPE", "SKIPPED") for i in instances):
        return "no instance meets the hypotheses"
    if claim.search is None:
        return "it speaks of a whole class, and no search went beyond its instances"
    return "" if claim.search.in_scope else "no draw of the search met the hypotheses"


# ---- the summary of a run ---------------------------------------------------------------------------------
def _totals(title, counts, order=()) -> str:
    rank = {word: place for place, word in enumerate(order)}
    words = sorted(counts, key=lambda w: (rank.get(w, len(rank)), w))
    listed = ", ".join(f"{counts[w]} {flat(w)}" for w in words)
    return f"{title}: {sum(counts.values())}" + (f" ({listed})" if listed else "")


def summary(records, color=False) -> str:
    """Totals, mutants per claim, and every verdict that differs from the expected one, by name."""
    book = Book.of(records)
    return "\n".join([*_counted(book), *_own_checks(book), *_mutants(book), *_left_over(book), *_lost(book, color),
                      *_unexpected(book, color)])


def _counted(book) -> list:
    instances = Counter(i.status for group in book.instances.values() for i in group)
    printed = of_papers(book.claims)
    of_engine = [c for c in book.claims if c not in printed]
    out = [_totals("claims", word_counts(printed), CLAIM_WORDS)] if printed or not of_engine else []
    out += [_totals("claims about the engine", word_counts(of_engine), CLAIM_WORDS)] if of_engine else []
    out.append(_totals("findings", word_counts(of_papers(book.findings) if printed else book.findings), ("CONFIRMED",)))
    return [*out, _totals("instances", instances, ("HOLDS", "FALSIFIED"))]


def _own_checks(book) -> list:
    out = []
    for run in book.runs:
        out += ["this was a quick run: searches were shortened, and what takes long was left out"] * run.quick
        out += [f"not available here: {flat(name)}" for name in run.skipped_features]
    for record in book.calibrations:
        sentences = (checks.summary(record), checks.family(record), checks.alarm(record))
        out.append(f"our own checks: {flat(' '.join(filter(None, sentences)))}")
    for answer in book.answers:
        states = Counter(s.state or "unknown" for s in answer.sentences)
        listed = ", ".join(f"{n} {flat(state)}" for state, n in states.items())
        out.append(f"answer {flat(answer.paper)}: {plural(sum(states.values()), 'sentence')} ({listed})")
    return out


def _inapplicable(mutant) -> str:
    """Why a mutant was not counted: what stands behind its own description."""
    return mutant.detail.rpartition("Inapplicable: ")[2]


def _mutants(book) -> list:
    out = []
    for claim in book.claims:
        order = ("killed", "survived", "unstable", "inapplicable")
        statuses = [s for s in order if s in claim.fates] + sorted(set(claim.fates) - set(order))
        listed = "; ".join(f"{flat(s)} {', '.join(map(flat, claim.fates[s]))}" for s in statuses)
        out += [f"  {flat(claim.name)}: {listed}"] if listed else []
        out += [f"    {flat(m.name)}, not counted: {shorten(flat(_inapplicable(m)), _REASON)}" for m in claim.mutants
                if m.status == "inapplicable" and m.detail]
    out = ["", "mutants:", *out] if out else []
    powerless = [f"  {flat(c.name)}: {flat(c.powerless_reason)}" for c in book.claims if c.powerless]
    return out + (["", "powerless (the check would pass whatever the claim says):", *powerless] if powerless else [])


def _left_over(book) -> list:
    return ["", f"records left over: {len(book.orphans)} instances of no claim"] if book.orphans else []


def _lost(book, color) -> list:
    lost = book.lost()
    title = f"{plural(len(lost), 'sentence')} no longer carried by the evidence:"
    lines = [f"  {flat(paper)}: {flat(s.text)} ({flat(s.reason)})" for paper, s in lost]
    return ["", _paint(title, "alert", color), *lines] if lost else []


def _unexpected(book, color) -> list:
    wrong = book.mismatches()
    title = f"{plural(len(wrong), 'verdict')} not as expected:"
    out = ["", _paint(title, "alert", color)] if wrong else []
    for r in wrong:
        out.append(f"  {r.type} {flat(r.name)}: {flat(r.word)} != expected {_expected(r)}")
        out += [f"    {shorten(flat(surprise), _REASON)}" for surprise in _surprised(r)]
    out += ["", _paint(book.unfinished(), "alert", color)] if book.unfinished() else []
    return out + (["", "every verdict is as expected"] if not wrong and book.entries else [])


# ---- one claim or finding in full -------------------------------------------------------------------------
def _number(value) -> str:
    return shorten(flat(value), _WIDTH)


_HAND = Hand(flat, lambda exact, decimal: _number(exact), _number, {True: "holds", False: "does not hold", None: "unknown"})


def _instance(record) -> list:
    head = [flat(v) for v in (record.status, record.evidence, record.reason) if v]
    out = [f"  {flat(record.instance)}: {' '.join(filter(None, head))}"]
    out += [f"      {needs(h, _HAND)}" for h in record.hypotheses]
    for label, left, relation, right, margin, _, status in (comparison_row(c, _HAND) for c in record.comparisons):
        out.append(f"      {label or 'statement'}: {left} {relation} {right}{f', margin {margin}' if margin else ''} -> {status}")
    return out


def _search(claim) -> str:
    if claim.search is None:
        return ""
    return f"{claim.search.said}; {'a counter-example was' if claim.search.found else 'no counter-example'} found"


def entry(records, color=False, notes=()) -> str:
    """A claim's record with those of its instances, or a finding's record, as `fltheory show` prints it.

    notes: pairs (what, text) that the records do not hold: the corrected statement, the witness.
    """
    first, *rest = map(read, records)
    first = first if isinstance(first, Entry) else Finding()
    pairs = [("reading", first.reading), ("survives", first.survives)]
    body, statement = [line for record in rest if isinstance(record, Instance) for line in _instance(record)], ""
    if isinstance(first, Claim):
        statement = first.statement
        reach = first.label if first.label != first.word else ""
        pairs = [("covers", reach), ("domain", first.domain), *pairs, ("search", _search(first)),
               *(("tested", sentence) for sentence in range_ends.sentences(first)),
               ("tightest", range_ends.tightest(first)), ("finding", first.finding)]
        pairs += [(f"mutant {m.name}", f"{m.status}{f' by {m.by}' if m.by else ''} {m.detail}") for m in first.mutants]
    elif isinstance(first, Finding):
        body = [f"  [{flat(s.status)}] {flat(s.step)}: {flat(s.detail)}" for s in first.procedure] + body
    pairs += [("surprise", s) for s in first.surprises] + list(notes)
    facts = [f"  {flat(what)}: {flat(value)}" for what, value in pairs if flat(value)]
    out = [line(first, color), *(f"  {flat(v)}" for v in (first.place, first.sentence) if v)]
    for part in ([*map(flat, statement.splitlines())], facts, body):
        out += ["", *part] if part else []
    return "\n".join(out)
