"""The page of the gallery: what stands on it, what a reconstruction says, and that no record can put markup into it."""
import re
from pathlib import Path

import pytest

from fltheory.verdicts import gallery
from fltheory.verdicts.report import frameworks, html, layout
from tests.verdicts.lines import filled

PAPERS = Path(__file__).parents[3] / "verification"
CLAIM = filled({"type": "claim", "id": "a", "paper": "p", "word": "PROVED", "expected": "PROVED"})
HOSTILE = "<script>alert(1)</script>\"'&`</section>"


@pytest.fixture(scope="module")
def made():
    return html.pages([CLAIM, *gallery.record([PAPERS])])


def entries(page):
    return dict(re.findall(r'<section class="entry" id="([^"]+)">(.*?)</section>', page, re.S))


def test_the_index_leads_there_and_back(made):
    assert f'href="{frameworks.PAGE}"' in made["index.html"]
    assert 'href="index.html"' in made[frameworks.PAGE]
    assert layout.size(made[frameworks.PAGE]) < (layout.BYTES, layout.ELEMENTS)


def test_without_a_gallery_there_is_no_page_and_no_link():
    made = html.pages([CLAIM])
    assert frameworks.PAGE not in made and frameworks.PAGE not in made["index.html"]


def test_every_row_says_what_was_called_replaced_and_found(made):
    rows, found = gallery.read(PAPERS).rows, entries(made[frameworks.PAGE])
    assert len(found) == len(rows)
    for row, entry in zip(rows, found.values(), strict=True):
        text = re.sub(r"<[^>]+>", "", entry)
        for said in (row.call, row.compared_with, *row.by_hand.values(), row.version, row.named, row.fault.replace("`", "")):
            assert html.escape(str(said)) in text, (row.algorithm, said)
        assert bool(row.fault) <= ("Nearest reading under which it is intended" in text)
        assert bool(row.replaced_by_the_adapter) <= ("by half the squared error" in text)


def test_a_reconstruction_says_so_and_has_no_colour_of_a_verdict(made):
    rows, found = gallery.read(PAPERS).rows, entries(made[frameworks.PAGE])
    for row, entry in zip(rows, found.values(), strict=True):
        assert row.reconstruction == (frameworks.RECONSTRUCTION in entry.replace("&#x27;", "'"))
        if row.reconstruction:
            assert "chip neutral" in entry and not re.search(r"chip (?:true|false)", entry)


def test_links_on_the_page_have_their_anchors(made):
    page = made[frameworks.PAGE]
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'id="([^"]+)"', page))
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_no_record_puts_markup_into_the_page():
    texts = "framework version algorithm call compared_with clients verdict named fault where reading reason"
    row = dict.fromkeys(texts.split(), HOSTILE)
    row |= {"replaced_by_the_adapter": {HOSTILE: HOSTILE}, "by_hand": {"start": HOSTILE, "said": HOSTILE, "published": HOSTILE,
                                                                       "participants": HOSTILE, "last model of the code": HOSTILE}}
    record = filled({"type": "gallery", "made_by": HOSTILE, "date": HOSTILE, "python": HOSTILE, "versions": {HOSTILE: HOSTILE},
              "put_in_place_by_the_adapters": {HOSTILE: HOSTILE}, "rows": [row, row, {**row, "verdict": "skipped"}],
              "two_scalar_quadratics": {"rounds": [HOSTILE], HOSTILE: {HOSTILE: [HOSTILE]}}, "listing": HOSTILE})
    page = html.pages([record])[frameworks.PAGE]
    assert "<script>alert" not in page and page.count("</section>") == 3
    odd = html.pages([{**record, "two_scalar_quadratics": {"rounds": 3, "o": {"p": 4}}}, record])[frameworks.PAGE]
    assert odd.count("</section>") == 6
