"""The few array operations that differ between numpy (floats and objects) and torch.

Rounds use operators, `None`-indexing, `.sum`, and the helpers here; nothing else knows which library an
array comes from.
"""
from __future__ import annotations

import contextlib
import threading
from math import isqrt

import numpy as np

from fltheory.core.errors import CertificateFailed, Inexact
from fltheory.core.kinds import Open, Who


class LaidOut(Open):
    """A cohort in a layout of its own: it answers `spread`, `take`, `put`, `numbers` and `each` itself (`runs.client_major`)."""

    __slots__ = ()


class Laid:
    """Numbers in such a layout."""

    __slots__ = ()


EVERYONE = slice(None)  # a cohort that is all clients in order: indexing with it copies nothing


def is_torch(a) -> bool:
    return type(a).__module__.partition(".")[0] == "torch"


def to_numpy(a) -> np.ndarray:
    """A numpy array (detached, on the host) of any array."""
    return a.detach().cpu().numpy() if is_torch(a) else np.asarray(a)


def matvec(H, y):
    """H (..., m, d, e) times y (..., m, e) -> (..., m, d), through batched matmul: einsum is not BLAS.

    With H of exactly three axes and a batch in front of y the product is client-major, which reads each
    matrix once per call instead of once per replicate.
    """
    if H.ndim == 3 and y.ndim >= 3 and y.shape[-2] == 1 and H.shape[0] > 1:
        y = broadcast(y, tuple(y.shape[:-2]) + (H.shape[0], y.shape[-1]))
    if H.ndim == 3 and y.ndim == 3 and y.shape[-2] == H.shape[0] and y.shape[0] > 1:
        return (y.swapaxes(0, 1) @ H.swapaxes(-1, -2)).swapaxes(0, 1)
    if H.ndim == 3 and y.ndim > 3 and y.shape[-2] == H.shape[0]:
        lead = y.shape[:-2]
        return matvec(H, y.reshape((-1,) + tuple(y.shape[-2:]))).reshape(tuple(lead) + (H.shape[0], H.shape[1]))
    if is_torch(y):  # the same product; its methods cost less than indexing does
        return (H @ y.unsqueeze(-1)).squeeze(-1)
    return (H @ y[..., None])[..., 0]


def ratio(num, den):
    """num / den with 0 where den == 0; never asks for an order (fields have none)."""
    zero = den == 0
    if is_torch(den) or isinstance(den, (np.ndarray, Laid)):
        zero = zero * 1
        return num * (1 - zero) / (den + zero)
    return 0 * num if zero else num / den


def spread(x, who: Who = EVERYONE):
    """A server vector (..., d) as the common start (..., 1, d) of a cohort."""
    return who.spread(x) if isinstance(who, LaidOut) else x[..., None, :]


def take(a, who: Who):
    """Rows (..., m, d) of client memories a (..., n, d) for a cohort `who` (..., m)."""
    if isinstance(who, LaidOut):
        return who.take(a)
    if isinstance(who, slice):
        return a
    if who.ndim == 1:
        return a[..., who, :]
    if is_torch(a):
        import torch
        if a.ndim == 3 and who.ndim == 2 and len(a) == len(who) and a.is_contiguous():   # whole rows cost less than entries
            return a.reshape(-1, a.shape[-1]).index_select(0, _row(a, who).reshape(-1)).reshape(*who.shape, -1)
        index = who[..., None].expand(*who.shape, a.shape[-1])
        return torch.gather(a.expand(*who.shape[:-1], *a.shape[-2:]), -2, index)
    return np.take_along_axis(np.broadcast_to(a, who.shape[:-1] + a.shape[-2:]), who[..., None], axis=-2)


def put(a, who: Who, new, present):
    """Client memories a (..., n, d) with the rows of the present members of a cohort replaced by new (..., m, d).

    Members must be distinct clients; laws that repeat clients are refused for algorithms with memories.
    """
    if isinstance(who, LaidOut):
        return who.put(a, new, present)
    if isinstance(who, slice):
        return a + present[..., None] * (new - a)
    change = present[..., None] * (new - take(a, who))
    if is_torch(a) and who.ndim > 1:
        full = a.expand(*who.shape[:-1], *a.shape[-2:])
        return full.scatter_add(-2, who[..., None].expand(*who.shape, a.shape[-1]), change)
    chosen = (who[..., None] == arange(a.shape[-2], who)) * 1           # (.., m, n)
    return a + matvec_rows(chosen, change)


