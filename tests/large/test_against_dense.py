"""Forty small cases: structured operators say what listed ones say."""
from dataclasses import replace

import numpy as np
import pytest

import fltheory as ft
from tests.large.cases import CHANCES, EQUAL, LAWS, METHODS, STEP, WEIGHED, random_problem, structured


def same(mine, dense, noise):
    a, b = mine.fixed_point(), dense.fixed_point()
    assert np.abs(a.state - b.state).max() <= 1e-13 * max(1.0, np.abs(b.state).max())
    assert mine.rate() == pytest.approx(dense.rate(), rel=1e-9)
    assert mine.mean_square_rate() == pytest.approx(dense.mean_square_rate(), rel=1e-9)
    assert mine.floor() == pytest.approx(dense.floor(), rel=1e-10, abs=1e-20)
    if mine.stable:
        assert np.abs(mine.stationary().covariance - dense.stationary().covariance).max() <= 1e-10 * max(1.0, noise)
    known = mine.accuracy()
    assert known["mean_square_rate"].kind == "bound" and known["fixed_point"].bound < 1e-9
    assert mine.rate() <= dense.rate() * (1 + (known["rate"].bound or 1e-9))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("method", METHODS)
def test_forty_cases(method, law):
    problem, noise = (WEIGHED, 1) if len(method) % 2 else (EQUAL, 0)
    args = METHODS[method], problem, LAWS[law], noise
    mine, dense = structured(*args), ft.derive(*args, method="dense")
    same(mine, dense, noise)
    if law != "full":   # a sure cohort reaches less: what decays unreached is kept by no round
        assert len(mine.invariants()) == len(dense.invariants())


@pytest.mark.parametrize("law", [ft.Uniform(3), ft.Bernoulli(CHANCES, empty="skip"), ft.Bernoulli("1/4", empty="redraw")])
@pytest.mark.parametrize("method", ["FedAvg", "Scaffold", "Focus"])
def test_other_conventions_and_unequal_weights(method, law):
    args = METHODS[method], WEIGHED, law, 1
    same(structured(*args), ft.derive(*args), 1)


@pytest.mark.parametrize("method", [ft.Scaffnew(STEP, 3), ft.VRLSGD(STEP, 3), ft.FedNova(STEP, (1, 2, 3, 4, 1, 2, 3, 4))])
def test_products_of_shares_are_refused_and_full_participation_is_not(method):
    for law in (ft.Uniform(3), ft.Bernoulli("1/4")):
        with pytest.raises(ft.NotAffine, match=r"random cohorts differ by .*e-0[123]"):
            structured(method, WEIGHED, law)
    mine, dense = structured(method, WEIGHED, ft.Full()), ft.derive(method, WEIGHED, ft.Full())
    assert np.abs(mine.fixed_point().state - dense.fixed_point().state).max() < 1e-12
    assert mine.rate() == pytest.approx(dense.rate(), rel=1e-9)
    assert len(mine.invariants()) == (0 if method.steps == (1, 2, 3, 4) * 2 else 3)


def test_invariants_in_words():
    assert structured(METHODS["Focus"], WEIGHED, ft.Uniform(3)).invariants()[0] == "y[0] = " + " + ".join(
        f"g[{i}][0]" for i in range(8))
    text = structured(METHODS["Scaffold"], WEIGHED, ft.Uniform(3)).invariants()[1]
    assert text.startswith("c[1] = 1/36 ci[0][1] + 1/18 ci[1][1]")
    many = random_problem(40)
    text, *rest = structured(ft.Focus(STEP / 80, 2), many, ft.Uniform(4)).invariants()
    assert text == "y[0] = g[0][0] + g[1][0] + .. + g[39][0]" and len(rest) == 2


def test_paths_of_means():
    args = METHODS["Scaffold"], WEIGHED, ft.Uniform(3)
    mine, dense = structured(*args), ft.derive(*args)
    assert np.allclose(mine.after([1, 2, 3], 7), dense.after([1, 2, 3], 7), rtol=0, atol=1e-13)
    assert np.array_equal(mine.means([1, 2, 3], 7)[-1], mine.after([1, 2, 3], 7))


@pytest.mark.parametrize("method", ["FedAvg", "Scaffold", "Focus"])
def test_rounds_as_matrices_and_many_of_them(method):
    args = METHODS[method], WEIGHED, ft.Uniform(3)
    mine, dense = structured(*args), ft.derive(*args)
    for rounds in (0, 1, 9):
        for a, b in zip(mine.round_matrix(rounds), dense.round_matrix(rounds), strict=True):
            assert a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-13)
    assert np.allclose(mine.after([1, 2, 3], 2000), mine.fixed_point().x, rtol=0, atol=1e-12)
    for ask in (lambda r: mine.after([1, 2, 3], r), mine.round_matrix, lambda r: mine.means([1, 2, 3], r)):
        with pytest.raises(ft.TooLarge, match=r"1000000000 rounds .*fixed_point.*rate"):
            ask(10**9)
        for rounds in (-1, 1.5, float("nan"), None, True):
            with pytest.raises(ft.BadInput, match="rounds = "):
                ask(rounds)
    assert mine.assumed == ""


