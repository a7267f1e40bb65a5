"""The largest drift over bounded gradients by trying every sign: one coordinate, where the worst gradients are +1 or -1."""
from itertools import product


def fedavg(n, K, lr):
    """Largest |x+ - x| of a round of n equally weighted clients with K local steps."""
    return max(abs(sum(-lr * sum(g[i * K:i * K + K]) for i in range(n)) / n) for g in product((1, -1), repeat=n * K))


def scaffold_alone(n, K, lr):
    """Largest |y_0 - x| of client 0 in round 2 of SCAFFOLD, variates as mean gradients of round 1, all clients there in round 1."""
    best = 0
    for g in product((1, -1), repeat=n * K + K):
        c = [sum(g[i * K:i * K + K]) / lr / K * lr for i in range(n)]       # mean gradient of client i in round 1
        y = 0
        for k in range(K):
            y -= lr * (g[n * K + k] - c[0] + sum(c) / n)
        best = max(best, abs(y))
    return best
