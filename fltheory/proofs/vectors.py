"""Vectors of any dimension in a proof: linear combinations of free vectors, known by their inner products alone."""
from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Vector:
    """A linear combination {name: coefficient} of the free vectors of a proof; inner products are symbols."""

    proof: object
    parts: dict

    def __add__(self, other):
        names = dict.fromkeys((*self.parts, *other.parts))
        return Vector(self.proof, {k: self.parts.get(k, 0) + other.parts.get(k, 0) for k in names})

    def __mul__(self, number):
        return Vector(self.proof, {k: v * number for k, v in self.parts.items()})

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -other

    def dot(self, other):
        """The inner product, linear in the symbols u_v of the free vectors."""
        return sum(a * b * self.proof.symbol(product(u, v)) for u, a in self.parts.items() for v, b in other.parts.items())

    @property
    def square(self):
        """The squared norm."""
        return self.dot(self)


def product(u, v) -> str:
    """The symbol of an inner product."""
    return "_".join(sorted((u, v)))


def products(names) -> list[str]:
    """All of them."""
    return [product(u, v) for k, u in enumerate(names) for v in names[k:]]


def values(points) -> dict:
    """{symbol: number} of vectors given as {name: coordinates}."""
    names = list(points)
    return {product(u, v): sum(a * b for a, b in zip(points[u], points[v], strict=True))
            for k, u in enumerate(names) for v in names[k:]}


def readable(text, names) -> str:
    """An expression as a reader writes it: <u, v> and |u|^2 for the symbols of inner products, powers with ^, no asterisks."""
    for k, u in enumerate(names):
        for v in names[k:]:
            text = re.sub(rf"\b{product(u, v)}\b", f"|{u}|^2" if u == v else f"<{u}, {v}>", text)
    return text.replace("**", "^").replace("*", " ")
