"""General numbers of local steps: closed forms proved by induction on the coded local step.

A power with a symbolic exponent, such as z_i = (1 - eta)^tau_i, is a free symbol; one more local step multiplies it by a
factor. Base case and coded step as identities prove the closed form for every integer number of steps, and the coded
server step is then fed with it. Both are read off classes made like FedAvg: a field `solver`, and a method
`server(self, x, cohort, draw, change, mass)`. For a class of another make, put one local step into a method of its own and give
what it computes to `fltheory.induction`.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.evidence import Comparison
from fltheory.core.kinds import Array
from fltheory.core.laws.draw import everyone
from fltheory.core.relations import induction
from fltheory.verdicts.claims.instance import Instance

REMEDY = "Put one local step into a method that the round calls, and give (computed, stated) pairs to ft.induction."


def _solved(i):
    """The instance's algorithm in its arithmetic, refused unless it has a solver as FedAvg has."""
    solver = getattr(i.algorithm, "solver", None)
    if not (hasattr(solver, "step") and hasattr(solver, "start")):
        refuse("algorithm", type(i.algorithm).__name__, "has no `solver`, whose coded local step is read here", REMEDY)
    return i.algorithm.to(i.domain)


def _clients(i):
    if i.problem is None:
        refuse("problem", None, "has no clients for the coded step", "Give the instance a problem in symbols.")
    return i.problem.to(i.domain)


def _each(change, z, shape):
    """change(z), refused unless it is a displacement per client."""
    out = np.asarray(change(z), dtype=object)
    if out.shape != shape:
        refuse("change", f"an array of shape {out.shape}", f"holds one displacement per client, shape {shape}",
               "Return an array (n, d) of displacements from the server model.")
    return out


def local_run(i: Instance, x: Array, change: Callable, z: Array, factor: Array, lr: Array = None,
              label: str = "local run") -> Comparison:
    """Every client's displacement after k coded local steps from the server model x (d,) is change(z) (n, d).

    z (n,): symbols for the powers at k; factor: what one more step multiplies them by; at k = 0 all powers are 1.
    lr: client step, default the algorithm's. The solver must keep no buffer that matters (vanilla, proximal). Raises BadInput
    for an algorithm without a solver, and for displacements of another shape.
    """
    algorithm, problem = _solved(i), _clients(i)
    lr = algorithm.lr if lr is None else lr
    z, shape = np.array(z, dtype=object), (problem.n, problem.d)
    anchor = np.stack([np.array(x, dtype=object)] * problem.n)
    if anchor.shape != shape:
        refuse("x", f"an array of shape {anchor.shape[1:]}", f"is the server model, shape ({problem.d},)",
               "Give a list of d symbols.")
    y = anchor + _each(change, z, shape)
    after, _ = algorithm.solver.step(y, anchor, algorithm.solver.start(anchor), problem.grad(y), lr, 1)
    start = change(0 * z + 1)
    return induction(base=[(start, 0 * start)], step=[(after - anchor, change(z * factor))], label=label)


def local_mass(i: Instance, mass: Callable, k: Array, label: str = "mass lr |a|_1") -> Comparison:
    """The coded normaliser after k local steps is mass(k): the same solver fed with unit gradients. Raises BadInput as
    `local_run`."""
    algorithm = _solved(i)
    zero = np.array([0 * k])
    after, _ = algorithm.solver.step(zero - mass(k), zero, algorithm.solver.start(zero), zero - 1 + 2, algorithm.lr, 1)
    return induction(base=[(mass(0 * k), 0 * k)], step=[(-after[0], mass(k + 1))], label=label)


def server_step(i: Instance, x: Array, change: Array, mass: Array = None) -> Array:
    """The coded server step at x (d,), fed with displacements (n, d) and masses (n, 1), for all clients: -> (d,).

    Raises BadInput for an algorithm whose `server` takes other arguments than FedAvg's, and for other shapes.
    """
    server: Any = getattr(i.algorithm, "server", None)
    try:
        inspect.signature(server).bind(x, None, None, change, mass)
    except TypeError:
        refuse("algorithm", type(i.algorithm).__name__, "has no method server(self, x, cohort, draw, change, mass) to be fed",
               "Give the method FedAvg's arguments, or compare what your own method returns: ft.equal(computed, stated).")
    problem, algorithm = _clients(i), i.algorithm.to(i.domain)
    change = np.asarray(change, dtype=object)   # of any dimension: the server sees displacements and no losses
    if change.ndim != 2 or len(change) != problem.n:
        refuse("change", f"an array of shape {change.shape}", f"holds one displacement per client, shape ({problem.n}, d)",
               "Return an array (n, d) of displacements from the server model.")
    mass = 0 * change[:, :1] + 1 if mass is None else mass
    return algorithm.server(np.array(x, dtype=object), problem.at(), everyone(problem.n, 1), change, mass)
