"""Rational functions: ours and sympy's fields say the same."""
import copy
import operator
import pickle
from fractions import Fraction as Q

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from fltheory.core.errors import BadInput, Inexact
from fltheory.core.numbers import elements
from fltheory.core.numbers.elements import functions
from fltheory.core.numbers.scalars import Field, have

quick = settings(derandomize=True, deadline=None, max_examples=60)
OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
PLACES = st.integers(0, 3)
STEPS = st.lists(st.tuples(st.sampled_from([*OPERATIONS, "^"]), PLACES, PLACES, st.integers(-3, 3)), min_size=1, max_size=7)


SYMPY = sympy.field("a, b", sympy.QQ)


def walked(generators, number, steps):
    """[numbers made on the way]: from the generators and 2/3, every step combines two of the last four."""
    seen = [*generators, number(Q(2, 3)), number(Q(1))]
    for op, i, j, k in steps:
        a, b = seen[-1 - i], seen[-1 - j]
        try:
            if op == "^":  # sympy's (-1)**-1 is not -1
                seen.append(a**k if k >= 0 else number(Q(1)) / a**-k)
            else:
                seen.append(OPERATIONS[op](a, b))
        except ZeroDivisionError:
            seen.append(number(Q(7)))
    return seen


@quick
@given(STEPS, st.booleans())
def test_our_arithmetic_is_that_of_sympy(steps, flint):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elements, "have", lambda library: flint and have(library))
        ours, theirs = elements.Functions(("a", "b")), SYMPY[0]
    seen = walked(ours.generators, ours.constant, steps)
    for x, y in zip(seen, walked(SYMPY[1:], lambda q: theirs(sympy.Rational(q.numerator, q.denominator)), steps), strict=True):
        assert str(x) == str(y)
        top, bottom = (sum((Q(int(c.numerator), int(c.denominator)) * Q(3, 7) ** p[0] * Q(-5, 11) ** p[1]
                            for p, c in part.terms()), Q(0)) for part in (y.numer, y.denom))
        if bottom:
            assert x.substitute(a=Q(3, 7), b=Q(-5, 11)) == top / bottom
        shift = x.field.generators[0].top + 2
        assert x == x.field.reduced(x.top * shift, x.bottom * shift)


@pytest.mark.parametrize("flint", [True, False])
def test_equality_decides_identity(flint, monkeypatch):
    if flint:
        pytest.importorskip("flint")
    else:
        monkeypatch.setattr(elements, "have", lambda library: False)
    field = elements.Functions(("a", "b"))
    a, b = field.generators
    assert type(a.top).__name__ == ("fmpq_mpoly" if flint else "PolyElement")
    assert str((a + Q(1, 2)) / (3 * b - a)) == "(-2*a - 1)/(2*a - 6*b)"
    assert (a**2 - b**2) / (a - b) == a + b and hash((a**2 - b**2) / (a - b)) == hash(a + b)
    assert 1 / (2 * a - 2) == Q(1, 2) / (a - 1) and a - a == 0 and not a == b
    assert (a / b) ** -2 == b**2 / a**2 and -a + a == 0 and (1 + a) * 0 == 0
    with pytest.raises(ZeroDivisionError):
        a / (b - b)
    with pytest.raises(ZeroDivisionError):
        (a - a) ** -1
    with pytest.raises(Inexact):
        a + 0.5


def test_copies_are_equal_and_names_are_any_identifiers():
    a, b = Field("\u00c0 \u03b2").symbols
    x = (1 + a) / (b - 3)
    assert pickle.loads(pickle.dumps(x)) == x == copy.deepcopy(x) and str(x) == "(\u00c0 + 1)/(\u03b2 - 3)"
    assert x.substitute(À=2, β=5) == Q(3, 2)


def test_symbols_of_two_fields_do_not_meet():
    a, b = Field("a").symbols[0], Field("a b").symbols[0]
    for op in (lambda: a + b, lambda: a * b, lambda: a == b):
        with pytest.raises(BadInput, match="one Field"):
            op()


def test_fields_of_the_same_symbols_are_one_however_many_were_made_between():
    a = Field("a").symbols[0]
    functions.cache_clear()
    assert a + Field("a").symbols[0] == 2 * a


@pytest.mark.parametrize(("other", "words"), [
    (0.1, r"met 0.1: .*ft.fraction\('0.1'\)"), (float("nan"), "met nan: .*It is no number"),
    (float("inf"), "met inf: .*It is no number"), (True, "met True: .*Write 0 or 1"),
])
def test_a_float_beside_a_symbol_is_refused_with_what_to_write(other, words):
    (h,) = Field("h").symbols
    for operation in OPERATIONS.values():
        with pytest.raises(Inexact, match=words):
            operation(h, other)
        with pytest.raises(Inexact, match=words):
            operation(other, h)
