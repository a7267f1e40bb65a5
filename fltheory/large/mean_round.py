"""The mean round without cohorts: the coded round at fractional presence.

Where a round is M_0 + sum_{i in S} B_i + sum_i s_i(S) C_i with shares s_i = 1{i in S} v_i / v(S), the coded round says what it
does at presence a (n,) of any numbers a_i >= 0: B is linear in a, the shares do not change if a is scaled. So

    B(a) = 2 (round(a) - round(a/2)),     C(a) = 2 round(a/2) - round(a) - round(0),

and E round = M_0 + B(E 1{i in S}) + P C(w), where w_i = E s_i / v_i and P = sum_i E s_i: five calls at most, one where all
clients are alike. The expectations are one-dimensional integrals (`laws.shares`). That the round is of this form is a guess,
held against rounds of random cohorts.
"""
from __future__ import annotations

import numpy as np

from fltheory.core.errors import NotAffine, refuse
from fltheory.core.kinds import Algorithm, Law, Problem
from fltheory.core.laws.base import RandomSteps, noisy
from fltheory.core.laws.draw import Draw, Slots
from fltheory.core.laws.shares import Shares
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.operators.probe import check_affine, layout

COHORTS, MIXTURES = 5, 2   # rounds of random cohorts in a mixture whose mean is compared, and how many mixtures
FORM = 1e-10               # of what a round changes: a round of another form misses by 1e-3 or more
ROUNDING = 1e-13           # of the largest number of a state


class MeanRound:
    """z (.., D) -> E of one coded round from z, exact up to rounding and quadrature.

    law: prepared. v: weights of the shares (n,), confirmed at random cohorts.
    Raises BadInput for laws and NotAffine for rounds that are not of the form.
    """

    def __init__(self, algorithm: Algorithm, problem: Problem, law: Law):
        self.law, self.n, self.d = law, problem.n, problem.d
        self.algorithm, self.problem = algorithm.to(FLOAT), problem.to(FLOAT)
        self.model = _cohorts_of(law, self.n)
        self.steps = law.steps_of(self.n)
        self.layout = layout(self.algorithm, self.problem)
        self.D = self.layout.size
        check_affine(self.algorithm, self.problem, self.layout, Draw(EVERYONE, np.ones(self.n, dtype=np.int64), self.steps))
        p = self.problem.p
        choices = [np.ones(self.n)] + ([p] if np.ptp(p) > 1e-14 * p.max() else [])
        self._samples = None
        self.kind, self.v = self._form(choices)
        self._samples = None
        self.inclusion, self.shares, nobody = self._chances()
        self.nobody = nobody if law.empty == "skip" else 0.0
        self.plan = _plan(self.kind, self.inclusion, self.shares, self.v, self.nobody)

    def at(self, z, present, samples=None):
        """The coded round from states z (.., D) at presence (n,), with exact gradients or `Slots` of samples."""
        draw = Draw(EVERYONE, present, self.steps, self._samples if samples is None else samples)
        with np.errstate(all="ignore"):
            return self.layout.flatten(self.algorithm.round(self.problem, self.layout.unflatten(z), draw))

    def __call__(self, z):
        return self.combined(self.plan, z)

    def combined(self, plan, z):
        """sum of weight times round(present), and of a multiple of z itself (present None)."""
        total = 0.0
        for weight, present in plan:
            total = total + weight * (z if present is None else self.at(z, present))
        return total

    def start(self, x0):
        """The state (.., D) at server models (.., d)."""
        return self.layout.flatten(self.algorithm.init(self.problem, x0))

    def cohort(self, rng):
        """A cohort (n,) as the law draws it, never empty."""
        n = self.n
        if self.model is None:
            return np.ones(n, dtype=np.int64)
        if hasattr(self.model, "m"):
            return (rng.permutation(n) < self.model.m).astype(np.int64)
        members = (rng.random(n) < self.model.p).astype(np.int64)
        return members if members.any() else (np.arange(n) == rng.choice(n, p=self.model.p / self.model.p.sum())) * 1

    def _chances(self):
        if self.model is None:
            return np.ones(self.n), self.v / self.v.sum(), 0.0
        if hasattr(self.model, "m") and np.ptp(self.v) == 0:
            return np.full(self.n, self.model.m / self.n), np.full(self.n, 1 / self.n), 0.0
        return Shares(self.model, self.v).means()

    def _form(self, choices):
        """(which parts a round has, weights of its shares)."""
        rng = np.random.Generator(np.random.Philox(self.n))
        if noisy(self.law.noise):      # noise may go where quiet rounds show nothing, as shares of equal clients
            self._samples = Slots(lambda k: rng.standard_normal((self.n, self.problem.drawn)))
        z, ones = rng.standard_normal(self.D), np.ones(self.n)
        base, whole, half = self.at(z, 0 * ones), self.at(z, ones), self.at(z, ones / 2)
        size = np.abs(whole - base).max() + ROUNDING * np.abs(whole).max()
        has = [name for name, part in (("B", 2 * (whole - half)), ("C", 2 * half - whole - base))
               if not np.abs(part).max() <= 1e-13 * size]
        kind = "".join(has)
        if self.model is None:
            return kind, choices[-1]
        gaps = []
        for v in choices if "C" in kind else choices[:1]:
            gaps.append(max(self._gap(kind, v, rng) for _ in range(MIXTURES)))
            if gaps[-1] <= 1:
                return kind, v
        gap = min(gaps) * FORM
        raise NotAffine(f"{type(self.algorithm).__name__}: rounds of random cohorts differ by {gap:.1e} of what a round changes "
                        "from a sum over clients of presence and shares, so their mean has no short form. "
                        "Use fewer clients (method='dense'), full participation, equal local steps, or ft.run")

    def _gap(self, kind, v, rng):
        """The mean of rounds of some random cohorts against the round at their mean presence and shares, 1 at the limit."""
        masks = np.array([self.trial_cohort(rng, k) for k in range(COHORTS)])
        shares = masks * v / np.maximum((masks * v).sum(1, keepdims=True), 1e-300)
        z = rng.standard_normal(self.D)
        average, change = 0.0, 0.0
        for mask in masks:
            now = self.at(z, mask)
            average, change = average + now / COHORTS, max(change, np.abs(now - z).max())
        guess = self.combined(_plan(kind, masks.mean(0), shares.mean(0), v, 0.0), z)
        gap = np.abs(guess - average).max()
        return gap / (FORM * change + ROUNDING * np.abs(average).max()) if np.isfinite(gap) else np.inf

    def trial_cohort(self, rng, k):
        """(n,) cohorts of the law's size, or of all sizes from 1 where sizes vary."""
        size = getattr(self.model, "m", None) or 1 + (k * (self.n - 1)) // (COHORTS - 1)
        return (rng.permutation(self.n) < size).astype(np.int64)


