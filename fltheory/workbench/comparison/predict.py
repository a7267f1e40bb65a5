"""What theory says about one method before anything is run: the derived operator, or the linearised round."""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.algorithms.residual_problem import Residual
from fltheory.analysis.linearise import linearise
from fltheory.analysis.stability import stable_steps
from fltheory.analysis.surrogates import surrogate_weights
from fltheory.core.errors import BadInput, FLTheoryError, NotAffine, TooLarge
from fltheory.core.kinds import Algorithm, Law, Problem
from fltheory.core.laws.base import RandomSteps, probabilities
from fltheory.core.laws.memoryless import Bernoulli, OfSize
from fltheory.core.numbers.arrays import matvec
from fltheory.core.numbers.scalars import FLOAT, declare
from fltheory.core.operators.probe import layout
from fltheory.core.operators.setting import certain, prepare
from fltheory.core.problems.quadratic import Quadratic
from fltheory.derivation import derive
from fltheory.large.equal_clients import FEW
from fltheory.workbench.comparison import cost, precision
from fltheory.workbench.comparison.fourth_moments import spread

LARGEST_SURROGATE = 200   # clients up to which n linear losses in dimension n are probed, a few seconds a method
LARGEST_SECOND = 20_000   # unknowns of the second-moment map up to which rates and floors are computed
ROUNDING = 1e-12          # of the largest E|x|^2: what float64 loses at least in sums of squares that nearly cancel
GROWING = 1e-9            # excess of a rate over 1 from which it is growth, and not a round that keeps what it has
DIVERGES = ("of an unstable fixed point: nothing converges there", "unstable: second moments grow without bound")
SURE = "the square of that of E x: the rounds have no randomness"
LOCAL = "local, at the fixed point of the linearised round"
UNKNOWN = "no minimiser is known for this problem"
NAMES = ("distance", "loss_gap", "rate", "mean_square_rate", "floor")


@dataclass
class Prediction:
    """Numbers by name; `reasons` says why a name has none, or what restricts it. path: see `Path`."""

    numbers: dict = field(default_factory=dict)
    reasons: dict = field(default_factory=dict)
    point: np.ndarray | None = None
    weights: list | None = None
    path: Path | None = None
    local: bool = False
    rounding: dict = field(default_factory=dict)   # name -> size below which float64 does not tell it from 0

    @property
    def diverges(self) -> bool:
        """Whether the mean, or its second moment, grows geometrically."""
        return any((self.numbers.get(name) or 0) > 1 + GROWING for name in ("rate", "mean_square_rate"))

    def told(self, name):
        """A number that float64 tells from 0, or None."""
        value = self.numbers.get(name)
        return value if value is not None and value > self.rounding.get(name, 0) else None

    def put(self, name, make):
        """numbers[name] = make(), or None and the reason why not."""
        try:
            with np.errstate(all="ignore"):
                value = make()
            self.numbers[name] = None if value is None else float(value)
        except (FLTheoryError, NotImplementedError) as error:
            self.without(reason(error), name)

    def without(self, why, *names):
        """These names have no number, for this reason."""
        self.numbers |= dict.fromkeys(names)
        self.reasons |= dict.fromkeys(names, why)


@dataclass(frozen=True)
class Path:
    """Exact moments of the server model before rounds 0..T: mean (T + 1, d), error E|x_t - x*|^2 (T + 1,).

    scale: largest E|x_t|^2 and |x*|^2 within float64, what rounding is relative to; sure: rounds without randomness,
    whose error is that of the mean, free of cancellation. drift, slack (T + 1,): how far rounding may put mean and error
    of the prediction and of a run apart, see `precision`. operator, x0: what `spread` needs.
    """

    mean: np.ndarray
    error: np.ndarray
    scale: float
    sure: bool
    drift: np.ndarray
    slack: np.ndarray
    operator: object = field(default=None, repr=False)
    x0: np.ndarray | None = field(default=None, repr=False)

    def spread(self, at, tail_rounds, direction):
        """Exact variances of the squared errors, see `comparison.fourth_moments`; computed only where a check needs them. Raises
        TooLarge."""
        if self.operator.method == "structured":
            raise TooLarge("fourth moments need listed outcomes, and the operator is structured")
        with np.errstate(all="ignore"):
            return spread(self.operator, declare(self.x0, "x0"), at, len(self.error) - 1, tail_rounds, direction)


def reason(error) -> str:
    """One line saying why a number does not exist: the kind of error and its first sentence."""
    text = str(error).splitlines()[0] if str(error) else "no further reason"
    return f"{type(error).__name__}: {text.split('. ')[0]}"


