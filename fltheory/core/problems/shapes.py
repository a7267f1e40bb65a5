"""Declared data of clients: arrays of a stated shape, one array per client, symmetry, and padding to equal length."""
from __future__ import annotations

import numpy as np

from fltheory.core.errors import listed, refuse
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, declare, distinct, domain_of, fraction


def shaped(values, what, *axes, **sizes):
    """A declared array with these axes: a name stands for its size among `sizes`, or for any from 1 that all its axes have."""
    array, known = declare(values, what), dict(sizes)
    fits = array.ndim == len(axes) and 0 not in array.shape
    if not fits or any(known.setdefault(axis, size) != size for axis, size in zip(axes, array.shape, strict=True)):
        form = f"({', '.join(axes)}{',' * (len(axes) == 1)})"
        wanted = f" = {tuple(sizes[axis] for axis in axes)}" if set(axes) <= set(sizes) else ", each at least 1"
        refuse(f"{what}.shape", array.shape, f"needs shape {form}{wanted}", "n counts clients, d coordinates.")
    return array


def symmetric(matrix, what, rule="is symmetric", name="M"):
    """Refuse a matrix that differs from its transpose: at all if it is exact, beyond rounding if it holds floats."""
    floats = matrix.dtype == np.float64
    if np.abs(matrix - matrix.T).max() > 1e-12 * max(np.abs(matrix).max(), 1e-300) if floats else not _mirrored(matrix):
        refuse(what, matrix.tolist(), rule, f"Use ({name} + {name}')/2.")


def _mirrored(matrix):
    rows = matrix.tolist()
    return all(row[j] is rows[j][i] or row[j] == rows[j][i] for i, row in enumerate(rows) for j in range(i))


def unit_sum(numbers, what, rule="weights are not negative and sum to 1"):
    """Refuse declared numbers (n,) unless they are >= 0 and sum to 1: floats to 1e-12, symbols identically."""
    kind = domain_of(numbers)
    added = numbers[numbers.astype(bool)] if kind is RATIONAL else numbers   # sparse graphs have many zeros
    with np.errstate(over="ignore"):
        total = sum(added[1:], added[0]) if len(added) else 0
    wrong = not abs(total - 1) <= 1e-12 if kind is FLOAT else total != 1
    if wrong or (kind in (FLOAT, RATIONAL) and min(distinct(numbers)) < 0):
        refuse(what, [str(v) for v in numbers], f"{rule}, these to {total}", "Divide them by their sum.")


def sequence(values, what):
    """A sequence with one entry per client as a list; refused if it is empty or no sequence."""
    values = listed(values, what, "is a sequence with one entry per client", "Give a list of arrays.")
    if not values:
        refuse(what, values, "has at least one client", "Give a list with one array per client.")
    return values


def clients(values, what, ndim=None):
    """One declared array per client, (m_i, ...) with m_i >= 1 rows, equal beyond the first axis.

    All arrays come back in one arithmetic: float64 as soon as one of them holds floats.
    """
    parts = [declare(v, f"{what}[{i}]") for i, v in enumerate(sequence(values, what))]
    for i, part in enumerate(parts):
        if part.ndim != (ndim or max(part.ndim, 1)) or part.size == 0:
            refuse(f"{what}[{i}].shape", part.shape, f"a client has {f'{ndim}-dimensional ' if ndim else ''}data with at least "
                   "one row", "Leave a client without data out.")
        if part.shape[1:] != parts[0].shape[1:]:
            refuse(f"{what}[{i}].shape", part.shape, f"row shapes agree with the first client's {parts[0].shape[1:]}",
                   "Pad or drop features.")
    return [FLOAT.array(p) for p in parts] if any(p.dtype == np.float64 for p in parts) else parts


def check_lengths(parts, others, what):
    """Refuse unless every client has as many entries in `others` as rows in `parts`."""
    if len(parts) != len(others):
        refuse(f"len({what})", len(others), f"one array per client, so {len(parts)}", "Match it to the clients' data.")
    for i, (a, b) in enumerate(zip(parts, others, strict=True)):
        if len(a) != len(b):
            refuse(f"len({what}[{i}])", len(b), f"one entry per row, so {len(a)}", "Match it to the client's rows.")


def check_reg(reg):
    """A declared regularisation weight >= 0 as a 0-d declared array; symbols pass."""
    value = declare(reg, "reg")
    if value.ndim:
        refuse("reg", reg, "one number for all clients", "Give a number >= 0.")
    if type(value[()]).__name__ != "Symbolic" and fraction(value[()]) < 0:
        refuse("reg", reg, "a regularisation weight is >= 0", "Give 0 for none.")
    return value


def pad(parts, shape=None):
    """Arrays of at most this shape, stacked, what is missing filled with exact zeros; default (max m_i, ...) of (m_i, ...)."""
    shape = (len(parts), *(shape or (max(map(len, parts)), *parts[0].shape[1:])))
    floats = any(p.dtype == np.float64 for p in parts)
    out = np.zeros(shape, dtype=np.float64 if floats else parts[0].dtype)
    if out.dtype == object:
        out = declare(out)
    for row, part in zip(out, parts, strict=True):
        row[tuple(map(slice, part.shape))] = part
    return out
