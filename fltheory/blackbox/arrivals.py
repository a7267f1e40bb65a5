"""Asynchronous servers as black boxes: a received update is one round, and the caller says whose update has arrived.

Their rounds are no affine maps, since steps depend on distances. So models along sequences of arrivals are compared, from starts
near the minimiser of each client too, where its updates are short and its staleness is large.
"""
from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from fltheory.asynchronous.asyncfeded import AsyncFedED
from fltheory.asynchronous.fedasync import FedAsync, FedBuff, StaleSteps
from fltheory.blackbox.box import Reference
from fltheory.blackbox.checks import find_height
from fltheory.blackbox.hypotheses import fitted
from fltheory.blackbox.result import Fault, Identification, first_line, wrong_of
from fltheory.core.errors import FLTheoryError, refuse
from fltheory.core.kinds import Algorithm, Law
from fltheory.core.numbers.scalars import FLOAT, fraction
from fltheory.core.numbers.text import number
from fltheory.mutants import arrivals, local
from fltheory.mutants.base import clause

MUTANTS = (*arrivals.ARRIVALS.values(), *(m for m in arrivals.OTHERS.values() if m is not arrivals.lag_in_time),
           local.one_step_more, local.one_step_less)   # a round is not told the time
OPTIONS = {
    "rounding": {"strict": "the change of K is the largest integer below (gbar - gamma) kappa, not its floor",
                 "down": "the change of K is the floor of (gbar - gamma) kappa, not the largest integer below it"},
    "real": {True: "K is kept as a real number and rounded down where it is used",
             False: "K is kept as a whole number: every change is rounded down"},
    "momentum": {"reset": "the local momentum buffers start afresh in every run"},
}
NUMBERS = ("lr", "lam", "eps", "alpha", "a", "b", "gbar", "kappa", "server_lr")
FEW = 2                # sequences on which numbers are fitted; what is found is tried on all
MOST_TURNS = 100
TURNS = 4              # arrivals of each client in a sequence
SHAKE, CALM = 1e-6, 1e3   # starts count whose models move by at most CALM times a shake: a rounded K is not on an edge there


class Sequence:
    """Arrivals after a start. instance: the clients' data; start (d,); order: the client of each arrival."""

    def __init__(self, instance, start, order):
        self.instance, self.start, self.order = instance, start, order

    def measured(self, box):
        """Models (arrivals, d) of the black box; base models of a joint state begin at the start."""
        value, out = box.begin(self.start), []
        if isinstance(value, dict) and "base" in value:
            value["base"] = value["base"] * 0 + self.start
        for i in self.order:
            value = box.call(value, self.instance, (i,))
            out.append(value["x"] if isinstance(value, dict) else value)
        return np.stack(out)

    def predicted(self, reference, start=None):
        """Models (arrivals, d) of a reference: the clock is set so that the next client arrives."""
        if not reference.algorithm.arrivals:   # no clock: who arrives is the round's cohort
            return reference.run(self.instance, self.start if start is None else start, [(i,) for i in self.order])
        algorithm, problem, n = reference.algorithm.to(FLOAT), self.instance.problem, self.instance.n
        draw = reference.draw()
        state, out = algorithm.init(problem, np.array(self.start if start is None else start), draw), []
        for t, i in enumerate(self.order):
            whose = np.arange(n) == i
            state = algorithm.round(problem, state._replace(finish=np.where(whose, t, t + 1.0)), draw)
            out.append(algorithm.model(state))
        return np.stack(out)

    def calm(self, reference):
        """Whether a shaken start gives nearly the same models: no K lies on an edge, nothing diverges."""
        with np.errstate(all="ignore"):
            one, two = (self.predicted(reference, self.start * (1 + v)) for v in (0, SHAKE))
        moved = np.abs(two - one).max()
        return bool(moved <= CALM * SHAKE * max(1.0, np.abs(one).max()))


def sequences(problems, height, reference):
    """Some from anywhere, in random order and in turns, and two from near each client's minimiser."""
    rng, turns = np.random.default_rng([problems.seed, 13]), _turns(reference.algorithm, problems.n)
    instance, n, d = problems.generic(height), problems.n, problems.d
    centres = [np.linalg.lstsq(c.X, c.y, rcond=None)[0] for c in instance.clients]
    orders = [[int(i) for i in rng.permutation(np.repeat(np.arange(n), turns))], list(range(n)) * turns]
    plans = [(np.zeros(d) + far * rng.uniform(-1, 1, d), order) for far, order in itertools.product((1, 3), orders)]
    for i, centre in enumerate(centres):
        late = [j for j in range(n) if j != i] + [i]
        plans += [(centre + 1e-2 * rng.uniform(-1, 1, d), late * 3), (centre + 1e-2 * rng.uniform(-1, 1, d), [i, *late, i, *late])]
    calm = []
    for start, order in plans:
        tries = (Sequence(instance, start + (k > 0) * 1e-2 * rng.uniform(-1, 1, d), order) for k in range(8))
        calm += list(itertools.islice((s for s in tries if s.calm(reference)), 1))
    return calm


