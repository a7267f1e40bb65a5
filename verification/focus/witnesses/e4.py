"""FOCUS (arXiv 2503.20117v3), Theorem 1 (23) with Psi of Section 5: E|x_R - x*|^2 <= Psi_R, weight 1 - 8 eta tau L N.
N = 2, f_i = (x - c_i)^2/2, c = (1, -1), full participation, tau = 6, eta = 1/32, Algorithm 1's own start at x_0 = x* = 0."""
from fractions import Fraction as Q

c, N, tau, eta, L, mu, q, checks = (1, -1), 2, 6, Q(1, 32), 1, 1, Q(1, 2), []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    shown = [str(v) if Q(v).denominator < 10**6 else f"{float(v):.6f}" for v in (left, right)]
    print(f"{text}:  {shown[0]} {op} {shown[1]}  [{checks[-1]}]")
show("eta <= 3 mu/(27 N L^2)", eta, "<=", Q(3 * mu, 27 * N * L**2))
show("eta <= 1/(3L(tau-1))", eta, "<=", Q(1, 3 * L * (tau - 1)))
show("eta <= q^1.5/(8 L sqrt N), squared", (8 * L * eta) ** 2 * N, "<=", q**3)
weight = 1 - 8 * eta * tau * L * N
show("weight of the consensus error", weight, "=", -2)
x, y, g, z = Q(0), Q(0), [Q(0)] * N, [Q(0)] * N
for i in range(N):                           # round 0: both clients take part
    u, v = x, Q(0)
    for _ in range(tau):
        gradient = u - c[i]
        v, g[i], z[i] = v + gradient - g[i], gradient, u
        u = u - eta * v
    y = y + v
new = x - eta * y
show("|x_1 - x*|^2", new**2, "=", 0)
psi = new**2 + weight * sum((x - zi) ** 2 for zi in z)    # 1 xbar_{(r-1) tau + 1} - X_{r tau} at r = 1: x_0 and z_i
show("|x_1 - x*|^2 against Psi_1", new**2, ">", psi)
start = Q(0) ** 2 + weight * sum((Q(0) - ci) ** 2 for ci in c)
show("equal indices at the start: |x_0 - x*|^2 against |x_0 - x*|^2 + weight * sum |x_0 - z_i|^2", Q(0), ">", start)
print("VERDICT:", "the hypotheses hold, Psi is negative and bounds nothing" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
