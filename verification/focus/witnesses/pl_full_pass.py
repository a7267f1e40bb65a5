"""FOCUS (arXiv 2503.20117v3), Theorem 1 (24) with eta <= q^1.5/(8 L (tau-1)) added, after one full gradient pass: every z_i = x_0 = 1.
N = 12, f_i = x^2/2, one uniform client per round, tau = 1, eta = 1/1728. E Phi_11 > (1 - eta beta N)^10 E Phi_1 with
Phi_r = E F(x_r) - F* + (1 - 4 eta L^2) E B_{r-1}. Exact: by symmetry E x^2, E x z_1, E z_1^2, E z_1 z_2 are all that moves."""
from fractions import Fraction as Q

N, L, beta, tau, q, eta, checks = 12, Q(1), Q(1), 1, Q(1, 12), Q(1, 1728), []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    shown = [str(v) if Q(v).denominator < 10**9 else f"{float(v):.12f}" for v in (left, right)]
    print(f"{text}:  {shown[0]} {op} {shown[1]}  [{checks[-1]}]")
def one_round(xx, xz, zz, pair):  # one client's point becomes x, then x moves by eta times the sum s of the points
    xz1 = q * xx + (1 - q) * xz                               # E x z_i'
    zz1 = q * xx + (1 - q) * zz                               # E z_i'^2
    pair1 = 2 * q * xz + (1 - 2 * q) * pair                   # E z_i' z_j': one of the two was drawn, or none
    xs, zs, ss = N * xz1, zz1 + (N - 1) * pair1, N * zz1 + N * (N - 1) * pair1
    return xx - 2 * eta * xs + eta**2 * ss, xz1 - eta * zs, zz1, pair1
show("eta <= 3 q/(32 N)", 32 * N * eta, "<=", 3 * q)
show("eta <= q/(12 beta N)", 12 * beta * N * eta, "<=", q)
show("eta <= q/(16 L^2)", 16 * L**2 * eta, "<=", q)
show("eta <= q^1.5/(8 L sqrt N), squared", (8 * L * eta) ** 2 * N, "<=", q**3)
show("eta <= q^1.5/(8 L (tau-1)), squared", (8 * L * eta * (tau - 1)) ** 2, "<=", q**3)
rate, weight, state = 1 - eta * beta * N, 1 - 4 * eta * L**2, (Q(1),) * 4
show("the weight is not negative", 0, "<=", weight)
phi = []
for _ in range(11):
    B = N * (state[0] - 2 * state[1] + state[2])
    state = one_round(*state)
    phi.append(L * state[0] / 2 + weight * B)
show("E Phi_10 against (1 - eta beta N)^9 Phi_1", phi[9], "<=", rate**9 * phi[0])
show("E Phi_11 against (1 - eta beta N)^10 Phi_1", phi[10], ">", rate**10 * phi[0])
print("VERDICT:", "the potential of Theorem 1 under the PL condition does not contract" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
