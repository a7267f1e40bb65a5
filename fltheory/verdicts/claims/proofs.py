"""General numbers of local steps: closed forms proved by induction on the coded local step.

A power with a symbolic exponent, such as z_i = (1 - eta)^tau_i, is a free symbol; one more local step multiplies it by a
factor. Base case and coded step as identities prove the closed form for every integer number of steps, and the coded
server step is then fed with it.
"""
from __future__ import annotations

import numpy as np

from fltheory.core.evidence import Comparison
from fltheory.core.laws.draw import everyone
from fltheory.core.relations import induction


def local_run(i, x, change, z, factor, lr=None, label="local run") -> Comparison:
    """Every client's displacement after k coded local steps from the server model x (d,) is change(z) (n, d).

    z (n,): symbols for the powers at k; factor: what one more step multiplies them by; at k = 0 all powers are 1.
    lr: client step, default the algorithm's. The solver must keep no buffer that matters (vanilla, proximal).
    """
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    lr = algorithm.lr if lr is None else lr
    z = np.array(z, dtype=object)
    anchor = np.stack([np.array(x, dtype=object)] * problem.n)
    y = anchor + change(z)
    after, _ = algorithm.solver.step(y, anchor, algorithm.solver.start(anchor), problem.grad(y), lr, 1)
    start = change(0 * z + 1)
    return induction(base=[(start, 0 * start)], step=[(after - anchor, change(z * factor))], label=label)


def local_mass(i, mass, k, label="mass lr |a|_1") -> Comparison:
    """The coded normaliser after k local steps is mass(k): the same solver fed with unit gradients."""
    algorithm = i.algorithm.to(i.domain)
    zero = np.array([0 * k])
    after, _ = algorithm.solver.step(zero - mass(k), zero, algorithm.solver.start(zero), zero - 1 + 2, algorithm.lr, 1)
    return induction(base=[(mass(0 * k), 0 * k)], step=[(-after[0], mass(k + 1))], label=label)


def server_step(i, x, change, mass=None):
    """The coded server step at x (d,), fed with displacements (n, d) and masses (n, 1), for all clients: -> (d,)."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)
    mass = 0 * change[:, :1] + 1 if mass is None else mass
    return algorithm.server(np.array(x, dtype=object), problem.at(), everyone(problem.n, 1), change, mass)