def test_many_rounds_of_a_step_that_diverges():
    op = structured(ft.FedAvg(100, 1), EQUAL, ft.Full())
    with pytest.raises(ft.CertificateFailed, match="range of float64"):
        op.after([1, 2, 3], 5000)


def test_stationary_gradients_and_no_others():
    args = METHODS["Scaffold"], WEIGHED, ft.Uniform(3), 1
    mine, dense = structured(*args), ft.derive(*args)
    assert mine.mean_gradient_square(WEIGHED, None) == pytest.approx(dense.mean_gradient_square(WEIGHED, None), rel=1e-9)
    assert mine.mean_gradient_square(WEIGHED, 10, [1, 2, 3]) == pytest.approx(dense.mean_gradient_square(WEIGHED, 10, [1, 2, 3]))
    growing = structured(ft.FedAvg(100, 1), EQUAL, ft.Uniform(3))
    with pytest.raises(ft.NoFixedPoint):
        growing.mean_gradient_square(EQUAL, None)
    for wrong in (0, -1, 1.5, float("nan"), "2"):
        with pytest.raises(ft.BadInput, match="rounds = "):
            mine.mean_gradient_square(WEIGHED, wrong)
    with pytest.raises(ft.BadInput, match="surrogate"):
        mine.mean_gradient_square(None, None)
    with pytest.raises(ft.BadInput, match="surrogate"):
        dense.mean_gradient_square("F", None)


FORM = np.diag([1.0, 1.0, 1.0, 0.0])


def test_what_no_structured_route_answers_the_listed_operator_answers():
    args = METHODS["Scaffold"], WEIGHED, ft.Uniform(3), 1
    mine, dense = structured(*args), ft.derive(*args, method="dense")
    asked = {name for name in dir(dense) if not name.startswith("_")} - {"reach", "moments", "origin", "model", "initial"}
    assert asked <= set(dir(mine)), asked - set(dir(mine))
    for ask in (lambda op: op.mean_map(), lambda op: op.begin([1, 2, 3]), lambda op: [*op.trajectory(4, [1, 2, 3])],
                lambda op: [op.carried(FORM, 3)]):
        for a, b in zip(ask(mine), ask(dense), strict=True):
            for x, y in zip(*((v,) if isinstance(v, np.ndarray) else v for v in (a, b)), strict=True):
                assert np.abs(x - y).max() <= 1e-12 * max(1.0, np.abs(y).max())
    assert (mine.exact().fixed_point().x == dense.exact().fixed_point().x).all()
    assert mine.in_domain(ft.RATIONAL) is mine.exact() and mine.exact().domain is ft.RATIONAL and mine.method == "structured"


def test_certificates_and_exact_rates_of_structured_operators():
    args = ft.FedAvg("1/10", 2), ft.Quadratic([[[1]], [[2]], [[3]]], [[1], [0], [2]]), ft.Uniform(2), 1
    mine, dense = structured(*args), ft.derive(*args, method="dense")
    assert mine.exact_rate() == dense.exact_rate() and mine.exact_rate(square=True) == dense.exact_rate(square=True)
    assert str(mine.certify()) == str(dense.certify())


def test_what_does_not_fit_the_lists_is_refused_in_words(monkeypatch):
    mine = structured(METHODS["Scaffold"], random_problem(1), ft.Full())
    monkeypatch.setattr("fltheory.core.operators.size.DENSE_BYTES", -1)
    for ask, words in ((mine.exact_rate, r"method='dense'.*op.rate\(\)"),
                       (lambda: mine.exact_rate(square=True), r"op.mean_square_rate\(\)"),
                       (lambda: mine.begin([1, 2, 3]), "method='dense'"), (lambda: mine.trajectory(5, [1, 2, 3]), r"op.means\("),
                       (lambda: mine.carried(FORM, 3), "method='dense'"), (mine.certify, r"op.accuracy\(\)"),
                       (lambda: mine.mean_gradient_square(WEIGHED, 10, [1, 2, 3]), "rounds=None")):
        with pytest.raises(ft.TooLarge, match=r"no structured route: Scaffold has a state of 9 numbers for 1 client.*" + words):
            ask()


# ---- ends ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["FedAvg", "Scaffold", "Focus"])
def test_one_client(method):
    for law in (ft.Full(), ft.Uniform(1), ft.Bernoulli("1/3")):
        args = METHODS[method], random_problem(1), law, 1
        same(structured(*args), ft.derive(*args), 1)


