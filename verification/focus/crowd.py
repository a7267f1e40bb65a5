"""Equal clients under a law that treats them alike: the forms of `one_round` in three blocks, whatever their number.

v = (x - x*, mean of the z_i - x*, deviation of a z_i from that mean): a form of a state is that of the first two blocks plus the
mean over the clients of that of the deviations, so it is one block-diagonal matrix, non-negative for every state exactly if it is
positive semidefinite. The round is `i.exchangeable`, read off the coded one.
"""
from functools import cached_property

import numpy as np

from fltheory.core.numbers import linalg
from fltheory.core.problems.quadratic import Quadratic
from verification.focus.formulas import lemmas as f
from verification.focus.one_round import Forms, Numbers

FEW = 5  # clients up to which the forms name every client


def crowded(i):
    """Whether an instance is one of many equal clients, without a state of its own."""
    p = i.problem
    return (isinstance(p, Quadratic) and p.n > i.extra.get("few", FEW) and "state" not in i.extra and i.law.sizes(p.n) is not None
            and all((h == p.H[0]).all() for h in p.H) and all((b == p.b[0]).all() for b in p.b))


class Crowd(Forms):
    """As `Forms`, in v as above; only what many clients are asked for."""

    def __init__(self, i):
        self.round, self.N, self.h = i.exchangeable, i.problem.n, linalg.to_fractions(i.problem.H[:1])[0]
        self.H, self.d = [self.h], len(self.h)
        d, eye = self.d, linalg.identity(3 * self.d, self.h)
        self.x, self.z, self.apart = eye[:d], eye[d:2 * d], eye[2 * d:]
        g, h = linalg.matmul(self.h, self.z), linalg.inverse(self.h)
        self.embed = np.concatenate([0 * eye[:1], self.x, self.N * g, g, linalg.matmul(self.h, self.apart)])  # (1, x, y, g, e_g)
        self.read = np.full((3 * d, 1 + 4 * d), 0 * self.h[0, 0])                                          # and back, without y
        self.read[:d, 1:d + 1] = linalg.identity(d, self.h)
        self.read[d:2 * d, 2 * d + 1:3 * d + 1] = self.read[2 * d:, 3 * d + 1:] = h

    def after(self, V):
        """The form E V(v') of the state v' after the round."""
        pulled = self.round.second_adjoint(self.within(V))
        return linalg.matmul(self.embed.T, linalg.matmul(pulled, self.embed))

    def within(self, V):
        """A form in v as one on the moments of `i.exchangeable`."""
        return linalg.matmul(self.read.T, linalg.matmul(V, self.read))

    A = cached_property(lambda self: f.square(self.x))
    B = cached_property(lambda self: self.N * (f.square(self.x - self.z) + f.square(self.apart)))
    gap = cached_property(lambda self: f.square(self.x, self.h / 2))
    grad2 = cached_property(lambda self: f.square(linalg.matmul(self.h, self.x)))

    @property
    def warm(self):
        """x - x* -> v of a start with one full gradient pass: every z_i = x."""
        return (self.x + self.z).T

    def moments(self, v):
        """The moments (of `i.exchangeable`) of one state v; relative to x*, so without the entry of 1."""
        u = linalg.matmul(self.embed, np.asarray(v, dtype=object)[:, None])
        whole = self.round.whole
        u, apart = u[:whole], u[whole:]
        X = 0 * linalg.matmul(self.read.T, self.read)
        X[:whole, :whole], X[whole:, whole:] = linalg.matmul(u, u.T), linalg.matmul(apart, apart.T)
        return X

    def sums(self, start, at, *forms):
        """As of `Forms`, on the line."""
        X = self.moments(start[:, 0])
        return [(R, *(np.array([[self.round.summed(self.within(V), X, R)]], dtype=object) for V in forms)) for R in at]


def one_round(i):
    """`Forms` on quadratics, of many equal clients in three blocks; else `Numbers` at the instance's state."""
    if not isinstance(i.problem, Quadratic):
        return Numbers(i)
    return Crowd(i) if crowded(i) else Forms(i)


__all__ = ["Crowd", "crowded", "one_round"]
