"""The least traffic of a coded round: how many numbers must pass between server and client, whatever is declared.

Up: all that a client's private numbers (its rows of the state, its own linear term) change in the server's leaves must
have been sent, and a message of as many numbers as that linear map has rank is enough. Down: the same for what the
server's leaves change in the client's new rows and in its contribution. Both sides are taken to know the Hessians, so
a method may well send more than this; it can never do with less.
"""
from __future__ import annotations

import math

import numpy as np

from fltheory.core.kinds import Algorithm, Problem
from fltheory.core.laws.draw import everyone
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import RATIONAL
from fltheory.core.operators.probe import check_affine, layout, probe_offsets, probe_round


def least_traffic(algorithm: Algorithm, problem: Problem, client=0):
    """(up, down): vectors of the model's size that one participant cannot do without, rounded up; exact ranks.

    problem: rational and quadratic; client: index 0..n-1. On special problems fewer numbers may do than in general.
    Raises NotAffine where the round is no affine map.
    """
    n, d = problem.n, problem.d
    alg, prob = algorithm.to(RATIONAL), problem.to(RATIONAL)
    lay, everybody = layout(alg, prob), everyone(n, algorithm.steps)
    check_affine(alg, prob, lay, everybody)
    whose = lay.owners(n)
    server, of_client = np.flatnonzero(whose < 0), np.flatnonzero(whose == client)
    M = probe_round(alg, prob, lay, everybody)[:, :lay.size]
    private = [M[np.ix_(server, of_client)]]
    if not algorithm.personal:  # the response to a change of the client's own linear term
        private.append(probe_offsets(alg, prob, lay, everybody)[server, client * d:(client + 1) * d])
    result = M[np.ix_(of_client, server)]
    if algorithm.partial:  # alone against nobody: the server's own motion drops out
        masks = np.zeros((2, n), dtype=np.int64)
        masks[0, client] = 1
        alone, nobody = probe_round(alg, prob, lay, everyone(n, algorithm.steps, masks))[:, :, :lay.size]
        result = np.concatenate([alone[np.ix_(of_client, server)], (alone - nobody)[np.ix_(server, server)]])
    return tuple(math.ceil(_rank(A) / d) for A in (np.concatenate(private, axis=1), result))


def _rank(A):
    return linalg.rank(A) if A.size else 0
