"""Random problems, laws, solvers and methods: every answer of the package against loops that share nothing with it.

Floats to 1e-9, loosened by the conditioning of the equations (`agree.tolerance`); rationals exactly. A case is accepted
if nothing about it was refused: all are reasonable, so that a refusal is a disagreement.
"""
import functools
import os
from collections import Counter
from fractions import Fraction

import pytest

pytest.importorskip("torch")

import numpy as np

import fltheory as ft
from fltheory.algorithms.catalogue import discover
from tests.fuzz.agree import Agreement
from tests.fuzz.drawn import LAWS, LOOPS, METHODS, SOLVERS, Draw
from tests.naive import arrivals, asyncfeded
from tests.naive.vectors import QuadraticClients

SEED = os.environ.get("FLTHEORY_FUZZ_SEED", "agreement")
WAYS = [(name, way) for name, ways in METHODS.items() for way in range(ways)]
RUNS = [(name, way) for name, ways in [*METHODS.items(), *LOOPS.items()] for way in range(ways)]
FAST, FAST_RUNS = 48, 12
BLOCKS, EACH, EACH_RUNS = 10, 42, 6
LEAST = {"rate": 0.9, "fixed point": 0.7, "mean-square rate": 0.6, "stationary covariance": 0.5, "optimum": 0.4,
         "surrogate weights": 0.2}  # share of the cases in which this was really compared


def drawn(number, large=False, loops=False):
    name, way = (RUNS if loops else WAYS)[number % len(RUNS if loops else WAYS)]
    return Draw(f"{SEED} {number} {large} {loops}", name, way, large, loops)


def agree(numbers, large=False):
    """(accepted cases, what was compared): fails with every disagreement of these numbers."""
    accepted, made, wrong = [], Counter(), []
    for number in numbers:
        case = drawn(number, large).case()
        found = Agreement(case).compared()
        made += found.made
        wrong += [f"{gap}\n    {case}" for gap in found.gaps]
        accepted += [case] * (not found.gaps)
    assert not wrong, "\n".join(wrong)
    return accepted, made


def follow(numbers):
    """Runs without chance against loops; how many."""
    wrong, count = [], 0
    for number in numbers:
        draw = drawn(number, loops=True)
        found = Agreement(draw.case()) if draw.name not in ARRIVALS else None
        gaps = asynchronous(draw) if found is None else found.followed()
        wrong += [f"{gap}\n    seed {draw.seed}" for gap in gaps]
        count += 1
    assert not wrong, "\n".join(wrong)
    return count


ARRIVALS = {"AsyncFedED", "FedAsync", "FedBuff"}


def asynchronous(draw):
    """Methods whose order of arrivals the state decides, against their event queue."""
    n, d = draw.sizes()
    problem, data, L = draw.quadratic(n, d)
    pace, sent = ([draw.random.randint(low, high) for _ in range(n)] for low, high in ((1, 4), (0, 3)))
    K = draw.random.randint(1, 4)
    lr, x0 = 0.3 / L, [draw.number(-3, 3) for _ in range(d)]
    clients = QuadraticClients(data.H.tolist(), data.b.tolist(), data.p)
    algorithm, server = asynchronous_method(draw, lr, K)
    events = server(clients, x0, lr, K0=K, c=pace, arrivals=12, r=sent)
    seen = np.array([x0, *(e["x"] for e in events)])
    metrics = {f"x{k}": lambda x, k=k: x[:, k] for k in range(d)}
    trace = ft.run(algorithm, problem, ft.EventClock(pace, transmission=sent), 12, x0=x0, metrics=metrics)
    found = np.stack([trace.mean(f"x{k}") for k in range(d)], axis=1)
    gap, size = np.abs(found - seen).max(), np.abs(seen).max()
    return [] if gap <= 1e-9 * size else [f"run of {draw.name}: {gap} apart at size {size}"]


def asynchronous_method(draw, lr, K):
    """(algorithm, its event queue)."""
    if draw.name == "AsyncFedED":
        lam, eps, gbar, kappa = draw.positive(1, 2), draw.positive(1, 2), draw.positive(1, 4), draw.random.choice([0, 0.5])
        return ft.AsyncFedED(lr, K, lam, eps, gbar, kappa), functools.partial(asyncfeded.events, lam=lam, eps=eps, gbar=gbar,
                                                                              kappa=kappa)
    if draw.name == "FedBuff":
        size, step = draw.random.randint(1, 3), draw.positive(Fraction(1, 2), 1)
        return ft.FedBuff(lr, K, size, step), functools.partial(arrivals.events, server=arrivals.fedbuff(size, step))
    alpha, a, b = draw.positive(Fraction(1, 5), 1), draw.positive(1, 3), draw.random.randint(0, 4)
    kind, unit = ["constant", "hinge", "polynomial"][draw.way], draw.random.choice(["arrivals", "time"])
    return ft.FedAsync(lr, K, alpha, kind, a, b, unit), functools.partial(
        arrivals.events, server=arrivals.fedasync(alpha, kind, a, b, "lag" if unit == "arrivals" else unit))


def test_every_method_of_the_catalogue_is_drawn():
    assert {cls.__name__ for cls in discover()} == set(METHODS) | set(LOOPS)
    assert {name for name, cls in ((c.__name__, c) for c in discover())
            if isinstance(cls.affine, property) or not cls.affine} <= set(LOOPS)


def test_there_are_enough_cases():
    assert FAST + FAST_RUNS + BLOCKS * (EACH + EACH_RUNS) >= 500


def test_a_slice():
    accepted, made = agree(range(FAST))
    assert len(accepted) == FAST
    assert {case.name for case in accepted} == set(METHODS)
    for what, share in LEAST.items():
        assert made[what] >= share * FAST, (what, made)
    assert follow(range(FAST_RUNS)) == FAST_RUNS


@pytest.mark.fuzz
@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_block(block):
    start = FAST + block * EACH
    accepted, made = agree(range(start, start + EACH), large=block % 2 == 1)
    assert len(accepted) == EACH
    for what, share in LEAST.items():
        assert made[what] >= share / 2 * EACH, (what, made)
    start = FAST_RUNS + block * EACH_RUNS
    assert follow(range(start, start + EACH_RUNS)) == EACH_RUNS


def test_laws_and_solvers_are_all_drawn():
    """Of the cases that the blocks accept, without deciding them again."""
    cases = [drawn(k, k >= FAST and (k - FAST) // EACH % 2 == 1).case() for k in range(FAST + BLOCKS * EACH)]
    assert {c.law_name for c in cases} >= set(LAWS) and {c.solver for c in cases} == set(SOLVERS)
    assert {c.kind for c in cases} == {"float", "rational", "dyadic"}
    assert {c.data.n for c in cases} >= set(range(1, 13)) - {10, 11} and {c.data.d for c in cases} == {1, 2, 3, 4}
