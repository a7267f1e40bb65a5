"""Wrong neighbours of a reference, compared with the code as whole maps: for faults that hide in memories."""
from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from fltheory.blackbox.result import number
from fltheory.blackbox.wrong import (
    Control,
    Decaying,
    InTurn,
    Kept,
    Remembered,
    ServerBuffer,
    Tracking,
    Unweighted,
    Weighing,
)
from fltheory.core.algorithms.fedau import FedAu
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.fednova import FedNova
from fltheory.core.algorithms.fednova_vr import FedNovaVR
from fltheory.core.algorithms.fedvarp import FedVarp
from fltheory.core.algorithms.focus import Focus
from fltheory.core.algorithms.mifa import Mifa
from fltheory.core.algorithms.scaffold import Scaffold
from fltheory.core.algorithms.server_momentum import ServerMomentum
from fltheory.core.algorithms.solvers import Decay, Momentum, Vanilla
from fltheory.core.algorithms.vrlsgd import VRLSGD
from fltheory.core.scalars import fraction

CONTROLS = [
    ({"longer": 1}, "the client variates are divided by one local step too many (steps + 1)"),
    ({"longer": -1}, "the client variates are divided by one local step too few (steps - 1)"),
    ({"order": "no lr"}, "the client variates are not divided by the step size"),
    ({"order": "none"}, "c is not subtracted when the client variates are updated"),
    ({"order": "end"}, "the client variate is the gradient at the local model instead of the server model"),
    ({"order": "lost"}, "the client variates are computed and sent, but never stored"),
    ({"order": "whole"}, "a client sends its new variate where the server adds the change c_i_new - c_i"),
    ({"order": "from c"}, "the server variate moves by c_i_new - c instead of c_i_new - c_i: it is no mean of the c_i any more"),
    ({"server": "plain"}, "the server variate c moves by the plain mean of the clients' changes, not weighted by p_i"),
    ({"server": "participants"}, "the server variate's weights are renormalised over the participants (p_i/p_S, not p_i)"),
    ({"server": "mean"}, "the server variate is divided by the number |S| of participants instead of all clients"),
    ({"server": "frozen"}, "the server variate c is never updated"),
    ({"server": "sum"}, "the server variate adds the clients' changes without averaging them"),
    ({"early": True}, "the server variate c moves after each client, so that later clients of the round use the new one"),
    ({"sign": -1}, "the correction c - c_i enters the local step with the wrong sign"),
    ({"sign": 0}, "the control variates are not used in the local steps (plain FedAvg)"),
    ({"sign": "client"}, "the local correction is -c_i alone: the server variate is missing"),
]
ONLY = {1: ("end",), 2: ("longer", "none", "no lr", "factor", "divisor")}   # parts that one option alone has
TRACKING = {
    "mean": "the server averages the pushed changes instead of summing them (over n)",
    "cohort mean": "the server averages the pushed changes instead of summing them (over |S|)",
    "reset": "nothing is tracked: the server's sum starts from 0 every round",
    "late": "the server moves by the sum y it had before the pushes arrived",
    "first": "a client stores its first gradient of the round instead of its last",
    "forgotten": "the clients forget their stored gradient between rounds",
    "tracker": "a client's tracker is not reset to 0 after it was pushed",
    "models": "the server takes the mean of the clients' models instead of its own step",
}
TURNS = {"copies": "the clients train one after the other on one model object, each starting where the last one ended "
                   "(no deep copy); the models seen on the way are averaged",
         "last": "the clients train one after the other on one model object, each starting where the last one ended "
                 "(no deep copy), and the average is of that one object",
         "alone": "only the last participant's model counts: all entries of the average are one object"}
