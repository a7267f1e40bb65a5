"""The report as one Markdown page that can be committed: no dates, no durations, no machine."""

import re

from fltheory.verdicts.comparison_text import Hand, comparison_row
from fltheory.verdicts.report import checks, range_ends
from fltheory.verdicts.report.book import Book, bugs, finished, word_table
from fltheory.verdicts.report.richtext import split
from fltheory.verdicts.report.words import approximation, factors, plural, shorten, show, shown, spelt

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
# What would start a heading, a quotation or a rule at the beginning of a line; lists are allowed.
_OPENING = re.compile(r"(\A\s*|\n\s*)(?=#|>|=|--)")
_LATER = re.compile(r"(\n\s*)(?=#|>|=|--)")
_DIGITS = re.compile(r"-?\d+\.\d{5,}(?:[eE][-+]?\d+)?|-?\d+(?:\.\d+)?[eE][-+]?\d+")


def _prose(value, cell=False) -> str:
    """Text in which HTML is inert and formulas still work; in a table cell bars and newlines go too."""
    out = []
    for kind, content in split(_CONTROL.sub(" ", str(value or ""))):
        if kind in ("math", "display"):
            # "<" would open a tag and "|" a new cell, so formulas name these characters instead.
            content = content.replace("<", r"\lt ").replace(">", r"\gt ").replace("`", "'")
            # Where formulas are not known, "[a](b)" inside one would still be a link.
            content = re.sub(r"\n(?=\s*(?:#|>|=|--))", " ", content.replace("](", "] ("))
            if cell:
                content = content.replace(r"\|", r"\Vert ").replace("|", r"\vert ")
            mark = "$$" if kind == "display" and not cell else "$"
            out.append(f"{mark}{content}{mark}")
        elif kind == "code":
            out.append(_code(content))
        else:
            # A backslash before a mark would undo the one put there; "\\$" is a dollar that opens no formula.
            content = re.sub(r"\\(?!\$)", r"\\\\", content)
            content = content.replace("&", "&amp;").replace("<", "&lt;").replace("[", r"\[")
            # A lone backtick would pair with a later one and turn what lies between into code; "~~~" fences code.
            content = content.replace("`", r"\`").replace("~", r"\~")
            if not cell:
                content = (_LATER if out else _OPENING).sub(r"\1\\", content)
            out.append(content.replace("|", r"\|") if cell else content)
    joined = "".join(out)
    return " ".join(joined.split()) if cell else joined.strip()


def _code(value) -> str:
    # A bar after a backslash would end the cell: inside code nothing can escape the backslash itself.
    flat = re.sub(r"\\(?=\|)", r"\\ ", _CONTROL.sub(" ", str(value)).replace("`", "'"))
    flat = " ".join(flat.replace("|", r"\|").split())
    return f"`{flat}`" if flat else ""


def _cell(value) -> str:
    return _prose(value, cell=True)


def _table(head, rows) -> list:
    if not rows:
        return []
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def _link(entry) -> str:
    return f"[{_code(entry.name)}]({entry.href})"


def _verdict(entry) -> str:
    word = f"**{_cell(entry.badge) or '(no word)'}**"
    if entry.powerless:
        word += " (POWERLESS)"
    if entry.unexpected:
        word += f" ≠ expected {_cell(entry.expected)}"
    return word


def _score(claim) -> str:
    killed, every = claim.score
    return f"{killed}/{every}" if every else ""


def _side(exact, number) -> str:
    """An exact side as printed; the last digits of a float differ between machines and are rounded."""
    near = approximation(exact, number)
    if set(exact) & set(".eE"):   # fractions of thousands of digits hold no float
        exact = _DIGITS.sub(lambda m: show(float(m[0])), exact)
    exact = shorten(exact)
    if not exact:
        return near
    return _code(exact) + (f" ≈ {near}" if near and near != exact else "")


