"""AsyncFedED, Theorem 2, (11): one client F = x^2/2 (L = 1), exact gradients, x_1 = 1, T = 2, eta_g = 1/(N K L).
One client alone is never stale, so that sigma_l = sigma_g = gamma = 0; exact fractions."""
from fractions import Fraction as Q
from math import isqrt

checks = []
def show(text, left, op, right, digits=0):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    say = [f"{float(v):.{digits}f}" if digits else v for v in (left, right)]
    print(f"{text}:  {say[0]} {op} {say[1]}  [{checks[-1]}]")
def at_cap(K):  # the largest steps that (T1) allows, rounded down to 12 digits
    return [Q(isqrt(10**24 // (6 * k * (2 * k + 1))), 10**12) for k in range(1, K + 1)]
def case(name, steps, quoted=None):
    print(name)
    T, x = 2, [Q(1)]
    show("(T1): largest 6 k (2k + 1) eta_k^2", max(6 * k * (2 * k + 1) * v**2 for k, v in enumerate(steps, 1)), "<=", 1, 12)
    S = sum(steps)  # N K
    eta_g = 1 / S
    show("(T2): eta_g N K L", eta_g * S, "<=", 1)
    for t in range(T):
        y = x[t]
        for eta in steps:  # (2)
            y = y - eta * y
        x.append(x[t] + eta_g * (y - x[t]))  # (5)
    left = sum(v**2 for v in x[:T]) / T
    right = 2 * (x[0] ** 2 / 2) / (eta_g * S * T)  # sigma_l = sigma_g = 0, whatever Theta > 0 is
    show("right side of (11)", right, "=", Q(1, 2))
    show("left side of (11) against it", left, ">", right, 6 if quoted else 0)
    if quoted:
        show("left side to its digits", round(left, 6), "=", Q(quoted), 6)
case("steps 1/5 and 1/8", [Q(1, 5), Q(1, 8)])
case("K = 2, steps at the cap", at_cap(2), ".503479")
case("K = 10, steps at the cap", at_cap(10), ".535458")
print("VERDICT:", "Theorem 2 as printed is false for K = 2 and K = 10" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
