"""What a comparison would cost, estimated from n, d, the method's state and the law before any of it is done.

Seconds of one core of a few GHz, within a factor of four or so of what was seen: good enough to tell seconds from hours.
"""
from __future__ import annotations

from fltheory.analysis.stability import POINTS
from fltheory.core.errors import TooLarge
from fltheory.core.kinds import Algorithm, Law, Problem
from fltheory.core.laws.base import RandomSteps
from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.operators.moments import DENSE
from fltheory.core.operators.probe import layout

MOST_SECONDS = 60.0   # of one derivation, or one scan: five methods of this size are a few minutes
REFINEMENTS = 30      # further rates that a scan takes for its end and its crossings
FEW = 64              # cohorts up to which a round's outcomes are listed


def state_size(algorithm: Algorithm, problem: Problem) -> int:
    """Numbers in a method's state on a problem."""
    return layout(algorithm.to(FLOAT), problem.to(FLOAT)).size


def derivation(size, d) -> float:
    """Seconds of deriving an operator: states with memories need their reachable subspace, by exact elimination."""
    return 2e-3 + (2e-7 * size**3 if size > d else 1e-8 * size**3)


def scan(size, law: Law, n) -> float:
    """Seconds of a scan for stable step sizes: a spectral radius of the mean map, or of the second-moment map, per step."""
    count = law.cohort_count(n)
    random_steps = isinstance(law.steps_of(n), RandomSteps)
    sure = law.modes == 1 and law.sure(n)
    unknowns = law.modes * size * (size + 1) // 2
    costly = not sure and unknowns > DENSE
    parts = min(count, FEW if random_steps else max(FEW, n)) * law.modes
    mean = 2e-3 + 1e-8 * (size * law.modes) ** 3
    second = 0.0 if sure else 6e-9 * unknowns**3
    if costly:  # an iterative eigenvalue, of maps that are listed, or of features, which are sparse where they are many
        second = 3e-8 * parts * size**3 if count <= FEW else min(1e-7 * parts * size**3, 0.04 * size * law.modes)
    return (POINTS[costly] + REFINEMENTS) * (mean + second)


def check_derivation(algorithm: Algorithm, problem: Problem):
    """Raise TooLarge where the operator of this method on this problem is out of reach."""
    size = state_size(algorithm, problem)
    _check(derivation(size, problem.d), f"the operator of {type(algorithm).__name__}, whose state has {size} numbers for "
           f"{problem.n} clients in dimension {problem.d},", "merge clients (bands), use a method without memories, or ft.run")


def check_scan(algorithm: Algorithm, problem: Problem, law: Law):
    """Raise TooLarge where a scan for stable steps is out of reach; law: prepared."""
    check_derivation(algorithm, problem)
    size = state_size(algorithm, problem)
    _check(scan(size, law, problem.n), f"a scan for stable steps of {type(algorithm).__name__}, whose state has {size} numbers,",
           "call ft.stable_steps with few points, or merge clients (bands)")


def _check(seconds, what, remedy):
    if seconds > MOST_SECONDS:
        raise TooLarge(f"{what} would take about {_duration(seconds)}, above the limit of {MOST_SECONDS:g} seconds: {remedy}")


def _duration(seconds):
    for unit, size in (("years", 3.2e7), ("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 1e3 * size else f"{seconds / size:.0e} {unit}"
    return f"{seconds:.2g} seconds"