def _instance_rows(instances) -> list:
    rows = []
    for i in instances:
        name = _code(i.instance)
        for label, *rest in (comparison_row(c, Hand(_cell, _side, show)) for c in i.comparisons):
            rows.append([f"{name} {label}" if label else name, *rest])
        rows += [] if i.comparisons else [[name, _cell(i.reason), "", "", "", "", _cell(i.status)]]
    return rows


def _head(entry) -> list:
    meta = filter(None, map(_cell, (entry.place, entry.kind)))
    return [f'<a id="{entry.anchor}"></a>', "", f"### {_code(entry.name)}", "", " · ".join([_verdict(entry), *meta]), ""]


def _facts(pairs) -> list:
    lines = [f"- {label}: {value}" for label, value in pairs if value]
    return [*lines, ""] if lines else []


def _target(book, entry, kind, name) -> str:
    target = book.find(kind, entry.paper, name)
    return _link(target) if target else _code(name)


def _claim(book, claim) -> list:
    facts = _facts([
        ("domain", _cell(claim.domain)),
        ("evidence", _cell(claim.evidence)),
        ("scope", _cell(claim.scope)),
        ("looseness", factors(claim.looseness)),
        *(("tested", _cell(sentence)) for sentence in range_ends.sentences(claim)),
        ("tightest", _cell(range_ends.tightest(claim))),
        ("how we could be wrong" if claim.word == "FALSE" else "reading", _cell(claim.reading)),
        ("nearest reading that survives", _cell(claim.survives)),
        ("corrected statement", _target(book, claim, "claim", claim.instead)),
        ("finding", _target(book, claim, "finding", claim.finding)),
        ("powerless", _cell(claim.powerless_reason) if claim.powerless else ""),
        ("dimensions", _cell(claim.dimensional.status) if claim.dimensional else ""),
        *[(f"mutants {_cell(status)}", ", ".join(map(_code, names))) for status, names in sorted(claim.fates.items())],
        ("script", _code(claim.script)),
    ])
    head = ["instance", "left side", "relation", "right side", "margin", "evidence", "status"]
    statement = [_prose(claim.statement), ""] if claim.statement else []
    return _head(claim) + statement + facts + _table(head, _instance_rows(book.of_claim(claim)))


def _finding(book, finding) -> list:
    facts = _facts([("breaks", _target(book, finding, "claim", finding.breaks)),
                    ("step", _cell(finding.step)),
                    ("corrected statement", _target(book, finding, "claim", finding.corrected)),
                    ("how we could be wrong", _cell(finding.reading)),
                    ("nearest reading that survives", _cell(finding.survives)),
                    ("script", _code(finding.script))])
    says = [_prose(finding.says), ""] if finding.says else []
    steps = [[_cell(s.step), _cell(s.status), _cell(s.detail)] for s in finding.procedure]
    return _head(finding) + says + facts + _table(["step", "status", "detail"], steps)


def _calibration(book) -> list:
    lines = []
    for record in book.calibrations:
        rows = [[*map(_cell, row.cells), _cell(row.note)] for row in checks.rows(record)]
        sentences = (checks.LEAD if rows else "", checks.summary(record), checks.family(record), checks.alarm(record))
        lines += ["## How sure are our own checks", "", _prose(" ".join(filter(None, sentences))), ""]
        lines += _table([*(h.lower() for h in checks.HEAD), "note"], rows)
    return lines


def _cases(book) -> list:
    """The false and open statements, each with one plain sentence."""
    lines = []
    for word, title in (("FALSE", "False statements"), ("OPEN", "Open statements")):
        cases = []
        for claim, finding, _ in book.cases(word):
            why = f" What we found: {_cell(finding.sentence)}" if finding and finding.sentence else ""
            cases.append(f"- {_link(claim)}: {_cell(claim.sentence)}{why}".rstrip(": "))
        lines += [f"## {title}", "", *cases, ""] if cases else []
    return lines


def _answers(book) -> list:
    """What each paper comes to: sentences with the verdicts they rest on."""
    lines = []
    for answer in book.answers:
        parts, aside = answer.told()
        lines += [f"## {_cell(answer.title) or _code(answer.paper)}", ""]
        for part, sentences in parts:
            lines += [f"**{_cell(part)}**", ""] if part else []
            lines += [f"- {_sentence(book, answer.paper, s)}" for s in sentences] + [""]
        if aside:
            lines += [f"{plural(aside, 'further sentence')} not shown: this run did not decide their evidence.", ""]
    return lines


