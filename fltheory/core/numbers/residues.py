"""Arrays of residues modulo a prime below 2^31, in machine words: what object arrays do, a hundred times faster.

Exact linear algebra modulo several such primes decides what holds over the rationals: see `operators.reachable`.
"""
from __future__ import annotations

import functools
import hashlib
import math
from fractions import Fraction

import numpy as np

from fltheory.core.errors import Inexact, refuse
from fltheory.core.numbers.scalars import Modular, entries

BITS = 31        # of a prime: products of two residues fit into 64-bit integers
_HALF = 16       # bits of the lower half of a factor in a matrix product, so that sums of many products fit
_SHAPES = (np.ndarray, np.generic)


@functools.lru_cache(maxsize=512)
def word_prime(index: int) -> int:
    """The prime number `index` (>= 0) of a fixed sequence of primes with 31 bits, of no special form.

    Each is the first prime after a hash: a prime such as 2^31 - 1 makes binary fractions look like short numbers.
    """
    from sympy import nextprime
    digest = hashlib.sha256(f"fltheory prime {index}".encode()).digest()
    number = (1 << (BITS - 1)) + int.from_bytes(digest, "big") % ((1 << (BITS - 1)) - 1000) | 1
    return nextprime(number - 1)


def inverse(values, prime):
    """Inverses modulo the prime of an int64 array of residues; raises ZeroDivisionError at a zero."""
    if not np.all(values):
        raise ZeroDivisionError(f"a residue is 0 modulo {prime}")
    out, base, exponent = np.ones_like(values), values, prime - 2
    while exponent:
        if exponent & 1:
            out = out * base % prime
        base, exponent = base * base % prime, exponent >> 1
    return out


def product(a, b, prime):
    """a @ b of int64 arrays of residues modulo the prime, without overflow (up to 2^16 terms a sum)."""
    high, low = a >> _HALF, a & ((1 << _HALF) - 1)
    return ((high @ b % prime << _HALF) + low @ b % prime) % prime


