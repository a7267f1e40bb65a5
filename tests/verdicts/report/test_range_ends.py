"""How far a universal claim was tested stands on the page, on the terminal and in the Markdown."""

from fltheory.verdicts import records
from fltheory.verdicts.report import html, markdown, terminal

CLAIM = records.Claim(
    id="bound", paper="paper", kind="bound", word="SUPPORTED", expected="SUPPORTED", as_expected=True,
    reached=[records.Reached("clients", "1", "64", "1 to 64"),
             records.Reached("rounds", "1", "out of reach", "1 to 9", ["<exact> sums take minutes"])],
    tightest=records.Tightest(0.12, "far away, drawn by the search (quadratics)", "eq 8", {"clients": "3", "rounds": "9"},
                              "ft.Instance('witness', n=3)")).to_json()
ENDS = "clients 1 to 64 (declared ends 1 and 64)"
FAR = "never tested within a factor 2: worst ratio 0.12 on far away, drawn by the search (quadratics), eq 8 (clients 3, rounds 9)"


def test_the_page_says_between_which_ends_and_how_tight():
    page = "".join(html.pages([CLAIM]).values())
    assert ENDS in page
    assert "rounds 1 to 9 (declared end 1); beyond: &lt;exact&gt; sums take minutes" in page
    assert FAR in page
    assert "<code>ft.Instance(&#x27;witness&#x27;, n=3)</code>" in page


def test_so_do_the_terminal_and_the_markdown():
    said = terminal.entry([CLAIM])
    assert f"tested: {ENDS}" in said
    assert f"tightest: {FAR}" in said
    page = markdown.page([CLAIM])
    assert f"- tested: {ENDS}" in page
    assert f"- tightest: {FAR}" in page


def test_a_record_without_ends_says_nothing():
    bare = records.Claim(id="bound", paper="paper", word="SUPPORTED").to_json()
    assert "Tested from end to end" not in "".join(html.pages([bare]).values())
    assert "tightest" not in terminal.entry([bare]) + markdown.page([bare])
