"""Classes of participation schedules with bounded gaps, and the finite automaton whose walks they are.

`Sliding(D)`: every client takes part at least once in any D consecutive rounds. `Blocks(D)`: at least once in each of the
disjoint blocks of rounds kD, ..., kD + D - 1, so that up to 2D - 2 rounds may lie between two appearances.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from fltheory.core.errors import TooLarge, refuse
from fltheory.core.numbers.scalars import is_count
from fltheory.core.records import is_one_of

MOST_EDGES = 1_500  # one matrix inequality each: a minute of semidefinite programming in dimension 4
LONGEST = 1_000  # rounds of a window: one client alone has 2 D - 1 edges
EMPTY = ("move", "skip", "never")


@dataclass(frozen=True)
class Automaton:
    """The schedules of a class as walks: edge (a, s, b) means that in node a the set `sets[s]` may come and leads to b.

    nodes: what has to be remembered (ages for sliding windows; position and clients already seen for blocks);
    sets: tuples of client indices; edges: triples of indices; start: index of the node before the first round.
    Every node has an edge in and an edge out.
    """

    nodes: tuple
    sets: tuple
    edges: tuple
    start: int

    def leaving(self) -> list[list[int]]:
        """Per node the list of its edges out, as indices into `edges`."""
        out = [list[int]() for _ in self.nodes]
        for k, (a, _, _) in enumerate(self.edges):
            out[a].append(k)
        return out

    def walk(self, schedule: list, start: int | None = None) -> list[int] | None:
        """Nodes visited by a schedule (a list of sets), None where it leaves the class. start: index of a node."""
        step = {(a, self.sets[s]): b for a, s, b in self.edges}
        at = [self.start if start is None else start]
        for s in schedule:
            after = step.get((at[-1], tuple(sorted(s))))
            if after is None:
                return None
            at.append(after)
        return at

    def closes(self, schedule: list) -> bool:
        """Whether the schedule, repeated for ever, belongs to the class (from some node of the automaton)."""
        return any((at := self.walk(schedule, k)) is not None and at[-1] == k for k in range(len(self.nodes)))


@dataclass(frozen=True)
class Windows:
    """Base of the classes. length: rounds of a window, an int D >= 1. empty: what may happen in a round without
    participants: "move" (allowed, and the coded round is run on the empty set), "skip" (allowed, and nothing moves) or
    "never" (every round has a participant)."""

    length: int
    empty: str = "move"
    _count: ClassVar[Callable]   # (n) -> how many edges there are before any is pruned
    _start: ClassVar[Callable]   # (n) -> the node before the first round
    _nodes: ClassVar[Callable]   # (n) -> all nodes
    _after: ClassVar[Callable]   # (node, set of clients, n) -> the node after a round of theirs, None where there is none

    def __post_init__(self):
        if not is_count(self.length) or self.length > LONGEST:
            refuse("length", self.length, f"a window has 1 to {LONGEST} rounds", "Give an int.")
        if not is_one_of(self.empty, EMPTY):
            refuse("empty", self.empty, f"is one of {', '.join(EMPTY)}",
                   'Say whether rounds may be empty: "move" or "skip" if they may, "never" if not.')

    def automaton(self, n: int) -> Automaton:
        """The automaton for n clients, pruned to nodes with an edge in and an edge out. Raises TooLarge beyond
        1,500 edges."""
        if not is_count(n):
            refuse("n", n, "there is at least one client", "Give an int >= 1.")
        count = self._count(int(n))
        if count > MOST_EDGES:
            size = str(count) if count < 10**30 else f"more than 2^{count.bit_length() - 1}"
            raise TooLarge(f"{self} with {n} clients: {size} edges exceed {MOST_EDGES}; take fewer clients or a shorter window")
        least = n if self.length == 1 else int(self.empty == "never")  # windows of one round: everybody always, however many
        subsets = [s for k in range(least, n + 1) for s in itertools.combinations(range(n), k)]
        return _pruned(self._start(n), [(a, s, b) for a in self._nodes(n) for s in subsets
                                        if (b := self._after(a, frozenset(s), n)) is not None])

    def _rule(self):
        return {"move": "empty rounds allowed, and run as coded", "skip": "empty rounds allowed, and skipped",
                "never": "no empty rounds"}[self.empty]


@dataclass(frozen=True)
class Sliding(Windows):
    """Every client takes part at least once in any `length` consecutive rounds. A node is the vector of ages: rounds since
    each client was seen, 0 to length - 1; before the first round everyone counts as just seen."""

    def __str__(self):
        return f"every client at least once in any {self.length} consecutive rounds ({self._rule()})"

    def _count(self, n):
        return (2 * self.length - 1) ** n

    def _start(self, n):
        return (0,) * n

    def _nodes(self, n):
        return itertools.product(range(self.length), repeat=n)

    def _after(self, ages, present, n):
        new = tuple(0 if i in present else age + 1 for i, age in enumerate(ages))
        return new if max(new) < self.length else None


@dataclass(frozen=True)
class Blocks(Windows):
    """Every client takes part at least once in each of the disjoint blocks of `length` rounds, the first of which starts
    with round 0. A node is (rounds of this block gone, clients already seen in it)."""

    def __str__(self):
        return f"every client at least once in each block of {self.length} rounds ({self._rule()})"

    def _count(self, n):
        return 1 if self.length == 1 else 2**n + (self.length - 2) * 4**n + 3**n

    def _start(self, n):
        return 0, ()

    def _nodes(self, n):
        inside = ((k, s) for k in range(1, self.length) for m in range(n + 1) for s in itertools.combinations(range(n), m))
        return [(0, ()), *inside]

    def _after(self, node, present, n):
        k, visited = node
        both = tuple(sorted(present | set(visited)))
        if k == self.length - 1:
            return (0, ()) if len(both) == n else None
        return k + 1, both


def _pruned(start, edges) -> Automaton:
    while True:
        inside = {a for a, _, _ in edges} & {b for _, _, b in edges}
        survivors = [e for e in edges if e[0] in inside and e[2] in inside]
        if len(survivors) == len(edges):
            break
        edges = survivors
    nodes = sorted(inside)
    sets = sorted({s for _, s, _ in edges}, key=lambda s: (len(s), s))
    at, which = {a: k for k, a in enumerate(nodes)}, {s: k for k, s in enumerate(sets)}
    return Automaton(tuple(nodes), tuple(sets), tuple((at[a], which[s], at[b]) for a, s, b in edges), at[start])
