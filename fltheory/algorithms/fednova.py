"""FedNova: normalised averaging (eq 12; Algorithm 1 under sampling)."""
from __future__ import annotations

from dataclasses import dataclass

from fltheory.core.algorithms.fedavg import FedAvg, shares
from fltheory.core.errors import refuse
from fltheory.core.kinds import Array, Draw, Law
from fltheory.core.numbers.arrays import ratio
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import Number, Numbers, declare, fraction
from fltheory.core.problems.base import Cohort, check_weights
from fltheory.core.records import declared, positive


class _Normalised:
    """Rules that divide by |a_i|_1 as the sum of a_i, which are non-negative by assumption (FedNova Section 4)."""

    def law_for(self, law: Law, n: int) -> Law:
        """Any law; refuses a proximal solver with lr mu > 1, whose coefficients alternate in sign."""
        mu, lr = getattr(self.solver, "mu", None), self.lr  # type: ignore[attr-defined]
        symbolic = isinstance(mu, Symbolic) or isinstance(lr, Symbolic)
        if mu is not None and not symbolic and fraction(lr) * fraction(mu) > 1:
            refuse("lr * mu", float(fraction(lr) * fraction(mu)), "normalised averaging assumes coefficients a_i >= 0 (FedNova "
                   "eq 31), and beyond lr mu = 1 they alternate in sign", "Give lr * mu <= 1, or use FedProx.")
        return super().law_for(law, n)  # type: ignore[misc]


@dataclass(frozen=True)
class FedNova(_Normalised, FedAvg):
    """x <- x + tau_eff sum_i s_i change_i / |a_i|_1, s = p renormalised over the participants.

    tau_eff: None for the default sum_i s_i |a_i|_1 over the participants (the pseudo-code of Algorithm 1), or a
    fixed positive number. The normaliser comes out of the solver that is run, for every solver. A proximal solver needs
    lr mu <= 1, or the coefficients a_i alternate in sign.
    """

    tau_eff: Number = declared(positive, None)

    def server(self, x: Array, cohort: Cohort, draw: Draw, change: Array, mass: Array) -> Array:
        """x + tau_eff sum_i s_i change_i / |a_i|_1, from changes (..., m, d) and masses lr |a_i|_1 (..., m, 1)."""
        share = shares(cohort, draw.present, self.averaging)[..., None]
        scale = (share * mass).sum(-2) if self.tau_eff is None else self.lr * self.tau_eff
        return x + scale * (share * (change / mass)).sum(-2)


def _weights(values, what):
    w = declare(values, what)
    return tuple(check_weights(w, w.size, what))


@dataclass(frozen=True)
class GeneralRule(_Normalised, FedAvg):
    """The generalised rule (FedNova eq 4): x <- x + tau_eff sum_i w_i change_i / |a_i|_1 with free weights and scale.

    w: (n,) weights summing to 1, renormalised over the participants; tau_eff > 0. Plain averaging is the case
    tau_eff = sum p_i |a_i|_1, w_i = p_i |a_i|_1 / tau_eff (eqs 5-6); FedNova is w = p.
    """

    tau_eff: Number = declared(positive, 1)
    w: Numbers = declared(_weights, None)

    def server(self, x: Array, cohort: Cohort, draw: Draw, change: Array, mass: Array) -> Array:
        """x + lr tau_eff sum_i w_i change_i / (lr |a_i|_1)."""
        if self.w is not None and len(self.w) != cohort.n:
            refuse("w", len(self.w), f"one weight per client, so {cohort.n}", "Give n weights.")
        w = cohort.p if self.w is None else self.w[draw.who]
        w = w * draw.present
        return x + self.lr * self.tau_eff * (ratio(w, w.sum(-1, keepdims=True))[..., None] * (change / mass)).sum(-2)
