"""FOCUS (arXiv 2503.20117v3), Theorem 4 (26) without noise: Gamma_R <= (1 - eta mu N/2)^(R-1) Gamma_1 with
Gamma_r = E|x_r - x*|^2 + (1 - 16 eta L^2 N/mu) E B_{r-1}. N = 64, f_i = x^2/2, one uniform client per round, tau = 1, one full
gradient pass (z_i = x_0 = 1), R = 122, the largest step: 2 q/(3 N (16 L^2/mu + mu/2)) = 1/101376."""
from fractions import Fraction as Q

N, L, mu, tau, q, eta, rounds, checks = 64, 1, 1, 1, Q(1, 64), Q(1, 101376), 122, []
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
show("eta <= 2 q/(3 N (16 L^2/mu + mu/2))", eta * 3 * N * (16 * L**2 / mu + Q(mu, 2)), "<=", 2 * q)
show("eta <= q^1.5/(4 L sqrt(6 N)), squared", (4 * L * eta) ** 2 * 6 * N, "<=", q**3)
show("eta <= q^1.5/(8 sqrt 2 L (tau-1)), squared", (8 * L * eta * (tau - 1)) ** 2 * 2, "<=", q**3)
show("eta <= mu/(128 (tau-1)^2 L^2 N)", 128 * (tau - 1) ** 2 * L**2 * N * eta, "<=", mu)
show("moments of one round against all sets", *(lambda a, b: (a, "=", b))(*listed()))
rate, weight, m, gamma, spread = 1 - eta * mu * N / 2, 1 - 16 * eta * L**2 * N / mu, (Q(1),) * 4, [None], Q(0)
for _ in range(rounds):
    spread, m = N * (m[0] - 2 * m[1] + m[2]), step(m)
    gamma.append(m[0] + weight * spread)
show("the weight is not negative", 0, "<=", weight)
show(f"Gamma_{rounds} against the right side", gamma[rounds], ">", rate ** (rounds - 1) * gamma[1])
show("and from Gamma_0 = E|x_0 - x*|^2", gamma[rounds], ">", rate**rounds)
print("VERDICT:", "the potential of Theorem 4 does not contract" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