def participants(algorithm: Algorithm, law: Any, n):
    """Expected number of places taken per round (a repeated client counts each time; one arrival is one place)."""
    if algorithm.arrivals:
        return Fraction(1)
    if law.repeats:
        return Fraction(law.draws)
    if isinstance(law, OfSize):
        return Fraction(law.m)
    if isinstance(law, Bernoulli) and law.empty != "redraw":
        return sum(map(Fraction, probabilities(law.p, n, "p")), Fraction(0))
    if not isinstance(law.steps, RandomSteps):
        moments = law.feature_moments(n) if n > 1 else None
        if moments is not None:
            return sum(moments[0][:n], Fraction(0))
    return sum(law.inclusion(n), Fraction(0))


def predict(algorithm: Algorithm, problem: Problem, law: Law, noise, best, x0, rounds, steps=True) -> Prediction:
    """Everything that follows without a run. best: `Optimum` or None; x0 (d,); steps: whether to look for stable
    step sizes, or a `StableSteps` found before."""
    out = Prediction()
    try:
        prepared = prepare(algorithm, problem, law, noise)
    except FLTheoryError as error:
        out.reasons["all"] = reason(error)
        return out
    size = max([1e-300, float(x0 @ x0)] + ([] if best is None else [float((FLOAT.array(best.x)**2).sum())]))
    tiny = 1e-24 * size if certain(prepared, problem.n) else 1e-13 * size
    out.rounding = dict.fromkeys(("floor", "error", "tail"), tiny) | {
        "loss_gap": 1e-24 * size, "distance": 1e-12 * size**0.5, "bias": 1e-12 * size**0.5, "chi_square": 1e-20}
    _traffic(out, algorithm, problem, prepared)
    _surrogate(out, algorithm, problem, law)
    if problem.quadratic:
        _from_operator(out, algorithm, problem, law, noise, best, x0, rounds)
    else:
        _from_linearisation(out, algorithm, problem, prepared, best, x0)
    if not steps:
        out.reasons["stable_step"] = "not asked for"
    elif isinstance(problem, Quadratic) and out.numbers["rate"] is None:
        out.without(out.reasons["rate"], "stable_step")
    else:
        out.put("stable_step", lambda: _largest_step(out, algorithm, problem, law, noise, prepared, steps))
    return out


def _largest_step(out, algorithm: Algorithm, problem: Problem, law: Law, noise, prepared, steps):
    if not isinstance(problem, Quadratic):
        raise NotAffine("only quadratic problems have an operator for every step size")
    if steps is True:
        cost.check_scan(algorithm, problem, prepared)
        steps = stable_steps(algorithm, problem, law, noise)
    if not steps.crosses:
        out.reasons["stable_step"] = f"stable up to the end of the scan at {steps.up_to:.4g}"
    elif len(steps.intervals) > 1:
        out.reasons["stable_step"] = "stable again further up: see ft.stable_steps"
    return steps.first


def _traffic(out, algorithm: Algorithm, problem: Problem, law: Law):
    out.numbers["uplink"], out.numbers["downlink"] = algorithm.uplink, algorithm.downlink
    out.put("participants", lambda: participants(algorithm, law, problem.n))
    present = out.numbers["participants"]
    if present is None:
        return out.without(out.reasons["participants"], "sent_up", "sent_down")
    out.numbers |= {"sent_up": present * algorithm.uplink * problem.d, "sent_down": present * algorithm.downlink * problem.d}
    return None


def _surrogate(out, algorithm: Algorithm, problem: Problem, law: Law):
    """Weights w of the small-step limit and chi^2(p||w) = sum (p_i - w_i)^2/w_i (FedNova, Theorem 2, eq 10)."""
    if algorithm.personal:
        return out.without("methods with personal parameters have no surrogate weights", "weights", "chi_square")
    try:
        if problem.n > LARGEST_SURROGATE:
            raise TooLarge(f"{problem.n} clients exceed {LARGEST_SURROGATE}, above which a table leaves them to "
                           "ft.surrogate_weights (up to 300 clients)")
        out.weights = [float(v) for v in surrogate_weights(
            algorithm, replace(law, batch=None), problem.n, list(problem.weights), domain=FLOAT)]
    except (FLTheoryError, NotImplementedError, ZeroDivisionError) as error:
        memories = isinstance(error, BadInput) and "surrogate weights" in str(error)
        why = "methods with memories have no surrogate weights" if memories else reason(error)
        return out.without(why, "weights", "chi_square")
    p, w = FLOAT.array(problem.weights), np.array(out.weights)
    if not np.isfinite(w).all() or (w < 0).any() or (p[w == 0] > 0).any():
        return out.without("some surrogate weight is not positive: chi^2 is infinite or undefined", "chi_square")
    used = w > 0
    out.numbers["chi_square"] = float(((p - w)[used] ** 2 / w[used]).sum())
    return None


