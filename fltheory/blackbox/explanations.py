"""Explanations of a deviation: what single clients show, what whole maps agree with, and what is left when that is divided out."""
from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction

import numpy as np

from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.scaffold import Scaffold
from fltheory.blackbox.fits import solver_of
from fltheory.blackbox.hypotheses import fitted, neighbours, numbers, pairs, without_memories
from fltheory.blackbox.local_work import declared, faults_of_work, observe, parameters
from fltheory.blackbox.result import Fault
from fltheory.blackbox.weights import faults_of_weights, shares
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.solvers import Vanilla
from fltheory.core.errors import FLTheoryError, refuse
from fltheory.core.numbers.arrays import is_torch
from fltheory.core.numbers.scalars import fraction
from fltheory.core.records import unread
from fltheory.mutants.averages import WEIGHTS
from fltheory.mutants.base import altered

ALIKE = "every client counts alike (1/|S| in the model, 1/n in the variates), as SCAFFOLD is published; the reference weighs by p_i"


def variant(here):
    """What a code that is no fault of SCAFFOLD does otherwise, or "": plain averaging, where the maps agree with it."""
    if not isinstance(here.reference.algorithm, Scaffold) or here.reference.alike:
        return ""
    return ALIKE if here.gap(here.reference.counting_alike()) <= here.loose else ""


def structured(here):
    """Whether a known fault explains a deviation of the size of single precision."""
    return any(here.gap(other) <= here.tolerance for _, other in neighbours(here.reference, here.box.form != "round"))


def agreeing(here, reference):
    """Faults of a reference's neighbours whose whole maps agree."""
    near = [Fault(says if here.keeping else without_memories(says), "its maps agree", here.gap(other))
            for says, other in neighbours(reference, here.box.form != "round")]
    best = min((f.residual for f in near), default=np.inf)
    allowed = here.tolerance if best <= here.tolerance else here.loose
    return sorted((f for f in near if f.residual <= allowed), key=lambda f: f.residual > 1e-3 * allowed)


def with_numbers(here, reference):
    """Faults of a reference with one number fitted, whose whole maps agree."""
    for says, made, starts in numbers(reference, here.box.form != "round" and not here.keeping):
        value = fitted(here.misses, made, starts, here.tolerance)
        residual = np.inf if value is None else here.gap(made(value))
        if residual <= here.tolerance:
            yield Fault(says(value), "its maps agree at the fitted number", residual)


def explanations(result, here):
    """Neighbours whose whole maps agree, faults of the local work and of the weights, and fitted numbers.

    Where these do not make the whole maps, the search goes on from a reference that carries them. What then is left is noted.
    """
    box, right, tolerance = here.box, here.reference, here.tolerance
    near, work, weights, cohorts = agreeing(here, right), [], [], None
    seen = observe(box, here.problems, here.height, tolerance, right)
    if seen.wanted is not None:
        result.parameters = parameters(seen.fits, here.problems)
        work = faults_of_work(seen, tolerance)
        if None not in seen.fits and not near:   # agreement of whole maps says more than single weights do
            cohorts, stated = _weights(here, seen)
            weights = faults_of_weights(cohorts, stated, seen.fits, here.problems, tolerance, seen.wanted)
    first = right.algorithm.stateful or hasattr(right.algorithm, "beta") or bool(seen.silent) or any(f.residual >= 1 for f in work)
    found = [*near, *work, *weights] if first else [*work, *near, *weights]
    whole = bool(near)
    if all(f.residual >= 1 for f in found):
        fits = list(with_numbers(here, right))
        found, whole = [*found, *fits], bool(fits)
    return found if whole else _further(result, here, seen, found, work, weights, cohorts)


def _further(result, here, seen, found, work, weights, cohorts):
    """The explanations so far, and what explains the rest once they are divided out."""
    bases, gaps = list(_carrying(here, seen, weights, cohorts)), []
    for base, told in bases:
        gaps.append(here.gap(base) if base is not here.reference else np.inf)
        if gaps[-1] <= here.loose:
            if weights and told == weights[0].sentence:    # the weights as seen, of no rule that is known, make the whole maps
                weights = [replace(weights[0], residual=min(weights[0].residual, gaps[-1])), *weights[1:]]
            return _with(result, work, weights, [], told) if told is not None else found
    for more in (agreeing, with_numbers, _of_pairs):
        for base, told in bases:
            rest = list(more(here, base)) if base is not here.reference or more is _of_pairs else []
            if rest:
                return _with(result, work, weights, rest, told)
    if work or weights:
        left = min((g for g in gaps if np.isfinite(g)), default=None)
        if left is not None:
            result.notes.append(f"with these divided out the maps are still {left:.2g} apart: the rest is unexplained")
    return found


def _with(result, work, weights, rest, told):
    """The first fault of the work and, if `told` (else: none to tell), of the weights; then the rest, then the others."""
    if told == ALIKE:
        result.notes.append("a variant: " + ALIKE)
        result.variant, weights = ALIKE, []
    else:
        if told and told not in (f.sentence for f in weights) and all(f.residual >= 1 for f in weights):
            weights = [Fault(told, "the maps agree with it", 0.0)]
    ahead = weights[:1] if told else []
    others = [f for f in [*work[1:], *weights] if f not in ahead]
    return [*work[:1], *ahead, *rest, *others]


