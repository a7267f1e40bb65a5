"""Cohorts of many replicates laid out client by client, so that a whole matrix product serves a client: one sort a round.

A round sees logical arrays (batch, places, ...); stored is one row for each (replicate, place) that works, in the order of the
clients, block after block. Of a cohort that is a mask over all clients only those present are stored: what a round then does must
not need the absent, which is known of whatever was multiplied by the mask. Anything that the layout cannot answer raises
`Unplaced`, and the round is made again in plain arrays.
"""
from __future__ import annotations

import bisect
import operator
from collections.abc import Sequence

import numpy as np

from fltheory.core.kinds import Draw
from fltheory.core.numbers.arrays import Laid, LaidOut
from fltheory.runs import lazy_rows as deferred
from fltheory.runs.lazy_rows import Deferred


class Unplaced(TypeError):
    """A round asked for what this layout cannot answer."""


class Places(LaidOut):
    """The places of cohorts, sorted by client within each block of replicates.

    draw: who (batch, m) is the client at each place, with `present` (batch, m) 0/1; or everyone, and present (batch, n) a mask.
    blocks: numbers of replicates that share a random stream, in order. repeats: whether a client may stand twice in a cohort.
    `rep` and `client` (N,) say whose each stored row is; `groups` are (client, first row, one past the last).
    writable: memories that `put` may write over, `memories`: those that it returned; `overwritten`: whether it wrote over one.
    """

    writable: Sequence = ()
    overwritten = False

    def __init__(self, draw: Draw, n, blocks, repeats=False):
        who, present = draw.who, draw.present
        self.draw, self.n, self.repeats, self.masked = draw, n, repeats, isinstance(who, slice)
        self.batch, self.places = present.shape
        if self.masked:
            rep, flat = present.nonzero()
            counts = np.bincount(rep, minlength=self.batch)
            self._some = np.flatnonzero(counts)
            self._starts = (np.cumsum(counts) - counts)[self._some]
        else:
            rep, flat = np.repeat(np.arange(self.batch), self.places), who.reshape(-1)
        block = np.repeat(np.arange(len(blocks)) * n, blocks)[rep] if len(blocks) > 1 else 0
        key = flat + block
        order = np.argsort(key.astype(np.int16 if len(blocks) * n < 2**15 else np.int64), kind="stable")
        self.size = len(order)
        self.rep, self.client = rep[order], flat[order]
        self.column = self.client if self.masked else order - self.rep * self.places   # the place among those of its replicate
        self._back = np.empty_like(order)
        self._back[order] = np.arange(self.size)
        self._flat = self.rep * n + self.client
        counts = np.bincount(key, minlength=len(blocks) * n)
        there, ends = np.flatnonzero(counts), np.cumsum(counts)
        self.groups = [(k % n, hi - size, hi) for k, hi, size in
                       zip(there.tolist(), ends[there].tolist(), counts[there].tolist(), strict=True)]
        blocks_of = np.repeat(np.arange(len(blocks)), blocks)[self.rep]
        self._ends = ends[there].tolist()
        self.sizes = np.bincount(blocks_of, minlength=len(blocks)).tolist()   # stored rows of each block
        self.present = self.of(present)
        self.present.absent = self.masked
        self._all = self.masked or bool((self.present.rows == 1).all())
        self.present.same = 1 if self._all else None
        self._rows: dict = {}
        self.memories: list = []

    def __array__(self, dtype=None, copy=None):
        """The index that a table of the clients (n, ...) is looked up with."""
        return np.arange(self.n) if self.masked else self.plain(self.client)

    def of(self, values):
        """Logical (batch or 1, places or 1, ...) or (places,) numbers, stored."""
        values = values[None] if values.ndim == 1 else values
        return Placed(np.broadcast_to(self._gathered(values), (self.size, *values.shape[2:])), self)

    def _gathered(self, values):
        if values.shape[0] == 1 and values.ndim > 1 and values.shape[1] == 1:
            return values[0, 0]
        if values.shape[0] != self.batch and values.shape[0] != 1:
            raise Unplaced("of another batch")
        if values.shape[1] == 1:
            return values[:, 0].take(self.rep, 0)
        if values.shape[1] != self.places:
            raise Unplaced("of other places")
        return values[0].take(self.column, 0) if values.shape[0] == 1 else values[self.rep, self.column]

    def plain(self, rows):
        """Stored rows as (batch, places, ...), 0 where nothing is stored."""
        if not self.masked:
            return rows.take(self._back, 0).reshape((self.batch, self.places) + rows.shape[1:])
        out = np.zeros((self.batch, self.places) + rows.shape[1:], dtype=rows.dtype)
        out[self.rep, self.column] = rows
        return out

    def total(self, rows):
        """Sums over the places (batch, ...)."""
        if not self.masked:                 # place by place, in the order of a sum over them: what is summed stays in a cache
            back = self._back.reshape(self.batch, self.places)
            out = rows.take(back[:, 0], 0)
            for k in range(1, self.places):
                out += rows.take(back[:, k], 0)
            return out
        out = np.zeros((self.batch,) + rows.shape[1:], dtype=rows.dtype)
        if self.size:
            out[self._some] = np.add.reduceat(rows.take(self._back, 0), self._starts, axis=0)
        return out

    # ---- what `arrays` and problems ask for ----------------------------------------------------------------
    def spread(self, x):
        """A server vector (batch, d) or (d,) at every place."""
        if x.ndim == 1:
            x = np.broadcast_to(x, (self.batch, *x.shape))
        return Placed(x.take(self.rep, 0), self)

    def table(self, values):
        """Numbers (n, ...) that every replicate shares, each place its client's; kept for the round."""
        entry = self._rows.get(id(values))
        if entry is None:
            self._rows[id(values)] = entry = (values, values.take(self.client, 0))
        return entry[1]

    def numbers(self, values):
        """`table` as numbers that a round computes with."""
        return Placed(self.table(values), self)

    def take(self, a):
        """Rows of client memories a (batch, n, d) or (n, d)."""
        if a.ndim == 2:
            return Placed(self.table(a), self)
        a = self._memories(a)
        return Placed(a.reshape(-1, a.shape[-1]).take(self._flat, 0), self)

    def put(self, a, new, present):
        """Client memories with the rows of those present replaced by new: a copy, or the array itself if it is in `writable`."""
        if self.repeats or not isinstance(present, Placed) or (self.masked and not present.absent):
            raise Unplaced("a memory of more than those present, or of a client at two places")
        new = new if isinstance(new, Placed) else self.of(new)
        out = a if any(a is v for v in self.writable) else np.array(self._memories(a), order="C")   # so that its rows are a view
        self.overwritten = self.overwritten or out is a
        self.memories.append(out)
        rows = out.reshape(-1, out.shape[-1])
        if present is self.present and self._all:
            rows[self._flat] = new.rows
        else:
            there = np.flatnonzero(present.rows)   # nothing is written for the absent, whose place may name one who is present
            at = self._flat[there]
            old = rows.take(at, 0)
            rows[at] = old + present.rows[there, None] * (new.rows[there] - old)
        return out

    def _memories(self, a):
        if a.ndim not in (2, 3) or a.shape[-2] != self.n:
            raise Unplaced("no memories of all clients")
        return a if a.ndim == 3 and len(a) == self.batch else np.broadcast_to(a, (self.batch, *a.shape[-2:]))

    def rows(self, y):
        """Points y, stored or (batch or 1, places or 1, d), as rows (N, d)."""
        return np.broadcast_to(y.rows if isinstance(y, Placed) else self._gathered(y), (self.size, y.shape[-1]))

    def each(self, y, gradient, width, sample=None, **options):
        """Rows (N, width), made when asked for: what gradient(client, its points (k, d), into (k, width)) writes, plus a sample."""
        y = y if isinstance(y, Placed) else Placed(self.rows(y), self)
        if y.depth >= deferred.DEEPEST:
            y = Placed(y.rows, self)                 # what is deferred further would be kept in tiles that fill a cache

        def fill(low, high, out, points, more=None):
            for i, begin, end in self._within(low, high):
                part = slice(max(begin, low) - low, min(end, high) - low)
                gradient(i, points[part], out[part])
            if more is not None:
                out += more
        more = () if sample is None else (sample if isinstance(sample, Placed) else Placed(self.rows(sample), self),)
        return Placed.deferred(self, width, fill, y, *more, **options)

    def _within(self, low, high):
        """The groups to which rows low to high belong."""
        first, last = bisect.bisect_left(self._ends, low + 1), bisect.bisect_left(self._ends, high)
        return self.groups[first:last + 1]

    def tiles(self, width):
        """Bounds (low, high) of consecutive whole groups of at least `GROUPED` numbers together."""
        least, bounds, low = deferred.GROUPED / width, [], 0
        for high in self._ends:
            if high - low >= least or high == self.size:
                bounds.append((low, high))
                low = high
        return bounds


