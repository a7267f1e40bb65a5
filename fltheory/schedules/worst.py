"""The worst contraction of a method over every participation schedule with bounded gaps: both sides certified."""
from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from fltheory.core.errors import CertificateFailed, TooLarge, check_flag, refuse
from fltheory.core.kinds import Algorithm, Problem
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Number, fraction, is_count, need
from fltheory.core.operators.probe import layout
from fltheory.core.operators.setting import check_records
from fltheory.schedules.lyapunov_nodes import DEGREES, RAISED, Certificate, Programme, upper_bound
from fltheory.schedules.rounds import round_maps
from fltheory.schedules.walks import Walk, worst_walk
from fltheory.schedules.windows import Windows

STABLE, UNSTABLE, INCONCLUSIVE = "STABLE", "UNSTABLE", "INCONCLUSIVE"
ACCURACY = 1e-4  # relative, of the bisection for the upper bound
LARGEST = 60  # coordinates of a state whose rounds are multiplied out in rationals
LONGEST = 64  # rounds of a period


@dataclass(frozen=True)
class WorstSchedule:
    """How slowly a method may contract over all schedules of a class.

    lower: a Fraction; the periodic schedule `walk` contracts no faster. upper: a Fraction; every schedule of the class
    contracts at least that fast, by `certificate`; None where no certificate was found or asked for. What contracts is the
    distance of two runs on the same schedule; with a common fixed point (`fixed_point`, the server model (d,), None if the
    rounds share none, or several) also the distance to it. exact: whether that point minimises the problem's objective.
    nodes, edges: of the automaton; dimension: of the reachable subspace; tried: the rates tried by the semidefinite
    programme with the solver's words, of which only "Solved" is ever used.
    """

    algorithm: str
    windows: Windows
    clients: int
    lower: Fraction
    upper: Fraction | None
    walk: Walk
    certificate: Certificate | None = field(repr=False)
    fixed_point: np.ndarray | None
    exact: bool
    nodes: int
    edges: int
    dimension: int
    tried: tuple = field(repr=False, default=())

    @property
    def verdict(self) -> str:
        """STABLE: every schedule contracts (upper < 1). UNSTABLE: some schedule does not (lower >= 1). Else INCONCLUSIVE."""
        if self.upper is not None and self.upper < 1:
            return STABLE
        return UNSTABLE if self.lower >= 1 else INCONCLUSIVE

    @property
    def enclosure(self) -> tuple:
        """(lower, upper); raises CertificateFailed where there is no upper bound."""
        if self.upper is None:
            raise CertificateFailed(f"{self.algorithm}: no certificate over every schedule was found or asked for; some schedule "
                                    f"contracts no faster than {_digits(self.lower, math.floor)}")
        return self.lower, self.upper

    def __str__(self):
        above = "no upper bound was certified" if self.upper is None else f"at most {_digits(self.upper, math.ceil)}"
        if self.fixed_point is None:
            goal = "the distance of two runs (the rounds share no single fixed point)"
        else:
            goal = "the distance to the minimiser" if self.exact else "the distance to a point that is not the minimiser"
        return (f"{self.algorithm}, {self.clients} clients, {self.windows}: worst contraction factor per round of {goal} is at "
                f"least {_digits(self.lower, math.floor)} (schedule {self.walk}, repeated) and {above}: {self.verdict}; "
                f"{self.nodes} nodes, {self.edges} edges, dimension {self.dimension}")

    __repr__ = __str__


def _digits(value: Fraction, to, places=5) -> str:
    return f"{to(value * 10**places) / 10**places:.{places}f}"


