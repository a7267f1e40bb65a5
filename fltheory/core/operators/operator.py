"""`Operator`: the exact random affine map of an algorithm's round, with its matrices listed, and what follows from it."""
from __future__ import annotations

import functools
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from fltheory.core.errors import (CertificateFailed, NoFixedPoint, TooLarge, refuse)
from fltheory.core.kinds import Algorithm, Law, Problem
from fltheory.core.laws.base import noisy
from fltheory.core.numbers import linalg
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Domain, declare, fraction, have
from fltheory.core.operators import spectrum
from fltheory.core.operators.horizons import FEW, STEPS, Rounds, check_growth
from fltheory.core.operators.moments import Moments, moments_of
from fltheory.core.operators.points import FixedPoint, Stationary
from fltheory.core.operators.probe import layout, probe_init, probe_model
from fltheory.core.operators.reachable import Reach, everything, reachable, reduced
from fltheory.core.operators.round_maps import mixtures
from fltheory.core.operators.setting import confirm_affine, overflow, ranged, slopes
from fltheory.core.operators.size import check_size
from fltheory.core.optima import float_optimum, optimum
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.records import count

NEAR = 1e-6        # distance of an eigenvalue from 1 within which floats lose digits: 1e-16 of rounding is 1e-10 of that
DECIDED = 60       # unknowns up to which they are taken from rationals instead,
OUTCOMES = 300     # and outcomes of one round
MOST_LISTED = 400   # numbers of a state over all modes of a schedule that a certificate lists


