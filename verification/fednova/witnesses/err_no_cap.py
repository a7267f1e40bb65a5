"""FedNova (NeurIPS 2020), Theorem 3 as Section 5 states it: eta = sqrt(m/(tau T)) and no other word on the step; (8) likewise.
m clients F_i = x^2/2, p = 1/m, tau = 1, exact gradients: gradient descent; exact fractions throughout."""
from fractions import Fraction as Q
from math import isqrt

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def fedavg(x, eta, m):  # x + sum_i p_i Delta_i with one local step of each client
    return x + sum(Q(1, m) * ((x - eta * x) - x) for _ in range(m))
L, sigma2, beta2, kappa2, tau, tau_eff, B, C, x0 = 1, 0, 1, 0, 1, 1, 0, 0, Q(1)  # vanilla: a_i = [1], w = p
for m, T, times in ((100, 16, 20), (10**4, 100, 500)):
    root, A = isqrt(m * tau * T), m * tau_eff * m * Q(1, m) ** 2
    eta, x, least = Q(m, root), x0, x0**2
    show(f"m={m}, T={T}: eta = {eta}, eta^2 taubar T against m", eta**2 * tau * T, "=", m)
    show("A3 at every x: sum_i w_i |grad F_i|^2 = beta^2 |grad F~|^2, at x=3", m * Q(1, m) * 3**2, "=", beta2 * 3**2 + kappa2)
    show("one round of all m clients from x0 = 1", fedavg(x0, eta, m), "=", (1 - eta) * x0)
    for _ in range(T):
        least, x = min(least, x**2), (1 - eta) * x
    rhs = 4 * (x0**2 / 2) * Q(tau, tau_eff) / root + 4 * L * A * sigma2 / Q(root)  # (8); its last two terms are 0
    show("(8): smallest |grad F~|^2 over t < T against the right side", least, ">", rhs)
    show("so many times", least / rhs, "=", times)
    show("times m/(2 eta), so no constants free of m and T repair (8)", least / rhs, "=", m / (2 * eta))
    show("Theorem 2: w = p, so (10) is twice (8); still exceeded", least, ">", 2 * rhs)
    show("Corollary 1 is (8) here", least, ">", 4 * (x0**2 / 2) / root)
    show("Theorem 3, (149): tau_eff = 1 in every round, w = p", least, "=", times * 4 * Q(tau, tau_eff) * (x0**2 / 2) / root)
    show("(152), which is (101), is what is missing: 12 (eta L)^2", 12 * (eta * L) ** 2, ">", 1)
print("VERDICT:", "Assumptions 1 to 3 hold; (149), (8), (10) and Corollary 1 fail at the prescribed step" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
