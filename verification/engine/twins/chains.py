"""Scalar rounds x' = a x + b + noise of variance v, one kind for every mode of a chain: moments written out mode by mode."""
from fractions import Fraction as Q


def kinds(h, c, p, lr, sets, sigma2):
    """[(a, b, v)] of one local step of FedAvg on f_i = h_i (x - c_i)^2 / 2 by each set of clients."""
    out = []
    for members in sets:
        share = {i: p[i] / sum(p[j] for j in members) for i in members}
        slope = sum(share[i] * h[i] for i in members)
        out.append((1 - lr * slope, lr * sum(share[i] * h[i] * c[i] for i in members),
                    lr**2 * sigma2 * sum(s**2 for s in share.values())))
    return out


def after(rounds, chain, start, x, count):
    """(E x, E x^2) after `count` rounds from x; the chain moves before a round is made, start: its law before the first."""
    k = range(len(rounds))
    blocks = [(q, q * x, q * x**2) for q in start]
    for _ in range(count):
        blocks = [_round(rounds[j], [sum(chain[i][j] * blocks[i][part] for i in k) for part in range(3)]) for j in k]
    return sum(b[1] for b in blocks), sum(b[2] for b in blocks)


def _round(kind, block):
    (a, b, v), (q, m, s) = kind, block
    return q, a * m + b * q, a**2 * s + 2 * a * b * m + (b**2 + v) * q


def at_rest(rounds, chain):
    """(E x, E x^2) in the long run: three linear systems, one for the modes, one for the means, one for the squares."""
    k = range(len(rounds))
    move = [[Q(int(i == j)) - chain[i][j] for i in k] for j in k]
    pi = solved([*move[:-1], [Q(1)] * len(rounds)], [Q(0)] * (len(rounds) - 1) + [Q(1)])

    def held(power, push):
        return solved([[Q(int(i == j)) - rounds[j][0]**power * chain[i][j] for i in k] for j in k], push)
    m = held(1, [rounds[j][1] * pi[j] for j in k])
    into = [sum(chain[i][j] * m[i] for i in k) for j in k]
    s = held(2, [2 * rounds[j][0] * rounds[j][1] * into[j] + (rounds[j][1]**2 + rounds[j][2]) * pi[j] for j in k])
    return sum(m), sum(s)


def solved(A, b):
    """The solution of A x = b by elimination."""
    rows = [[*row, v] for row, v in zip(A, b, strict=True)]
    for k in range(len(rows)):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i, row in enumerate(rows):
            if i != k:
                rows[i] = [u - row[k] * v for u, v in zip(row, rows[k], strict=True)]
    return [row[-1] for row in rows]
