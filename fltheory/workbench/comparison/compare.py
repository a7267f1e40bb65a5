"""`compare`: one row per method, what its operator predicts beside what a run measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fltheory.algorithms.residual_problem import Residual
from fltheory.analysis.stability import StableSteps
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.errors import BadInput, CertificateFailed, NoMinimiser, TooLarge, check_flag, listed, refuse
from fltheory.core.kinds import Array, Law
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, declare, have
from fltheory.core.operators.setting import prepare
from fltheory.core.optima import optimum
from fltheory.core.problems.base import Problem
from fltheory.core.records import count
from fltheory.runs import _device
from fltheory.workbench.comparison.measure import Measurement, measure
from fltheory.workbench.comparison.names import named
from fltheory.workbench.comparison.predict import predict
from fltheory.workbench.comparison.table import Entry, MethodTable

ROUNDS, REPLICATES = 200, 1000  # a few seconds for a handful of methods on small problems
MOST_ROUNDS = 10**6             # a minute and a half for them


def check_rounds(rounds):
    """Refuse more rounds than a table follows one by one."""
    count(1, MOST_ROUNDS, f"a table follows 1 to {MOST_ROUNDS:,} rounds one by one",
          "Later ones cost nothing: ft.derive(...).after(x0, t) has the mean of any.")(rounds, "rounds")


def compare(algorithms: Algorithm | Sequence[Algorithm] | dict[str, Algorithm], problem: Problem, law: Law, noise: Array = None,
            rounds: int = ROUNDS, replicates: int = REPLICATES, seed: int = 0, measure: bool = True, x0: Array = None,
            device: str = "cpu", stable: bool | dict[str, StableSteps] = True,
            on_progress: Callable[[int, int, list], object] | None = None) -> MethodTable:
    """Methods side by side on one problem under one law: where each converges, how fast, how far it stays, its price.

    algorithms: a list (named after what they are) or a dict name -> algorithm. noise: sigma of additive gradient noise.
    rounds >= 1, replicates >= 1, seed >= 0, device: of the runs, skipped with measure=False; methods without any
    randomness run twice only. x0: (d,) start, default 0. stable: also look for the largest stable step of each method
    (or a dict name -> `StableSteps` of those found before). on_progress: called as on_progress(done, total, [what is being done]),
    for whoever waits.

    Predictions come from `derive` on quadratics (E x and E|x - x*|^2 of every round, exact moments of the very rounds that
    are run; where these cannot be listed, a structured operator carries them, or the moments of equal clients; where neither
    does, the table says so) and from `linearise` on other smooth problems (where a run ends); measurements only from `run`,
    with 99.9 % intervals. Where clients have parameters of their own too, x is the shared one, x* its value at the joint
    optimum and F the joint objective. A number that does not exist is shown with its reason, and one method that fails does
    not hide the others. The intervals are Student's over replicates, widened for skewness; they know only what happened in
    the sample. A prediction that lies outside although, were it right, so small a sample could miss enough rare events is
    left undecided ("heavy tails", or "a close call" where the tails are light).
    Raises BadInput for arguments that are wrong whatever the method, and if no method can be used at all.
    """
    methods = _methods(algorithms)
    check_flag(measure, "measure")
    _check_stable(stable)
    if not isinstance(problem, Problem):
        refuse("problem", problem, "is no problem", "Give ft.Quadratic(...), ft.Ridge(...), ft.Logistic(...), ...")
    check_rounds(rounds)
    for what, v, least in (("replicates", replicates, 1), ("seed", seed, 0)):
        count(least)(v, what)
    if on_progress is not None and not callable(on_progress):
        refuse("on_progress", on_progress, "is no function", "Give one of (done, total, names), or None.")
    if problem.native not in (FLOAT, RATIONAL):
        refuse("problem", "a problem with symbols", "tables hold numbers", "Declare numbers, or use derive.")
    start = _start(problem, x0)
    if measure and have("torch"):
        _device(device)
    _usable(methods, problem, law, noise)
    try:
        best = _joint(problem) if problem.personal else optimum(problem)
    except (NoMinimiser, NotImplementedError, CertificateFailed, TooLarge):
        best = None
    entries, parts = [], 2 if measure else 1

    def say(done, what):
        if on_progress is not None:
            on_progress(done, parts * len(methods), [what])
    for k, (name, algorithm) in enumerate(methods.items()):
        steps = stable.get(name, True) if isinstance(stable, dict) else bool(stable)  # numpy's truth values too
        say(parts * k, f"operator of {name}")
        prediction = predict(algorithm, problem, law, noise, best, start, rounds, steps)
        measurement = Measurement(reason="not asked for")
        if measure:
            say(parts * k + 1, f"runs of {name}")
            measurement = _measured(algorithm, problem, law, noise, prediction, best, start, rounds, replicates, seed, device)
        entries.append(Entry(name, algorithm, prediction, measurement))
    return MethodTable(tuple(entries), problem, law, noise, rounds, replicates if measure else 0, best, start)


class Joint(NamedTuple):
    """The joint optimum of a problem with personal parameters: x (d,) shared, theta (n, personal)."""

    x: object
    theta: object


def _joint(problem: Any):
    return Joint(*(problem.joint_optimum() if isinstance(problem, Residual) else problem.split(optimum(problem.joint()).x)))


_measured = measure  # the argument of `compare` has the same name


def _check_stable(stable):
    """Refuse what is neither a flag nor step sizes that were found before."""
    if not isinstance(stable, dict):
        check_flag(stable, "stable")
    elif not all(isinstance(v, StableSteps) for v in stable.values()):
        refuse("stable", stable, "holds something that is no StableSteps", "Give what ft.stable_steps returned, by name.")


def _start(problem: Problem, x0):
    """The first server model (d,) in floats."""
    start = FLOAT.array(declare([0] * problem.d if x0 is None else x0, "x0"))
    if start.shape != (problem.d,):
        refuse("x0.shape", start.shape, f"one server model of shape ({problem.d},)", "All methods share it.")
    return start


def _methods(algorithms):
    """{name: algorithm} of what was given."""
    if isinstance(algorithms, dict):
        methods, values = dict(algorithms), list(algorithms.values())
        for name in methods:
            if not isinstance(name, str) or not name.strip():
                refuse("algorithms", name, "names are texts", "Give a dict name -> algorithm, or a list.")
    else:
        methods = None
        values = [algorithms] if isinstance(algorithms, Algorithm) else listed(
            algorithms, "algorithms", "is no list of algorithms", "For example [ft.FedAvg(...), ft.Scaffold(...)].")
    if not values:
        refuse("algorithms", algorithms, "a comparison has at least one method", "List some.")
    for value in values:
        if not isinstance(value, Algorithm):
            refuse("algorithms", value, "is no algorithm", "Give records such as ft.FedAvg(lr, steps).")
    return named(values) if methods is None else methods


def _usable(methods, problem: Problem, law: Law, noise):
    """Refuse what is wrong for every method; what suits only some of them becomes their reason."""
    failures = []
    for algorithm in methods.values():
        try:
            prepare(algorithm, problem, law, noise)
        except BadInput as error:
            failures.append(error)
    if len(failures) == len(methods):
        raise failures[0]
