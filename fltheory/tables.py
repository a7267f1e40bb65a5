"""Tables of words: aligned lines of text, escaped rows of HTML, and cells that keep their ends where they are too long."""
from __future__ import annotations

from html import escape


def keep_ends(text, width) -> str:
    half = (width - 3) // 2
    return text if len(text) <= width else f"{text[:half]}...{text[-half:]}"


def aligned(rows, indent="") -> list[str]:
    """One line per row, every column as wide as its longest cell."""
    cells = [[str(c) for c in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [indent + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]


def html_row(cells, tag="td", row="", cell="") -> str:
    """row, cell: attributes of the row and of each of its cells, with a leading space."""
    return f"<tr{row}>" + "".join(f"<{tag}{cell}>{escape(str(c))}</{tag}>" for c in cells) + "</tr>"


__all__ = ["aligned", "html_row", "keep_ends"]