REMEMBERED = {
    "shared": TURNS["last"],
    "ascent": "the server's step has the wrong sign: it adds the mean of the updates x - y_i (ascent)",
    "own": "an update is measured from the client's own previous local model instead of the server model",
}
INTERVALS = [   # the two last ones also together, as in the public scripts
    ({"weight": "stuck", "divisor": "sum"}, "no interval ever ends, so all counters are equal and cancel: plain FedAvg"),
    ({"weight": "stuck"}, "no interval ever ends: the weight of a participant is the number of rounds so far"),
    ({"weight": "last"}, "no interval ever ends (the counter is reset in the wrong branch?): a weight is the number of rounds up "
     "to the client's last participation"),
    ({"weight": "none"}, "the counted weights are not used"),
    ({"divisor": "sum"}, "the sum is divided by the sum of the weights instead of the number of all clients"),
    ({"weight": "current"}, "a weight includes the interval that ends in the very round (the current interval)"),
    ({"weight": "current", "divisor": "sum"}, "a weight includes the interval that ends in the very round (the current "
     "interval), and the sum is divided by the sum of the weights instead of the number of all clients"),
]
OTHERS = {
    "option": {1: "the client variate is the gradient at the server model (option I, not II)",
               2: "the client variate is the mean local gradient (option II, not I)"},
    "variant": {v: f"the code is the variant {v!r}" for v in ("printed", "repaired")},
    "divisor": {v: f"the correction is divided by the {text} (divisor = {v!r})"
                for v, text in (("own", "client's own steps"), ("mean", "clients' mean steps"))},
    "start": {"zero": "the stored gradients and their sum start at 0: there is no warm start",
              "warm": "the start is warm: gradients at the first model are stored and summed before the first round"},
    "averaging": {"weighted": "the participants' p_i are renormalised over the cohort (p_i / p_S)",
                  "plain": "every participant counts alike (1/|S|): the data weights p_i are dropped",
                  "unbiased": "the weights are p_i n/|S|"},
}


def neighbours(reference, memory):
    """Yield (sentence, wrong `Reference`). memory: whether the code can have memories of clients."""
    algorithm, tau, like = reference.algorithm, reference.tau, reference.like
    kind, names = type(algorithm), {f.name for f in fields(algorithm)}
    yield "the data weights p_i are dropped: every client counts alike, in the model and in the memories", \
        Unweighted(reference)
    for name, values in OTHERS.items():
        for value, sentence in values.items() if name in names and kind.__module__.startswith("fltheory.") else ():
            if getattr(algorithm, name) != value:
                yield sentence, like(replace(algorithm, steps=tau, **{name: value}))
    if kind is FedAvg or (kind is FedNova and algorithm.tau_eff is None):
        for how, sentence in TURNS.items():
            if reference.n > 1:
                yield sentence, InTurn(reference, how)
        if memory and hasattr(algorithm.solver, "rho"):
            yield "the local momentum buffers are kept between rounds (one optimiser for the whole training)", \
                like(Kept(algorithm.lr, tau, algorithm))
        if memory and type(algorithm.solver) is Decay:
            yield "the step size goes on decaying in later rounds (one schedule for the whole training)", Decaying(reference)
    if kind is FedAu and reference.n > 1:
        yield TURNS["last"], InTurn(like(FedAvg(algorithm.lr, tau)), "last")
    if kind is Mifa:
        for how, sentence in REMEMBERED.items():
            yield sentence, like(Remembered(algorithm.lr, tau, how))
    if kind is FedAu:
        given = {name: getattr(algorithm, name) for name in names} | {"steps": tau}
        for change, sentence in INTERVALS:
            if algorithm.weights is None or change.get("weight", "none") == "none":
                yield sentence, like(Weighing(**given, **change))
    if kind is Scaffold:
        for change, sentence in CONTROLS:
            if {*change, *change.values()}.isdisjoint(ONLY[3 - algorithm.option]) \
                    and not (change.get("longer") == -1 and min(tau) == 1):
                yield sentence, like(Control(algorithm.lr, tau, algorithm.option, algorithm.server_lr, **change))
    if kind is Focus:
        for how, sentence in TRACKING.items():
            yield sentence, like(Tracking(algorithm.lr, tau, how, algorithm.start))
    if kind is ServerMomentum:
        b = algorithm.beta
        given = {name: getattr(algorithm, name) for name in names} | {"steps": tau}
        yield "the server's momentum is missing (beta = 0, or a buffer made anew each round)", \
            like(replace(algorithm, steps=tau, beta=0))
        if type(algorithm.solver) is Vanilla:
            yield f"the momentum {number(float(fraction(b)))} is in the clients' local steps instead of at the server", \
                like(replace(algorithm, steps=tau, beta=0, solver=Momentum(b)))
        yield "the server's momentum uses Nesterov's look-ahead", like(ServerBuffer(**given, nesterov=True))
    for more in (1, -1):
        if min(tau) + more >= 1:
            yield f"every client makes one local step too {'many' if more == 1 else 'few'}", \
                like(replace(algorithm, steps=tuple(k + more for k in tau)))
    for sentence, other in memories(algorithm.lr, tau):
        if type(other) is not kind and (memory or not other.stateful):
            yield f"the code is {sentence}", like(other)


