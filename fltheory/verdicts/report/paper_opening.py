"""The opening of a paper's page: what was read, the contents by the paper's sections, notation, experiments."""

from html import escape
from urllib.parse import urlencode

from fltheory.verdicts.records import INDEX
from fltheory.verdicts.report import overview
from fltheory.verdicts.report.html_pieces import facts, named, verdict
from fltheory.verdicts.report.richtext import inline

EXPERIMENTS = {"regenerated": "Regenerated", "substituted": "Replaced by a substitute", "failed": "Did not reproduce",
               "left": "Not regenerated"}


def title(book, papers) -> str:
    """The title of a page: that of the paper where its folder says it."""
    stated = book.about(papers[0]).title if len(papers) == 1 else ""
    return stated or f"{', '.join(p or '(no paper)' for p in papers)}: verdicts"


def byline(book, paper) -> str:
    """Who wrote the paper, where it appeared, and which version was read."""
    about = book.about(paper)
    authors = ", ".join(map(str, about.authors))
    where = [about.venue, about.year if about.year not in about.venue else "", about.identifier]
    version = about.version
    out = f'<p class="byline">{inline(authors)}</p>\n' if authors else ""
    source = " · ".join(map(inline, [*filter(None, where), *([f"version read: {version}"] if version else [])]))
    return out + (f'<p class="meta">{source}</p>\n' if source else "")


def search(papers) -> str:
    """A box that narrows the entries of this page; the link goes on in the table of every claim."""
    paper = papers[0] if len(papers) == 1 else ""
    view = f"{INDEX}#claims?{escape(urlencode({'paper': paper}, errors='replace'))}" if paper else f"{INDEX}#claims"
    return (
        f'<form class="controls" id="find" data-paper="{escape(paper)}" hidden><label>Search '
        '<input type="search" id="find-text"></label><output id="find-count"></output> '
        f'<a id="find-all" href="{view}">Search all claims</a></form>\n'
    )


def contents(book, sections) -> str:
    """Every section with its counts and its entries, one line each."""
    if not sections:
        return ""
    out = '<h2 id="contents">Contents</h2>\n'
    for section in sections:
        first = section.entries[0]
        there = book.page(first)
        target = f"#{section.mark}" if there == book.here else there
        out += f'<section class="part">\n<h3><a href="{target}">{inline(section.title)}</a></h3>\n'
        out += f'<p class="meta">{overview.counts(section.claims, section.findings)}</p>\n<ul class="toc">\n'
        out += "".join(_line(book, record) for record in section.entries) + "</ul>\n</section>\n"
    return out


def _line(book, record) -> str:
    # The permanent address of an entry leads here; where the entry stands on another page, the link goes on.
    mark = "" if book.page(record) == book.here else f' id="{record.anchor}"'
    place = f' <span class="meta">{escape(record.place)}</span>' if record.place else ""
    says = f' <span class="says">{inline(record.sentence)}</span>' if record.sentence else ""
    return f"<li{mark}>{named(book, record)} {verdict(record)}{place}{says}</li>\n"


def notation(book, paper) -> str:
    """Symbols and assumptions, as the folder lists them."""
    about = book.about(paper)
    symbols = [(inline(row.symbol), inline(row.meaning)) for row in about.notation]
    assumed = [(inline(row.name), inline(row.says)) for row in about.assumptions]
    if not symbols and not assumed:
        return ""
    out = '<h2 id="notation">Notation and assumptions</h2>\n' + facts(symbols, raw=True)
    return out + (f"<h3>Assumptions</h3>\n{facts(assumed, raw=True)}" if assumed else "")


def experiments(book, paper) -> str:
    """What was regenerated, what is a substitute, and what did not reproduce."""
    listed, out = book.about(paper).experiments, ""
    for key, heading in EXPERIMENTS.items():
        lines = "".join(f"<li>{inline(str(line))}</li>\n" for line in listed.get(key, ()))
        out += f'<h3>{heading}</h3>\n<ul class="answer">\n{lines}</ul>\n' if lines else ""
    return f'<h2 id="experiments">Experiments</h2>\n{out}' if out else ""
