"""AsyncFedED, (11): one client, F'(x) = max(x, x/10), L = 1, K = 2 local steps 1/5 and 1/8, fresh noise +-1 in each, x_1 = x_* = 0.
No staleness, Gamma = 0, sigma_g = 0, sigma_l = 1. Noise alone keeps a floor that does not fall with eta_g."""
from fractions import Fraction as Q
from itertools import product

e, push, pull, checks = (Q(1, 5), Q(1, 8)), Q(9, 800), Q(699, 800), []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, "<": left < right}[op])
    print(f"{text}:  {float(left):.7g} {op} {float(right):.7g}  [{checks[-1]}]")
def slope(y):
    return max(y, y / 10)
def sent(x):  # Delta for each outcome of the noise, all four of chance 1/4
    out = []
    for n in product((1, -1), repeat=2):
        y = x
        for step, v in zip(e, n):
            y -= step * (slope(y) + v)
        out.append(y - x)
    return out
def rest(x):  # E[-Delta(x)] - 9/800 + 699/800 |F'(x)|
    return -sum(sent(Q(x))) / 4 - push + pull * abs(slope(Q(x)))
show("(T1): the largest 6k(2k+1) eta_k^2", max(6 * k * (2 * k + 1) * v * v for k, v in enumerate(e, 1)), "<=", 1)
kinks = (Q(-10, 49), Q(0), Q(1, 4))  # where x or a model after the first step is 0; straight in between and beyond
for x in kinks:
    show(f"E[-Delta(x)] - 9/800 + 699/800 |F'(x)| at the kink {x}", 0, "<=", rest(x))
show("beyond the kinks it grows, left", rest(kinks[0]), "<=", rest(kinks[0] - 1))
show("beyond the kinks it grows, right", rest(kinks[2]), "<=", rest(kinks[2] + 1))
x = Q(-90, 699)
show("the mean update vanishes at x = -90/699, where F' = -9/699: E Delta", sum(sent(x)), "=", 0)
# two runs under the same noise approach each other: E|x_t| <= D/q from x_1 = 0, q = 1 - prod(1 - eta_k/10), D = E|Delta(0)|
D, q = sum(map(abs, sent(Q(0)))) / 4, 1 - (1 - e[0] / 10) * (1 - e[1] / 10)
log, N = Q(10986123, 10**7), sum(e) / 2  # ln 3 < log
for g, T in ((Q(1, 10**4), 10**9), (Q(1, 10**6), 10**12), (Q(1, 10**9), 10**16)):
    show(f"(T2) at eta_g = {float(g):.0e}", g * 2 * N, "<=", 1)
    least = ((push - D / (q * g * T)) / pull) ** 2  # summing E x_{t+1} = E x_t + eta_g E Delta(x_t), and Jensen
    show(f"right side of (11), against the left side, at least; T = {T:.0e}", g / N * (log + 8) / 72, "<", least)
print("VERDICT:", "(11) is false for one client by noise alone, however small eta_g" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
