"""Step limits over every schedule with bounded gaps: certified stable up to one step, destabilised from another."""
from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from fltheory.core.errors import CertificateFailed, NotKept, refuse
from fltheory.core.kinds import Algorithm, Problem
from fltheory.core.numbers.scalars import Number, fraction, need
from fltheory.core.operators.setting import end_of_scan
from fltheory.schedules.lyapunov_nodes import Certificate, Programme
from fltheory.schedules.walks import Walk, certified, search
from fltheory.schedules.windows import Windows
from fltheory.schedules.worst import INCONCLUSIVE, STABLE, UNSTABLE, check_arguments, longest_of, rounds_of

HALVINGS = 16
GENERIC = (0.00417, 0.00291)  # of the first step: where the reachable subspace is looked for, away from lr * curvature = 1
BELOW = 3  # steps of the scan that must be stable in a row before it ends
RATE = 1 - 1e-5  # of the programme: raised by 1e-6 it still proves contraction


@dataclass(frozen=True)
class ScheduleSteps:
    """Both limits of the client step size over a class of schedules.

    stable: the largest step (a Fraction) certified to contract on every schedule, all smaller steps that were tried being
    certified too; None if there is none. unstable: the smallest step found at which the periodic schedule `walk` does not
    contract, None if there is none up to the end of the scan. Between them: INCONCLUSIVE. tried: (step, word), ascending;
    steps between two of them were not looked at.
    """

    algorithm: str
    windows: Windows
    stable: Fraction | None
    unstable: Fraction | None
    walk: Walk | None
    certificate: Certificate | None = field(repr=False)
    tried: tuple = field(repr=False)

    def __str__(self):
        below = sum(lr < (self.stable or 0) for lr, _ in self.tried)
        first = ("no step was certified" if self.stable is None else
                 f"certified for every schedule at lr = {float(self.stable):.6g} (and at the {below} smaller steps tried)")
        last = ("no destabilising schedule was found" if self.unstable is None else
                f"not contracting at lr = {float(self.unstable):.6g} on the schedule {self.walk}, repeated")
        return f"{self.algorithm}, {self.windows}: {first}; {last}; {INCONCLUSIVE} in between"

    __repr__ = __str__


def schedule_steps(algorithm: Algorithm, problem: Problem, windows: Windows, accuracy: Number = 1e-3,
                   up_to: Number = None, longest: int | None = None) -> ScheduleSteps:
    """The client step sizes `lr` at which a method contracts on every schedule of a class, as far as that can be certified.

    Only `lr` changes. The scan goes down from up_to (default 4/L, L the largest curvature of a client) by halves until three
    steps in a row are certified; then both limits are refined by bisection to a relative `accuracy` (1e-5 to 1/2). A step
    counts as stable by node-wise Lyapunov matrices checked in rationals, as unstable by the exact product of the rounds
    along a periodic schedule; each verdict is about that step alone. longest: rounds of a period at most.
    About 4 s for 3 clients on a line with windows of 3 rounds.

    Raises BadInput, NotAffine, TooLarge and MissingLibrary as `worst_schedule`.
    """
    accuracy = float(fraction(accuracy))
    if not 1e-5 <= accuracy <= 0.5:
        refuse("accuracy", accuracy, "lies between 1e-5 and 1/2: it is relative", "Leave it out, or give for example 1e-3.")
    need("cvxpy", "certificates over all schedules, which are semidefinite programmes")
    check_arguments(algorithm, problem, windows)
    longest = longest_of(longest, windows)
    scan = _Scan(algorithm, problem, windows, longest, accuracy)
    end = end_of_scan(problem) if up_to is None else float(fraction(up_to))
    if not end > 0:
        refuse("up_to", up_to, "a largest step size is positive", "Leave it out, or give a number > 0.")
    for share in GENERIC:
        scan.rounds(scan.short(share * end))
    row = 0
    for k in range(HALVINGS + 1):
        row = row + 1 if scan.word(end / 2**k) == STABLE else 0
        if row == BELOW:
            break
    scan.refine()
    return scan.result()


