"""Exact roots, rates and spectral radii: against sympy's minimal polynomials and against closed forms."""
import copy
import pickle
import random
import re
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput, Inexact, TooLarge
from fltheory.core.evidence import FALSIFIED, HOLDS
from fltheory.core.numbers.linalg import spectral_radius
from fltheory.core.numbers.linalg.algebraic import image, real_roots

SYMBOL, = ft.Field("h").symbols


def both(x, text):
    """Whether a number has the minimal polynomial and the value that sympy gives an expression."""
    import sympy
    expression, t = sympy.sympify(text), sympy.symbols("t")
    expected = [int(c) for c in reversed(sympy.Poly(sympy.minimal_polynomial(expression, t), t).all_coeffs())]
    return list(x.polynomial) == expected and abs(float(x) - float(expression)) < 1e-12 * max(1, abs(float(expression)))


@pytest.mark.parametrize(("made", "text"), [
    (lambda r: r(2), "sqrt(2)"), (lambda r: r("9/10"), "sqrt(Rational(9,10))"), (lambda r: r(7, 3), "root(7,3)"),
    (lambda r: (1 - r(5)) / 2, "(1-sqrt(5))/2"), (lambda r: r(2) + r(3), "sqrt(2)+sqrt(3)"), (lambda r: r(2) * r(3), "sqrt(6)"),
    (lambda r: r(2) - r(7, 3), "sqrt(2)-root(7,3)"), (lambda r: 1 / (r(2) + r(3)), "1/(sqrt(2)+sqrt(3))"),
    (lambda r: (r(10) - 1) / (r(10) + 1), "(sqrt(10)-1)/(sqrt(10)+1)"), (lambda r: r(1 + r(2)), "sqrt(1+sqrt(2))"),
    (lambda r: (r(2, 3) - 3) ** 3, "(root(2,3)-3)**3"), (lambda r: r(2) ** -3, "sqrt(2)**-3"), (lambda r: -r(3) / 7, "-sqrt(3)/7"),
    (lambda r: abs(1 - r(3)), "sqrt(3)-1"), (lambda r: image(r(2), [0, 1, 1], [3, 1]), "(2+sqrt(2))/(3+sqrt(2))"),
])
def test_arithmetic_against_minimal_polynomials_of_sympy(made, text):
    assert both(made(ft.root), text)


def test_equality_is_decided_and_not_by_digits():
    r = ft.root
    assert r(2) + r(3) == r(5 + 2 * r(6)) and r(2) * r(8) == 4 and (r(2) - r(2)) == 0 and r(Q(9, 4)) == Q(3, 2)
    assert hash(r(4)) == hash(2) and hash(r(2) * r(3)) == hash(r(6))
    close = Q(int(np.floor(2**0.5 * 10**8)) * 10**60 + 1, 10**68)
    assert r(2) != close and r(2) != 2**0.5 and r(2) > 1.41421356237309504 - 1e-15
    assert r(2) != -r(2) and -r(2) < r(2) and r(2) <= r(2) and not r(2) < r(2)
    assert r(2) + Q(1, 10**300) > r(2)
    assert r(2) < float("inf") and r(2) > float("-inf") and not r(2) == float("nan")
    assert (r(10**400) == 10**200) and float(r(10**-0 * 10**600 + 1) / 10**300) == 1.0
    low, high = r(2).enclosure(Q(1, 10**40))
    assert low**2 < 2 < high**2 and high - low <= Q(1, 10**40)


def test_numbers_of_one_polynomial_are_told_apart():
    roots = real_roots([Q(-1, 7), 0, 3, -1, Q(2, 3), -5, 0, 1])
    values = np.roots([1, 0, -5, 2 / 3, -1, 3, 0, -1 / 7])
    assert np.allclose([float(v) for v in roots], sorted(v.real for v in values if abs(v.imag) < 1e-9))
    for i, a in enumerate(roots):
        assert [(a < b, a == b) for b in roots] == [(i < j, i == j) for j in range(len(roots))]
        for again in (pickle.loads(pickle.dumps(a)), copy.deepcopy(a)):
            assert again == a


def test_a_float_is_near_in_relation_to_itself():
    """Where nearly all digits cancel."""
    x = ft.root(2) - Q("1.414213562373095048")
    assert float(x) == pytest.approx(8.016887242096980785696718753769e-19, rel=1e-15, abs=0)


