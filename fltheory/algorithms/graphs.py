"""Similarity graphs of clients: messages, misalignment, edge weights, Laplacian (simfed, Definitions 1 and 2, App. C.6)."""
from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fltheory.core.errors import refuse
from fltheory.core.kinds import Array
from fltheory.core.numbers.scalars import FLOAT, Number, declare, distinct, fraction
from fltheory.core.problems.shapes import clients, shaped, symmetric
from fltheory.core.records import is_one_of

KINDS = ("principal", "mean")
SIGNS = ("positive-sum", "as-computed")
_ISOLATED = "Drop isolated clients, or lower the threshold."


def messages(data: Array, kind: str = "principal", sign: str = "positive-sum") -> np.ndarray:
    """The unit message (n, d) that each client sends of its rows (N_i, d), once.

    kind: "principal", the first right singular vector of the rows as they are, neither centred nor scaled (simfed,
    experiments), or "mean", the direction of their mean. sign: a singular vector has none, and the graph depends on it
    (`mis` turns into 1 - `mis`): "positive-sum" makes the sum of the entries >= 0 (the first nonzero entry > 0 where the sum
    is 0), "as-computed" takes what the decomposition returns. Refused: rows that are all 0, or whose mean is 0, which have no
    direction; a largest singular value that is not simple, whose vector is arbitrary.
    """
    for value, words, what in ((kind, KINDS, "kind"), (sign, SIGNS, "sign")):
        if not is_one_of(value, words):
            refuse(what, value, f"is one of {', '.join(words)}", "Choose one of them.")
    read = clients(data, "data", 2)
    vectors = np.array([_principal(FLOAT.array(part), f"data[{i}]") if kind == "principal" else _mean(part, f"data[{i}]")
                      for i, part in enumerate(read)])
    if sign == "positive-sum" and kind == "principal":
        vectors = vectors * np.array([_sign(v) for v in vectors])[:, None]
    return vectors


def _principal(rows, what):
    size = np.abs(rows).max()
    if size == 0:
        refuse(what, "rows of norm 0", "a message has norm 1", "Leave a client out whose rows are all 0.")
    values, right = np.linalg.svd(rows / size, full_matrices=False)[1:]
    if len(values) > 1 and values[1] >= (1 - 1e-12) * values[0]:
        refuse(what, [float(v * size) for v in values[:2]], "the largest singular value is simple, or its vector is arbitrary",
               'Take kind="mean", or other features.')
    return right[0] / np.linalg.norm(right[0])


def _mean(rows, what):
    """Of exact rows the direction of the exact mean, however small; in floats a sum within rounding of 0 has no direction."""
    exact = rows.dtype != np.float64
    mean = rows.sum(0) if exact else np.array([math.fsum(column) for column in (rows / (np.abs(rows).max() or 1)).T])
    if not mean.any():
        refuse(what, "rows whose mean has norm 0", "a message has norm 1", 'Take kind="principal".')
    size = np.abs(mean).max()
    mean = FLOAT.array(mean / size)
    if not exact and size <= 1e-14 * len(rows):
        refuse(what, f"rows whose mean is {float(size) / len(rows):.1e} of their largest entry",
               "in floats that is within rounding of 0, which has no direction",
               'Give exact numbers (ints, fractions, strings), or take kind="principal".')
    return mean / np.linalg.norm(mean)


def _sign(vector):
    total, size = vector.sum(), np.abs(vector).sum()
    if abs(total) > 1e-12 * size:
        return np.sign(total)
    return np.sign(vector[np.abs(vector) > 1e-12 * size][0])


