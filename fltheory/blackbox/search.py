"""No algorithm named: the local work is fitted, then the catalogue is tried with the fitted numbers."""
from __future__ import annotations

from dataclasses import fields

import numpy as np

from fltheory.algorithms.fednova import FedNova, GeneralRule
from fltheory.algorithms.server_momentum import ServerMomentum
from fltheory.blackbox.box import Reference
from fltheory.blackbox.fits import SOLVERS
from fltheory.blackbox.hypotheses import OPTIONS, catalogue
from fltheory.blackbox.local_maps import SINGLE, distance, measured, plan, predicted
from fltheory.blackbox.local_work import lost, observe, parameters
from fltheory.blackbox.result import Fault
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.errors import BadInput


def search(result, box, problems, height, rounds, tolerance, strict):
    """Fill in the result: the algorithm of the catalogue that has these maps, or the nearest one.

    strict: whether the tolerance is the user's; else single precision inside the code is allowed for, as where one is named.
    """
    work = observe(box, problems, height, tolerance)
    fits, idle = work.fits, work.idle
    result.parameters = parameters(fits, problems)
    result.verdict, result.reason = "differs", "no algorithm of the catalogue has these maps"
    if None in fits or np.abs(idle).max() > max(SINGLE, tolerance):
        result.faults = lost(work) or [Fault("the model moves although every gradient vanishes",
                                            "one round without gradients", 1.0)]
        return
    instance, scaled = problems.generic(height, box.scale), problems.generic(height)
    maps, best, result.tolerance = result.maps, (np.inf, None), max(tolerance, 3e-9)
    loose = result.tolerance if strict else max(result.tolerance, SINGLE)
    for candidate in _candidates(fits, box.form != "round"):
        reference = Reference(candidate, box.n, box.d)
        keys = plan(box, reference, None, rounds, False, problems.seed)
        for key in keys:
            if key not in maps:
                maps[key] = measured(box, instance, key, False)
        residual = distance({k: maps[k] for k in keys}, {k: predicted(reference, scaled, k, False) for k in keys})
        best = min(best, (residual, candidate), key=lambda pair: pair[0])
        if residual <= loose:
            break
    residual, nearest = best
    if nearest is None:
        return
    result.deviation = residual
    if result.deviation <= loose:
        single = "" if result.deviation <= result.tolerance else ", to single precision: some numbers are float32 inside"
        result.verdict, result.found, result.reason = "matches", nearest, f"the code is {nearest!r}{single}"
        result.tolerance = loose if single else result.tolerance
    else:
        result.faults = [Fault(f"nearest of the catalogue: {nearest!r}", "maps over rounds", result.deviation)]


def _candidates(fits, memory):
    """Algorithms with the numbers that the clients' fits show."""
    longest = max(fits, key=lambda v: v.steps)
    steps = tuple(v.steps for v in fits)
    lr = sum(v.share * v.lr for v in fits) if longest.product else \
        float(np.median([v.lr for v in fits if v.steps == longest.steps]))
    if memory:
        yield from (algorithm for _, algorithm in catalogue(lr, steps))
    solver = _solver(longest)
    if solver is not None:
        yield from (FedAvg(lr, steps, solver, averaging) for averaging in OPTIONS["averaging"])
        yield from (FedNova(lr, steps, solver, averaging) for averaging in ("weighted", "plain"))
        total = sum(v.share * v.mass for v in fits)
        yield FedNova(lr, steps, solver, "weighted", float(total))
        w = np.array([v.share * v.mass for v in fits]) / total
        if (w >= 0).all() and not longest.product:
            w[-1] = 1 - w[:-1].sum()
            yield GeneralRule(lr, steps, solver, "weighted", float(total), tuple(w.tolist()))
    if memory:
        yield from (ServerMomentum(lr, steps, beta=k / 20) for k in range(1, 20))


def _solver(fit):
    """The catalogue's solver with the fitted numbers, None where it has none."""
    base, mutant = SOLVERS.get(fit.kind, (None, None))
    if base is None or mutant is not None:
        return None
    try:
        return base(**{f.name: fit.extra[f.name] for f in fields(base) if f.name in fit.extra})
    except BadInput:
        return None