def _apart(models, sequence, other):
    try:
        with np.errstate(all="ignore"):
            gap = np.abs(models - sequence.predicted(other)).max() / max(1.0, np.abs(models).max())
    except FLTheoryError:
        return np.inf
    return float(gap) if np.isfinite(gap) else np.inf


def _turns(algorithm: Algorithm, n):
    """Arrivals of each client in a sequence: enough to fill a buffer twice."""
    return max(TURNS, min(MOST_TURNS, -(-2 * getattr(algorithm, "buffer", 1) // n)))


class Matching:
    """The models of a black box along sequences of arrivals, beside those of references."""

    def __init__(self, box, problems, reference):
        self.reference = reference
        height = find_height(box, problems, first=lambda instance, x: Sequence(instance, x, [0]).measured(box)[0])
        self.sequences = sequences(problems, height, reference)
        if not self.sequences:
            refuse("algorithm", reference.algorithm, "with these numbers no run of a few arrivals stays finite",
                   "Check its step sizes.")
        self.models = [s.measured(box) for s in self.sequences]
        self.again = self.sequences[0].measured(box)

    def misses(self, make, value):
        """The models of two sequences less those of a reference with a number in it, one array; None where it has none."""
        try:
            with np.errstate(all="ignore"):
                other = make(value)
                gaps = [(models - s.predicted(other)) / max(1.0, np.abs(models).max())
                        for models, s in itertools.islice(zip(self.models, self.sequences, strict=True), FEW)]
        except FLTheoryError:
            return None
        gaps = np.concatenate([g.ravel() for g in gaps])
        return gaps if np.isfinite(gaps).all() else None

    def gap(self, other, allowed=np.inf):
        """How far a reference is from the black box, relative; inf as soon as a sequence misses by more than `allowed`."""
        worst = 0.0
        for models, s in zip(self.models, self.sequences, strict=True):
            worst = max(worst, _apart(models, s, other))
            if not worst <= allowed:
                return np.inf
        return worst

    def distinguishes(self, other):
        """Whether a reference differs from the right one, whose models the black box has, along these sequences."""
        return self.gap(other, SHAKE) > SHAKE


def one_at_a_time(box, algorithm: Algorithm, law: Law | None, n):
    """Whether a method, told who takes part, gets one update a round: by a clock, or since its arrivals are the law's to choose."""
    if algorithm.arrivals:
        return True
    return isinstance(algorithm, StaleSteps) and box.takes_cohort and box.form != "round" and law is None and n > 1


def identify_arrivals(box, problems, algorithm: Algorithm, law: Law | None, bugs, tolerance):
    """The result for an asynchronous algorithm.

    Raises BadInput where the code cannot be told who arrives, or keeps no base models."""
    if not box.takes_cohort:
        refuse("round_fn", "without a parameter cohort", "an asynchronous server is told whose update has arrived: it is called as "
               "round(x, clients, cohort=[i])", "Process the update of client cohort[0] in one call.")
    if box.form == "round":
        refuse("reset", None, "an asynchronous server keeps the models that its clients started from",
               'Give reset= (a function that forgets them), or state={"x": .., "base": (n, d), ..}.')
    if law is not None:
        refuse("law", law, "here the caller says who arrives", "Leave it out, and give the local steps to the algorithm.")
    if getattr(algorithm, "unit", "") == "time":
        refuse("unit", "time", "a round is not told the time", 'Compare with unit="arrivals".')
    reference = Reference(algorithm, problems.n, problems.d)
    case = Matching(box, problems, reference)
    precision = box.precision
    allowed = tolerance or (1e-9 if precision < 1e-10 else 1e-3)
    result = Identification("inconclusive", "", repr(algorithm), tolerance=allowed)
    repeated = float(np.abs(case.again - case.models[0]).max())
    result.deviation = case.gap(reference)
    count = sum(len(m) for m in case.models)
    if repeated > allowed:
        result.verdict, result.reason = "not deterministic", f"one sequence of arrivals gave models {repeated:.2g} apart"
        return result.finish(box)
    if all(np.ptp(s.predicted(reference), axis=0).max() == 0 for s in case.sequences):
        result.reason = "the method itself does not move its model within the arrivals tried"
        return result.finish(box)
    if result.deviation <= allowed:
        result.verdict, result.reason = "matches", f"the models agree after {count} arrivals in {len(case.models)} sequences"
        alike = [says for says, other in _wrong(reference, bugs) if not case.distinguishes(other)]
        result.notes += [f"not told apart by what was run: {says}" for says in alike]
        return result.finish(box)
    result.verdict, result.reason = "differs", f"the models after {count} arrivals are {result.deviation:.2g} apart"
    result.faults = _faults(case, bugs, allowed) or [_where(case)]
    return result.finish(box)


def _wrong(reference, bugs):
    """Yield (clause, wrong reference)."""
    steady = replace(reference.algorithm, steps=reference.tau)
    for mutant in MUTANTS:
        wrong = wrong_of(mutant, steady)
        if wrong is not None and wrong.arrivals == steady.arrivals:
            yield clause(mutant), reference.like(wrong)
    for name, values in OPTIONS.items():
        for value, says in values.items():
            if getattr(steady, name, value) != value and (name == "momentum" or getattr(steady, "kappa", 0) != 0):
                yield says, reference.like(replace(steady, **{name: value}))
    if getattr(steady, "kappa", 0) != 0:
        yield "the numbers of local steps stay as they are: rule (8) is not used", reference.like(replace(steady, kappa=0))


def _faults(case, bugs, allowed):
    faults = []
    for bug in bugs:
        wrong = wrong_of(bug, case.reference.algorithm)
        gap = np.inf if wrong is None else case.gap(case.reference.like(wrong), allowed)
        if gap <= allowed:
            faults.append(Fault(first_line(bug), f"catalogued bug {bug.__name__}: its models agree", gap, bug.__name__))
    near = [Fault(says, "its models agree", case.gap(other, allowed)) for says, other in _wrong(case.reference, bugs)]
    faults += sorted((f for f in near if f.residual <= allowed), key=lambda f: f.residual > 1e-3 * allowed)
    if not faults:
        faults = [*_fitted(case, allowed), *_others(case, allowed)]
    return faults


def _fitted(case, allowed):
    """One number of the algorithm that makes the models agree."""
    algorithm = replace(case.reference.algorithm, steps=case.reference.tau)
    for name in NUMBERS:
        stated = getattr(algorithm, name, None)
        if stated is None or fraction(stated) == 0:
            continue
        stated = float(fraction(stated))
        def make(value, name=name):
            return case.reference.like(replace(algorithm, **{name: value}))
        value, gap = fitted(case, make, (stated * 2, stated / 2, stated * 0.9), allowed)
        if gap <= allowed:
            what = "the step size" if name == "lr" else name
            yield Fault(f"{what} is {number(value)} where {number(stated)} is stated ({number(value / stated)} times)",
                        "fit of one number", gap)


def _others(case, allowed):
    """Other asynchronous methods with one number fitted."""
    right, like, tau = case.reference.algorithm, case.reference.like, case.reference.tau
    methods = {
        FedAsync: ("FedAsync with the constant weight", lambda v: FedAsync(right.lr, tau, alpha=v), (0.5, 0.1)),
        FedBuff: ("an asynchronous server with the constant step", lambda v: FedBuff(right.lr, tau, server_lr=v), (0.5, 1.5)),
        AsyncFedED: ("AsyncFedED without rule (8), eps = 1, lam", lambda v: AsyncFedED(right.lr, tau, lam=v), (1.0, 3.0)),
    }
    methods.pop(type(right), None)
    if isinstance(right, StaleSteps):   # which has FedBuff's constant step, and FedAsync's constant weight, as its own number
        methods.pop(FedBuff if right.mixing == "update" else FedAsync, None)
    for says, make, starts in methods.values():
        value, gap = fitted(case, lambda v, make=make: like(make(v)), starts, allowed)
        if gap <= allowed:
            yield Fault(f"the code is {says} {number(value)}", "fit of one number", gap)


def _where(case):
    """At which arrivals models begin to differ, where nothing explains them."""
    first = []
    for models, s in zip(case.models, case.sequences, strict=True):
        with np.errstate(all="ignore"):
            gaps = np.abs(models - s.predicted(case.reference)).max(1) > 1e-6 * max(1.0, np.abs(models).max())
        if gaps.any():
            at = int(gaps.argmax())
            first.append(at if s.order[at] not in s.order[:at] else -1)
    if 0 in first:
        says = "the very first arrival differs, which is stale in no sense: local work, server step or weight"
    elif -1 in first:
        says = "first arrivals agree, a client's second one does not: what it is sent, its local steps, or its memory"
    else:
        says = "the first arrival agrees, the next client's does not: how staleness acts"
    return Fault(says, "models arrival by arrival; no catalogued fault fits", 1.0)
