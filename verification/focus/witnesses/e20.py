"""FOCUS (arXiv 2503.20117v3), Lemma 6 with sigma = 0: N = 16 clients f_i = x^2/2, one uniform client a round (q = 1/16), tau = 1,
eta just below q^1.5/(4 L sqrt(6N)). Start x_0 = 1, g_i = 0; past: three round-robin passes. Exact fractions."""
from fractions import Fraction as Q
from math import isqrt

N, L, tau, q, checks = 16, 1, 1, Q(1, 16), []
eta = q * Q(isqrt(10**18 // (16 * 6 * 16)), 10**9) / 4
def show(text, left, op, right):
    checks.append({"<=": left <= right, "=": left == right, ">": left > right}[op])
    print(f"{text}:  {float(left):.10g} {op} {float(right):.10g}  [{checks[-1]}]")
show("eta^2 against q^3/(96 L^2 N)", eta**2, "<=", q**3 / (96 * L**2 * N))
show("eta^2 128 L^2 (tau-1)^2 against q^3", eta**2 * 128 * L**2 * (tau - 1) ** 2, "<=", q**3)
show("no empty round: sum of q_i", N * q, "=", 1)
def one_round(x, g, y, i):  # Algorithm 2 for tau = 1, S = {i}, no noise
    g, v = list(g), x - g[i]
    g[i] = x
    y = y + v
    return x - eta * y, g, y
x, g, y = Q(1), [Q(0)] * N, Q(0)
for _ in range(3):
    for i in range(N):
        x, g, y = one_round(x, g, y, i)
B_before = sum((x - z) ** 2 for z in g)  # f_i' = identity: g_i is the point itself
after = [one_round(x, g, y, i) for i in range(N)]
B = sum(sum((u - z) ** 2 for z in m) for u, m, _ in after) / N
gradient = sum(u**2 for u, _, _ in after) / N
row0, row0_before = sum(w**2 for _, _, w in after) / N * eta**2, eta**2 * y**2
bound = (1 - q / 3) * B_before + 8 * eta**2 * N**2 / q * gradient
show("client rows: E B_r against the printed right side", B, ">", bound)
show("with row 0 (the server's own move)", B + row0, ">", bound + (1 - q / 3) * row0_before)
print(f"ratio {float(B / bound):.4f} (client rows)")
print("VERDICT:", "Lemma 6 fails" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
