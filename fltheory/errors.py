"""Every exception of fltheory. A message gives the value, the rule it breaks, and the remedy."""


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


class CertificateFailed(FLTheoryError):
    """A certificate could not be produced or did not survive its re-check: no verdict."""


def refuse(what, value, rule, remedy):
    """Raise `BadInput` in the project's one wording."""
    raise BadInput(f"{what} = {value!r}: {rule}. {remedy}")