@dataclass(frozen=True)
class Operator:
    """The exact random affine map of one round, reduced to the subspace reachable from the start.

    Only `derive` makes it, by running the algorithm's own `round` on the basis. `domain` is the arithmetic of every
    number it returns (FLOAT by default; `exact()` gives the rational twin).
    """

    algorithm: Algorithm
    problem: Problem
    law: Law
    noise: object
    start: str
    domain: Domain
    reach: Reach = field(repr=False)
    moments: Moments = field(repr=False)
    origin: np.ndarray = field(repr=False)
    model: tuple = field(repr=False)
    initial: tuple = field(repr=False)
    method = "dense"     # as `derive` names it: matrices are listed

    # ---- description -----------------------------------------------------------------------------------
    @property
    def dimension(self) -> int:
        """Number of coordinates of the full state."""
        return len(self.reach.names)

    @property
    def reachable(self) -> int:
        """Dimension of the subspace that the state can reach."""
        return self.reach.dimension

    @property
    def assumed(self) -> str:
        """What was assumed of the reachable subspace because the data decide it in no short form; "" if nothing was."""
        return self.reach.assumed

    def invariants(self) -> list[str]:
        """Conserved quantities in closed form, for example `c[0] = 7/10 ci[0][0] + 1/5 ci[1][0] + ...`."""
        return self.reach.invariants([fraction(v) for v in self.origin] if self.domain in (FLOAT, RATIONAL) else None)

    def exact(self) -> Operator:
        """The same operator in rationals (a float problem is taken at its dyadic values)."""
        return self.in_domain(RATIONAL)

    def in_domain(self, domain: Domain) -> Operator:
        """The same operator in another arithmetic, built once; the reachable subspace is not decided again."""
        if domain == self.domain:
            return self
        if domain not in self._twins:
            self._twins[domain] = listed(self.algorithm, self.problem, self.law, self.noise, self.start, domain, self.reach)
        return self._twins[domain]

    @functools.cached_property
    def _twins(self):
        return {}

    @functools.cached_property
    def _basis(self):
        """V (D, r) of the reachable subspace in this arithmetic."""
        return self.reach.to(self.domain).V

    # ---- first moments ---------------------------------------------------------------------------------
    @ranged
    def mean_map(self):
        """(M, c) of the mean round in reduced coordinates (modes stacked)."""
        pi = self.moments.stationary_modes()
        _, c = self.moments.mean_step(pi, 0 * np.stack([self.origin[list(self.reach.rows)]] * self.moments.modes))
        return self._public(self.moments.mean_matrix()), self._public(c.reshape(-1))

    @functools.cached_property
    def _eigenvalues(self):
        """Of the mean map in floats: of one round, or of one period of modes that act in turn."""
        return np.linalg.eigvals(_floats(self.moments.period_matrix()))

    @functools.cached_property
    def _mixing(self) -> float:
        """Distance from 1 of the next eigenvalue of the chain of modes, in floats; 1 where there is none."""
        if self.domain is not FLOAT or self.moments.modes == 1 or self.moments.cycle:
            return 1.0
        return float(np.sort(np.abs(np.linalg.eigvals(self.moments.chain) - 1))[1])

    @functools.cached_property
    def _stationary_mean(self):
        gap = np.abs(self._eigenvalues - 1).min() if self.domain is FLOAT and self.reachable else 1
        if min(gap, self._mixing) < NEAR and self._decidable(self.reachable * self.moments.modes):
            pi, m = self.exact()._stationary_mean
            return FLOAT.array(pi), FLOAT.array(m)
        if gap < 1e-13:  # floats cannot tell an eigenvalue 1 from one next to it
            raise self._no_fixed_point()
        try:
            return self.moments.stationary_mean()
        except np.linalg.LinAlgError:
            raise self._no_fixed_point() from None

    def _decidable(self, unknowns) -> bool:
        """Whether the rounds are few and small enough to be taken in rationals after all."""
        if not have("flint") or any(mix.mean_only for mix in self.moments.mixtures):
            return False
        rounds = sum(self.law.cohort_count(self.problem.n, k) if mix.featured and not self.law.exact_features else len(mix.first)
                     for k, mix in enumerate(self.moments.mixtures))
        return unknowns <= DECIDED and rounds <= OUTCOMES

    def _no_fixed_point(self):
        return NoFixedPoint(
            f"{type(self.algorithm).__name__}: the mean round has an eigenvalue 1 on the {self.reachable}-dimensional "
            f"reachable subspace, so its fixed point is not unique or does not exist. Conserved: "
            f"{'; '.join(self.invariants()) or 'nothing'}{f', assumed: {self.assumed}' if self.assumed else ''}. Check steps "
            "with lr * curvature = 0 or 1 and absent clients."
        )

    @ranged
    def fixed_point(self) -> FixedPoint:
        """Fixed point of the mean round from this start. Raises NoFixedPoint if it is not unique.

        With several modes: the stationary mean over the modes.
        """
        _, m = self._stationary_mean
        state = self._lift(m.sum(0))
        E, e = self.model
        return FixedPoint(self._public((E * state).sum(-1) + e), self._public(state), self.reach.names)

    def _public(self, value):
        """Rationals leave as Fractions: a flint rational compares unequal to a Fraction without an error."""
        if self.domain is not RATIONAL:
            return value
        return linalg.to_fractions(value) if isinstance(value, np.ndarray) else fraction(value)

    def _lift(self, u):
        V = self._basis
        return self.origin + (V * u).sum(-1)

    @ranged
    def rate(self) -> float:
        """Contraction factor of the mean per round: spectral radius on the reachable subspace (a float)."""
        if self.moments.cycle:
            return self.in_domain(FLOAT).moments.mean_rate()
        return float(np.abs(self._eigenvalues).max(initial=0.0))

    def exact_rate(self, square=False) -> linalg.Algebraic:
        """`rate`, or with `square` the `mean_square_rate`, of a rational problem as an exact algebraic number: compares exactly
        with rationals and roots (`ft.root`). `attained` lists the eigenvalues of that modulus, of one period where
        modes act in turn. Raises BadInput in symbols, TooLarge beyond 150 unknowns."""
        return spectrum.exact_rate(self, square)

    # ---- second moments --------------------------------------------------------------------------------
    @ranged
    def mean_square_rate(self) -> float:
        """Contraction factor of E|z - z*|^2 per round: spectral radius of E[M (x) M] (a float)."""
        return self.in_domain(FLOAT).moments.mean_square_rate()

    @property
    def stable(self) -> bool:
        """Whether second moments converge (mean-square rate below 1), as floats have it; `certify` decides exactly."""
        return self.mean_square_rate() < 1

    @ranged
    def stationary(self) -> Stationary:
        """Stationary mean and covariance of the server model. Raises NoFixedPoint where none exists."""
        mean, covariance, _ = self._stationary()
        return Stationary(self._public(mean), self._public(covariance))

    def _stationary(self):
        """(mean (d,), covariance (d, d)) in the stationary law, and the variance that float64 may lose; raises NoFixedPoint where
        second moments grow."""
        near = self.domain is FLOAT and min(abs(self.mean_square_rate() - 1), self._mixing) < NEAR
        if near and self._decidable(self.moments.unknowns):
            mean, covariance, _ = self.exact()._stationary()
            return FLOAT.array(mean), FLOAT.array(covariance), 0.0
        pi, m = self._stationary_mean
        mean = m.sum(0)
        # around the mean, so that a far optimum takes no digits off the covariance
        spread = self.moments.centred(mean).stationary_second(pi, m - pi[:, None] * mean)
        if spread is None:
            raise NoFixedPoint(f"mean-square rate {self.mean_square_rate():.6g} >= 1: second moments grow without "
                               "bound and there is no stationary law. Reduce the step size.")
        E, e = self.model
        to_model = E @ self._basis
        spread, lost = spread.sum(0), 0.0
        if self.domain is FLOAT:   # memories may spread far more than the model that they move
            lost = 1e-15 * float(np.abs(to_model).sum(1).max(initial=0.0) ** 2 * np.abs(spread).max(initial=0.0))
        return (E * self._lift(mean)).sum(-1) + e, to_model @ spread @ to_model.T, lost

    @ranged
    def floor(self, reference=None):
        """Stationary E|x - x*|^2 of the server model, >= 0; inf where second moments diverge.

        reference: (d,) point, default the exact minimiser of the problem's objective.
        """
        try:
            mean, covariance, lost = self._stationary()
        except NoFixedPoint:  # then the second-moment map has a rate of 1 or more, too
            return np.inf
        at = self._best() if reference is None else declare(reference, "reference")
        if at.shape != mean.shape:
            refuse("reference.shape", at.shape, f"one server model of shape {mean.shape}", "Give d numbers.")
        gap = mean - self.domain.array(at)
        spread = sum(covariance[k, k] for k in range(len(gap)))
        if self.domain is FLOAT:
            rounding = (1e-12 * np.abs(self.fixed_point().state).max())**2  # of the mean, squared: no variance is smaller
            if spread < -1e-9 * np.abs(covariance).max() - rounding - lost:
                raise CertificateFailed(f"rounding left a variance of {spread:.3g}: ask op.exact().floor()")
            spread = max(spread, 0.0)
        return self._public((gap * gap).sum() + spread)

    def _best(self):
        """The exact minimiser of the problem's objective: in rationals that of the binary values of float data."""
        if self.domain is FLOAT:
            return float_optimum(self.problem)
        whole = self.problem.joint() if self.problem.personal else self.problem
        x = optimum(whole.exact() if self.domain is RATIONAL and isinstance(whole, Quadratic) else whole).x
        return self.problem.split(x)[0] if self.problem.personal else x

    # ---- finite horizons -------------------------------------------------------------------------------
    @ranged
    def begin(self, x0):
        """(pi, m, X) before the first round from server model x0 (d,)."""
        J, z0 = self.initial
        x0 = declare(x0, "x0")
        if x0.shape != (self.problem.d,):
            refuse("x0.shape", x0.shape, f"one server model of shape ({self.problem.d},)", "Give d numbers.")
        z = (J * self.domain.array(x0)).sum(-1) + z0
        u = (z - self.origin)[list(self.reach.rows)]
        V = self._basis
        if self.start == "init" and self.domain is RATIONAL and not (self.origin + (V * u).sum(-1) == z).all():
            raise NoFixedPoint("the start lies outside the reachable subspace; derive with start='any'")
        pi = self.domain.array(np.array(self.law.start(), dtype=object))
        blocks = [(q * u, q * (u[:, None] * u[None, :])) for q in pi]
        return pi, np.stack([b[0] for b in blocks]), np.stack([b[1] for b in blocks])

    def trajectory(self, rounds, x0):
        """Iterate over (mean (d,), second moment E[xx'] (d, d)) of the server model before rounds 0, 1, .., rounds - 1; exact
        operators give Fractions."""
        rounds = count(0)(rounds, "rounds")
        return ((self._public(mean), self._public(second)) for mean, second in self._trajectory(rounds, x0))

    def _trajectory(self, rounds, x0):
        """The same in numbers of `domain`: long exact sums are faster there."""
        now = None
        for _ in range(rounds):
            with self.domain.working():  # a caller may compute in another precision in between
                if now is None:
                    E, e = self.model
                    A, a, now = E @ self._basis, (E * self.origin).sum(-1) + e, self.begin(x0)
                else:
                    now = self.moments.step(*now)
                m, X = now[1].sum(0), now[2].sum(0)
                mean = (A * m).sum(-1)
                cross = mean[:, None] * a[None, :]
                of_model = mean + a, A @ X @ A.T + cross + cross.T + a[:, None] * a[None, :]
            yield of_model

    @ranged
    def after(self, x0, rounds=1):
        """E of the server model (d,) after some rounds >= 0 from x0 (d,); exact operators give Fractions. Raises TooLarge for
        exact numbers beyond 100,000 digits."""
        return self._after(Rounds(self, count(0)(rounds, "rounds")), x0)

    def _after(self, rounds, x0):
        E, e = self.model
        _, m = rounds(*self.begin(x0)[:2])
        return self._public((E @ self._basis * m.sum(0)).sum(-1) + (E * self.origin).sum(-1) + e)

    @ranged
    def round_matrix(self, rounds=1):
        """(M (d, d), c (d,)) with E x_rounds = M x_0 + c, in the coordinates of the model: memories start as `init` makes them.
        Raises as `after` does."""
        d, many = self.problem.d, Rounds(self, count(0)(rounds, "rounds"))
        base = self._after(many, [0] * d)
        return np.array([self._after(many, [int(j == k) for j in range(d)]) - base for k in range(d)]).T, base

    @ranged
    def mean_gradient_square(self, surrogate, rounds, x0=None):
        """(1/T) sum_{t<T} E|grad F~(x_t)|^2 for a quadratic surrogate objective; rounds = T >= 1, or None for T = inf.

        surrogate: a `Quadratic` (its weights are w). T = inf is the stationary value, and needs no x0.
        """
        H, b = slopes(surrogate, self)
        gram = H.T @ H
        if rounds is None:
            mean, covariance, _ = self._stationary()
            slope = (H * mean).sum(-1) - b
            return self._public((gram * covariance).sum() + (slope * slope).sum())
        rounds = count(1, None, "an average needs at least one round", "Give an int >= 1, or None for infinity.")(rounds, "rounds")
        if rounds * self.moments.modes > STEPS:
            raise TooLarge(f"{rounds} rounds of {self.moments.modes} modes are summed one at a time, and at most {STEPS} of both "
                           "are. Ask for fewer, or rounds=None for the limit")
        total = 0
        for t, (mean, second) in enumerate(self._trajectory(rounds, x0)):
            total = total + (gram * second).sum() - 2 * (b * (H * mean).sum(-1)).sum() + (b * b).sum()
            if t and t % FEW == 0:
                check_growth(self.domain, np.array([total]), t, rounds - t)
        return self._public(total / rounds)

    @ranged
    def carried(self, form, rounds, state=False):
        """The symmetric F (d + 1, d + 1) with E (x_T, 1)' Q (x_T, 1) = (x_0, 1)' F (x_0, 1) after T = rounds >= 0 rounds.

        form: Q (d + 1, d + 1) on the server model and the constant 1: diag(1, .., 1, 0) is |x|^2. state: F on the whole
        flat state (names in `reach.names`) and 1 instead, of shape (D + 1, D + 1), for states that can be reached.
        The worst case of a bound over all starts is `ft.worst_ratio(F, bound)`. Raises BadInput, TooLarge.
        """
        from fltheory.core.operators.forms import carried
        return carried(self, form, rounds, state)

    # ---- certificates ----------------------------------------------------------------------------------
    def certify(self, width=1e-2) -> spectrum.Certificate:
        """Rigorous enclosures of both rates, checked in exact arithmetic. width: relative width asked for."""
        exact, floats = self.exact().moments, self.in_domain(FLOAT).moments
        if exact.cycle:
            if exact.modes * exact.size > MOST_LISTED:
                raise TooLarge(f"a schedule of {exact.modes} rounds in {exact.size} dimensions: certificates list all modes, at "
                               f"most {MOST_LISTED} numbers. Certify a shorter one; rates and floors of this one need no list")
            exact, floats = exact.listed(), floats.listed()
        return spectrum.certify(exact, floats, width)

    def _repr_html_(self):
        try:
            square = f"{self.mean_square_rate():.8g}"
        except TooLarge:
            square = "unknown: too many cohorts"
        rows = [("algorithm", type(self.algorithm).__name__), ("state", f"{self.reachable} of {self.dimension}"),
                ("mean rate", f"{self.rate():.8g}"), ("mean-square rate", square)]
        rows += [("assumed", self.assumed)] if self.assumed else []
        return "<table>" + "".join(f"<tr><th>{a}</th><td>{b}</td></tr>" for a, b in rows) + "</table>"


