"""Equal clients on the line under a uniform law, from an exchangeable state: four second moments, whatever N.

E x^2, E x z_1, E z_1^2 and E z_1 z_2 (x the server model, z_i the points of the stored gradients, minimiser 0) after a round are
linear in those before it. The linear map is read off the coded round, set by set, at four states, and held against a fifth.
"""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.focus.one_round import Numbers


def moments(x, z):
    """The four numbers of one state: means over the clients, and over pairs of different ones."""
    n, total, squares = len(z), sum(z), sum(v * v for v in z)
    return [x * x, x * total / n, squares / n, (total * total - squares) / (n * (n - 1))]


def round_map(i):
    """(4, 4) rationals: the moments after one coded round from those before it. Raises CertificateFailed if they do not close."""
    rest = [Q(0)] * (i.n - 2)
    states = [(Q(1), [Q(0), Q(0), *rest]), (Q(0), [Q(1), Q(0), *rest]), (Q(1), [Q(1), Q(0), *rest]), (Q(0), [Q(1), Q(1), *rest])]
    check = (Q(2), [Q(3), Q(-1), *rest])
    before, after = ([[*map(ft.fraction, row)] for row in rows]
                     for rows in ([moments(*s) for s in (*states, check)], [_after(i, *s) for s in (*states, check)]))
    M = ft.linalg.solve(np.array(before[:4], dtype=object), np.array(after[:4], dtype=object)).T
    if list(ft.linalg.matmul(M, np.array(before[4], dtype=object)[:, None])[:, 0]) != after[4]:
        raise ft.CertificateFailed("four second moments do not close: the clients or their law are not exchangeable")
    return M


def _after(i, x, z):
    """Expected moments after a coded round from the state (x, z)."""
    s = Numbers(i, ([x], [[v] for v in z]))
    moved, out = s.moved, [Q(0)] * 4
    for chance, state, who in s.rounds:
        new = [ft.fraction((moved if k in who else s.z)[k][0]) for k in range(i.n)]
        out = [a + chance * b for a, b in zip(out, moments(ft.fraction(state.x[0]), new), strict=True)]
    return out


def path(i, rounds):
    """[(E A, E B)] before rounds 0 .. rounds from one full gradient pass at x_0 = 1: every z_i at x_0."""
    M, m, out = round_map(i), np.array([Q(1)] * 4, dtype=object), []
    for _ in range(rounds + 1):
        out.append((m[0], i.n * (m[0] - 2 * m[1] + m[2])))
        m = ft.linalg.matmul(M, m[:, None])[:, 0]
    return out
