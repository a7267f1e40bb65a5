"""AsyncFedED, Appendix A.4, (33c): E T2 is not E T21 plus the summed squared noise. One client f = -x^2/2 (L = 1), x_t = x_{t-tau} = 1,
K = 2 local steps 1/5 and 1/8, noise +1 or -1 of equal chance, drawn anew at each step; exact fractions."""
from fractions import Fraction as Q
from itertools import product

L, K, x, eta, checks = 1, 2, Q(1), [Q(1, 5), Q(1, 8)], []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, "<": left < right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def grad(y):
    return -L * y
for k, e in enumerate(eta, 1):
    show(f"(T1): 6k(2k+1) L^2 eta_{k}^2", 6 * k * (2 * k + 1) * L**2 * e**2, "<=", 1)
N, M = sum(eta) / K, sum(e * e for e in eta) / K
T2 = T21 = noise = later = Q(0)
for signs in product((1, -1), repeat=K):
    y, stochastic, exact = x, Q(0), Q(0)
    for e, s in zip(eta, signs):
        g = grad(y)
        stochastic, exact, y = stochastic + e * (g + s) / K, exact + e * g / K, y - e * (g + s)
    T2 += (N * grad(x) - stochastic) ** 2 / 2**K
    T21 += (N * grad(x) - exact) ** 2 / 2**K
    noise += (exact - stochastic) ** 2 / 2**K
    later += grad(x - eta[0] * (grad(x) + signs[0])) * signs[0] / 2**K
show("mean of a sign", sum((1, -1)), "=", 0)
show("E T21", T21, "=", Q(1, 3200))
show("E|(1/K) sum eta_k (grad f - g)|^2", noise, "=", M / K)
show("(33c), right side against left side", T21 + noise, "<", T2)
show("what is missing, (2/K^2) eta_1 eta_2 E<grad f(y_1), n_1>", T2 - T21 - noise, "=", 2 * eta[0] * eta[1] * later / K**2)
show("which is eta_1^2 eta_2/2", T2 - T21 - noise, "=", eta[0] ** 2 * eta[1] / 2)
show("(33d) itself", T2, "<=", T21 + M)
print("VERDICT:", "(33c) is no equality; (33d) is not touched" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
