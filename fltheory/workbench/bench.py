"""Speed, measured: ratios against a plain Python loop over clients, in one process, medians of repeated runs."""
from __future__ import annotations

import heapq
import math
import statistics
import time

import numpy as np

from fltheory.core.algorithms.asyncfeded import AsyncFedED
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.focus import Focus
from fltheory.core.errors import MissingLibrary
from fltheory.core.laws.clock import EventClock
from fltheory.core.laws.draw import everyone, to_device
from fltheory.core.laws.memoryless import Bernoulli, Full
from fltheory.core.libraries import have
from fltheory.core.operators.operator import derive
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.runs import run
from fltheory.core.scalars import Torch
from fltheory.core.streams import Stream

CLIENTS, DIMENSION, STEPS, LR = 100, 50, 5, 0.05


def random_quadratic(n, d, seed=0) -> Quadratic:
    """n random well-conditioned quadratics in dimension d (floats)."""
    rng = Stream(seed, "bench").generator()
    H = [a @ a.T / d + np.eye(d) for a in rng.standard_normal((n, d, d))]
    return Quadratic([(h + h.T) / 2 for h in H], rng.standard_normal((n, d)))


def _median(task, repeats, inner=1):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(inner):
            task()
        times.append((time.perf_counter() - start) / inner)
    return statistics.median(times)


def measure(repeats=20) -> list[tuple]:
    """[(what, seconds, ratio to the plain loop, or None)]; medians of `repeats` runs on one thread."""
    import torch
    torch.set_num_threads(1)
    problem = random_quadratic(CLIENTS, DIMENSION)
    H, b, p = problem.H, problem.b, np.full(CLIENTS, 1 / CLIENTS)
    x = np.ones(DIMENSION)

    def loop():
        total = np.zeros(DIMENSION)
        for i in range(CLIENTS):
            y = x.copy()
            for _ in range(STEPS):
                y = y - LR * (H[i] @ y - b[i])
            total += p[i] * (y - x)
        return x + total

    op = derive(FedAvg(LR, STEPS), problem, Full())
    M, c = op.mean_map()
    domain = Torch("cpu")
    algorithm, prob = FedAvg(LR, STEPS).to(domain), problem.to(domain)
    draw, state = to_device(everyone(CLIENTS, STEPS), "cpu"), algorithm.init(prob, domain.array(x))
    if not np.allclose(loop(), M @ x + c, rtol=1e-12, atol=1e-12) or \
            not np.allclose(loop(), algorithm.round(prob, state, draw).x.numpy(), rtol=1e-12, atol=1e-12):
        raise AssertionError("the three routes of the benchmark disagree")
    base = _median(loop, repeats)
    focus = random_quadratic(16, 2, 1)
    chances = [f"{k}/20" for k in range(2, 18)]
    return [
        ("plain Python loop, one FedAvg round", base, 1.0),
        ("derived operator, one round", _median(lambda: M @ x + c, repeats, 200), None),
        ("torch round", _median(lambda: algorithm.round(prob, state, draw), repeats), None),
        ("derive the operator", _median(lambda: derive(FedAvg(LR, STEPS), problem, Full()), min(repeats, 5)), None),
        *[
            (
                f"FOCUS, 16 Bernoulli clients, d=2, empty rounds {e}: mean-square rate from scratch",
                _median(
                    lambda e=e: derive(Focus("1/200", 3), focus, Bernoulli(chances, empty=e)).mean_square_rate(),
                    min(repeats, 3),
                ),
                None,
            )
            for e in ("move", "skip", "redraw")
        ],
        (
            "its certified enclosure (relative width 1e-2)",
            _median(lambda: derive(Focus("1/200", 3), _short(focus), Bernoulli(chances)).certify(1e-2), 1),
            None,
        ),
    ]