def numbers(reference, memory):
    """Yield (sentence of a value, wrong `Reference` of a value, starting values): faults with one number to fit."""
    algorithm, tau, like = reference.algorithm, reference.tau, reference.like
    kind, made = type(algorithm), f"the clients make {', '.join(str(k) for k in dict.fromkeys(tau))}"
    if kind is Scaffold:
        def control(name):
            return lambda v: like(Control(algorithm.lr, tau, algorithm.option, algorithm.server_lr, **{name: v}))
        if algorithm.option == 2:
            yield lambda v: f"the client variates are divided by {number(v)} step{'' if number(v) == '1' else 's'} instead " \
                f"of all local steps ({made}): batches, not batches times epochs?", control("divisor"), (1, 3, 12)
            yield lambda v: f"the client variates are divided by {number(v)} times the local steps ({made}): batches, " \
                "not batches times epochs?", control("factor"), (1 / 8, 1 / 3, 3 / 4, 3 / 2, 5)
        yield lambda v: f"the server variate c moves {number(v)} times as far as it should", control("pace"), (0.3, 2, -1)
    if kind is ServerMomentum:
        given = {f.name: getattr(algorithm, f.name) for f in fields(algorithm)} | {"steps": tau}
        yield lambda v: f"the server's momentum is dampened by {number(v)}: v <- beta v + {number(1 - v)} D from the second " \
            "round on, as torch does", lambda v: like(ServerBuffer(**given, dampening=v)), (float(fraction(algorithm.beta)), 0.1)
    if memory and not algorithm.stateful and not hasattr(algorithm, "beta"):
        yield lambda v: f"the step size is multiplied by {number(v)} after every round (a schedule that runs on)", \
            lambda v: Decaying(reference, v), (0.9, 0.5)
    for name in ("lr", "beta", "tau_eff", "alpha", "server_lr"):
        value = getattr(algorithm, name, None)
        if value is not None and fraction(value):
            value = float(fraction(value))
            text = "the step size" if name == "lr" else name
            yield lambda v, text=text, value=value: f"{text} is {number(v)} where {number(value)} is stated" \
                + (f" ({number(v / value)} times)" if text != "beta" else ""), \
                lambda v, name=name: like(replace(algorithm, steps=tau, **{name: v})), (value / 2, value * 2, value * 0.9)


def fitted(misses, made, starts, tolerance):
    """One number such that misses(made, number), an array or None, vanishes; None if none is found.

    Gauss-Newton with secants: only fits to `tolerance` count.
    """
    for start in starts:
        old, new = start, start * 1.01
        before = misses(made, old)
        for _ in range(16):
            now = misses(made, new)
            if now is None or before is None or new == old:
                break
            if np.abs(now).max() <= tolerance / 100:
                break
            slope = (now - before) / (new - old)
            step = -(now * slope).sum() / max((slope * slope).sum(), 1e-300)
            old, before, new = new, now, new + float(np.clip(step, -abs(new) * 2, abs(new) * 2))
        if now is not None and np.abs(now).max() <= tolerance:
            return new
    return None


def memories(lr, steps):
    """(name, algorithm) of the catalogue's methods without further numbers, for code whose steps are known."""
    return [("FedAvg: no memory acts", FedAvg(lr, steps)), ("FedNova: no memory acts", FedNova(lr, steps)),
            ("SCAFFOLD, option II", Scaffold(lr, steps)), ("SCAFFOLD, option I", Scaffold(lr, steps, option=1)),
            ("VRL-SGD, divided by the client's own steps", VRLSGD(lr, steps)),
            ("VRL-SGD, divided by the mean steps", VRLSGD(lr, steps, divisor="mean")), ("MIFA", Mifa(lr, steps)),
            ("FOCUS", Focus(lr, steps)), ("FOCUS with a warm start", Focus(lr, steps, "warm")),
            ("FedNova with variance reduction", FedNovaVR(lr, steps)),
            ("FedNova with variance reduction as printed", FedNovaVR(lr, steps, variant="printed")),
            ("FedAU", FedAu(lr, steps)), ("FedVARP", FedVarp(lr, steps))]
