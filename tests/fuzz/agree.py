"""What the package says of a case, beside what the oracle says; each gap with the tolerance that its conditioning allows."""
from __future__ import annotations

import contextlib
import functools
from collections import Counter
from fractions import Fraction

import numpy as np

import fltheory as ft
from fltheory.core.numbers.scalars import fraction
from tests.fuzz.drawn import MODELS
from tests.fuzz.oracle.moments import EPS, Expected, Undecided, condition, radius, solve
from tests.fuzz.oracle.rounds import ROUNDS, Clients, model, start

RELATIVE = 1e-9
MOST, MOST_EXACT = 460, 36   # unknowns of second moments that the oracle writes out
ROUNDS_SEEN = 4
WORK = 40_000        # products of Fractions that a trajectory may take


def tolerance(scale, kappa=1.0):
    """Of a float result of this size whose equations have the condition number kappa: relative 1e-9, or what a backward
    stable computation of a few hundred operations may lose, 500 kappa eps, where that is more."""
    return scale * max(RELATIVE, 500 * EPS * kappa)


class Agreement:
    """The comparisons of one case: `gaps` are its disagreements, `made` counts what was compared."""

    def __init__(self, case):
        self.case, self.gaps, self.made = case, [], Counter()
        self.domain = ft.RATIONAL if case.exact else ft.FLOAT
        sigma = case.noise if case.noise else 0
        variance = Fraction(sigma) ** 2 / case.data.drawn if case.exact else float(sigma) ** 2 / case.data.drawn
        self.variance = variance

    @functools.cached_property
    def expected(self):
        case = self.case
        return Expected(case.name, case.a, case.data, case.before, case.moves, self.variance)

    def same(self, what, found, expected, scale=1.0, kappa=1.0, slack=0.0):
        self.made[what] += 1
        found, expected = np.asarray(found, dtype=object).reshape(-1), np.asarray(expected, dtype=object).reshape(-1)
        if len(found) != len(expected):
            self.gaps.append(f"{what}: {len(found)} numbers instead of {len(expected)}")
        elif self.case.exact:
            if not all(fraction(u) == v for u, v in zip(found, expected, strict=True)):
                self.gaps.append(f"{what}: {list(map(str, found))} instead of exactly {list(map(str, expected))}")
        else:
            gap = max((abs(float(u) - float(v)) for u, v in zip(found, expected, strict=True)), default=0.0)
            allowed = tolerance(scale, kappa) + slack
            if not gap <= allowed:
                self.gaps.append(f"{what}: {found.tolist()} instead of {expected.tolist()}; {gap:.3g} apart, "
                                 f"{allowed:.3g} allowed (condition {kappa:.3g})")

    def near(self, what, found, expected, kappa):
        """Floats of eigenvalues, in every arithmetic."""
        self.made[what] += 1
        allowed = tolerance(max(expected, EPS), kappa)
        if not abs(found - expected) <= allowed:
            self.gaps.append(f"{what}: {found!r} instead of {expected!r}, {allowed:.3g} allowed (condition {kappa:.3g})")

    # ---- operators ---------------------------------------------------------------------------------------------------
    def operators(self):
        case, e = self.case, self.expected
        noise = case.noise or None
        op = ft.derive(case.algorithm, case.problem, case.law, noise, domain=self.domain)
        self.trajectory(op)
        try:
            Q, L = e.reach()
        except Undecided:
            return self.anywhere(op)
        r = Q.shape[1]
        moves = e.reduced(Q, L, e.z0)
        M, push = e.mean_map(moves, r)
        rate, kappa = radius(M)
        self.near("rate", op.rate(), rate, kappa)
        values = np.linalg.eigvals(M.astype(float))
        gap = float(np.abs(values - 1).min())
        if gap < 1e-12 * max(1.0, kappa):
            return self.singular(op, M)
        u = solve(self.identity(len(M)) - M, push).reshape(-1, r)
        kappa = condition(M)
        center = e.z0 + Q @ u.sum(0)
        x = e.E @ center + e.e
        size = self.size(center, u, e.z0)
        try:
            self.same("fixed point", op.fixed_point().x, x, size, kappa)
        except ft.NoFixedPoint as error:
            self.gaps.append(f"fixed point: refused where 1 is {gap:.3g} away from every eigenvalue: {error}")
            return
        self.seconds(op, Q, L, center, x, size, kappa)

    def anywhere(self, op):
        """Where floats leave the reachable directions open: what must hold on the whole space in any case."""
        self.made["undecided reach"] += 1
        e = self.expected
        eye = self.identity(e.D)
        M, push = e.mean_map(e.reduced(eye, eye, 0 * e.z0), e.D)
        values = np.abs(np.linalg.eigvals(M))
        rate = op.rate()
        if not np.abs(values - rate).min() <= 1e-6:
            self.gaps.append(f"rate: {rate} is no modulus of an eigenvalue: {sorted(values)}")
        if len(e.before) == 1 and op.dimension == e.D:  # the same coordinates in the same order
            try:
                z = op.fixed_point().state
            except ft.NoFixedPoint:
                return
            self.same("residual of a fixed point", M @ z + push, z, self.size(z, push) * max(1.0, self.size(M)))

    def identity(self, n):
        return self.expected._unknowns(n, n)

    @staticmethod
    def size(*arrays):
        return max(float(np.abs(v.astype(float)).max(initial=0)) for v in arrays)

    def singular(self, op, M):
        self.made["no fixed point"] += 1
        if self.case.exact:
            try:
                solve(self.identity(len(M)) - M, M[:, 0])
                return
            except np.linalg.LinAlgError:
                pass
            with contextlib.suppress(ft.NoFixedPoint):
                self.gaps.append(f"fixed point: {op.fixed_point().x} where there is none")

    def seconds(self, op, Q, L, center, x, size, kappa):
        e, r = self.expected, Q.shape[1]
        if len(e.before) * r * (r + 1) // 2 > (MOST_EXACT if self.case.exact else MOST):
            self.made["second moments too large"] += 1
            return
        moves = e.reduced(Q, L, center)
        T, upper = e.second_map(moves, r)
        rate, spectral = radius(T)
        self.near("mean-square rate", op.mean_square_rate(), rate, spectral)
        if abs(rate - 1) < 1e-6 * max(1.0, spectral * 1e-6):
            self.made["mean-square rate near 1"] += 1
            return
        if rate > 1:
            self.made["second moments grow"] += 1
            if self.has(op.stationary) or op.floor(x) != np.inf:
                self.gaps.append(f"a stationary law where the mean-square rate is {rate}")
            return
        pi, (M, push) = e.modes(), e.mean_map(moves, r)
        m = solve(self.identity(len(M)) - M, push).reshape(len(pi), r)
        rhs = e._zeros(len(pi), r, r)
        for i, j, q, A, b, N in moves:
            cross = np.multiply.outer(A @ m[i], b)
            rhs[j] = rhs[j] + q * (cross + cross.T + pi[i] * (np.multiply.outer(b, b) + N))
        packed = np.array([rhs[j][s, t] for j in range(len(pi)) for s, t in upper], dtype=rhs.dtype)
        solved = solve(self.identity(len(T)) - T, packed).reshape(len(pi), -1).sum(0)
        X = e._zeros(r, r)
        for (s, t), v in zip(upper, solved, strict=True):
            X[s, t] = X[t, s] = v
        to_model = e.E @ Q
        covariance = to_model @ X @ to_model.T
        both = condition(T)
        # an error of the mean enters the offsets b, and their squares the covariance
        slip, scale = 500 * EPS * kappa * size, self.size(X)
        slack = slip * np.sqrt(scale) + slip**2
        found = op.stationary()
        self.same("stationary mean", found.mean, x, size, kappa)
        self.same("stationary covariance", found.covariance, covariance, scale, both, slack)
        self.floor(op, x, covariance, tolerance(size, kappa), tolerance(scale, both) + slack)

    @staticmethod
    def has(question):
        try:
            return bool(question()) or True
        except ft.NoFixedPoint:
            return False

    def floor(self, op, x, covariance, far, spread):
        """far, spread: what the mean and the covariance may be off."""
        if hasattr(self.case.data, "H"):
            H, b = self.objective()
            if np.linalg.eigvalsh(H.astype(float)).min() <= 0:
                return
            at = solve(H, b)
        else:
            at = 0 * x + 1
        gap = x - at
        value = (gap * gap).sum() + sum(covariance[k, k] for k in range(len(x)))
        found = op.floor([fraction(v) for v in at] if self.case.exact else at)
        self.same("floor", [found], [value], float(value), slack=len(x) * (2 * far * self.size(gap) + far**2 + spread))

    def trajectory(self, op):
        given = self.case.x0
        x0 = np.array([Fraction(v) for v in given] + [None], dtype=object)[:-1] if self.case.exact else np.array(given, float)
        product = len(self.expected.moves) * 2 * (self.expected.D + 1) ** 3
        rounds = min(ROUNDS_SEEN, max(2, 1 + WORK // product)) if self.case.exact else ROUNDS_SEEN
        seen = self.expected.trajectory(x0, rounds)
        for (mean, second), (x, S, largest) in zip(op.trajectory(rounds, given), seen, strict=True):
            self.same("trajectory of the mean", mean, x, largest**0.5)
            self.same("trajectory of the second moment", second, S, largest)

    # ---- problems ----------------------------------------------------------------------------------------------------
    def objective(self):
        p, data = np.array(self.case.data.p, dtype=self.expected.z0.dtype), self.case.data
        return (p[:, None, None] * data.H).sum(0), (p[:, None] * data.b).sum(0)

    def optimum(self):
        if not hasattr(self.case.data, "H"):
            return self.joint()
        H, b = self.objective()
        low, high = np.linalg.eigvalsh(H.astype(float))[[0, -1]]
        if abs(low) < 1e-11 * abs(high):
            return None
        if self.case.kind == "dyadic" and self.domain is ft.RATIONAL:
            return None  # the declared data are floats: answered in floats
        try:
            found = ft.optimum(self.case.problem)
        except ft.NoMinimiser as error:
            if low > 0:
                self.gaps.append(f"optimum: refused where the smallest curvature is {low}: {error}")
            return None
        if low < 0:
            self.gaps.append(f"optimum: {found.x} where the smallest curvature is {low}")
            return None
        x = solve(H, b)
        return self.same("optimum", found.x, x, self.size(x), np.linalg.cond(H.astype(float)))

    def joint(self):
        """The shared w: of the whole linear system of (w, theta_1, ..., theta_n)."""
        data = self.case.data
        A, B, C, bw, bt = data.blocks
        if self.case.kind == "dyadic":
            return
        sizes = [len(v) for v in bt]
        D = data.d + sum(sizes)
        G, g, at = self.expected._zeros(D, D), self.expected._zeros(D), data.d
        for i, k in enumerate(sizes):
            own = slice(at, at + k)
            G[:data.d, :data.d] += data.p[i] * A[i]
            G[:data.d, own], G[own, :data.d], G[own, own] = data.p[i] * B[i], data.p[i] * B[i].T, data.p[i] * C[i]
            g[:data.d] += data.p[i] * bw[i]
            g[own] = data.p[i] * bt[i]
            at += k
        w = solve(G, g)
        self.same("joint optimum", self.case.problem.joint_optimum()[0], w[:data.d], self.size(w), np.linalg.cond(G.astype(float)))

    def weights(self):
        """Surrogate weights: the mean step of small steps on f_i(x) = x_i."""
        case, n = self.case, self.case.data.n
        if case.name not in MODELS:
            return
        zero = self.expected._zeros
        flat = type(case.data)(n=n, d=n, drawn=n, p=case.data.p, exact=case.exact)
        flat.clients = lambda one, noise=None: Clients(zero(n, n, n), -self.identity(n), case.data.p, one, noise)
        a = type(case.a)(**vars(case.a))
        if case.solver == "proximal mu":
            a.solver = ("vanilla",)                    # mu is kept as lr -> 0
        e = Expected(case.name, a, flat, case.before, case.moves, 0)
        pi, step = e.modes(), zero(n)
        for i, _, q, m in e.moves:
            step = step + pi[i] * q * m.b
        asked = (case.algorithm, case.law, n, case.problem.weights)
        if step.sum() == 0:                            # nobody ever takes part
            try:
                self.gaps.append(f"surrogate weights: {ft.surrogate_weights(*asked, domain=self.domain)} of no step at all")
            except ft.FLTheoryError:
                self.made["no surrogate weights"] += 1
            return
        self.same("surrogate weights", ft.surrogate_weights(*asked, domain=self.domain), step / step.sum())

    # ---- runs --------------------------------------------------------------------------------------------------------
    def loop(self, rounds=6):
        """[server model] of a law with one outcome a round, None if chance takes part."""
        case = self.case
        after = {i: (j, draw) for i, j, q, draw in case.moves if q == 1}
        if len(after) != len(case.moves) or max(case.before) != 1:
            return None
        clients = case.data.clients(np.ones(1))
        s, mode = start(case.name, case.a, clients, np.array(case.x0, dtype=float)[:, None]), list(case.before).index(1)
        seen = [model(case.name, case.a, s)[:, 0]]
        for _ in range(rounds):
            mode, draw = after[mode]
            s = ROUNDS[case.name](case.a, clients, s, draw) if draw.happens else s
            seen.append(model(case.name, case.a, s)[:, 0])
        return seen

    def run(self):
        """A run without noise, where its law leaves nothing to chance."""
        case = self.case
        seen = None if case.exact or case.noise else self.loop()
        if seen is None:
            return
        seen = np.array(seen)
        metrics = {f"x{k}": lambda x, k=k: x[:, k] for k in range(case.data.d)}
        trace = ft.run(case.algorithm, case.problem, case.law, len(seen) - 1, x0=case.x0, metrics=metrics)
        found = np.stack([trace.mean(f"x{k}") for k in range(case.data.d)], axis=1)
        self.same("run", found, seen, self.size(seen))

    # ---- all together ------------------------------------------------------------------------------------------------
    def compared(self):
        """Itself, after everything was asked. Every drawn case is reasonable, so a refusal is a disagreement."""
        for part in (self.operators, self.weights, self.optimum, self.run):
            self.asked(part)
        return self

    def followed(self):
        """Disagreements of a run with its loop."""
        self.asked(self.run)
        return self.gaps if self.made["run"] else [*self.gaps, "run: this law leaves something to chance"]

    def asked(self, part):
        try:
            part()
        except ft.FLTheoryError as error:
            self.gaps.append(f"{part.__name__}: refused with {type(error).__name__}: {error}")
