import numpy as np

from fltheory.core.tables import aligned, html_row, keep_ends, plain, to_csv


def test_columns_are_as_wide_as_their_longest_cell():
    assert aligned([("a", 10, ""), ("long", "", "x")], "> ") == ["> a     10", "> long      x"]
    assert aligned([]) == []


def test_nothing_that_drives_a_terminal_or_reorders_a_line_is_printed():
    assert plain("a\x1b[31mb\x07\x9b2J\u202egnp.\u2066x\u2028y\ud800\t|\nc") == (
        "a\\x1b[31mb\\x07\\x9b2J\\u202egnp.\\u2066x\\u2028y\\ud800\\t|\nc")
    assert plain("ordinary: é ∞ 東 \N{NO-BREAK SPACE}x²") == "ordinary: é ∞ 東 \N{NO-BREAK SPACE}x²"
    assert aligned([("a\x1b[2J", 1), ("b\nc", 22)]) == ["a\\x1b[2J  1", "b\\nc      22"]


def test_cells_of_html_are_escaped():
    assert html_row(["<a>", 1], "th", ' class="r"', " id='c'") == (
        "<tr class=\"r\"><th id='c'>&lt;a&gt;</th><th id='c'>1</th></tr>")


def test_long_cells_keep_their_ends():
    assert keep_ends("0123456789", 10) == "0123456789"
    assert keep_ends("0123456789A", 9) == "012...89A"


def test_truth_values_of_every_kind_are_words_in_csv():
    assert to_csv([{"a": True, "b": np.False_, "c": np.float64(0.1), "d": None}]) == "a,b,c,d\nTrue,False,0.1,\n"
