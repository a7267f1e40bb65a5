"""Small pieces of HTML used all over the page: numbers, chips, tables, links and bars."""

import math
from html import escape

from . import records as rec
from .richtext import inline

_UNBROKEN = 12  # characters that stay on one line


def number(value, limit=44) -> str:
    """A number; when it had to be shortened, its ``title`` holds all of it."""
    full, short = rec.show(value), rec.shorten(value, limit)
    if not short:
        return ""
    title = "" if full == short else f' title="{escape(full)}"'
    kind = "num" if len(short) > _UNBROKEN else "num whole"
    return f'<span class="{kind}"{title}>{escape(short)}</span>'


def side(comparison, name) -> str:
    """One side of a comparison: the exact value and, where that is not readable, its decimal."""
    exact, near = number(rec.text(comparison, name)), rec.approximation(comparison, name)
    if not exact:
        return number(near)
    return exact + (f' <span class="near">≈ {escape(near)}</span>' if near else "")


def chip(word, label="") -> str:
    """A badge in the look of the word; a label that says how far the word reaches stands in its place."""
    look = rec.look(word)
    # Chips do not break, so a word that no verdict has is cut; a label may break.
    reach = inline(rec.shorten(label, 160)) if label else ""
    label = reach or escape(rec.shorten(str(word or "(no word)").replace("_", " "), 24))
    if look.tone == "plain":  # thousands of these on a page: the comparisons that hold
        return f'<span class="chip plain">{look.mark} {label}</span>'
    return (
        f'<span class="chip {look.tone}{" reach" if reach else ""}" title="{escape(look.gloss)}">'
        f'<span aria-hidden="true">{look.mark}</span> {label}</span>'
    )


def verdict(record) -> str:
    """The word, with a powerless flag and an unmet expectation where there is one."""
    out = chip(rec.text(record, "word"), rec.text(record, "label"))
    if record.get("powerless"):
        out += f' <span class="chip error" title="{escape(rec.text(record, "powerless_reason"))}">POWERLESS</span>'
    if rec.mismatch(record):
        out += f' <span class="unexpected">≠ expected {escape(rec.text(record, "expected") or "(unstated)")}</span>'
    return out


def link(book, record, key, kind) -> str:
    """A link to the claim or finding a record names, or the bare name if the page does not have it."""
    name = rec.text(record, key)
    target = book.find(kind, rec.text(record, "paper"), name) if name else None
    label = f"<code>{escape(name)}</code>" if name else ""
    return f'<a href="{book.href(target)}">{label}</a>' if target else label


# The tables of which a page has hundreds: their headings stand once in the style, not in every cell.
COLUMNS = {
    "instances": ("Instance", "Left side", "Relation", "Right side", "Margin", "Evidence", "Status"),
    "hypotheses": ("Instance", "Hypothesis", "Left side", "Right side", "Margin", "Holds"),
    "mutants": ("Status", "Mutant", "Kind", "Killed by", "Detail"),
}
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


def script(record) -> str:
    """The witness script and what it printed, in full."""
    path, source, output = (rec.text(record, key) for key in ("script", "script_source", "script_output"))
    if not (path or source or output):
        return ""
    title = "Witness script" + (f" <code>{escape(path)}</code>" if path else "")
    body = (
        f"<pre><code>{escape(source)}</code></pre>"
        if source
        else "<p>The record does not hold its source.</p>"
    )
    if output:
        body += f'<p class="label">Its output</p><pre class="output">{escape(output)}</pre>'
    return fold(title, body, is_open=True)


def _terms(comparison) -> dict:
    terms = comparison.get("terms")
    if not isinstance(terms, dict):
        return {}
    return {str(name): rec.as_float(value) for name, value in terms.items()}


def _drawable(value) -> bool:
    return value is not None and math.isfinite(value) and value > 0


def bars(instances) -> str:
    """Each bound's terms as a stacked bar, one per comparison, with a legend.

    Segments carry the number of their term, so that the colours may repeat or be unseen.
    """
    drawn = [(i, c, _terms(c)) for i in instances for c in rec.items(i, "comparisons") if _terms(c)]
    if not drawn:
        return ""
    names = list(dict.fromkeys(name for _, _, terms in drawn for name in terms))
    place = {name: at for at, name in enumerate(names)}
    legend = "".join(
        f'<li><span class="seg s{at % 8}">{at + 1}</span> {inline(name)}</li>' for name, at in place.items()
    )
    rows = "".join(_bar(instance, comparison, terms, place) for instance, comparison, terms in drawn)
    return (
        '<figure class="bars"><figcaption>Terms of the right side. Every bar is scaled on its own; '
        "the tick marks the left side.</figcaption>"
        f'<ol class="legend">{legend}</ol>\n{rows}</figure>\n'
    )


def _bar(instance, comparison, terms, place) -> str:
    shares = {name: value for name, value in terms.items() if _drawable(value)}
    total = math.fsum(shares.values()) if shares else 0.0
    left = rec.as_float(comparison.get("lhs_float"))
    scale = max(total, left if _drawable(left) else 0.0)
    label = f"{escape(rec.text(instance, 'instance'))} {inline(rec.text(comparison, 'label'))}"
    values = ", ".join(f"{place[n] + 1}: {rec.show(v) or 'not a number'}" for n, v in terms.items())
    segments = ""
    if _drawable(scale):
        for name, value in shares.items():
            width = 100 * value / scale
            shown = place[name] + 1 if width >= 4 else ""
            style = f'class="seg s{place[name] % 8}" style="width:{width:.3f}%"'
            segments += f'<span {style} title="{escape(name)}: {rec.show(value)}">{shown}</span>'
        if left is not None and math.isfinite(left) and left >= 0:
            segments += f'<span class="tick" style="left:{100 * left / scale:.3f}%"></span>'
    aside = [f"left {rec.show(left)}"] if left is not None else []
    aside.append(f"terms {values}")
    odd = [place[name] + 1 for name in terms if name not in shares and terms[name] != 0]
    if odd:
        aside.append("not drawn (negative or not finite): " + ", ".join(map(str, odd)))
    right = rec.as_float(comparison.get("rhs_float"))
    every = [v for v in terms.values() if v is not None]
    if (
        right is not None
        and every
        and not odd
        and not math.isclose(total, right, rel_tol=1e-6, abs_tol=1e-300)
    ):
        aside.append(f"these add up to {rec.show(total)}, the right side is {rec.show(right)}")
    return (
        f'<div class="row"><div class="name">{label}</div>'
        f'<div class="bar" role="img" aria-label="{escape("; ".join(aside))}">{segments}</div>'
        f'<div class="near">{escape("; ".join(aside))}</div></div>\n'
    )
