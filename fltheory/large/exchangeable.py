"""`exchangeable`: exact moments of equal clients under a law that treats them alike, in a handful of numbers for any N.

What an expectation over such a round can see of a state are the second moments of u = (1, server, mean of the clients) and of
the deviations e_i of clients from their mean: E uu' and the mean over clients of E e_i e_i'. Sampling without replacement from
deviations that sum to 0 has covariances known in closed form, so these two blocks go to the same two blocks of the next round
(`orbits` says what the round does to them). They are kept as one block-diagonal matrix X; the map is linear in it, and it keeps
X >= 0, so its spectral radius is the mean-square rate of the full operator.
"""
from __future__ import annotations

import functools
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.errors import NoFixedPoint, TooLarge, refuse
from fltheory.core.kinds import Algorithm, Array, Law, Problem
from fltheory.core.laws.base import RandomSteps
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import RATIONAL, declare, fraction
from fltheory.core.operators.points import Stationary
from fltheory.core.operators.probe import check_affine, layout
from fltheory.core.operators.setting import prepare
from fltheory.core.operators.spectrum import CHARPOLY, Certificate
from fltheory.core.optima import optimum
from fltheory.core.problems.quadratic import Quadratic
from fltheory.large.orbit_moments import OrbitMoments, packed
from fltheory.large.orbits import Coordinates, Probe, fitted


