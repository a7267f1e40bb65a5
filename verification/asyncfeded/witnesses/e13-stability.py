"""AsyncFedED: clients in turn need not settle on an orbit of period m. Two clients (x - b)^2/2, b = 0, 1, K = 1, local step 1/2,
lambda = 3, eps = 1, x_1 = 3/10. Fractions, the server's model rounded to 200 digits; then the derivative of the period map."""
from fractions import Fraction as Q
from math import isqrt

b, q, lam, eps, digits, checks = (Q(0), Q(1)), Q(1, 2), 3, 1, 10**200, []
def show(text, left, op, right):
    checks.append({"<": left < right}[op])
    print(f"{text}:  {float(left):.9g} {op} {float(right):.9g}  [{checks[-1]}]")
x, base, models, gammas = Q(3, 10), [Q(3, 10)] * 2, [], []
for t in range(300):
    i = t % 2
    delta = q * (b[i] - base[i])
    gammas.append(abs(x - base[i]) / abs(delta))
    x = Q(round((x + lam / (gammas[-1] + eps) * delta) * digits), digits)
    base[i] = x
    models.append(x)
show("change over 6 arrivals", abs(models[299] - models[293]), "<", Q(1, 10**12))
for k in (2, 4):
    show(f"change over {k} arrivals, at least", Q(1, 4), "<", max(abs(models[299 - j] - models[299 - k - j]) for j in range(6)))
for gamma, told in zip(sorted(gammas[-6:])[::2], ("0.0699506", "0.6555903", "17.7379015")):
    show(f"gamma against {told}", abs(gamma - Q(told)), "<", Q(1, 10**6))
gamma = Q(isqrt(13 * 10**60), 2 * 10**30) - Q(1, 2)   # below the root of gamma (gamma + 1) = 3
show("gamma of the orbit of period 2, 3 - gamma (gamma + 1)", abs(lam - gamma * (gamma + eps)), "<", Q(1, 10**28))
late = gamma / (gamma + eps)
determinant = (q * gamma * (2 * gamma + eps) / (gamma + eps) + late) ** 2   # of the derivative of two arrivals there
show("its determinant is above 1, so one factor of the period is", Q(5, 2), "<", determinant)
print("VERDICT:", "the run has period 6; the orbit of period 2 is unstable" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