def _binary(name):
    function = getattr(operator, name)
    ufunc = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide}.get(name)
    product, quotient = name == "mul", name == "truediv"

    def both(self, other, turned=False):
        there = other.absent if isinstance(other, Placed) else False
        value = self._aligned(other)
        absent = (self.absent or there) if product else self.absent and not turned if quotient else (
            self.absent and (there or _nothing(other)) if name in ("add", "sub") else False)
        mine, theirs = self.same, other.same if isinstance(other, Placed) else other
        if product and isinstance(other, Placed) and len(self.form) == 2:     # once what there is: nothing to make
            for one, whole in ((mine, other), (theirs, self)):
                if isinstance(one, (int, float)) and one == 1 and whole.absent == absent and whole.form[1:] > (1,) and whole.floats:
                    return whole
        if mine is not None and isinstance(theirs, (int, float)):
            same = function(theirs, mine) if turned else function(mine, theirs)
        elif ufunc is not None and len(self.form) == 2:
            same = None
            width = max(self.form[1], 1 if getattr(value, "ndim", 0) < 2 else value.shape[-1])
            if width > 1 and width * self.form[0] >= deferred.FEWEST:
                mine = self if mine is None else mine
                value = value.same if isinstance(value, Placed) and value.same is not None else value
                return Placed.deferred(self.at, width, ufunc, *((value, mine) if turned else (mine, value)), absent=absent)
        else:
            same = None
        value = value.rows if isinstance(value, Placed) else value
        return Placed(function(value, self.rows) if turned else function(self.rows, value), self.at, absent, same)

    return both, lambda self, other: both(self, other, True)