@dataclass(frozen=True)
class Exchangeable:
    """The exact round of N equal clients on second moments; only `exchangeable` makes it. Numbers are Fractions.

    names: coordinates of X, first those of u = (1, server, mean of the clients), then those of a client's deviation.
    """

    algorithm: Any
    problem: Any
    law: Any
    noise: Any
    names: tuple
    at: Coordinates = field(repr=False)
    step: np.ndarray = field(repr=False)    # (q, q): packed moments after a round from those before it
    mean: np.ndarray = field(repr=False)    # (size, size), block-diagonal: E u' from u, and E e_i' from e_i

    # ---- moments ---------------------------------------------------------------------------------------
    @property
    def whole(self) -> int:
        """Coordinates of u."""
        return self.at.whole

    def moments(self, state: tuple) -> np.ndarray:
        """X of one state of the algorithm (its record, rational leaves), whose clients need not be equal."""
        z = self.at.lay.flatten(type(state)(*(RATIONAL.array(np.asarray(leaf, dtype=object)) for leaf in state)))
        u, memories = self.at.u(z), z[self.at.clients]
        apart = memories - memories.sum(0) / len(memories)
        X = self._zero()
        X[:self.whole, :self.whole] = u[:, None] * u[None, :]
        X[self.whole:, self.whole:] = (apart[:, :, None] * apart[:, None, :]).sum(0) / len(memories)
        return linalg.to_fractions(X)

    def begin(self, x0: Array) -> np.ndarray:
        """X before the first round from the server model x0 (d,)."""
        x0 = declare(x0, "x0")
        if x0.shape != (self.problem.d,):
            refuse("x0.shape", x0.shape, f"one server model of shape ({self.problem.d},)", "Give d numbers.")
        return self.moments(self._rational[0].init(self._rational[1], RATIONAL.array(x0)))

    def second(self, X: Array) -> np.ndarray:
        """X after one round: linear in X; noise and constants enter through the entry of 1."""
        return self._unpack(linalg.matmul(self.step, self._pack(X)))

    def second_adjoint(self, V: Array) -> np.ndarray:
        """The form whose value before a round is the expectation of the form V after it: <V, second(X)> = <., X>."""
        row = linalg.matmul(self._functional(V)[None], self.step)[0]
        return self._unpack(row, half=True)

    def after(self, X: Array, rounds: int) -> np.ndarray:
        """X after so many rounds (>= 0)."""
        return self._unpack(_stepped(self.step, self._pack(X), rounds))

    def summed(self, V: Array, X: Array, rounds: int) -> Fraction:
        """sum over the first `rounds` rounds of the form V of the state before each, from X."""
        q = len(self.step)
        wide = np.full((q + 1, q + 1), Fraction(0))
        wide[:q, :q], wide[q, :q], wide[q, q] = self.step, self._functional(V), Fraction(1)
        return _stepped(wide, [*self._pack(X), Fraction(0)], rounds)[q]

    def value(self, V: Array, X: Array) -> Fraction:
        """<V, X>: the expectation of the form V, both symmetric of the shape of X."""
        return fraction((self._functional(V) * self._pack(X)).sum())

    def error_form(self, reference: Array = None) -> np.ndarray:
        """V with <V, X> = E|x - reference|^2 of the server model; reference (d,), default the minimiser."""
        best = self._best if reference is None else linalg.to_fractions(declare(reference, "reference"))
        if best.shape != (self.problem.d,):
            refuse("reference.shape", best.shape, f"one server model of shape ({self.problem.d},)", "Give d numbers.")
        rows = self._model.copy()
        rows[:, 0] = rows[:, 0] - best
        V = self._zero()
        V[:self.whole, :self.whole] = linalg.matmul(rows.T, rows)
        return linalg.to_fractions(V)

    def error(self, x0: Array, rounds: int, reference: Array = None) -> Fraction:
        """E|x - reference|^2 of the server model after so many rounds from x0, exactly."""
        return self.value(self.error_form(reference), self.after(self.begin(x0), rounds))

    def errors(self, x0: Array, rounds: int, reference: Array = None) -> np.ndarray:
        """E|x - reference|^2 of the server model (rounds + 1,) before rounds 0, 1, .., rounds from x0: the exact map, stepped in
        floats."""
        form, v = (u.astype(float) for u in (self._functional(self.error_form(reference)), self._pack(self.begin(x0))))
        step, out = self.step.astype(float), np.empty(rounds + 1)
        for t in range(rounds + 1):
            out[t] = form @ v
            v = step @ v
        return out

    # ---- rates and floors ------------------------------------------------------------------------------
    def certify(self, width: float | None = None) -> Certificate:
        """Rigorous enclosures of both rates on the states reachable from the start, by exact characteristic polynomials:
        as sharp as 128 bits allow, whatever the width."""
        M, T = self._homogeneous
        zero = (Fraction(0), Fraction(0))
        mean, square = (linalg.charpoly_radius(A) if len(A) else zero for A in (M, T))
        return Certificate(mean, square, "exact characteristic polynomials of both maps on moments of equal clients")

    def rate(self) -> float:
        """Contraction factor of the mean per round."""
        M, _ = self._homogeneous
        return float(linalg.charpoly_radius(M)[1]) if len(M) else 0.0

    def mean_square_rate(self) -> float:
        """Contraction factor of E|z - z*|^2 per round."""
        return float(self.certify().mean_square[1])

    def stationary(self) -> Stationary:
        """Stationary mean (d,) and covariance (d, d) of the server model. Raises NoFixedPoint where second moments grow."""
        X = self._stationary
        rows = self._model
        mean = linalg.matmul(rows, X[:self.whole, 0])
        second = linalg.matmul(linalg.matmul(rows, X[:self.whole, :self.whole]), rows.T)
        return Stationary(mean, linalg.to_fractions(second - mean[:, None] * mean[None, :]))

    def floor(self, reference: Array = None) -> Fraction | float:
        """Stationary E|x - reference|^2 of the server model, default the minimiser; inf where second moments grow."""
        try:
            return self.value(self.error_form(reference), self._stationary)
        except NoFixedPoint:
            return np.inf

    # ---- how -------------------------------------------------------------------------------------------
    @functools.cached_property
    def _rational(self):
        return self.algorithm.to(RATIONAL), self.problem.to(RATIONAL)

    @functools.cached_property
    def _best(self):
        return linalg.to_fractions(optimum(self.problem.exact() if isinstance(self.problem, Quadratic) else self.problem).x)

    @functools.cached_property
    def _model(self):
        """(d, whole): the server model from u."""
        at, size = self.at, self.whole
        marks = np.zeros((size, at.lay.size), dtype=np.int64)
        marks[range(1, 1 + len(at.server)), at.server] = 1
        for k in range(at.per_client):
            marks[1 + len(at.server) + k, at.clients[:, k]] = 1
        models = self._rational[0].model(at.lay.unflatten(RATIONAL.array(marks)))
        return linalg.to_fractions(np.concatenate([models[:1], models[1:] - models[:1]]).T)

    def _zero(self):
        size = self.whole + self.at.per_client
        return np.full((size, size), Fraction(0))

    @functools.cached_property
    def _entries(self):
        """(i, j) of the packed entries."""
        return packed(self.whole, self.at.per_client)

    def _pack(self, X):
        return np.asarray(X, dtype=object)[self._entries]

    def _unpack(self, v, half=False):
        """half: of a functional, whose entries off the diagonal count twice."""
        X, (i, j) = self._zero(), self._entries
        off = Fraction(1, 2) if half else 1
        X[i, j] = X[j, i] = [fraction(x) * (1 if a == b else off) for x, a, b in zip(v, i, j, strict=True)]
        return X

    def _functional(self, V):
        i, j = self._entries
        return np.array([fraction(V[a, b]) * (1 if a == b else 2) for a, b in zip(i, j, strict=True)], dtype=object)

    @functools.cached_property
    def _reach(self):
        """(B, rows): columns of B (whole + per_client, r) span the states reachable from any start, block by block; the first has
        the entry 1 of u; B is an identity on `rows`."""
        starts = [self.begin([int(k == j) for k in range(self.problem.d)]) for j in range(-1, self.problem.d)]
        first = X = sum(starts)
        rank = -1
        while rank < (rank := linalg.rank(X)):
            X = first + self.second(X)
        blocks, rows, at = [], [], 0
        for size in (self.whole, self.at.per_client):
            R, pivots = linalg.rref(X[at:at + size, at:at + size])
            block = np.full((len(X), len(pivots)), Fraction(0))
            if pivots:
                block[at:at + size] = linalg.to_fractions(R[:len(pivots)]).T
            blocks.append(block)
            rows += [at + k for k in pivots]
            at += size
        return np.concatenate(blocks, axis=1), rows

    @functools.cached_property
    def _reduced(self):
        """(T, entries (a, b)): the map on packed moments Y of the reachable states, X = B Y B'."""
        B, rows = self._reach
        r, inside = len(rows), [k < self.whole for k in rows]
        at = [(a, b) for a in range(r) for b in range(a, r) if inside[a] == inside[b]]
        if len(at) > CHARPOLY:
            raise TooLarge(f"{len(at)} moments of equal clients, above {CHARPOLY}: use fewer coordinates")
        columns = []
        for a, b in at:
            X = B[:, a][:, None] * B[:, b][None, :]
            X = self.second(X if a == b else X + X.T)
            columns.append([X[rows[c], rows[e]] for c, e in at])
        return np.array(columns, dtype=object).reshape(len(at), len(at)).T, at

    @functools.cached_property
    def _homogeneous(self):
        """(M, T): the maps of means and of second moments of differences of reachable states."""
        B, rows = self._reach
        M = linalg.matmul(self.mean, B[:, 1:])[rows[1:]]
        T, at = self._reduced
        keep = [k for k, (a, _) in enumerate(at) if a > 0]
        return M, T[np.ix_(keep, keep)]

    @functools.cached_property
    def _stationary(self):
        T, at = self._reduced
        low, high = self.certify().mean_square
        if high >= 1 and (low >= 1 or not self._contracts()):
            raise NoFixedPoint(f"mean-square rate {float(high):.6g} >= 1: second moments grow without bound and there is no "
                               "stationary law. Reduce the step size.")
        rest = T[1:, 1:]
        solved = linalg.solve(linalg.identity(len(rest), rest) - rest, T[1:, 0]) if len(rest) else []
        B, _ = self._reach
        Y = np.full((B.shape[1], B.shape[1]), Fraction(0))
        for (a, b), v in zip(at, [Fraction(1), *solved], strict=True):
            Y[a, b] = Y[b, a] = fraction(v)
        return linalg.matmul(linalg.matmul(B, Y), B.T)

    def _contracts(self):
        """Whether the rate is below 1 where its enclosure leaves it open: X = T(X) + 1 has a positive definite solution."""
        _, T = self._homogeneous
        at = [(a, b) for a, b in self._reduced[1] if a > 0]
        one = np.array([Fraction(int(a == b)) for a, b in at], dtype=object)
        try:
            solved = linalg.solve(linalg.identity(len(T), T) - T, one)
        except np.linalg.LinAlgError:
            return False
        size = 1 + max(b for _, b in at)
        X = np.full((size - 1, size - 1), Fraction(0))
        for (a, b), v in zip(at, solved, strict=True):
            X[a - 1, b - 1] = X[b - 1, a - 1] = fraction(v)
        return linalg.is_positive_definite(X)


