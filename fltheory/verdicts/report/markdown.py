"""The report as one Markdown page that can be committed: no dates, no durations, no machine."""

import re

from . import checks
from . import records as rec
from .richtext import split

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
# What would start a heading, a quotation or a rule at the beginning of a line; lists are allowed.
_OPENING = re.compile(r"(\A\s*|\n\s*)(?=#|>|=|--)")
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
                content = _OPENING.sub(lambda m, first=not out: m[1] + "\\" * (first or "\n" in m[1]), content)
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


def _link(record) -> str:
    return f"[{_code(rec.text(record, 'paper') + '/' + rec.text(record, 'id'))}]({rec.href(record)})"


def _verdict(record) -> str:
    word = f"**{_cell(rec.label(record)) or '(no word)'}**"
    if record.get("powerless"):
        word += " (POWERLESS)"
    if rec.mismatch(record):
        word += f" ≠ expected {_cell(rec.text(record, 'expected'))}"
    return word


def _score(claim) -> str:
    killed, every = rec.mutant_score(claim)
    return f"{killed}/{every}" if every else ""


def _side(comparison, side) -> str:
    """An exact side as printed; the last digits of a float differ between machines and are rounded."""
    exact = rec.shorten(_DIGITS.sub(lambda m: rec.show(float(m[0])), rec.text(comparison, side)))
    near = rec.approximation(comparison, side)
    if not exact:
        return near
    return _code(exact) + (f" ≈ {near}" if near and near != exact else "")


def _instance_rows(instances) -> list:
    rows = []
    for record in instances:
        name = _code(rec.text(record, "instance"))
        comparisons = rec.items(record, "comparisons")
        if not comparisons:
            status = _cell(rec.text(record, "status"))
            rows.append([name, _cell(rec.text(record, "reason")), "", "", "", "", status])
        for comparison in comparisons:
            margin = rec.as_float(comparison.get("margin"))
            rows.append(
                [
                    name + (f" {_cell(comparison['label'])}" if comparison.get("label") else ""),
                    _side(comparison, "lhs"),
                    _cell(rec.text(comparison, "relation")),
                    _side(comparison, "rhs"),
                    rec.show(margin),
                    _cell(rec.text(comparison, "evidence") or rec.text(record, "evidence")),
                    _cell(rec.text(comparison, "status") or rec.text(record, "status")),
                ]
            )
    return rows


def _head(record) -> list:
    name = f"{rec.text(record, 'paper')}/{rec.text(record, 'id')}"
    place = [_prose(rec.text(record, key), cell=True) for key in ("place", "kind")]
    return [
        f'<a id="{rec.anchor(record)}"></a>',
        "",
        f"### {_code(name)}",
        "",
        " · ".join([_verdict(record), *filter(None, place)]),
        "",
    ]


def _facts(pairs) -> list:
    lines = [f"- {label}: {value}" for label, value in pairs if value]
    return [*lines, ""] if lines else []


def _target(book, record, key, kind) -> str:
    name = rec.text(record, key)
    target = book.find(kind, rec.text(record, "paper"), name) if name else None
    return _link(target) if target else _code(name)


def _script(record) -> str:
    return _code(rec.text(record, "script"))


def _claim(book, claim) -> list:
    lines = _head(claim)
    if rec.text(claim, "statement"):
        lines += [_prose(claim["statement"]), ""]
    found = rec.mutants(claim)
    false = rec.text(claim, "word") == "FALSE"
    dimensional = claim.get("dimensional")
    lines += _facts(
        [
            ("domain", _cell(rec.text(claim, "domain"))),
            ("evidence", _cell(rec.text(claim, "evidence"))),
            ("scope", _cell(rec.text(claim, "scope"))),
            ("looseness", _cell(rec.looseness(claim))),
            ("how we could be wrong" if false else "reading", _cell(rec.text(claim, "reading"))),
            ("nearest reading that survives", _cell(rec.text(claim, "survives"))),
            ("corrected statement", _target(book, claim, "instead", "claim")),
            ("finding", _target(book, claim, "finding", "finding")),
            ("powerless", _cell(rec.text(claim, "powerless_reason")) if claim.get("powerless") else ""),
            ("dimensions", _cell(rec.text(dimensional, "status")) if isinstance(dimensional, dict) else ""),
            *[(f"mutants {_cell(status)}", ", ".join(map(_code, found[status]))) for status in sorted(found)],
            ("script", _script(claim)),
        ],
    )
    head = ["instance", "left side", "relation", "right side", "margin", "evidence", "status"]
    return lines + _table(head, _instance_rows(book.of_claim(claim)))


def _finding(book, finding) -> list:
    lines = _head(finding)
    if rec.text(finding, "says"):
        lines += [_prose(finding["says"]), ""]
    lines += _facts(
        [
            ("breaks", _target(book, finding, "breaks", "claim")),
            ("step", _cell(rec.text(finding, "step"))),
            ("corrected statement", _target(book, finding, "corrected", "claim")),
            ("how we could be wrong", _cell(rec.text(finding, "reading"))),
            ("nearest reading that survives", _cell(rec.text(finding, "survives"))),
            ("script", _script(finding)),
        ],
    )
    steps = rec.items(finding, "procedure")
    return lines + _table(
        ["step", "status", "detail"],
        [[_cell(rec.text(s, k)) for k in ("step", "status", "detail")] for s in steps],
    )