def _row(a, who: Who):
    """Where rows `who` (batch, m) of a (batch, n, d) stand among all of its rows."""
    return who + (arange(len(a), who) * a.shape[1])[:, None]


_OVER = threading.local()


@contextlib.contextmanager
def overwriting(allowed=True):
    """While this lasts, `placed` may write over what it is given where it is told that nobody else holds that: for loops that
    keep no earlier state."""
    before, _OVER.allowed = getattr(_OVER, "allowed", False), bool(allowed)
    try:
        yield
    finally:
        _OVER.allowed = before


def placed(a, who: Who, new, own=False):
    """A copy of a (..., n, d) whose rows `who` (..., m) are new (..., m, d) or (..., 1, d), bit for bit.

    own: a itself may be changed instead, within `overwriting`.
    """
    lead = tuple(who.shape[:-1])
    if is_torch(a):
        new = new.to(a.dtype).expand(*who.shape, a.shape[-1])
        if own and getattr(_OVER, "allowed", False) and a.ndim == 3 and who.ndim == 2 and len(a) == len(who) and a.is_contiguous():
            a.view(-1, a.shape[-1]).index_copy_(0, _row(a, who).reshape(-1), new.reshape(-1, a.shape[-1]))
            return a
        return a.expand(*lead, *a.shape[-2:]).scatter(-2, who[..., None].expand(new.shape), new)
    if not lead and a.ndim == 2:   # of one replicate, where the general way costs ten times the round
        out = a.copy()
        out[who] = new
        return out
    out = np.broadcast_to(a, lead + a.shape[-2:]).copy()
    np.put_along_axis(out, who[..., None], new, axis=-2)
    return out


def matvec_rows(chosen, change):
    """sum over places: chosen (..., m, n) 0/1, change (..., m, d) -> (..., n, d)."""
    if is_torch(change):
        return chosen.to(change.dtype).swapaxes(-1, -2) @ change
    return chosen.swapaxes(-1, -2) @ change


def arange(n, like):
    """0..n-1 in the library and on the device of `like`."""
    if is_torch(like):
        import torch
        return torch.arange(n, device=like.device)
    return np.arange(n)


def concat(parts):
    """Concatenate along the last axis."""
    if is_torch(parts[0]):
        import torch
        return torch.cat(list(parts), dim=-1)
    return np.concatenate(list(parts), axis=-1)


def broadcast(a, shape):
    """Expand to a shape without copying."""
    return a.expand(shape) if is_torch(a) else np.broadcast_to(a, shape)


def norm(v):
    """Lengths (..., 1); exact in rationals where they are rational, as on the line."""
    square = (v * v).sum(-1, keepdims=True)
    return _each(_root, square) if _objects(square) else square ** 0.5


def finite(v):
    """(v with 0 where it is infinite or no number, 1 where that was so); exact numbers are finite."""
    if _objects(v):
        return v, 0
    if is_torch(v):
        lost = ~v.isfinite()
        return v.masked_fill(lost, 0), lost * 1
    lost = ~np.isfinite(v)
    return np.where(lost, 0, v), lost * 1


def whole(v):
    """v rounded down, in floats, in rationals, and in balls that show the integer."""
    return _each(_floor, v) if _objects(v) else v // 1


def _objects(v):
    return isinstance(v, np.ndarray) and v.dtype.kind == "O"


def _each(function, v):
    out = np.empty(v.shape, dtype=object)
    out.reshape(-1)[:] = [function(q) for q in v.reshape(-1)]
    return out


def _root(square):
    if type(square).__name__ != "fmpq":
        return square.sqrt() if hasattr(square, "sqrt") else square ** 0.5   # arb: 0 ** 0.5 is NaN
    root = type(square)(*(isqrt(int(part)) for part in (square.p, square.q)))
    if root * root != square:
        raise Inexact(f"the length sqrt({square}) is no rational: run in ft.FLOAT or ft.Balls(), or on the line")
    return root


def _floor(v):
    if not hasattr(v, "floor"):
        return v // 1
    if type(v).__name__ != "arb":
        return type(v)(v.floor())
    integer = v.floor().unique_fmpz()
    if integer is None:
        raise CertificateFailed(f"whether {v} is below an integer needs more bits")
    return int(integer)
