"""Can a sample of this size contradict a prediction at all? What rare events, seen by none of N replicates, would hide.

An interval knows only what happened in its sample: under rare participation mean and deviation of a squared error come
out too small together. The prediction knows more, the exact variance of the error. So a prediction counts as refuted
only if, were it right, N replicates would come out this far off with a probability below that of the interval's level.
"""
from __future__ import annotations

import math
from dataclasses import replace

from fltheory.core.errors import FLTheoryError
from fltheory.core.statistics import FEWEST, about_normal, chance_below, reach

HEAVY = 2  # standard deviations of an error, in means, from which its tails are called heavy


def spared(checks, trace, path, at, along, window, factor, level):
    """The checks, where those that a right prediction could fail through rare events are left undecided.

    path: exact moments by round, with their operator; factor(high): (value, low, high) of the contraction over
    `window` where high(round, interval) is the upper end at a round.
    """
    if path is None or path.sure or all(c.agrees is not False for c in checks.values()):
        return checks
    try:
        known = path.spread(at, trace.tail_rounds, along)
    except (FLTheoryError, MemoryError) as error:
        if trace.replicates >= FEWEST:
            return checks
        why = f"{trace.replicates} replicates decide nothing ({str(error).split('. ')[0]})"
        return {k: _undecided(c, why) if c.agrees is False else c for k, c in checks.items()}
    n, last = trace.replicates, len(known.mean) - 1
    below = (1 - level) / 2
    out = dict(checks)
    for name, variance in (("error", known.variance[last]), ("tail", known.tail[1])):
        check = checks[name]
        low = check.agrees is False and check.value < check.predicted
        if low and chance_below(n, check.predicted, variance, check.value) > below:
            out[name] = _undecided(check, _says(n, check.predicted, variance))
    bias, factors = checks["bias"], checks["contraction"]
    if bias.agrees is False and known.along is not None:
        _, variance, fourth = known.along
        if abs(bias.value - bias.predicted) <= reach(n, variance, fourth, level):
            kind = "a close call" if about_normal(n, variance, fourth) else "heavy tails"
            out["bias"] = _undecided(bias, f"{kind}: {n} replicates cannot decide")
    if factors.agrees is False:
        def high(k, interval):
            mean = path.error[k]
            possible = chance_below(n, mean, known.variance[k], interval.value) > below / 2
            return max(interval.high, mean) if possible else interval.high
        low_high = factor(high)
        if low_high is not None and low_high[1] - 1e-6 <= factors.predicted <= low_high[2] + 1e-6:
            k = max(window, key=lambda k: known.variance[k] / path.error[k] ** 2)
            out["contraction"] = _undecided(factors, _says(n, path.error[k], known.variance[k]))
    return out


def _undecided(check, why):
    return replace(check, agrees=None, reason=why)


def _says(count, mean, variance):
    ratio = math.sqrt(variance) / mean  # sqrt(2) for the square of a normal variable
    kind = "heavy tails" if ratio >= HEAVY else "a close call"
    return f"{kind}: {count} replicates cannot decide (an error has {ratio:.2g} times its mean as standard deviation)"
