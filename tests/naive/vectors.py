"""Vectors as lists, matrices as lists of rows."""

from fractions import Fraction


def exact(data):
    """The same number, or nested list of numbers, as Fractions; strings such as "1/3" are numbers too."""
    return [exact(part) for part in data] if isinstance(data, list | tuple) else Fraction(data)


def zeros_like(a):
    """Zeros of a's own kind of number: dividing the int 0 would give a float."""
    return [0 * t for t in a]


def add(a, b):
    return [s + t for s, t in zip(a, b, strict=True)]


def sub(a, b):
    return [s - t for s, t in zip(a, b, strict=True)]


def scale(s, a):
    return [s * t for t in a]


def dot(a, b):
    return sum(s * t for s, t in zip(a, b, strict=True))


def matvec(M, v):
    return [dot(row, v) for row in M]


def transpose(M):
    return [list(column) for column in zip(*M, strict=True)]


def mix(weights, vectors):
    """sum_i weights[i] * vectors[i]"""
    total = zeros_like(vectors[0])
    for weight, vector in zip(weights, vectors, strict=True):
        total = add(total, scale(weight, vector))
    return total


class QuadraticClients:
    """f_i(y) = 1/2 y'H_i y - b_i'y with weight p_i."""

    def __init__(self, H, b, p):
        self.H, self.b, self.p = H, b, p
        self.n, self.d = len(p), len(b[0])

    def grad(self, i, y):
        return sub(matvec(self.H[i], y), self.b[i])
