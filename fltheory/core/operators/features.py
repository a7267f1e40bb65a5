"""The features of a cohort in which most rounds are affine: who takes part, and with which share of the average."""
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fltheory.core.kinds import Law, Problem
from fltheory.core.laws.shares import Shares
from fltheory.core.numbers.scalars import FLOAT

TESTED = 12   # cohorts at which the form of a round is checked, of all sizes


@dataclass(frozen=True)
class Features:
    """phi(S) = (1, 1{i in S}, s_i(S), 1{S empty}) with shares s_i = 1{i in S} v_i / v(S), and their moments.

    v: (n,) weights of the shares, None for equal ones. first: E phi (k,); second: function giving E phi phi' (k, k), of
    which only what a mixture needs is computed. nobody: P(S empty), 0 where the round is run or redrawn.
    """

    n: int
    v: Any
    first: np.ndarray
    second: Any
    nobody: Any

    def shares(self, mask):
        """s_i (n,) of one cohort."""
        if self.v is None:
            return mask * Fraction(1, max(int(mask.sum()), 1))
        return mask * self.v / max((mask * self.v).sum(), 1e-300)

    def split(self, single, rest):
        """(B (n, ..), C (n, ..)) from single_i = B_i + C_i and rest_i = sum_{j != i} (B_j + s_j C_j), S all but i."""
        missing = single.sum(0) - single - rest                    # sum_{j != i} (1 - s_j) C_j
        if self.v is None:
            missing = missing * (self.n - 1) / (self.n - 2)
            share = missing.sum(0) / (self.n - 1) - missing
        else:
            some = np.flatnonzero(self.v)                          # a client of weight 0 has no share, and C_i = 0
            system = 1 - self.v[None, some] / (self.v.sum() - self.v[some])[:, None]
            np.fill_diagonal(system, 0.0)
            share = np.zeros_like(missing)
            share[some] = np.linalg.solve(system, missing[some].reshape(len(some), -1)).reshape(missing[some].shape)
        return single - share, share

    def tested(self, law: Law):
        """Cohorts (k, n) of all sizes, among them those of the law's own size, at which the form of a round is checked."""
        n, rng = self.n, np.random.Generator(np.random.Philox(self.n))
        sizes = {int(v) for v in np.linspace(2, n, TESTED)} | {min(getattr(law, "m", n), n)}
        return np.array([rng.permutation(n) < size for size in sorted(sizes) for _ in range(2)], dtype=np.int64)

    def mean(self, law: Law, value, domain):
        """E of a function of the cohort of this form, from its values (k, ..) at some cohorts; None if it is not of the form.

        value: function of masks (k, n); in empty rounds that a law skips it counts as 0.
        """
        eye = np.eye(self.n, dtype=np.int64)
        values = value(np.concatenate([0 * eye[:1], eye, 1 - eye]))
        count, share = self.split(values[1:self.n + 1] - values[0], values[self.n + 1:] - values[0])
        parts = np.concatenate([values[:1], count, share, *([0 * values[:1] - values[:1]] if self.nobody else [])])
        tests = self.tested(law)
        gap = value(tests) - domain.array(self.vectors(tests)) @ parts
        if domain is FLOAT:
            holds = np.abs(gap).max() <= 1e-10 * np.abs(values).max(initial=1e-300)
        else:
            holds = all(v == 0 for v in gap.reshape(-1))
        return domain.array(self.first) @ parts if holds else None

    def vectors(self, masks):
        """phi(S) (k, .) of cohorts (k, n)."""
        rows = [[1, *mask, *self.shares(mask), *([int(not mask.any())] if self.nobody else [])] for mask in masks]
        out = np.empty((len(rows), len(rows[0])), dtype=object)
        for k, row in enumerate(rows):
            out[k] = row
        return out


def features_of(law: Law, problem: Problem):
    """Features of a law with equal shares, then with shares by the problem's weights, as far as their moments are known.

    In floats the moments are integrals (`laws.shares`); elsewhere they are the law's exact ones.
    """
    n = problem.n
    model = law.tilted(n) if problem.domain is FLOAT and hasattr(law, "tilted") else None
    if model is None:
        moments = law.feature_moments(n)
        if moments is not None:
            mean, second, nobody = moments
            yield _of_moments(n, None, [Fraction(1), *mean], lambda: second, nobody if law.empty == "skip" else Fraction(0))
        return
    yield _of_integrals(law, n, model, None)
    v = np.asarray(problem.p, dtype=float)
    if (v > 0).sum() >= 3 and np.ptp(v) > 1e-14 * v.max():
        yield _of_integrals(law, n, model, v)


def _of_integrals(law: Law, n, model, v):
    moments = Shares(model, np.ones(n) if v is None else v)
    ones, shares, nobody = moments.means()
    mean = np.concatenate([ones, shares])

    def second():
        both, mixed, squares = moments.seconds()
        return np.block([[both, mixed], [mixed.T, squares]])
    return _of_moments(n, v, [1.0, *mean], second, nobody if law.empty == "skip" else 0.0)


def _of_moments(n, v, first, second, nobody):
    """first: E of (1, indicators, shares); second: function giving the second moments of the last 2n."""
    values = [*first, nobody] if nobody else first

    def gram():
        size = 2 * n + 1
        out = np.full((len(values), len(values)), 0 * first[0], dtype=np.asarray(first).dtype)
        out[0, 0], out[0, 1:size], out[1:size, 0], out[1:size, 1:size] = first[0], first[1:], first[1:], second()
        if nobody:
            out[0, -1] = out[-1, 0] = out[-1, -1] = nobody
        return out
    return Features(n, v, np.array([*values, None], dtype=object)[:-1], gram, nobody)