def _short(problem):
    """The same problem with entries rounded to 20-bit rationals, so that exact arithmetic stays short."""
    from fractions import Fraction

    def cut(a):
        return np.vectorize(lambda v: Fraction(round(float(v) * 2**20), 2**20), otypes=[object])(a)
    return Quadratic.from_linear(cut(problem.H), cut(problem.b))


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
        loop = _least(lambda sigma=sigma: heap_loop(problem, sigma, 5 * ARRIVALS), repeats) / (5 * ARRIVALS)
        for replicates in REPLICATES:
            each = _least(lambda sigma=sigma, replicates=replicates: run(
                AsyncFedED("1/100"), problem, clock, ARRIVALS, replicates, noise=sigma), repeats) / (replicates * ARRIVALS)
            what = f"{replicates} replicates, {'noisy' if sigma else 'exact'} gradients"
            out.append((what, loop, loop / each))
    return out


def _least(task, repeats):
    times = []
    for _ in range(repeats):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return min(times)


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


WITHOUT = "PEPit is not installed: pip install pepit to compare worst cases with it"
WORST = ((2, 3, None), (4, 3, None), (4, 3, [4]))  # clients, local steps, and whether identical ones are counted


def worst_cases(repeats=5) -> list[tuple]:
    """[(what, our seconds, PEPit's seconds)] for the same value to 1e-6, both with Clarabel.

    Raises MissingLibrary without PEPit.
    """
    from fltheory.core.worstcase.classes import SmoothConvex
    from fltheory.core.worstcase.worst import worst_case
    if not have("PEPit"):
        raise MissingLibrary(WITHOUT)
    out = []
    for n, steps, counts in WORST:
        def ours(n=n, steps=steps, counts=counts):
            near = ["distance", lambda s: s.mean_square(s.grads(s.star)) <= 1]
            return worst_case(FedAvg("1/5", steps), SmoothConvex(1, "1/10"), initial=near, certify=False,
                              **({"clients": n} if counts is None else {"counts": counts})).value
        value, theirs = ours(), _pepit(n, steps)
        if abs(value - theirs) > 1e-6:
            raise AssertionError(f"worst cases differ: {value} here, {theirs} in PEPit")
        what = f"worst case of FedAvg, {n} clients, {steps} local steps{', identical ones counted' if counts else ''}"
        out.append((what, _median(ours, repeats), _median(lambda n=n, steps=steps: _pepit(n, steps), repeats)))
    return out


def _pepit(n, steps):
    """The same worst case in PEPit."""
    import warnings

    from PEPit import PEP
    from PEPit.functions import SmoothStronglyConvexFunction
    problem = PEP()
    clients = [problem.declare_function(SmoothStronglyConvexFunction, mu=0.1, L=1.0) for _ in range(n)]
    star, x = (sum(clients[1:], clients[0]) / n).stationary_point(), problem.set_initial_point()
    problem.set_initial_condition((x - star) ** 2 <= 1)
    problem.set_initial_condition(sum(f.gradient(star) ** 2 for f in clients) / n <= 1)
    moved = []
    for f in clients:
        y = x
        for _ in range(steps):
            y = y - 0.2 * f.gradient(y)
        moved.append(y / n)
    problem.set_performance_metric((sum(moved[1:], moved[0]) - star) ** 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what PEPit and cvxpy say of each other's versions
        return problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)


def table(repeats=20) -> str:
    """The measurements as a text table."""
    rows = measure(repeats)
    base = rows[0][1]
    lines = [f"{CLIENTS} clients, d={DIMENSION}, {STEPS} local steps; medians of {repeats} runs, one thread", ""]
    for what, seconds, _ in rows:
        lines.append(f"{what:<86} {seconds * 1e3:10.4f} ms   {base / seconds:10.2f} x the loop")
    lines += ["", f"arrivals of AsyncFedED on the event clock, {ARRIVING} clients, d={DIMENSION}, {RUN_STEPS} local steps"]
    lines += [f"{what:<86} {1e6 / ratio * loop:10.4f} us   {ratio:10.2f} x a loop over one heap"
              for what, loop, ratio in arrivals()]
    if have("PEPit"):
        lines += ["", "the same worst cases here and in PEPit, medians of 5 runs"]
        lines += [f"{what:<86} {here * 1e3:10.4f} ms   {there / here:10.2f} x PEPit's speed" for what, here, there in worst_cases()]
    else:
        lines += ["", WITHOUT]
    return "\n".join(lines)
