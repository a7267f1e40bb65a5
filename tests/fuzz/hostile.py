"""Values that a user, a script or an attacker may hand over where a number, an array or a record is expected."""
from __future__ import annotations

import types
from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

import fltheory as ft


class Made:
    """A value made afresh for every case (generators are used up by one), shown by its recipe."""

    def __init__(self, recipe, make=None):
        self.recipe, self._make = recipe, make

    def make(self):
        return self._make() if self._make else eval(self.recipe, dict(_NAMES))  # our own constants, below

    def __repr__(self):
        return self.recipe


def made(value):
    """The value itself, of a recipe or of containers of recipes."""
    if isinstance(value, Made):
        return value.make()
    if type(value) in (list, tuple):
        return type(value)(made(v) for v in value)
    return value


class Frame:
    """Like a data frame: converts itself, in the old way, without a copy keyword."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None):
        return np.asarray(self.values, dtype=dtype)

    def __len__(self):
        return len(self.values)


class Unreadable:
    """Everything fails, its description too."""

    def __repr__(self):
        raise RuntimeError("no description")

    def __iter__(self):
        raise RuntimeError("no entries")

    def __len__(self):
        raise RuntimeError("no length")

    def __float__(self):
        raise RuntimeError("no number")

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no array")


class Liar(float):
    """A number whose description runs over lines."""

    def __repr__(self):
        return "1\n<script>alert(1)</script>\n" * 50


def _loop():
    out = []
    out.append(out)
    return out


def _torch(code):
    import torch
    return eval(code, {"torch": torch})


def _sympy(code):
    import sympy
    return eval(code, {"sympy": sympy})


_NAMES = {"np": np, "ft": ft, "Fraction": Fraction, "Decimal": Decimal, "Frame": Frame, "Unreadable": Unreadable,
          "Liar": Liar, "loop": _loop, "torch": _torch, "sympy": _sympy, "types": types}

NUMBERS = [Made(s) for s in (
    "float('nan')", "float('inf')", "-float('inf')", "1e308", "-1e308", "1.7e308", "5e-324", "1e-310", "1e-200", "-0.0",
    "0", "0.0", "-1", "1", "2", "1.0", "3.7", "0.05", "1.0000001", "10**400", "-10**5000", "10**5000", "10**9", "2**70", "-2**70",
    "Fraction(1, 10**400)", "Fraction(10**400)", "Fraction(1, 20)", "True", "False", "None", "1j", "complex('nan')",
    "Decimal('0.05')", "Decimal('NaN')", "Decimal('sNaN')", "Decimal('-Infinity')", "Liar(0.05)", "Liar(-1)",
    "np.float16(0.05)", "np.float32(0.05)", "np.longdouble('0.05')", "np.longdouble('1e4000')", "np.float32('nan')",
    "np.int8(3)", "np.uint64(2**64 - 1)", "np.int64(-2**63)", "np.bool_(True)", "np.complex128(1)", "np.str_('1/20')",
    "np.bytes_(b'1')", "np.datetime64('2020-01-01')", "np.timedelta64(3, 'D')", "np.timedelta64('NaT')", "np.ma.masked",
    "np.array(2)", "np.array(0.05)", "np.array(None)", "np.array([1])", "np.array('1/20')", "np.void(b'ab')",
)] + [Made(f"torch('{s}')") for s in (
    "torch.tensor(0.05)", "torch.tensor(2)", "torch.tensor(0.05, requires_grad=True)", "torch.tensor(1j)",
    "torch.tensor(True)", "torch.tensor(float(\"nan\"))", "torch.tensor(1.0, device=\"meta\")",
    "torch.tensor([1.0]).to_sparse()", "torch.tensor(1.0, dtype=torch.bfloat16)", "torch.ones(2, requires_grad=True)")
] + [Made(f"sympy('{s}')") for s in (
    "sympy.Rational(1, 20)", "sympy.Integer(2)", "sympy.Symbol(\"x\")", "sympy.sqrt(2)", "sympy.oo", "sympy.nan",
    "sympy.Float(\"0.05\")", "sympy.I", "sympy.Matrix([[1]])")
] + [Made("ft.Field('e').symbols[0]"), Made("ft.Field('e').symbols[0] * 0"), Made("ft.Field('f g').symbols[1]")]

STRINGS = [Made(s) for s in (
    "'1/0'", "'1e999'", "'-1e999'", "'1e-999'", "'1e999999999'", "'1e-99999999999'", "''", "' '", "'½'", "'١'", "'²'",
    "'1/20'", "' 1/20 '", "'nan'", "'inf'", "'0x10'", "'1_000'", "'abc'", "'\\x00'", "'\\ud800'", "'<script>'", "'a' * 10**5",
    "'9' * 5000", "'1/' + '9' * 5000", "'__import__(\"os\")'", "'\\n\\n'", "'3'", "b'1/20'", "bytearray(b'1')", "'cuda'",
    "'weighted'", "'\\u202e1'")]

ARRAYS = [Made(s) for s in (
    "[]", "[[]]", "[[[]]]", "()", "{}", "set()", "{1, 2}", "{'a': 1}", "[1, [2]]", "[[1, 2], [3]]", "[None]", "['a']",
    "'ab'", "loop()", "range(2)", "range(0)", "iter([1, 2])", "(v for v in (1, 2))", "map(str, [1])", "zip([1], [2])",
    "memoryview(b'12')", "[True, False]", "[1, 0]", "[0, 0]", "[2, -1]", "[0.5, 0.5]", "[0.5, 0.5000001]", "['1/2', '1/2']",
    "[0.5, '1/2']", "[1e308, 1e308]", "[float('nan'), 1]", "[10**400, 1]", "[1j, 2]", "[Decimal('0.5'), Decimal('0.5')]",
    "[1, 2, 3]", "[-1, 5]", "[10**9, 1]", "[1.5, 2]", "[0, 0, 1]", "[[0], [0]]", "[[0, 1], [1]]", "[[0], [5]]", "[(0,), (1,)]",
    "[[0, 0], [1]]", "[[-1], [0]]", "[[1, 0], [0, 1]]", "[[1, 2], [3, 4]]", "[['1/2', '1/2'], ['1/3', '2/3']]",
    "[[0.5, 0.6], [1, 0]]", "[[[1]], [[1]]]", "[[[1]], [[-1]]]", "[[[0]], [[0]]]", "[[[1e308]], [[1e308]]]",
    "[[[1e-320]], [[1]]]", "[[[1, 2], [3, 4]]] * 2", "[[[1, 2], [2, 1]]] * 2", "[[[float('inf')]], [[1]]]",
    "np.zeros((0, 1, 1))", "np.zeros((2, 0, 0))", "np.empty((0, 10**9))", "np.ones((2, 1, 1), dtype=np.float16)",
    "np.ones((2, 1, 1), dtype=np.longdouble)", "np.ones((2, 1, 1), dtype=complex)", "np.ones((2, 1, 1), dtype='M8[D]')",
    "np.ones((2, 1, 1), dtype=object)", "np.ones((2, 1, 1), dtype=bool)", "np.ones((2, 1, 1), dtype='U1')",
    "np.ones(2, dtype=[('a', float)])", "np.ma.masked_array([0.5, 0.5], mask=[True, False])",
    "np.ma.masked_array([[1.0], [2.0]], mask=[[True], [False]])", "np.ma.masked_array([[[1.0]], [[2.0]]], mask=True)",
    "np.broadcast_to(0.5, (300, 300))", "np.full((2, 1), np.nan)", "np.array([[1], [2]])[:, ::-1]",
    "np.full((2, 1), np.longdouble('1e4000'))", "np.array([0.5, 0.5], dtype='>f8')", "np.zeros((1,) * 64)", "np.arange(2)",
    "Frame([0.5, 0.5])", "Frame([[1.0], [2.0]])", "Frame([[[1.0]], [[2.0]]])", "Frame(['a'])", "Unreadable()",
)] + [Made(f"torch('{s}')") for s in (
    "torch.ones(2, 1, 1)", "torch.ones(2, 1, requires_grad=True)", "torch.full((2,), 0.5)", "torch.zeros(0)",
    "torch.ones(2, 1, dtype=torch.complex64)", "torch.ones(2, 1, device=\"meta\")", "torch.ones(2, 1).to_sparse()")]

THINGS = [Made(s) for s in (
    "object()", "int", "float", "lambda *a: 1", "print", "types", "NotImplemented", "...", "slice(None)", "Exception('x')",
    "ft.Full", "ft.FedAvg", "ft.Quadratic", "ft.Full()", "ft.Uniform(5)", "ft.Bernoulli([0.5, 0.5, 0.5])", "ft.Vanilla",
    "ft.Vanilla()", "ft.Momentum('1/2')", "ft.FedAvg(1, 1)", "ft.Scaffold(1, 1)", "ft.WithReplacement(2)", "ft.FLOAT", "ft.Torch",
    "ft.RATIONAL", "ft.Torch()", "ft.Balls()", "ft.Modular(101)", "ft.Field('a')", "ft.EventClock()", "ft.Cyclic([[0], [1]])",
    "ft.RandomSteps([('1/2', 1), ('1/2', 2)])", "ft.RandomSteps", "ft.Full(noise=1)", "ft.Full(batch=2)", "ft.Full(steps=3)",
    "ft.Quadratic([[[1]], [[1]]], [[0], [1]])", "ft.Quadratic([[[1]]], [[0]])", "ft.Instance('i')", "ft.Terms(a=1)", "ft.Terms()",
    "ft.Bernoulli('1/2', empty='skip')", "ft.Markov('1/2', '1/2', 2)", "ft.Periodic([ft.Full(), ft.Uniform(1)])",
    "ft.Residual([[[1]]] * 2, [[[1]]] * 2, [[[2]]] * 2, [[1]] * 2, [[1]] * 2)", "ft.FedResAvg(1, 1, personal_lr=1)",
    "ft.FedResSgd(1, 1, personal_lr=1)", "ft.LocalProx(1, 1)", "ft.Personal(ft.Quadratic([[[1, 0], [0, 1]]] * 2, [[0, 1]] * 2), 1)",
    "ft.AdaptiveServer(1, 1)", "ft.Ridge([[[1], [2]]] * 2, [[1, 2]] * 2, 1)", "ft.Logistic([[[1], [2]]] * 2, [[0, 1]] * 2, 1)",
    "ft.Proximal(alpha=1)", "ft.Decay(0)", "ft.BadInput", "__import__('sys')")]

finite = st.floats(allow_nan=False, allow_infinity=False)
drawn = st.one_of(st.integers(-3, 4), st.fractions(), st.floats(), st.integers(), st.text(max_size=5), st.booleans(),
                  st.fractions(0, 1, max_denominator=40), st.lists(st.integers(0, 3), max_size=4),
                  st.lists(st.floats(-1, 2), max_size=3), st.lists(st.lists(st.integers(-1, 2), max_size=2), max_size=3),
                  st.binary(max_size=4), st.dictionaries(st.text(max_size=2), st.integers(), max_size=2))
pool = st.sampled_from(NUMBERS + STRINGS + ARRAYS + THINGS)
pairs = st.lists(st.sampled_from(NUMBERS + STRINGS), min_size=2, max_size=2)
columns = st.lists(st.lists(st.sampled_from(NUMBERS + STRINGS), min_size=1, max_size=1), min_size=2, max_size=2)
values = st.one_of(pool, pool, st.sampled_from(NUMBERS), drawn, pairs, columns)
