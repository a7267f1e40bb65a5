"""FedNova (NeurIPS 2020), Corollary 3 asks for "the same condition as Theorem 1"; its bound (182) needs more.
F_1, F_2 = x^2/2, -0.45 x^2; p = (1/2, 1/2); tau = 1; one draw per round (q = 1); tau_eff = 50; eta = 1/100; exact fractions."""
from fractions import Fraction as Q

h, p, eta, tau_eff, q, L, sigma2, B, C, T, x0, checks = (1, Q(-9, 10)), (Q(1, 2), Q(1, 2)), Q(1, 100), 50, 1, 1, 0, 0, 0, 400, Q(1), []
mean, beta2, kappa2 = sum(a * b for a, b in zip(p, h)), 362, 0
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {float(left):.6g} {op} {float(right):.6g}  [{checks[-1]}]")
def round_of(client, x):  # (153): x - tau_eff eta d_l, d_l = h_l x, one local step
    return x - tau_eff * eta * h[client] * x
show("F = 0.025 x^2 is convex, L = 1: largest |h_i|", max(abs(v) for v in h), "<=", L)
show("A3 is an equality: sum p_i h_i^2", sum(a * b * b for a, b in zip(p, h)), "=", beta2 * mean**2 + kappa2)
show("(101), (2 eta L max|a|_1)^2 (2 beta^2+1)", (2 * eta * L) ** 2 * (2 * beta2 + 1), "<=", 1)
show("(101), 2 eta L tau_eff", 2 * eta * L * tau_eff, "<=", 1)
show("missing: 6 tau_eff eta L (1 + beta^2/q)", 6 * tau_eff * eta * L * (1 + Q(beta2, q)), ">", Q(1, 2))
growth, second, least, total = sum(p[i] * round_of(i, Q(1)) ** 2 for i in (0, 1)), x0**2, None, Q(0)
show("E x^2 grows by the factor", growth, ">", 1)
for _ in range(T):
    square = mean**2 * second
    least, total, second = square if least is None else min(least, square), total + square, growth * second
rhs = 8 * (mean * x0**2 / 2) / (eta * tau_eff * T) + 8 * tau_eff * eta * L * (sigma2 + 3 * kappa2) / Q(q)  # B = C = 0
show("(182), T=400: smallest E|grad F|^2 against the right side", least, ">", rhs)
show("and the average", total / T, ">", rhs)
print("VERDICT:", "Theorem 1's conditions hold and (182) fails" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
