"""AsyncFedED, Theorem 2, (11), with a literally non-convex loss: F' = x on [-2, 2], sign(x) (4 - |x|) for 2 <= |x| <= 3 and sign(x)
beyond. It is 1-smooth with minimiser 0. One client, exact gradients, x_1 = 1, T = 2, eta_g = 1/(N K L); exact fractions."""
from fractions import Fraction as Q
from itertools import pairwise
from math import isqrt

checks = []
def show(text, left, op, right, digits=0):
    checks.append({"=": left == right, "<=": left <= right, "<": left < right, ">": left > right}[op])
    say = [f"{float(v):.{digits}f}" if digits else v for v in (left, right)]
    print(f"{text}:  {say[0]} {op} {say[1]}  [{checks[-1]}]")
def slope(x):
    size = abs(x)
    value = size if size <= 2 else 4 - size if size <= 3 else Q(1)
    return value if x >= 0 else -value
grid = [Q(j, 10) for j in range(-50, 51)]
show("largest |F'(u) - F'(v)|/|u - v| on a grid with all kinks", max(
    abs(slope(u) - slope(v)) / (v - u) for u, v in pairwise(grid)), "<=", 1)
show("not convex: F'(3) against F'(2)", slope(Q(3)), "<", slope(Q(2)))
def at_cap(K):
    return [Q(isqrt(10**24 // (6 * k * (2 * k + 1))), 10**12) for k in range(1, K + 1)]
for steps, quoted in (([Q(1, 5), Q(1, 8)], None), (at_cap(2), ".503479"), (at_cap(10), ".535458")):
    show(f"K = {len(steps)}: (T1)", max(6 * k * (2 * k + 1) * v**2 for k, v in enumerate(steps, 1)), "<=", 1, 9)
    eta_g, x = 1 / sum(steps), [Q(1)]
    y = x[0]
    for eta in steps:
        y = y - eta * slope(y)
    x.append(x[0] + eta_g * (y - x[0]))
    left = sum(slope(v) ** 2 for v in x) / 2
    right = 2 * Q(1, 2) / (eta_g * sum(steps) * 2)  # F(1) - F(0) = 1/2
    show("left side of (11) against the right one", left, ">", right, 6)
    if quoted:
        show("left side to its digits", round(left, 6), "=", Q(quoted), 6)
print("VERDICT:", "Theorem 2 as printed is false for a non-convex loss" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
