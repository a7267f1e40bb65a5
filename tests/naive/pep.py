"""Worst cases written by hand with cvxpy: Gram matrix, interpolation conditions and rounds as loops, nothing of the package."""
import numpy as np

ROOM = 16


class Programme:
    """max measure(x, after, star) over n clients with curvature in [mu, L]; a round is a plain function of gradients."""

    def __init__(self, n, mu, L):
        import cvxpy
        self.cp, self.n, self.mu, self.L = cvxpy, n, mu, L
        self.size, self.points = 0, [[] for _ in range(n)]
        self.G, self.f = cvxpy.Variable((ROOM, ROOM), PSD=True), cvxpy.Variable(ROOM)
        self.used, self.conditions = 0, []

    def zero(self):
        return np.zeros(ROOM)

    def vector(self):
        v = np.zeros(ROOM)
        v[self.size] = 1
        self.size += 1
        return v

    def gradient(self, i, x):
        """The gradient of client i at x; a point that was asked before is found again."""
        for y, g, _ in self.points[i]:
            if np.array_equal(x, y):
                return g
        return self.record(i, x, self.vector())

    def record(self, i, x, g):
        self.points[i].append((x, g, self.used))
        self.used += 1
        return g

    def dot(self, u, v):
        return u @ self.G @ v

    def value(self, x):
        for i in range(self.n):
            self.gradient(i, x)
        return sum(self.f[k] for i in range(self.n) for y, _, k in self.points[i] if np.array_equal(x, y)) / self.n

    def minimiser(self):
        x, gradients = np.zeros(ROOM), [self.vector() for _ in range(self.n - 1)]
        for i, g in enumerate([*gradients, -sum(gradients, np.zeros(ROOM))]):
            self.record(i, x, g)
        return x

    def solve(self, objective, conditions):
        rows = list(conditions)
        for points in self.points:
            for x, g, k in points:
                for y, h, m in points:
                    if k != m:
                        dx, dg = x - y, g - h
                        bend = self.dot(dg, dg) / self.L + self.mu * self.dot(dx, dx) - 2 * self.mu / self.L * self.dot(dg, dx)
                        rows.append(self.f[k] >= self.f[m] + self.dot(h, dx) + bend / (2 * (1 - self.mu / self.L)))
        rows += [self.G[self.size:, :] == 0, self.f[self.used:] == 0]
        problem = self.cp.Problem(self.cp.Maximize(objective), rows)
        problem.solve(solver="CLARABEL")
        assert problem.status == "optimal"
        return problem.value


def fedavg(p, x, lr, steps):
    after = p.zero()
    for i in range(p.n):
        y = x
        for _ in range(steps[i]):
            y = y - lr * p.gradient(i, y)
        after = after + y / p.n
    return after


def fedprox(p, x, lr, steps, mu):
    after = p.zero()
    for i in range(p.n):
        y = x
        for _ in range(steps[i]):
            y = y - lr * (p.gradient(i, y) + mu * (y - x))
        after = after + y / p.n
    return after


def fednova(p, x, lr, steps):
    after, effective = x, sum(steps) / p.n
    for i in range(p.n):
        y = x
        for _ in range(steps[i]):
            y = y - lr * p.gradient(i, y)
        after = after + effective * (y - x) / steps[i] / p.n
    return after


def focus(p, x, lr, steps):
    """The first round of FOCUS from its literal start: y = 0, g = 0."""
    total = p.zero()
    for i in range(p.n):
        u, v, stored = x, p.zero(), p.zero()
        for _ in range(steps[i]):
            g = p.gradient(i, u)
            v, stored = v + g - stored, g
            u = u - lr * v
        total = total + v
    return x - lr * total
