"""Rows of numbers that are made when they are asked for: tile by tile, together with what they are made of.

A long computation on many rows then goes through a cache, and nothing but its results through the memory.
"""
from __future__ import annotations

import sys

import numpy as np

TILE = 2**13       # numbers of a tile
GROUPED = 2**16    # the same where a tile holds whole groups of rows, as products by client need, and their noise
DEEPEST = 24       # results of such products deferred on one another: more would hold too many tiles
FEWEST = 2**15     # numbers of a result from which it is deferred


class Deferred:
    """Rows (N, ...) of a layout `at`, which are there or made when asked for.

    form: their shape. todo: a function and its operands, until the rows are there. depth: how far operands are deferred on others.
    spare: whether they are rather made again than kept, for those that something holds but hardly asks for.
    """

    __slots__ = ("_rows", "at", "depth", "form", "spare", "todo")

    def __init__(self, rows, at):
        self._rows, self.at, self.todo, self.depth, self.spare = rows, at, None, 0, False
        self.form = None if rows is None else rows.shape

    @classmethod
    def deferred(cls, at, width, function, *operands, spare=False, **options):
        """Rows (N, width) of a ufunc of operands, or of function(low, high, out, *tiles of operands), which writes into out."""
        node = cls(None, at, **options)
        node.form, node.todo, node.spare = (at.size, width), (function, *operands), spare
        node.depth = 1 + max((v.depth for v in operands if isinstance(v, Deferred)), default=0)
        if width * at.size < FEWEST:
            _evaluate(node)
        return node

    @property
    def rows(self):
        if self._rows is None:
            _evaluate(self)
        return self._rows

    def of_replicate(self, replicate):
        """What one replicate has (places, ...), 0 where nothing is stored."""
        mine = np.flatnonzero(self.at.rep == replicate)
        out = np.zeros((self.at.places, *self.form[1:]))
        if self._rows is None:
            _, steps = _planned(self, keep=False)
            for k in mine.tolist():
                out[self.at.column[k]] = _tile(steps, k, k + 1)[0]
        else:
            out[self.at.column[mine]] = self._rows[mine]
        return out


def _holders(listed):
    """How often each of a list is held, with the list itself."""
    return [sys.getrefcount(listed[k]) for k in range(len(listed))]


_ALONE = _holders([object()])[0]     # of what nothing else holds


def _order(root):
    """(nodes, inside): what a deferred result is made of, each after its operands, and how often each is an operand of these."""
    nodes, visited, inside, stack = [], set(), {}, [root]
    while stack:
        node = stack[-1]
        ahead = [] if id(node) in visited else [
            v for v in node.todo[1:] if isinstance(v, Deferred) and v._rows is None and id(v) not in visited]
        stack.extend(ahead)
        if not ahead:
            stack.pop()
            if id(node) not in visited:
                visited.add(id(node))
                nodes.append(node)
                for v in node.todo[1:]:
                    inside[id(v)] = inside.get(id(v), 0) + 1
    return nodes, inside


def _planned(root, keep=True):
    """(nodes, steps): [function, operands, rows or None, width, steps wanted here for the last time] of each, in an order in which
    they can be made.

    An operand is (0, the step that makes it), (1, rows) or (2, what all rows share). Rows are kept of those that something outside
    of the plan holds: a guess from counted references, which costs time alone.
    """
    nodes, inside = _order(root)
    held, steps, last = _holders(nodes), [], {}
    places = {id(node): k for k, node in enumerate(nodes)}
    for k, node in enumerate(nodes):
        function, *operands = node.todo
        sources = []
        for v in operands:
            if id(v) in places:
                sources.append((0, places[id(v)]))
                last[places[id(v)]] = k
            else:
                v = v._rows if isinstance(v, Deferred) else v
                sources.append((1 if getattr(v, "ndim", 0) == 2 and len(v) == node.form[0] else 2, v))
        lasting = keep and (node is root or (not node.spare and held[k] > _ALONE + inside.get(id(node), 0)))
        steps.append((function, sources, np.empty(node.form) if lasting else None, node.form[1], []))
    for operand, k in last.items():
        steps[k][-1].append(operand)
    return nodes, steps


def _tile(steps, low, high):
    """Rows low to high of the last step; what keeps rows is written there."""
    part, tiles = slice(low, high), []
    for function, sources, out, width, over in steps:
        operands = [tiles[a] if how == 0 else a[part] if how == 1 else a for how, a in sources]
        if isinstance(function, np.ufunc):
            tiles.append(function(*operands) if out is None else function(*operands, out=out[part]))
        else:
            tiles.append(np.empty((high - low, width)) if out is None else out[part])
            function(low, high, tiles[-1], *operands)
        for k in over:
            tiles[k] = None
    return tiles[-1]


def _evaluate(root):
    """Make the rows of a deferred result, and of those it is made of that are held elsewhere too, tile by tile."""
    nodes, steps = _planned(root)
    size, width = root.form
    tile = max(TILE // width, 1)
    grouped = not all(isinstance(function, np.ufunc) for function, *_ in steps)
    for low, high in root.at.tiles(width) if grouped else [(k, min(k + tile, size)) for k in range(0, size, tile)]:
        _tile(steps, low, high)
    for node, (_, _, out, *_) in zip(nodes, steps, strict=True):
        if out is not None:
            node._rows, node.todo, node.depth = out, None, 0