def test_written_forms():
    assert str(ft.root("9/10")) == "3 sqrt(10)/10" and str((3 - ft.root(5)) / 2) == "(3 - sqrt(5))/2" and str(ft.root(4)) == "2"
    assert str(ft.root(2, 3)) == "1.25992104989 (root of x^3 - 2)" and str(-ft.root(2)) == "-sqrt(2)"


def test_spectral_radius_against_sympy_and_floats():
    import sympy
    drawn, t = random.Random(3), sympy.symbols("t")
    for n in (1, 2, 3, 4, 6):
        A = [[Q(drawn.randint(-9, 9), drawn.randint(1, 9)) for _ in range(n)] for _ in range(n)]
        found = spectral_radius(A)
        M = sympy.Matrix(n, n, lambda i, j, A=A: sympy.Rational(A[i][j].numerator, A[i][j].denominator))
        values = np.linalg.eigvals(np.array(A, dtype=float))
        assert float(found) == pytest.approx(abs(values).max(), rel=1e-12)
        if not found.attained[0].complex:   # then its minimal polynomial, or that of its negative, divides the characteristic one
            minimal = sum(c * t**k for k, c in enumerate(found.attained[0].polynomial))
            assert sympy.rem(M.charpoly(t).as_expr(), minimal, t) == 0
        elif n <= 3:   # of the pair, the squared modulus is their product
            pair = [v for v in values if abs(abs(v) - abs(values).max()) < 1e-9]
            assert float(found)**2 == pytest.approx((pair[0] * pair[1]).real)


def test_the_modulus_of_a_complex_pair_of_high_degree():
    """Roots of x^3 - x - a: the pair has modulus sqrt(a / real root)."""
    for a in (Q(-1), Q(3), Q(5, 7)):   # for a > 0 the real root may be larger
        found = spectral_radius([[0, 0, a], [1, 0, 1], [0, 1, 0]])
        real, = real_roots([-a, -1, 0, 1])
        assert found == max(abs(real), ft.root(a / real))


def test_ties_are_found():
    found = spectral_radius([[0, -4, 0, 0], [1, 0, 0, 0], [0, 0, 2, 1], [0, 0, 0, -2]])
    assert found == 2 and sorted(map(str, found.attained)) == ["-2", "0 +- 2i", "2"]
    almost = spectral_radius([[0, -4, 0], [1, 0, 0], [0, 0, 2 + Q(1, 10**200)]])
    assert almost == 2 + Q(1, 10**200) and len(almost.attained) == 1
    assert spectral_radius([[0, 2], [1, 0]]) == ft.root(2) and len(spectral_radius([[0, 2], [1, 0]]).attained) == 2
    twice = spectral_radius([[3, 0], [0, 3]]).attained
    assert [(v.multiplicity, str(v)) for v in twice] == [(2, "3")]
    nilpotent = spectral_radius([[0, 1], [0, 0]])
    assert nilpotent == 0 and nilpotent.attained[0].multiplicity == 2
    assert spectral_radius(np.zeros((0, 0), dtype=object)) == 0


@pytest.mark.parametrize(("eta", "beta", "h", "expected"), [
    ("1/10", "9/10", 1, lambda: ft.root("9/10")),                           # complex pair: sqrt(beta)
    ("1/10", "1/100", 1, lambda: (Q(91, 100) + ft.root(Q(91, 100)**2 - Q(4, 100))) / 2),   # two real eigenvalues
    ("1", "1/4", "9/4", lambda: Q(1, 2)),                                   # eta h = (1 + sqrt(beta))^2: double eigenvalue -1/2
])
def test_heavy_ball(eta, beta, h, expected):
    """v <- beta v + change, x <- x + v is heavy ball with step eta: z^2 - (1 + beta - eta h) z + beta."""
    problem = ft.Quadratic([[[h]]], [[1]])
    op = ft.derive(ft.ServerMomentum(eta, 1, beta=beta), problem, ft.Full())
    found = op.exact_rate()
    assert found == expected() and float(found) == pytest.approx(op.rate(), rel=1e-6)
    assert ft.equal(found, expected()).status == HOLDS and ft.equal(found, expected()).evidence == "exact"
    assert op.exact_rate(square=True) == found * found   # no randomness


