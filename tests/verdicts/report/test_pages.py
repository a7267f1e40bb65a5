"""The pages of a paper: its head, contents, notation, sections, search, badges, and limits of size."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fltheory.core.errors import BadInput
from fltheory.skeletons import TEMPLATES
from fltheory.verdicts.papers import paper_toml
from fltheory.verdicts.papers.discover import read_ledger
from fltheory.verdicts.records import Claim, page_of, read
from fltheory.verdicts.report import html, layout, markdown, richtext, sections
from fltheory.verdicts.report.book import Book, tallies
from tests.verdicts.lines import filled
from tests.verdicts.report.test_answers import BOOK
from tests.verdicts.report.test_hostile import ANSWER, PAPER
from tests.verdicts.report.test_overview import part, words
from tests.verdicts.report.test_report import ALL, FINDING, INSTANCES, PRINTED, RUN, comparison, instance, section

PAPERED = [*BOOK, PAPER]


def page(book=PAPERED, name="fednova.html"):
    return html.pages(book)[name]


# ---- the opening ------------------------------------------------------------------------------------------
def test_a_paper_opens_with_what_was_read_then_answer_contents_notation_experiments():
    own = page()
    seen = words(own.split("</style>")[1])
    assert "<h1>On normalised averages</h1>" in own
    assert "A. Author, B. Author" in seen and "Venue · 2020 · arXiv 2001.00001 · version read: v2" in seen
    order = [own.index(f'id="{mark}"') for mark in ("find", "answer-fednova", "contents", "notation", "experiments", "4-rates")]
    assert order == sorted(order)
    notation = part(own, 'id="notation"', "<h2")
    assert "<mi>η</mi>" in notation and "client step size" in notation and "A1" in notation
    told = words(part(own, 'id="experiments"', "<h2"))
    assert "Regenerated Figure 2 Replaced by a substitute Table 1, on other data Did not reproduce the gain" in told
    assert "Not regenerated" not in told


def test_a_folder_that_says_nothing_about_its_paper_has_a_page_too():
    own = page(BOOK)
    assert "<h1>fednova: verdicts</h1>" in own
    for absent in ('class="byline"', 'id="notation"', 'id="experiments"', "version read"):
        assert absent not in own.split("</style>")[1]


def test_a_year_in_the_venue_is_said_once():
    seen = words(page([*BOOK, {**PAPER, "venue": "Venue 2020", "version": ""}]))
    assert "Venue 2020 · arXiv 2001.00001" in seen and "2020 · 2020" not in seen and "version read" not in seen


@pytest.mark.parametrize("odd", [{"title": None}, {"authors": "A"}, {"sections": [{"title": "", "places": 3}]}, {"sections": [{}]},
                                 {"experiments": ["x"]}, {"notation": "none"}])
def test_odd_data_about_a_paper_are_refused(odd):
    assert html.pages([*BOOK, {"type": "paper", "paper": "fednova"}])
    with pytest.raises(BadInput, match=rf"^record {len(BOOK) + 1}: "):
        html.pages([*BOOK, {"type": "paper", "paper": "fednova", **odd}])


# ---- sections ---------------------------------------------------------------------------------------------
def titles(places, declared=()):
    claims = [Claim(paper="p", id=f"c{k}", word="OPEN", place=place) for k, place in enumerate(places)]
    book = Book.of([*claims, {"type": "paper", "paper": "p", "sections": list(declared)}])
    return {c.place: s.title for s in sections.of(book, "p") for c in s.claims}, [s.title for s in sections.of(book, "p")]


DECLARED = ({"title": "4 Rates", "places": ["Sec 4", "Theorem 1"], "equations": [7, 12]},
            {"title": "4.2 Noise", "places": ["Sec 4.2", "Theorem 10"]},
            {"title": "A Proofs", "places": ["App A"], "equations": [13, 40]})


@pytest.mark.parametrize(("place", "title"), [
    ("Sec 4", "4 Rates"), ("Sec 4.2", "4.2 Noise"), ("Theorem 1, eq 8", "4 Rates"), ("Theorem 10", "4.2 Noise"),
    ("(13)", "A Proofs"), ("eq 9", "4 Rates"), ("Sec 4.2 eq 9, App A", "4.2 Noise"), ("App A eq 9", "A Proofs"),
    ("Lemma 9 (40)", "A Proofs"), ("Lemma 9 (41)", "Lemma 9"), ("derived", sections.DERIVED), ("", "Without a place"),
    ("Theorem 12", "Theorem 12"), ("Sec. 7.3", "Section 7"), ("App. D.1", "Appendix D"), ("(99)", "Equations"),
])
def test_the_section_of_a_place(place, title):
    assert titles([place], DECLARED)[0][place] == title


def test_sections_stand_in_the_order_of_the_paper_and_what_was_added_last():
    order = titles(["derived", "App A", "Theorem 10", "Sec 4", "App. D", "Sec. 7", "Lemma 9"], DECLARED)[1]
    assert order == ["4 Rates", "4.2 Noise", "A Proofs", "Section 7", "Lemma 9", "Appendix D", sections.DERIVED]


def test_marks_are_told_apart():
    book = [Claim(paper="p", id=str(k), place=place) for k, place in enumerate(("Lemma: one", "Lemma: two"))]
    assert [s.mark for s in sections.of(Book.of(book), "p")] == ["lemma", "lemma-2"]


def test_the_contents_count_each_section():
    own = part(page(), 'id="contents"', "<h2")
    first = part(own, "4 Rates", "</section>")
    assert "◐ 1 supported" in words(first)
    second = words(own.split("the")[-1]) if "the" not in own else words(own)
    assert "✗ 1 false" in second and "◆" in second
    assert 'href="#4-rates"' in own and 'href="#fednova/thm10-rate"' in own


FOLDERS = sorted(p.parent for p in Path(__file__).parents[3].glob("verification/*/paper.toml"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_the_papers_of_this_repository_say_what_they_are(folder):
    own = paper_toml.read(folder)
    assert own["title"] and own["authors"] and own["year"] and own["notation"] and own["assumptions"] and own["experiments"]
    told = "".join([html.paper_opening.notation(book, "p") + html.paper_opening.experiments(book, "p")
                    for book in [Book.of(paper_toml.record(own, "p"))]])
    assert "<math" in told and 'class="tex' not in told and "$" not in re.sub(r'title="[^"]*"', "", told)
    places = [row["place"] for row in read_ledger(folder / "ledger.csv").values() if row["type"] in ("claim", "finding")]
    found = titles(places, own["sections"])[0]
    assert set(found.values()) <= {s["title"] for s in own["sections"]} | {sections.DERIVED}, found


def test_the_skeleton_of_a_paper_has_the_file(tmp_path):
    text = (TEMPLATES / "paper" / "paper.toml.in").read_text(encoding="utf-8").replace("@slug@", "own")
    (tmp_path / paper_toml.FILE).write_text(text, encoding="utf-8")
    assert paper_toml.read(tmp_path)["title"] == "EXAMPLE: title of own"


# ---- badges and counts ------------------------------------------------------------------------------------
def proved(name, **rest):
    return filled({"type": "claim", "paper": "own", "id": name, "word": "PROVED", "place": "Sec 1", **rest})


LABELLED = [proved("a"), proved("b", label="PROVED for all n", restricted=False), proved("c", label="PROVED for n = 2, 3")]


def test_a_label_stands_on_the_badge_in_place_of_the_word():
    pages = html.pages([RUN, *LABELLED])
    for source in pages.values():
        badge = r'<span class="chip true(?: reach)?" title="[^"]*"><span aria-hidden="true">✓</span> ([^<]*)</span>'
        assert set(re.findall(badge, source)) >= {"PROVED", "PROVED for all n", "PROVED for n = 2, 3"}
    assert "**PROVED for n = 2, 3**" in markdown.page(LABELLED)


def test_restricted_proofs_are_counted_apart():
    assert tallies(map(read, LABELLED)) == [("PROVED", "all", 2), ("PROVED", "restricted", 1)]
    assert tallies(map(read, LABELLED[:2])) == [("PROVED", "", 2)]
    index = html.pages([RUN, *LABELLED])["index.html"]
    assert "2 proved (all) , 1 proved (restricted)" in words(index)
    assert "3 are established as true, 1 of them only as far as their badge says" in words(index)
    shares = re.findall(r'data-word="(PROVED[^"]*)" style="flex-grow:(\d)', index)
    assert shares == [("PROVED (all)", "2"), ("PROVED (restricted)", "1")]
    rows = re.findall(r'<tr [^>]*id="own/(\w)"[^>]*data-tally="([^"]*)"', index)
    assert rows == [("a", "PROVED (all)"), ("b", "PROVED (all)"), ("c", "PROVED (restricted)")]
    for choice in ("PROVED", "PROVED (all)", "PROVED (restricted)"):
        assert f'<option value="{choice}">' in index
    assert "data-tally" not in html.pages([RUN, *ALL])["index.html"].split("<script>")[0]
    assert "✓ 2 proved (all) · ✓ 1 proved (restricted)" in words(html.pages([RUN, *LABELLED])["own.html"])


def test_papers_stand_before_the_program():
    those = [Claim(paper=paper, id="a", word="FALSE") for paper in ("engine", "alpha", "zeta")]
    index = html.pages([RUN, *those])["index.html"]
    assert re.findall(r'class="share false" [^>]*data-paper="(\w+)"', index) == ["alpha", "zeta", "engine"]
    assert re.findall(r"<h3>(\w+)</h3>", index) == ["alpha", "zeta", "engine"]


def test_exact_arithmetic_reaches_what_is_stated_and_not_all():
    book = [Claim(paper="own", id=id, word="CERTIFIED", label=label)
            for id, label in (("a", ""), ("b", "CERTIFIED for n = 2 and all d"))]
    assert tallies(book) == [("CERTIFIED", "as stated", 1), ("CERTIFIED", "restricted", 1)]


def test_a_sentence_says_what_its_proof_does_not_reach():
    evidence = {**ANSWER["sentences"][0]["evidence"][0], "word": "PROVED", "label": "PROVED for n = 2, 3"}
    answer = {**ANSWER, "sentences": [{**ANSWER["sentences"][0], "evidence": [evidence]}]}
    assert "thm1-explicit-as-printed for n = 2, 3" in words(page([*ALL, answer]))


# ---- a false claim ----------------------------------------------------------------------------------------
def test_a_false_claim_shows_the_instance_and_both_sides_of_what_fails():
    data = {"$H$": "(1, 2)", "step size": "1/7"}
    own = section(page([PRINTED, *INSTANCES[:2], {**INSTANCES[2], "data": data}, INSTANCES[3]]), "fednova/thm1-explicit-as-printed")
    case = part(own, '<div class="fails">', "</div>\n<aside")
    seen = words(case)
    assert "Where it fails prox-alpha1" in seen and "step size 1/7" in seen and "(1, 2)" in seen
    assert re.search(r"the statement fails: 1/49 ≈ 0\.02041 is not at most 0", seen)
    assert "<details" not in own.split('<aside class="doubt">')[0]
    assert "Where it fails" not in section(page(ALL), "fednova/thm1-explicit-corrected")


def test_what_fails_is_named():
    many = [comparison(label=f"round {k}", status="FALSIFIED") for k in range(9)]
    failing = instance("long", "FALSIFIED", [comparison(label="fine"), *many])
    own = section(page([PRINTED, failing]), "fednova/thm1-explicit-as-printed")
    case = words(part(own, '<div class="fails">', "<aside"))
    assert "round 0 fails" in case and "round 3 fails" in case and "round 4" not in case and "fine" not in case
    assert "and 5 more, in the table below" in case


def test_hypotheses_that_do_not_hold_are_named_unfolded():
    own = section(page(), "fednova/thm1-explicit-as-printed")
    assert "Hypotheses that do not hold" in words(own) and "step cap (101) on big-step" in words(own)
    assert "Hypotheses that do not hold" not in words(section(page([PRINTED, INSTANCES[0]]), "fednova/thm1-explicit-as-printed"))


# ---- formulas ---------------------------------------------------------------------------------------------
def test_a_long_formula_may_be_broken_at_relations_and_sums_outside_brackets():
    source = "\\min_{t<T}\\|\\nabla F(x+y)\\|^2 \\le \\frac{4(a-b)}{\\tau T} + \\big(c+d\\big)\\sum_i w_i = -e"
    made = richtext.formula(source, True)
    parts = made.split("\u200b")
    assert len(parts) == 4 and all(p.startswith("<math") and p.endswith("</math>") for p in parts)
    assert [re.search(r'form="infix">(.)', p)[1] for p in parts[1:]] == ["≤", "+", "="]
    assert all('displaystyle="true"' in p for p in parts) and made.count("title=") == 1
    assert "\u200b" not in richtext.formula("a\\le b+c", True)
    steps = richtext.formula("\\eta\\le\\min\\{q^{3/2}/(8L\\sqrt N),q^{3/2}/(8L(\\tau-1))\\}").split("\u200b")
    assert len(steps) == 3 and steps[1].endswith("<mo>,</mo></mrow></math>")
    assert "\u200b" not in richtext.formula("\\begin{aligned}a&=b\\\\c&=d+e+f+g+h+i+j+k+l+m+n+o+p+q\\end{aligned}", True)


@pytest.mark.parametrize(("note", "shown"), [
    ("eta^2 and p_i", "η<sup>2</sup> and p<sub>i</sub>"), ("tau = (2, 5)", "τ = (2, 5)"), ("T = 10^6", "T = 10<sup>6</sup>"),
    ("E|x_r - x*|^2", "E|x<sub>r</sub> - x*|<sup>2</sup>"), ("delta_q^2 <= mu", "δ<sub>q</sub><sup>2</sup> ≤ μ"),
    ("cor2-nonzero-alpha", "cor2-nonzero-alpha"), ("some_name and alphabet", "some_name and alphabet"),
    ("`eta^2`", "<code>eta^2</code>"), ("tau_eff", "τ<sub>eff</sub>"),
    ("(1 - alpha)^tau_i at tau-1", "(1 - α)<sup>τ<sub>i</sub></sup> at τ-1"),
    ("|a_i|_1^2", "|a<sub>i</sub>|<sub>1</sub><sup>2</sup>"), ("a.eta", "a.eta"),
    ("rate 1-eta mu, by 1-q_i", "rate 1-η μ, by 1-q<sub>i</sub>"),
    ("H_i^2 (c_i-x*)", "H<sub>i</sub><sup>2</sup> (c<sub>i</sub>-x*)"),
    ("C(S_{r-1}) >= 0", "C(S<sub>r-1</sub>) ≥ 0"), ("at most Psi_R", "at most Ψ<sub>R</sub>"),
    ("(1-rho)^(k-1) -> sqrt(m T)/sqrt N", "(1-ρ)<sup>k-1</sup> → √(m T)/√N"), ("C(S_(r+1))", "C(S<sub>r+1</sub>)"),
    ("H_w^-1", "H<sub>w</sub><sup>-1</sup>"),
    ("bias-tau and q_i-weighted", "bias-tau and q_i-weighted"),
])
def test_symbols_that_a_note_writes_out_are_set(note, shown):
    assert richtext.inline(note) == shown


def test_nothing_fades_a_formula_out():
    assert "gradient" not in html.STYLE
    assert re.search(r"\.display,[^{]*\{ overflow-x: auto", html.STYLE)


# ---- search -----------------------------------------------------------------------------------------------
def test_every_page_has_a_search_box():
    for name, source in html.pages([*PAPERED, *paper_of(40)]).items():
        assert source.count('<input type="search"') == 1, name
        if name != "index.html":
            assert 'id="find"' in source and 'href="index.html#claims' in part(source, 'id="find"', "</form>")


# ---- size -------------------------------------------------------------------------------------------------
def paper_of(claims, paper="large", instances=8, comparisons=4):
    """A paper as large as those of this repository."""
    out = [{**PAPER, "paper": paper}]
    long = "$\\frac{1}{R}\\sum_{r<R}\\mathbb{E}\\|\\nabla F(x_r)\\|^2 \\le 8L(F(x_1)-F^\\star)/R + 2\\eta$"
    for k in range(claims):
        name = f"thm{k}"
        out.append({**PRINTED, "paper": paper, "id": name, "place": f"App C eq {k}" if k % 3 else f"Thm {k % 7}",
                    "says": f"Sentence {k} with {long}.", "finding": None, "instead": None,
                    "word": "FALSE" if k % 9 == 0 else "PROVED", "expected": "FALSE" if k % 9 == 0 else "PROVED"})
        for i in range(instances):
            status = "FALSIFIED" if k % 9 == 0 and i < 2 else "HOLDS"
            legs = [comparison(label=f"leg {j}", status=status, lhs=f"{10**40 + j}/{10**39 + 7}") for j in range(comparisons)]
            out.append(instance(f"i{i}", status, legs, claim=name, paper=paper))
        if k % 3 == 0:
            out.append({**FINDING, "paper": paper, "id": f"e{k}", "breaks": name, "corrected": None})
    return out


class Counted(HTMLParser):
    """Counts elements; notes ids, links and which ids are entries."""

    def __init__(self, source):
        super().__init__()
        self.elements, self.ids, self.links, self.entries = 0, set(), set(), set()
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.elements += 1
        found = dict(attrs)
        self.ids.add(found.get("id"))
        self.links.add(found.get("href"))
        if found.get("class") == "entry":
            self.entries.add(found["id"])


def test_no_page_of_five_papers_is_too_large_and_every_address_stays_valid():
    book = [RUN]
    for paper in ("one", "two", "three", "four", "five"):
        book += paper_of(110, paper, instances=6)
    book += [filled({**ANSWER, "paper": "one", "sentences": [{**ANSWER["sentences"][0], "evidence": [
        {"id": "thm9", "kind": "claim", "relies": "FALSE", "word": "FALSE", "state": "carried"}]}]})]
    pages = html.pages(book)
    seen = {name: Counted(source) for name, source in pages.items()}
    for name, source in pages.items():
        assert len(source.encode()) <= layout.BYTES, name
        assert seen[name].elements <= layout.ELEMENTS, name
        for link in seen[name].links - {None}:
            there, _, mark = link.split("?")[0].partition("#")
            assert not mark or mark in seen[there or name].ids, (name, link)
    assert len(pages) > 10
    places = {mark: name for name, found in seen.items() for mark in found.entries}
    for record in (r for r in book if r["type"] in ("claim", "finding")):
        mark = read(record).anchor
        home = page_of(record["paper"])
        assert mark in seen[home].ids  # the permanent address, from which the link of that line goes on
        entry = places[mark]
        index = "index.html" if record["type"] == "claim" else "index.findings.html"
        assert f"{entry}#{mark}" in seen[home].links & seen[index].links
    assert "thm9" in part(pages["one.html"], 'id="answer-one"', "<h2")


def test_an_entry_that_fits_on_no_page_leaves_rows_to_the_records():
    book = [RUN, PRINTED, *[instance(f"i{k}", comparisons=[comparison()] * 20) for k in range(100)]]
    pages = html.pages(book)
    assert "further rows in the records" in "".join(pages.values())
    assert all(Counted(source).elements <= layout.ELEMENTS for source in pages.values())


def test_a_small_paper_stays_on_one_page():
    assert set(html.pages(PAPERED)) == {"index.html", "fednova.html", "scaffold.html"}
