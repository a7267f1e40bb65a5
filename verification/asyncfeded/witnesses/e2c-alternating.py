"""AsyncFedED, Theorem 2, (11): the clients of e2c in turn, each restarting from the model it was sent after its own last update, no
noise. f_i' = a_i (clip(x, -10, 1) - b_i), a = (1, 1/10), b = (1, -10); K = 10, eta_g = 5 10^-6, T = 10^6, x_1 where both pull equally."""
from decimal import Decimal as D
from fractions import Fraction as Q
from math import isqrt

checks = []
def show(text, left, op, right, digits=0):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    say = [f"{float(v):.{digits}f}" if digits else v for v in (left, right)]
    print(f"{text}:  {say[0]} {op} {say[1]}  [{checks[-1]}]")
K, T, g, ln11 = 10, 10**6, Q(5, 10**6), Q(D(11).ln().next_plus())
steps = [Q(isqrt(10**24 // (6 * k * (2 * k + 1))), 10**12) for k in range(1, K + 1)]
S, M, q = sum(steps), sum(v * v for v in steps) / K, []
for a in (Q(1), Q(1, 10)):
    left = Q(1)
    for eta in steps:
        left *= 1 - a * eta
    q.append(1 - left)  # inside [-10, 1] a round moves its start y by -q_i (y - b_i)
rest = (q[0] - 10 * q[1]) / (q[0] + q[1])
gq = [D((g * v).numerator) / D((g * v).denominator) for v in q]
x = D(rest.numerator) / D(rest.denominator)
one, two, total, low, high = x, x, D(0), x, x  # the models that both were sent last
for _ in range(T // 2):
    up = x - gq[0] * (one - 1)
    total, high = total + x * x + up * up, max(high, up)
    two, one, x = up - gq[1] * (two + 10), up, up - gq[1] * (two + 10)
    low = min(low, x)
show("all models stay in [-10, 1]", max(-10 - low, high - 1), "<=", 0, 4)
show("(T2)", g * S, "<=", 1, 9)
size = [(gq[0] * (1 - v), gq[1] * (v + 10)) for v in (low, high)]  # |x_t - base| is the other one's eta_g |Delta|
gamma = Q(max(map(max, size)) / min(map(min, size))) * g
show("gamma is at most", round(gamma, 9), "<=", Q(5001, 10**9), 9)
theta = 1 - gamma**2 * (K * ln11 / 3 + 4 * K**2 * M)
show("left side of (11) to its digits", round(total / T * D(".3025"), 7), "=", D(".0242606"), 7)
right = 2 * Q(11, 40) * rest**2 / (g * S * T) + g / (S / K) * (3 * ln11 + 4 * K) / (18 * theta) * Q(121, 4)
show("right side of (11) to its digits", round(right, 7), "=", Q(".0168826"), 7)
show("left side against the right side", Q(total / T * D(".3025")), ">", right, 6)
print("VERDICT:", "Theorem 2 as printed is false for an asynchronous run" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
