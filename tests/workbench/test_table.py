"""A user's table: what it becomes, what is reported about it, and every way in which it is refused."""

import csv
import math
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from fltheory.core.numbers.scalars import FLOAT, RATIONAL
from fltheory.workbench.table import quantiles, read_residual, read_ridge
from verification import named_problems as instances

TABLE = """# where it comes from
city,x,z,y
# a comment in between
B,1,0.5,2

A,2,1.5,1
"B",3,2.5,0
A,4, 4.5 ,-1
B,5,8,3
"""


@pytest.fixture
def write(tmp_path):
    def make(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make


def test_rows_go_to_their_clients_exactly(write):
    problem = read_ridge(write(TABLE), "city", "y", standardise="none", reg="1/7")
    A = [[[2, Q(3, 2), 1], [4, Q(9, 2), 1]], [[1, Q(1, 2), 1], [3, Q(5, 2), 1], [5, 8, 1]]]
    by_hand = ft.Ridge(A, [[1, -1], [2, 0, 3]], "1/7", [Q(2, 5), Q(3, 5)])
    assert problem.native is RATIONAL
    for name in ("H", "b", "offset", "weights"):
        assert (getattr(problem, name) == getattr(by_hand, name)).all()
    r = problem.reading
    assert (r.labels, r.rows, r.features, r.scaling) == (("A", "B"), (2, 3), ("x", "z", "1"), {})
    assert r.notes == ("1 of 2 clients have fewer rows than the 3 coefficients: A",)


def test_features_weights_intercept_and_convention_are_chosen(write):
    path = write(TABLE)
    problem = read_ridge(
        path, "city", "y", ["z"], standardise="none", weights="uniform", intercept=False, convention="half-sum", reg=0
    )
    by_hand = ft.Ridge(
        [[[Q(3, 2)], [Q(9, 2)]], [[Q(1, 2)], [Q(5, 2)], [8]]], [[1, -1], [2, 0, 3]], 0, convention="half-sum"
    )
    assert (problem.H == by_hand.H).all() and (problem.weights == Q(1, 2)).all()
    assert list(read_ridge(path, "city", "y", weights=["1/4", "3/4"]).weights) == [Q(1, 4), Q(3, 4)]


@pytest.mark.parametrize("standardise, columns", [("features", "xz"), ("all", "xzy"), ("short", "xz")])
def test_the_reported_scaling_is_the_one_used(write, standardise, columns):
    path = write(TABLE)
    raw, scaled = (read_ridge(path, "city", "y", standardise=s).to(FLOAT) for s in ("none", standardise))
    scaling = scaled.reading.scaling
    assert set(scaling) == set(columns)
    for k, name in enumerate("xz"):
        shift, scale = scaling[name]
        assert scaled._rows[1][:, k] == pytest.approx((raw._rows[1][:, k] - shift) / scale)
    shift, scale = scaling.get("y", (0, 1))
    assert scaled._answers[1] == pytest.approx((raw._answers[1] - shift) / scale)
    if standardise != "short":
        columns = np.concatenate([scaled._rows[0][:2], scaled._rows[1]])[:, :2]
        assert columns.mean(0) == pytest.approx([0, 0], abs=1e-12) and columns.std(0) == pytest.approx([1, 1])
    else:
        assert scaled.native is RATIONAL


def test_standardising_does_not_change_what_is_predicted(write):
    """Without a ridge term the fitted values are those of the raw columns."""
    path = write(TABLE.replace("8,3", "8,3\nA,7,1,1\nB,2,2,2"))
    fits = []
    for how in ("none", "features", "short"):
        problem = read_ridge(path, "city", "y", standardise=how, reg=0).to(FLOAT)
        fits.append(problem._rows[0][:3] @ FLOAT.array(ft.optimum(problem).x))
    assert fits[0] == pytest.approx(fits[1]) and fits[0] == pytest.approx(fits[2])


def test_numeric_labels_are_ordered_as_numbers(write):
    path = write("id,x,y\n10,1,2\n9,2,1\n10.0,3,5\n-1,5,5\n")
    assert read_ridge(path, "id", "y").reading.labels == ("-1", "9", "10")
    assert read_ridge(path, "id", "y").reading.rows == (1, 1, 2)


def test_bands_are_quantiles(write):
    path = write("age,x,y\n" + "".join(f"{k},{k * k % 7},{k % 3}\n" for k in range(20)))
    problem = read_ridge(path, "age", "y", bands=4)
    assert problem.reading.rows == (5, 5, 5, 5) and problem.reading.labels[0] == "0..4"
    ties = write("age,x,y\n" + "".join(f"{max(k, 15)},{k * k % 7},{k % 3}\n" for k in range(20)), "ties.csv")
    assert sum(read_ridge(ties, "age", "y", bands=4).reading.rows) == 20
    assert quantiles([1, 2, 2, 1], 5) == [2]


def test_the_diabetes_table_is_the_named_problem():
    """The same data by another route, sized by the same quantiles; its own features hold the client column too."""
    problem = read_ridge(instances.DIABETES, "age", "target", bands=5, standardise="short")
    named = instances.diabetes()
    assert list(problem.weights) == list(named.weights) and problem.sizes.tolist() == named.sizes.tolist()
    kept = [k for k in range(11) if k != 0]
    assert (named.H[:, kept][:, :, kept] == problem.H).all()
    assert (problem.b == 100 * named.b[:, kept]).all()


def test_one_client_is_allowed_but_said(write):
    path = write("id,x,y\n1,1,2\n1,2,1\n1,3,1\n")
    assert "one client only" in read_ridge(path, "id", "y").reading.notes[-1]


def test_a_byte_order_mark_and_quotes_are_read(write):
    path = write('\ufeff"id","a, b",y\n1,"2",3\n2,3,4\n')
    assert read_ridge(path, "id", "y").reading.features == ("a, b", "1")


GOOD = {"client": "city", "target": "y"}


@pytest.mark.parametrize(
    "text, options, says",
    [
        (TABLE.replace("2,1.5,1", "2,,1"), {}, "line 6, column 'z'.*empty"),
        (TABLE.replace("2,1.5,1", "2,one,1"), {}, "line 6, column 'z'.*'one' is no decimal"),
        (TABLE.replace("2,1.5,1", "2,nan,1"), {}, "no decimal number"),
        (TABLE.replace("2,1.5,1", "2,1e999999999,1"), {}, "no decimal number"),
        (TABLE.replace("2,1.5,1", "2,1_0,1"), {}, "no decimal number"),
        (TABLE.replace("2,1.5,1", "2,1.5"), {}, "line 6: 3 entries, but 4 columns"),
        (TABLE.replace("A,2", ",2"), {}, "line 6, column 'city'.*no owner"),
        (TABLE.replace("city,x,z", "city,x,x"), {}, "'x'.*names are unique"),
        (TABLE, {"client": "town"}, "'town'.*which has city, x, z, y"),
        (TABLE, {"target": "price"}, "'price'.*which has city, x, z, y"),
        (TABLE, {"features": ["w"]}, "'w'.*which has city, x, z, y"),
        (TABLE, {"features": ["city"]}, "says who owns a row"),
        (TABLE, {"features": ["y"]}, "is what is predicted"),
        (TABLE, {"features": ["x", "x"]}, "named once"),
        (TABLE, {"features": [], "intercept": False}, "at least one coefficient"),
        (TABLE, {"target": "city"}, "client column as well"),
        (TABLE, {"standardise": "yes"}, "features, all, short, none"),
        (TABLE, {"weights": "columns"}, '"rows", "uniform"'),
        (TABLE, {"weights": [1, 2]}, "sum to 1"),
        (TABLE, {"bands": 3}, "'city'.*no decimal"),
        (TABLE, {"bands": 1}, "at least two bands"),
        (TABLE, {"bands": True}, "at least two bands"),
        (TABLE, {"reg": -1}, ">= 0"),
        (TABLE, {"convention": "mean"}, "half-mean"),
        ("city,x,y\nA,1,2\nB,1,3\n", {}, "column 'x'.*constant"),
        ("city,x,y\n", {}, "is empty"),
        ("", {}, "is empty"),
        (b"\xff\xfe\x00", {}, "cannot be read"),
        (b"a,b\x00,c\n1,2\x00,3\n", {}, "no column|cannot be read"),
    ],
)
def test_what_is_refused(write, text, options, says):
    with pytest.raises(BadInput, match=f"(?s){says}"):
        read_ridge(write(text), **GOOD | options)


def refused(write, text, **options):
    with pytest.raises(BadInput) as error:
        read_ridge(write(text), **GOOD | options)
    return str(error.value)


def test_all_bad_cells_are_listed_with_their_number(write):
    text = refused(write, TABLE.replace("2,1.5,1", "2,,1").replace("2.5,0", "few,0").replace("3,few", "3,few"))
    assert "line 6, column 'z': the cell is empty" in text and "line 7, column 'z': 'few' is no decimal" in text
    assert "remove their rows" in text and "--features" in text
    many = "city,x,y\n" + "".join(f"A,{'?' if k % 2 else k},1\n" for k in range(60))
    text = refused(write, many)
    assert text.count("'?' is no decimal") == 10 and "30 such cells in all" in text and "line 3, column 'x'" in text


def test_columns_of_texts_are_named_with_the_features_that_remain(write):
    text = refused(write, "city,name,x,note,y\nA,ann,1,u,2\nB,bob,2,v,3\nA,cid,3,w,4\n")
    assert "line 2, column 'name': 'ann' is no decimal" in text and "nor is any of its 3 cells" in text
    assert "features=['x'] (on the command line --features x)" in text
    assert read_ridge(write("city,name,x,y\nA,ann,1,2\nB,bob,2,3\n"), "city", "y", ["x"]).d == 2


def test_a_client_column_of_texts_has_no_bands(write):
    text = refused(write, TABLE, bands=3)
    assert "leave bands (--bands) out for one client per value" in text and "--features" not in text


@pytest.mark.parametrize("mark, typed", [(";", "';'"), ("\t", "tab"), ("|", "'|'")])
def test_other_delimiters_are_recognised_and_read(write, mark, typed):
    other = TABLE.replace(",", mark)
    for text in (other, other.replace(".", ",")):
        said = refused(write, text)
        assert f"looks separated by {mark!r}" in said and f"--delimiter {typed}" in said
    assert (read_ridge(write(other), "city", "y", delimiter=mark).H == read_ridge(write(TABLE, "b.csv"), "city", "y").H).all()
    assert "a point" in refused(write, other.replace("1.5", "1,5"), delimiter=mark)


@pytest.mark.parametrize("delimiter", ["", ", ", None, 3, '"', "\n", "#"])
def test_what_is_no_delimiter(write, delimiter):
    assert "separates cells" in refused(write, TABLE, delimiter=delimiter)


def test_rows_of_another_length_are_all_listed(write):
    text = refused(write, TABLE.replace("2,1.5,1", "2,1.5").replace("5,8,3", "5,8,3,9"))
    assert "line 6: 3 entries, but 4 columns; line 9: 5 entries" in text


def test_missing_files_and_folders_are_refused(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(BadInput, match="cannot be read"):
            read_ridge(path, "a", "b")


def test_a_column_of_measurements_is_no_list_of_clients(write):
    path = write("id,x,y\n" + "".join(f"{k},{k % 5},1\n" for k in range(1100)))
    with pytest.raises(BadInput, match=r"as many clients.*bands"):
        read_ridge(path, "id", "y", standardise="none")


def test_tiny_and_huge_numbers_take_no_time(write):
    path = write("id,x,y\n1,1e-999999999,1\n2,1e99,2\n3,-1e-99,3\n")
    problem = read_ridge(path, "id", "y")
    assert np.isfinite(FLOAT.array(problem.H)).all()


def test_a_written_table_is_read_back(tmp_path):
    """Random floats written by the csv module: the normal equations are those of the arrays."""
    rng = np.random.default_rng(5)
    X, y, who = rng.standard_normal((30, 3)), rng.standard_normal(30), np.arange(30) % 4
    path = tmp_path / "r.csv"
    with open(path, "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerows(
            [
                ["who", "a", "b", "c", "t"],
                *([w, *map(repr, map(float, row)), repr(float(t))] for w, row, t in zip(who, X, y, strict=True)),
            ]
        )
    problem = read_ridge(path, "who", "t", standardise="none", intercept=False, reg=0).to(FLOAT)
    for i in range(4):
        own = X[who == i]
        assert problem._H[i] == pytest.approx(own.T @ own / len(own)) and math.isclose(problem.p[i], len(own) / 30)


# ---- shared and local columns -----------------------------------------------------------------------------
@pytest.mark.parametrize("shared,local", [(["x"], ["z"]), (["x", "z"], ["x", "z"]), (["x", "1"], ["1", "z"]), (["z"], ["1"])])
def test_residual_clients_are_the_least_squares_of_their_rows(write, shared, local):
    """The loss beside |A w + Z theta - y|^2/(2 m) + reg/2 (|w|^2 + |theta|^2), computed row by row."""
    problem = read_residual(write(TABLE), "city", "y", shared, local, reg="1/7", standardise="none")
    rows = {"A": [(2, Q(3, 2), 1), (4, Q(9, 2), -1)], "B": [(1, Q(1, 2), 2), (3, Q(5, 2), 0), (5, 8, 3)]}

    def loss(w, theta):
        total = sum(v * v for v in w) / 14
        for own, t in zip(rows.values(), theta, strict=True):
            total += Q(len(own), 5) * sum(v * v for v in t) / 14
            for x, z, y in own:
                cells = [{"x": x, "z": z, "1": 1}[name] for name in (*shared, *local)]
                total += Q(1, 5) * (sum(c * v for c, v in zip(cells, [*w, *t], strict=True)) - y) ** 2 / 2
        return total

    d, k = len(shared), len(local)
    places = [([Q(s + j, 3) for j in range(d)], [[Q(2 * s + i - j, 5) for j in range(k)] for i in range(2)]) for s in (0, 1, 4)]
    gaps = {loss(*at) - ft.fraction(problem.joint_value(*at)) for at in places}
    assert gaps == {loss([0] * d, [[0] * k] * 2)}
    assert (problem.n, problem.d, problem.dims) == (2, d, (k, k)) and list(problem.weights) == [Q(2, 5), Q(3, 5)]
    r = problem.reading
    assert (r.features, r.local, r.labels, r.rows) == (tuple(shared), tuple(local), ("A", "B"), (2, 3))


def test_columns_in_both_lists_have_a_joint_optimum_by_the_ridge_term_alone(write):
    path = write(TABLE)
    for standardise in ("none", "features"):    # exactly singular, and singular within rounding
        with pytest.raises(ft.NoMinimiser):
            read_residual(path, "city", "y", ["x", "1"], ["x"], reg=0, standardise=standardise).joint_optimum()
    assert read_residual(path, "city", "y", ["x"], ["x"]).native is FLOAT


RESIDUAL = {"client": "city", "target": "y", "shared": ["x"], "local": ["z"]}


@pytest.mark.parametrize("text,options,says", [
    (TABLE, {"local": []}, "use read_ridge"), (TABLE, {"shared": []}, "learns alone"), (TABLE, {"shared": "x"}, "list of column"),
    (TABLE, {"local": ["z", "z"]}, "and once"), (TABLE, {"local": [3]}, "by a text"), (TABLE, {"local": ["w"]}, "which has city"),
    (TABLE, {"local": ["city"]}, "says who owns a row"), (TABLE, {"shared": ["y"]}, "is what is predicted"),
    (TABLE, {"reg": -1}, ">= 0"), (TABLE, {"client": "town"}, "which has city"), (TABLE, {"bands": 3}, "no decimal"),
    (TABLE.replace("1.5", "nan"), {}, "no decimal"), (TABLE.replace("1.5", ""), {}, "the cell is empty"),
    (TABLE.replace("A,2", ",2"), {}, "has no owner"), ("", {}, "is empty"), (b"\xff\xfe\x00", {}, "cannot be read"),
])
def test_what_is_refused_of_residual_clients(write, text, options, says):
    with pytest.raises(BadInput, match=f"(?s){says}"):
        read_residual(write(text), **RESIDUAL | options)


def test_thousands_of_labels_are_clients_and_thousands_of_measurements_are_not(write):
    def rows(labels):
        return "id,x,y\n" + "".join(f"{k},{j % 5},1\n" for j, k in enumerate(labels))
    two = [f"s{k}" for k in range(1100)] * 2
    assert read_ridge(write(rows(two)), "id", "y", standardise="none").n == 1100
    assert read_ridge(write(rows([*range(1100)] * 2)), "id", "y", standardise="none").n == 1100
    with pytest.raises(BadInput, match=r"as many clients.*bands"):
        read_ridge(write(rows([k + 0.5 for k in range(1100)] * 2)), "id", "y", standardise="none")