def _calibration(book) -> list:
    lines = []
    for record in book.calibrations:
        rows = [[*map(_cell, row.cells), _cell(row.note)] for row in checks.rows(record)]
        sentences = (rows and checks.LEAD, checks.summary(record), checks.family(record), checks.alarm(record))
        lines += ["## How sure are our own checks", "", _prose(" ".join(filter(None, sentences))), ""]
        lines += _table([*(h.lower() for h in checks.HEAD), "note"], rows)
    return lines


def _cases(book) -> list:
    """The false and open statements, each with one plain sentence."""
    lines = []
    for word, title in (("FALSE", "False statements"), ("OPEN", "Open statements")):
        those = [c for c in book.claims if rec.text(c, "word") == word]
        if those:
            lines += [f"## {title}", ""]
        for claim in those:
            found = book.find("finding", rec.text(claim, "paper"), rec.text(claim, "finding"))
            why = f" What we found: {_cell(rec.says(found))}" if found and rec.says(found) else ""
            lines.append(f"- {_link(claim)}: {_cell(rec.says(claim))}{why}".rstrip(": "))
        lines += [""] if those else []
    return lines


def _answers(book) -> list:
    """What each paper comes to: sentences with the verdicts they rest on."""
    lines = []
    for answer in book.answers:
        paper = rec.text(answer, "paper")
        shown, aside = rec.told(answer)
        lines += [f"## {_cell(rec.text(answer, 'title')) or _code(paper)}", ""]
        for part, sentences in shown:
            lines += [f"**{_cell(part)}**", ""] if part else []
            lines += [f"- {_sentence(book, paper, s)}" for s in sentences] + [""]
        if aside:
            lines += [f"{rec.plural(aside, 'further sentence')} not shown: this run did not decide their evidence.", ""]
    return lines


def _sentence(book, paper, sentence) -> str:
    state, refs = rec.text(sentence, "state"), []
    for raw in rec.items(sentence, "evidence"):
        target = book.find(rec.text(raw, "kind"), paper, rec.text(raw, "id"))
        refs.append(f"{_link(target)} {_cell(rec.label(raw))}" if target else _code(rec.text(raw, "id")))
    flag = {"lost": "No longer carried by its evidence", "not yet written": "Not yet checked"}.get(state)
    flag = f" **{flag}:** {_cell(rec.text(sentence, 'reason'))}." if flag else ""
    return f"{_cell(rec.text(sentence, 'text'))}{flag} ({', '.join(refs)})"


def page(records) -> str:
    """The whole page; the same verdicts give the same bytes."""
    book = rec.Book.of(records)
    lines = ["# Verdicts", ""]
    if any(run.get("quick") for run in book.runs):
        lines += ["This was a quick run: searches were shortened.", ""]
    if book.unfinished():
        lines += [f"**{_cell(book.unfinished())}.**", ""]
    wrong = book.mismatches()
    if wrong:
        lines += [f"**{rec.plural(len(wrong), 'verdict')} not as expected:**", ""]
        lines += [f"- {record['type']} {_link(record)}: {_verdict(record)}" for record in wrong] + [""]
    elif book.claims or book.findings:
        lines += ["Every verdict is as expected.", ""]
    else:
        lines += ["There are no records.", ""]
    version = _cell(rec.text(book.run, "version"))
    if version and (book.claims or book.findings):
        lines += [
            f"To cite an entry: fltheory project, fltheory {version}, its name and verdict; its name here is its "
            "permanent anchor. `fltheory show ID --bibtex` prints an entry.", ""
        ]
    lines += _answers(book) + _cases(book)
    if book.claims:
        lines += ["## Claims", ""]
    rows = [
        [
            _link(c),
            _cell(rec.text(c, "place")),
            _verdict(c),
            _cell(rec.text(c, "evidence")),
            _cell(rec.looseness(c)),
            _score(c),
        ]
        for c in book.claims
    ]
    lines += _table(["claim", "place", "verdict", "evidence", "looseness", "mutants killed/all"], rows)
    if book.findings:
        lines += ["## Findings", ""]
    rows = [
        [
            _link(f),
            *[_cell(rec.text(f, k)) for k in ("place", "kind")],
            _verdict(f),
            _target(book, f, "breaks", "claim"),
        ]
        for f in book.findings
    ]
    lines += _table(["finding", "place", "kind", "verdict", "breaks"], rows)
    for kind, title in (("bug", "Wrong implementations"), ("engine", "Faults of the engine")):
        rows = [[_code(name), _cell(detail), ", ".join(map(_link, killed)), ", ".join(map(_link, missed))]
                for name, (detail, killed, missed) in rec.bugs(book.claims, kind).items()]
        lines += [f"## {title}", ""] if rows else []
        lines += _table([kind if kind == "bug" else "fault", "what it does", "rejected by", "missed by"], rows)
    lines += _calibration(book)
    if book.orphans or book.unknown:
        lines += [
            f"Left over: {len(book.orphans)} instances of no claim, {book.unknown} unknown records.",
            "",
        ]
    if book.claims:
        lines += ["## Claim by claim", ""]
    for claim in book.claims:
        lines += _claim(book, claim)
    if book.findings:
        lines += ["## Finding by finding", ""]
    for finding in book.findings:
        lines += _finding(book, finding)
    return rec.shown("\n".join(lines).rstrip() + "\n")
