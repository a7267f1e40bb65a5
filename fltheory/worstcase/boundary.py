"""Certificates of a given bound where no multipliers lie strictly inside: equality is attained, or something grows for free.

The programme is made homogeneous by a scale s >= 0 beside its Gram matrices. Directions V >= 0 with all conditions <= 0 and
objective - bound s >= 0 are what a certificate must be orthogonal to: S V = 0, and the conditions that are slack there get no
multiplier. V is found in floats, its range guessed in small rationals; multipliers inside what is left are found, rounded and
repaired exactly, and `holds` decides.
"""
from __future__ import annotations

from fractions import Fraction

import numpy as np

from fltheory.core.numbers.scalars import need
from fltheory.worstcase.certificate import Certificate, cancelling, holds, repaired, rounded, solved
from fltheory.worstcase.programme import Programme, Row
from fltheory.worstcase.quadratic_forms import floats, number

SMALL, SLACK = 1e-3, 1e-5       # of eigenvalues, of conditions
NEAR, DENOMINATOR = 3e-3, 1000  # of a direction's coordinates


def certify_at(programme: Programme, bound: Fraction) -> Certificate | None:
    """A certificate of exactly this bound, or None. Programmes with matrix conditions are left alone."""
    if programme.matrices:
        return None
    target = _scaled(programme.objective, programme.objective.constant - number(bound))
    rows = [_scaled(row, row.constant) for row in programme.rows]
    less = len(programme.less)
    growth = _growth(rows, target, less)
    if growth is None:
        return None
    directions, used = growth
    y = _multipliers([rows[k] for k in used], target, sum(k < less for k in used), directions)
    if y is None:
        return None
    multipliers = [Fraction(0)] * len(rows)
    for k, v in zip(used, y, strict=True):
        multipliers[k] = v
    certificate = Certificate(bound, tuple(multipliers))
    return certificate if holds(programme, certificate) else None


def _scaled(row, constant) -> Row:
    """The row with its constant as a further block of one entry: the place of the scale."""
    blocks = [*(b for b in row.blocks if len(b)), np.array([[constant]], dtype=object)]
    return Row(blocks, row.values, number(0))


def _growth(rows, target, less):
    """([(k, r) rational basis of the range of V per block], the rows that a certificate may use), or None."""
    cp = need("cvxpy", "certificates of worst cases")
    V = [cp.Variable(b.shape, PSD=True) for b in target.blocks]
    values = cp.Variable(len(target.values)) if len(target.values) else None
    units = [1 / max(_largest(row), 1e-300) for row in rows]

    def level(row):
        parts = [cp.sum(cp.multiply(floats(b), v)) for b, v in zip(row.blocks, V, strict=True)]
        return sum(parts) + (floats(row.values) @ values if values is not None else 0)
    sides = [level(row) * unit for row, unit in zip(rows, units, strict=True)]
    inside = [side <= 0 if k < less else side == 0 for k, side in enumerate(sides)]
    if not solved(cp, level(target), [*inside, sum(cp.trace(v) for v in V) == 1]):
        return None
    largest = max(np.linalg.eigvalsh(v.value)[-1] for v in V)
    directions = [*(_range(v.value, largest) for v in V[:-1]), np.array([[Fraction(1)]], dtype=object)]  # the bound is met exactly
    return directions, [k for k, side in enumerate(sides) if k >= less or float(side.value) > -SLACK]


def _largest(row):
    return max(np.abs(floats(part)).max(initial=0.0) for part in (*row.blocks, row.values))


def _range(V, largest):
    """A rational basis (k, r) of the range of V, cut at the widest gap of its eigenvalues. A guess: `holds` decides."""
    from scipy.linalg import qr
    sizes, vectors = np.linalg.eigh(V)
    sizes = np.maximum(sizes, 1e-12 * largest)
    cuts = [k for k in range(len(sizes)) if sizes[k] <= SMALL * largest]
    first = 1 + max(cuts, key=lambda k: (sizes[k + 1] if k + 1 < len(sizes) else largest) / sizes[k]) if cuts else 0
    span = vectors[:, first:]
    if not span.shape[1]:
        return np.zeros((len(V), 0), dtype=object)
    *_, order = qr(span.T, pivoting=True, mode="economic")
    basis = span @ np.linalg.inv(span[order[:span.shape[1]]])
    return np.vectorize(_simplest, otypes=[object])(basis)


def _simplest(x):
    """The rational of smallest denominator near a float."""
    near = (Fraction(float(x)).limit_denominator(k) for k in range(1, DENOMINATOR))
    return next((q for q in near if abs(q - x) < NEAR), Fraction(float(x)))


def _multipliers(rows, target, less, directions):
    """Multipliers with cancelling values and S orthogonal to all directions, as far inside the rest as possible; None without."""
    cp = need("cvxpy", "certificates of worst cases")

    def equations(row):
        """What must vanish: the values, and S applied to every direction."""
        out = list(row.values)
        for block, basis in zip(row.blocks, directions, strict=True):
            for column in basis.T:
                out += list((block * np.array([number(v) for v in column], dtype=object)).sum(1))
        return np.array(out, dtype=object)
    terms, goal = [equations(row) for row in rows], equations(target)
    A, b = np.array([floats(e) for e in terms]).T, floats(goal)
    y, t = cp.Variable(len(rows)), cp.Variable()
    inside = [t <= 1, *cancelling(A, y, b), *([y[:less] >= 1e-3 * t] if less else [])]
    for j, directed in enumerate(directions):
        rest = np.linalg.svd(directed.astype(float))[0][:, directed.shape[1]:] if directed.shape[1] else np.eye(len(directed))
        k = rest.shape[1]
        if k:
            stack = np.array([rest.T @ floats(row.blocks[j]) @ rest for row in rows]).reshape(len(rows), -1).T
            inside.append(cp.reshape(stack @ y, (k, k), order="C") - rest.T @ floats(target.blocks[j]) @ rest >> t * np.eye(k))
    if not solved(cp, t, inside) or t.value <= 0:
        return None
    equation_rows = [Row([], e, number(0)) for e in terms]
    return repaired(equation_rows, goal, rounded(y.value, less), less, len(rows) - less)
