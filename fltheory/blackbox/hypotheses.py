"""What a code may be instead of its reference: mutants, fitted numbers, and other algorithms, compared as whole maps."""
from __future__ import annotations

import itertools
from dataclasses import fields, replace

import numpy as np

from fltheory.algorithms.fedau import FedAu
from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.fednova_vr import FedNovaVR
from fltheory.algorithms.fedresavg import FedResAvg
from fltheory.algorithms.fedresnaive import FedResNaive
from fltheory.algorithms.fedressgd import FedResSgd
from fltheory.algorithms.fedvarp import FedVarp
from fltheory.algorithms.focus import Focus
from fltheory.algorithms.mifa import Mifa
from fltheory.algorithms.scaffold import Scaffold
from fltheory.algorithms.server_momentum import ServerMomentum
from fltheory.algorithms.vrlsgd import VRLSGD
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.numbers.scalars import fraction
from fltheory.core.numbers.text import number
from fltheory.mutants import local, memories, neighbour_averages, residual_models
from fltheory.mutants.averages import WEIGHTS
from fltheory.mutants.base import clause

OPTIONS = {   # other values of declared fields
    "option": {1: "the client variate is the gradient at the server model (option I, not II)",
               2: "the client variate is the mean local gradient (option II, not I)"},
    "variant": {v: f"the code is the variant {v!r}" for v in ("printed", "repaired")},
    "divisor": {v: f"the correction is divided by the {text} (divisor = {v!r})"
                for v, text in (("own", "client's own steps"), ("mean", "clients' mean steps"))},
    "start": {"zero": "the stored gradients and their sum start at 0: there is no warm start",
              "warm": "the start is warm: gradients at the first model are stored and summed before the first round"},
    "over": {"all": "the server's c is the mean of all clients' variates, not of the participants'",
             "present": "the server's c is the mean of the participants' variates, not of all clients'"},
    "averaging": {rule: WEIGHTS[rule][0] for rule in ("weighted", "plain", "unbiased")},
    "average": {"printed": "the sum over the participants is not divided by their weight (average = 'printed')",
                "renormalised": "the sum over the participants is divided by their weight (average = 'renormalised')"},
    "absent": {"stale": "an absent client's last model stays as it was (absent = 'stale')",
               "reset": "an absent client's last model becomes the model of the round's start (absent = 'reset')"},
}
CONTROLS = {f.name for f in fields(memories.Control)} - {f.name for f in fields(Scaffold)}
NO_ACT = ": no memory acts"
NO_MEMORY = "FedAvg" + NO_ACT
UNUSED = "the corrections are never used, or what they are made of stays 0: this is FedAvg"
MUTANTS = (   # of those that fit equally well the first is named first
    local.sequential_pass, local.sequential_normalised, local.shared_storage, local.last_model_alone, local.buffers_kept,
    local.decay_runs_on, memories.correction_reversed, memories.divisor_without_lr, memories.updates_forgotten,
    memories.mifa_ascent, memories.mifa_previous_local_model, *memories.INTERVALS.values(), *memories.VARIATES.values(),
    memories.pushes_averaged, memories.pushes_averaged_over_cohort, memories.tracking_reset, memories.server_moves_first,
    memories.stores_first_gradient, memories.gradients_forgotten, memories.tracker_kept, memories.models_averaged,
    memories.momentum_missing, memories.momentum_on_clients, memories.nesterov_server,
    residual_models.sequential_for_simultaneous, residual_models.simultaneous_for_sequential,
    residual_models.personal_step_with_lr, residual_models.personal_averaged, residual_models.personal_reset,
    residual_models.personal_step_fewer, residual_models.old_theta_in_step_two,
    residual_models.large_step_not_multiplied, residual_models.local_steps_for_large_step,
    residual_models.alpha_dropped, residual_models.variates_dropped, residual_models.variates_kept,
    residual_models.mean_not_divided, residual_models.variates_not_averaged, residual_models.mean_is_late,
    residual_models.local_prox_missing, residual_models.local_prox_halved, residual_models.local_prox_squared,
    residual_models.own_copy_is_anchor, residual_models.own_copy_goes_on, *neighbour_averages.NEIGHBOURS.values(),
    local.one_step_more, local.one_step_less,
)


