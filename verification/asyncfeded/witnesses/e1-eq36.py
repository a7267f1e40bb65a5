"""AsyncFedED, (36), the one-step form of Theorem 2: one client F = x^2/2 (L = 1), exact gradients, x_t = 1, eta_g = 1/(N K L).
Its right side is -1/2 = -F(x_t), so that F(x_{t+1}) would have to be 0; exact fractions."""
from fractions import Fraction as Q
from math import isqrt

checks = []
def show(text, left, op, right, digits=0):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    say = [f"{float(v):.{digits}f}" if digits else v for v in (left, right)]
    print(f"{text}:  {say[0]} {op} {say[1]}  [{checks[-1]}]")
def at_cap(K):
    return [Q(isqrt(10**24 // (6 * k * (2 * k + 1))), 10**12) for k in range(1, K + 1)]
for name, steps in (("steps 1/5 and 1/8", [Q(1, 5), Q(1, 8)]), ("K = 2 at the cap", at_cap(2)), ("K = 10 at the cap", at_cap(10))):
    print(name)
    show("(T1)", max(6 * k * (2 * k + 1) * v**2 for k, v in enumerate(steps, 1)), "<=", 1, 9)
    S = sum(steps)
    eta_g, x = 1 / S, Q(1)
    y = x
    for eta in steps:
        y = y - eta * y
    after = x + eta_g * (y - x)
    show("x_{t+1} is not the minimiser", after**2, ">", 0, 9)
    right = -S * eta_g / 2 * x**2  # sigma_l = sigma_g = 0
    show("right side of (36)", right, "=", Q(-1, 2))
    show("F(x_{t+1}) - F(x_t) against it", after**2 / 2 - x**2 / 2, ">", right, 9)
print("VERDICT:", "(36) as printed is false" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
