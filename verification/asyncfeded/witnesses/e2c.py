"""AsyncFedED, Theorem 2, (11): two clients drawn uniformly and independently, no staleness, no noise. f_i' = a_i (clip(x, -10, 1) - b_i)
with a = (1, 1/10), b = (1, -10): L = 1, sigma_g^2 = 30.25; K = 10 steps at the cap, eta_g = 10^-6, T = 10^8. Exact fractions."""
from decimal import Decimal, getcontext
from fractions import Fraction as Q
from math import isqrt

checks = []
def show(text, left, op, right, digits=0):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    say = [f"{float(v):.{digits}f}" if digits else v for v in (left, right)]
    print(f"{text}:  {say[0]} {op} {say[1]}  [{checks[-1]}]")
getcontext().prec = 40
K, g, T, a, b = 10, Q(1, 10**6), 10**8, (Q(1), Q(1, 10)), (1, -10)
steps = [Q(isqrt(10**24 // (6 * k * (2 * k + 1))), 10**12) for k in range(1, K + 1)]
S = sum(steps)
def slope(i, x):
    return a[i] * (max(Q(-10), min(Q(1), x)) - b[i])
def update(i, x):
    y = x
    for eta in steps:
        y = y - eta * slope(i, y)
    return y - x
show("(T1)", max(6 * k * (2 * k + 1) * v**2 for k, v in enumerate(steps, 1)), "<=", 1, 9)
show("(T2)", g * S, "<=", 1, 9)
show("A3: |f_i' - F'|^2 is largest at a kink", max(((slope(0, Q(x)) - slope(1, Q(x))) / 2) ** 2 for x in (-10, 1)), "=", Q(121, 4))
q = [update(i, Q(0)) / b[i] for i in (0, 1)]  # in [-10, 1] a round moves x by -q_i (x - b_i), and x stays there as b_i is
show("updates are straight", max(abs(update(i, Q(x)) + q[i] * (x - b[i])) for i in (0, 1) for x in (-10, -4, 1)), "=", 0)
rest = (q[0] * b[0] + q[1] * b[1]) / (q[0] + q[1])  # E x_t = rest for every t if x_1 = rest
show("mean update there", sum(update(i, rest) for i in (0, 1)), "=", 0)
F1 = Q(11, 20) * rest  # F' = .55 x there, x_* = 0
var = g * g * sum((q[i] * (rest - b[i])) ** 2 for i in (0, 1)) / 2 / (1 - sum((1 - g * v) ** 2 for v in q) / 2)
show("stationary E|F'|^2 to its digits", round(F1**2 + Q(11, 20) ** 2 * var, 7), "=", Q(".0242609"), 7)
floor = g / (S / K) * (3 * Q(Decimal(11).ln().next_plus()) + 4 * K) / 18 * Q(121, 4)  # Theta = 1
show("floor of (11) to its digits", round(floor, 7), "=", Q(".0010471"), 7)
right = 2 * Q(11, 40) * rest**2 / (g * S * T) + floor
show("left side, at least (E F'(x_t))^2 at every t, against the right side", F1**2, ">", right, 6)
print("VERDICT:", "Theorem 2 as printed is false for uniformly drawn clients" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