def _gap(problem: Any, best, x, theta=None):
    """F(x) - F*, without cancellation on quadratics; theta (n, personal): the clients' own parameters, where they have some."""
    p, at = problem.to(FLOAT), FLOAT.array(best.x)
    if isinstance(problem, Residual):
        w, t = x - at, theta - FLOAT.array(best.theta)
        bent = (matvec(p._A, w[None]) / 2 + matvec(p._B, t)) @ w + (matvec(p._C, t) * t).sum(-1) / 2
        return max(float((p.p * bent).sum()), 0.0)
    if problem.personal:
        return max(float(p.joint_value(x, theta) - p.joint_value(at, FLOAT.array(best.theta))), 0.0)
    if isinstance(problem, Quadratic):
        step = x - at
        return step @ ((p.p[:, None, None] * p._H).sum(0) @ step) / 2
    return max(float(p.value(x) - p.value(at)), 0.0)


def _bias(out, problem: Problem, best, end, algorithm: Algorithm):
    """end: a fixed point, with the model x (d,) and the state (D,)."""
    out.point = np.asarray(end.x, dtype=float)
    theta = layout(algorithm.to(FLOAT), problem.to(FLOAT)).unflatten(end.state).theta if algorithm.personal else None
    if best is None:
        return out.without(UNKNOWN, "distance", "loss_gap")
    out.put("distance", lambda: np.linalg.norm(out.point - FLOAT.array(best.x)))
    out.put("loss_gap", lambda: _gap(problem, best, out.point, theta))
    return None


def _from_operator(out, algorithm: Algorithm, problem: Problem, law: Law, noise, best, x0, rounds):
    try:
        op = _operator(algorithm, problem, law, noise)
    except (FLTheoryError, NotImplementedError) as error:
        return out.without(reason(error), *NAMES)
    out.put("rate", op.rate)
    rate, structured = out.numbers["rate"] or 0, op.method == "structured"
    if structured and rate > 1 + GROWING:   # to find what nothing converges to would be most of the work
        out.without(DIVERGES[0], "distance", "loss_gap")
        return _structured(out, op, best, x0, rounds)
    try:
        _bias(out, problem, best, op.fixed_point(), algorithm)
        if rate >= 1:
            out.reasons |= dict.fromkeys(("distance", "loss_gap"), DIVERGES[0])
    except FLTheoryError as error:
        out.without(reason(error), "distance", "loss_gap")

    if not structured and op.moments.unknowns > LARGEST_SECOND:
        op = _otherwise(op)
    if op.method == "structured":
        return _structured(out, op, best, x0, rounds)

    def small(make):
        if op.moments.unknowns > LARGEST_SECOND:
            raise TooLarge(f"second moments have {op.moments.unknowns} unknowns, above {LARGEST_SECOND}")
        return make()
    out.put("mean_square_rate", lambda: small(op.mean_square_rate))
    if best is None:
        return out.without(UNKNOWN, "floor")
    out.put("floor", lambda: small(lambda: max(op.floor(reference=best.x), 0.0)))
    if out.numbers["floor"] == np.inf:
        out.without(DIVERGES[1], "floor")
    try:
        out.path = small(lambda: _path(op, best, x0, rounds))
    except FLTheoryError as error:
        out.reasons["path"] = reason(error)
    return None


def _operator(algorithm: Algorithm, problem: Problem, law: Law, noise):
    """Listed where that takes a minute at most, else structured; TooLarge says why neither."""
    try:
        cost.check_derivation(algorithm, problem)
    except TooLarge as slow:
        try:
            return derive(algorithm, problem, law, noise, "init", FLOAT, "structured")
        except (BadInput, NotAffine, TooLarge) as error:
            raise TooLarge(f"{slow}; nor has it a structured operator: {error}") from None
    return derive(algorithm, problem, law, noise)


def _otherwise(op: Any):
    """The structured operator of a listed one whose second moments are too many to list, where it has them in seconds."""
    try:
        other: Any = derive(op.algorithm, op.problem, op.law if op.algorithm.steps is None else replace(op.law, steps=None),
                            method="structured")
    except FLTheoryError:
        return op
    return other if other.quick else op


