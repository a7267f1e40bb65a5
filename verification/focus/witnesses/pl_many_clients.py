"""FOCUS (arXiv 2503.20117v3), Theorem 1 (24) with eta <= q^1.5/(8 L (tau-1)) added: E Phi_2 <= (1 - eta beta N) Phi_1 from a state,
Phi_r = E F(x_r) - F* + (1 - 4 eta L^2) E B_{r-1}. N = 6, f_i = 4 x^2/9, one uniform client per round, tau = 1, eta = 1/384."""
from fractions import Fraction as Q

N, h, tau, q, eta, checks = 6, Q(8, 9), 1, Q(1, 6), Q(1, 384), []
L, beta, x, z = h, h, Q(1), [Q(11, 10)] * N
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    shown = [str(v) if Q(v).denominator < 10**9 else f"{float(v):.12f}" for v in (left, right)]
    print(f"{text}:  {shown[0]} {op} {shown[1]}  [{checks[-1]}]")
def two_rounds():  # every pair (i, j) of clients that take part; x the server model, z_i the points of the stored gradients h z_i
    A1 = A2 = B1 = Q(0)
    for i in range(N):
        new = [x if k == i else v for k, v in enumerate(z)]
        ahead = x - eta * h * sum(new)
        A1, B1 = A1 + q * ahead**2, B1 + q * sum((ahead - v) ** 2 for v in new)
        for j in range(N):
            A2 += q * q * (ahead - eta * h * sum(ahead if k == j else v for k, v in enumerate(new))) ** 2
    return A1, A2, sum((x - v) ** 2 for v in z), B1
show("eta <= 3 q/(32 N)", 32 * N * eta, "<=", 3 * q)
show("eta <= q/(12 beta N)", 12 * beta * N * eta, "<=", q)
show("eta <= q/(16 L^2)", 16 * L**2 * eta, "<=", q)
show("eta <= q^1.5/(8 L sqrt N), squared", (8 * L * eta) ** 2 * N, "<=", q**3)
show("eta <= q^1.5/(8 L (tau-1)), squared", (8 * L * eta * (tau - 1)) ** 2, "<=", q**3)
rate, weight = 1 - eta * beta * N, 1 - 4 * eta * L**2
A1, A2, B0, B1 = two_rounds()
show("the weight is not negative", 0, "<=", weight)
show("E Phi_2 against (1 - eta beta N) Phi_1", h * A2 / 2 + weight * B1, ">", rate * (h * A1 / 2 + weight * B0))
print("VERDICT:", "the potential of Theorem 1 under the PL condition does not contract" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
