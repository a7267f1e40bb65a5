"""FedNova (NeurIPS 2020), Theorem 1 as Section 4.2 states it: eta = sqrt(m/(taubar T)) and no condition (101).
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
    show("(101) is what is missing: 12 (eta L)^2", 12 * (eta * L) ** 2, ">", 1)
print("VERDICT:", "Assumptions 1 to 3 hold and (8), (10) and Corollary 1 fail" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
