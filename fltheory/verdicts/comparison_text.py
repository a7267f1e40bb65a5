"""A comparison and a hypothesis as text, once for all who print them: terminal, notebook, pytest, HTML pages and Markdown.

What is printed, and in which order, stands here; a `Hand` says how one of them sets it.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fltheory.core.evidence import Comparison, show
from fltheory.core.tables import keep_ends
from fltheory.verdicts import records

WIDTH = 160  # characters of one number
HOLDS = {True: "holds", False: "fails", None: "fails"}


def short(value: object) -> str:
    return keep_ends(" ".join(str(value).split()), WIDTH)


def exactly(exact: str, decimal: float | None) -> str:
    return exact


def exactly_and_about(exact: str, decimal: float | None) -> str:
    """A side exactly, and as a float where that says more."""
    exact = short(exact)
    return exact if decimal is None or exact == f"{decimal:.12g}" else f"{exact} (about {decimal:.6g})"


class Hand(NamedTuple):
    """How a writer sets texts, sides (the exact text, and the float or None), margins, and whether a hypothesis holds."""

    text: Callable = str
    side: Callable = exactly
    margin: Callable = str
    holds: dict = HOLDS


PLAIN = Hand()


def comparison_row(c: records.Comparison, hand: Hand) -> list:
    """[label, left side, relation, right side, margin, evidence, status]."""
    return [hand.text(c.label), hand.side(c.lhs, c.lhs_float), hand.text(c.relation), hand.side(c.rhs, c.rhs_float),
            hand.margin(c.margin), hand.text(c.evidence), hand.text(c.status)]


def computed_row(c: Comparison, side: Callable = exactly_and_about) -> tuple:
    """(label, left side, relation, right side, margin, status and evidence) of a comparison with its numbers, margins exactly."""
    hand = Hand(side=side, margin=lambda _: "" if c.margin is None else short(show(c.margin)))
    label, *middle, evidence, status = comparison_row(records.Comparison.of(c.record()), hand)
    return (label or "statement", *middle, f"{status} ({evidence})")


def hypothesis_row(h: records.Condition, hand: Hand = PLAIN) -> list:
    """[name, left side, right side, margin, whether it holds]."""
    return [hand.text(h.name), hand.side(h.lhs, None), hand.side(h.rhs, None), hand.margin(h.margin), hand.holds[h.holds]]


def needs(h: records.Condition, hand: Hand = PLAIN) -> str:
    """The same as a line of a terminal."""
    name, left, right, margin, word = hypothesis_row(h, hand)
    return f"needs {name}: {left} against {right}{f', margin {margin}' if margin else ''}: {word}"
