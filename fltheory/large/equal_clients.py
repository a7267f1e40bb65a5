"""Second moments of thousands of equal clients: their orbits instead of a matrix, where that matrix would be too large.

The exact moments are those of `exchangeable`; this is how a structured operator asks them for what it asks of `SecondMoments`.
"""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from fltheory.core.errors import BadInput, NotAffine, TooLarge
from fltheory.core.kinds import Algorithm, Law, Problem
from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.operators.spectrum import CHARPOLY
from fltheory.core.problems.quadratic import Quadratic
from fltheory.large.accuracy import Value
from fltheory.large.exchangeable import exchangeable

FEW = 500            # coordinates up to which the matrix of second moments is quick
MOST = 50_000        # coordinates beyond which reading the maps off exact rounds takes more than a minute
ROUNDING = 2.0**-52
HOW = "exact moments of equal clients"


def equal(problem: Problem) -> bool:
    """Whether all clients have the same gradient at 0 and at every unit vector, and the same weight, bit by bit in floats;
    `exchangeable` then checks it exactly. One client has nobody to be like."""
    p = problem.to(FLOAT)
    points = np.concatenate([np.zeros((1, p.d)), np.eye(p.d)])
    if p.n < 2 or (p.p != p.p[0]).any():
        return False
    slopes = (p.grad(np.broadcast_to(x, (1, p.n, p.d)))[0] for x in points)     # one at a time, (n, d)
    return all((g == g[:1]).all() for g in slopes)


def equal_moments(algorithm: Algorithm, problem: Problem, law: Law, size, server, per_client):
    """The moments of equal clients as `EqualMoments`, or why there are none, in words. law: prepared; size: coordinates of the
    state, of which `server` are the server's and `per_client` each client's."""
    whole = 1 + server + per_client
    unknowns = whole * (whole + 1) // 2 + per_client * (per_client + 1) // 2
    if size > MOST:
        return f"a state of {size} numbers is above {MOST}, up to which the moments of equal clients are read off exact rounds"
    if unknowns > CHARPOLY:
        return f"{unknowns} moments of equal clients are above {CHARPOLY}"
    if not equal(problem):
        return "the clients are not equal"
    law = replace(law, steps=None) if algorithm.steps is not None else law     # prepared again, from the algorithm
    try:
        return EqualMoments(exchangeable(algorithm, problem.exact() if isinstance(problem, Quadratic) else problem, law))
    except (BadInput, NotAffine, TooLarge) as error:
        return str(error)


class EqualMoments:
    """`Exchangeable` moments with the questions that `SecondMoments` answers."""

    def __init__(self, moments):
        self.moments = moments

    def rate(self) -> Value:
        """Of E|z - z*|^2 per round, enclosed by rationals."""
        low, high = self.moments.certify().mean_square
        width = max(float((high - low) / high), ROUNDING) if high > 0 else 0.0
        return Value("mean_square_rate", float(high), f"{HOW}, their characteristic polynomial enclosed", width, width, "bound")

    def covariance(self, z):
        """(stationary covariance (d, d) of the server model, what rounding it to floats leaves). Raises NoFixedPoint."""
        return FLOAT.array(self.moments.stationary().covariance), ROUNDING

    def of_model(self, X):
        """Of what `covariance` returns, itself."""
        return X
