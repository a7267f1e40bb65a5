"""AsyncFedED, Assumption 2 with one mini-batch for all local steps: Theorem 1 and (33d). L = 1, sigma_l = 1, noise one sign.
E[g(x)|x] = f'(x) for every fixed x, and |g(x) - f'(x)| = 1; exact fractions, both signs listed."""
from fractions import Fraction as Q

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def mean(values):
    return sum(values) / Q(len(values))
def steps(slope, x, eta, sign):
    """Local models of f' = slope x with the same noise in every step."""
    y = [x]
    for e in eta:
        y.append(y[-1] - e * (slope * y[-1] + sign))
    return y
eta = [Q(7, 30), Q(1, 8)]
for k, e in enumerate(eta, 1):
    show(f"(T1) at k = {k}: 6 k (2k + 1) eta^2", 6 * k * (2 * k + 1) * e * e, "<=", 1)
drift = mean([steps(0, Q(0), eta, s)[2] ** 2 for s in (1, -1)])
show("f = 0: E|y_2 - x|^2", drift, "=", Q(1849, 14400))
show("against Theorem 1, (k + 1)/24", drift, ">", Q(3, 24))
fresh = mean([(eta[0] * s + eta[1] * u) ** 2 for s in (1, -1) for u in (1, -1)])
show("with a fresh draw in each step", fresh, "<=", Q(3, 24))
def excess(draws):
    """E T2 - E T21 of (33) for f' = -x from x = 0 = x_t, K = 2."""
    out = []
    for s, u in draws:
        y1 = -eta[0] * s
        exact = (eta[0] * 0 + eta[1] * -y1) / 2
        noise = (eta[0] * s + eta[1] * u) / 2
        out.append((exact + noise) ** 2 - exact**2)
    return mean(out)
allowed = mean([e * e for e in eta])
show("(33d): M sigma_l^2", allowed, "=", Q(1009, 28800))
show("(33d) with one mini-batch", excess([(1, 1), (-1, -1)]), ">", allowed)
show("(33d) with a fresh draw in each step", excess([(s, u) for s in (1, -1) for u in (1, -1)]), "<=", allowed)
print("VERDICT:", "noise must have mean zero given the past, not only given the model" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
