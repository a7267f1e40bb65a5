"""Quadratic forms carried backwards through rounds: the expectation of a form after T rounds as a form of the start."""
from __future__ import annotations

from fractions import Fraction

import numpy as np

from fltheory.core.errors import TooLarge, check_flag, refuse
from fltheory.core.kinds import Array, Operator
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import FLOAT, declare, is_count
from fltheory.core.operators.horizons import FEW, check_growth
from fltheory.core.operators.random_map import Mixture

MOST_ROUNDS = 10**6


def carried(op: Operator, form, rounds, state=False):
    """The symmetric F with E (x_T, 1)' Q (x_T, 1) = (x_0, 1)' F (x_0, 1), see `Operator.carried`."""
    check_flag(state, "state")
    form, d = declare(form, "form"), op.problem.d
    if form.shape != (d + 1, d + 1):
        refuse("form.shape", form.shape, f"a form of (x, 1) has shape {(d + 1, d + 1)}", "Add a row and a column for the constant.")
    if not is_count(rounds, 0) or rounds > MOST_ROUNDS:
        refuse("rounds", rounds, f"is an int from 0 to {MOST_ROUNDS}", "Give a number of rounds.")
    moments = op.moments
    if rounds * moments.modes > MOST_ROUNDS:
        raise TooLarge(f"{rounds} rounds of {moments.modes} modes: forms are carried through one at a time, at most {MOST_ROUNDS} "
                       "of both. Ask for fewer rounds; op.floor() is where E|x - x*|^2 ends")
    if not all(isinstance(mix, Mixture) for mix in moments.mixtures):
        raise TooLarge(f"{op.dimension} coordinates: forms are carried by dense maps. Use op.trajectory, which starts at one point")
    domain, (E, e), basis, rows = op.domain, op.model, op._basis, list(op.reach.rows)
    Q = domain.array(form)
    now = _pulled(Q, E @ basis, (E * op.origin).sum(-1) + e)
    blocks = np.stack([now] * moments.modes)
    for t in range(rounds):
        if t and t % FEW == 0:
            check_growth(domain, blocks, t, rounds - t)
        after = [_before(mix, F, moments.variance) for mix, F in zip(moments.mixtures, blocks, strict=True)]
        blocks = moments.back(np.stack(after))
    start = domain.array(np.array(op.law.start(), dtype=object))
    total = sum(q * F for q, F in zip(start, blocks, strict=True))
    if state:
        eye = domain.array(np.eye(op.dimension, dtype=np.int64))
        out = _pulled(total, eye[rows], 0 * op.origin[rows] - op.origin[rows])
    else:
        J, z0 = op.initial
        out = _pulled(total, J[rows], (z0 - op.origin)[rows])
    return op._public(out)


def _before(mix, F, variance):
    """E of the form after one round as a form of the state before it, with the noise in the constant."""
    out = mix.pull(F)
    out[-1, -1] = out[-1, -1] + variance * (F[:-1, :-1] * mix.noise_square()).sum()
    return out


def _pulled(F, A, a):
    """The form (A u + a, 1) -> F as a form of (u, 1)."""
    zero, one = 0 * F[:1, :1], 0 * F[:1, :1] + 1
    T = np.concatenate([np.concatenate([A, a[:, None]], axis=1),
                        np.concatenate([*[zero] * A.shape[1], one], axis=1)], axis=0)
    return linalg.matmul(T.T, linalg.matmul(F, T))


def worst_ratio(form: Array, bound: Array) -> Fraction | float:
    """sup over z of z' form z / z' bound z, for a positive definite bound.

    Form and bound: symmetric (k, k). A float where one of them is; for rationals a Fraction that is proved an upper bound
    by exact LDL', at most 1e-9 of max(|ratio|, |form| / |bound|) above the supremum, |.| the largest entry. Raises BadInput.
    """
    F, B = _pair(form, bound)
    exact = F.dtype == B.dtype == object
    diagonal = [B[k, k] for k in range(len(B))]
    definite = all(v > 0 for v in diagonal)
    if definite:  # unit diagonal: coordinates in other units have the same ratio
        size = np.array([Fraction(2) ** (_exponent(v) // 2) for v in diagonal] + [None], dtype=object)[:-1]
        scale = size if exact else FLOAT.array(size)
        F, B = F / scale[:, None] / scale, B / scale[:, None] / scale
        definite = linalg.is_positive_definite(B) if exact else np.linalg.eigvalsh(B).min() > 1e-15 * len(B)
    if not definite:
        refuse("bound", bound, "is positive definite, or the ratio has no largest value", "Add a small multiple of the identity.")
    unit = max((abs(v) for v in F.reshape(-1)), default=0)
    if unit == 0:
        return F[0, 0]
    G = F / unit  # entries up to 1, whatever the form's units: floats can look for the ratio
    return (_least_above(G, B) if exact else float(_largest(G, B))) * unit


def _pair(form, bound):
    """Form and bound as symmetric arrays of one size, both rational or both in floats."""
    F, B = declare(form, "form"), declare(bound, "bound")
    if F.shape != B.shape or F.ndim != 2 or F.shape[0] != F.shape[1] or len(F) == 0:
        refuse("shapes", (F.shape, B.shape), "form and bound are square matrices of one size", "Give (k, k) arrays.")
    exact = F.dtype == B.dtype == object
    if not exact:
        F, B = FLOAT.array(F), FLOAT.array(B)
    for what, M in (("form", F), ("bound", B)):
        if not (M == M.T).all() if exact else np.abs(M - M.T).max() > 1e-12 * np.abs(M).max():
            refuse(what, M.tolist(), "is symmetric", "Use (M + M')/2.")
    return F, B


def _least_above(G, B) -> Fraction:
    """A rational that is proved to be at least the largest ratio of two rational forms, and close to it."""
    try:
        top = Fraction(_largest(FLOAT.array(G), FLOAT.array(B)))
    except np.linalg.LinAlgError:  # definite, but not to floats
        top = Fraction(0)
    step = max(Fraction(1, 1000), abs(top)) / 10**12
    ratio, low = top, None
    while not linalg.is_positive_definite(ratio * B - G, strict=False):
        ratio, low, step = ratio + step, ratio, 2 * step
    width = max(Fraction(1), abs(ratio)) / 10**9
    while low is None or ratio - low > width:  # the supremum lies above `low`
        if low is None:  # the guess was large enough: how much too large?
            low, step = ratio - step, 2 * step
            if linalg.is_positive_definite(low * B - G, strict=False):
                ratio, low = low, None
            continue
        middle = (ratio + low) / 2
        ratio, low = (middle, low) if linalg.is_positive_definite(middle * B - G, strict=False) else (ratio, middle)
    return ratio


def _largest(F, B):
    from scipy.linalg import eigh
    return float(eigh(F, B, eigvals_only=True)[-1])


def _exponent(value) -> int:
    """floor(log2) of a positive number, to one."""
    v = Fraction(value)
    return v.numerator.bit_length() - v.denominator.bit_length()
