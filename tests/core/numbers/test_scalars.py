import sys
from fractions import Fraction as Q

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fltheory.core.errors import BadInput, Inexact, MissingLibrary
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.linalg import rational_reconstruct
from fltheory.core.numbers.scalars import (
    FLOAT,
    LARGE_PRIME,
    RATIONAL,
    Balls,
    Field,
    Modular,
    Torch,
    _Rational,
    declare,
    domain_of,
    fraction,
    is_rational,
    need,
)

quick = settings(derandomize=True, deadline=None, max_examples=50)
small = st.fractions(min_value=-20, max_value=20, max_denominator=12)
WORD = 1907664887677325471  # a prime of 61 bits
WORD = 1907664887677325471  # a prime of 61 bits
PRIME = 101
HALF = np.float64(0.5)


# ---- declared numbers ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("value", "expected"), [
    (3, Q(3)), (np.int64(-2), Q(-2)), ("1/20", Q(1, 20)), ("0.05", Q(1, 20)), (Q(2, 4), Q(1, 2)), (0.5, Q(1, 2)),
    (0.05, Q(0.05)), (np.float64(0.25), Q(1, 4)), ("-1e-3", Q(-1, 1000)),
])
def test_fractions_of_declared_numbers(value, expected):
    assert fraction(value) == expected and type(fraction(value)) is Q


@pytest.mark.parametrize("value", [True, np.True_, float("nan"), float("inf"), "x", "1/0", "", None, 1j, [1], object()])
def test_what_is_no_number(value):
    with pytest.raises(BadInput):
        fraction(value)


def test_a_float_is_not_the_decimal_it_prints():
    assert not fraction(0.05) <= Q(1, 20)
    assert fraction("0.05") <= Q(1, 20)


def test_declared_arrays():
    exact = declare([[1, "1/2"], [Q(1, 3), np.int64(4)]])
    assert exact.dtype == object and exact.tolist() == [[1, Q(1, 2)], [Q(1, 3), 4]]
    assert all(type(v) is Q for v in exact.reshape(-1))
    mixed = declare([1, 0.5, "1/4"])
    assert mixed.dtype == np.float64 and mixed.tolist() == [1, 0.5, 0.25]
    assert declare(np.arange(3)).dtype == object and declare(np.ones(2, dtype=np.float32)).dtype == np.float64
    assert declare("1/3").shape == () and declare("1/3")[()] == Q(1, 3)
    a, _ = Field("a b").symbols
    assert declare([a, 1, "1/2"]).tolist() == [a, Q(1), Q(1, 2)]
    for bad in ([[1], [1, 2]], [1, float("nan")], [True, 1], ["x"], [1, None]):
        with pytest.raises(BadInput):
            declare(bad)


def test_domain_of_declared_data():
    assert domain_of(declare([1, "1/2"])) is RATIONAL and domain_of(declare([0.5])) is FLOAT
    field = Field("a b")
    assert domain_of(declare([1, field.symbols[0]])) == field


# ---- residues --------------------------------------------------------------------------------------------
@quick
@given(small, small)
def test_residues_follow_the_rationals(a, b):
    domain = Modular(PRIME)

    def residue(q):
        return domain.scalar(q.numerator * pow(q.denominator, -1, PRIME))

    x, y = residue(a), residue(b)
    assert (x + y, x - y, x * y, -x) == (residue(a + b), residue(a - b), residue(a * b), residue(-a))
    assert (x + 2, 2 + x, x - 2, 2 - x, 3 * x) == tuple(residue(v) for v in (a + 2, a + 2, a - 2, 2 - a, 3 * a))
    if b.numerator % PRIME:
        assert x / y * y == x and 1 / y * y == 1 and hash(y / y) == hash(residue(Q(1)))
    assert domain.scalar(a) == domain.scalar(a + 0)
    large = Modular(LARGE_PRIME)
    assert rational_reconstruct(int(large.scalar(a)), LARGE_PRIME) == a


def test_residues_divide_by_no_zero():
    domain = Modular(PRIME)
    for top in (1, domain.scalar(1)):
        with pytest.raises(ZeroDivisionError):
            top / domain.scalar(PRIME)


@pytest.mark.parametrize("make", [lambda: Modular(PRIME).scalar(3), lambda: RATIONAL.scalar(3), lambda: Field("a").symbols[0]],
                         ids=["residue", "rational", "symbol"])
def test_exact_scalars_refuse_floats(make):
    x = make()
    refusal = (Inexact, "integer literals only") if isinstance(x, Symbolic) else (TypeError, "unsupported operand")
    for bad in (0.5, HALF):
        for op in (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b):
            for pair in ((x, bad), (bad, x)):
                with pytest.raises(refusal[0], match=refusal[1]):
                    op(*pair)
        if isinstance(x, Symbolic):
            for pair in ((x, bad), (bad, x)):
                with pytest.raises(Inexact, match="integer literals only"):
                    assert pair[0] == pair[1]
    column = np.array([x, x], dtype=object)
    with pytest.raises(refusal[0]):
        column * np.array([0.5, 1.0])
    mask = np.array([0, 1])
    assert (column * mask).tolist() == [0 * x, x]


# ---- symbols ---------------------------------------------------------------------------------------------
def test_identities_are_decided_without_simplification():
    a, b = Field("a b").symbols
    assert (a * a - b * b) / (a - b) == a + b
    assert (a + b)**2 == a * a + 2 * a * b + b * b and (a**-1) * a == 1
    assert a != b and hash(a / a) == hash(b / b)
    assert (1 / a + Q(1, 2) - a / 3) == (6 + 3 * a - 2 * a * a) / (6 * a)
    assert 2 - a == -(a - 2) and np.int64(2) * a == a + a


