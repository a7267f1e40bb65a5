"""Rounds of quadratics as an exact affine map of (w, theta_1, .., theta_N) with the covariance of its noise, and E F along them."""
from fractions import Fraction as Q
from functools import cached_property

import numpy as np

import fltheory as ft
from verification.fedres.one_round import gamma2, noise_of, one_round, root_above, square
from verification.fedres.rounds import OneRound


class Affine(OneRound):
    """Clients of an `ft.Residual` under an affine algorithm. noise: E|noise|^2 of one mini-batch, both blocks, or a `Noise` and
    a state for `one_round`. x0, theta0: the start, lists of exact numbers."""

    @property
    def sigma2(self):
        noise = noise_of(self.stated)
        return noise.sigma2 if self.stated.noise is noise else ft.fraction(self.stated.noise) ** 2

    @cached_property
    def beta(self):
        """Strong convexity of F in all its variables, from below; 0 where it has none."""
        return max(Q(0), ft.fraction(ft.linalg.smallest_eigenvalue_bound(self.H)))

    @cached_property
    def joint(self):
        """(H, b): F(z) = z'Hz/2 - b'z + constant."""
        problem = self.stated.problem.joint()
        parts = (np.asarray(v, dtype=object) for v in (problem.weights, problem.H, problem.b))
        p, H, b = (ft.linalg.to_fractions(ft.RATIONAL.array(v)) for v in parts)
        return (p[:, None, None] * H).sum(0), (p[:, None] * b).sum(0)

    @property
    def H(self):
        return self.joint[0]

    @cached_property
    def best(self):
        H, b = self.joint
        return ft.linalg.solve(H, b[:, None])[:, 0]

    @cached_property
    def start(self):
        """z before the first round."""
        theta = [v for t, k in zip(self.theta0, self.problem.dims, strict=True) for v in t[:k]]
        return np.array([ft.fraction(v) for v in [*self.x0, *theta]], dtype=object)

    @cached_property
    def round_map(self):
        """(T, t, Q): z -> T z + t + noise of covariance Q, of the operator derived from the coded round."""
        op, problem = self.op_anywhere.exact(), self.problem
        moments, size = op.moments, op.moments.size
        pi, m, X = (ft.RATIONAL.array(np.array(v, dtype=object)) for v in ([1], [[0] * size], [[[0] * size] * size]))
        _, t, second = moments.step(pi, m, X)
        T, t, second = (ft.linalg.to_fractions(v) for v in (moments.mean_matrix(), t[0], second[0]))
        padded = np.concatenate([np.ones(problem.d, dtype=int), np.asarray(problem.real).reshape(-1)])
        keep = np.flatnonzero(padded)
        Q = second - t[:, None] * t[None, :]
        return T[np.ix_(keep, keep)], t[keep], Q[np.ix_(keep, keep)]

    # ---- E F and E|grad F|^2 along the rounds, z taken from the optimum -------------------------------------
    @cached_property
    def moved(self):
        """How far a round moves the optimum: T z* + t - z*."""
        T, t, _ = self.round_map
        return (T * self.best).sum(-1) + t - self.best

    def along(self, rounds):
        """Yield (E F - F*, E|grad F|^2, E|z - z*|^2) before rounds 0, 1, .., rounds."""
        (T, _, Q), H, mean = self.round_map, self.H, self.start - self.best
        second, shift = mean[:, None] * mean[None, :], self.moved
        square = ft.linalg.matmul(H, H)
        for _ in range(rounds + 1):
            yield (H * second).sum() / 2, (square * second).sum(), np.trace(second)
            carried = ft.linalg.matmul(ft.linalg.matmul(T, second), T.T)
            cross = (T * mean).sum(-1)[:, None] * shift[None, :]
            second = carried + cross + cross.T + shift[:, None] * shift[None, :] + Q
            mean = (T * mean).sum(-1) + shift

    @cached_property
    def floor(self):
        """Stationary E F - F* of an unbiased round: tr(H S)/2 with S = T S T' + Q."""
        (T, _, Q), size = self.round_map, len(self.H)
        pairs = [(a, b) for a in range(size) for b in range(a, size)]
        rows = np.array([[(T[a, c] * T[b, e] + (T[a, e] * T[b, c] if c != e else 0)) for c, e in pairs] for a, b in pairs],
                        dtype=object)
        unit = np.array([[ft.fraction(int(p == q)) for q in pairs] for p in pairs], dtype=object)
        found = ft.linalg.solve(unit - rows, np.array([[Q[p]] for p in pairs], dtype=object))[:, 0]
        return sum(self.H[p] * v * (1 if p[0] == p[1] else 2) for p, v in zip(pairs, found, strict=True)) / 2


def steady(name, problem, K, eta, noise=0, w=None, theta=None, lam=None, kind=ft.FedResSgd, says="", **extra):
    """A quadratic instance; lambda = eta/N where not given, the start at 0."""
    eta = ft.fraction(eta)
    lam = eta / problem.n if lam is None else ft.fraction(lam)
    theta = [[0] * k for k in problem.dims] if theta is None else theta
    return Affine(name, problem, kind(lr=eta, steps=K, personal_lr=lam), ft.Full(), noise=noise,
                  x0=[0] * problem.d if w is None else w,
                  theta0=theta, says=says or f"K={K}, eta={eta}, lambda={lam}", **extra)


class Listed(OneRound):
    """Huber sums with every minimiser of a row at 0, so that F* = 0 at z = 0; several rounds over all outcomes of their noise."""

    beta = Q(0)

    def along(self, rounds):
        """As `Affine.along`."""
        states = [(Q(1), self.x0, self.theta0)]
        for r in range(rounds + 1):
            runs = [(chance, one_round(self.but(x0=list(w), theta0=[list(t) for t in theta]))) for chance, w, theta in states]
            yield tuple(sum(chance * v for (chance, _), v in zip(runs, column, strict=True))
                        for column in zip(*(self._at(run) for _, run in runs), strict=True))
            if r < rounds:
                states = [(chance * q, w, theta) for chance, run in runs for q, w, theta in _outcomes(run)]

    def _at(self, run):
        grad2 = square(run.shared(run.w, run.theta))[0, 0] + run.own2(run.w, run.theta)[0, 0] / self.n
        return run.F(run.w, run.theta)[0, 0], grad2, square(run.w)[0, 0] + square(run.theta)[0, 0].sum()


def _outcomes(run):
    """(chance, w, theta) after a round."""
    one, two = run.chances
    w, theta = (np.broadcast_to(v, (len(one), len(two), *v.shape[2:])) for v in (run.w1, run.theta1))
    return [(a * b, w[j, k], theta[j, k]) for j, a in enumerate(one) for k, b in enumerate(two)]


def listed(name, problem, K, share, w, theta, noise=0, rounds=1, says="", **extra):
    """A run at this share of 1/(gamma K), lambda = eta/N."""
    eta = ft.fraction(share) / (root_above(gamma2(problem)) * K)
    theta = theta if isinstance(theta, list) else [[theta]] * problem.n
    return Listed(name, problem, ft.FedResSgd(lr=eta, steps=K, personal_lr=eta / problem.n), ft.Full(), noise=noise, x0=[w],
                  theta0=theta, rounds=rounds,
                  says=says or f"w={w}, theta={[str(t[0]) for t in theta[:4]]}, K={K}, eta={eta}, {rounds} rounds",
                  **extra)
