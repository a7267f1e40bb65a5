"""How many pages a paper takes: one if its entries fit on it, else one or more for each of its sections."""

import re
from dataclasses import dataclass

from fltheory.verdicts.report import sections
from fltheory.verdicts.report.entries import entry
from fltheory.verdicts.report.richtext import inline

BYTES, ELEMENTS = 1_000_000, 15_000  # no page is larger: phones would stutter
_ROOM = (800_000, 12_500)  # of these for entries: the style, the head and the foot take the rest
_SHARED = (300_000, 6_000)  # small sections share a page up to this
_ROWS = (None, 200, 50, 10, 1)  # rows of the tables of one entry, fewer until it fits


@dataclass
class Sheet:
    """One page of entries: its file, its title ("" for the paper's own page), pairs of a section and
    triples (entry, rows of its tables, its text as long as nothing stands on another page)."""

    name: str
    title: str
    parts: list

    def html(self, book) -> str:
        """The entries under the headings of their sections, for a book whose `here` is this page."""
        return "".join(
            f'<h2 id="{section.mark}">{inline(section.title)}</h2>\n'
            + "".join(entry(book, record, most) if book.where else text for record, most, text in chosen)
            for section, chosen in self.parts)


def sheets(book, name, papers, above) -> list:
    """The pages for the entries of the papers that share the page `name`, which opens with something of size `above`."""
    used: set = set()
    parts = [(s, [(r, *_measured(book, r)) for r in s.entries]) for paper in papers for s in sections.of(book, paper, used)]
    if fits(_sum(above, *(extent for _, rows in parts for *_, extent in rows))):
        return [Sheet(name, "", [(s, [one[:3] for one in rows]) for s, rows in parts])]
    out: list = []
    stem, filled = name.removesuffix(".html"), (0, 0)
    for section, rows in parts:
        whole = _sum((0, 0), *(extent for *_, extent in rows))
        if out and fits(_sum(filled, whole), _SHARED):
            out[-1].parts.append((section, [one[:3] for one in rows]))
            out[-1].title = f"{out[-1].parts[0][0].title} to {section.title}"
            filled = _sum(filled, whole)
            continue
        pages: list = [[]]
        filled = (0, 0)
        for *one, extent in rows:
            if pages[-1] and not fits(_sum(filled, extent)):
                pages.append([])
                filled = (0, 0)
            pages[-1].append(one)
            filled = _sum(filled, extent)
        for at, chosen in enumerate(pages, start=1):
            file = f"{stem}.{section.mark}{f'.{at}' if at > 1 else ''}.html"
            title = section.title + (f" ({at} of {len(pages)})" if len(pages) > 1 else "")
            out.append(Sheet(file, title, [(section, chosen)]))
        filled = filled if len(pages) == 1 else _ROOM  # nothing joins the last page of a long section
    return out


def placed(planned) -> dict:
    """The page of every entry that is not on its paper's own, by anchor."""
    return {record.anchor: sheet.name for sheet in planned if sheet.title
            for _, chosen in sheet.parts for record, *_ in chosen}


def size(page) -> tuple:
    """(bytes, elements) of HTML."""
    return len(page.encode(errors="replace")), len(re.findall(r"<[a-zA-Z]", page))


def fits(extent, room=_ROOM) -> bool:
    return all(a <= b for a, b in zip(extent, room, strict=True))


def _sum(*sizes) -> tuple:
    return tuple(map(sum, zip(*sizes, strict=True)))


def _measured(book, record) -> tuple:
    """(rows that its tables may show, its text, its size) of an entry."""
    for most in _ROWS:
        text = entry(book, record, most)
        extent = size(text)
        if fits(extent):
            break
    return most, text, extent