def exchangeable(algorithm: Algorithm, problem: Problem, law: Law, noise: Any = None) -> Exchangeable:
    """The exact moments of equal clients under a law that treats them alike, for any number of clients and rounds.

    problem: quadratic, every client the same (curvature, linear term, weight), d small; law: uniform sets, Bernoulli with one
    probability (each convention for empty rounds) or full participation; noise: sigma of additive gradient noise
    (E|noise|^2 = sigma^2). The maps are read off coded rounds, one per cohort size, and held against rounds of other cohorts
    from a state in which all clients differ. Raises BadInput for clients that are not alike, NotAffine, TooLarge.
    """
    law = prepare(algorithm, problem, law, noise)
    n, steps = problem.n, law.steps_of(problem.n)
    sizes = None if law.modes > 1 or isinstance(steps, RandomSteps) or law.batch is not None else law.sizes(n)
    if sizes is None:
        refuse("law", law, "it does not treat all clients alike, or draws more than its cohort (local steps, mini-batches, coins)",
               "Use ft.Full(), ft.Uniform(m) or ft.Bernoulli(p) with one p, and fixed steps; or ft.derive.")
    if len(set(map(int, steps))) > 1:
        refuse("steps", list(map(int, steps))[:8], "clients with different local steps are not exchangeable",
               "Give one number of steps, or use ft.derive.")
    if problem.personal:
        refuse("problem", type(problem).__name__, "has personal parameters, and equal clients are covered without them",
               "Use ft.derive.")
    alg, prob = algorithm.to(RATIONAL), problem.to(RATIONAL)
    _check_equal(prob)
    sigma, lay = fraction(law.noise), layout(alg, prob)
    probe = Probe(alg, prob, law, lay, bool(sigma))
    check_affine(alg, prob, lay, probe.draw(range(n)))
    phi, parts = fitted(probe, [k for k, _ in sizes])
    maps = OrbitMoments(probe, [(k, q, phi(k)) for k, q in sizes], parts)
    step, mean = maps.second(Fraction(sigma) ** 2 / problem.d), maps.mean()
    return Exchangeable(algorithm, problem, law, law.noise, tuple(probe.at.names()), probe.at, step, mean)


