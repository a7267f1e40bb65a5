"""Explanations of a deviation: what single clients show, what whole maps agree with, and what is left when that is divided out."""
from __future__ import annotations

from dataclasses import replace
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
from fltheory.core.errors import FLTheoryError, refuse
from fltheory.core.kinds import Draw
from fltheory.core.numbers.arrays import is_torch
from fltheory.core.numbers.scalars import fraction
from fltheory.core.records import unread
from fltheory.mutants.averages import WEIGHTS
from fltheory.mutants.base import altered

ALIKE = "every client counts alike (1/|S| in the model, 1/n in the variates), as SCAFFOLD is published; the reference weighs by p_i"


def variant(case):
    """What a code that is no fault of SCAFFOLD does otherwise, or "": plain averaging, where the maps agree with it."""
    if not isinstance(case.reference.algorithm, Scaffold) or case.reference.alike:
        return ""
    return ALIKE if case.gap(case.reference.counting_alike()) <= case.loose else ""


def structured(case):
    """Whether a known fault explains a deviation of the size of single precision."""
    return any(case.gap(other) <= case.tolerance for _, other in neighbours(case.reference, case.box.form != "round"))


def agreeing(case, reference):
    """Faults of a reference's neighbours whose whole maps agree."""
    near = [Fault(says if case.keeping else without_memories(says), "its maps agree", case.gap(other))
            for says, other in neighbours(reference, case.box.form != "round")]
    best = min((f.residual for f in near), default=np.inf)
    allowed = case.tolerance if best <= case.tolerance else case.loose
    return sorted((f for f in near if f.residual <= allowed), key=lambda f: f.residual > 1e-3 * allowed)


def with_numbers(case, reference):
    """Faults of a reference with one number fitted, whose whole maps agree."""
    for says, make, starts in numbers(reference, case.box.form != "round" and not case.keeping):
        value, residual = fitted(case, make, starts, case.tolerance)
        if residual <= case.tolerance:
            yield Fault(says(value), "its maps agree at the fitted number", residual)


def explanations(result, case):
    """Neighbours whose whole maps agree, faults of the local work and of the weights, and fitted numbers.

    Where these do not make the whole maps, the search goes on from a reference that carries them. What then is left is noted.
    """
    box, right, tolerance = case.box, case.reference, case.tolerance
    near, of_work, of_weights, cohorts = agreeing(case, right), [], [], None
    work = observe(box, case.problems, case.height, tolerance, right)
    if work.wanted is not None:
        result.parameters = parameters(work.fits, case.problems)
        of_work = faults_of_work(work, tolerance)
        if None not in work.fits and not near:   # agreement of whole maps says more than single weights do
            cohorts, stated = _weights(case, work)
            of_weights = faults_of_weights(cohorts, stated, work.fits, case.problems, tolerance, work.wanted)
    first = right.algorithm.stateful or hasattr(right.algorithm, "beta") or work.silent or any(f.residual >= 1 for f in of_work)
    faults = [*near, *of_work, *of_weights] if first else [*of_work, *near, *of_weights]
    whole = bool(near)
    if all(f.residual >= 1 for f in faults):
        fits = list(with_numbers(case, right))
        faults, whole = [*faults, *fits], bool(fits)
    return faults if whole else _further(result, case, work, faults, of_work, of_weights, cohorts)


def _further(result, case, work, faults, of_work, of_weights, cohorts):
    """The explanations so far, and what explains the rest once they are divided out."""
    bases, gaps = list(_carriers(case, work, of_weights, cohorts)), []
    for base, clause in bases:
        gaps.append(case.gap(base) if base is not case.reference else np.inf)
        if gaps[-1] <= case.loose:
            if of_weights and clause == of_weights[0].sentence:   # the weights as seen, of no known rule, make the whole maps
                of_weights = [replace(of_weights[0], residual=min(of_weights[0].residual, gaps[-1])), *of_weights[1:]]
            return _with(result, of_work, of_weights, [], clause) if clause is not None else faults
    for more in (agreeing, with_numbers, _of_pairs):
        for base, clause in bases:
            rest = list(more(case, base)) if base is not case.reference or more is _of_pairs else []
            if rest:
                return _with(result, of_work, of_weights, rest, clause)
    if of_work or of_weights:
        least = min((g for g in gaps if np.isfinite(g)), default=None)
        if least is not None:
            result.notes.append(f"with these divided out the maps are still {least:.2g} apart: the rest is unexplained")
    return faults


def _with(result, of_work, of_weights, rest, clause):
    """The first fault of the work and, with a clause (else: none to tell), of the weights; then the rest, then the others."""
    if clause == ALIKE:
        result.notes.append("a variant: " + ALIKE)
        result.variant, of_weights = ALIKE, []
    elif clause and clause not in (f.sentence for f in of_weights) and all(f.residual >= 1 for f in of_weights):
        of_weights = [Fault(clause, "the maps agree with it", 0.0)]
    ahead = of_weights[:1] if clause else []
    others = [f for f in [*of_work[1:], *of_weights] if f not in ahead]
    return [*of_work[:1], *ahead, *rest, *others]


