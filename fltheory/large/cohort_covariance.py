"""Covariance of who takes part and with which share, of n clients in O(n) numbers: blocks of each client, and a low rank.

With a_i presence, s_i share and e = 1 in an empty round that is skipped, Cov(a, s, e) = diag(2 x 2 blocks) + sum_k sign_k u_k u_k'.
1/v(S) = int e^{-t v(S)} dt makes expectations of products over independent clients sums over nodes t of rank one, whose diagonal
alone is wrong: that is what the blocks mend. Few of the nodes count numerically.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fltheory.core.errors import TooLarge
from fltheory.core.laws.shares import Shares

RANK = 1e-15          # of the largest eigenvalue of the low-rank part
LISTED = 600          # clients of uniform sets with unequal shares, whose pairs are listed


@dataclass(frozen=True)
class Covariance:
    """block (n, 2, 2) of a and s; low: [(sign, ua (n,), us (n,), ue)]; square (n,): E s_i^2."""

    block: np.ndarray
    low: list
    square: np.ndarray


def covariance(mean, has_B, has_C) -> Covariance:
    """Of a `MeanRound`'s law, for the parts that its rounds have."""
    n, a, s, e, model = mean.n, mean.inclusion, mean.shares, mean.nobody, mean.model
    if model is None:
        return Covariance(np.zeros((n, 2, 2)), [], s * s)
    if hasattr(model, "m"):
        if np.ptp(mean.v) == 0 or not has_C:
            return _sets(n, model.m)
        terms, smooth_block = _pairs(mean, model)
        square = Shares(model, mean.v).seconds()[2].diagonal() if n <= LISTED else None
        return _assembled(n, a, s, e, terms, smooth_block, square)
    return _independent(mean, model, a, s, e, has_B, has_C)


def _sets(n, m):
    both = m * (m - 1) / max(n * (n - 1), 1) - (m / n) ** 2
    v = np.array([1, 1 / m])
    block = np.broadcast_to((m / n - (m / n) ** 2 - both) * np.outer(v, v), (n, 2, 2))
    root = np.sqrt(abs(both))
    low = [(np.sign(both), np.full(n, root), np.full(n, root / m), 0.0)] if root else []
    return Covariance(block, low, np.full(n, 1 / (n * m)))


def _independent(mean, model, a, s, e, has_B, has_C):
    n, zero = mean.n, np.zeros(mean.n)
    if not has_C and model.scale == 1.0 and not e:
        block = np.zeros((n, 2, 2))
        block[:, 0, 0] = a - a * a
        return Covariance(block, [], s * s)
    terms = [(1.0, np.sqrt(model.scale) * model.p, zero)] if has_B else []
    block = np.zeros((n, 2, 2))                     # the diagonal of the terms
    block[:, 0, 0] = model.scale * model.p**2 * has_B
    square = s * s
    if has_C:
        nodes = Shares(model, mean.v)
        v = nodes.v
        square = zero
        for t, w in zip(nodes.t, nodes.weight, strict=True):
            factors, logs = model._products(np.exp(-t * v))
            if not factors.min() > 1e-290:      # of a client who is always there: less than any float is missed
                continue
            chance = w * model.scale * np.exp(logs.sum())
            u = model.p * np.exp(-t * v) / factors
            square = square + chance * t * v * v * u
            if chance * max(1.0, t * v.max()) * (u.sum() ** 2) < 1e-19:
                continue
            terms.append((1.0, zero, np.sqrt(chance * t) * v * u))
            block[:, 1, 1] += chance * t * (v * u) ** 2
            if has_B:
                c = np.sqrt(chance / 2)
                terms += [(1.0, c * u, c * v * u), (-1.0, c * u, -c * v * u)]
                block[:, 0, 1] += chance * v * u * u
    block[:, 1, 0] = block[:, 0, 1]
    return _assembled(n, a, s, e, terms, block, square)


def _pairs(mean, model):
    """Terms of uniform sets whose shares are unequal, from listed pairs."""
    n = mean.n
    if n > LISTED:
        raise TooLarge(f"second moments of uniform sets with unequal weights in their shares are known up to {LISTED} clients, "
                       f"not {n}. Use equal weights, ft.Bernoulli, or ft.run")
    nodes = Shares(model, mean.v)
    v, mixed, squares = nodes.v, np.zeros((n, n)), np.zeros((n, n))
    for t, w in zip(nodes.t, nodes.weight, strict=True):
        q = np.exp(-t * v)
        now = model.pairs(q)
        np.fill_diagonal(now, 0.0)
        mixed += w * now
        squares += w * t * now
    both = model.pairs(np.ones(n))
    np.fill_diagonal(both, 0.0)
    full = np.block([[both, mixed * v], [(mixed * v).T, squares * v * v[:, None]]])
    value, U = np.linalg.eigh(full)
    large = np.abs(value) > RANK * np.abs(value).max()
    terms = [(np.sign(x), np.sqrt(abs(x)) * u[:n], np.sqrt(abs(x)) * u[n:]) for x, u in zip(value[large], U.T[large], strict=True)]
    return terms, np.zeros((n, 2, 2))


def _assembled(n, a, s, e, terms, smooth, square):
    """The covariance from terms of E[(a, s)(a, s)'] that are right off the diagonal, where they are `smooth`."""
    block = np.empty((n, 2, 2))
    block[:, 0, 0], block[:, 0, 1], block[:, 1, 0], block[:, 1, 1] = a, s, s, square
    block -= smooth
    signs = np.array([t[0] for t in terms] + [1.0, -1.0])
    U = np.stack([np.concatenate([ua, us, [0.0]]) for _, ua, us in terms]
                 + [np.append(np.zeros(2 * n), np.sqrt(e)), np.concatenate([a, s, [e]])], 1)
    Q, R = np.linalg.qr(U)
    value, V = np.linalg.eigh((R * signs) @ R.T)
    large = np.abs(value) > RANK * max(np.abs(value).max(), 1e-300) * 10
    U = Q @ (V[:, large] * np.sqrt(np.abs(value[large])))
    low = [(np.sign(x), u[:n], u[n:2 * n], float(u[2 * n])) for x, u in zip(value[large], U.T, strict=True)]
    return Covariance(block, low, square)
