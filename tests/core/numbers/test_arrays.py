"""Every helper in numpy floats, exact objects and torch, against loops."""
import itertools

import numpy as np
import pytest

from fltheory.core.numbers.arrays import (
    EVERYONE,
    arange,
    broadcast,
    concat,
    is_torch,
    matvec,
    put,
    ratio,
    spread,
    take,
    to_numpy,
)
from fltheory.core.numbers.scalars import RATIONAL, Field

torch = pytest.importorskip("torch")
LIBRARIES = ["numpy", "torch", "rational"]


def make(library, shape, seed=0):
    values = np.random.default_rng(seed).integers(-9, 10, shape)
    if library == "torch":
        return torch.as_tensor(values, dtype=torch.float64)
    return RATIONAL.array(values) if library == "rational" else values.astype(np.float64)


def index(library, values):
    return torch.as_tensor(np.array(values)) if library == "torch" else np.array(values)


def equal(a, b):
    """Equal entries: everything here is integers, so floats are exact too."""
    a, b = to_numpy(a), to_numpy(b)
    assert a.shape == b.shape
    assert all(x == y for x, y in zip(a.reshape(-1), b.reshape(-1), strict=True))


def loops(H, y):
    """H (..., m, d, e) times y (..., m or 1, e), place by place."""
    H, y = to_numpy(H), to_numpy(y)
    lead = np.broadcast_shapes(H.shape[:-2], y.shape[:-1])
    out = np.empty((*lead, H.shape[-2]), dtype=H.dtype)
    H, y = np.broadcast_to(H, (*lead, *H.shape[-2:])), np.broadcast_to(y, (*lead, y.shape[-1]))
    for place in np.ndindex(lead):
        for row in range(H.shape[-2]):
            out[place][row] = sum(H[place][row, k] * y[place][k] for k in range(H.shape[-1]))
    return out


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("shape", [(3, 2), (1, 2), (4, 3, 2), (1, 3, 2), (4, 1, 2), (1, 1, 2), (5, 4, 3, 2),
                                   (5, 4, 1, 2), (3, 3, 2), (2, 3, 3, 2)], ids=str)
@pytest.mark.parametrize("clients", [3, 1])
@pytest.mark.parametrize("rows", [2, 4])
def test_matvec(library, shape, clients, rows):
    if clients == 1 and shape[-2] != 1:
        shape = (*shape[:-2], 1, 2)
    H, y = make(library, (clients, rows, 2)), make(library, shape, 1)
    equal(matvec(H, y), loops(H, y))


@pytest.mark.parametrize("library", LIBRARIES)
def test_matvec_with_a_matrix_per_replicate(library):
    for shape in ((4, 3, 2), (4, 1, 2)):
        H, y = make(library, (4, 3, 2, 2)), make(library, shape, 1)
        equal(matvec(H, y), loops(H, y))


@pytest.mark.parametrize("library", LIBRARIES)
def test_ratio_is_zero_over_zero(library):
    num, den = make(library, (2, 3)), index("numpy", [[1, 0, -2], [0, 4, 0]])
    den = RATIONAL.array(den) if library == "rational" else den.astype(float)
    den = torch.as_tensor(den) if library == "torch" else den
    out, n, d = (to_numpy(v) for v in (ratio(num, den), num, den))
    for k in np.ndindex(2, 3):
        assert out[k] == (n[k] / d[k] if d[k] != 0 else 0)


def test_ratio_of_scalars_and_symbols():
    a, b = Field("a b").symbols
    assert ratio(a, b) == a / b and ratio(a, 0 * b) == 0 and ratio(3.0, 0.0) == 0 and ratio(3.0, 2.0) == 1.5
    out = ratio(np.array([a, a], dtype=object), np.array([b, 0 * b], dtype=object))
    assert out[0] == a / b and out[1] == 0


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("lead", [(), (4,), (5, 4)], ids=str)
def test_take_and_put_one_cohort(library, lead):
    a, who, present = make(library, (*lead, 3, 2)), [2, 0], [1, 0]
    new = make(library, (*lead, 2, 2), 1)
    got = to_numpy(take(a, index(library, who)))
    changed = to_numpy(put(a, index(library, who), new, index(library, present)))
    source, fresh = to_numpy(a), to_numpy(new)
    expected = source.copy()
    for place, (i, on) in enumerate(zip(who, present, strict=True)):
        equal(got[..., place, :], source[..., i, :])
        if on:
            expected[..., i, :] = fresh[..., place, :]
    equal(changed, expected)
    equal(a, make(library, (*lead, 3, 2)))  # nothing was written in place


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("shared", [False, True], ids=["own memories", "shared memories"])
def test_take_and_put_a_cohort_per_replicate(library, shared):
    who, present = [[2, 0], [1, 2], [0, 1]], [[1, 1], [0, 1], [0, 0]]
    a = make(library, (3, 2) if shared else (3, 3, 2))
    new = make(library, (3, 2, 2), 1)
    source = np.broadcast_to(to_numpy(a), (3, 3, 2))
    got = to_numpy(take(a, index(library, who)))
    expected = source.copy()
    for r, place in itertools.product(range(3), range(2)):
        equal(got[r, place], source[r, who[r][place]])
        if present[r][place]:
            expected[r, who[r][place]] = to_numpy(new)[r, place]
    equal(put(a, index(library, who), new, index(library, present)), expected)


@pytest.mark.parametrize("library", LIBRARIES)
def test_everyone(library):
    a, new = make(library, (4, 3, 2)), make(library, (4, 3, 2), 1)
    assert take(a, EVERYONE) is a
    present = [1, 0, 1]
    expected = to_numpy(a).copy()
    expected[:, [0, 2]] = to_numpy(new)[:, [0, 2]]
    equal(put(a, EVERYONE, new, index(library, present)), expected)
    equal(put(a, index(library, [0, 1, 2]), new, index(library, present)), expected)


@pytest.mark.parametrize("library", LIBRARIES)
def test_small_helpers(library):
    a, b = make(library, (4, 2)), make(library, (4, 3), 1)
    assert is_torch(a) == (library == "torch") and is_torch(arange(3, a)) == (library == "torch")
    equal(concat([a, b]), np.concatenate([to_numpy(a), to_numpy(b)], axis=1))
    equal(broadcast(a, (3, 4, 2)), np.broadcast_to(to_numpy(a), (3, 4, 2)))
    assert tuple(spread(a).shape) == (4, 1, 2)
    assert to_numpy(arange(3, a)).tolist() == [0, 1, 2]


def test_differentiated_tensors_leave_torch():
    assert to_numpy(torch.ones(2, requires_grad=True)).tolist() == [1, 1]
