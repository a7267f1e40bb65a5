"""Runs of the experiments, one cell after the other: a task, a method, a suspension probability, five seeds of events side by side.

A finished cell is kept in `reports/cells`, so that an interrupted `fltheory reproduce` goes on where it stopped; a cell is looked
up by everything that it depends on, the engine's text included.
"""
import functools
import hashlib
import time
from fractions import Fraction as Q
from pathlib import Path

import numpy as np

import fltheory as ft
from fltheory.asynchronous.events import record
from fltheory.runs.sources import digest
from fltheory.runs.trace import write_atomically
from verification.asyncfeded import digits, synthetic, text
from verification.asyncfeded.published import METHODS, PS
from verification.asyncfeded.tasks import RHO, SECOND, STEPS

KEPT, ENGINE = Path("reports") / "cells" / "asyncfeded", Path(ft.__file__).parent
ROOMS = ("core", "algorithms", "asynchronous", "runs")   # what a cell runs
REPLICATES, SEED, LIMIT, EVERY, EARLY = 5, 1, 10**5, 5, 30
TASKS = {"Synthetic": synthetic.softmax, "digits": digits.network, "text": text.network, "Synthetic, MLP": synthetic.perceptron}
SWEPT = {"Synthetic": PS, "digits": PS, "text": PS[::3], "Synthetic, MLP": (Q(1, 10), Q(6, 10))}
ALPHAS = (Q(1, 100), Q(1, 10), Q(3, 10), Q(1, 2), Q(9, 10))     # swept by Table 2
# Tables 1 to 4: mu; alpha; (a, b); (lambda/eps, lambda, gbar, kappa)
SELECTED = {"Synthetic": (Q(1, 10), Q(1, 10), (5, 5), (1, 5, 3, 1)),
            "FEMNIST": (1, Q(1, 2), (Q(1, 2), Q(1, 2)), (1, 1, 3, Q(1, 20))),
            "Shakespeare": (Q(1, 100), Q(1, 10), (15, 15), (Q(1, 2), 5, 3, 1))}


def task(name):
    return TASKS[name]()


def ours(t, setting=None, **options):
    """AsyncFedED at (lambda/eps, lambda, gbar, kappa), those of Table 4 unless others are given."""
    most, lam, gbar, kappa = setting or SELECTED[t.paper][3]
    return ft.AsyncFedED(t.lr, lam=lam, eps=Q(lam) / Q(most), gbar=gbar, kappa=kappa, solver=ft.Momentum(RHO), **options)


def constant(t, alpha=None):
    return ft.FedAsync(t.lr, alpha=SELECTED[t.paper][1] if alpha is None else alpha, solver=ft.Momentum(RHO))


def hinge(t, pair=None, unit="time"):
    """FedAsync with the hinge: the lag in seconds ("time"), or in changes of the server ("arrivals"); base alpha of Table 2."""
    a, b = pair or SELECTED[t.paper][2]
    a, b = (Q(a) / SECOND, Q(b) * SECOND) if unit == "time" else (a, b)
    return ft.FedAsync(t.lr, alpha=SELECTED[t.paper][1], staleness="hinge", a=a, b=b, unit=unit, solver=ft.Momentum(RHO))


def averaging(t):
    return ft.FedAvg(t.lr, solver=ft.Momentum(RHO))


def proximal(t, mu=None):
    return ft.FedAvg(t.lr, solver=ft.MomentumProximal(RHO, Q(t.lr) * Q(SELECTED[t.paper][0] if mu is None else mu)))


def method(t, name):
    """A method of the paper with the settings that Tables 1 to 4 select for the task that t stands for."""
    return dict(zip(METHODS, (ours, constant, hinge, averaging, proximal), strict=True))[name](t)


@functools.cache
def _engine():
    """A digest of the text of the engine."""
    h = hashlib.sha256()
    for path in sorted(path for room in ROOMS for path in (ENGINE / room).rglob("*.py")):
        h.update(path.read_bytes())
    return h.hexdigest()


def asynchronous(algorithm):
    return getattr(type(algorithm), "arrivals", False)


def cell(t, algorithm, P=Q(1, 10), seconds=None, replicates=REPLICATES, steps=STEPS):
    """The arrays of one cell: of measured points `at` (points, seeds) seconds and `accuracy` in percent; of arrivals `when`
    (seconds), `client`, `gamma` and `K` (arrivals, seeds); `early`, the loss (seeds,) after 30 arrivals, or 3 rounds; `cpu`."""
    law, horizon = t.law(P, steps), t.seconds if seconds is None else seconds
    name = digest(algorithm, t.problem, law, t.x0, t.test, str(horizon), replicates, SEED, _engine())
    path = KEPT / f"{name}.npz"
    if path.is_file():
        with np.load(path) as kept:
            return dict(kept)
    began = time.process_time()
    found = _run(t, algorithm, law, horizon, replicates) | {"cpu": np.array(time.process_time() - began)}
    KEPT.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda f: np.savez_compressed(f, **found))
    return found


def _run(t, algorithm, law, seconds, replicates):
    import torch
    torch.set_num_threads(1)
    every = EVERY if asynchronous(algorithm) else 1
    e = record(algorithm, t.problem, law, LIMIT, replicates, SEED, x0=t.x0, metrics={"wrong": t.error, "error": None},
               every=every, until=seconds * SECOND)
    kept = {"when": e.time / SECOND, "client": e.client, "gamma": e.gamma, "K": e.K}
    return {"at": e.metric_times() / SECOND, "accuracy": 100 - e.metrics["wrong"], "early": early(t, algorithm, law, replicates),
            **{k: np.asarray(v, dtype=np.float32) for k, v in kept.items()}}


def early(t, algorithm, law, replicates=REPLICATES):
    """The loss (replicates,) over all clients after the first 30 arrivals, or 3 rounds: what a claim runs again."""
    import torch
    e = record(algorithm, t.problem, law, EARLY if asynchronous(algorithm) else EARLY // 10, replicates, SEED, x0=t.x0,
               metrics={"wrong": t.error, "error": None}, every=EARLY)
    return t.problem.to(ft.Torch()).value(torch.as_tensor(e.final)).detach().numpy()


# ---- what is read off a cell ------------------------------------------------------------------------------------------
def on_grid(found, times):
    """Accuracy (times, seeds): the last one measured by each time."""
    at, seen = found["at"], found["accuracy"]
    place = np.stack([np.searchsorted(at[:, r], times, side="right") - 1 for r in range(at.shape[1])], 1)
    return np.take_along_axis(seen, place, 0)


def within(found, seconds):
    """Accuracy (points, seeds) where it was measured by that time, else -inf."""
    return np.where(found["at"] <= seconds, found["accuracy"], -np.inf)


def first(found, level, seconds):
    """Seconds (seeds,) to a level, a number or one for each seed; inf where it is not reached within the time."""
    reached = within(found, seconds) >= level
    when = np.take_along_axis(found["at"], reached.argmax(0)[None], 0)[0]
    return np.where(reached.any(0), when, np.inf)
