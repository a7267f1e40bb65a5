"""AsyncFedED, Appendix A.4, (34f) and (35) without (C1): the printed coefficient Gamma^2 ln(K+1)/(4 K L^2) of E|Delta|^2 is too small.
One client, F = -L x^2/2 on [-8, 8] and a parabola beyond (L-smooth, bounded below), L = K = 100, no noise, x_{t-tau} = 1, x_t = 0."""
from fractions import Fraction as Q

L, K, checks = 100, 100, []
eta = [Q(1, L * (4 * k + 1)) for k in range(1, K + 1)]
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, "<": left < right}[op])
    print(f"{text}:  {float(left):.7g} {op} {float(right):.7g}  [{checks[-1]}]")
def grad(x):
    return -L * x if abs(x) <= 8 else L * (x - 16) if x > 0 else L * (x + 16)
show("(T1): the largest 6k(2k+1) L^2 eta_k^2", max(6 * k * (2 * k + 1) * (L * e) ** 2 for k, e in enumerate(eta, 1)), "<=", 1)
base, now = Q(1), Q(0)
y = base
for e in eta:
    y -= e * grad(y)
delta = y - base
product = Q(1)
for e in eta:
    product *= 1 + L * e
show("Delta, against prod (1 + L eta_k) - 1", delta, "=", product - 1)
show("local models stay where F is -L x^2/2: y_K", y, "<=", 8)
N, M, Gamma2 = sum(eta) / K, sum(e * e for e in eta) / K, (now - base) ** 2 / delta**2
show("gradient at x_t", grad(now), "=", 0)
show("A4 with the least Gamma: |x_t - x_{t-tau}|^2", (now - base) ** 2, "<=", Gamma2 * delta**2)
log = Q(47, 10)   # above ln 101: 1 + x + .. + x^9/9! <= e^x
term = total = Q(1)
for j in range(1, 30):
    term *= log / j
    total += term
show("101, against e^(47/10) from its series", 101, "<=", total)
T2 = (N * grad(now) + delta / K) ** 2
printed = (Gamma2 * log / (4 * K * L**2) + 3 * N**2 * L**2 * Gamma2) * delta**2
right = (Gamma2 * log / (4 * K) + 3 * N**2 * L**2 * Gamma2) * delta**2
show("(35) as printed, its right side against T2", printed, "<", T2)
show("(35) with Gamma^2 ln(K+1)/(4K)", T2, "<=", right)
show("(C1) is not met: 3 against Gamma^2 (12 K^2 L^2 M + K ln(K+1)), ln 101 > 4", 3, "<", Gamma2 * (12 * K**2 * L**2 * M + K * 4))
print("VERDICT:", "(35) as printed needs (C1) or L <= 1" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
