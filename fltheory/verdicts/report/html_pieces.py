"""Small pieces of HTML used all over the page: numbers, chips, tables, links and bars."""

import math
from html import escape

from fltheory.verdicts.report.richtext import inline, symbols
from fltheory.verdicts.report.words import approximation, look, shorten, show

_UNBROKEN = 12  # characters that stay on one line


def number(value, limit=44) -> str:
    """A number; when it had to be shortened, its ``title`` holds all of it."""
    full, short = show(value), shorten(value, limit)
    if not short:
        return ""
    title = "" if full == short else f' title="{escape(full)}"'
    kind = "num" if len(short) > _UNBROKEN else "num whole"
    return f'<span class="{kind}"{title}>{escape(short)}</span>'


def side(exact, decimal) -> str:
    """One side of a comparison: the exact value and, where that is not readable, its decimal."""
    near = approximation(exact, decimal)
    if not exact:
        return number(near)
    return number(exact) + (f' <span class="near">≈ {escape(near)}</span>' if near else "")


def chip(word, label="") -> str:
    """A badge in the look of the word; a label that says how far the word reaches stands in its place."""
    appearance = look(word)
    # Chips do not break, so a word that no verdict has is cut; a label may break.
    reach = inline(shorten(label, 300)) if label else ""
    label = reach or escape(shorten((word or "(no word)").replace("_", " "), 24))
    if appearance.tone == "plain":  # thousands of these on a page: the comparisons that hold
        return f'<span class="chip plain">{appearance.mark} {label}</span>'
    return (
        f'<span class="chip {appearance.tone}{" reach" if reach else ""}" title="{escape(appearance.gloss)}">'
        f'<span aria-hidden="true">{appearance.mark}</span> {label}</span>'
    )


def verdict(entry) -> str:
    """The word, with a powerless flag and an unmet expectation where there is one."""
    out = chip(entry.word, entry.label)
    if entry.powerless:
        out += f' <span class="chip error" title="{escape(entry.powerless_reason)}">POWERLESS</span>'
    if entry.unexpected:
        out += f' <span class="unexpected">≠ expected {escape(entry.expected or "(unstated)")}</span>'
    return out


def says(text) -> str:
    """A remark under what it belongs to."""
    return f'<span class="says">{inline(text)}</span>' if text else ""


def link(book, entry, kind, name) -> str:
    """A link to the claim or finding that an entry names, or the bare name if the report does not have it."""
    target = book.find(kind, entry.paper, name)
    label = f"<code>{escape(name)}</code>" if name else ""
    return f'<a href="{book.href(target)}">{label}</a>' if target else label


def named(book, entry) -> str:
    """The id of an entry as a link to it."""
    return f'<a href="{book.href(entry)}">{escape(entry.id or "(no id)")}</a>'


# The tables of which a page has hundreds: their headings stand once in the style, not in every cell.
COLUMNS = {"instances": ("Instance", "Left side", "Relation", "Right side", "Margin", "Evidence", "Status"),
           "hypotheses": ("Instance", "Hypothesis", "Left side", "Right side", "Margin", "Holds"),
           "proof": ("Step", "Statement", "Known by", "Coded rounds"),
           "mutants": ("Status", "Mutant", "Kind", "Killed by", "Detail")}
COLUMN_LABELS = "@media screen and (max-width: 46rem) {\n" + "".join(
    f'.{name} td:nth-child({at})::before {{ content: "{label}"; }}\n'
    for name, labels in COLUMNS.items() for at, label in enumerate(labels, start=1)
) + "}\n"


def table(head, rows, name="", attributes="") -> str:
    """A table whose cells know their heading, so that a narrow screen can stack them."""
    if not rows:
        return ""
    labels = [""] * len(head) if name in COLUMNS else [f' data-label="{escape(h)}"' for h in head]
    top = "".join(f'<th scope="col">{escape(h)}</th>' for h in head)
    body = ""
    for row in rows:
        extra, cells = row if isinstance(row, tuple) else ("", row)
        tds = "".join(
            f"<td{label}>{f'<div>{c}</div>' if '<' in c else c}</td>" if c else f'<td class="empty"{label}></td>'
            for label, c in zip(labels, cells, strict=True)
        )
        body += f"<tr{extra}>{tds}</tr>\n"
    return (
        f'<div class="scroll"><table class="{name}"{attributes}><thead><tr>{top}</tr></thead>\n'
        f"<tbody>\n{body}</tbody></table></div>\n"
    )


