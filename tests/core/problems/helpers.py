"""Shared by the problem tests: finite differences, torch twins, exact comparison, random quadratics."""
from __future__ import annotations

from fractions import Fraction as Q

import numpy as np

from fltheory.core.numbers.arrays import to_numpy
from fltheory.core.numbers.scalars import RATIONAL, Torch
from fltheory.core.problems.quadratic import Quadratic

TORCH = Torch()


def fractions(array):
    """Exact numbers of any kind as an object array of Fractions."""
    from fltheory.core.numbers.linalg import to_fractions
    return to_fractions(array)


def same(a, b):
    """Exact equality of two arrays of rationals."""
    a, b = fractions(a), fractions(b)
    return a.shape == b.shape and bool((a == b).all())


def point(n, seed=1):
    return np.random.default_rng(seed).standard_normal(n)


def differences(f, x, h=1e-6):
    """Central differences of f at x (d,); f: (d,) -> (...) ; result (..., d)."""
    steps = h * np.eye(len(x))
    return np.stack([(f(x + e) - f(x - e)) / (2 * h) for e in steps], axis=-1)


def cohort_agrees(problem, domain, who, y, exact=False):
    """Gradients of a cohort equal the gathered gradients of everyone, for who (m,) or (..., m)."""
    p = problem.to(domain)
    made = p.at(domain_index(domain, who)).grad(y)
    flat_y = np.broadcast_to(to_numpy(y), (*np.broadcast_shapes(who.shape, y.shape[:-1]), y.shape[-1]))
    flat_who = np.broadcast_to(who, flat_y.shape[:-1])
    for place in np.ndindex(flat_who.shape):
        one = domain_like(domain, np.array([flat_y[place]] * problem.n, dtype=flat_y.dtype))
        expected = to_numpy(p.grad(one))[flat_who[place]]
        if exact:
            assert same(to_numpy(made)[place], expected)
        else:
            np.testing.assert_allclose(to_numpy(made)[place], expected, rtol=1e-12, atol=1e-13)


def domain_index(domain, who):
    if isinstance(domain, Torch):
        import torch
        return torch.as_tensor(who)
    return who


def domain_like(domain, array):
    if isinstance(domain, Torch):
        import torch
        return torch.as_tensor(array)
    return array


def rationals(shape, seed=0, high=5):
    """Small random rationals as an object array of the rational arithmetic."""
    rng = np.random.default_rng(seed)
    top, bottom = rng.integers(-high, high + 1, shape), rng.integers(1, 4, shape)
    out = np.empty(shape, dtype=object)
    for k in np.ndindex(out.shape):
        out[k] = Q(int(top[k]), int(bottom[k]))
    return RATIONAL.array(out)


def rational_random(stream, n, d, uniform=False) -> Quadratic:
    """A random strongly convex quadratic with small rationals: denominators of H at most 4, of minimisers 2.

    stream: `Stream`; n, d >= 1. H_i = (B B' + diag(1..3))/k with B in {-2..2}, k in {1..4}; minimisers are half
    integers in [-3, 3]; weights are random integers 1..6 over their sum, or uniform.
    """
    def integers(label, low, high, shape):
        return stream.child(label).generator().integers(low, high + 1, shape)

    B, D = integers("B", -2, 2, (n, d, d)), integers("diagonal", 1, 3, (n, d))
    k, c, w = integers("k", 1, 4, n), integers("c", -6, 6, (n, d)), integers("w", 1, 6, n)
    H = [[[Q(int(v), int(k[i])) for v in row] for row in B[i] @ B[i].T + np.diag(D[i])] for i in range(n)]
    minimisers = [[Q(int(v), 2) for v in row] for row in c]
    weights = None if uniform else [Q(int(v), int(w.sum())) for v in w]
    return Quadratic(H, minimisers, weights, name=f"random {n} x {d}")