def _of_pairs(here, base):
    stated, used = (float(fraction(r.algorithm.lr)) for r in (here.reference, base))
    for says, other in pairs(base, Fraction(stated / used).limit_denominator(1000)):
        gap = here.gap(other)
        if gap <= here.loose:
            yield Fault(says, "its maps agree", gap)


def _weights(here, work):
    """({cohort: weights}, those of the reference)."""
    moves = bool(np.any(work.idle))
    return tuple(shares(box, here.problems, here.height, [f.share for f in fits], here.cohorts, moves)
                 for box, fits in ((here.box, work.fits), (here.reference, work.wanted)))


# ---- references that carry what single clients show --------------------------------------------------------
def _carrying(here, seen, weights, cohorts):
    """Yield (reference, clause of its weights: None if they are as stated, "" where those seen are told): from least changed."""
    right = here.reference
    try:
        worked = _worked(right, seen)
    except FLTheoryError:
        return
    if worked is None:
        return
    algorithm, alike = worked.algorithm, ALIKE if isinstance(right.algorithm, Scaffold) else WEIGHTS["plain"][0]
    bases = [worked]
    if type(algorithm) is FedNova and worked is not right:    # whose normalisers may still be the stated ones
        stated = tuple(float(f.mass * f.lr) for f in seen.wanted)
        bases.append(worked.like(altered(algorithm, _normalised_as_stated, "server", masses=stated)))
    for base in bases:
        yield base, None
        yield base.counting_alike(), alike
    if cohorts is None or not weights or type(algorithm) not in (FedAvg, FedNova):
        return
    for rule in ("weighted", "plain", "unbiased"):
        if WEIGHTS[rule][0] in (f.sentence for f in weights) and rule != algorithm.averaging:
            yield worked.like(replace(algorithm, averaging=rule)), WEIGHTS[rule][0]
    if all(np.isfinite(v).all() for v in cohorts.values()):
        n = here.box.n
        table = tuple((tuple(float(i in (k if k is not None else range(n))) for i in range(n)), tuple(v.tolist()))
                      for k, v in cohorts.items())
        plain = FedAvg(algorithm.lr, algorithm.steps, algorithm.solver)
        yield worked.like(altered(plain, _as_seen, "server", seen=table)), weights[0].sentence


def _normalised_as_stated(self, right, x, cohort, draw, change, mass):
    """FedNova's server with the normalisers of the local work that is stated."""
    return right(x, cohort, draw, change, 0 * mass + np.array(self.masses)[draw.who][:, None])


def _as_seen(self, right, x, cohort, draw, change, mass):
    """The server with the weights that were seen, cohort by cohort."""
    there = draw.present.cpu().numpy() if is_torch(draw.present) else np.asarray(draw.present)
    weights = dict(self.seen).get(tuple(float(v) for v in there))
    if weights is None:
        refuse("cohort", there.tolist(), "its weights were not seen", "Compare the cohorts that were.")
    return x + (np.array(weights)[:, None] * change).sum(-2)


def _shrinking(self, right, y, anchor, buffer, g, lr, on):
    """The solver with a weight decay in every gradient."""
    return right(y, anchor, buffer, g + self.weight_decay * y, lr, on)


def _worked(reference, seen):
    """The reference with the local work that was seen: itself if it is the stated one, None if it cannot be carried."""
    if seen.wanted is None or None in seen.fits:
        return None
    algorithm = replace(reference.algorithm, steps=reference.tau)
    kind, lr, extra = declared(reference.algorithm)
    longest = max(seen.fits, key=lambda f: f.steps)
    steps = tuple(f.steps for f in seen.fits)
    rate = lr if longest.product or abs(longest.lr / lr - 1) <= 1e-6 else _short(longest.lr)
    many = [f for f in seen.fits if f.steps > 1]
    if any(abs(f.lr / longest.lr - 1) > 1e-5 for f in many):
        return None
    changed = {} if steps == reference.tau else {"steps": steps}
    if rate != lr:
        changed["lr"] = rate
    numbers_seen = {k: v for k, v in longest.extra.items() if k != "decay"}
    other = longest.steps > 1 and (longest.kind != kind or any(
        abs(v - np.max(extra.get(k, np.inf))) > 1e-6 for k, v in numbers_seen.items()))
    if longest.steps > 1 and "mu" in {f.name for f in fields(getattr(algorithm, "solver", Vanilla()))} and rate != lr:
        other = True        # the proximal coefficient is lr mu: it is kept as it was seen
    decay = longest.extra.get("decay")
    if other or decay is not None:
        if not hasattr(algorithm, "solver") or longest.kind == "last gradient":
            return None
        solver = solver_of(longest.kind, {k: _short(v) for k, v in numbers_seen.items()}) if other else algorithm.solver
        if decay is not None:
            solver = altered(solver, _shrinking, "step", weight_decay=float(decay))
        changed["solver"] = solver
    if not changed:
        return reference
    return reference.like(unread(algorithm, **changed))


def _short(value):
    """A float, or the short fraction that it is to single precision."""
    near = Fraction(float(value)).limit_denominator(1000)
    return near if near and abs(float(near) / value - 1) <= 1e-7 else float(value)