def _stepped(A, v, rounds):
    """A^rounds v over one common denominator: exact numbers of long horizons are too long to be reduced in every round."""
    (integers, below), (vector, scale) = linalg.cleared(A), linalg.cleared(np.array(v, dtype=object))
    M, now = linalg.integer_matrix(integers), linalg.integer_matrix(vector[:, None])
    for _ in range(rounds):
        now = M * now
    below = int(scale) * int(below)**rounds
    return np.array([Fraction(int(x), below) for x in now.entries()] + [None], dtype=object)[:-1]


def _check_equal(problem: Problem):
    """Refuse clients with different gradients or weights, exactly."""
    zero = np.zeros((1 + problem.d, problem.n, problem.d), dtype=np.int64)
    for k in range(problem.d):
        zero[1 + k, :, k] = 1
    slopes = problem.grad(problem.domain.array(zero))
    for i in range(problem.n):
        if not all((a == b) for a, b in zip(slopes[:, i].reshape(-1), slopes[:, 0].reshape(-1), strict=True)):
            refuse("problem", f"client {i}", "its gradient differs from that of client 0, and exchangeable clients are equal",
                   "Give equal clients, or use ft.derive.")
        if not problem.p[i] == problem.p[0]:
            refuse("weights", f"client {i}", "its weight differs from that of client 0", "Give equal weights, or use ft.derive.")