class _Scan:
    def __init__(self, algorithm: Algorithm, problem: Problem, windows, longest, accuracy):
        self.arguments, self.longest = (algorithm, problem, windows), longest
        self.accuracy, self.places = accuracy, 3 + math.ceil(-math.log10(accuracy))
        self.tried, self.walks, self.certificates = dict[Fraction, str](), dict[Fraction, tuple](), dict[Fraction, Certificate]()
        self.reach = None

    def rounds(self, lr):
        """The rounds at one step, on the largest subspace that any step reaches: where lr * curvature = 1 a client may
        never change its memory again, and its staying where it is must not pass for contraction."""
        algorithm, problem, windows = self.arguments
        algorithm = replace(algorithm, lr=lr)
        if self.reach is not None:
            try:
                return rounds_of(algorithm, problem, windows, self.reach)
            except NotKept:
                pass
        rounds = rounds_of(algorithm, problem, windows)
        if self.reach is None or self.reach.dimension < rounds.size:
            self.reach = rounds.operator.reach
        return rounds

    def short(self, lr, to=round) -> Fraction:
        """A decimal of a few digits."""
        scale = Fraction(10) ** (self.places - 1 - math.floor(math.log10(lr)))
        return Fraction(to(Fraction(lr) * scale)) / scale

    def word(self, lr) -> str:
        """STABLE, UNSTABLE or INCONCLUSIVE of one step, remembered with what shows it."""
        lr = self.short(lr)
        if lr not in self.tried:
            self.tried[lr] = self._decide(lr)
        return self.tried[lr]

    def _decide(self, lr):
        try:
            rounds = self.rounds(lr)
        except CertificateFailed:  # entries beyond all reason: a step that large is not looked at
            return INCONCLUSIVE
        if rounds.size:
            indices, rate = search(rounds.automaton, rounds.floats, self.longest)
            if rate >= 1 - 1e-9:
                walk = certified(rounds, indices)
                if walk.low < 1:
                    return INCONCLUSIVE
                self.walks[lr] = walk, indices
                return UNSTABLE
            certificate = Programme(rounds).certify(RATE)
            if certificate is None:
                return INCONCLUSIVE
            self.certificates[lr] = certificate
        return STABLE

    def limits(self):
        """(largest stable step below all others, smallest unstable one above it); None where there is none."""
        stable = unstable = None
        for lr in sorted(self.tried):
            if self.tried[lr] == UNSTABLE:
                unstable = lr
                break
            if self.tried[lr] == INCONCLUSIVE:
                break
            stable = lr
        if unstable is None:
            unstable = min((lr for lr, w in self.tried.items() if w == UNSTABLE and lr > (stable or 0)), default=None)
        return stable, unstable

    def refine(self):
        """Bisect from below for the certificate and from above for the walk, sharing what the other side has seen."""
        while True:
            stable, unstable = self.limits()
            if stable is None or unstable is None:
                return
            doubt = [lr for lr, w in self.tried.items() if w == INCONCLUSIVE and stable < lr < unstable]
            low, high = min(doubt, default=unstable), max(doubt, default=stable)
            if low - stable > self.accuracy * low:
                at = float(stable + low) / 2
            elif unstable - high > self.accuracy * unstable:
                at = float(high + unstable) / 2
            else:
                return
            self._along_walk(unstable, stable)
            if self.short(at) in self.tried:
                return
            self.word(at)

    def _along_walk(self, unstable, stable):
        """Follow the destabilising walk down to where it stops to be one: every walk decides a whole range of steps."""
        indices = self.walks[unstable][1]
        low, high = float(stable), float(unstable)
        if high - low <= self.accuracy * high:
            return
        while high - low > self.accuracy / 8 * high:
            at = (low + high) / 2
            low, high = (low, at) if self._rate(indices, at) >= 1 else (at, high)
        lr = self.short(high, math.ceil)
        if lr < unstable and lr not in self.tried:
            again = certified(self.rounds(lr), indices)
            if again.low >= 1:
                self.tried[lr], self.walks[lr] = UNSTABLE, (again, indices)

    def _rate(self, indices, lr):
        maps, total = self.rounds(self.short(lr)).floats, 1
        for s in indices:
            total = maps[s] @ total if not isinstance(total, int) else maps[s]
        return float(np.abs(np.linalg.eigvals(total)).max())

    def result(self) -> ScheduleSteps:
        stable, unstable = self.limits()
        walk = None if unstable is None else self.walks[unstable][0]
        return ScheduleSteps(type(self.arguments[0]).__name__, self.arguments[2], stable, unstable, walk,
                             self.certificates.get(stable), tuple(sorted(self.tried.items())))