def misalignment(messages: Array) -> np.ndarray:
    """mis(i, n) = (1 - m_i'm_n)/2 in [0, 1] of unit messages (n, d): 0 alike, 1 antipodal (simfed, Definition 1).

    Exact for declared rationals; in floats a quarter of the squared distance, which is 0 for equal messages only. Refused: a
    message whose norm is not 1 (exactly, or to 1e-6 in floats, which are then divided by it); 0 has no direction.
    """
    m = shaped(messages, "messages", "n", "d")
    exact = m.dtype != np.float64
    norms = (m * m).sum(-1)
    for i, norm in enumerate(norms):
        if norm != 1 if exact else not abs(norm - 1) <= 1e-6:
            refuse(f"messages[{i}]", m[i].tolist(), f"a message has norm 1, this one {norm!s} as its square",
                   "Divide it by its norm (`ft.messages` does); a message of norm 0 has no direction.")
    if exact:
        return (1 - m @ m.T) / declare(2)[()]
    m = m / np.sqrt(norms)[:, None]
    return np.minimum(np.stack([((m - row) ** 2).sum(-1) for row in m]) / 4, 1.0)   # 1 - m'm has lost its digits near 0


def _to_antipode(messages):
    """mis(m_i, -m_n) = 1 - mis(m_i, m_n), with its digits where the two are nearly antipodal."""
    m = shaped(messages, "messages", "n", "d")
    if m.dtype != np.float64:
        return (1 + m @ m.T) / declare(2)[()]
    m = m / np.sqrt((m * m).sum(-1))[:, None]
    return np.minimum(np.stack([((m + row) ** 2).sum(-1) for row in m]) / 4, 1.0)


def _degrees(a):
    """Row sums (n,); of exact entries only those that are not 0 are added, one by one, of which a sparse graph has few."""
    if a.dtype == np.float64:
        return a.sum(-1)
    sums = np.zeros(len(a), dtype=object) + declare(0)[()]
    for i, row in enumerate(a):
        linked = row[row.astype(bool)]
        sums[i] = linked.sum() if len(linked) else sums[i]
    return sums