def _cohorts_of(law: Law, n):
    """The law's cohorts as `laws.shares` integrates over them, None where everybody always takes part."""
    what = None
    if law.modes > 1:
        what = "its rounds depend on those before"
    elif isinstance(law.steps_of(n), RandomSteps):
        what = "it draws local steps"
    elif law.batch is not None:
        what = "mini-batch noise multiplies the state"
    elif law.repeats:
        what = "it may draw a client twice"
    elif getattr(law, "m", None) == n:
        return None
    elif hasattr(law, "tilted"):
        model = law.tilted(n)
        if model is not None:
            return model
        what = "it holds symbols"
    elif (sizes := law.sizes(n)) and sizes[0][0] == n:
        return None
    if what is None:
        what = "moments of its cohorts are known in lists only"
    refuse("law", type(law).__name__, "the structured operator knows full participation, uniform sets and independent clients "
           f"with fixed local steps, and of this law that {what}",
           "Use ft.Full(), ft.Uniform(m) or ft.Bernoulli(p), method='dense', or ft.run.")


def _plan(kind, inclusion, shares, v, nobody):
    """[(weight, presence or None for the state itself)] whose sum is the mean round."""
    total = shares.sum()
    some = np.divide(shares, v, out=np.zeros_like(shares), where=v > 0)
    some = some / max(some.max(), 1e-300)
    none = np.zeros(len(v))
    if "C" not in kind:
        plan = [(1.0, inclusion), (-nobody, none)]
    elif "B" not in kind:
        plan = [(total, some), (1 - total - nobody, none)]
    elif abs(total - 1) <= 1e-12 and np.ptp(some) == 0 and np.ptp(inclusion) == 0:   # one presence is both
        plan = [(1.0, inclusion), (-nobody, none)]
    else:
        plan = [(2.0, inclusion), (-2.0, inclusion / 2), (-total, some), (2 * total, some / 2), (1 - total - nobody, none)]
    return [(w, a) for w, a in [*plan, (nobody, None)] if abs(w) > 1e-16]