def neighbours(reference, memory):
    """Yield (clause, wrong `Reference`). memory: whether the code can have memories of clients."""
    algorithm = replace(reference.algorithm, steps=reference.tau)
    names = {f.name for f in fields(algorithm)} if type(algorithm).__module__.startswith("fltheory.") else ()
    if algorithm.stateful or "averaging" not in names:   # else its averaging is tried below
        yield clause(memories.data_weights_dropped), reference.like(memories.data_weights_dropped(algorithm))
    for name in (name for name in OPTIONS if name in names and not (name == "option" and algorithm.personal)):
        for value, says in OPTIONS[name].items():
            if getattr(algorithm, name) != value:
                yield says, reference.like(replace(algorithm, **{name: value}))
    for mutant in MUTANTS:
        wrong = mutant(algorithm)
        if wrong is not None and (memory or algorithm.stateful or not wrong.stateful):
            says = clause(mutant)
            if mutant is memories.momentum_on_clients:
                says = says.replace("momentum", f"momentum {number(float(fraction(algorithm.beta)))}", 1)
            yield says, reference.like(wrong)
    corrected = isinstance(algorithm, (Scaffold, VRLSGD, FedNovaVR))
    others = residuals(algorithm.lr, reference.tau, algorithm.personal_lr) if algorithm.personal else \
        catalogue(algorithm.lr, reference.tau)
    for says, other in others:
        if type(other) is not type(algorithm) and (memory or not other.stateful):
            unused = corrected and says == NO_MEMORY
            yield UNUSED if unused else f"the code is {says}", reference.like(other)


def without_memories(says):
    """A clause beside a reference that has no memories."""
    return says.removesuffix(NO_ACT).removesuffix(", in the model and in the memories")


def pairs(reference, factor=1):
    """Yield (clause, wrong `Reference`): SCAFFOLD with two of its variates' faults at once. factor: of the step size that its
    update divides by, where that is another than the one of its steps; then with one fault."""
    algorithm = replace(reference.algorithm, steps=reference.tau)
    if type(algorithm) is not Scaffold:
        return
    usual = {f.name: getattr(memories.Control, f.name) for f in fields(memories.Control) if hasattr(memories.Control, f.name)}
    wrong = [(clause(mutant), mutant(algorithm)) for mutant in memories.VARIATES.values()]
    wrong = [(says, {k: getattr(a, k) for k, v in usual.items() if k in CONTROLS and getattr(a, k) != v})
             for says, a in wrong if a is not None]
    values = {f.name: getattr(algorithm, f.name) for f in fields(algorithm)}
    for says, first in wrong if factor != 1 else ():
        if "factor" not in first:
            yield says, reference.like(memories.Control(**values, **first, factor=factor))
    for (one, first), (two, second) in itertools.combinations(wrong, 2):
        if not set(first) & set(second):
            yield f"{one}; and {two}", reference.like(memories.Control(**values, **first, **second))


