"""FedNova (NeurIPS 2020), Corollary 3 asks for "the same condition as Theorem 1"; the proof of (182) uses one more.
F_1, F_2 = x^2/2, -0.45 x^2; p = (1/2, 1/2); tau = 1; one draw per round (q = 1); tau_eff = 50; eta = 1/100; exact fractions."""
from fractions import Fraction as Q

h, p, eta, tau_eff, q, L, sigma2, B, C, T, x0, checks = (1, Q(-9, 10)), (Q(1, 2), Q(1, 2)), Q(1, 100), 50, 1, 1, 0, 0, 0, 10**4, Q(1), []
mean, beta2, kappa2 = sum(a * b for a, b in zip(p, h)), 362, 0
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {float(left):.6g} {op} {float(right):.6g}  [{checks[-1]}]")
def round_of(client, x):  # (153): x - tau_eff eta d_l, d_l = h_l x, one local step
    return x - tau_eff * eta * h[client] * x
show("eta = sqrt(q/(tau T)): eta^2 T", eta**2 * T, "=", q)
show("F = 0.025 x^2 is convex, L = 1: largest |h_i|", max(abs(v) for v in h), "<=", L)
show("A3 is an equality: sum p_i h_i^2", sum(a * b * b for a, b in zip(p, h)), "=", beta2 * mean**2 + kappa2)
show("(101), (2 eta L max|a|_1)^2 (2 beta^2+1)", (2 * eta * L) ** 2 * (2 * beta2 + 1), "<=", 1)
show("(101), 2 eta L tau_eff", 2 * eta * L * tau_eff, "<=", 1)
show("before (175), not met: 6 tau_eff eta L (1 + beta^2/q)", 6 * tau_eff * eta * L * (1 + Q(beta2, q)), ">", Q(1, 2))
growth = sum(p[i] * round_of(i, Q(1)) ** 2 for i in (0, 1))
show("E x^2 grows by the factor", growth, ">", 1)
least = mean**2 * x0**2  # so the start has the smallest E|grad F|^2
rhs = 8 * (mean * x0**2 / 2) / (eta * tau_eff * T) + 8 * tau_eff * eta * L * (sigma2 + 3 * kappa2) / Q(q)  # B = C = 0
show("(182), T=10^4: smallest E|grad F|^2 against the right side", least, ">", rhs)
print("VERDICT:", "(101) holds and (182) fails: the condition before (175) is used" if all(checks) else "the instance does not stand")
raise SystemExit(not all(checks))