def _floats(array):
    out = np.empty(array.shape)
    out.reshape(-1)[:] = [float(v) for v in array.reshape(-1)]
    return out


def listed(algorithm: Algorithm, problem: Problem, law: Law, noise=0, start="init", domain: Domain = FLOAT, reach=None,
           mixes=None) -> Operator:
    """The operator of `algorithm` on a quadratic `problem` under a prepared `law` (`setting.prepare`), its rounds listed.

    noise, start, domain: as for `ft.derive`, checked before; reach: the reachable subspace where it is known; mixes: the random
    maps of the modes where they are known. Raises TooLarge, NotAffine, CertificateFailed.
    """
    check_size(algorithm, problem, domain, start, reach)
    with np.errstate(all="ignore"), domain.working():  # what overflows is refused, in words
        return _built(algorithm, problem, law, noise, start, domain, reach, mixes)


def _built(algorithm: Algorithm, problem: Problem, law: Law, noise, start, domain, reach, mixes):
    alg, prob = algorithm.to(domain), problem.to(domain)
    lay = layout(alg, prob)
    noise_acts = noisy(noise)
    if reach is None:
        confirm_affine(algorithm, problem, domain, law.typical(prob.n))
    mixes = mixtures(alg, prob, lay, law, noise_acts) if mixes is None else mixes
    if domain is FLOAT and not all(np.isfinite(mix.largest) for mix in mixes):
        raise overflow(algorithm)
    if reach is None:
        featured = any(mix.featured for mix in mixes)
        whole = start == "any" or lay.size == problem.d    # a state that is the model alone: init(x0) already spans it
        reach = everything(lay) if whole else reachable(algorithm, problem, law, noise_acts, featured)
    J, z0 = probe_init(alg, prob, lay)
    if reach.dimension < lay.size:
        mixes = [reduced(mix, reach, J, z0, domain) for mix in mixes]
    origin = z0 if reach.dimension < lay.size else 0 * z0
    variance = domain.scalar((noise if isinstance(noise, Symbolic) else fraction(noise)) ** 2 / Fraction(problem.drawn))
    return Operator(algorithm, problem, law, noise, start, domain, reach, moments_of(mixes, law, domain, variance),
                    origin, probe_model(alg, prob, lay), (J, z0))