def _of_pairs(case, base):
    stated, used = (float(fraction(r.algorithm.lr)) for r in (case.reference, base))
    for says, other in pairs(base, Fraction(stated / used).limit_denominator(1000)):
        gap = case.gap(other)
        if gap <= case.loose:
            yield Fault(says, "its maps agree", gap)


def _weights(case, work):
    """({cohort: weights}, those of the reference)."""
    moves = bool(np.any(work.idle))
    return tuple(shares(box, case.problems, case.height, [f.share for f in fits], case.cohorts, moves)
                 for box, fits in ((case.box, work.fits), (case.reference, work.wanted)))


# ---- references that carry what single clients show --------------------------------------------------------
def _carriers(case, work, of_weights, cohorts):
    """Yield (reference, clause of its weights: None if they are as stated, "" where those seen are named): from least changed."""
    right = case.reference
    try:
        carrier = _with_work(right, work)
    except FLTheoryError:
        return
    if carrier is None:
        return
    algorithm, alike = carrier.algorithm, ALIKE if isinstance(right.algorithm, Scaffold) else WEIGHTS["plain"][0]
    bases = [carrier]
    if type(algorithm) is FedNova and carrier is not right:    # whose normalisers may still be the stated ones
        stated = tuple(float(f.mass * f.lr) for f in work.wanted)
        bases.append(carrier.like(altered(algorithm, _normalised_as_stated, "server", masses=stated)))
    for base in bases:
        yield base, None
        yield base.counting_alike(), alike
    if cohorts is None or not of_weights or type(algorithm) not in (FedAvg, FedNova):
        return
    for rule in ("weighted", "plain", "unbiased"):
        if WEIGHTS[rule][0] in (f.sentence for f in of_weights) and rule != algorithm.averaging:
            yield carrier.like(replace(algorithm, averaging=rule)), WEIGHTS[rule][0]
    if all(np.isfinite(v).all() for v in cohorts.values()):
        n = case.box.n
        table = tuple((tuple(float(i in (k if k is not None else range(n))) for i in range(n)), tuple(v.tolist()))
                      for k, v in cohorts.items())
        plain = FedAvg(algorithm.lr, algorithm.steps, algorithm.solver)
        yield carrier.like(altered(plain, _by_table, "server", table=table)), of_weights[0].sentence


def _normalised_as_stated(self, right, x, cohort, draw: Draw, change, mass):
    """FedNova's server with the normalisers of the local work that is stated."""
    return right(x, cohort, draw, change, 0 * mass + np.array(self.masses)[draw.who][:, None])


def _by_table(self, right, x, cohort, draw: Draw, change, mass):
    """The server with the weights that were seen, cohort by cohort."""
    there = draw.present.cpu().numpy() if is_torch(draw.present) else np.asarray(draw.present)
    weights = dict(self.table).get(tuple(float(v) for v in there))
    if weights is None:
        refuse("cohort", there.tolist(), "its weights were not seen", "Compare the cohorts that were.")
    return x + (np.array(weights)[:, None] * change).sum(-2)


def _shrinking(self, right, y, anchor, buffer, g, lr, on):
    """The solver with a weight decay in every gradient."""
    return right(y, anchor, buffer, g + self.weight_decay * y, lr, on)


def _with_work(reference, work):
    """The reference with the local work that was seen: itself if it is the stated one, None if it cannot be carried."""
    if work.wanted is None or None in work.fits:
        return None
    algorithm = replace(reference.algorithm, steps=reference.tau)
    kind, lr, extra = declared(reference.algorithm)
    longest = max(work.fits, key=lambda f: f.steps)
    if any(abs(f.lr / longest.lr - 1) > 1e-5 for f in work.fits if f.steps > 1):
        return None
    steps = tuple(f.steps for f in work.fits)
    rate = lr if longest.product or abs(longest.lr / lr - 1) <= 1e-6 else _short(longest.lr)
    changes = {} if steps == reference.tau else {"steps": steps}
    if rate != lr:
        changes["lr"] = rate
    solver = getattr(algorithm, "solver", None)
    rescaled = rate != lr and hasattr(solver, "mu")   # the proximal coefficient is lr mu: it is kept as it was seen
    other = longest.steps > 1 and (rescaled or _another_step(longest, kind, extra))
    if other or "decay" in longest.extra:
        if solver is None or longest.kind == "last gradient":
            return None
        changes["solver"] = _solver(longest, None if other else solver)
    return reference.like(unread(algorithm, **changes)) if changes else reference


def _another_step(fit, kind, extra):
    """Whether the local step is of another kind than stated or has other numbers, a weight decay apart."""
    return fit.kind != kind or any(abs(v - np.max(extra.get(k, np.inf))) > 1e-6 for k, v in fit.extra.items() if k != "decay")


def _solver(fit, stated):
    """The stated solver, or where it is None one with the numbers of a fit; with the fit's weight decay."""
    solver = stated or solver_of(fit.kind, {k: _short(v) for k, v in fit.extra.items() if k != "decay"})
    decay = fit.extra.get("decay")
    return solver if decay is None else altered(solver, _shrinking, "step", weight_decay=float(decay))


def _short(value):
    """A float, or the short fraction that it is to single precision."""
    near = Fraction(float(value)).limit_denominator(1000)
    return near if near and abs(float(near) / value - 1) <= 1e-7 else float(value)
