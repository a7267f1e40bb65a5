"""The page of the gallery: other people's rounds before `identify`, with the hand check beside each verdict."""
from __future__ import annotations

from collections import Counter
from html import escape

from fltheory.verdicts.records import INDEX
from fltheory.verdicts.report.html_pieces import facts, fold, number, table
from fltheory.verdicts.report.words import plural

PAGE = f"{INDEX.removesuffix('.html')}.frameworks.html"  # no paper's page has a dot in its name
TITLE = "Frameworks before identify"
_LOOK = {  # word -> (mark, tone, what it means)
    "matches": ("✓", "true", "The map recovered from the code is that of the named algorithm, entry by entry."),
    "matches to single precision": ("✓", "true", "As far as single precision shows, the map is that of the named algorithm."),
    "differs": ("✗", "false", "The map recovered from the code is another one than that of the named algorithm."),
    "not affine": ("?", "neutral", "The round is no affine map on quadratics, so that entries cannot be compared."),
    "skipped": ("–", "neutral", "The framework was not installed where the gallery was made."),
}
RECONSTRUCTION = ("A reconstruction: these lines were written anew after what is named, whose own code did not run. They give no "
                  "verdict on it.")
_MODELS = ("of the code", "of numpy, as said", "of numpy, as published")


def _chip(row) -> str:
    mark, tone, gloss = _LOOK.get(row.verdict, ("?", "neutral", ""))
    # What was written anew says nothing about anybody, so it has no colour of a verdict on them.
    tone, label = ("neutral", f"reconstruction: {row.verdict}") if row.reconstruction else (tone, row.verdict)
    return (f'<span class="chip {tone}" title="{escape(RECONSTRUCTION if row.reconstruction else gloss)}">'
            f'<span aria-hidden="true">{mark}</span> {escape(label.upper() if not row.reconstruction else label)}</span>')


def _who(row) -> str:
    return f"after {row.framework}" if row.reconstruction else f"{row.framework} {row.version}".strip()


def _coded(text) -> str:
    """Plain text in which `...` is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(f"<code>{escape(p)}</code>" if at % 2 else escape(p) for at, p in enumerate(parts))


def _hand(row) -> str:
    """The last models of the code and of numpy, with what was called."""
    by = row.by_hand
    if not by:
        return ""
    gaps = ("", row.distance_from_numpy_as_said, row.distance_from_numpy_as_published)
    calls = ("", by.get("said", ""), by.get("published", ""))
    rows = [[label, f"<code>{escape(str(call))}</code>" if call else "", f'<span class="num">{escape(str(by[key]))}</span>',
             number(gap) if gap != "" else ""]
            for label, call, gap in zip(_MODELS, calls, gaps, strict=True) if (key := f"last model {label}") in by]
    return (f'<p class="label">By hand in plain numpy, from {escape(str(by.get("start", "")))}, with the participants '
            f'{escape(str(by.get("participants", "")))}</p>\n'
            + table(["Last model", "Call in the listing", "Value", "Largest distance from the code"], rows, "stack"))


def _entry(row, mark, stands) -> str:
    out = f'<section class="entry" id="{mark}"><h3>{escape(_who(row))}: {escape(row.algorithm)}</h3>\n'
    out += f'<p class="verdict">{_chip(row)}</p>\n'
    out += f"<p><strong>{RECONSTRUCTION}</strong></p>\n" if row.reconstruction else ""
    if row.verdict == "skipped":
        return out + f"<p>{escape(row.reason)}</p></section>\n"
    swapped = "; ".join(f"{name} by half the squared error ({count} times)" for name, count in row.replaced_by_the_adapter.items())
    parts = [swapped and escape(swapped) + ".", _coded(str(stands.get(row.framework, "")) if not row.reconstruction else "")]
    out += facts([("Exact call", f"<code>{escape(row.call)}</code>" if row.call else ""),
                  ("Compared with", f"<code>{escape(row.compared_with)}</code>" if row.compared_with else ""),
                  ("Clients", escape(f"3, {row.clients}") if row.clients else ""),
                  ("The fault", _coded(row.fault)),
                  ("Where", _coded(row.where)),
                  ("Named by identify", escape(row.named)),
                  ("Nearest reading under which it is intended" if row.fault else "Reading", _coded(row.reading)),
                  ("Replaced by the adapter", " ".join(filter(None, parts))),
                  ("Calls of the round", number(row.calls))])
    return out + _hand(row) + "</section>\n"


def _scalars(models) -> str:
    """The two scalar quadratics of pfl's SCAFFOLD."""
    rows = [[escape(name), *(number(v) for v in values)] for option in sorted(k for k in models if k != "rounds")
            if isinstance(models[option], dict) for name, values in
            ((f"{option}, {who}", values) for who, values in models[option].items()) if isinstance(values, list)]
    rounds = models.get("rounds") if isinstance(models.get("rounds"), list) else []
    rows = [r for r in rows if len(r) == len(rounds) + 1]
    if not rows:
        return ""
    return ('<h2 id="scalars">The smallest example: pfl\'s SCAFFOLD on two scalar quadratics</h2>\n'
            "<p>w²/2 and 3 (w − 1)²/2, ten local steps of 1/20 from 0; the minimiser is 3/4.</p>\n"
            + table(["Model", *(f"after round {k}" for k in rounds)], rows, "stack"))


