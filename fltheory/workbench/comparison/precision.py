"""What float64 can tell: how far round-off moves a predicted path from a run of the same rounds, and where both leave it.

A prediction iterates u <- M u + c with the derived operator, a run iterates the coded round; in exact arithmetic both
are the same numbers. In round t each leg makes an error of at most, coordinate by coordinate,

    eta_t = eps (|M| |u_t| + |u_t| + |c| (1 + |u_t|_1) + |z_0|),   eps = 2^-53 (K (d + 8) + n + r + 8),

K the longest local phase: a local step is one product with a d x d Hessian and a few operations per coordinate, the
server adds n changes, the operator r products (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1
and 3.5: gamma_k = k u/(1 - k u) per inner product of length k). |c| |u_t|_1 is there because a column of M is a
difference of two rounds, each of which contains c. Errors are carried on by the powers of M, so that after t rounds the
models are at most 2 sum_k |E V M^(t-1-k) S| |S^-1 eta_k| apart: growth and conditioning are in the powers. The diagonal
S balances M, for models and memories come in different units.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from fltheory.core.kinds import Law
from fltheory.core.laws.base import RandomSteps
from fltheory.core.numbers.scalars import FLOAT

UNIT = 2.0**-53
RANGE = "the range of float64 (1.8e308)"
LARGEST = float(np.finfo(np.float64).max)


def per_round(law: Law, n, d, size) -> float:
    """eps: relative error of one round of a prepared law with `size` reduced coordinates."""
    longest = 1
    for mode in range(law.modes):
        steps = law.steps_of(n, mode)
        counts = [s for _, s in steps.choices] if isinstance(steps, RandomSteps) else steps
        longest = max(longest, int(np.max([np.max(k) for k in counts])))
    return UNIT * (longest * (d + 8) + n + size + 8)


def drift(op: Any, x0, rounds) -> np.ndarray:
    """(rounds + 1,) bounds on the distance that rounding puts between the two legs' models; rounds without randomness."""
    eps = per_round(op.law, op.problem.n, op.problem.d, op.reachable)
    M, c = op.mean_map()
    start = op.begin(x0)[1].sum(0)
    if not len(start):
        return np.zeros(rounds + 1)
    units, carry = _units(M), op.model[0] @ FLOAT.array(op.reach.V)
    base, size, push, u = np.abs(op.origin[list(op.reach.rows)]), np.abs(M), np.abs(c), start
    rounded, carried = np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        now = np.abs(u)
        rounded[t] = length((size @ now + now + push * (1 + now.sum()) + base) / units)
        carried[t] = length(carry * units)
        u, carry = M @ u + c, carry @ M
    # the start is rounded as well
    total = np.convolve(np.append(carried, length(carry * units)),
                        np.append(length((np.abs(start) + base) / units), rounded))[:rounds + 1]
    return 2 * eps * np.nan_to_num(total, nan=np.inf, posinf=np.inf)


def _units(M):
    """The diagonal that balances a matrix (James, Langou and Lowery 2014, On matrix balancing and eigenvector computation)."""
    from scipy.linalg import matrix_balance

    return matrix_balance(M, permute=False, separate=True)[1][0] if np.isfinite(M).all() else np.ones(len(M))


def settled(rate, rounds) -> np.ndarray:
    """(rounds + 1,) how many rounds' errors are alive after t rounds of a contraction: min(t, 1/(1 - rate)), at least 1."""
    most = rounds if rate is None or not rate < 1 else 1 / (1 - rate)
    return np.clip(np.arange(rounds + 1), 1, max(most, 1))


def length(v) -> float:
    """Euclidean norm of a vector (of a matrix: Frobenius), also where its square leaves float64."""
    top = float(np.abs(v).max())
    return top * float(np.linalg.norm(v / top)) if 0 < top < np.inf else top


def left_range(curve):
    """The first round whose number is not finite, None if all are."""
    gone = np.nonzero(~np.isfinite(curve))[0]
    return int(gone[0]) if len(gone) else None


def same_departure(predicted, measured, spare) -> bool:
    """Whether two curves leave float64 together: where one has left, the other has too, or is within a factor `spare` of
    doing so (a mean of k numbers is summed before it is divided, which costs a factor k)."""
    near = LARGEST / spare
    gone, lost = left_range(predicted), left_range(measured)
    if gone is None and lost is None:
        return True
    return all(k is None or not other[k] < near for k, other in ((gone, measured), (lost, predicted)))
