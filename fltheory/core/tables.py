"""Tables: aligned lines of text, escaped rows of HTML, CSV, and cells that keep their ends where they are too long."""
from __future__ import annotations

import csv
import io
import unicodedata
from html import escape

from fltheory.core.errors import refuse


def keep_ends(text, width) -> str:
    half = (width - 3) // 2
    return text if len(text) <= width else f"{text[:half]}...{text[-half:]}"


def plain(text) -> str:
    """Text for a terminal: what would drive it or reorder what stands beside it (control characters, direction marks,
    lone surrogates) is written as its escape, such as \\x1b; lines stay lines."""
    return "".join(repr(c)[1:-1] if c != "\n" and unicodedata.category(c) in _UNSHOWN else c for c in str(text))


_UNSHOWN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def aligned(rows, indent="") -> list[str]:
    """One line per row, every column as wide as its longest cell; cells as `plain` text on one line."""
    cells = [[plain(c).replace("\n", "\\n") for c in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [indent + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]


def html_row(cells, tag="td", row="", cell="") -> str:
    """row, cell: attributes of the row and of each of its cells, with a leading space."""
    return f"<tr{row}>" + "".join(f"<{tag}{cell}>{escape(str(c))}</{tag}>" for c in cells) + "</tr>"


def to_csv(rows) -> str:
    """Rows as CSV text; floats with 17 digits, so that reading them back loses nothing."""
    if not rows:
        refuse("rows", rows, "a figure's table has at least one row", "Check data().")
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: repr(float(v)) if isinstance(v, float) else v for k, v in row.items()})
    return out.getvalue()
