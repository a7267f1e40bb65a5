"""Arithmetics: one round of an algorithm means what the numbers passed in mean.

A `Domain` turns declared data (ints, `Fraction`s, strings such as "1/20", floats) into arrays of one
arithmetic. Declared rationals stay exact until a domain is chosen; floats are derived from them,
never the reverse.

| domain            | arrays                           | what a round means                   |
| FLOAT             | numpy float64                    | numbers                              |
| Torch(device)     | torch float64                    | batched simulation                   |
| RATIONAL          | object, `flint.fmpq`             | exact rationals                      |
| Balls(bits)       | object, `flint.arb`              | rigorous enclosures                  |
| Modular(prime)    | object, `flint.fmpz_mod`         | exact linear algebra without growth  |
| Field(names)      | object, `Symbolic`               | identities between rational functions|
"""
from __future__ import annotations

import contextlib
import functools
import hashlib
import math
import numbers
import re
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.errors import BadInput, Inexact, refuse
from fltheory.core.kinds import Array
from fltheory.core.libraries import have, need
from fltheory.core.numbers.elements import Symbolic, functions

Number = Any  # annotation of a declared number: an int, Fraction, "1/20", float or symbol, moved between domains
StepSize = Any   # the same for a number that multiplies gradients: length^2 per unit of the loss
Curvature = Any  # of the unit of a Hessian: loss per length^2
Length = Any     # of the unit of a model
Numbers = Any  # annotation of a declared array: nested tuples of such numbers
SINGLE, SEVERAL = ("Number", "StepSize", "Curvature", "Length"), ("Numbers", "tuple[Number, ...]")
LONGEST = 4000  # digits of a declared number, also of its power of ten: beyond, Python has no decimal form of it
LARGE_PRIME = 125400843116101835337516765011159373743  # of no special form: the first prime after a hash


def fraction(value: Any, what: str = "number") -> Fraction:
    """The exact rational of a declared number, named `what` in messages; a float is taken at its dyadic value.

    Raises BadInput for NaN, infinity, booleans and unreadable strings.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, (bool, np.bool_)):
        refuse(what, value, "a truth value is no number", "Write 0 or 1.")
    if isinstance(value, np.timedelta64):  # numpy counts it among the integers
        refuse(what, value, "a duration is no number", "Give a number in the units of the problem.")
    if isinstance(value, (int, np.integer)):
        return Fraction(int(value))
    if isinstance(value, (float, np.floating)):
        if not np.isfinite(value):
            refuse(what, float(value), "must be finite", "Remove NaN and infinities from the input.")
        return Fraction(*map(int, value.as_integer_ratio()))
    if isinstance(value, str):
        return _of_text(value, what)
    if type(value).__name__ in ("fmpq", "fmpz"):
        return Fraction(int(value.p), int(value.q)) if hasattr(value, "p") else Fraction(int(value))
    if isinstance(value, numbers.Rational):  # of another library
        return Fraction(int(value.numerator), int(value.denominator))
    name = type(value).__name__
    if name == "Algebraic":   # of a part that imports this one
        if value.rational is not None:
            return value.rational
        refuse(what, value, "is an irrational number, and a rational one is needed here",
               "Take one of x.enclosure(width), or float(x).")
    refuse(what, value, f"a{'n' * name.startswith((*'AEIOUaeio', 'nd'))} {name} is no number fltheory knows",
           "Give an int, a Fraction, a string such as '1/20', or a float.")


def _of_text(text, what) -> Fraction:
    remedy = 'Write for example "1/20", "0.05" or "3".'
    try:
        power = re.search("[eE]([+-]?[0-9_]+)", text[:LONGEST])
        if len(text) <= LONGEST and not (power and abs(int(power[1])) > LONGEST):
            return Fraction(text)
    except (ValueError, ZeroDivisionError):
        refuse(what, text, "is no rational", remedy)
    refuse(what, text, f"has more than {LONGEST} digits", remedy)


def to_float(value) -> float:
    """float64 of a number; raises BadInput where it has none (beyond 1.8e308, symbols, no numbers)."""
    try:
        if isinstance(value, complex) or value is np.ma.masked:  # numpy would warn and make it NaN
            raise TypeError
        out = float(fraction(value) if isinstance(value, str) else value)
        if abs(out) < math.inf or out != out or type(value) is float or type(value).__name__ != "longdouble":
            return out
        raise OverflowError
    except BadInput:
        raise
    except OverflowError:
        refuse("number", value, "is beyond the range of float64 (1.8e308)", "Rescale the problem, or work exactly.")
    except (TypeError, ValueError, RuntimeError):
        refuse("number", value, f"a {type(value).__name__} is no float", "Give a number, or derive with domain=Field(..).")


def is_rational(value) -> bool:
    """Whether a number is exact: an int, a Fraction or a flint rational."""
    return ((isinstance(value, (numbers.Rational, np.integer)) and not isinstance(value, (bool, np.bool_)))
            or type(value).__name__ in ("fmpq", "fmpz"))


def is_count(value, least=1) -> bool:
    """Whether a value is an integer >= least; truth values and durations are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64)) and value >= least