def numbers(reference, memory):
    """Yield (clause of a value, wrong `Reference` of a value, starting values): faults with one number to fit."""
    algorithm, like = replace(reference.algorithm, steps=reference.tau), reference.like
    kind, tau = type(algorithm), reference.tau
    stated = {f.name: getattr(algorithm, f.name) for f in fields(algorithm)}

    def with_field(wrong, name):
        return lambda value: like(wrong(**stated | {name: value}))

    if kind is Scaffold:
        steps = f"the clients make {', '.join(str(k) for k in dict.fromkeys(tau))}"
        if algorithm.option == 2:
            yield lambda v: f"the client variates are divided by {number(v)} step{'' if number(v) == '1' else 's'} instead " \
                f"of all local steps ({steps}): batches, not batches times epochs?", \
                with_field(memories.Control, "divisor"), (1, 3, 12)
            yield lambda v: f"the client variates are divided by {number(v)} times the local steps ({steps}): batches, " \
                "not batches times epochs?", with_field(memories.Control, "factor"), (1 / 8, 1 / 3, 3 / 4, 3 / 2, 5)
        yield lambda v: f"the server variate c moves {number(v)} times as far as it should", \
            with_field(memories.Control, "pace"), (0.3, 2, -1)
    if kind is ServerMomentum:
        yield lambda v: f"the server's momentum is dampened by {number(v)}: v <- beta v + {number(1 - v)} D from the second " \
            "round on, as torch does", with_field(memories.ServerBuffer, "dampening"), (float(fraction(algorithm.beta)), 0.1)
    if memory and not algorithm.stateful and not hasattr(algorithm, "beta"):
        yield lambda v: f"the step size is multiplied by {number(v)} after every round (a schedule that runs on)", \
            lambda v: like(local.Decaying(algorithm.lr, tau, algorithm, v)), (0.9, 0.5)
    for name in ("lr", "personal_lr", "beta", "tau_eff", "alpha", "mu", "server_lr"):
        value = getattr(algorithm, name, None)
        if value is not None and fraction(value):
            value = float(fraction(value))
            yield _stated(name, value), with_field(kind, name), (value / 2, value * 2, value * 0.9)


def _stated(name, value):
    what = "the step size" if name == "lr" else name
    return lambda v: f"{what} is {number(v)} where {number(value)} is stated" + (f" ({number(v / value)} times)" if name != "beta"
                                                                                 else "")


def fitted(case, make, starts, tolerance):
    """(one number such that case.misses(make, number), an array or None, vanishes; the gap there); (None, inf) without one.

    Gauss-Newton with secants: only fits to `tolerance` count.
    """
    for start in starts:
        old, new = start, start * 1.01
        before = case.misses(make, old)
        for _ in range(16):
            gaps = case.misses(make, new)
            if gaps is None or before is None or new == old:
                break
            if np.abs(gaps).max() <= tolerance / 100:
                break
            slope = (gaps - before) / (new - old)
            step = -(gaps * slope).sum() / max((slope * slope).sum(), 1e-300)
            old, before, new = new, gaps, new + float(np.clip(step, -abs(new) * 2, abs(new) * 2))
        if gaps is not None and np.abs(gaps).max() <= tolerance:
            return new, case.gap(make(new))
    return None, np.inf


def catalogue(lr, steps):
    """(name, algorithm) of the catalogue's methods without further numbers, for code whose steps are known."""
    return [(NO_MEMORY, FedAvg(lr, steps)), ("FedNova" + NO_ACT, FedNova(lr, steps)),
            ("SCAFFOLD, option II", Scaffold(lr, steps)), ("SCAFFOLD, option I", Scaffold(lr, steps, option=1)),
            ("VRL-SGD, divided by the client's own steps", VRLSGD(lr, steps)),
            ("VRL-SGD, divided by the mean steps", VRLSGD(lr, steps, divisor="mean")), ("MIFA", Mifa(lr, steps)),
            ("FOCUS", Focus(lr, steps)), ("FOCUS with a warm start", Focus(lr, steps, "warm")),
            ("FedNova with variance reduction", FedNovaVR(lr, steps)),
            ("FedNova with variance reduction as printed", FedNovaVR(lr, steps, variant="printed")),
            ("FedAU", FedAu(lr, steps)), ("FedVARP", FedVarp(lr, steps))]


def residuals(lr, steps, personal_lr):
    """(name, algorithm) of the methods with personal parameters."""
    return [("FedResAvg, option II", FedResAvg(lr, steps, personal_lr=personal_lr)),
            ("FedResAvg, option I", FedResAvg(lr, steps, personal_lr=personal_lr, option=1)),
            ("FedResSGD", FedResSgd(lr, steps, personal_lr=personal_lr)),
            ("FedResNaive, in sequence", FedResNaive(lr, steps, personal_lr=personal_lr, order="seq")),
            ("FedResNaive, simultaneous", FedResNaive(lr, steps, personal_lr=personal_lr, order="sim"))]