def _marks(rows) -> list:
    """An anchor for each row, no two alike."""
    times, out = Counter[str](), []
    for row in rows:
        times[row.anchor] += 1
        out.append(row.anchor + (f"-{times[row.anchor]}" if times[row.anchor] > 1 else ""))
    return out


def _tally(rows) -> str:
    counts = Counter(r.verdict for r in rows)
    return ", ".join(f"{n} {word}" for word, n in counts.items())


def link(book) -> str:
    """What the index says of the gallery; empty without one."""
    rows = [r for g in book.galleries for r in g.rows]
    if not rows:
        return ""
    theirs = [r for r in rows if not r.reconstruction]
    ours = len(rows) - len(theirs)
    more = f" {plural(ours, 'round')} written anew after published code {'gives' if ours == 1 else 'give'} no verdict on it." \
        if ours else ""
    return (f'<p><a href="{PAGE}">{TITLE}</a>: {plural(len(theirs), "algorithm")} of '
            f"{plural(len({r.framework for r in theirs}), 'framework')} put before the black-box test "
            f"({escape(_tally(theirs))}), each with a hand check in numpy.{more}</p>\n")


def body(book) -> str:
    """The page without its frame."""
    out = f'<p class="back"><a href="{INDEX}">← all verdicts</a></p>\n'
    for at, gallery in enumerate(book.galleries):
        marks = [f"{m}-g{at}" if at else m for m in _marks(gallery.rows)]
        versions = ", ".join(f"{k} {v}" for k, v in gallery.versions.items())
        out += (
            '<p class="lead">Other people’s training rounds, probed as black boxes through an adapter each.</p>\n'
            "<p>Three clients on quadratics, three local steps of 1/20 in one full batch (FedNova’s reconstructions: 1, 3, 5). The "
            "adapters put half the squared error in the place of classification losses. Nothing is said against a row without a "
            "sentence. A verdict is about the version, the call and the replacements that its entry names; the nearest reading "
            "under which the code is intended stands beside each fault. The models of plain numpy, which shares no line with "
            "the code or with this program, show the same.</p>\n"
            f'<p class="meta">Made by <code>{escape(gallery.made_by)}</code> on {escape(gallery.date)} with Python '
            f"{escape(gallery.python)}, {escape(versions)}.</p>\n")
        glance = [[f'<a href="#{mark}">{escape(_who(row))}</a>', escape(row.algorithm), _chip(row),
                   _coded(row.fault or row.reading or row.reason)] for mark, row in zip(marks, gallery.rows, strict=True)]
        out += f'<h2 id="rows-{at}">At a glance</h2>\n' + table(["Code", "Algorithm", "Verdict", "In a sentence"], glance, "stack")
        out += _scalars(gallery.two_scalar_quadratics)
        out += f'<h2 id="entries-{at}">Each row</h2>\n'
        out += "".join(_entry(row, mark, gallery.put_in_place_by_the_adapters)
                       for mark, row in zip(marks, gallery.rows, strict=True))
        if gallery.listing:
            listing = fold("verification/frameworks/hand.py", f"<pre><code>{escape(gallery.listing)}</code></pre>", True)
            out += f'<h2 id="listing-{at}">The hand checks</h2>\n{listing}'
    return out