def is_float(value) -> bool:
    return isinstance(value, (float, np.floating))


def declare(values: Any, what: str = "array") -> np.ndarray:
    """Declared data as a numpy array: Fractions if every entry is exact, float64 otherwise, symbols kept.

    values: nested sequence or array of numbers or strings. Raises BadInput for NaN, infinity, ragged input, masked
    entries, and whatever else holds no numbers.
    """
    array = entries(values, what)
    if array.dtype == np.float64:
        if not np.isfinite(array).all():
            refuse(what, "NaN or infinity", "numbers must be finite", "Remove NaN and infinities from the input.")
        return array
    flat = array.reshape(-1)
    if any(isinstance(v, (list, tuple, np.ndarray)) for v in flat):
        refuse(what, "a ragged sequence", "rows must have equal length", "Pad or split the data.")
    once = distinct(flat)  # a large graph is nearly all one 0: each object is read once
    if any(isinstance(v, Symbolic) for v in once):
        exact = [v if isinstance(v, Symbolic) else fraction(v) for v in once]
    elif any(isinstance(v, (float, np.floating)) for v in once):
        return np.array([to_float(v if is_float(v) and np.isfinite(v) else fraction(v)) for v in flat],
                        dtype=np.float64).reshape(array.shape)
    else:
        exact = [fraction(v) for v in once]
    for v in exact:
        if isinstance(v, Fraction) and max(v.numerator.bit_length(), v.denominator.bit_length()) > 3.3 * LONGEST:
            refuse(what, v, f"a declared number has at most {LONGEST} digits", "Round it, or rescale.")
    read = {id(v): number for v, number in zip(once, exact, strict=True)}
    out = np.empty(len(flat), dtype=object)
    out[:] = [read[id(v)] for v in flat]
    return out.reshape(array.shape)


def distinct(numbers) -> list:
    """The objects among numbers, each once, however often it stands there; equal ones may be several."""
    return list({id(v): v for v in numbers}.values())


def entries(values, what="array"):
    """A new plain numpy array of a nested sequence, an array, a tensor or a frame: float64 as it is, else objects."""
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        refuse(what, "a masked array", "no entry may be masked: missing values are not guessed", "Fill or drop them.")
    try:
        if hasattr(values, "detach"):
            values = values.detach().cpu().numpy()
        if isinstance(values, np.ndarray) and values.dtype == np.float64 and values.dtype.isnative:
            return np.array(values)
        if hasattr(values, "__array__") and not isinstance(values, (np.ndarray, np.generic)):
            with warnings.catch_warnings():  # of the older forms of the protocol
                warnings.simplefilter("ignore")
                return np.array(values, dtype=object)
        return np.array(values, dtype=object)
    except ValueError:
        refuse(what, "a ragged sequence", "rows must have equal length", "Pad or split the data.")
    except Exception as error:  # a foreign object's own conversion may raise anything
        refuse(what, values, f"cannot be read as an array ({type(error).__name__}: {error})", "Give nested lists.")


