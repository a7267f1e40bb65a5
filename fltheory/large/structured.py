"""`derive(method="structured")`: the operator of a problem whose matrices cannot be listed."""
from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fltheory.core.errors import Inexact, NoFixedPoint, NotAffine, TooLarge, refuse
from fltheory.core.kinds import Algorithm, Array, Law, Problem
from fltheory.core.laws.base import noisy
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import FLOAT, Domain, declare
from fltheory.core.operators import size
from fltheory.core.operators.operator import Operator, listed
from fltheory.core.operators.points import FixedPoint, Stationary
from fltheory.core.operators.probe import layout
from fltheory.core.operators.setting import certain, ranged, slopes
from fltheory.core.operators.spectrum import Certificate
from fltheory.core.optima import float_optimum
from fltheory.core.records import count
from fltheory.large import eigenvalue_count, second_moments
from fltheory.large.accuracy import Accuracy, Value
from fltheory.large.conserved import ConservedQuantities
from fltheory.large.equal_clients import FEW, HOW, EqualMoments, equal_moments
from fltheory.large.first_moments import ROUNDING, FirstMoments
from fltheory.large.mean_round import MeanRound
from fltheory.large.single_clients import Clients
from fltheory.large.star import Star, star_bytes

SAFE = 1.002              # times a rate: the circle beyond which eigenvalues are counted
MOST_NUMBERS = 2e9        # of the states of rounds that are made one after the other: about a minute,
CALL = 20_000             # where a round costs as much again as so many numbers
LISTED = "from the listed rounds, as there are no moments of this round's clients one at a time"
COUNTED_BYTES = 1.5e9     # of the maps of all clients that a count may ask for