def _structured(out, op: Any, best, x0, rounds):
    """Second moments of an operator without lists, and how each of its numbers was obtained."""
    def small(make):
        if not op.quick:
            raise TooLarge(f"second moments of a state of {op.dimension} numbers, above {FEW}, are left to ft.derive")
        return make()
    sure, rate, distance = certain(op.law, op.problem.n), out.numbers["rate"], out.numbers.get("distance")
    if sure and rate is not None and not op.quick:
        out.numbers |= {"mean_square_rate": rate * rate, "floor": None if rate >= 1 or distance is None else distance * distance}
        out.reasons |= {"mean_square_rate": SURE, "floor": SURE if rate < 1 else DIVERGES[1]}
    else:
        out.put("mean_square_rate", lambda: small(op.mean_square_rate))
        out.put("floor", lambda: None if best is None else small(lambda: op.floor(reference=best.x)))
    if best is None:
        out.without(UNKNOWN, "floor")
    if out.numbers["floor"] == np.inf:
        out.without(DIVERGES[1], "floor")
    if (out.numbers["rate"] or 0) > 1 + GROWING:
        out.reasons["path"] = "a structured operator predicts no path of what grows"
    elif best is not None:
        try:
            def path():
                return _path_without_lists(op, best, x0, rounds, sure)
            out.path = path() if sure else small(path)
        except FLTheoryError as error:
            out.reasons["path"] = reason(error)
    for name, key in (("rate", "rate"), ("mean_square_rate", "mean_square_rate"), ("floor", "floor"), ("distance", "fixed_point"),
                      ("loss_gap", "fixed_point")):
        if out.numbers.get(name) is not None and key in op.known and name not in out.reasons:
            out.reasons[name] = op.known[key].label


@np.errstate(all="ignore")  # a path that leaves float64 says so by its infinities
def _path(op: Any, best, x0, rounds):
    at = FLOAT.array(best.x)
    sure = certain(op.law, op.problem.n)
    means, errors, scale = [], [], float(at @ at)
    for mean, second in op.trajectory(rounds + 1, declare(x0, "x0")):
        size, gap = float(np.trace(second)), mean - at
        means.append(mean)
        errors.append(float(gap @ gap) if sure else size - 2 * float(mean @ at) + float(at @ at))
        scale = max(scale, size) if np.isfinite(size) else scale
    errors = np.nan_to_num(np.array(errors), nan=np.inf, posinf=np.inf)
    if sure:
        drift = precision.drift(op, declare(x0, "x0"), rounds) + precision.UNIT * (op.problem.d + 2) * np.linalg.norm(at)
        slack = (2 * np.sqrt(errors) + drift) * drift  # of |a|^2 - |b|^2 where |a - b| <= drift
    else:
        eps = precision.per_round(op.law, op.problem.n, op.problem.d, op.reachable)
        lost = np.maximum(ROUNDING, eps * precision.settled(op.mean_square_rate(), rounds))
        drift, slack = lost * scale**0.5, lost * scale
    return Path(np.array(means), errors, scale, sure, drift, slack, op, x0)


def _path_without_lists(op: Any, best, x0, rounds, sure):
    at = FLOAT.array(best.x)
    means = op.means(x0, rounds)
    gaps = ((means - at) ** 2).sum(1)
    errors = gaps if sure else op.errors(x0, rounds, at)
    sizes = (means**2).sum(1) + np.maximum(errors - gaps, 0)     # E|x|^2
    scale = max(float(at @ at), float(sizes.max()))
    if not np.isfinite(scale):
        raise TooLarge(f"a path that leaves {precision.RANGE} within {rounds} rounds has no structured prediction")
    alive = precision.settled(op.rate() if sure else op.mean_square_rate(), rounds)
    lost = np.maximum(ROUNDING, precision.per_round(op.law, op.problem.n, op.problem.d, op.reachable) * alive)
    drift, slack = lost * scale**0.5, lost * scale
    return Path(means, errors, scale, sure, drift, (2 * np.sqrt(errors) + drift) * drift if sure else slack, op, x0)


def _from_linearisation(out, algorithm: Algorithm, problem: Problem, prepared, best, x0):
    out.local = True
    try:
        bare = replace(prepared, steps=None) if algorithm.steps is not None else prepared
        end = linearise(algorithm, problem, bare, x0=x0)
    except (FLTheoryError, NotImplementedError) as error:
        return out.without(reason(error), *NAMES)
    _bias(out, problem, best, end, algorithm)
    out.numbers |= {"rate": end.rate, "mean_square_rate": end.rate * end.rate}
    out.reasons |= dict.fromkeys(("rate", "mean_square_rate"), LOCAL)
    distance = out.numbers["distance"]
    if end.rate >= 1:
        return out.without("unstable at the fixed point", "floor")
    if distance is None:
        return out.without(out.reasons["distance"], "floor")
    out.numbers["floor"] = distance * distance
    out.reasons["floor"] = "squared distance of the fixed point: the rounds have no randomness"
    return None
