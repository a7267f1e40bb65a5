"""What a certificate costs over the bare number: minimisers, rates and worst cases, with and without what proves them."""
from __future__ import annotations

import statistics
import time
from typing import NamedTuple

import numpy as np

from fltheory.algorithms.focus import Focus
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.laws.memoryless import Bernoulli
from fltheory.core.libraries import have
from fltheory.core.optima import optimum, second_route
from fltheory.core.problems.logistic import Logistic
from fltheory.derivation import derive
from fltheory.runs.streams import Stream
from verification.engine.bench.rounds import short
from verification.engine.bench.timing import random_quadratic

WIDTH = 1e-2        # relative, of the enclosures of rates
WITHOUT = "cvxpy or Clarabel is not installed: pip install cvxpy clarabel to measure certificates of worst cases"
WORST = ((2, 3, None), (4, 3, None), (4, 3, [4]))   # clients, local steps, and whether identical ones are counted


class Pair(NamedTuple):
    """The same question without and with its certificate; both are given what `make` returns, anew for each run, and `agree`
    says of their two answers whether they are one."""

    what: str
    baseline: str
    make: object
    bare: object
    certified: object
    agree: object


def certificates(repeats=5, pairs=None) -> list[tuple]:
    """[(what, its baseline, seconds of the baseline, ratio of the time with the certificate to it)].

    Seconds of the processor; a ratio is the median over `repeats` of one run beside the other. pairs: default `minimisers`,
    `rates`, and with cvxpy `worst_cases`. Raises AssertionError where the two answers differ.
    """
    if pairs is None:
        pairs = [*minimisers(), *rates(), *(worst_cases() if have("cvxpy") and have("clarabel") else [])]
    return [_measured(pair, repeats) for pair in pairs]


def minimisers():
    """Of quadratics and of logistic losses."""
    def quadratic(change):
        """(Hessians (n, d, d), linear terms (n, d), both floats; the problem), of equal weights."""
        p = change(random_quadratic(100, 20))
        return p.H.astype(float), p.b.astype(float), p

    def solve(given):
        return np.linalg.solve(given[0].mean(0), given[1].mean(0))

    def logistic():
        rng = Stream(0, "bench").generator()
        rows = rng.standard_normal((10, 20, 10))
        return Logistic(rows, np.sign(rows[..., 0] + rng.standard_normal((10, 20)) / 2), reg="1/10")

    def close(tolerance):
        return lambda bare, best: np.allclose(bare, np.asarray(best.x, dtype=float), rtol=0, atol=tolerance)

    def both(given):
        return optimum(given[2])
    plain, clients = "numpy.linalg.solve", "minimiser of 100 quadratics, d=20"
    out = [Pair(f"{clients}: floats, its gap bounded", plain, lambda: quadratic(lambda p: p), solve, both, close(1e-9)),
           Pair(f"{clients}: exact, in rationals", plain, lambda: quadratic(short), solve, both, close(1e-9))]
    if have("cvxpy") and have("clarabel"):
        out.append(Pair("minimiser of logistic losses, 200 rows, d=10: Newton, its gap bounded", "cvxpy and Clarabel", logistic,
                        lambda p: second_route(p)[0], optimum, close(1e-4)))
    return out


def rates():
    """Both rates enclosed by rationals, beside the same rates in floats."""
    def within(floats, found):
        return all(low <= v * (1 + 1e-9) and v * (1 - 1e-9) <= high
                   for v, (low, high) in zip(floats, (found.mean, found.mean_square), strict=True))

    def bare(op):
        return op.rate(), op.mean_square_rate()
    return [Pair(f"rates of {name}, 5 clients with probability 1/4, d=3: enclosed to {WIDTH:g}, exactly", "the same in floats",
                 lambda algorithm=algorithm: derive(algorithm, short(random_quadratic(5, 3)), Bernoulli("1/4")), bare,
                 lambda op: op.certify(WIDTH), within)
            for name, algorithm in (("FedAvg", FedAvg("1/20", 3)), ("FOCUS", Focus("1/200", 3)))]


def worst_cases(cases=WORST):
    """Found and proved beside found, and a certificate that is kept, checked anew beside the search for the value."""
    from fltheory.worstcase.certificate import holds
    from fltheory.worstcase.classes import SmoothConvex
    from fltheory.worstcase.worst import worst_case

    def found(case, certify):
        n, steps, counts = case
        near = ["distance", lambda s: s.mean_square(s.grads(s.star)) <= 1]
        return worst_case(FedAvg("1/5", steps), SmoothConvex(1, "1/10"), initial=near, certify=certify,
                          **({"clients": n} if counts is None else {"counts": counts}))

    def named(case):
        return f"worst case of FedAvg, {case[0]} clients, {case[1]} local steps{', counted' if case[2] else ''}"

    def proved(bare, certified):
        bound = certified.certificate and certified.certificate.bound
        return bound is not None and abs(bare.value - certified.value) < 1e-6 and -1e-6 < bound - bare.value < 1e-4

    def checked(kept):
        return holds(kept.setting.programme(), kept.certificate)
    out = [Pair(f"{named(case)}: with a rational proof", "its value alone", lambda case=case: case,
                lambda case: found(case, False), lambda case: found(case, True), proved) for case in cases]
    kept = {}

    def keep(case):
        if case[:2] not in kept:
            kept[case[:2]] = found(case, True)
        return kept[case[:2]]
    wide = next((case for case in reversed(cases) if not case[2]), None)
    if wide:
        out.append(Pair(f"{named(wide)}: its kept proof checked", "its value alone", lambda: keep(wide),
                        lambda kept: found(wide, False), checked, lambda bare, sure: sure is True))
    return out


def _measured(pair, repeats):
    times = []
    for k in range(repeats + 1):
        answers, spent = [], []
        for task in (pair.bare, pair.certified):
            given = pair.make()
            start = time.process_time()
            answers.append(task(given))
            spent.append(time.process_time() - start)
        if k == 0:   # also warms what is imported and compiled once
            if not pair.agree(*answers):
                raise AssertionError(f"{pair.what}: not what {pair.baseline} says")
            continue
        times.append(spent)
    bare = statistics.median(a for a, _ in times)
    return pair.what, pair.baseline, bare, statistics.median(b / max(a, 1e-9) for a, b in times)


__all__ = ["WITHOUT", "Pair", "certificates", "minimisers", "rates", "worst_cases"]
