"""What all benchmarks share: the problem, and times of repeated runs in one process."""
from __future__ import annotations

import statistics
import time

import numpy as np

from fltheory.core.problems.quadratic import Quadratic
from fltheory.runs.streams import Stream

CLIENTS, DIMENSION, STEPS, LR = 100, 50, 5, 0.05


def random_quadratic(n, d, seed=0) -> Quadratic:
    """n random well-conditioned quadratics in dimension d (floats)."""
    rng = Stream(seed, "bench").generator()
    H = [a @ a.T / d + np.eye(d) for a in rng.standard_normal((n, d, d))]
    return Quadratic([(h + h.T) / 2 for h in H], rng.standard_normal((n, d)))


def median(task, repeats, inner=1):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(inner):
            task()
        times.append((time.perf_counter() - start) / inner)
    return statistics.median(times)


def least(task, repeats):
    times = []
    for _ in range(repeats):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return min(times)


__all__ = ["CLIENTS", "DIMENSION", "LR", "STEPS", "least", "median", "random_quadratic"]