@pytest.mark.parametrize("chance", ["1/1000000", "999999/1000000"])
def test_probabilities_near_0_and_1(chance):
    for method in ("FedAvg", "Mifa"):
        args = METHODS[method], WEIGHED, ft.Bernoulli(chance)
        mine, dense = structured(*args), ft.derive(*args)
        assert np.abs(mine.fixed_point().x - dense.fixed_point().x).max() < 1e-9
        assert 1 - mine.rate() == pytest.approx(1 - dense.rate(), rel=1e-6)


@pytest.mark.parametrize(("method", "n"), [(ft.FedAvg(0.11, averaging="unbiased"), 3), (ft.FedAvg(0.11), 3), (ft.Scaffnew(0.1), 1),
                                           (ft.VRLSGD(0.08), 1), (ft.Scaffold(0.05), 3)], ids=str)
def test_rounding_is_an_error_where_hardly_anybody_works(method, n):
    """With probability 1e-6: a residual that rounds to 0 is no error of 0, since 1 - M is as small as the probability."""
    problem = ft.Quadratic.from_linear([[[1.3]], [[0.7]], [[0.4]]][:n], [[1.7], [-0.3], [0.9]][:n])
    law = ft.Bernoulli(1e-6, steps=2, noise=1)
    mine, dense = structured(method, problem, law), ft.derive(method, problem.exact(), law, domain=ft.RATIONAL)
    point, floor, known = mine.fixed_point().x, mine.floor(), mine.accuracy()
    off = max(abs(float(ft.fraction(float(a)) - b)) for a, b in zip(point, dense.fixed_point().x, strict=True))
    assert off <= known["fixed_point"].bound < 1e-6
    assert abs(float(ft.fraction(floor) / dense.floor() - 1)) <= known["floor"].bound < 1e-3


def test_condition_number_of_1e8_at_the_cap():
    problem = random_problem(8, 3, condition=1e8)
    args = ft.FedAvg(1 / float(problem.constants.L), 2), problem, ft.Uniform(3)
    mine, dense = structured(*args), ft.derive(*args).exact()
    exact = np.array([float(v) for v in dense.fixed_point().x])
    assert np.abs(mine.fixed_point().x - exact).max() <= mine.accuracy()["fixed_point"].bound
    assert mine.rate() == pytest.approx(dense.rate(), abs=1e-12)


def test_an_eigenvalue_1_has_no_fixed_point():
    H = np.zeros((4, 2, 2))
    H[:, 0, 0] = 1.0                       # nothing bends along the second coordinate
    flat = ft.Quadratic.from_linear(H, np.ones((4, 2)))
    for b in (np.ones((4, 2)), np.array([[1.0, 0.0]] * 4)):
        flat = ft.Quadratic.from_linear(H, b)
        for method in (ft.FedAvg("1/4", 2), ft.Focus("1/20", 2)):
            for how in ("dense", "structured"):
                with pytest.raises(ft.NoFixedPoint, match="eigenvalue 1"):
                    ft.derive(method, flat, ft.Uniform(2), method=how).fixed_point()


def test_divergence():
    args = ft.Scaffold(4 / float(EQUAL.constants.L), 3), EQUAL, ft.Uniform(3), 1
    mine, dense = structured(*args), ft.derive(*args)
    assert mine.rate() == pytest.approx(dense.rate(), rel=1e-9) and mine.rate() > 1
    assert mine.floor() == np.inf and not mine.stable
    with pytest.raises(ft.NoFixedPoint, match="second moments grow"):
        mine.stationary()


def test_nothing_but_noise():
    problem = ft.Quadratic(np.stack([np.eye(2)] * 5), np.zeros((5, 2)))
    args = ft.FedAvg("1/4", 2), problem, ft.Uniform(2), 10
    assert structured(*args).floor() == pytest.approx(ft.derive(*args).floor(), rel=1e-11)


# ---- what is refused, what is said -----------------------------------------------------------------------
def test_methods_of_derive():
    problem = random_problem(200, 50)
    assert type(ft.derive(METHODS["FedAvg"], EQUAL, ft.Uniform(3))).__name__ == "Operator"
    assert ft.derive(ft.Scaffold(STEP, 2), problem, ft.Uniform(20)).method == "structured"
    with pytest.raises(ft.TooLarge, match="derived up to 600"):
        ft.derive(ft.Scaffold(STEP, 2), problem, ft.Uniform(20), method="dense")
    with pytest.raises(ft.TooLarge, match="Nor has it a structured operator"):
        ft.derive(ft.Scaffnew(STEP, 2), problem, ft.Uniform(20))
    for options in ({"method": "sparse"}, {"method": "structured", "domain": ft.RATIONAL},
                    {"method": "structured", "start": "any"}):
        with pytest.raises(ft.BadInput, match="method"):
            ft.derive(METHODS["FedAvg"], EQUAL, ft.Uniform(3), **options)
    with pytest.raises(ft.BadInput, match="draws local steps"):
        structured(ft.FedAvg(STEP), EQUAL, ft.Full(steps=ft.RandomSteps([("1/2", 1), ("1/2", 2)])))
    with pytest.raises(ft.BadInput, match="draw a client twice"):
        structured(ft.FedAvg(STEP, 2), EQUAL, ft.WithReplacement(2))