@dataclass(frozen=True, eq=False)
class SimilarityGraph:
    """An undirected graph of clients by its adjacency (n, n): symmetric, >= 0, every client with an edge, two clients at least.

    Rational or float entries; A_ii is a weight of a client's own model, 0 in Definition 2. Make one of messages (`of`), of
    chosen edge weights (directly), or the rank-one graph whose neighbour matrix is 1 p' (`mean`).
    """

    adjacency: Any

    def __post_init__(self):
        a = shaped(self.adjacency, "adjacency", "n", "n")
        floats = a.dtype == np.float64
        if len(a) < 2:
            refuse("adjacency", a.tolist(), "a graph has two clients at least: one has no neighbour", "Give more clients.")
        if not (floats or all(hasattr(v, "numerator") for v in a.reshape(-1))):
            refuse("adjacency", a.tolist(), "entries are rationals or floats", "Put numbers for symbols.")
        symmetric(a, "adjacency", "edge weights are symmetric, or p_j is not the sum of the p_ij", "A")
        if min(distinct(a.reshape(-1))) < 0:
            refuse("adjacency", a.tolist(), "edge weights are not negative", "Clip them at 0.")
        if floats and a.max() > 1e300 / a.size:
            refuse("adjacency", a.tolist(), "the sum of the edge weights nears the end of the range of floats", "Rescale them.")
        degrees = _degrees(a)
        total = degrees.sum()
        alone = [i for i, degree in enumerate(degrees) if degree == 0 or (floats and total > 0 and degree / total == 0)]
        if len(alone) == len(a):
            refuse("adjacency", a.tolist(), "the edge weights do not all vanish (all messages antipodal?)", _ISOLATED)
        if alone:
            refuse("adjacency", a.tolist(), f"no client is isolated, here {alone}: its weight p_i would be 0", _ISOLATED)
        if floats:
            a = (a + a.T) / 2   # rounding may leave two halves of an edge an ulp apart
        a.setflags(write=False)
        object.__setattr__(self, "adjacency", a)

    @classmethod
    def of(cls, messages: Array, clip: Number = None) -> SimilarityGraph:
        """A_in = -ln mis(i, n), A_ii = 0, of unit messages (n, d) (simfed, Definition 2), in floats.

        clip: in (0, 1/2), misalignments are first moved into [clip, 1 - clip]; without it identical messages (an infinite
        weight) are refused, and antipodal ones where they isolate a client.
        """
        mis = FLOAT.array(misalignment(messages))
        apart = FLOAT.array(_to_antipode(messages))
        if clip is not None:
            bound = float(fraction(clip, "clip"))
            if not 0 < bound < 0.5:
                refuse("clip", clip, "lies in (0, 1/2)", "For example 1e-9.")
            mis, apart = np.clip(mis, bound, 1 - bound), np.clip(apart, bound, 1 - bound)
        off = ~np.eye(len(mis), dtype=bool)
        same = np.argwhere((mis == 0) & off)
        if len(same):
            refuse("messages", f"{tuple(int(i) for i in same[0])} identical", "identical messages have an infinite edge weight",
                   "Clip the misalignment: clip=1e-9.")
        near = np.where(off & (mis < 0.5), mis, 1.0)
        far = np.where(off & (mis >= 0.5), np.minimum(apart, 0.5), 0.0)   # 1 - mis, whose digits mis has lost near 1
        return cls(np.where(near < 1, -np.log(near), -np.log1p(-far)) + 0.0)

    @classmethod
    def mean(cls, weights: Array) -> SimilarityGraph:
        """The rank-one graph p_in = p_i p_n, in which every client listens to the mean of all, itself too."""
        p = shaped(weights, "weights", "n")
        p = p / p.max() if p.dtype == np.float64 and p.max() > 0 else p   # tiny weights have products of 0
        return cls(p[:, None] * p[None, :])

    def above(self, threshold: Number) -> SimilarityGraph:
        """The same graph with the entries below a threshold >= 0 left out, on both sides of an edge."""
        least = fraction(threshold, "threshold")
        if least < 0:
            refuse("threshold", threshold, "is not negative", "Give an adjacency entry.")
        return SimilarityGraph(np.where([[fraction(v) < least for v in row] for row in self.adjacency],
                                        0 * self.adjacency, self.adjacency))

    @property
    def n(self) -> int:
        return len(self.adjacency)

    @cached_property
    def edges(self) -> np.ndarray:
        """Edge weights p_in (n, n), summing to 1: what `NeighbourAveraging` takes."""
        a = self.adjacency
        total = a.sum() if a.dtype == np.float64 else _degrees(a).sum()
        return self._over(np.broadcast_to(total, a.shape))

    @cached_property
    def weights(self) -> np.ndarray:
        """p_i = sum_n p_in (n,): weights of the clients, normalised degrees."""
        weights = _degrees(self.edges)
        weights.setflags(write=False)
        return weights

    @cached_property
    def neighbours(self) -> np.ndarray:
        """P_in = p_in/p_i (n, n): rows sum to 1, p'P = p'."""
        return self._over(np.broadcast_to(_degrees(self.adjacency)[:, None], self.adjacency.shape))

    def _over(self, sums):
        """The adjacency over positive numbers (n, n); only what is not 0 is divided."""
        out, links = self.adjacency.copy(), self.adjacency.astype(bool)
        out[links] = out[links] / sums[links]
        out.setflags(write=False)
        return out

    @property
    def laplacian(self) -> np.ndarray:
        """diag(A 1) - A (n, n): positive semidefinite, ones in its kernel (simfed, App. C.6)."""
        return np.diag(_degrees(self.adjacency)) - self.adjacency

    def spectrum(self) -> np.ndarray:
        """Eigenvalues (n,) of the Laplacian, ascending, in floats."""
        return np.linalg.eigvalsh(FLOAT.array(self.laplacian))

    def parts(self) -> list:
        """The connected components, as lists of clients (by scipy.sparse.csgraph)."""
        from scipy.sparse.csgraph import connected_components
        links = np.array(self.adjacency != 0, dtype=float)
        count, label = connected_components(links, directed=False)
        return [[i for i in range(self.n) if label[i] == k] for k in range(count)]