class Domain:
    """An arithmetic: `scalar` converts one declared number, `array` a declared array."""

    name = "domain"
    exact = False
    library = "numpy"

    def scalar(self, value: Any) -> Any:
        raise NotImplementedError

    def array(self, values: Any) -> Array:
        """values: array of declared numbers (any shape) -> array of this arithmetic, same shape."""
        values = values if isinstance(values, np.ndarray) else entries(values)
        flat = values.reshape(-1)
        out = np.empty(flat.shape, dtype=object)
        out[:] = [self.scalar(v) for v in flat]
        return out.reshape(values.shape)

    def working(self) -> contextlib.AbstractContextManager:
        """A context in which to compute with numbers of this arithmetic: its precision holds there, and there only."""
        return contextlib.nullcontext()

    def owns(self, value: Any) -> bool:
        """Whether a computed element still is a number of this arithmetic (integers count as exact)."""
        raise NotImplementedError

    def check(self, array: Array, what: str = "result") -> Array:
        """Raise Inexact unless every element stayed inside the arithmetic (floats sneak in silently)."""
        for v in np.asarray(array, dtype=object).reshape(-1):
            if not self.owns(v):
                raise Inexact(f"{what}: {v!r} is a {type(v).__name__}, not a number of {self.name}; "
                              "use integer literals and domain scalars only")
        return array

    def __repr__(self):
        return self.name

    def __eq__(self, other):
        return type(other) is type(self) and other.name == self.name

    def __hash__(self):
        return hash((type(self).__name__, self.name))


class _Float(Domain):
    """numpy float64: numbers."""

    name = "float64"

    def scalar(self, value: Any) -> Any:
        return to_float(value)

    def array(self, values: Any) -> Array:
        values = values if isinstance(values, np.ndarray) else entries(values)
        if values.dtype == np.float64:
            return values
        if values.dtype == object:
            return np.array([self.scalar(v) for v in values.reshape(-1)], dtype=np.float64).reshape(values.shape)
        plain = values.dtype.kind in "iuf" and values.dtype.itemsize <= 8
        return values.astype(np.float64) if plain else self.array(values.astype(object))

    def owns(self, value: Any) -> bool:
        return is_float(value) or isinstance(value, (int, np.integer))


class Torch(Domain):
    """torch float64 on a device ("cpu", "cuda")."""

    library = "torch"

    def __init__(self, device: Any = "cpu"):
        if not re.fullmatch("(cpu|cuda)(:[0-9]+)?", str(device) if isinstance(device, str) or type(device).__name__ == "device"
                            else ""):
            refuse("device", device, "runs are made on a CPU or a CUDA device", 'Use "cpu" or "cuda".')
        self.device = str(device)
        self.name = f"torch[{self.device}]"

    def scalar(self, value: Any) -> Any:
        # a 0-d tensor: a bare Python float times an integer mask would silently become float32
        import torch
        return torch.tensor(FLOAT.scalar(value), dtype=torch.float64, device=self.device)

    def array(self, values: Any) -> Array:
        import torch
        return torch.as_tensor(FLOAT.array(values).copy(), dtype=torch.float64, device=self.device)

    def owns(self, value: Any) -> bool:
        return is_float(value)

    def check(self, array: Array, what: str = "result") -> Array:
        if str(array.dtype) != "torch.float64":
            raise Inexact(f"{what}: dtype {array.dtype} instead of torch.float64; a Python float met an integer tensor")
        return array


class _Rational(Domain):
    """Exact rationals in object arrays of `flint.fmpq`."""

    name = "rationals"
    exact = True

    @functools.cached_property
    def _number(self):
        return need("flint", "exact rationals").fmpq

    def scalar(self, value: Any) -> Any:
        f = fraction(value)
        return self._number(f.numerator, f.denominator)

    def owns(self, value: Any) -> bool:
        return is_rational(value)


