"""Arrivals of AsyncFedED on the event clock, batched, against a plain loop over one heap."""
from __future__ import annotations

import heapq
import math

import numpy as np

from fltheory.asynchronous.asyncfeded import AsyncFedED
from fltheory.asynchronous.event_clock import EventClock
from fltheory.runs import run
from verification.engine.bench.timing import DIMENSION, least, random_quadratic

ARRIVING, RUN_STEPS, ARRIVALS = 10, 10, 40   # clients, local steps of a run, and arrivals of each replicate
REPLICATES, NOISES = (256, 4096), (0, 1)


def arrivals(repeats=5) -> list[tuple]:
    """[(what, seconds per arrival of a plain loop over one heap, ratio of the batched clock's speed to it)], least of some repeats.

    AsyncFedED with clients of ten speeds that hang now and then; seconds of the processor, on one thread.
    """
    import torch
    torch.set_num_threads(1)
    problem = random_quadratic(ARRIVING, DIMENSION)
    clock = EventClock(tuple(range(1, ARRIVING + 1)), steps=RUN_STEPS, suspension="1/10")
    out = []
    for sigma in NOISES:
        loop = least(lambda sigma=sigma: heap_loop(problem, sigma, 5 * ARRIVALS), repeats) / (5 * ARRIVALS)
        for replicates in REPLICATES:
            each = least(lambda sigma=sigma, replicates=replicates: run(
                AsyncFedED("1/100"), problem, clock, ARRIVALS, replicates, noise=sigma), repeats) / (replicates * ARRIVALS)
            what = f"{replicates} replicates, {'noisy' if sigma else 'exact'} gradients"
            out.append((what, loop, loop / each))
    return out


def heap_loop(problem, sigma, number, seed=0):
    """Server models of one run of AsyncFedED as one writes it with numpy and a heap."""
    rng, H, b = np.random.default_rng(seed), problem.H, problem.b
    n, d, pace, lr, lam, eps, gbar, kappa = problem.n, problem.d, range(1, problem.n + 1), 0.01, 1, 1, 3, 0

    def lasts(i, K):
        return pace[i] * K + (pace[i] * K * 3 * rng.random() if rng.random() < 0.1 else 0)
    x, base, K = np.zeros(d), [np.zeros(d)] * n, [RUN_STEPS] * n
    queue, models = [(lasts(i, RUN_STEPS), i) for i in range(n)], []
    heapq.heapify(queue)
    for _ in range(number):
        now, i = heapq.heappop(queue)
        y = base[i]
        for _ in range(K[i]):
            g = H[i] @ y - b[i]
            if sigma:
                g = g + sigma / math.sqrt(d) * rng.standard_normal(d)
            y = y - lr * g
        delta = y - base[i]
        gamma = np.linalg.norm(x - base[i]) / np.linalg.norm(delta)
        x = x + lam / (gamma + eps) * delta
        K[i] = max(1, K[i] + math.floor((gbar - gamma) * kappa))
        base[i] = x
        models.append(x)
        heapq.heappush(queue, (now + lasts(i, K[i]), i))
    return models


__all__ = ["arrivals", "heap_loop"]
