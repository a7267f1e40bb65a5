"""What is asserted: numbers as the user declares them, how far off is allowed, and the row of one number against them."""
from __future__ import annotations

import math
from dataclasses import dataclass

from fltheory.core.errors import refuse
from fltheory.core.evidence import FALSIFIED, HOLDS, INCONCLUSIVE, Bounds
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import declare, fraction
from fltheory.core.numbers.text import exact_if_short
from fltheory.core.relations import FLOAT_TOLERANCE, status_of
from fltheory.proofs.assertion import Evidence, difference

LEVEL = 0.9999          # of every interval: one false alarm in ten thousand assertions
LARGEST = 10**150
TOO_WIDE = 0.1          # half-width of an interval relative to the scale, beyond which agreement says nothing


@dataclass(frozen=True)
class Asked:
    """One number >= 0 that is asserted: equal to `target`, or at most that (`bound`). about: the head of its table."""

    name: str
    about: dict
    target: object
    bound: bool
    tolerance: object

    @classmethod
    def of(cls, name, expected, at_most, tolerance, **about) -> Asked:
        """From the arguments of an assertion, of which `expected` and `at_most` exclude each other."""
        bound = expected is None
        if bound == (at_most is None):
            refuse("(expected, at_most)", (expected, at_most), "exactly one of both is given",
                   "Give expected= for a predicted value, at_most= for a bound.")
        tolerance = tolerance_of(tolerance)
        target = declared_number(at_most if bound else expected, "at_most" if bound else "expected", 0)
        if bound and tolerance is not None:
            refuse("tolerance", float(tolerance), "a bound has none", "Raise at_most instead.")
        return cls(name, about, target, bound, tolerance)

    def answer(self, value, status, kind, allowed, why="", number=None) -> Evidence:
        """value: as shown; number: what the difference is taken of, default the same."""
        row = (self.name, ("<= " if self.bound else "") + exact_if_short(self.target), exact_if_short(value),
               difference(value if number is None else number, self.target), "" if status == HOLDS else "<-")
        return Evidence(**self.about, kind=kind, allowed=allowed, rows=(row,), status=status, why=why)


# ---- declared numbers --------------------------------------------------------------------------------------
def declared_number(value, what, low=None):
    """A declared number as a Fraction or a finite float; refuses arrays, symbols, and numbers below `low`."""
    array = declare(value, what)
    if array.ndim:
        refuse(f"{what}.shape", array.shape, "is one number", "Compare one number at a time.")
    value = _numeric(array, what).item()
    if low is not None and value < low:
        refuse(what, value, f"is at least {low}", "Give a number in this range.")
    return value


def vector(value, what, d):
    """Declared numbers (d,) as an array of Fractions or floats."""
    array = declare(value, what)
    if array.shape != (d,):
        refuse(f"{what}.shape", array.shape, f"needs shape ({d},), one number per coordinate of the model",
               f"Give {d} numbers.")
    return _numeric(array, what)


def _numeric(array, what):
    if any(isinstance(v, Symbolic) for v in array.reshape(-1)):
        refuse(what, "a symbol", "is compared as a number", "Give a number, a fraction or a string such as '1/2'.")
    if any(abs(v) > LARGEST for v in array.reshape(-1)):
        refuse(what, "a number beyond 1e150", "cannot be squared in floats for the table", "Change the units.")
    return array


def tolerance_of(value):
    """A tolerance as an exact number, or None."""
    return None if value is None else fraction(declared_number(value, "tolerance", 0))


# ---- how far off is allowed ----------------------------------------------------------------------------------
def allowance(tolerance, exact, scale, bound=False):
    """(how far off a derived number may be, the same in words): the tolerance, else 0 if exact, else 1e-9 of the scale."""
    if tolerance is not None:
        return (tolerance if exact else float(tolerance)), f"absolute difference {float(tolerance):.3g}, as given"
    if exact:
        return 0, "at most the bound" if bound else "equality"
    allowed = FLOAT_TOLERANCE * scale
    return allowed, f"{'excess' if bound else 'absolute difference'} {allowed:.3g}, 1e-9 of the scale {scale:.3g}"


def by_interval(expected, value, half, tolerance, scale, bound=False):
    """(status, why) of a predicted value, or of a bound, against a measured one with half-width `half` (distances of vectors
    likewise).

    Without a tolerance the interval contains the prediction and is narrower than a tenth of the scale; with one, and
    for bounds, the whole interval lies where it may.
    """
    expected, off = float(expected), abs(float(value) - float(expected))
    if not math.isfinite(off):
        return FALSIFIED, "the run overflowed"
    if not math.isfinite(half):
        return INCONCLUSIVE, "no finite interval: run at least two replicates (a deterministic run too)"
    if bound or tolerance is not None:
        status = status_of(Bounds(value - half, value + half), expected, float(tolerance or 0), bound)
        across = "the bound lies inside the interval" if bound else (
            f"the interval, half-width {half:.2g}, reaches across the tolerance")
        return status, f"{across}: use more replicates" if status == INCONCLUSIVE else ""
    if off > half + FLOAT_TOLERANCE * scale:
        return FALSIFIED, ("the run has no spread, so that all of the difference counts, also what is left of "
                           "its start: run it longer or state a tolerance" if half <= FLOAT_TOLERANCE * scale else "")
    if half > TOO_WIDE * scale:
        return INCONCLUSIVE, (f"the interval, half-width {half:.2g}, is wider than a tenth of the scale {scale:.3g}: "
                              "use more replicates, or state a tolerance")
    return HOLDS, ""


def interval_rule(level, tolerance, scale) -> str:
    """How an interval decides, for the table."""
    rule = (f"interval within {float(tolerance):.3g} of the expected" if tolerance is not None else
            f"interval contains the expected and is narrower than {TOO_WIDE * scale:.3g}, a tenth of the scale")
    return f"{level:.4%} interval; {rule}"
