"""Normal numbers from raw 64-bit words by Box and Muller's transform (1958), with the same bits wherever they are made.

Every operation is an integer one, or IEEE + - * / and square root, each rounded once: the logarithm and the sine are made of
these (a table of exactly rounded logarithms and two terms of the series of atanh; a polynomial), so that no library's own enter.
One word gives two numbers, z = r cos and r sin of an angle: |word| / 2^63, rounded to a float, is the uniform number of the radius;
its sign turns the angle by half a circle; its lower 32 bits times an odd constant, so that they show nothing of the radius even
where the upper ones are all 0, are the angle within the half circle. |z| is at most `LARGEST` = 9.35, with chance 2^-63.
"""
from __future__ import annotations

import functools
import math
import threading

import numpy as np

TILE = 1 << 15                                # words at once: beyond that, calls of numpy cost nothing
LARGEST = math.sqrt(2 * 63 * math.log(2))

_CELLS = 6                                    # bits of a float's fraction that choose its entry in the table of logarithms
_SHIFT = 52 - _CELLS
_FIRST = 0x3FF << _CELLS                      # the cell of 1.0, before which the table is empty
# 2 sin(pi/4 v) = v P(v^2) on [-1, 1], to 7e-15: Chebyshev interpolation, for v = (an int of 32 bits) / 2^31
_SINE = [2.0 * c * 2.0 ** (-31 * (2 * k + 1)) for k, c in reversed(list(enumerate((
    0.785398163397445, -0.080745512188038634, 0.0024903945673670634, -3.6576192120767256e-05, 3.1333840829093e-07,
    -1.7365167288597578e-09))))]
_ODD = -1640531535                            # 2^32 / golden ratio, rounded to an odd number
_NUMBERS = {"one": 1, "shift": _SHIFT, "nearest": 1 << (_SHIFT - 1), "cells": -(1 << _SHIFT), "sign": -2**63, "odd": _ODD,
            "third": 1 / 3, "fifth": 1 / 5, "two": 2.0, "four": 4.0, **{f"sine{k}": c for k, c in enumerate(_SINE)}}


@functools.cache
def _table():
    """-log(c / 2^63) / 2 of the c = 2^e (1 + i/64) from 1 to 2^63, exactly rounded, at the upper bits of c."""
    bits = 200

    def log(num, den):   # 2 atanh((num - den) / (num + den)), in units of 2^-bits
        top, bottom, total, k = num - den, num + den, 0, 1
        power = (top << bits) // bottom
        while power:
            total, power, k = total + power // k, power * top * top // (bottom * bottom), k + 2
        return 2 * total
    cells, two = 1 << _CELLS, log(2, 1)
    fractions = [log(cells + i, cells) for i in range(cells)]
    exact = [(63 - e) * two - f for e in range(63) for f in fractions] + [0]
    return np.concatenate([np.zeros(_FIRST), [v / (1 << (bits + 1)) for v in exact]])


class _Room:
    """What the transform needs: the constants as arrays (a Python number costs more than an operation on few numbers), the table,
    and room for one tile."""

    def __init__(self):
        self.table = _table()
        self.c = {k: np.array(v) for k, v in _NUMBERS.items()}
        self.floats = [np.empty(TILE) for _ in range(5)]
        self.words, self.angle = np.empty(TILE, dtype=np.int64), np.empty(TILE, dtype=np.int32)


class _Local(threading.local):
    """The room of each thread, made when first asked for."""

    @functools.cached_property
    def room(self):
        return _Room()


_LOCAL = _Local()


