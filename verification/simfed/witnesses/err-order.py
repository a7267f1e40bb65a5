"""Eq 9 read as actual rates: four scalar clients, f_i = h_i w^2/2, h = (1, 1, 1/20, 1/20), whose messages lie in two orthogonal
planes, each with entries of positive sum; beta = 1/2, gamma = 1/2, E = 1. Exact fractions; logarithms enclosed by their series."""
from fractions import Fraction as Q

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, "<": left < right}[op])
    print(f"{text}:  {float(left):.12f} {op} {float(right):.12f}  [{checks[-1]}]")
def log(x, terms=400):
    """-ln(1 - x) for 0 < x < 1, from below and from above."""
    low = sum(x**k / k for k in range(1, terms))
    return low, low + x**terms / terms / (1 - x)
t = Q(1, 100)
c, d = (1 - t**2) / (1 + t**2), 2 * t / (1 + t**2)
messages = [[c, d, Q(0), Q(0)], [c, -d, Q(0), Q(0)], [Q(0), Q(0), c, d], [Q(0), Q(0), c, -d]]
mis = [[(1 - sum(a * b for a, b in zip(m, n))) / 2 for n in messages] for m in messages]
show("unit messages, largest error", max(abs(sum(a * a for a in m) - 1) for m in messages), "=", 0)
show("of positive sum", 0, "<", min(sum(m) for m in messages))
show("misalignment in a pair", mis[0][1], "=", mis[2][3])
show("misalignment across", min(mis[j][k] for j in (0, 1) for k in (2, 3)), "=", max(mis[0][2], mis[0][3], mis[1][2], mis[1][3]))
far = log(1 - mis[0][2])                     # ln 2
near = [11 * a + b for a, b in zip(far, log(1 - mis[0][1] * 2**11), strict=True)]   # -ln(mis) = 11 ln 2 - ln(2^11 mis)
low, high = far[0] / (near[1] + 2 * far[0]), far[1] / (near[0] + 2 * far[1])  # share of one stranger, rising in far/near
show("its enclosure", low, "<=", high)
def polynomial(x, q):
    """det(x - M) where both clients of a pair have the same model: w -> (1 - R) mean - R (own share, others' share), R = gamma beta h."""
    R, P = (Q(1, 4), Q(1, 80)), ((1 - 2 * q, 2 * q), (2 * q, 1 - 2 * q))
    M = [[(1 - R[j]) / 2 - R[j] * P[j][k] for k in (0, 1)] for j in (0, 1)]  # (1 - beta)/beta = 1
    return (x - M[0][0]) * (x - M[1][1]) - M[0][1] * M[1][0]
fedavg = 1 - Q(1, 2) * (Q(1) + Q(1, 20)) / 2
show("FedAvg's factor", fedavg, "=", Q(59, 80))
x = Q(7606, 10000)  # the polynomial is affine in q: q^2 cancels, as the next line says
show("second difference in q", polynomial(x, Q(0)) - 2 * polynomial(x, Q(1, 8)) + polynomial(x, Q(1, 4)), "=", 0)
show("at .7606, for every q of the enclosure", max(polynomial(x, low), polynomial(x, high)), "<", 0)
show("so that an eigenvalue lies above .7606, and", fedavg, "<", x)
print("VERDICT:", "the method is slower than FedAvg" if all(checks) else "instance does not stand")
raise SystemExit(not all(checks))