def test_rates_of_shipped_operators():
    problem = ft.Quadratic([[[1, 0], [0, 4]], [["2", "1"], ["1", "2"]]], [[0, 1], [2, -1]])
    for algorithm, law in ((ft.FedAvg("1/10", 2), ft.Full()), (ft.FedAvg("1/10", 1), ft.Bernoulli(["1/2", "1/3"])),
                           (ft.Scaffold("1/10", 2), ft.Uniform(1)), (ft.FedAvg("1/10", 2), ft.Cyclic([[0], [1], [0, 1]]))):
        op = ft.derive(algorithm, problem, law)
        low, high = op.certify().mean_square
        assert float(op.exact_rate()) == pytest.approx(op.rate(), rel=1e-9)
        square = op.exact_rate(square=True)
        assert float(square) == pytest.approx(op.mean_square_rate(), rel=1e-9)
        assert low <= square <= high


def test_a_rational_algebraic_number_is_a_fraction():
    assert ft.fraction(ft.root("4/9")) == Q(2, 3) and type(ft.fraction(ft.root(4))) is Q
    assert ft.Quadratic([[[ft.root(4)]]], [[0]]).H[0, 0, 0] == 2
    assert list(ft.root(2) * np.array([1, 2], dtype=object)) == [ft.root(2), 2 * ft.root(2)]   # arrays keep their own rules
    assert (ft.root(2) == SYMBOL) is False and (ft.root(2) == "a") is False and (ft.root(2) != None) is True   # noqa: E711


def test_long_numbers_are_written_on_a_readable_line():
    problem = ft.Quadratic([[["1/3", "1/7"], ["1/7", "3/5"]], [[2, "1/5"], ["1/5", 1]]], [[0, 1], [1, 2]])
    op = ft.derive(ft.Scaffold("1/10", 3), problem, ft.Uniform(1))
    rate, long, surd = op.exact_rate(), spectral_radius([[Q(10**5000 + 1, 3 * 10**5000)]]), ft.root(2**20000 + 1)
    for number in (rate, long, surd, -surd, 1 / surd, ft.root(Q(1, 2**20000 + 1), 3), op.exact_rate(square=True)):
        for text in (str(number), repr(number), repr(number.attained)):
            assert len(text) < 200, text
        assert f"degree {number.degree}" in str(number) and ".polynomial" in str(number)
        found = [Q(v) for v in re.search(r"in \[(.*), (.*)\]", str(number)).groups()]
        assert found[0] <= number <= found[1]
        assert found[1] - found[0] <= max(abs(found[0]), abs(found[1])) * Q(1, 10**10)
    assert str(rate.degree) in str(rate) and len(rate.polynomial) == rate.degree + 1 and str(float(rate))[:11] in str(rate)
    assert "multiplicity 1" in repr(rate.attained[0]) and len(str(ft.supremum(ft.Field("h").symbols[0]**3, 0, 10**3000))) < 400
    assert long.rational == Q(10**5000 + 1, 3 * 10**5000)


