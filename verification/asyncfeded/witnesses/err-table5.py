"""AsyncFedED, Table 5: E(x_T) does not tend to x_*. Two clients drawn uniformly and independently, no staleness, no noise,
f_i' = a_i (clip(x, -10, 1) - b_i), a = (1, 1/10), b = (1, -10), K = 10 steps at the cap of (T1), L = 1. Exact fractions."""
from fractions import Fraction as Q
from math import isqrt

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, "<": left < right}[op])
    print(f"{text}:  {float(left):.9g} {op} {float(right):.9g}  [{checks[-1]}]")
K, a, b = 10, (Q(1), Q(1, 10)), (1, -10)
steps = [Q(isqrt(10**24 // (6 * k * (2 * k + 1))), 10**12) for k in range(1, K + 1)]
def slope(i, x):
    return a[i] * (max(Q(-10), min(Q(1), x)) - b[i])
def update(i, x):
    y = x
    for eta in steps:
        y = y - eta * slope(i, y)
    return y - x
cap = 1 / sum(steps)
show("(T1)", max(6 * k * (2 * k + 1) * v**2 for k, v in enumerate(steps, 1)), "<=", 1)
show("A3: |f_i' - F'|^2 is largest at a kink", max(((slope(0, Q(x)) - slope(1, Q(x))) / 2) ** 2 for x in (-10, 1)), "=", Q(121, 4))
show("F'(0), F increases, so x_* = 0", slope(0, Q(0)) + slope(1, Q(0)), "=", 0)
q = [update(i, Q(0)) / b[i] for i in (0, 1)]
off = max(abs(update(i, Q(x)) + q[i] * (x - b[i])) for i in (0, 1) for x in (-10, -4, 1))
show("updates are -q_i (x - b_i) on [-10, 1]: farthest", off, "=", 0)
show("no model leaves [-10, 1], as q_i eta_g", max(q) * cap, "<=", 1)
rest = (q[0] * b[0] + q[1] * b[1]) / sum(q)
show("the point to its digits", abs(rest + Q("0.283197")), "<", Q(1, 2 * 10**6))
show("mean update there, for every eta_g", sum(update(i, rest) for i in (0, 1)), "=", 0)
for g in (Q(1, 10**6), Q(1, 2), cap):   # eta_g
    for start in (rest, Q(0), Q(-10)):
        ends = [start]
        for _ in range(3):   # all draws
            ends = [x + g * update(i, x) for x in ends for i in (0, 1)]
        told = rest + (1 - g * sum(q) / 2) ** 3 * (start - rest)
        show(f"eta_g = {float(g):.3g}, x_1 = {float(start):.3g}: E x_4", sum(ends) / 8, "=", told)
show("factor of an arrival at the cap of (T2): the limit is that point", abs(1 - cap * sum(q) / 2), "<", 1)
print("VERDICT:", "E x_T tends to -.283197 and x_* = 0" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
