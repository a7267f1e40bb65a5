"""AsyncFedED, (12): the clients of e2c in turn with eta_g = (KNT)^(-1/2). f_i' = a_i (clip(x, -10, 1) - b_i), a = (1, 1/10), b = (1, -10),
K = 10 steps at the cap, x_1 = z where both pull equally. The left side does not fall with T, whatever constants (12) hides."""
from fractions import Fraction as Q
from math import isqrt, sqrt

checks = []
def show(text, left, op, right, digits=7):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {float(left):.{digits}g} {op} {float(right):.{digits}g}  [{checks[-1]}]")
steps = [Q(isqrt(10**24 // (6 * k * (2 * k + 1))), 10**12) for k in range(1, 11)]
S, q = sum(steps), []
for a in (Q(1), Q(1, 10)):
    left = Q(1)
    for eta in steps:
        left *= 1 - a * eta
    q.append(1 - left)  # inside [-10, 1] a round moves its start y by -q_i (y - b_i)
z = (q[0] - 10 * q[1]) / (q[0] + q[1])
limit = (Q(11, 20) * z) ** 2  # F' = .55 x there
kappa = q[0] * (1 - z)
show("limit to its digits", round(limit, 7), "=", Q(".0242606"))
for T in (10**3, 10**4, 10**5):
    g = 1 / sqrt(S * T)
    x, base, total, far = float(z), [float(z)] * 2, 0.0, 0.0
    for t in range(T):
        i = t % 2
        total, x = total + (0.55 * x) ** 2, x - g * float(q[i]) * (base[i] - (1, -10)[i])
        base[i], far = x, max(far, abs(x - float(z)))
    show(f"T = {T}: models stay within 5 eta_g kappa of z", far, "<=", 5 * g * float(kappa))
    show(f"T = {T}: left side of (12)", total / T, ">", 0.9 * float(limit))
for constant, T in ((1, 10**10), (10**3, 10**16), (10**6, 10**22)):
    g = Q(10**15, isqrt(S.numerator * T * 10**30 // S.denominator))  # not below (KNT)^(-1/2)
    least = (Q(11, 20) * (-z - 5 * g * kappa)) ** 2
    order = Q(11, 40) * z * z * g + Q(121, 4) * g / S * 2  # F(x_1) - F(x_*) = .275 z^2; Theta > 1/2
    show(f"T = {T:.0e}: left side, at least, against {constant} times the terms of (12)", least, ">", constant * order)
print("VERDICT:", "(12) is false for every hidden constant" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
