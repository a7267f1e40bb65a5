"""Definiteness, eigenvalue bounds, expansions and powers as relations of claims."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.analysis import algebra
from fltheory.core.errors import BadInput
from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE

EDGE = [[Q(1), Q(1)], [Q(1), Q(1)]]   # eigenvalues 0 and 2


def test_definiteness_is_exact_at_equality():
    assert ft.positive_semidefinite(EDGE).status == HOLDS and ft.positive_semidefinite(EDGE).evidence == "exact"
    assert ft.positive_semidefinite(EDGE, strict=True).status == FALSIFIED
    small = [[Q(1), Q(1)], [Q(1), Q(1) - Q(1, 10**30)]]
    assert ft.positive_semidefinite(small).status == FALSIFIED
    assert ft.positive_semidefinite([[Q(1), Q(1)], [Q(1), Q(1) + Q(1, 10**30)]], strict=True).status == HOLDS


def test_exact_numbers_beyond_the_range_of_floats():
    assert ft.positive_semidefinite([[10**400, 0], [0, 1]]).status == HOLDS
    assert ft.positive_semidefinite([[10**400, 0], [0, -1]]).status == FALSIFIED
    assert ft.eigenvalues_within([[10**400]], 0, 10**401).status == HOLDS
    assert ft.positive_semidefinite([[9e307, 0.0], [0.0, 9e307]]).status == HOLDS


def test_floats_within_rounding_decide_nothing():
    assert ft.positive_semidefinite(np.array([[1.0, 1.0], [1.0, 1.0]])).status == INCONCLUSIVE
    assert ft.positive_semidefinite(np.array([[1.0, 0.5], [0.5, 1.0]])).status == HOLDS
    assert ft.positive_semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]])).status == FALSIFIED


def test_eigenvalues_within():
    assert ft.eigenvalues_within(EDGE, 0, 2).status == HOLDS
    assert ft.eigenvalues_within(EDGE, Q(1, 10**20), 2).status == FALSIFIED
    assert ft.eigenvalues_within(EDGE, 0, 2 - Q(1, 10**20)).status == FALSIFIED
    assert ft.eigenvalues_within([[1, 0], [0, 2]], "1", "2").status == HOLDS
    assert "smallest 1 above" in ft.eigenvalues_within([[1, 0], [0, 1]], 0, 3).detail
    for A, low, high in (([[0.1 + 0.2]], 0, 0.3), ([[0.1 + 0.2, 0], [0, 0.1 + 0.2]], 0, 0.3), ([[1 + 1e-12, 0], [0, 1]], 1, 2)):
        assert ft.eigenvalues_within(A, low, high).status == INCONCLUSIVE   # floats within rounding of a bound decide nothing
    rng = np.random.default_rng(0)
    for _ in range(20):
        R = rng.normal(size=(4, 4))
        A, (low, *_, high) = R + R.T, np.linalg.eigvalsh(R + R.T)
        assert ft.eigenvalues_within(A, low - .1, high + .1).status == HOLDS
        assert ft.eigenvalues_within(A, low + .1, high + .1).status == FALSIFIED


def test_expansion():
    field = ft.Field("g h")
    g, h = field.symbols
    x = 1 / (1 + g * h)
    assert ft.expansion(x, "g", [1, -h, h**2]).status == HOLDS
    assert ft.expansion(x, "g", [1, h, h**2]).status == FALSIFIED and "[1]" in ft.expansion(x, "g", [1, h, h**2]).detail


def test_coefficients_are_exact_numbers_or_symbols():
    g, h = ft.Field("g h").symbols
    x = 1 / (2 + g)
    for half in (Q(1, 2), ft.fraction("0.5"), h / h / 2):
        assert ft.expansion(x, "g", [half, -Q(1, 4)]).status == HOLDS
    assert ft.expansion(x, "g", np.array([Q(1, 2)], dtype=object)).status == HOLDS
    assert ft.expansion(h + g, "g", (h, np.int64(1), "0", 0)).status == HOLDS
    assert ft.expansion(x, "g", [Q(1, 2) + Q(1, 10**40)]).status == FALSIFIED
    K, R = ft.Field("K R").symbols
    assert ft.power_series(np.int64(2), K, 0, R) == ft.power_series(2, K, 0, R) == 1 + 2 * R


def test_powers_for_every_integer():
    field = ft.Field("r K R")
    r, K, R = field.symbols
    series = ft.power_series(r, K, 2, R)
    assert series == 1 + K * r + K * (K - 1) / 2 * r**2 + r**3 * R
    for k in range(6):   # some R makes it an identity: what is left of the power is divisible by r^3
        left = (1 + r)**k - series.substitute(K=k, R=0)
        assert [c == 0 for c in left.series("r", 2)] == [True] * 3


def test_a_remainder_belongs_to_one_power():
    """One symbol for two remainders proved 2 (1 + h)^K - (1 + 2h)^K = 1, which is -1 at K = 2, h = 1."""
    h, K, R, S = ft.Field("h K R S").symbols
    first = ft.power_series(h, K, 0, R)
    assert ft.power_series(h, K, 0, R) == first and ft.equal(2 * first - ft.power_series(2 * h, K, 0, S), 1).status != HOLDS
    for power in ((2 * h, K, 0), (h, K, 1), (h, K + 1, 0)):
        with pytest.raises(BadInput, match="already"):
            ft.power_series(*power, R)
    with algebra.remainders(), pytest.raises(BadInput, match="already"):
        ft.power_series(2 * h, K, 0, R)
    field = ft.Field("h K R for_one_statement")
    for factor in (1, 2):
        with algebra.remainders():
            assert ft.power_series(factor * field.symbols[0], field.symbols[1], 0, field.symbols[2]) == 1 + factor * (
                field.symbols[0] * field.symbols[2])


@pytest.mark.parametrize("rest", [lambda h, K, R: -K * (K - 1) / 2, lambda h, K, R: 3, lambda h, K, R: h, lambda h, K, R: K,
                                  lambda h, K, R: 0, lambda h, K, R: 2 * R, lambda h, K, R: 0 * R,
                                  lambda h, K, R: ft.Field("R").symbols[0]])
def test_a_remainder_is_a_free_symbol(rest):
    h, K, R = ft.Field("h K R").symbols
    with pytest.raises(BadInput, match="rest"):
        ft.power_series(h, K, 1, rest(h, K, R))
    with pytest.raises(BadInput, match="rest"):
        ft.power_series(h * R, K, 1, R)


def test_round_matrix_and_after_in_model_coordinates():
    problem = ft.Quadratic([[[1, 0], [0, 2]], [["1/2", "1/4"], ["1/4", 1]]], [[0, 1], [2, -1]])
    for algorithm in (ft.FedAvg("1/10", 3), ft.Scaffold("1/10", 2)):
        op = ft.derive(algorithm, problem, ft.Full()).exact()
        M, c = op.round_matrix()
        assert all(type(v) is Q for v in [*M.reshape(-1), *c])
        x = [Q(3), Q(-5)]
        assert list(op.after(x)) == list(M.dot(x) + c)
        *_, (mean, _) = op.trajectory(5, x)
        assert [float(v) for v in op.after(x, 4)] == [float(ft.fraction(v)) for v in mean]
    assert list(op.after(x, 0)) == x


@pytest.mark.parametrize(("call", "words"), [
    (lambda: ft.positive_semidefinite([[1, 2], [3, 4]]), "not symmetric"),
    (lambda: ft.positive_semidefinite([1, 2]), "square"), (lambda: ft.positive_semidefinite([["a"]]), "."),
    (lambda: ft.positive_semidefinite([[ft.Field("a").symbols[0]]]), "rationals"),
    (lambda: ft.positive_semidefinite([[1]], strict="no"), "strict = 'no': is True or False"),
    (lambda: ft.positive_semidefinite([[1.0]], strict=2), "strict = 2: is True or False"),
    (lambda: ft.eigenvalues_within([[1]], None, 2), "."), (lambda: ft.expansion(1, "g", [1]), "no rational function"),
    (lambda: ft.expansion(ft.Field("g").symbols[0], "g", []), "at least one"),
    (lambda: ft.expansion(ft.Field("g").symbols[0], "h", [0, 1]), "has the symbols"),
    (lambda: ft.expansion(ft.Field("g").symbols[0], 3, [0, 1]), "has the symbols"),
    (lambda: ft.expansion(1 / ft.Field("g").symbols[0], "g", [1]), "pole"),
    *[(lambda c=c: ft.expansion(ft.Field("g").symbols[0], "g", c), words) for c, words in (
        ("abc", "coefficients = 'abc': .*list"), (None, "coefficients = None: .*list"), (3, "coefficients = 3: .*list"),
        ({0: 1}, "coefficients = .*list"), (["h", 1], "coefficient 0 = 'h': .*rational"), ([0, None], "coefficient 1 = None"),
        ([0.5], "coefficient 0 = 0.5: .*float.*Fraction"), ([float("nan")], "coefficient 0 = nan"),
        ([0, [1]], "coefficient 1 = "), (["nan"], "coefficient 0 = 'nan': .*rational"), ([""], "coefficient 0 = ''"),
        (np.array([0.0, 1.0]), "coefficient 0 = np.float64.0.0.: .*float"), ([True], "coefficient 0 = True"),
        ([1j], "coefficient 0 = "),
        ([ft.Field("k").symbols[0]], "coefficient 0 = k: .*symbols"), ([ft.root(2)], "coefficient 0 = sqrt"),
        ([0] * 502, "at most 501"))],
    *[(lambda x=x: ft.expansion(x, "g", [1]), "no rational function") for x in ("1/g", None, 0.5, float("nan"), [1])],
    *[(lambda r=r: ft.power_series(r, *ft.Field("K R").symbols[:1], 1, ft.Field("K R").symbols[1]), words) for r, words in (
        ("h/2", "r = 'h/2': .*rational"), (None, "r = None"), (0.5, "r = 0.5: .*float.*Fraction"), (float("nan"), "r = nan"),
        (True, "r = True"), ([1], "r = "), (ft.Field("h").symbols[0], "r = h: .*symbols"))],
    *[(lambda K=K: ft.power_series(1, K, 1, ft.Field("K R").symbols[1]), "K = .*no symbol") for K in ("K", None, 0.5)],
    *[(lambda ends=ends: ft.eigenvalues_within([[1]], *ends), words) for ends, words in (
        ((2, 1), "low = 2: is at most high = 1"), ((0.5, -0.5), "at most high"), ((None, 2), "low = None"),
        ((0, "x"), "high = 'x'"),
        ((float("nan"), 1), "low = nan"), (([0], 1), "low = "), ((0, ft.Field("h").symbols[0]), "high = h"))],
    (lambda: ft.power_series(1, 2, -1, 0), "order"), (lambda: ft.power_series(1, 2, 1, 0), "K"),
])
def test_refused(call, words):
    with pytest.raises(BadInput, match=words):
        call()


def test_noise_may_be_a_symbol():
    """Floor of one client on the line: eta^2 sigma^2 sum_j (1 - eta h)^(2j) / (1 - (1 - eta h)^(2K))."""
    field = ft.Field("eta sigma")
    eta, sigma = field.symbols
    problem = ft.Quadratic([[[1]]], [[0]])
    for K in (1, 3):
        op = ft.derive(ft.FedAvg(eta, K), problem, ft.Full(), noise=sigma, domain=field)
        q = 1 - eta
        assert op.floor() == eta**2 * sigma**2 * sum(q**(2 * j) for j in range(K)) / (1 - q**(2 * K))
        number = ft.derive(ft.FedAvg("1/10", K), problem, ft.Full(), noise="1/2", domain=ft.RATIONAL).floor()
        assert op.floor().substitute(eta=Q(1, 10), sigma=Q(1, 2)) == ft.Field("eta sigma").scalar(number)
    with pytest.raises(BadInput):
        ft.run(ft.FedAvg("1/10", 2), problem, ft.Full(), 5, noise=sigma)
    with pytest.raises(BadInput):
        ft.derive(ft.FedAvg("1/10", 2), problem, ft.Full(), noise=sigma)
