"""FOCUS (arXiv 2503.20117v3), Theorem 1 (23) with the weight of (110), clients that are not quadratic: E Psi_2 <= (1 - eta mu N/2) Psi_1
from a state. N = 16 equal clients f = x^2/2 + Huber(x/10), one uniform client per round, tau = 1, eta = 25/51712."""
from fractions import Fraction as Q

N, reg, delta, tau, q, eta, far, checks = 16, Q(1), Q(1, 10), 1, Q(1, 16), Q(25, 51712), "23/20", []
L, mu = reg + Q(1, 100), reg
x, z = Q(1), [Q(far)] * N
def grad(v):  # f = reg x^2/2 + Huber(x/10) with width 1/10: linear growth beyond |x| = 1, and not quadratic
    u = v / 10
    return reg * v + (u if abs(u) <= delta else (delta if u > 0 else -delta)) / 10
def value(v):
    u = abs(v / 10)
    return reg * v * v / 2 + (u * u / 2 if u <= delta else delta * u - delta * delta / 2)
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    shown = [str(v) if Q(v).denominator < 10**9 else f"{float(v):.12f}" for v in (left, right)]
    print(f"{text}:  {shown[0]} {op} {shown[1]}  [{checks[-1]}]")
def two_rounds(measure):  # every pair (i, j) of clients that take part; x the server model, z_i the points of the stored gradients
    A1 = A2 = B1 = Q(0)
    for i in range(N):
        new = [x if k == i else v for k, v in enumerate(z)]
        ahead = x - eta * sum(grad(v) for v in new)
        A1, B1 = A1 + q * measure(ahead), B1 + q * sum((ahead - v) ** 2 for v in new)
        for j in range(N):
            A2 += q * q * measure(ahead - eta * sum(grad(ahead if k == j else v) for k, v in enumerate(new)))
    return A1, A2, sum((x - v) ** 2 for v in z), B1
show("eta <= mu/(9 N L^2)", 9 * N * L**2 * eta, "<=", mu)
show("eta <= 1/(3 L (tau-1))", 3 * L * (tau - 1) * eta, "<=", 1)
show("eta <= q^1.5/(8 L sqrt N), squared", (8 * L * eta) ** 2 * N, "<=", q**3)
rate, weight = 1 - eta * mu * N / 2, 1 - 8 * eta * L**2 * N / mu
A1, A2, B0, B1 = two_rounds(lambda v: v * v)
show("the weight is not negative", 0, "<=", weight)
show("E Psi_2 against (1 - eta mu N/2) Psi_1", A2 + weight * B1, ">", rate * (A1 + weight * B0))
print("VERDICT:", "the potential of Theorem 1 does not contract" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
