"""AsyncFedED, Theorem 2, (11), without equal arrival rates: f_{1,2} = (x -+ 1)^2/2 (L = 1, sigma_g = 1), K = 1, eta = 1/sqrt(18)
rounded down, eta_g = 1/100, no noise, no staleness; client 1 arrives with chance 99/100, independently. T = 10^6, exact."""
from decimal import Decimal, getcontext
from fractions import Fraction as Q
from math import isqrt

checks = []
def show(text, left, op, right, digits=0):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    say = [f"{float(v):.{digits}f}" if digits else v for v in (left, right)]
    print(f"{text}:  {say[0]} {op} {say[1]}  [{checks[-1]}]")
eta, eta_g, p, T = Q(isqrt(10**24 // 18), 10**12), Q(1, 100), Q(99, 100), 10**6
s = eta * eta_g
show("(T1): 18 eta^2", 18 * eta**2, "<=", 1, 9)
show("(T2): eta_g eta", s, "<=", 1, 6)
show("A3: largest |f_i' - F'|^2", max(Q(1), Q(-1)) ** 2, "=", 1)
mean, second = 2 * p - 1, Q(1)  # x <- (1 - s) x + s b, b = +1 or -1: fixed points of E x and E x^2, F' = x
second = (2 * s * (1 - s) * mean * mean + s * s) / (1 - (1 - s) ** 2)
show("E x stays", (1 - s) * mean + s * (p - (1 - p)), "=", mean)
show("E x^2 stays", (1 - s) ** 2 * second + 2 * s * (1 - s) * mean * mean + s * s, "=", second, 6)
show("stationary E|F'|^2 to its digits", round(second, 6), "=", Q(".960447"), 6)
getcontext().prec = 40
ln2 = Q(Decimal(2).ln().next_plus())  # Theta = 1: no staleness
floor = eta_g / eta * (3 * ln2 + 4) / 18
show("floor of (11) to its digits", round(floor, 7), "=", Q(".0143294"), 7)
show("stationary value against the floor", second, ">", floor, 6)
bound = 2 * mean**2 / 2 / (s * T) + floor  # from x_1 = E x: E|F'(x_t)|^2 >= (E x_t)^2 = mean^2 for every t
show("T = 10^6 from x_1 = .98: least left side against the right side", mean**2, ">", bound, 6)
print("VERDICT:", "Theorem 2 needs clients that arrive equally often" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