@quick
@given(small, small)
def test_substitution_is_exact(p, q):
    a, b = Field("a b").symbols
    expression = (a * a + 3 * b - 1) / (a + 100)
    assert expression.substitute(a=p, b=q) == (p * p + 3 * q - 1) / (p + 100)
    assert expression.substitute(a=p) == (p * p + 3 * b - 1) / (p + 100)


def test_substitution_at_poles_and_of_strangers():
    a, = Field("a").symbols
    with pytest.raises(ZeroDivisionError):
        (1 / a).substitute(a=Q(0))
    with pytest.raises(BadInput, match="has the symbols"):
        a.substitute(b=1)


# ---- domains ---------------------------------------------------------------------------------------------
DATA = declare([["1/20", 3], [-2, "7/3"]])


def test_every_domain_owns_what_it_makes():
    for domain in (FLOAT, RATIONAL, Modular(), Modular(WORD), Field("a"), Balls()):
        if isinstance(domain, Balls):
            pytest.importorskip("flint")
        made = domain.array(DATA)
        assert made.shape == (2, 2) and domain.check(made) is made
        assert domain.check(made * 2 + 1) is not None and repr(domain) == domain.name
    assert Torch().array(DATA).dtype == Torch().scalar("1/2").dtype
    assert Torch().check(Torch().array(DATA)).tolist() == FLOAT.array(DATA).tolist()


def test_floats_sneaking_in_are_caught():
    for bad in (np.array([Q(1, 2) * 1.0], dtype=object), np.array([0.5]), [Q(1), HALF]):
        with pytest.raises(Inexact, match="rationals"):
            RATIONAL.check(bad, "gradient")
    with pytest.raises(Inexact, match="gradient"):
        Modular().check(np.array([0.5], dtype=object), "gradient")
    with pytest.raises(Inexact):
        Field("a").check(np.array([1], dtype=object))
    import torch
    with pytest.raises(Inexact, match="float32"):
        Torch().check(torch.tensor([1, 2]) * 0.5)
    assert (torch.tensor([1, 2]) * Torch().scalar("1/2")[None]).dtype == torch.float64


def test_rationals_stay_exact_and_floats_are_derived():
    made = RATIONAL.array(DATA)
    assert all(is_rational(v) for v in made.reshape(-1))
    assert fraction(made[0, 0]) == Q(1, 20)
    assert FLOAT.array(DATA).tolist() == [[0.05, 3.0], [-2.0, 7 / 3]]
    floats = np.array([1.0, 2.0])
    assert FLOAT.array(floats).dtype == np.float64 and FLOAT.scalar("1/4") == 0.25
    assert FLOAT.array(np.arange(2)).dtype == np.float64


def test_exact_numbers_need_flint_and_floats_do_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    for domain in (_Rational(), Modular(WORD), Balls()):
        with pytest.raises(MissingLibrary, match="python-flint"):
            domain.scalar(1)
    a, = Field("of_nobody_else").symbols  # claims that name symbols can be read all the same
    assert (a * a - 1) / (a - 1) == a + 1
    with pytest.raises(MissingLibrary, match="pip install nothing"):
        need("nothing", "a test")
    assert FLOAT.scalar("1/2") == 0.5 and declare(["1/2"])[0] == Q(1, 2)
    with Balls.apart():
        pass


def test_balls_enclose():
    flint = pytest.importorskip("flint")
    third = Balls(128).scalar("1/3")
    assert (3 * third).contains(1) and not (3 * third).contains(flint.fmpq(1, 2))
    assert third.rad() < 1e-30 and Balls().scalar(third) is third
    assert Balls().scalar(0.1).contains(flint.fmpq(Q(0.1).numerator, Q(0.1).denominator))


def test_balls_compute_at_their_own_precision_whatever_ran_before():
    flint = pytest.importorskip("flint")

    def width(bits):
        x = Balls(bits).scalar("1/3")
        return (x * x).rad()
    with Balls.apart():
        first = width(64)
        assert width(2000) < 1e-300 < 1e-25 < first == width(64) < 1e-18
    before = flint.ctx.prec
    with Balls(300).working():
        assert flint.ctx.prec == 300
        with Balls(64).working():
            assert flint.ctx.prec == 64
        assert flint.ctx.prec == 300
    with pytest.raises(ArithmeticError), Balls(99).working():
        raise ArithmeticError
    with FLOAT.working():
        assert flint.ctx.prec == before


def test_residues_are_those_of_flint():
    flint = pytest.importorskip("flint")
    for prime in (WORD, LARGE_PRIME):
        assert Modular(prime).scalar("1/3") * 3 == 1
        assert isinstance(Modular(prime).scalar(5), flint.fmpz_mod)


def test_equal_domains_are_one_key():
    assert Torch() == Torch("cpu") and Torch() != Torch("cuda") and Torch() != FLOAT
    assert Balls(64) == Balls(64) != Balls(65) and Modular() == Modular(LARGE_PRIME) != Modular(WORD)
    assert Field("a b") == Field("a, b") != Field("b a")
    keys = {Torch(), Torch("cpu"), Balls(64), Balls(64), Modular(), Modular(), Field("a"), Field("a"), FLOAT, RATIONAL}
    assert len(keys) == 6
