"""FedNova (NeurIPS 2020), Section 4.2: 'Only in these two special cases' (w = p, identical F_i) 'is there no objective
inconsistency'. Section 1: consistent means that the surrogate objective equals the true one. Exact fractions throughout."""
from fractions import Fraction as Q

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "!=": left != right, "<": left < right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def weights(p, tau):  # (6), vanilla steps
    total = sum(a * t for a, t in zip(p, tau, strict=True))
    return [a * t / total for a, t in zip(p, tau, strict=True)]
def chi2(p, w):
    return sum((a - b) ** 2 / b for a, b in zip(p, w, strict=True))
print("1. three clients, p = 1/3, tau = (1, 3, 2): F_1 = F_2 = (x-1)^2/2, F_3 = (x+1)^2")
p = [Q(1, 3)] * 3
w = weights(p, (1, 3, 2))
def values(x):
    return (x - 1) ** 2 / 2, (x - 1) ** 2 / 2, (x + 1) ** 2
show("first case excluded: w_1 against p_1", w[0], "!=", p[0])
show("and chi^2 against 0", chi2(p, w), "!=", 0)
show("second case excluded: F_1(0) against F_3(0)", values(Q(0))[0], "!=", values(Q(0))[2])
for x in (Q(0), Q(1), Q(-2)):  # quadratics that agree at three points are equal
    show(f"surrogate objective against F at {x}", sum(a * b for a, b in zip(w, values(x), strict=True)), "=", sum(values(x)) / 3)
print("2. equal minimisers: F_1, F_2 = x^2/2, x^2, p = 1/2, tau = (1, 5), any w")
h, p, eta = (1, 2), [Q(1, 2)] * 2, Q(1, 10)
w = weights(p, (1, 5))
show("w_1 against p_1", w[0], "!=", p[0])
show("grad F_1(1) against grad F_2(1)", h[0], "!=", h[1])
show("grad F~ at x* = 0", sum(w[i] * h[i] * Q(0) for i in (0, 1)), "=", 0)
factor = sum(p[i] * (1 - eta * h[i]) ** t for i, t in enumerate((1, 5)))  # one FedAvg round from x = 1
show("FedAvg converges to x* = 0: |factor|", factor, "<", 1)
beta2 = sum(w[i] * h[i] ** 2 for i in (0, 1)) / sum(w[i] * h[i] for i in (0, 1)) ** 2
show("A3 with kappa^2 = 0 at x = -3", sum(w[i] * 9 * h[i] ** 2 for i in (0, 1)), "=", 9 * beta2 * sum(map(Q.__mul__, w, map(Q, h))) ** 2)
print("VERDICT:", "w != p, F_1 != F_3, and no inconsistency" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
