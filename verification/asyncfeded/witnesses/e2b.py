"""AsyncFedED, Theorem 2, (11), when only one client reports: f_{1,2} = (x -+ 1)^2/2 (L = 1, sigma_g = 1), K = 1, eta = 1/sqrt(18)
rounded down, eta_g = 1/100, x_1 = x_* = 0, client 1 alone arrives in the first 10^4 iterations; it is never stale. No noise."""
from decimal import Decimal, getcontext
from fractions import Fraction as Q
from math import isqrt

checks = []
def show(text, left, op, right, digits=0):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    say = [f"{float(v):.{digits}f}" if digits else v for v in (left, right)]
    print(f"{text}:  {say[0]} {op} {say[1]}  [{checks[-1]}]")
getcontext().prec = 60
eta, eta_g, T = Q(isqrt(10**24 // 18), 10**12), Q(1, 100), 10**4
s = eta * eta_g
show("(T1): 18 eta^2", 18 * eta**2, "<=", 1, 9)
show("(T2): eta_g eta", s, "<=", 1, 6)
d = Decimal(s.numerator) / Decimal(s.denominator)
x, total = Decimal(0), Decimal(0)
for _ in range(T):  # F' = x, x_{t+1} = x_t - s (x_t - 1)
    total, x = total + x * x, x - d * (x - 1)
left = total / T
r = 1 - d
closed = 1 - 2 * (1 - r**T) / (d * T) + (1 - r ** (2 * T)) / ((1 - r * r) * T)
show("arrival by arrival against the closed form, difference", abs(left - closed), "<=", Decimal(10) ** -40)
show("left side of (11) to its digits", round(left, 6), "=", Decimal(".936385"), 6)
floor = eta_g / eta * (3 * Q(Decimal(2).ln().next_plus()) + 4) / 18  # Theta = 1, F(x_1) = F(x_*)
show("right side of (11) to its digits", round(floor, 7), "=", Q(".0143294"), 7)
show("left side against the right side", Q(left), ">", floor, 6)
print("VERDICT:", "Theorem 2 needs clients that arrive equally often" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
