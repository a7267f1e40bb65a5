"""First moments of a structured operator: the fixed point of the mean round and the rate at which the mean approaches it."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fltheory.core.errors import CertificateFailed, NoFixedPoint
from fltheory.core.operators import size
from fltheory.large import krylov
from fltheory.large.accuracy import Value

LISTED = 1200          # coordinates of a memoryless state up to which the mean map is listed
COLUMNS = 16           # of it in one batch of rounds
ONE = 1e-13            # distance of an eigenvalue from 1 that floats do not tell from 0
APART = 1e-4           # of their size: two starts that end so far apart end at different points
SOLVED = 1e-8          # of the first move: residual above which GMRES has not converged
ROUNDING = 2e-15       # of the largest number of a state: a residual at which nothing is refined
REFINED = 1e-3         # of a residual that is refined: what may be left of it
COHORTS = 4            # rounds of single cohorts that a start of Arnoldi passes through
CONVERGED = 0.1        # of a rate: residual, and difference of two starts, above which Arnoldi has found nothing


@dataclass(frozen=True)
class Point:
    """state (D,), residual of a round at it, bound on the distance from the fixed point (an estimate), how it was solved for."""

    state: np.ndarray
    residual: float
    bound: float
    how: str


def _above_rounding(residual, z):
    """At least what rounding of the states hides: a round is the sum of its parts."""
    return max(residual, ROUNDING * np.abs(z).max())


class FirstMoments:
    """Of a `MeanRound` with its `ConservedQuantities`."""

    def __init__(self, mean, conserved, seed=0):
        self.mean, self.conserved, self.seed = mean, conserved, seed
        self.zero = mean.start(np.zeros(mean.d))
        self.constant = mean(0 * self.zero)
        self.listed = None
        if mean.D == mean.d <= LISTED:   # every state is a start, so that every direction is reachable
            self.listed = self._matrix()

    def product(self, v):
        """The linear part of the mean round on states (k, D), projected; at a size where rounding of the constant is nothing."""
        top = np.abs(v).max(-1, keepdims=True)
        scale = 2.0**20 * max(1.0, np.abs(self.constant).max()) / np.where(top > 0, top, 1.0)
        scale = 2.0 ** np.round(np.log2(scale))
        return self.conserved.project((self.mean(scale * v) - self.constant) / scale)

    def _matrix(self):
        eye = np.eye(self.mean.D)
        return np.concatenate([self.product(eye[k:k + COLUMNS]) for k in range(0, len(eye), COLUMNS)]).T

    def none(self, why):
        equations = "; ".join(self.conserved.equations(self.zero)[:4]) or "nothing"
        return NoFixedPoint(f"{type(self.mean.algorithm).__name__}: {why}, so its fixed point is not unique or does not exist. "
                            f"Conserved: {equations}. Check steps with lr * curvature = 0 or 1 and absent clients.")

    # ---- fixed point -----------------------------------------------------------------------------------
    def fixed_point(self) -> Point:
        """From two starts at once: they must end at one point. Raises NoFixedPoint, CertificateFailed."""
        if self.listed is not None:
            return self._solved()
        mean, rng = self.mean, np.random.Generator(np.random.Philox(self.seed + 1))
        far = max(1.0, np.abs(self.constant).max()) * rng.standard_normal(mean.d)
        z = np.stack([self.zero, mean.start(far)])
        moves = self.conserved.project(mean(z) - z)
        solutions = krylov.solve(self.product, moves, size.krylov_steps(mean.D))
        ends = self._refined(z + np.stack([f.x for f in solutions]))
        least, worst = min(f.least for f in solutions), max(f.residual for f in solutions)
        top = max(np.abs(ends).max(), 1e-300)
        apart = np.abs(ends[0] - ends[1]).max() / max(top, np.abs(z).max())
        if least < ONE or (worst <= SOLVED and apart > APART):
            raise self.none(f"the mean round has an eigenvalue 1 on reachable states (two starts end {apart:.1e} apart)")
        if worst > SOLVED:
            raise CertificateFailed(f"GMRES left {worst:.1e} of the first move after {solutions[0].steps} products, of a mean "
                                    f"round with a singular value of 1 - M near {least:.1e}. Use method='dense', or fewer clients")
        residual = np.abs(mean(ends[0]) - ends[0]).max()
        bound = max(_above_rounding(residual, ends[0]) * np.sqrt(mean.D) / least, np.abs(ends[0] - ends[1]).max())
        how = f"GMRES from two starts, {max(f.steps for f in solutions)} products each; residual on the coded mean round"
        return Point(ends[0], residual, float(bound), how)

    def _refined(self, ends):
        """Once more from the ends, unless what is left of a round there is rounding: that has no reachable solution."""
        moves = self.conserved.project(self.mean(ends) - ends)
        if not np.abs(moves).max() > ROUNDING * np.abs(ends).max():
            return ends
        return ends + np.stack([f.x for f in krylov.solve(self.product, moves, size.krylov_steps(self.mean.D), REFINED)])

    def _solved(self):
        M, D = self.listed, self.mean.D
        gap = np.abs(np.linalg.eigvals(M) - 1).min()
        system = np.eye(D) - M
        if gap < ONE:
            raise self.none("the mean round has an eigenvalue 1")
        z = np.linalg.solve(system, self.constant)
        move = self.mean(z) - z
        better = z + np.linalg.solve(system, move)      # the constant was seen at 0, far from where it is needed
        again = np.abs(self.mean(better) - better).max()
        z, residual = (better, again) if again <= np.abs(move).max() else (z, np.abs(move).max())
        least = np.linalg.svd(system, compute_uv=False)[-1]
        bound = _above_rounding(residual, z) * np.sqrt(D) / least
        return Point(z, residual, float(bound), "linear solve; residual on the coded mean round")

    def known_point(self, point) -> Value:
        top = max(np.abs(point.state).max(), 1e-300)
        x = self.mean.algorithm.model(self.mean.layout.unflatten(point.state))
        return Value("fixed_point", float(np.linalg.norm(x)), point.how, float(point.residual / top), point.bound, "checked")

    # ---- rate ------------------------------------------------------------------------------------------
    def starts(self, count=2):
        """(count, D): generic reachable directions. Linear parts of rounds of single cohorts, on differences of starts and on first
        moves: the mean round alone never tells clients with equal curvature apart."""
        mean, rng = self.mean, np.random.Generator(np.random.Philox(self.seed + 2))
        zero = np.zeros((1, mean.D))
        v = mean.start(rng.standard_normal((count, mean.d))) - self.zero
        total = 0.0
        for cohort in self.cohorts(rng):
            v = mean.at(v, cohort) - mean.at(zero, cohort)
            v = v / max(np.abs(v).max(), 1e-300)
            move = mean.at(self.zero[None], cohort) - self.zero
            mix = rng.standard_normal((2, count, 1))
            total = total + mix[0] * v + mix[1] * move / max(np.abs(move).max(), 1e-300)
        return self.conserved.project(total)

    def cohorts(self, rng):
        """The cohorts that a start passes through."""
        return [self.mean.cohort(rng) for _ in range(COHORTS)]

    def rate(self) -> Value:
        """Of the mean round on reachable states."""
        if self.listed is not None:
            value, V = np.linalg.eig(self.listed)
            top = int(np.argmax(np.abs(value))) if len(value) else 0
            residual = np.linalg.norm(self.listed @ V[:, top] - value[top] * V[:, top])
            return Value("rate", float(np.abs(value[top])), f"eigenvalues of the listed mean map ({len(value)} coordinates)",
                         float(residual / max(np.abs(value[top]), 1e-300)), None, "checked")
        modes = krylov.ritz(self.product, self.starts(), size.krylov_steps(self.mean.D))
        rates = [f.rate for f in modes]
        best = modes[int(np.argmax(rates))]
        top = max(best.rate, 1e-300)
        residual = np.max([*(f.residual for f in modes), self._residual(best)]) / top      # one that is no number stays seen
        apart = abs(rates[0] - rates[1]) / top
        if not max(residual, apart) <= CONVERGED:
            raise CertificateFailed(f"Arnoldi's method has not converged after {best.steps} products (rates {rates[0]:.6g} and "
                                    f"{rates[1]:.6g} from two starts). Use fewer clients, or ft.run")
        differ = f" that differ by {apart:.1e}" if apart else ""
        return Value("rate", best.rate, f"Arnoldi estimate from two starts{differ} in one space, {best.steps} products; residual "
                     "on the coded mean round", float(residual), None, "estimate")

    def _residual(self, mode):
        """|A v - value v| of a Ritz vector of norm 1, by one more product."""
        if mode.vector is None:
            return 0.0
        v = np.stack([mode.vector.real, mode.vector.imag])
        a, b = mode.value.real, mode.value.imag
        gap = self.product(v) - np.stack([a * v[0] - b * v[1], a * v[1] + b * v[0]])
        return float(np.linalg.norm(gap))
