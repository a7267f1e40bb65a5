"""FOCUS (arXiv 2503.20117v3), Theorem 1 (23) with the weight of the appendix (110): E Psi_2 <= (1 - eta mu N/2) Psi_1 from a state,
Psi_r = E|x_r - x*|^2 + (1 - 8 eta L^2 N/mu) E B_{r-1}. N = 12, f_i = x^2/2, one uniform client per round, tau = 1, eta = 1/1152."""
from fractions import Fraction as Q

N, L, mu, h, tau, q, eta, checks = 12, 1, 1, 1, 1, Q(1, 12), Q(1, 1152), []
x, z = Q(1), [Q(23, 20)] * N
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
show("eta <= mu/(9 N L^2)", 9 * N * L**2 * eta, "<=", mu)
show("eta <= 1/(3 L (tau-1))", 3 * L * (tau - 1) * eta, "<=", 1)
show("eta <= q^1.5/(8 L sqrt N), squared", (8 * L * eta) ** 2 * N, "<=", q**3)
rate, weight = 1 - eta * mu * N / 2, 1 - 8 * eta * L**2 * N / mu
A1, A2, B0, B1 = two_rounds()
show("the weight is not negative", 0, "<=", weight)
show("E Psi_2 against (1 - eta mu N/2) Psi_1", A2 + weight * B1, ">", rate * (A1 + weight * B0))
print("VERDICT:", "the potential of Theorem 1 does not contract" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
