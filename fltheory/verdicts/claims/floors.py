"""The chi-square floor: what minimising a surrogate with the wrong weights costs on the true objective."""
from __future__ import annotations

from dataclasses import dataclass

from fltheory.core.errors import refuse
from fltheory.core.evidence import Comparison, Terms
from fltheory.core.kinds import Array
from fltheory.core.numbers.scalars import fraction
from fltheory.core.relations import at_most
from fltheory.verdicts.claims.instance import Instance


@dataclass(frozen=True)
class ChiSquareFloor:
    """w (n,): small-step surrogate weights of an algorithm under a law, from its own rounds; chi2 = chi^2(p || w);
    (beta2, kappa2): dissimilarity for these weights. `value` = chi^2 kappa^2."""

    w: tuple
    chi2: Array
    beta2: Array
    kappa2: Array

    @property
    def value(self) -> Array:
        return self.chi2 * self.kappa2

    def bound(self, error: Array, c: Array = 1) -> Terms:
        """Bound of E|grad F|^2 where E|grad F~|^2 = error >= 0, for any split c > 0 (Young's inequality).

        Raises BadInput for other numbers.
        """
        c, error = fraction(c, "c"), fraction(error, "error")
        if c <= 0:
            refuse("c", c, "splits a square by Young's inequality and is > 0", "Give a positive number, 1 for the usual split.")
        if error < 0:
            refuse("error", error, "is an expectation of squares, >= 0", "Give E|grad F~|^2.")
        spread = {} if self.beta2 == 1 else {"spread": (1 + c) * self.chi2 * (self.beta2 - 1) * error}
        return Terms(floor=(1 + c) * self.value, **spread, error=(1 + 1 / c) * error)


def floor_of(i: Instance, beta2: Array = 1) -> ChiSquareFloor:
    """The chi-square floor of an instance's algorithm, law and quadratic problem (exact for rational data).

    Raises BadInput if a client with p_i > 0 has w_i = 0 (chi^2 is infinite) or no kappa^2 exists at this beta^2.
    """
    from fltheory.analysis.surrogates import surrogate_weights
    if not isinstance(i, Instance):
        refuse("i", i, "is no instance", "Write ft.floor_of(ft.Instance(name, problem, algorithm, law)).")
    p = [fraction(v) for v in i.problem.weights]
    w = [fraction(v) for v in surrogate_weights(i.algorithm, i.law, i.problem.n, i.problem.weights)]
    if any(a and not b for a, b in zip(p, w, strict=True)):
        refuse("w", [str(v) for v in w], "a client with p_i > 0 has surrogate weight 0",
               "The chi-square divergence is infinite.")
    kappa2 = i.problem.dissimilarity(w, fraction(beta2))
    if kappa2 is None:
        refuse("beta2", beta2, "no finite kappa^2 belongs to it", "Give a larger beta^2.")
    return ChiSquareFloor(tuple(w), sum((a - b) ** 2 / b for a, b in zip(p, w, strict=True) if b), fraction(beta2),
                          kappa2)


def chi_square_floor(measured: Array, floor: ChiSquareFloor, error: Array = 0, c: Array = 1,
                     label: str = "chi-square floor") -> Comparison:
    """A measured floor E|grad F|^2 is at most (1+c) chi^2 [(beta^2-1) error + kappa^2] + (1+1/c) error.

    measured: a number, or the interval of a run, which must lie below as a whole; error: E|grad F~|^2 there.
    Raises BadInput if `floor` is no `floor_of(instance)`, or for numbers out of range.
    """
    if not isinstance(floor, ChiSquareFloor):
        refuse("floor", floor, "is no chi-square floor", "Write ft.floor_of(instance, beta2).")
    return at_most(measured, floor.bound(error, c), label)
