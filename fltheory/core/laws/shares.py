"""Moments of who takes part and with which share of the average, in floats, for any number of clients and any weights.

The share of client i in a cohort S is s_i = 1{i in S} v_i / v(S), v(S) the sum over S. Since 1/v = int_0^inf e^{-tv} dt
(and 1/v^2 = int t e^{-tv} dt), its moments are one-dimensional integrals of E[1{i in S} e^{-t v(S)}], which factorise
over the clients. With t = e^u the trapezoidal rule converges like e^{-pi^2/step}: to rounding here. No enumeration.
"""
from __future__ import annotations

import math

import numpy as np

STEP = 0.25      # of the trapezoidal rule in u = log t
CUT = 42.0       # e^-42 is below rounding


class Shares:
    """Float moments of cohorts (`Independent`, `FixedSize`) with weights v (n,) >= 0, of which some are positive.

    Clients of weight 0 have no share; cohorts of them alone share out nothing."""

    def __init__(self, model, v):
        self.model, self.v = model, np.asarray(v, dtype=float) / np.max(v)
        self.n, total, least = len(self.v), self.v.sum(), self.v[self.v > 0].min()
        u = np.arange(-CUT - math.log(total), math.log(CUT / least) + STEP, STEP)
        self.t, self.weight = np.exp(u), STEP * np.exp(u)

    @property
    def _constant(self):
        """|S| where every cohort has the same number of clients and all shares are equal: no integral is needed."""
        return getattr(self.model, "m", None) if np.ptp(self.v) == 0 else None

    def means(self):
        """(E 1{i in S}, E s_i, P(S empty)): (n,), (n,) and a number."""
        ones = self.model.inside(np.ones(self.n))
        if self._constant:
            return ones, ones / self._constant, self.model.nobody
        inside = np.stack([self.model.inside(np.exp(-t * self.v)) for t in self.t])          # (nodes, n)
        return ones, self.v * (self.weight @ inside), self.model.nobody

    def seconds(self):
        """(E 1_i 1_j, E 1_i s_j, E s_i s_j), each (n, n)."""
        n, v = self.n, self.v
        both, mixed, shares = self.model.pairs(np.ones(n)), np.zeros((n, n)), np.zeros((n, n))
        if self._constant:
            return both, both / self._constant, both / self._constant**2
        for t, w in zip(self.t, self.weight, strict=True):
            now = self.model.pairs(np.exp(-t * v))
            mixed += w * now
            shares += w * t * now
        return both, mixed * v[None], shares * v[:, None] * v[None]


class Independent:
    """Cohorts of independent clients: E over S of products of q_i over S, conditioned on S not empty if `redraw`."""

    def __init__(self, p, redraw):
        self.p = np.asarray(p, dtype=float)
        empty = float(np.exp(np.log1p(-self.p).sum())) if (self.p < 1).all() else 0.0
        self.scale = 1 / -math.expm1(np.log1p(-self.p).sum()) if redraw and empty else 1.0
        self.nobody = 0.0 if redraw else empty

    def _products(self, q):
        factors = 1 - self.p + self.p * q
        return factors, np.log(np.maximum(factors, 1e-300))

    def inside(self, q):
        """E[1{i in S} prod_S q] (n,)."""
        _, logs = self._products(q)
        return self.scale * self.p * q * np.exp(logs.sum() - logs)

    def pairs(self, q):
        """E[1{i, j in S} prod_S q] (n, n); the diagonal is `inside`."""
        _, logs = self._products(q)
        pq = self.p * q
        out = self.scale * pq[:, None] * pq[None] * np.exp(logs.sum() - logs[:, None] - logs[None])
        np.fill_diagonal(out, self.inside(q))
        return out


class FixedSize:
    """Uniform cohorts of m of n clients: elementary symmetric polynomials by a contour through their saddle point."""

    nobody = 0.0

    def __init__(self, n, m):
        self.n, self.m = n, m
        # coefficients m + k nodes fold onto the one asked for; at the saddle point |S| has mean m and a variance of at most
        # min(m, n - m), so that Bernstein's inequality leaves less than rounding of them
        apart = 18 + math.sqrt(196 + 84 * min(m, n - m))
        nodes = min(n + 1 + n % 2, 2 * math.ceil(apart / 2) + 1)        # odd: all but the first come in conjugate pairs
        self.omega = np.exp(2j * np.pi * np.arange(nodes // 2 + 1) / nodes)
        self.share = np.full(len(self.omega), 2 / nodes)
        self.share[0] /= 2
        self.log_count = math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)

    def _contour(self, q):
        """(scale, chances (n,), factors (n, nodes)) with scale times the mean of their product over the contour, at z^-m,
        the coefficient asked for: the product is 1 at z = 1 and smaller elsewhere, so nothing cancels."""
        if self.m == self.n:  # no saddle point: the coefficient is the product
            return None
        # odds r with sum r q / (1 + r q) = m, by bisection in log r
        low, high = (math.log(self.m / (self.n - self.m)) + s * (abs(np.log(q)).max() + 1) for s in (-1, 1))
        for _ in range(60):
            r = math.exp((low + high) / 2)
            low, high = ((low + high) / 2, high) if (r * q / (1 + r * q)).sum() < self.m else (low, (low + high) / 2)
        chance = r * q / (1 + r * q)
        factors = (1 - chance)[:, None] + chance[:, None] * self.omega[None]
        scale = math.exp(np.log1p(r * q).sum() - self.m * math.log(r) - self.log_count)
        return scale, chance, factors

    def inside(self, q):
        """E[1{i in S} prod_S q] (n,)."""
        contour = self._contour(np.maximum(q, 1e-300))
        if contour is None:
            return np.full(self.n, np.prod(q))
        scale, chance, factors = contour
        whole = factors.prod(0) * self.omega ** (1 - self.m) * self.share
        return scale * chance * (whole / factors).sum(1).real

    def pairs(self, q):
        """E[1{i, j in S} prod_S q] (n, n)."""
        contour = self._contour(np.maximum(q, 1e-300))
        if contour is None:
            return np.full((self.n, self.n), np.prod(q))
        scale, chance, factors = contour
        whole = factors.prod(0) * self.omega ** (2 - self.m) * self.share
        out = scale * chance[:, None] * chance[None] * ((whole / factors) @ (1 / factors).T).real
        np.fill_diagonal(out, self.inside(q))
        return out
