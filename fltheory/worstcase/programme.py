"""The semidefinite programme of a worst case, in exact numbers, and its solution by Clarabel."""
from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from fltheory.core.errors import MissingLibrary, TooLarge
from fltheory.core.numbers.scalars import need
from fltheory.worstcase.quadratic_forms import Condition, Form, float_, floats, number

SOLVED = "Solved"
UNBOUNDED = "DualInfeasible"
MOST_ROWS = 12_000  # scalar rows: some minutes on one core
TOLERANCES = (1e-10, 1e-9, 1e-8)  # the first at which the solver is content


@dataclass
class Row:
    """One scalar row: exact symmetric blocks, coefficients of the function values, and a constant."""

    blocks: list
    values: np.ndarray
    constant: object


class Programme:
    """maximise a form over Gram matrices and function values under conditions, all rows exact.

    objective: `Form`; conditions: list of `Condition`. Scalars `rows` come first (inequalities, then equations), then the
    entries of the matrix conditions, upper triangle by columns. start, star: state and minimiser, kept for witnesses. extra:
    forms that become rows behind all others and are no conditions.
    """

    def __init__(self, gram, objective: Form, conditions: list[Condition], start=None, star=None,
                 extra=()):
        self.gram, self.start, self.star = gram, start, star
        self._places, self._owners = dict[int, list](), list[np.ndarray]()
        live = sorted({k for c in conditions for f in _forms(c) for k in f.values}
                      | {k for f in (objective, *extra) for k in f.values})
        self.place = {index: k for k, index in enumerate(live)}
        self.less = [c.form for c in conditions if c.matrix is None and not c.equal]
        self.same = [c.form for c in conditions if c.matrix is None and c.equal]
        self.matrices = [c.matrix for c in conditions if c.matrix is not None]
        entries = [m[i][j] for m in self.matrices for j in range(len(m)) for i in range(j + 1)]
        forms = [objective, *self.less, *self.same, *entries, *extra]
        sparse = [self._products(form) for form in forms]
        blocks = range(len(gram.blocks()))  # a leaf whose products cancel in every row is none of the programme
        touched = [sorted({k for row in sparse for pair in row[b] for k in pair}) for b in blocks]
        self.columns, self.sizes = touched, [len(c) for c in touched]
        if len(forms) + sum(s * (s + 1) // 2 for s in self.sizes) > MOST_ROWS:
            raise TooLarge(f"the programme has blocks of {self.sizes} and {len(forms)} conditions, above {MOST_ROWS} rows in "
                           "all: take fewer clients, local steps or rounds, or count identical clients (counts=)")
        self.objective, *self.rows = [self._row(form, row) for form, row in zip(forms, sparse, strict=True)]

    def _coordinates(self, u):
        """[{leaf's place in the block: coefficient}] of a vector."""
        if id(u) not in self._places:
            self._owners.append(u)  # an id stays its owner's while that lives
            self._places[id(u)] = [{k: c for k, c in enumerate(row) if c != 0} for row in self.gram.coordinates(u)]
        return self._places[id(u)]

    def _products(self, form):
        """Per block {(i, j), i <= j: coefficient of the Gram entry, of both places off the diagonal}, without zeros."""
        out = [{} for _ in self.gram.blocks()]
        for c, u, v in form.terms:
            for entries, left, right in zip(out, self._coordinates(u), self._coordinates(v), strict=True):
                for i, a in left.items():
                    for j, b in right.items():
                        pair = (i, j) if i <= j else (j, i)
                        entries[pair] = entries[pair] + c * a * b if pair in entries else c * a * b
        return [{pair: c for pair, c in entries.items() if c != 0} for entries in out]

    def _row(self, form, products):
        zero, blocks = number(0), []
        for entries, columns in zip(products, self.columns, strict=True):
            place = {k: at for at, k in enumerate(columns)}
            block = np.full((len(columns),) * 2, zero, dtype=object)
            for (i, j), c in entries.items():
                block[place[i], place[j]] = block[place[j], place[i]] = c if i == j else c / 2
            blocks.append(block)
        values = np.full(len(self.place), zero, dtype=object)
        for k, c in form.values.items():
            values[self.place[k]] = values[self.place[k]] + c
        return Row(blocks, values, form.constant)

    # ---- floats
    @functools.cached_property
    def faces(self):
        """Per block the columns that span it modulo the vectors which no row sees (a shift of linear terms that cancels, say):
        without them nothing could lie strictly inside. The exact checks use all columns."""
        out = []
        for b, size in enumerate(self.sizes):
            total = np.zeros((size, size))
            for row in (self.objective, *self.rows):
                M = floats(row.blocks[b])
                M = M / max(np.abs(M).max(initial=0.0), 1e-300)
                total += M @ M
            out.append(_independent(total))
        return out

    def on_face(self, row, b):
        """Block b of a row on the columns of its face, floats."""
        return floats(row.blocks[b][np.ix_(self.faces[b], self.faces[b])])

    def flat(self, row):
        """(svec of the blocks | values) of a row, floats."""
        return np.concatenate([*(svec(self.on_face(row, b)) for b in range(len(self.sizes))), floats(row.values)])

    def solve(self):
        """(status, value, Gram blocks, function values, multipliers) from the interior-point solver."""
        need("cvxpy", "worst cases, which are semidefinite programmes")
        try:
            import clarabel
        except ImportError:
            raise MissingLibrary("clarabel is not installed: it solves the semidefinite programmes. pip install clarabel") from None
        from scipy import sparse
        A = np.array([self.flat(r) for r in self.rows]).reshape(len(self.rows), -1)
        b = np.array([float_(r.constant) for r in self.rows])
        cones, upto = [], len(self.less) + len(self.same)
        if self.less:
            cones.append(clarabel.NonnegativeConeT(len(self.less)))
        if self.same:
            cones.append(clarabel.ZeroConeT(len(self.same)))
        sign = np.ones(len(self.rows))
        sign[:upto] = 1 / np.maximum(np.abs(A[:upto]).max(axis=1, initial=0.0), 1e-300)  # rows of the same size
        for m in self.matrices:
            k = len(m)
            cones.append(clarabel.PSDTriangleConeT(k))
            count = k * (k + 1) // 2
            sign[upto:upto + count] = -scale_of(k)  # s = +M, off-diagonals times sqrt 2
            upto += count
        sizes = [len(face) for face in self.faces]
        s = sum(k * (k + 1) // 2 for k in sizes)
        matrix = sparse.vstack([sparse.csc_matrix(sign[:, None] * A),
                                sparse.hstack([-sparse.identity(s), sparse.csc_matrix((s, len(self.place)))])]).tocsc()
        cones += [clarabel.PSDTriangleConeT(k) for k in sizes if k]
        target = self.flat(self.objective)
        for tolerance in TOLERANCES:
            settings = clarabel.DefaultSettings()
            settings.verbose, settings.max_threads = False, 1
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
            zero = sparse.csc_matrix((len(target), len(target)))
            solver = clarabel.DefaultSolver(zero, -target, matrix, np.concatenate([-sign * b, np.zeros(s)]), cones, settings)
            solution = solver.solve()
            if str(solution.status) in (SOLVED, UNBOUNDED):
                break
        *parts, values = np.split(np.array(solution.x), np.cumsum([k * (k + 1) // 2 for k in sizes]))
        blocks = [smat(v, k) for v, k in zip(parts, sizes, strict=True)]
        return Solution(str(solution.status), -solution.obj_val + float_(self.objective.constant), blocks, values,
                        np.array(solution.z[:len(self.rows)]) * sign)


@dataclass
class Solution:
    """What the solver said; `multipliers` of the rows as they stand (of `form <= 0`, `form = 0`, and minus the entries)."""

    status: str
    value: float
    blocks: list
    values: np.ndarray
    multipliers: np.ndarray


def _forms(condition):
    return [condition.form] if condition.matrix is None else [f for row in condition.matrix for f in row]


def _independent(T):
    """Columns whose rows span those of a positive semidefinite T, by a pivoted Cholesky factorisation."""
    T, rest, columns = T.copy(), list(range(len(T))), []
    first = max(np.diag(T).max(initial=0.0), 1e-300)
    while rest:
        k = max(rest, key=lambda j: T[j, j])
        if T[k, k] <= 1e-9 * first:
            break
        columns.append(k)
        rest.remove(k)
        T = T - np.outer(T[:, k], T[k]) / T[k, k]
    return sorted(columns)


def triangle(k):
    """Indices (i, j) of the upper triangle, column after column."""
    j, i = np.tril_indices(k)
    return i, j


def scale_of(k):
    """1 on the diagonal, sqrt 2 off it, in the order of `triangle`."""
    i, j = triangle(k)
    return np.where(i == j, 1.0, np.sqrt(2.0))


def svec(M):
    """Upper triangle by columns, off-diagonal entries times sqrt 2."""
    i, j = triangle(len(M))
    return M[i, j] * scale_of(len(M))


def smat(v, k):
    """The symmetric matrix of `svec`."""
    M = np.zeros((k, k))
    i, j = triangle(k)
    M[i, j] = v / scale_of(k)
    return M + np.triu(M, 1).T
