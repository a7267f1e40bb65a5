"""Many replicates of a run, and one of one, against the loop over clients that one writes with numpy."""
from __future__ import annotations

import math
import statistics
import time

import numpy as np

from fltheory.algorithms.focus import Focus
from fltheory.algorithms.scaffold import Scaffold
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.laws.draw import everyone
from fltheory.core.laws.memoryless import Full, Uniform
from fltheory.core.numbers.scalars import FLOAT
from fltheory.runs import run
from verification.engine.bench.timing import CLIENTS, DIMENSION, LR, STEPS, random_quadratic

COHORT, SIGMA, REPEATS = 10, 1.0, 11
METHODS = {"FedAvg": FedAvg(LR, STEPS), "Scaffold": Scaffold(LR, STEPS), "Focus": Focus(LR / 10, STEPS)}
REPLICATES = (256, 1024, 4096)
ROUNDS = {256: 64, 1024: 16, 4096: 4}   # of one timed run
ALONE = 100                             # rounds of a run of one replicate, and of its loop


def sampled(methods=METHODS, replicates=REPLICATES, repeats=REPEATS) -> list[tuple]:
    """[(what, seconds of a round of the loop, ratio with every noise drawn, ratio with collapsed noise)].

    10 of 100 clients without replacement, 5 noisy local steps in 50 dimensions, with audit. Seconds of the processor on one thread;
    a ratio is the median over `repeats` of one loop beside one run, for each replicate and round.
    """
    problem, out = random_quadratic(CLIENTS, DIMENSION), []
    for name, algorithm in methods.items():
        for number in replicates:
            rounds = ROUNDS.get(number, 8)

            def made(rounds=rounds, algorithm=algorithm, number=number, **options):
                return run(algorithm, problem, Uniform(COHORT), rounds, number, noise=SIGMA, **options)
            made(1), made(1, collapsed=True)
            pairs = [tuple(_seconds(task) / per for task, per in (
                (lambda name=name: loop(name, problem, ALONE), ALONE), (made, rounds * number),
                (lambda made=made: made(collapsed=True), rounds * number))) for _ in range(repeats)]
            base = statistics.median(p[0] for p in pairs)
            out.append((f"{name}, {number} replicates", base, *(statistics.median(p[0] / p[k] for p in pairs) for k in (1, 2))))
    return out


def single(repeats=REPEATS) -> list[tuple]:
    """[(what, seconds of a round of the loop, ratio)]: every client, exact gradients, one replicate, without audit."""
    problem = random_quadratic(CLIENTS, DIMENSION)
    algorithm, prob = METHODS["FedAvg"].to(FLOAT), problem.to(FLOAT)
    draw, state = everyone(CLIENTS, STEPS), METHODS["FedAvg"].init(prob, np.ones(DIMENSION))

    def rounds():
        for _ in range(ALONE):
            algorithm.round(prob, state, draw)
    tasks = {"one round": rounds, "a whole run": lambda: run(METHODS["FedAvg"], problem, Full(), ALONE, audit=False)}
    out = []
    for what, task in tasks.items():
        task()
        pairs = [(_seconds(lambda: full_loop(problem, ALONE)) / ALONE, _seconds(task) / ALONE) for _ in range(repeats)]
        out.append((what, statistics.median(a for a, _ in pairs), statistics.median(a / b for a, b in pairs)))
    return out


def full_loop(problem, rounds, x=None):
    """The server model after rounds of FedAvg with every client and exact gradients."""
    H, b, p = problem.H, problem.b, 1 / problem.n
    x = np.zeros(problem.d) if x is None else x
    for _ in range(rounds):
        total = np.zeros(problem.d)
        for i in range(problem.n):
            y = x
            for _ in range(STEPS):
                y = y - LR * (H[i] @ y - b[i])
            total += p * (y - x)
        x = x + total
    return x


def loop(name, problem, rounds, seed=0):
    """The server models (rounds + 1, d) of one noisy run with drawn cohorts, by name of the method."""
    rng, n, x, models = np.random.default_rng(seed), problem.n, np.zeros(problem.d), []
    own, server = np.zeros((n, problem.d)), np.zeros(problem.d)
    for _ in range(rounds):
        models.append(x)
        members = rng.choice(n, min(COHORT, n), replace=False)
        x, server = LOOPS[name](problem, rng, members, x, server, own)
    return np.array([*models, x])


def _gradient(problem, rng, i, y):
    return problem.H[i] @ y - problem.b[i] + SIGMA / math.sqrt(problem.d) * rng.standard_normal(problem.d)


def _fedavg(problem, rng, members, x, server, own):
    total = 0
    for i in members:
        y = x
        for _ in range(STEPS):
            y = y - LR * _gradient(problem, rng, i, y)
        total = total + (y - x)
    return x + total / len(members), server


def _scaffold(problem, rng, members, x, c, ci):
    total, changed = 0, 0
    for i in members:
        y = x
        for _ in range(STEPS):
            y = y - LR * (_gradient(problem, rng, i, y) - ci[i] + c)
        new = ci[i] - c + (x - y) / (STEPS * LR)
        changed, total, ci[i] = changed + (new - ci[i]), total + (y - x), new
    return x + total / len(members), c + changed / problem.n


def _focus(problem, rng, members, x, pushed, stored):
    for i in members:
        u, g, v = x, stored[i], 0
        for _ in range(STEPS):
            new = _gradient(problem, rng, i, u)
            v, g = v + (new - g), new
            u = u - LR / 10 * v
        stored[i], pushed = g, pushed + v
    return x - LR / 10 * pushed, pushed


LOOPS = {"FedAvg": _fedavg, "Scaffold": _scaffold, "Focus": _focus}


def _seconds(task):
    start = time.process_time()
    task()
    return time.process_time() - start


__all__ = ["full_loop", "loop", "sampled", "single"]