def _sentence(book, paper, sentence) -> str:
    refs = []
    for on in sentence.evidence:
        target = book.find(on.kind, paper, on.id)
        refs.append(f"{_link(target)} {_cell(on.badge)}" if target else _code(on.id))
    flag = {"lost": "No longer carried by its evidence", "not yet written": "Not yet checked"}.get(sentence.state)
    flag = f" **{flag}:** {_cell(sentence.reason)}." if flag else ""
    return f"{_cell(sentence.text)}{flag} ({', '.join(refs)})"


def _opening(book) -> list:
    """What a reader must know first."""
    lines = ["# Verdicts", ""]
    if any(run.quick for run in book.runs):
        lines += ["This was a quick run: searches were shortened, and what takes long was left out.", ""]
    if book.unfinished():
        lines += [f"**{_cell(book.unfinished())}.**", ""]
    wrong = book.mismatches()
    if wrong:
        lines += [f"**{plural(len(wrong), 'verdict')} not as expected:**", ""]
        lines += [f"- {entry.type} {_link(entry)}: {_verdict(entry)}" for entry in wrong] + [""]
    else:
        lines += ["Every verdict is as expected." if book.entries else "There are no records.", ""]
    version = _cell(book.run.version)
    if version and book.entries:
        lines += [f"To cite an entry: fltheory project, fltheory {version}, its name and verdict; its name here is its "
                  "permanent anchor. `fltheory show ID --bibtex` prints an entry.", ""]
    return lines


def _words(book) -> list:
    """How many papers are decided whole, and a table of papers and words."""
    used, rows = word_table(book)
    if not rows:
        return []
    whole, papers = finished(book)
    sentence = f"Every claim and finding listed is decided in {spelt(len(whole))} of {spelt(len(papers))} papers."
    return [sentence, "", *_table(["paper", "claims", *map(str.lower, used), "findings confirmed"], [
        [_cell(p), str(sum(words.values())), *(str(words[w] or "") for w in used), confirmed] for p, words, confirmed in rows])]


def _lists(book) -> list:
    """Every claim, finding and wrong implementation, one line each."""
    lines = ["## Claims", ""] if book.claims else []
    lines += _table(["claim", "place", "verdict", "evidence", "looseness", "mutants killed/all"], [
        [_link(c), _cell(c.place), _verdict(c), _cell(c.evidence), factors(c.looseness), _score(c)] for c in book.claims])
    lines += ["## Findings", ""] if book.findings else []
    lines += _table(["finding", "place", "kind", "verdict", "breaks"], [
        [_link(f), _cell(f.place), _cell(f.kind), _verdict(f), _target(book, f, "claim", f.breaks)] for f in book.findings])
    for kind, title in (("bug", "Wrong implementations"), ("engine", "Faults of the engine")):
        rows = [[_code(name), _cell(detail), ", ".join(map(_link, killed)), ", ".join(map(_link, missed))]
                for name, (detail, killed, missed) in bugs(book.claims, kind).items()]
        lines += [f"## {title}", ""] if rows else []
        lines += _table([kind if kind == "bug" else "fault", "what it does", "rejected by", "missed by"], rows)
    return lines


def page(records) -> str:
    """The whole page; the same verdicts give the same bytes."""
    book = Book.of(records)
    lines = _opening(book) + _words(book) + _answers(book) + _cases(book) + _lists(book) + _calibration(book)
    if book.orphans:
        lines += [f"Left over: {len(book.orphans)} instances of no claim.", ""]
    for title, write, entries in (("Claim by claim", _claim, book.claims), ("Finding by finding", _finding, book.findings)):
        lines += [f"## {title}", ""] if entries else []
        lines += [line for entry in entries for line in write(book, entry)]
    return shown("\n".join(lines).rstrip() + "\n")
