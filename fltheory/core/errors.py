"""Every exception of fltheory. A message gives the value, the rule it breaks, and the remedy."""
import re
from typing import NoReturn


class FLTheoryError(Exception):
    """Base class: anything fltheory refuses on purpose (the command line exits with 2)."""


class BadInput(FLTheoryError, ValueError):
    """A value given by the user breaks a stated rule."""


class NotAffine(FLTheoryError):
    """A round that was probed as an affine map is not one."""


class NoFixedPoint(FLTheoryError):
    """The mean round map has no fixed point, or more than one reachable from the start."""


class NoMinimiser(FLTheoryError):
    """The objective is unbounded below or its infimum is not attained."""


class TooLarge(FLTheoryError):
    """An exact computation would enumerate more outcomes than allowed; says how many."""


class Inexact(FLTheoryError):
    """A number that should have stayed exact became a float on the way."""


class MissingLibrary(FLTheoryError, ImportError):
    """An optional library is absent; claims that need it are SKIPPED with this reason."""


class WorkersLost(FLTheoryError):
    """Worker processes died again and again, or took their pool with them; what they had finished is kept."""


class CertificateFailed(FLTheoryError):
    """A certificate could not be produced or did not survive its re-check: no verdict."""


class NotKept(CertificateFailed):
    """The rounds do not keep a subspace that was found for other numbers: decide it anew, or exactly."""


def refuse(what, value, rule, remedy) -> NoReturn:
    """Raise `BadInput` in the project's one wording."""
    raise BadInput(f"{what} = {shown(value)}: {shortened(rule, 700)}. {remedy}")


def listed(values, what, rule, remedy) -> list:
    """The entries of a sequence, or a refusal: a foreign object's own iteration may raise anything. Texts are none."""
    try:
        if not isinstance(values, (str, bytes, dict, set)):
            return list(values)
    except Exception:
        pass
    refuse(what, values, rule, remedy)


def check_flag(value, what):
    """Refuse what is neither true nor false: an array has no truth value, and a text is always true."""
    if not (value is True or value is False or type(value).__name__ in ("bool_", "bool")):
        refuse(what, value, "is True or False", "Give one of them.")


def shown(value) -> str:
    """A value for a message: one line, shortened, fractions as 1/2, and never an exception (huge ints have no decimal form)."""
    try:
        text = re.sub(r"\bFraction\((-?\d+), (\d+)\)", lambda m: m[1] if m[2] == "1" else f"{m[1]}/{m[2]}", repr(value))
    except Exception:
        text = f"<a {type(value).__name__} that cannot be written out>"
    return shortened(text)


def shortened(text, most=400) -> str:
    """The text on one line of printable characters, its middle left out beyond `most` characters."""
    text = " ".join(str(text).split())
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= most else f"{text[:most - 60]} [..] {text[-50:]}"