def test_in_relations():
    rate = spectral_radius([[Q(1, 2), 1], [Q(1, 8), Q(1, 2)]])     # 1/2 + sqrt(1/8)
    exact = Q(1, 2) + ft.root("1/8")
    assert ft.equal(rate, exact).status == HOLDS and ft.equal(rate, float(exact)).status == HOLDS
    assert ft.equal(rate, exact + Q(1, 10**100)).status == FALSIFIED
    assert ft.at_most(rate, exact).status == HOLDS and ft.at_most(rate, exact, strict=True).status == FALSIFIED
    assert ft.at_most(rate, exact - Q(1, 10**50)).status == FALSIFIED
    assert ft.at_most(rate, 1).margin == pytest.approx(1 - float(exact))
    assert ft.at_most(rate, ft.Terms(a=Q(1, 2), b=ft.root("1/8"))).status == HOLDS
    assert ft.at_most(ft.Bounds(rate, rate), exact).evidence == "exact"
    assert ft.equal([rate, 1], [exact, 1]).record()["lhs"] == "((2 + sqrt(2))/4, 1)"
    step = ft.Hypothesis("rate", "rate below 1", lambda i: (rate, 1), strict=True).check(None)
    assert step.holds and step.lhs == "(2 + sqrt(2))/4"


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: ft.root(-1), BadInput, ">= 0"), (lambda: ft.root(2, 0), BadInput, "k >= 1"),
    (lambda: ft.root("a"), BadInput, "rational"),
    (lambda: ft.root(2) + 0.5, Inexact, "met 0.5"), (lambda: 0.5 * ft.root(2), Inexact, "met 0.5"),
    (lambda: 0.1 * ft.root(2), Inexact, r"met 0.1: .*ft.fraction\('0.1'\).*float"),
    (lambda: ft.root(2) - float("nan"), Inexact, "met nan: .*no number"), (lambda: 1e400 / ft.root(2), Inexact, "met inf: "),
    (lambda: ft.root(2) * True, Inexact, "met True: .*Write 0 or 1"),
    (lambda: ft.root(2) * SYMBOL, BadInput, "symbol = h: .*ft.Field"), (lambda: SYMBOL * ft.root(2), BadInput, "symbol = h"),
    (lambda: SYMBOL - ft.root(2), BadInput, "symbol = h"), (lambda: SYMBOL / ft.root(4), BadInput, "symbol = h"),
    (lambda: ft.root(2) + "1/2", BadInput, "number = '1/2': .*Fraction"), (lambda: None - ft.root(2), BadInput, "number = None"),
    (lambda: ft.root(2) / 1j, BadInput, "number = 1j"), (lambda: ft.root(2) < SYMBOL, BadInput, "symbols have no order"),
    (lambda: ft.root(2) >= "1", BadInput, "number = '1'"), (lambda: max("1", ft.root(2)), BadInput, "number = '1'"),
    (lambda: 2 ** ft.root(2), BadInput, "exponent = sqrt"), (lambda: ft.root(2) // 1, BadInput, "floor"),
    (lambda: ft.root(2) % 1, BadInput, "floor"),
    (lambda: ft.fraction(ft.root(2)), BadInput, "number = sqrt.2.: is an irrational number.*enclosure"),
    (lambda: ft.Quadratic([[[ft.root(2)]]], [[0]]), BadInput, "is an irrational number.*enclosure"),
    (lambda: ft.fraction(OSError), BadInput, "a type is no number"), (lambda: ft.fraction([1]), BadInput, "a list is no number"),
    (lambda: ft.fraction(np.array([1])), BadInput, "an ndarray is no number"),
    (lambda: 1 / (ft.root(2) - ft.root(2)), ZeroDivisionError, "0"), (lambda: ft.root(2) ** Q(1, 2), BadInput, "ft.root"),
    (lambda: ft.root(2, 200), TooLarge, "degree 200"), (lambda: ft.root(2, 20) + ft.root(3, 20), TooLarge, "degrees 20 and 20"),
    (lambda: ft.root(2).enclosure(0), BadInput, "positive"), (lambda: spectral_radius([[1, 2]]), BadInput, "square"),
])
def test_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_flags_of_rates_are_truth_values():
    op = ft.derive(ft.FedAvg("1/10", 1), ft.Quadratic([[[1]]], [[0]]), ft.Full())
    for square in (float("nan"), "no", None, 2):
        with pytest.raises(BadInput, match=r"square = .* is True or False"):
            op.exact_rate(square)
    with pytest.raises(BadInput, match="state = 'no': is True or False"):
        op.carried([[1, 0], [0, 0]], 1, state="no")
    with pytest.raises(BadInput, match="strict = 'no': is True or False"):
        ft.at_most(1, 1, strict="no")


def test_symbols_and_large_operators_are_refused_in_words():
    field = ft.Field("eta")
    eta, = field.symbols
    op = ft.derive(ft.FedAvg(eta, 1), ft.Quadratic([[[1]]], [[0]]), ft.Full(), domain=field)
    with pytest.raises(BadInput, match="in symbols are no numbers"):
        op.exact_rate()
    large = ft.derive(ft.FedAvg("1/10", 1), ft.Quadratic([np.eye(20, dtype=int)], [[0] * 20]), ft.Full())
    with pytest.raises(TooLarge, match="degree 210"):
        large.exact_rate(square=True)