class Balls(Domain):
    """Real balls of `flint.arb` at a fixed precision: rigorous enclosures, also of roots and norms."""

    def __init__(self, bits: int = 256):
        if isinstance(bits, bool) or not isinstance(bits, int) or not 2 <= bits <= 10**6:
            refuse("bits", bits, "a precision is an int from 2 to 10^6", "For example 256.")
        self.bits = bits
        self.name = f"balls[{bits} bits]"

    def scalar(self, value: Any) -> Any:
        flint = need("flint", "ball arithmetic")
        flint.ctx.prec = self.bits  # flint has one precision: that of the balls asked for last, outside `working`
        if isinstance(value, flint.arb):
            return value
        f = fraction(value)
        return flint.arb(flint.fmpq(f.numerator, f.denominator))

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        with need("flint", "ball arithmetic").ctx.workprec(self.bits):
            yield

    @staticmethod
    def apart(bits: int = 53) -> Any:
        """Within, balls begin at this precision, and afterwards it is as before; nothing happens without flint."""
        return Balls(bits).working() if have("flint") else contextlib.nullcontext()

    def owns(self, value: Any) -> bool:
        return type(value).__name__ == "arb" or isinstance(value, (int, np.integer))


class Modular(Domain):
    """Integers modulo a prime: exact ranks and null spaces with numbers that never grow.

    Symbols are taken at one generic point, a residue that only their name decides.
    """

    exact = True

    def __init__(self, prime: int = LARGE_PRIME):
        if isinstance(prime, bool) or not isinstance(prime, int) or not _is_prime(prime):
            refuse("prime", prime, "residues can be divided modulo a prime only", "For example 101.")
        self.prime = prime
        self.name = f"integers mod {prime}"

    @functools.cached_property
    def _integers(self):
        return need("flint", "integers modulo a prime").fmpz_mod_ctx(self.prime)

    def scalar(self, value: Any) -> Any:
        return self._integers(self.residue(value))

    def residue(self, value: Any) -> int:
        """The residue of a declared number, 0 to prime - 1."""
        if isinstance(value, Symbolic):
            top, bottom = (self._generic(value.names, part) for part in value.terms())
        else:
            f = fraction(value)
            top, bottom = f.numerator, f.denominator
        if bottom % self.prime == 0:
            refuse("number", str(value), f"has no residue modulo {self.prime}", "Work modulo another prime.")
        return top * pow(bottom, -1, self.prime) % self.prime

    def _generic(self, names, terms):
        point = [int.from_bytes(hashlib.sha256(name.encode()).digest()) for name in names]
        total = 0
        for powers, coefficient in terms:
            term = coefficient.numerator * pow(coefficient.denominator, -1, self.prime)
            for value, k in zip(point, powers, strict=True):
                term = term * pow(value, int(k), self.prime) % self.prime
            total += term
        return total % self.prime

    def owns(self, value: Any) -> bool:
        return type(value).__name__ == "fmpz_mod"


class Field(Domain):
    """Rational functions over the rationals in named symbols.

    `Field("eta p1 p2").symbols` are numbers: put them into problems, weights and step sizes. A power with a
    symbolic exponent is one more free symbol (z standing for (1 - eta)^tau), which is how identities are
    proved for every integer tau by induction on the coded step.
    """

    exact = True

    def __init__(self, names: str):
        self.names = tuple(names.replace(",", " ").split()) if isinstance(names, str) else ()
        if not self.names or not all(n.isidentifier() for n in self.names) or len(set(self.names)) < len(self.names):
            refuse("names", names, "symbols are different identifiers in one string", 'For example Field("eta p1 p2").')
        self._functions = functions(self.names)
        self.name = f"QQ({', '.join(self.names)})"
        self.symbols = self._functions.generators

    def scalar(self, value: Any) -> Any:
        if isinstance(value, Symbolic):
            if value.names != self.names:
                refuse("number", value, f"is a symbol of {value.names}, not of {self.name}",
                       "Take all symbols from one Field.")
            return value
        return self._functions.constant(fraction(value))

    def owns(self, value: Any) -> bool:
        return isinstance(value, Symbolic)


FLOAT, RATIONAL = _Float(), _Rational()


@functools.lru_cache(maxsize=512)
def _is_prime(number):
    from sympy import isprime
    return number == LARGE_PRIME or (number.bit_length() <= 4096 and isprime(number))


def domain_of(values) -> Domain:
    """FLOAT, RATIONAL or the `Field` of the first symbol in declared data."""
    for v in np.asarray(values, dtype=object).reshape(-1):
        if isinstance(v, Symbolic):
            return Field(" ".join(v.names))
    return FLOAT if np.asarray(values).dtype == np.float64 else RATIONAL
