"""FOCUS (arXiv 2503.20117v3), (128): from B_0 = 0, mean over r < R of E B_r <= 16 eta^2 N^2/q^2 times that of E|grad F(x_r)|^2.
N = 8, f_i = x^2/2, one uniform client per round, tau = 1, one full gradient pass (z_i = x_0 = 1), eta = 1/512, R = 93."""
from fractions import Fraction as Q

N, L, tau, q, eta, rounds, checks = 8, 1, 1, Q(1, 8), Q(1, 512), 93, []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    shown = [str(v) if Q(v).denominator < 10**9 else f"{float(v):.12f}" for v in (left, right)]
    print(f"{text}:  {shown[0]} {op} {shown[1]}  [{checks[-1]}]")
def step(m):  # (E x^2, E x z_i, E z_i^2, E z_i z_j): the same for all clients, since start and law are symmetric
    xx, xz, zz, zw = m
    xz, zz, zw = xz + q * (xx - xz), zz + q * (xx - zz), zw + 2 * q * (xz - zw)  # z_i <- x for one client i
    return xx - 2 * eta * N * xz + eta**2 * N * (zz + (N - 1) * zw), xz - eta * (zz + (N - 1) * zw), zz, zw
def listed():  # E x^2 one round after a state with any numbers, from the sets themselves: x = 1, z_i = 0 but z_1 = 1/2
    z, out = [Q(1, 2)] + [Q(0)] * (N - 1), Q(0)
    for i in range(N):
        out += q * (1 - eta * sum(Q(1) if j == i else v for j, v in enumerate(z))) ** 2
    xz, zz, zw = sum(z) / N, sum(v * v for v in z) / N, (sum(z) ** 2 - sum(v * v for v in z)) / (N * (N - 1))
    return out, step((Q(1), xz, zz, zw))[0]
show("eta <= 1/(2 L (tau-1))", 2 * L * (tau - 1) * eta, "<=", 1)
show("eta <= q^1.5/(8 L sqrt N), squared", (8 * L * eta) ** 2 * N, "<=", q**3)
show("eta <= q/(16 L sqrt(2 N)), squared", (16 * L * eta) ** 2 * 2 * N, "<=", q**2)
show("eta <= 1/(4 L N)", 4 * L * N * eta, "<=", 1)
show("moments of one round against all sets", *(lambda a, b: (a, "=", b))(*listed()))
m, spread, gradients, first = (Q(1),) * 4, Q(0), Q(0), None
for r in range(rounds):
    spread, gradients = spread + N * (m[0] - 2 * m[1] + m[2]), gradients + m[0]
    first = r + 1 if first is None and spread > 16 * eta**2 * N**2 / q**2 * gradients else first
    m = step(m)
show(f"sum over {rounds} rounds against the right side", spread, ">", 16 * eta**2 * N**2 / q**2 * gradients)
show("first number of rounds that violates the bound", first, "=", rounds)
print("VERDICT:", "(128) fails for many rounds" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