def worst_schedule(algorithm: Algorithm, problem: Problem, windows: Windows, certify: bool = True,
                   accuracy: Number = ACCURACY, longest: int | None = None, degree: int = 2,
                   rate: Number = None) -> WorstSchedule:
    """The worst contraction factor per round of a method over every schedule of a class, on a quadratic problem.

    windows: `Sliding(D)` or `Blocks(D)`, which also say whether rounds may be empty. certify: also look for the upper bound,
    which needs cvxpy; without it (False) only the lower bound is computed. accuracy: relative, of the bisection for the
    upper bound, 1e-6 to 1/2. longest: rounds of a periodic schedule at most, default 2 (D + 1) and at least 8. degree: of
    the Lyapunov functions, 2, or 4, which often halves the gap at some twenty times the cost. rate: ask only whether this
    factor > 0 can be certified; then `upper` is at most that or None, which saves the bisection (and all of it where the
    walk is slower).

    Everything is meant on the states reachable from the method's own start, with conserved quantities taken off.
    Lower bound: spectral radius of a product of coded rounds along a closed walk of the automaton, enclosed exactly. Upper
    bound: one Lyapunov matrix per node of the automaton, re-checked in rationals; a doubtful status of the solver is no
    answer. Between the two nothing is claimed. About a second for 3 clients on a line with windows of 3 rounds, a quarter of
    a minute for windows of 6, both for methods with one memory per client.

    Raises BadInput, NotAffine (rounds without an operator), TooLarge beyond 1,500 edges or too many constraints,
    MissingLibrary without cvxpy. Source of the criterion: path-complete Lyapunov functions (Ahmadi, Jungers, Parrilo and
    Roozbehani 2014) on the graph of ages.
    """
    check_flag(certify, "certify")
    accuracy = fraction(accuracy)
    if not Fraction(1, 10**6) <= accuracy <= Fraction(1, 2):
        refuse("accuracy", str(accuracy), "lies between 1e-6 and 1/2: it is relative", "Leave it out, or give for example 1e-3.")
    if not is_count(degree) or degree not in DEGREES:
        refuse("degree", degree, "Lyapunov functions have degree 2 or 4", "Leave it out, or give 4 for a smaller upper bound.")
    target = None if rate is None else fraction(rate)
    if target is not None and not 0 < target < 10**6:
        refuse("rate", rate, "a contraction factor to be certified is positive (and below 10^6)", "For example 1, or leave it out.")
    if certify:
        need("cvxpy", "the upper bound over all schedules (certify=False gives the lower bound alone)")
    rounds = rounds_of(algorithm, problem, windows)
    walk = worst_walk(rounds, longest_of(longest, windows))
    at = rounds.fixed_point()
    exact = at is not None and _stationary(problem, at)
    automaton = rounds.automaton
    result = WorstSchedule(type(algorithm).__name__, windows, problem.n, walk.low, None, walk, None, at, exact,
                          len(automaton.nodes), len(automaton.edges), rounds.size)
    if not certify or (target is not None and walk.low > target):
        return result
    if rounds.size == 0:
        return replace(result, upper=Fraction(0))
    programme = Programme(rounds, degree)
    if target is None:
        best = upper_bound(programme, float(walk.low), float(accuracy))
    else:
        best = programme.certify(float(target / (1 + RAISED) ** 2))
    return replace(result, upper=None if best is None else best.rate, certificate=best, tried=tuple(programme.status))


def rounds_of(algorithm: Algorithm, problem: Problem, windows, reach=None):
    """The exact rounds of a method for every set of a class; refuses what has none, and what is too large. reach: as of
    `round_maps`."""
    check_arguments(algorithm, problem, windows)
    automaton = windows.automaton(problem.n)
    size = layout(algorithm.to(FLOAT), problem.to(FLOAT)).size
    if size > LARGEST:
        raise TooLarge(f"{type(algorithm).__name__} has {size} coordinates here, above {LARGEST}: exact rounds would take too "
                       "long; take fewer parameters or clients")
    rounds = round_maps(algorithm, problem, windows, automaton, reach)
    if not np.isfinite(rounds.floats).all() or np.abs(rounds.floats).max(initial=0) > 1e12:
        raise CertificateFailed(f"{type(algorithm).__name__}: the rounds have entries beyond 1e12. Use a smaller step size or "
                                "rescale the problem")
    return rounds


def check_arguments(algorithm: Algorithm, problem: Problem, windows):
    """Refuse what is no method, no problem, no class of schedules, or a method that the class does not fit."""
    if not isinstance(windows, Windows):
        refuse("windows", windows, "is no class of schedules", "Give ft.Sliding(3) or ft.Blocks(3).")
    check_records(algorithm, problem, ("lr",))
    if not getattr(algorithm, "partial", True) and windows.length > 1:
        refuse("algorithm", type(algorithm).__name__, "it is defined for full participation only", "Give windows of one round.")


def _stationary(problem: Problem, x) -> bool:
    """Whether the gradient of the objective vanishes at x (d,), in rationals (data in floats at their dyadic values)."""
    exact = problem.to(RATIONAL)
    gradients = exact.grad(RATIONAL.array(x)[None, :] + 0 * exact.p[:, None])
    return all(v == 0 for v in (exact.p[:, None] * gradients).sum(0))


def longest_of(longest, windows) -> int:
    """The largest period looked at, checked."""
    if longest is None:
        return min(LONGEST, max(8, 2 * (windows.length + 1)))
    if not is_count(longest) or longest > LONGEST:
        refuse("longest", longest, f"a period has 1 to {LONGEST} rounds", "Leave it out, or give a smaller int.")
    return int(longest)