def test_noise_that_was_never_chunked_no_longer_asks_for_183_gib():
    """FedAvg on the second workload: 100 clients, 50 dimensions, 10 of them drawn, with noise."""
    args = ft.FedAvg("1/20", 5), random_problem(100, 50), ft.Uniform(10), 1
    with pytest.raises(ft.TooLarge, match=r"with gradient noise would take about 197 GiB, above the limit of 8 GiB"):
        ft.derive(*args, method="dense")
    op = ft.derive(*args)
    quiet = ft.derive(*args[:2], ft.Full())        # uniform sets of equal clients have the mean round of all
    assert op.method == "structured" and quiet.method == "dense"
    assert np.abs(op.fixed_point().x - quiet.fixed_point().x).max() < 1e-12
    assert op.rate() == pytest.approx(quiet.rate(), rel=1e-12)


def test_sizes_beyond_reach_are_refused_with_their_bytes_before_anything_is_run(monkeypatch):
    from fltheory.core.operators import size
    monkeypatch.setattr(size, "MOST_BYTES", 1e4)
    monkeypatch.setattr("fltheory.large.structured.MeanRound", None)
    with pytest.raises(ft.TooLarge, match=r"Scaffold with a state of 30 numbers would take about .* MiB, above the limit of"):
        structured(ft.Scaffold(STEP, 2), EQUAL, ft.Uniform(3))


def test_second_moments_beyond_reach_and_what_has_no_route():
    op = structured(ft.Scaffold(STEP, 2), random_problem(600, 5), ft.Uniform(60))
    for ask in (op.mean_square_rate, op.floor):
        with pytest.raises(ft.TooLarge, match=r"a state of 3010 numbers are matrices of .* MiB"):
            ask()
    for ask in (op.exact, op.certify, op.mean_map, lambda: op.in_domain(ft.RATIONAL)):
        with pytest.raises(ft.TooLarge, match="no structured route"):
            ask()
    assert op.in_domain(ft.FLOAT) is op


def test_a_rate_that_arnoldi_has_missed_is_no_bound(monkeypatch):
    """Eigenvalues beyond the circle are counted, and said."""
    from fltheory.large.first_moments import FirstMoments
    real = FirstMoments.rate
    monkeypatch.setattr(FirstMoments, "rate", lambda self: replace(real(self), value=0.9 * real(self).value))
    rate = structured(METHODS["Focus"], EQUAL, ft.Uniform(3)).accuracy()["rate"]
    assert (rate.kind, rate.bound) == ("estimate", None)
    assert "eigenvalues counted beyond" in rate.label and "leaves no eigenvalue" not in rate.label


def test_estimates_are_called_estimates(monkeypatch):
    from fltheory.large import eigenvalue_count
    args = METHODS["Focus"], EQUAL, ft.Uniform(3)
    proved = structured(*args)
    assert "winding number leaves no eigenvalue" in str(proved.accuracy()) and proved.accuracy()["rate"].kind == "bound"
    monkeypatch.setattr(eigenvalue_count, "WORK", 0)
    guessed = structured(*args)
    assert guessed.accuracy()["rate"].kind == "estimate" and "Arnoldi estimate" in guessed._repr_html_()
    assert ", error <= " in proved.accuracy()["rate"].label and ", error" not in guessed.accuracy()["rate"].label
    assert ", error about " in proved.accuracy()["fixed_point"].label
    assert "Arnoldi estimate" in repr(guessed) and guessed.rate() == proved.rate()


def test_the_bound_of_a_squared_rate_is_the_squared_bound():
    """Without randomness the mean-square rate is the rate's square: (1 + b)^2 - 1 above it, where the rate is within b."""
    op = structured(METHODS["Scaffold"], EQUAL, ft.Full())
    op.mean_square_rate()
    rate, square = (op.accuracy()[k] for k in ("rate", "mean_square_rate"))
    assert "rounds have no randomness" in square.check and rate.bound > 0
    assert square.value == rate.value**2 and 1 + square.bound == pytest.approx((1 + rate.bound) ** 2, rel=1e-15)