def fold(title, body, is_open=False) -> str:
    if not body:
        return ""
    return f"<details{' open' if is_open else ''}><summary>{title}</summary>\n{body}</details>\n"


def facts(pairs, raw=False) -> str:
    """A description list of the pairs that have something to say; raw: the labels are HTML already."""
    rows = "".join(
        f"<div><dt>{label if raw else escape(label)}</dt><dd>{value}</dd></div>" for label, value in pairs if value)
    return f'<dl class="facts">{rows}</dl>\n' if rows else ""


def script(entry) -> str:
    """The witness script and what it printed, in full."""
    if not (entry.script or entry.script_source or entry.script_output):
        return ""
    title = "Witness script" + (f" <code>{escape(entry.script)}</code>" if entry.script else "")
    body = "<p>The record does not hold its source.</p>"
    if entry.script_source:
        body = f"<pre><code>{escape(entry.script_source)}</code></pre>"
    if entry.script_output:
        body += f'<p class="label">Its output</p><pre class="output">{escape(entry.script_output)}</pre>'
    return fold(title, body, is_open=True)


def _drawable(value) -> bool:
    return value is not None and math.isfinite(value) and value > 0


def bars(instances) -> str:
    """Each bound's terms as a stacked bar, one per comparison, with a legend.

    Segments carry the number of their term, so that the colours may repeat or be unseen.
    """
    drawn = [(i, c) for i in instances for c in i.comparisons if c.terms]
    if not drawn:
        return ""
    place = {name: at for at, name in enumerate(dict.fromkeys(name for _, c in drawn for name in c.terms))}
    legend = "".join(f'<li><span class="seg s{at % 8}">{at + 1}</span> {inline(name)}</li>' for name,
                     at in place.items())
    rows = "".join(_bar(f"{symbols(i.instance)} {inline(c.label)}", c, place) for i, c in drawn)
    return (
        '<figure class="bars"><figcaption>Terms of the right side. Every bar is scaled on its own; '
        "the tick marks the left side.</figcaption>"
        f'<ol class="legend">{legend}</ol>\n{rows}</figure>\n'
    )


def _bar(label, comparison, place) -> str:
    shares = {name: value for name, value in comparison.terms.items() if _drawable(value)}
    total, left = math.fsum(shares.values()), comparison.lhs_float
    scale, segments = max(total, left if _drawable(left) else 0.0), ""
    if _drawable(scale):
        for name, value in shares.items():
            width = 100 * value / scale
            style = f'class="seg s{place[name] % 8}" style="width:{width:.3f}%"'
            segments += f'<span {style} title="{escape(name)}: {show(value)}">{place[name] + 1 if width >= 4 else ""}</span>'
        if left is not None and math.isfinite(left) and left >= 0:
            segments += f'<span class="tick" style="left:{100 * left / scale:.3f}%"></span>'
    aside = escape("; ".join(_in_words(comparison, place, shares, total)))
    return (
        f'<div class="row"><div class="name">{label}</div>'
        f'<div class="bar" role="img" aria-label="{aside}">{segments}</div><div class="near">{aside}</div></div>\n'
    )


def _in_words(comparison, place, shares, total) -> list:
    """What a bar shows, and what it cannot show."""
    terms, left, right = comparison.terms, comparison.lhs_float, comparison.rhs_float
    out = [f"left {show(left)}"] if left is not None else []
    out.append("terms " + ", ".join(f"{place[n] + 1}: {show(v) or 'not a number'}" for n, v in terms.items()))
    odd = [place[name] + 1 for name in terms if name not in shares and terms[name] != 0]
    if odd:
        out.append("not drawn (negative or not finite): " + ", ".join(map(str, odd)))
    elif right is not None and not math.isclose(total, right, rel_tol=1e-6, abs_tol=1e-300):
        out.append(f"these add up to {show(total)}, the right side is {show(right)}")
    return out
