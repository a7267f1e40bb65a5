"""AsyncFedED, (11) at K = 1: 640 clients (x -+ 1)^2/2, each arrives once, in the order 160 of +1, 320 of -1, 160 of +1.
L = 1, sigma_g = 1, sigma_l = 0, eta_1 = 47/200, eta_g = 1/200, x_1 = x_* = 0: equally frequent arrivals, but no independent ones."""
from fractions import Fraction as Q

m, eta, g, checks = 640, Q(47, 200), Q(1, 200), []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, "<": left < right}[op])
    print(f"{text}:  {float(left):.7g} {op} {float(right):.7g}  [{checks[-1]}]")
b = [1] * 160 + [-1] * 320 + [1] * 160
show("x_* = 0: the mean of the minimisers", sum(b), "=", 0)
show("A3: |f_i' - F'| at every x", max(abs(v) for v in b), "<=", 1)
show("(T1): 18 eta^2", 18 * eta**2, "<=", 1)
show("(T2): eta_g N K L", g * eta, "<=", 1)
x, base, total, Gamma2 = Q(0), Q(0), Q(0), Q(0)  # each client still has x_1 when it arrives
for v in b:
    total += x * x
    delta = -eta * (base - v)
    Gamma2 = max(Gamma2, ((x - base) / delta) ** 2)
    x += g * delta
show("A4: the largest gamma^2 of the run", Gamma2, "=", Q(16, 25))
low, high = Q(693147, 10**6), Q(693148, 10**6)  # around ln 2
def exp(z):
    term = out = Q(1)
    for j in range(1, 30):
        term *= z / j
        out += term
    return out
show("e^low, with its rest, against 2", exp(low) + Q(1, 10**20), "<", 2)
show("2, against e^high", 2, "<", exp(high))
theta = 1 - Gamma2 * (12 * eta**2 + high) / 3
show("(C1): 0 against Theta, at least", 0, "<", theta)
right = g / eta * (3 * high + 4) / (18 * theta)  # F(x_1) = F(x_*), so that the first term of (11) is 0
show("right side of (11), at most, against its left side", right, "<", total / m)
print("VERDICT:", "(11) fails at K = 1 for equally frequent arrivals" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