def _nothing(other):
    return isinstance(other, (int, float)) and other == 0


class Placed(Deferred, Laid):
    """Logical numbers (batch, places, ...), stored as rows (N, ...) of `at`; absent: whether they are 0 where nothing is stored.

    same: the one number that all rows hold, or None if they may differ. Sums and products of large ones are deferred.
    """

    __slots__ = ("absent", "same")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, rows, at, absent=False, same=None):
        super().__init__(rows, at)
        self.absent, self.same = absent, same

    @property
    def ndim(self):
        return len(self.form) + 1

    @property
    def shape(self):
        return (self.at.batch, self.at.places, *self.form[1:])

    @property
    def floats(self):
        return self._rows is None or self._rows.dtype == np.float64

    @property
    def dtype(self):
        return self.rows.dtype

    def _aligned(self, other):
        if isinstance(other, Placed):
            if other.ndim != self.ndim or other.at is not self.at:
                raise Unplaced("arrays of different ranks")
            return other
        rank = getattr(other, "ndim", 0)
        if rank <= self.ndim - 2:
            return other
        if rank == self.ndim - 1:      # (places, ...), shared by the replicates
            other = other[None]
        elif rank != self.ndim:
            raise Unplaced("arrays of different ranks")
        return self.at._gathered(other)

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("sub")
    __mul__, __rmul__ = _binary("mul")
    __truediv__, __rtruediv__ = _binary("truediv")
    __gt__, _ = _binary("gt")
    __ge__, _ = _binary("ge")
    __lt__, _ = _binary("lt")
    __le__, _ = _binary("le")
    __eq__, _ = _binary("eq")
    __ne__, _ = _binary("ne")

    def __neg__(self):
        return Placed(-self.rows, self.at, self.absent)

    def __pow__(self, power):
        return Placed(self.rows ** power, self.at, self.absent and power > 0)

    def __getitem__(self, key):
        if not isinstance(key, tuple) or key[0] is not Ellipsis or sum(k is not None for k in key[1:]) > len(self.form) - 1:
            raise Unplaced("single places")
        return Placed(self.rows[key], self.at, self.absent, self.same)

    def sum(self, axis=None, keepdims=False):
        """Over the places, or over an axis behind them."""
        if axis is None:
            raise Unplaced("everything together")
        axis = axis + self.ndim if axis < 0 else axis
        if axis > 1:
            return Placed(self.rows.sum(axis - 1, keepdims=keepdims), self.at, self.absent)
        if axis < 1 or (self.at.masked and not self.absent):
            raise Unplaced("a sum that the absent are part of")
        out = self.at.total(self.rows)
        return out[:, None] if keepdims else out

    def max(self):
        """The largest number stored; of local steps, of those who work."""
        return self.rows.max()

    def _refuse(self, *_, **__):
        raise Unplaced("arrays of a library")

    __array__ = __array_function__ = __bool__ = __iter__ = __len__ = __float__ = __int__ = __contains__ = _refuse
