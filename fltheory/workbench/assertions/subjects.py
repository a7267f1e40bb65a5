"""What is asserted about: operators and traces, their minimisers, and the mean final model of a run."""
from __future__ import annotations

import math

import numpy as np

from fltheory.core.errors import CertificateFailed, NoMinimiser, refuse
from fltheory.core.kinds import Problem
from fltheory.core.numbers.scalars import FLOAT, RATIONAL
from fltheory.core.operators.operator import Operator
from fltheory.core.optima import optimum
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.statistics import quantile
from fltheory.runs.trace import Trace
from fltheory.workbench.assertions.asked import vector
from fltheory.workbench.comparison.names import describe


def named(subject) -> str:
    """The subject in one line; refuses what is neither an `Operator` in floats or rationals nor a `Trace`."""
    if isinstance(subject, Operator):
        if subject.domain not in (FLOAT, RATIONAL):
            refuse("subject", f"an operator in {subject.domain}", "is compared in floats or in rationals",
                   "Use ft.derive(...) or ft.derive(...).exact().")
    elif not isinstance(subject, Trace):
        refuse("subject", type(subject).__name__ if not isinstance(subject, type) else subject.__name__,
               "is neither an operator nor a trace", "Give ft.derive(...), its .exact(), or ft.run(...).")
    if subject.algorithm is None or subject.problem is None:
        return f"a trace of {subject.rounds} rounds, {subject.replicates} replicates"
    algorithm, phases = subject.algorithm, ""
    if isinstance(algorithm, (list, tuple)):
        algorithm, phases = algorithm[-1][0], f" (last of {len(algorithm)} phases)"
    p = subject.problem
    text = f"{describe(algorithm)}{phases} on {type(p).__name__} (n = {p.n}, d = {p.d}), {describe(subject.law)}"
    if isinstance(subject, Trace):
        text += f"; run of {subject.rounds} rounds, {subject.replicates} replicates, seed {subject.seed}"
    return text


def check_errors(trace, lacks):
    """Refuse a trace that did not record |x - x*|^2, and so lacks what is asked for."""
    if "error" not in trace.metrics:
        refuse("subject", "a trace without the metric 'error'", f"has no {lacks}", "Record the default metric.")


def minimiser(problem: Problem, reference=None):
    """The point x* (d,) that biases are measured from: the given reference, else the certified minimiser."""
    if reference is not None:
        return vector(reference, "reference", problem.d)
    try:
        return optimum(problem).x
    except (NoMinimiser, NotImplementedError, CertificateFailed) as error:
        refuse("reference", None, f"this problem has no certified minimiser ({error})",
               "Give reference=, a point (d,).")


def length(problem: Problem) -> float:
    """A length of the problem: max |b_i| / max |H_i| of quadratic clients, below which floats tell nothing; else 0."""
    if not isinstance(problem, Quadratic):
        return 0.0
    top = np.abs(FLOAT.array(problem.H)).max()
    return float(np.abs(FLOAT.array(problem.b)).max() / top) if top else 0.0


def mean_ball(trace, level):
    """(centre (d,), radius): |E x_T - centre| <= radius at the level.

    The trace keeps the mean final model and E|x_T - x*|^2, hence the total variance over replicates, which bounds the
    variance of every coordinate. Refuses traces whose metric "error" is not |x - x*|^2.
    """
    if trace.problem is None or "error" not in trace.metrics:
        refuse("subject", "a trace without problem or without the metric 'error'",
               "says nothing about its mean final model", "Use the trace that ft.run returned, with its own metrics.")
    best, n, x = FLOAT.array(minimiser(trace.problem)), trace.replicates, np.asarray(trace.final, dtype=float)
    error = float(trace.metrics["error"]["mean"][-1])
    if not (math.isfinite(error) and np.isfinite(x).all()):
        return x, math.inf
    off = float(((x - best) ** 2).sum())
    blur = 64 * np.finfo(float).eps * (error + off + math.sqrt(off) * float(np.linalg.norm(x)))
    total = error - off
    if total < -blur:
        refuse("subject", "a trace whose metric 'error' is not |x - x*|^2", "hides the spread of the final model",
               "Record other measures under other names.")
    if n < 2:
        return x, math.inf
    if total <= blur:  # the replicates agree to rounding
        return x, math.sqrt(n * blur)
    each = 1 - (1 - level) / len(x)
    return x, quantile(each, n) * math.sqrt(total / (n - 1)) + math.sqrt(blur)
