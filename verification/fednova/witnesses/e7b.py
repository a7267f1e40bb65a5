"""FedNova (NeurIPS 2020), Corollary 2: 'a non-zero alpha minimises the FedProx bound'. Here alpha = 0 does.
Four clients |x - (e_i, 0)|^2/2 in the plane, p = 1/4, 16 steps each, exact gradients, exact fractions;
T = 15^6 and eta = sqrt(m/(taubar T)) = 1/6750. The bound is (97) with the exact tau_eff and C, for every alpha."""
from fractions import Fraction as Q
from math import comb

m, tau, T, eta, L, beta2, e, x0, checks = 4, 16, 15**6, Q(1, 6750), 1, 1, (1, 1, -1, -1), (1, 1), []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, "<": left < right}[op])
    a, b = (str(z) if Q(z).denominator < 10**12 else f"{float(z):.9g}" for z in (left, right))
    print(f"{text}:  {a} {op} {b}  [{checks[-1]}]")
def times(f, g):  # polynomials in alpha as lists of coefficients
    return [sum(f[j] * g[k - j] for j in range(len(f)) if 0 <= k - j < len(g)) for k in range(len(f) + len(g) - 1)]
def at(f, alpha):
    return sum(c * alpha**k for k, c in enumerate(f))
s = [(-1) ** k * comb(tau, k + 1) for k in range(tau)]  # |a|_1 = (1 - (1 - alpha)^tau)/alpha, (127)
kappa2, gap = Q(sum(v * v for v in e), m), Q(x0[0] ** 2 + x0[1] ** 2, 2)  # F~ = |x|^2/2 + 1/2
start, drift = 4 * gap / (eta * T), 12 * (eta * L) ** 2 * kappa2  # equal steps: w = p, tau_eff = |a|_1, (5)-(6)
def bound(alpha):  # (97) with sigma = 0 and C = |a|_1 (|a|_1 - 1), (132)
    return start / at(s, alpha) + drift * at(s, alpha) * (at(s, alpha) - 1)
print(f"m={m} tau={tau} T={T} eta={eta} L={L} sigma=0 kappa^2={kappa2} gap={gap}; a_k = (1-alpha)^(15-k) >= 0")
for x in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (-1, 3)):  # six points decide a quadratic in the plane
    left = sum(Q((x[0] - v) ** 2 + x[1] ** 2, m) for v in e)
    show(f"A3 at x={x}", left, "=", beta2 * (x[0] ** 2 + x[1] ** 2) + kappa2)
show("prescribed step: eta^2 taubar T against m", eta**2 * tau * T, "=", m)
show("(101) for every alpha, (2 eta L tau)^2 (2 beta^2+1)", (2 * eta * L * tau) ** 2 * (2 * beta2 + 1), "<=", 1)
show("(101) for every alpha, 2 eta L tau_eff", 2 * eta * L * tau, "<=", 1)
show("regime of the final rate, (m taubar)^3 against T", (m * tau) ** 3, "<=", T)
show("(140), alpha = 1/30: alpha^6 taubar^3 T against m^3", Q(1, 30) ** 6 * tau**3 * T, "=", m**3)
show("(97) at alpha = 0 against (97) at alpha = 1/30", bound(0), "<", bound(Q(1, 30)))
cubic = times(times(s, s), [s[0] - 1, *s[1:]])  # s (bound(alpha) - bound(0)) = start + drift s^2 (s-1) - bound(0) s
N = [start * (k == 0) + drift * c - bound(0) * (s[k] if k < tau else 0) for k, c in enumerate(cubic)]
show("the difference vanishes at alpha = 0", N.pop(0), "=", 0)
n = len(N) - 1  # divided by alpha, in Bernstein form: positive coefficients prove bound(alpha) > bound(0) on (0, 1]
smallest = min(sum(Q(comb(j, k), comb(n, k)) * N[k] for k in range(j + 1)) for j in range(n + 1))
show(f"smallest of {n + 1} Bernstein coefficients of |a|_1 (bound(alpha) - bound(0))/alpha", 0, "<", smallest)
print("VERDICT:", "alpha = 0 minimises (97) on [0, 1]" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
