"""What an operator would need in memory and time, listed or structured, told before any of it is asked for."""
from __future__ import annotations

import math

import numpy as np

from fltheory.core.errors import TooLarge
from fltheory.core.kinds import Algorithm, Law, Problem
from fltheory.core.laws.base import RandomSteps, noisy
from fltheory.core.laws.draw import Draw
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.numbers.scalars import FLOAT, Field, Modular
from fltheory.core.operators.probe import CHUNK, layout, slots_used
from fltheory.core.operators.round_maps import FEW

LARGEST = {True: (2500, 600), False: (600, 250)}   # numbers of a state, (without, with) conserved quantities, by FLOAT or exact
GIB = 2.0**30
MOST_BYTES = 6 * GIB      # of what one question allocates
BASIS = 1.3e9             # bytes of Krylov vectors, of all starts together
LEAST_STEPS, MOST_STEPS = 40, 300
WORKING = 24              # states held beside the basis during a round
STARTS = 2
DENSE_BYTES = 8 * GIB     # of probing a round with its noise, or of the masks of its cohorts
LISTED = 2_000_000        # numbers of the listed rounds of a law, noise included, up to which nothing is gained by other routes
DENSE_WORK = 1e12         # multiplications of probing the rounds of all cohorts: minutes


def krylov_steps(D) -> int:
    """How many products per start fit the memory of a basis."""
    return int(min(MOST_STEPS, max(LEAST_STEPS, BASIS // (8 * STARTS * D))))


def first_bytes(D) -> float:
    """Bytes of fixed point and rate of a state of D numbers."""
    return 8.0 * D * (STARTS * (min(krylov_steps(D), D) + 1) + WORKING)


def check(what, bytes_, remedy):
    """Raise TooLarge where something needs more than `MOST_BYTES`."""
    if bytes_ > MOST_BYTES:
        raise TooLarge(f"{what} would take about {shown(bytes_)}, above the limit of {shown(MOST_BYTES)}: {remedy}")


def check_size(algorithm: Algorithm, problem: Problem, domain, start, reach):
    """Refuse a state whose operator would take minutes, before anything is computed."""
    if isinstance(domain, (Field, Modular)):
        return  # there may be symbols in problem or algorithm: small by nature
    size = layout(algorithm.to(FLOAT), problem.to(FLOAT)).size
    memories = size > problem.d and start == "init" and reach is None
    most = LARGEST[domain is FLOAT][memories]
    if size > most:
        raise TooLarge(f"{type(algorithm).__name__} with {problem.n} clients in {problem.d} dimensions has a state of {size} "
                       f"numbers: operators {'of methods with memories ' if memories else ''}are derived up to {most} of them"
                       f"{'' if domain is FLOAT else ' in exact arithmetic'}. Use ft.run, or fewer clients or coordinates")


def check_dense(algorithm: Algorithm, problem: Problem, law: Law):
    """Raise TooLarge where listing the rounds of a prepared law in floats would take more memory than `DENSE_BYTES`, or more than
    minutes; nothing is allocated before."""
    n, d, cohorts = problem.n, problem.d, max(law.cohort_count(problem.n, k) for k in range(law.modes))
    steps = [law.steps_of(n, k) for k in range(law.modes)]
    if any(isinstance(s, RandomSteps) for s in steps):
        return      # enumerated, and counted there
    alg, prob = algorithm.to(FLOAT), problem.to(FLOAT)
    lay = layout(alg, prob)
    listed = min(cohorts, 2 * n + 1) if n >= 3 and cohorts > FEW else cohorts
    bytes_ = 8.0 * listed * n if listed > 1 else 0.0
    if noisy(law.noise):
        draw = Draw(EVERYONE, np.ones(n, dtype=np.int64), steps[0])
        columns = slots_used(alg, prob, lay, draw) * n * problem.drawn
        together = min(listed, max(1, CHUNK // ((lay.size + 1) * math.prod(lay.shapes[-1]) * 4)))
        bytes_ += 8.0 * columns * (3 * columns + together * n * problem.drawn)
    remedy = "use method='structured', fewer clients or coordinates, or ft.run"
    what = f"{type(algorithm).__name__} with {n} clients in {d} dimensions: probing {listed} cohorts"
    if bytes_ > DENSE_BYTES:
        what += " with gradient noise" if noisy(law.noise) else ""
        raise TooLarge(f"{what} would take about {shown(bytes_)}, above the limit of {shown(DENSE_BYTES)}: {remedy}")
    work = listed * (lay.size + 1.0) * n * d * d * max(float(np.max(s)) for s in steps) if listed > FEW else 0.0
    if work > DENSE_WORK or 8.0 * listed * n > GIB / 4:
        raise TooLarge(f"{what} would take minutes or more ({work:.0e} multiplications): {remedy}")


def outgrown(algorithm: Algorithm, problem: Problem, law: Law) -> bool:
    """Whether listing the rounds of a prepared law in floats would cost far more than asking the round itself."""
    n, cohorts = problem.n, max(law.cohort_count(problem.n, k) for k in range(law.modes))
    steps = [law.steps_of(n, k) for k in range(law.modes)]
    if cohorts <= FEW or n < 3 or any(isinstance(s, RandomSteps) for s in steps):
        return False
    D = layout(algorithm.to(FLOAT), problem.to(FLOAT)).size
    noise = max(int(np.max(s)) for s in steps) * n * problem.drawn if noisy(law.noise) else 0
    return min(cohorts, 2 * n + 1) * D * (D + 1 + noise) > LISTED


def shown(bytes_) -> str:
    """Bytes in GiB or MiB."""
    return f"{bytes_ / GIB:.3g} GiB" if bytes_ >= GIB / 10 else f"{bytes_ / 2**20:.3g} MiB"