def half_logarithm(x, at=None):
    """-log(x / 2^63) / 2 within 2 ulp, written over x (k,), floats from 1 to 2^63, in the room `at` (k <= `TILE`)."""
    at = _LOCAL.room if at is None else at
    c = at.c
    s, t, z, near = (v[:len(x)] for v in at.floats[1:])
    b, k = x.view(np.int64), near.view(np.int64)
    np.add(b, c["nearest"], out=k)
    np.bitwise_right_shift(k, c["shift"], out=s.view(np.int64))
    np.take(at.table, s.view(np.int64), out=t, mode="clip")   # what is inside needs no check: that would copy
    np.bitwise_and(k, c["cells"], out=k)    # near: x rounded to the table's grid, which holds the powers of 2
    np.subtract(x, near, out=s)
    np.add(x, near, out=x)
    np.divide(s, x, out=s)                  # log(x / near) = 2 (s + s^3/3 + s^5/5 + ..), |s| <= 2^-8
    np.multiply(s, s, out=z)
    np.multiply(z, c["fifth"], out=x)
    np.add(x, c["third"], out=x)
    np.multiply(x, z, out=x)
    np.multiply(x, s, out=x)
    np.add(x, s, out=x)
    np.subtract(t, x, out=x)


def transformed(words, out, scale, at):
    """out (2 k,) becomes scale times the normal numbers of k words, int64, which are overwritten."""
    c, n = at.c, len(words)
    r, s, e, z, _ = (v[:n] for v in at.floats)
    angle = at.angle[:n]
    np.bitwise_or(words, c["one"], out=words)     # odd: never 0, and as many of each sign
    r[...] = words
    np.absolute(r, out=r)
    half_logarithm(r, at)
    np.sqrt(r, out=r)                             # half the radius
    if scale != 1:
        np.multiply(r, scale, out=r)
    np.multiply(words, c["odd"], out=e.view(np.int64))
    angle[...] = e.view(np.int64)                 # its lower 32 bits
    e[...] = angle
    np.multiply(e, e, out=z)
    np.multiply(z, c["sine0"], out=s)
    np.add(s, c["sine1"], out=s)
    for k in range(2, len(_SINE)):
        np.multiply(s, z, out=s)
        np.add(s, c[f"sine{k}"], out=s)
    np.multiply(s, e, out=s)                      # 2 sin(a), |a| <= pi/4, and of 2a: sine 2 sin cos, cosine 1 - 2 sin^2
    np.multiply(s, s, out=z)
    np.subtract(c["four"], z, out=e)
    np.sqrt(e, out=e)
    np.multiply(s, e, out=s)
    np.subtract(c["two"], z, out=z)
    np.multiply(s, r, out=out[1::2])
    np.bitwise_and(words, c["sign"], out=words)
    np.bitwise_or(r.view(np.int64), words, out=r.view(np.int64))
    np.multiply(z, r, out=out[::2])


class Filler:
    """Fills an array `out` (size,), in order, with scale times normal numbers of one generator of words after the other: `add` is
    asked for each, `finish` at the end. Words of several generators go through one tile; what comes out does not depend on that."""

    def __init__(self, out, scale=1.0):
        self.out, self.scale, self.at, self.begin, self.pending = out, float(scale), _LOCAL.room, 0, 0

    def add(self, bits, size):
        """The next `size` numbers of a bit generator."""
        while size > 0:
            k = min((size + 1) // 2, TILE - self.pending)
            words = bits.random_raw(k).view(np.int64)
            if k < TILE:
                self.at.words[self.pending:self.pending + k] = words
                words = self.at.words
            self.pending += k
            if size < 2 * k:
                self._flush(words, 1)
            elif self.pending == TILE:
                self._flush(words)
            size -= 2 * k

    def second(self, bits):
        """The second number of a bit generator's next word."""
        self.finish()
        pair = np.empty(2)
        transformed(bits.random_raw(1).view(np.int64), pair, self.scale, self.at)
        self.out[self.begin] = pair[1]
        self.begin += 1

    def _flush(self, words, less=0):
        k = self.pending
        to = self.out[self.begin:self.begin + 2 * k - less]
        room = np.empty(2 * k) if less else to
        transformed(words[:k], room, self.scale, self.at)
        if less:
            to[:] = room[:-1]
        self.begin, self.pending = self.begin + len(to), 0

    def finish(self):
        if self.pending:
            self._flush(self.at.words)