def rational_reconstruct(value: int, modulus: int) -> Fraction | None:
    """The Fraction n/m with n = m * value modulo `modulus` and 2 n**2, 2 m**2 < modulus, or None.

    There is at most one (Wang's algorithm with balanced bounds).  value is any int, modulus an int >= 2;
    raises ValueError for a smaller modulus.
    """
    if modulus < 2:
        raise ValueError(f"modulus is {modulus}; it must be at least 2; pass the product of the primes")
    bound = math.isqrt((modulus - 1) // 2)  # 2 * bound**2 < modulus strictly, or two could fit
    r0, r1, t0, t1 = modulus, value % modulus, 0, 1
    while r1 > bound:
        q = r0 // r1
        r0, r1, t0, t1 = r1, r0 - q * r1, t1, t0 - q * t1
    if abs(t1) > bound or math.gcd(r1, t1) != 1:
        return None
    return Fraction(r1, t1)


class Residues(np.ndarray):
    """An int64 array of residues modulo `prime`, with the operators that a round uses; integers mix in, floats never."""

    prime: int | None = None

    def __new__(cls, values, prime):
        out = np.asarray(np.asarray(values, dtype=np.int64) % prime).view(cls)
        out.prime = prime
        return out

    def __array_finalize__(self, source):
        self.prime = getattr(source, "prime", None)

    def __array_function__(self, function, types, arguments, options):
        # numpy's own functions may drop the class (broadcast_to) or the prime (concatenate)
        out = super().__array_function__(function, types, arguments, options)
        if isinstance(out, np.ndarray) and out.dtype == np.int64:
            out = out.view(Residues)
            out.prime = _prime(arguments)
        return out

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        prime = _prime(inputs)
        rule = _RULES.get((ufunc, method))
        if rule is None or out is not None:
            raise Inexact(f"residues know no {ufunc.__name__} ({method}): exact rounds use + - * / and sums only")
        result = rule(prime, *(_read(v, prime) for v in inputs), **options)
        if result.dtype == bool:
            return result
        result = np.asarray(result).view(Residues)
        result.prime = prime
        return result


def _prime(inputs):
    """The prime of the first array of residues among nested arguments."""
    for v in inputs:
        if isinstance(v, Residues) and v.prime is not None:
            return v.prime
        if isinstance(v, (list, tuple)):
            prime = _prime(v)
            if prime is not None:
                return prime
    return None


def _read(value, prime):
    if isinstance(value, Residues):
        return value.view(np.ndarray)
    if isinstance(value, _SHAPES) and value.dtype.kind in "iub":
        return np.asarray(value, dtype=np.int64) % prime
    if isinstance(value, int):
        return np.int64(value % prime)
    raise Inexact(f"residues met {value!r}: exact rounds take integer literals only")


_RULES = {(np.add, "__call__"): lambda p, a, b: np.asarray((a + b) % p), (np.subtract, "__call__"): lambda p, a,
          b: np.asarray((a - b) % p), (np.multiply, "__call__"): lambda p, a, b: np.asarray(a * b % p),
          (np.true_divide, "__call__"): lambda p, a, b: np.asarray(a * inverse(b, p) % p),
          (np.negative, "__call__"): lambda p, a: np.asarray(-a % p), (np.equal, "__call__"): lambda p, a,
          b: np.asarray(a == b), (np.not_equal, "__call__"): lambda p, a, b: np.asarray(a != b),
          (np.matmul, "__call__"): lambda p, a, b: np.asarray(product(a, b, p)), (np.add, "reduce"): lambda p, a,
          **how: np.asarray(np.add.reduce(a, **how) % p)}


class Words(Modular):
    """Integers modulo a prime below 2^31 as arrays of machine words: whole rounds at once, at the speed of floats."""

    library = "numpy"

    def __init__(self, prime):
        super().__init__(prime)
        if prime.bit_length() > BITS:
            refuse("prime", prime, f"machine words hold residues modulo primes below 2^{BITS}", "Use Modular(prime).")

    def scalar(self, value):
        return Residues(self.residue(value), self.prime)

    def array(self, values):
        values = values if isinstance(values, np.ndarray) else entries(values)
        if values.dtype.kind in "iu":
            return Residues(values, self.prime)
        return Residues(np.array([self.residue(v) for v in values.reshape(-1)], dtype=np.int64).reshape(values.shape),
                        self.prime)

    def owns(self, value):
        return isinstance(value, (Residues, np.int64))


def echelon(rows, prime):
    """(pivots, basis): the reduced row echelon form modulo the prime of int64 rows (k, D), zero rows left out."""
    rows = np.asarray(rows, dtype=np.int64) % prime
    try:
        import flint
        form, rank = flint.nmod_mat(*rows.shape, rows.reshape(-1).tolist(), prime).rref()
        basis = np.array([int(v) for v in form.entries()[:rank * rows.shape[1]]], dtype=np.int64)
        basis = basis.reshape(rank, rows.shape[1])
        return [int(np.flatnonzero(row)[0]) for row in basis], basis
    except ImportError:
        return _eliminated(rows.copy(), prime)


class Span:
    """The span of rows of residues (., D) modulo a prime, in reduced echelon form, grown by blocks of rows."""

    def __init__(self, D, prime):
        self.prime, self.pivots, self.free = prime, [], list(range(D))
        self._depend = np.zeros((0, D), dtype=np.int64)  # the basis on the free columns; it is the identity on the pivots

    @property
    def rank(self) -> int:
        return len(self.pivots)

    def add(self, rows):
        """Extend the span by rows (k, D)."""
        p, rows = self.prime, np.asarray(rows) % self.prime
        rest = (rows[:, self.free] - product(rows[:, self.pivots], self._depend, p)) % p
        rest = rest[rest.any(1)]
        if not len(rest):
            return
        pivots, new = echelon(rest, p)
        others = [k for k in range(len(self.free)) if k not in set(pivots)]
        old = (self._depend[:, others] - product(self._depend[:, pivots], new[:, others], p)) % p
        self._depend = np.concatenate([old, new[:, others]])
        self.pivots, self.free = self.pivots + [self.free[k] for k in pivots], [self.free[k] for k in others]

    def random(self, count, generator):
        """Random elements (count, D) of the span."""
        out = np.zeros((count, self.rank + len(self.free)), dtype=np.int64)
        mix = generator.integers(0, self.prime, (count, self.rank))
        out[:, self.pivots], out[:, self.free] = mix, product(mix, self._depend, self.prime)
        return out

    def reduced(self):
        """(pivots, free, B): every element has the entries x @ B on the free columns, x being those on the pivots. The
        pivots are the leftmost that can be, as of the reduced row echelon form: no row has an entry left of its own."""
        order = np.argsort(self.pivots)
        return [self.pivots[k] for k in order], self.free, self._depend[order]


def _eliminated(rows, prime):
    pivots = []
    for column in range(rows.shape[1]):
        at = len(pivots)
        usable = np.flatnonzero(rows[at:, column])
        if len(usable) == 0:
            continue
        rows[[at, at + usable[0]]] = rows[[at + usable[0], at]]
        rows[at] = rows[at] * inverse(rows[at, column:column + 1], prime) % prime
        others = np.flatnonzero(rows[:, column])
        others = others[others != at]
        rows[others] = (rows[others] - rows[others, column, None] * rows[at] % prime) % prime
        pivots.append(column)
    return pivots, rows[:len(pivots)]
