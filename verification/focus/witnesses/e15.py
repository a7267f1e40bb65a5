"""FOCUS (arXiv 2503.20117v3), Theorem 5: six clients f_i = 500 x^2 (h = L = beta = 1000), one uniform client a round, tau = 1,
noise variance 1. Stationary second moments of x' = x - eta sum_i g_i, g_i' = h x + xi for the drawn client, exactly."""
from fractions import Fraction as Q

N, h, tau, sigma2, q, checks = 6, Q(1000), 1, Q(1), Q(1, 6), []
L = beta = h
eta = Q(9, 10) * q / (16 * L**2)
def show(text, left, op, right):
    checks.append({"<=": left <= right, "=": left == right, ">": left > right}[op])
    print(f"{text}:  {float(left):.6g} {op} {float(right):.6g}  [{checks[-1]}]")
show("eta against q/(3 beta N (4-q))", eta, "<=", q / (3 * beta * N * (4 - q)))
show("eta against q/(16 L^2)", eta, "<=", q / (16 * L**2))
show("eta^2 against q^3/(96 L^2 N)", eta**2, "<=", q**3 / (96 * L**2 * N))
show("eta against 3q/(32N) (proof)", eta, "<=", 3 * q / (32 * N))
show("eta against 1/(4LN) (proof)", eta, "<=", 1 / (4 * L * N))
show("conditions with tau - 1 = 0: left side", eta * (tau - 1), "<=", Q(1))
k = N - 1
def one_round(m):  # m = E(xx, xg, gg, g g'), equal clients; client 1 drawn, constant term last
    xx, xg, gg, gp, one = m
    xd, xo = h * xx, xg                              # x with the drawn client's new g, with another client's g
    dd, oo, do, op = h * h * xx + sigma2 * one, gg, h * xg, gp
    s2 = dd + 2 * k * do + k * oo + k * (k - 1) * op           # E (sum g)^2
    xs, ds, os = xd + k * xo, dd + k * do, do + oo + (k - 1) * op
    return [xx - 2 * eta * xs + eta**2 * s2, ((xd - eta * ds) + k * (xo - eta * os)) / N, (dd + k * oo) / N,
            (2 * k * do + k * (k - 1) * op) / (N * k)]
unit = [[Q(int(a == b)) for b in range(5)] for a in range(5)]
columns, push = [one_round(u) for u in unit[:4]], one_round(unit[4])
A = [[Q(int(a == b)) - columns[b][a] for b in range(4)] + [push[a]] for a in range(4)]
for p in range(4):  # solve (1 - T) m = push
    A[p] = [v / A[p][p] for v in A[p]]
    A = [A[p] if a == p else [v - A[a][p] * w for v, w in zip(A[a], A[p])] for a in range(4)]
gap, floor = h / 2 * A[0][4], (L / 2 + 32 * (tau - 1) ** 2 * L**2 + 8 / q) * eta / beta * sigma2
show("stationarity: largest change in one round", max(abs(u - A[a][4]) for a, u in enumerate(one_round([r[4] for r in A] + [1]))), "=", 0)
show("E F(x) - F* against the printed floor", gap, ">", floor)
print("VERDICT:", "Theorem 5 fails" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
