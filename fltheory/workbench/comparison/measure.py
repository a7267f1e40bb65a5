"""What a batched run says about one method, beside the prediction for the same rounds. Shares no code with it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from fltheory.core.errors import FLTheoryError
from fltheory.core.kinds import Algorithm, Law, Problem
from fltheory.core.numbers.scalars import FLOAT, have
from fltheory.core.operators.setting import certain, prepare
from fltheory.core.statistics import contraction, transient
from fltheory.runs import run
from fltheory.runs.trace import Trace
from fltheory.workbench.comparison.heavy_tails import spared
from fltheory.workbench.comparison.precision import RANGE, left_range, length, same_departure
from fltheory.workbench.comparison.predict import ROUNDING, Prediction, reason

LEVEL = 0.999  # of every interval
UNDIRECTED = "no predicted direction to measure along"
CONVERGED = 1e-8  # rate^rounds below which a local prediction is compared at the end of a run


@dataclass(frozen=True)
class Check:
    """One predicted number beside one measured. agrees: whether the prediction lies in [low, high], None if there is
    nothing to decide, for the stated reason."""

    predicted: float | None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    agrees: bool | None = None
    reason: str = ""

    @classmethod
    def of(cls, predicted, interval, slack=0.0, undecided=""):
        """slack: what rounding may move the prediction by; undecided: why nothing is to be decided."""
        value, low, high = interval
        if not undecided and not math.isfinite(value):
            undecided = "overflow"
        elif not undecided and not (math.isfinite(low) and math.isfinite(high)):
            undecided = "no finite interval: too few replicates, or overflow"
        elif not undecided and predicted is not None and not math.isfinite(predicted):
            undecided = "the prediction overflows"
        decided = predicted is not None and not undecided
        agrees = bool(low - slack <= predicted <= high + slack) if decided else None
        return cls(predicted, value, low, high, agrees, undecided)


@dataclass(frozen=True)
class Measurement:
    """checks: "error" E|x_T - x*|^2 after the last round; "tail" its average over the last `tail` rounds;
    "contraction" its factor per round over `window`; "bias" |E x_T - x*|. reason: why nothing was measured."""

    checks: dict = field(default_factory=dict)
    trace: Trace | None = None
    window: tuple | None = None
    reason: str = ""


def measure(algorithm: Algorithm, problem: Problem, law: Law, noise, predicted: Prediction, best, x0, rounds,
            replicates, seed, device) -> Measurement:
    """Run one method and compare; a method that cannot be run has a reason instead."""
    if best is None:
        return Measurement(reason="no minimiser is known for this problem, so there is no error to measure")
    if not have("torch"):
        return Measurement(reason="torch is not installed: it makes the runs")
    at = FLOAT.array(best.x)
    along = _direction(predicted, at)
    try:
        sure = certain(prepare(algorithm, problem, law, noise), problem.n)
        with np.errstate(all="ignore"):
            trace = run(algorithm, problem, law, rounds=rounds, replicates=2 if sure else replicates, seed=seed,
                        device=device, noise=noise, x0=x0, metrics=_metrics(at, along))
    except (FLTheoryError, NotImplementedError, RuntimeError) as error:  # RuntimeError: what torch refuses
        return Measurement(reason=reason(error))
    grows = not sure and (predicted.numbers.get("mean_square_rate") or 0) >= 1
    wild = "second moments grow, so that sample means mislead" if grows else ""
    if predicted.local:
        return _beside_local(trace, predicted, along, wild)
    return _beside_path(trace, predicted, at, along, wild)


def _metrics(at, along):
    """What a run records beside the squared error: how far it is off along the predicted bias."""
    return None if along is None else {"along": lambda x: ((x - x.new_tensor(at)) * x.new_tensor(along)).sum(-1)}


def _direction(predicted, at):
    """Unit vector (d,) of the predicted bias after the last round: the prediction chooses what to look at, not what
    is seen. None without a prediction."""
    mean = predicted.point if predicted.path is None else predicted.path.mean[-1]
    if mean is None or not np.isfinite(mean).all():
        return None
    gap = mean - at
    if length(gap) <= 1e-14 * max(1.0, length(at)):
        return np.eye(len(at))[0]
    gap = gap / np.abs(gap).max()
    return gap / np.linalg.norm(gap)


def _span(interval, sure=False):
    """(value, low, high); sure: rounds without randomness are measured by one run, whose spread is rounding."""
    if sure and not math.isfinite(interval.half_width):
        return interval.value, interval.value, interval.value
    return interval.value, interval.low, interval.high


def _contraction(trace, window, high=None, sure=False):
    """(value, low, high) of the factor per round of E|x - x*|^2 over a window: from the intervals at both ends, each at
    a level that makes them hold together. high(round, interval): the upper end of the interval at a round."""
    a, b = window
    first, last = (trace.interval(k, level=1 - (1 - LEVEL) / 2) for k in window)
    if sure and first.value > 0 and math.isfinite(last.value):
        return ((last.value / first.value) ** (1 / (b - a)),) * 3
    return contraction(first, last, b - a, None if high is None else (high(a, first), high(b, last)))


@np.errstate(all="ignore")  # what leaves float64 says so by its infinities
def _beside_path(trace, predicted, at, along, wild):
    path, T, k = predicted.path, trace.rounds, trace.tail_rounds
    mean = trace.mean()
    curve = mean if path is None else path.error
    scale = float(at @ at) if path is None else path.scale
    sure = path is not None and path.sure
    window = transient(np.where(np.isfinite(mean), curve, np.inf), 4, (1e-18 if sure else 1e6 * ROUNDING) * scale)
    tail = slice(T - k + 1, None)

    def check(values, interval):
        if path is None:
            return Check.of(None, _span(interval), 0, _departure(None, mean)[0] or wild)
        said, why = float(values(path.error)), ""
        if not (math.isfinite(said) and math.isfinite(interval.value)):
            why, together = _departure(path.error, mean, trace.replicates)
            if sure:  # the rounds in which the two curves leave are numbers as good as any other
                return Check(said, *_span(interval, sure), together, why)
        return Check.of(said, _span(interval, sure), float(values(path.slack)), why or wild)

    checks = {"error": check(lambda v: v[-1], trace.interval(-1, level=LEVEL)),
              "tail": check(lambda v: v[tail].mean(), trace.floor(level=LEVEL))}
    bias = None if path is None else length(path.mean[-1] - at)
    if "along" in trace.metrics:
        slack = 0 if path is None else path.drift[-1]
        checks["bias"] = Check.of(bias, _span(trace.interval(-1, "along", LEVEL), sure), slack, wild)
    else:
        gone = path is not None and _departure(path.error, mean)[0]
        checks["bias"] = Check(math.inf if gone else None, reason=gone or UNDIRECTED)
    span = None if window is None else _contraction(trace, window, sure=sure)
    if span is None:
        why = "no transient: the start is about as far off as the end" if window is None else "too few replicates"
        checks["contraction"] = Check(None, reason=why)
    else:
        a, b = window
        factor, slack = None, 0.0
        if path is not None:
            factor = float((path.error[b] / path.error[a]) ** (1 / (b - a)))
            lost = path.slack[b] / path.error[b] + path.slack[a] / path.error[a]  # relative, of the two ends
            slack = factor * float(max(lost / (b - a), 1e-12))
        checks["contraction"] = Check.of(factor, span, slack, wild)
    checks = spared(checks, trace, path, at, along, window, lambda high: _contraction(trace, window, high), LEVEL)
    return Measurement(checks, trace, window)


def _departure(predicted, measured, replicates=1):
    """(when the curves leave float64, in words, "" if neither does; whether they leave together)."""
    gone, lost = (None if v is None else left_range(v) for v in (predicted, measured))
    together = predicted is None or same_departure(predicted, measured, 4 * replicates)
    if gone is None and lost is None:
        return "", together
    text = f"left {RANGE} in round {lost}" if lost is not None else f"stayed within {RANGE}"
    prediction = "" if predicted is None else ", as predicted" if gone == lost else (
        f"; predicted for round {gone}" if gone is not None else "; the prediction stays within it")
    return text + prediction, together


def _beside_local(trace, predicted, along, wild):
    """A linearised round predicts where a run ends and, near there, how fast: compared where the run has arrived."""
    rate, distance, floor = (predicted.numbers[name] for name in ("rate", "distance", "floor"))
    late = wild
    if not late and (rate is None or distance is None):
        late = "no prediction"
    elif not late:
        with np.errstate(over="ignore"):
            left = float(np.float64(rate) ** (trace.rounds - trace.tail_rounds))
        if not left < CONVERGED:
            late = f"local prediction, and the run is still on its way (rate^T = {left:.2g})"
    slack = 0.0 if floor is None else 1e-6 * floor + ROUNDING
    checks = {
        "error": Check.of(floor, _span(trace.interval(-1, level=LEVEL)), slack, late),
        "tail": Check.of(floor, _span(trace.floor(level=LEVEL)), slack, late),
        "contraction": Check(None, reason="a local rate is not one of the whole run"),
        "bias": Check(None, reason=UNDIRECTED) if along is None else Check.of(
            distance, _span(trace.interval(-1, "along", LEVEL)), 1e-6 * (distance or 0) + 1e-9, late),
    }
    return Measurement(checks, trace, None)