class Structured:
    """What `Operator` answers, for thousands of clients: the mean round as a function, the clients' maps one at a time, in floats.

    Only `derive` makes it. `accuracy()` says of every number how it was checked. What has no structured route is answered by the
    listed operator of the same round where its matrices fit, else TooLarge is raised.
    """

    method, domain, start = "structured", FLOAT, "init"

    def __init__(self, algorithm: Algorithm, problem: Problem, law: Law, noise):
        self.algorithm, self.problem, self.law, self.noise = algorithm, problem, law, noise
        self._mean = MeanRound(algorithm, problem, law)
        self._clients = Clients(self._mean)
        self._conserved = ConservedQuantities(self._clients)
        self._numbers: dict[str, Value] = {}

    # ---- description -----------------------------------------------------------------------------------
    @property
    def dimension(self) -> int:
        """Number of coordinates of the full state."""
        return self._mean.D

    @property
    def reachable(self) -> int:
        """Dimension left by the conserved quantities: an upper bound on that of what the state can reach."""
        return self._mean.D - self._conserved.count * self._mean.d

    @property
    def assumed(self) -> str:
        """"": nothing is assumed of the subspace; its conserved quantities are found in floats."""
        return ""

    def invariants(self) -> list[str]:
        """Conserved quantities in closed form, one for each coordinate; beyond a dozen clients the middle ones are left out."""
        return self._conserved.equations(self._first.zero)

    def accuracy(self) -> Accuracy:
        """What is known about the fixed point, the rate, and every other number asked for so far."""
        self.fixed_point()
        self.rate()
        return Accuracy(tuple(self._numbers[k] for k in ("fixed_point", "rate", "mean_square_rate", "floor") if k in self._numbers))

    @property
    def known(self) -> Accuracy:
        """As `accuracy()`, of the numbers asked for so far alone: nothing is computed."""
        return Accuracy(tuple(self._numbers.values()))

    # ---- first moments ---------------------------------------------------------------------------------
    @functools.cached_property
    def _first(self):
        return FirstMoments(self._mean, self._conserved)

    @functools.cached_property
    def _point(self):
        point = self._first.fixed_point()
        self._numbers["fixed_point"] = self._first.known_point(point)
        return point

    @ranged
    def fixed_point(self) -> FixedPoint:
        """Fixed point of the mean round from this start. Raises NoFixedPoint if it is not unique, CertificateFailed where the
        solver does not converge."""
        state = self._point.state
        return FixedPoint(self._model(state), state, Names(self._mean.layout))

    def _model(self, z):
        return self._mean.algorithm.model(self._mean.layout.unflatten(z))

    @functools.cached_property
    def _rate(self):
        rate = self._proved(self._first.rate())
        self._numbers["rate"] = rate
        return rate

    def _proved(self, rate):
        """An Arnoldi estimate with its count of eigenvalues outside, where the star form is small enough."""
        if rate.kind != "estimate" or not self._countable() or not rate.value > 0:
            return rate
        try:
            star = self._star
        except (NotAffine, TooLarge):
            return rate
        mean = self._mean
        stay = second_moments.identity(star) + star.base.times(-1.0)
        average = star.base + star.arrow(mean.inclusion, mean.shares) + stay.times(mean.nobody)
        try:
            count, sure = eigenvalue_count.WindingNumber(average, self._conserved.count * mean.d).outside(SAFE * rate.value)
        except np.linalg.LinAlgError:
            return rate
        if not sure or round(count) != 0:
            return replace(rate, check=f"{rate.check}; {count:.6g} eigenvalues counted beyond {SAFE} of it, perhaps of "
                           "states that cannot be reached")
        return replace(rate, check=f"Arnoldi, {rate.check.split('from ')[1]}; the winding number leaves no eigenvalue beyond "
                       f"{SAFE} times it", bound=SAFE - 1, kind="bound")

    def _countable(self):
        clients, n = self._clients, self._mean.n
        if not clients.separable:
            return False
        few = 16.0 * eigenvalue_count.POINTS * clients.ds**2 * n * max(clients.dc, 1) <= eigenvalue_count.WORK
        return few and star_bytes(n, clients.ds + clients.dc) <= COUNTED_BYTES

    @functools.cached_property
    def _star(self):
        return Star(self._mean, self._clients)

    @ranged
    def rate(self) -> float:
        """Contraction factor of the mean per round on reachable states; `accuracy()` says whether it is an estimate."""
        return self._rate.value

    @ranged
    def after(self, x0: Array, rounds: int = 1) -> Array:
        """E of the server model (d,) after some rounds >= 0 from x0 (d,): round by round. Raises TooLarge."""
        *_, z = self._states(self._start(x0), rounds)
        return self._model(z)

    @ranged
    def means(self, x0: Array, rounds: int) -> Array:
        """E of the server model (rounds + 1, d) before rounds 0, 1, .., rounds from x0 (d,)."""
        return np.stack([self._model(z) for z in self._states(self._start(x0), rounds)])

    @ranged
    def round_matrix(self, rounds: int = 1) -> tuple[Array, Array]:
        """(M (d, d), c (d,)) with E x_rounds = M x_0 + c, in the coordinates of the model: memories start as `init` makes them."""
        d = self.problem.d
        *_, z = self._states(self._mean.start(np.concatenate([np.zeros((1, d)), np.eye(d)])), rounds)
        base, *columns = self._model(z)
        return (np.array(columns) - base).T, base

    def _start(self, x0):
        x0 = declare(x0, "x0")
        if x0.shape != (self.problem.d,):
            refuse("x0.shape", x0.shape, f"one server model of shape ({self.problem.d},)", "Give d numbers.")
        return self._mean.start(FLOAT.array(x0))

    def _states(self, z, rounds):
        """Iterate over the mean states (.., D) before rounds 0, 1, .., rounds; checked before the first."""
        rounds = count(0)(rounds, "rounds")
        most = int(MOST_NUMBERS // (z.size + CALL))
        if rounds > most:
            raise TooLarge(f"{rounds} rounds of {z.size} numbers would be made one after the other, and at most {most} are: there "
                           "is no matrix to take powers of. op.fixed_point() is where they end, op.rate() how fast; or use "
                           "method='dense' with fewer clients or coordinates")
        return self._walk(z, rounds)

    def _walk(self, z, rounds):
        yield z
        for _ in range(rounds):
            z = self._mean(z)
            yield z

    # ---- second moments --------------------------------------------------------------------------------
    @functools.cached_property
    def _equal_moments(self):
        """Moments of equal clients as `EqualMoments`, else why there are none."""
        clients = self._clients
        return equal_moments(self.algorithm, self.problem, self.law, self.dimension, clients.ds, clients.dc)

    @property
    def quick(self) -> bool:
        """Whether second moments take seconds: a state of at most 500 numbers, or equal clients with few moments."""
        return self.dimension <= FEW or isinstance(self._equal_moments, EqualMoments)

    @functools.cached_property
    def _second(self):
        if self.dimension > FEW and isinstance(self._equal_moments, EqualMoments):
            return self._equal_moments
        try:
            second_moments.check(self.dimension, type(self.algorithm).__name__)
        except TooLarge as large:
            raise TooLarge(f"{large}. Nor are there moments of equal clients: {self._equal_moments}") from None
        return second_moments.SecondMoments(self._star, self._conserved, self.noise if noisy(self.noise) else 0, self._first)

    def _squared(self):
        """The mean-square rate where rounds have no randomness."""
        r = self._rate
        return Value("mean_square_rate", r.value**2, f"square of the rate, as rounds have no randomness: {r.check}", 2 * r.residual,
                     None if r.bound is None else (1 + r.bound) ** 2 - 1, r.kind)

    @functools.cached_property
    def _square(self):
        rate = self._squared() if certain(self.law, self.problem.n) else None
        if rate is None or rate.kind != "bound":
            try:
                second = self._second.rate()
            except (NotAffine, TooLarge) as error:
                rate = rate or Value("mean_square_rate", self._answering(error).mean_square_rate(), LISTED, 0.0, None, "estimate")
            else:
                rate = second if rate is None or second.kind == "bound" else rate
        self._numbers["mean_square_rate"] = rate
        return rate

    @ranged
    def mean_square_rate(self) -> float:
        """Contraction factor of E|z - z*|^2 per round on reachable states, with a bound from above. Raises TooLarge beyond 2,500
        coordinates."""
        return self._square.value

    @property
    def stable(self) -> bool:
        """Whether second moments converge (mean-square rate below 1), as floats have it."""
        return self.mean_square_rate() < 1

    @functools.cached_property
    def _spread(self):
        if self._square.value >= 1:
            raise NoFixedPoint(f"mean-square rate {self._square.value:.6g} >= 1: second moments grow without bound and there is "
                               "no stationary law. Reduce the step size.")
        try:
            X, residual = self._second.covariance(self._point.state)
        except (NotAffine, TooLarge) as error:
            return self._answering(error).stationary().covariance, 0.0
        return self._second.of_model(X), residual

    @ranged
    def stationary(self) -> Stationary:
        """Stationary mean (d,) and covariance (d, d) of the server model. Raises NoFixedPoint where they grow, TooLarge."""
        return Stationary(self._model(self._point.state), self._spread[0])

    @ranged
    def floor(self, reference: Array = None) -> float:
        """Stationary E|x - x*|^2 of the server model, >= 0; inf where second moments diverge. reference: (d,) point, default the
        minimiser of the problem's objective. Raises TooLarge."""
        try:
            spread, residual = self._spread
            mean = self._model(self._point.state)
        except NoFixedPoint:
            return np.inf
        gap, variance = mean - self._reference(reference), max(float(np.trace(spread)), 0.0)
        value = float(gap @ gap) + variance
        self._numbers["floor"] = Value("floor", value, self._how(), residual,
                                     max(residual, ROUNDING) / max(1 - self._square.value, 1e-300), "checked")
        return value

    def _how(self):
        """How the covariance was checked."""
        try:
            return HOW if isinstance(self._second, EqualMoments) else "residual of the equation of the covariance"
        except (NotAffine, TooLarge):
            return LISTED

    def _reference(self, reference):
        at = float_optimum(self.problem) if reference is None else FLOAT.array(declare(reference, "reference"))
        if at.shape != (self.problem.d,):
            refuse("reference.shape", at.shape, f"one server model of shape ({self.problem.d},)", "Give d numbers.")
        return at

    @ranged
    def errors(self, x0: Array, rounds: int, reference: Array = None) -> Array:
        """E|x - x*|^2 of the server model (rounds + 1,) before rounds 0, 1, .., rounds from x0 (d,), its second moments carried
        from round to round. reference: (d,) point, default the minimiser of the problem's objective. Raises BadInput, and TooLarge
        beyond 2,500 coordinates of clients that are not equal, or where the rounds would take more than about a minute."""
        at, z = self._reference(reference), self._start(x0)
        states = self._states(z, rounds)
        if certain(self.law, self.problem.n):
            return np.array([((self._model(state) - at) ** 2).sum() for state in states])
        if isinstance(self._second, EqualMoments):
            return self._second.moments.errors(x0, rounds, at)
        if rounds * z.size**2 > MOST_NUMBERS:
            raise TooLarge(f"{rounds} rounds of the second moments of {z.size} numbers would be made one after the other, and at "
                           f"most {int(MOST_NUMBERS // z.size**2)} are. op.floor() is where they end; or use ft.run")
        second, out = self._second, np.empty(rounds + 1)
        X = np.zeros((z.size, z.size))     # the start is certain
        for t, state in enumerate(states):
            gap = self._model(state) - at
            out[t] = gap @ gap + max(np.trace(second.of_model(X)), 0.0)
            if t < rounds:
                X = second.again(X) + second.pushed(self._star.order(state))
                X = (X + X.T) / 2      # the map takes it for granted: what rounding adds besides may grow
        return out

    @ranged
    def mean_gradient_square(self, surrogate: Problem, rounds: int | None, x0: Array = None) -> float:
        """(1/T) sum_{t<T} E|grad F~(x_t)|^2 for a quadratic surrogate objective: its limit for rounds = None; finite averages come
        from the listed operator. Raises BadInput, NoFixedPoint, TooLarge."""
        H, b = slopes(surrogate, self)   # type: ignore[arg-type]
        if rounds is not None:
            count(1, None, "an average needs at least one round", "Give an int >= 1, or None for infinity.")(rounds, "rounds")
            what = "an average of squared gradients over finitely many rounds"
            return self._listed(what, "rounds=None has their limit").mean_gradient_square(surrogate, rounds, x0)
        law = self.stationary()
        slope = H @ law.mean - b
        return float(((H.T @ H) * law.covariance).sum() + slope @ slope)

    # ---- what the listed operator answers --------------------------------------------------------------
    @functools.cached_property
    def _twin(self):
        """The same operator with its matrices listed, made when it is first asked for; else the error: they do not fit, or the
        round leaves exact arithmetic."""
        try:
            size.check_size(self.algorithm, self.problem, FLOAT, self.start, None)
            size.check_dense(self.algorithm, self.problem, self.law)
            return listed(self.algorithm, self.problem, self.law, self.noise)
        except (Inexact, TooLarge) as error:
            return error

    def _listed(self, what, instead="") -> Operator:
        if isinstance(self._twin, Operator):
            return self._twin
        raise TooLarge(f"{what} has no structured route: {type(self.algorithm).__name__} has a state of {self.dimension} "
                       f"numbers for {self.problem.n} client{'s' * (self.problem.n > 1)}, and their matrices are not listed. Use "
                       f"method='dense' with fewer clients or coordinates{'; ' * bool(instead)}{instead}") from self._twin

    def _answering(self, error) -> Operator:
        """The listed operator, for what the structured route refuses with `error`."""
        if isinstance(self._twin, Operator):
            return self._twin
        raise error

    def exact(self) -> Operator:
        """The operator in rationals, its matrices listed. Raises TooLarge where they do not fit."""
        return self._listed("rational arithmetic").exact()

    def in_domain(self, domain: Domain) -> Operator | Structured:
        """Itself in FLOAT; elsewhere the listed operator. Raises TooLarge where its matrices do not fit."""
        return self if domain is FLOAT else self._listed(f"arithmetic in {domain}").in_domain(domain)

    def certify(self, width: float = 1e-2) -> Certificate:
        """Rigorous enclosures of both rates, from the listed operator. Raises TooLarge where its matrices do not fit."""
        twin = self._listed("a certificate", "op.accuracy() says how far op.rate() and op.mean_square_rate() are proved")
        return twin.certify(width)

    def exact_rate(self, square: bool = False) -> linalg.Algebraic:
        """A rate as an algebraic number, from the listed operator. Raises TooLarge where its matrices do not fit."""
        name = "mean_square_rate" if square is True else "rate"
        twin = self._listed("an exact rate", f"op.{name}() is a float, and op.accuracy() says how far it is proved")
        return twin.exact_rate(square)

    def mean_map(self) -> tuple[Array, Array]:
        """(M, c) of the mean round in the coordinates of the listed operator. Raises TooLarge where its matrices do not fit."""
        return self._listed("the matrix of the mean round", "op.round_matrix() has it in the coordinates of the model").mean_map()

    def begin(self, x0: Array) -> tuple[Array, Array, Array]:
        """(pi, m, X) before the first round, of the listed operator. Raises TooLarge where its matrices do not fit."""
        return self._listed("the list of second moments at the start").begin(x0)

    def trajectory(self, rounds: int, x0: Array) -> Iterator[tuple[Array, Array]]:
        """Mean and second moment before every round, of the listed operator. Raises TooLarge where its matrices do not fit."""
        return self._listed("a trajectory of second moments", "op.means(x0, rounds) has the means and op.errors(x0, rounds) "
                            "E|x - x*|^2").trajectory(rounds, x0)

    def carried(self, form: Array, rounds: int, state: bool = False) -> Array:
        """A form carried through rounds by the listed operator. Raises TooLarge where its matrices do not fit."""
        return self._listed("a form carried through rounds", "ft.run measures it").carried(form, rounds, state)

    def __repr__(self):
        known = "; ".join(f"{f.name} {f.value:.8g} ({f.check.split(',')[0].split(';')[0]})" for f in self._numbers.values())
        return (f"Structured({type(self.algorithm).__name__}, {self.problem.n} clients, {self.dimension} coordinates"
                f"{': ' + known if known else ''})")

    def _repr_html_(self):
        return (f"<p>{type(self.algorithm).__name__}, {self.problem.n} clients, a state of {self.dimension} numbers, structured</p>"
                f"{self.accuracy()._repr_html_()}")


class Names:
    """Names of coordinates, made where they are read: a million texts are not listed for nobody."""

    def __init__(self, lay):
        self._lay, self._names = lay, None

    def __len__(self):
        return self._lay.size

    def __iter__(self):
        return iter(self._all())

    def __getitem__(self, k):
        return self._all()[k]

    def _all(self):
        if self._names is None:
            self._names = tuple(self._lay.names())
        return self._names


def structured(algorithm: Algorithm, problem: Problem, law: Law) -> Structured:
    """As `derive`, without lists; law: prepared. Raises BadInput, NotAffine, TooLarge."""
    if not problem.quadratic:
        refuse("problem", type(problem).__name__, "has no affine rounds", "Use ft.linearise, or ft.run.")
    if problem.personal:
        refuse("problem", type(problem).__name__, "has personal parameters, and the structured operator covers one model for all",
               "Use method='dense', or ft.run.")
    D = layout(algorithm.to(FLOAT), problem.to(FLOAT)).size
    size.check(f"fixed point and rate of {type(algorithm).__name__} with a state of {D} numbers", size.first_bytes(D),
               "use a method without memories, fewer clients or coordinates, or ft.run")
    return Structured(algorithm, problem, law, law.noise)
