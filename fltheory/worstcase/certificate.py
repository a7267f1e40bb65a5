"""Upper bounds proved in rationals: multipliers found in floats, rounded, repaired and checked exactly.

With y >= 0 on the conditions `form <= 0`, any y on the equations and L >= 0 on each matrix condition, the bound is
objective <= constant - sum y (constants), provided that S = sum y (blocks) - (objective's blocks) is positive semidefinite and
the function values cancel. Nothing else is believed.
"""
from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import fraction, need
from fltheory.worstcase.programme import TOLERANCES, Programme, triangle
from fltheory.worstcase.quadratic_forms import float_, floats, number

DIGITS = 12
SLACKS = (1e-7, 1e-6, 1e-5, 1e-4)  # relative: how much of the value is given away so that rounding stays inside


@dataclass(frozen=True)
class Certificate:
    """objective <= bound, a Fraction; `multipliers`, Fractions, one per row of the programme (see `Programme.rows`)."""

    bound: Fraction
    multipliers: tuple = field(repr=False)

    def at(self, bound) -> Certificate:
        """The same multipliers with another bound, which `holds` then checks."""
        return replace(self, bound=Fraction(bound))

    def to_json(self) -> dict:
        """Plain data: numbers as texts."""
        return {"bound": str(self.bound), "multipliers": [str(y) for y in self.multipliers]}

    @classmethod
    def from_json(cls, data) -> Certificate:
        """The certificate of `to_json`. Raises BadInput for data that is none."""
        try:
            return cls(Fraction(data["bound"]), tuple(Fraction(y) for y in data["multipliers"]))
        except (TypeError, KeyError, ValueError, ZeroDivisionError) as error:
            refuse("certificate", f"{type(error).__name__}: {error}", "is no bound with multipliers", "Give what to_json wrote.")


def holds(programme: Programme, certificate: Certificate) -> bool:
    """The exact check, without a solver: signs, cancelling values, definiteness, and the bound itself."""
    y = certificate.multipliers
    if len(y) != len(programme.rows) or any(v < 0 for v in y[:len(programme.less)]):
        return False
    used = [(number(v), row) for v, row in zip(y, programme.rows, strict=True) if v != 0]
    values = sum((v * row.values for v, row in used), -programme.objective.values)
    bound = sum((-v * row.constant for v, row in used), programme.objective.constant)
    if any(v != 0 for v in values) or fraction(bound) > certificate.bound:
        return False
    blocks = [sum((v * row.blocks[b] for v, row in used), -block) for b, block in enumerate(programme.objective.blocks)]
    return all(linalg.is_positive_definite(M, strict=False) for M in (*blocks, *matrices(programme, y)) if len(M))


def matrices(programme, y):
    """The multiplier L of each matrix condition: entry y is -L_ii, or -2 L_ij off the diagonal."""
    at = len(programme.less) + len(programme.same)
    for m in programme.matrices:
        L = np.empty((len(m), len(m)), dtype=object)
        for i, j in zip(*triangle(len(m)), strict=True):
            L[i, j] = L[j, i] = -y[at] / (1 if i == j else 2)
            at += 1
        yield L


def certify(programme: Programme, value: float) -> Certificate | None:
    """A certificate with a bound a little above `value`; None where none was found (no interior, no solver's word)."""
    for slack in SLACKS:
        multipliers = interior(programme, value + slack * max(1.0, abs(value)))
        if multipliers is None:
            continue
        less, same = len(programme.less), len(programme.same)
        y = repaired(programme.rows, programme.objective.values, rounded(multipliers, less), less, same)
        if y is None:
            continue
        bound = sum((number(-v) * r.constant for v, r in zip(y, programme.rows, strict=True)), programme.objective.constant)
        certificate = Certificate(fraction(bound), tuple(y))
        if holds(programme, certificate):
            return certificate
    return None


def interior(programme, bound):
    """Multipliers as far inside all their conditions as a bound allows: the largest t <= 1 with S >= t and L >= t, or None."""
    cp = need("cvxpy", "certificates of worst cases")
    rows, target, less = programme.rows, programme.objective, len(programme.less)
    y, t = cp.Variable(len(rows)), cp.Variable()
    inside = [t <= 1, -np.array([float_(r.constant) for r in rows]) @ y <= bound - float_(target.constant)]
    inside += [y[:less] >= 0] if less else []
    inside += cancelling(np.array([floats(r.values) for r in rows]).reshape(len(rows), -1).T, y, floats(target.values))
    for b, k in enumerate(map(len, programme.faces)):
        if k:
            stack = np.array([programme.on_face(r, b) for r in rows]).reshape(len(rows), -1).T
            inside.append(cp.reshape(stack @ y, (k, k), order="C") - programme.on_face(target, b) >> t * np.eye(k))
    at = less + len(programme.same)
    for matrix in programme.matrices:
        i, j = triangle(len(matrix))
        L = sum(-y[at + e] * pair(len(matrix), a, b) / 2 for e, (a, b) in enumerate(zip(i, j, strict=True)))
        inside.append(L >> t * np.eye(len(matrix)))
        at += len(i)
    return y.value if solved(cp, t, inside) and t.value > 0 else None


def pair(k, i, j):
    """The (k, k) matrix with e_i e_j' + e_j e_i', which is 2 e_i e_i' on the diagonal."""
    out = np.zeros((k, k))
    out[i, j] += 1
    out[j, i] += 1
    return out


def cancelling(A, y, b):
    """A y = b without the equations that follow from others."""
    if not len(A):
        return []
    basis, sizes, _ = np.linalg.svd(A, full_matrices=False)
    keep = basis[:, sizes > 1e-10 * sizes[0]].T
    return [(keep @ A) @ y == keep @ b]


def solved(cp, objective, conditions) -> bool:
    """Whether the solver maximised the objective under the conditions to its full satisfaction."""
    problem = cp.Problem(cp.Maximize(objective), conditions)
    for tolerance in TOLERANCES:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a solution may be inaccurate is said by the status
                problem.solve(solver="CLARABEL", tol_gap_abs=tolerance, tol_gap_rel=tolerance, tol_feas=tolerance)
        except cp.error.SolverError:
            continue
        if problem.status == "optimal":
            return True
    return False


def rounded(values, less):
    """Floats as rationals; the first `less`, multipliers of inequalities, not below 0."""
    y = [Fraction(round(float(v) * 10**DIGITS), 10**DIGITS) for v in values]
    return [max(v, Fraction(0)) if k < less else v for k, v in enumerate(y)]


def repaired(rows, target, y, less, same=0):
    """y moved a little so that sum y (row's values) is exactly the target: free multipliers first (those between `less` and
    `less + same`), then the largest ones. None where no y does."""
    if not len(target):
        return y
    flint = need("flint", "exact certificates")
    order = sorted(range(len(y)), key=lambda k: (not less <= k < less + same, -abs(y[k])))
    missing = target - sum((number(v) * row.values for v, row in zip(y, rows, strict=True) if v != 0), 0 * target)
    system = flint.fmpq_mat([[rows[k].values[e] for k in order] + [missing[e]] for e in range(len(target))])
    reduced, rank = system.rref()
    for r in range(rank):
        column = next(k for k in range(len(y) + 1) if reduced[r, k] != 0)
        if column == len(y):
            return None
        y[order[column]] += fraction(reduced[r, len(y)])
    return y
