"""AsyncFedED, Section 4: a smaller target need not give less stale updates. Ten clients of equal speed, one common linear loss f = x,
lambda = eps = 5, kappa = 1/10, K_0 = 200. Fractions, the server's model rounded to 60 digits; floats for 20,000 arrivals."""
from fractions import Fraction as Q
from math import floor, sqrt

m, checks = 10, []
def show(text, left, op, right):
    checks.append({"<": left < right}[op])
    print(f"{text}:  {float(left):.8g} {op} {float(right):.8g}  [{checks[-1]}]")
def run(gbar, arrivals, number, digits=10**60):
    lam = eps = number(5)
    x, base, K, due, gammas = number(0), [number(0)] * m, [200] * m, [200] * m, []
    for _ in range(arrivals):
        i = min(range(m), key=lambda j: (due[j], j))
        gamma = abs(x - base[i]) / K[i]   # Delta = -K in units of the local step
        x = x - lam / (gamma + eps) * K[i]
        x = Q(round(x * digits), digits) if number is Q else x
        K[i] = max(1, K[i] + floor((gbar - gamma) / 10))
        base[i], due[i] = x, due[i] + K[i]
        gammas.append(gamma)
    return gammas
early = {g: sum(run(g, 3000, Q)[2000:]) / 1000 for g in (1, 3, 5, 8)}
for g, told in zip(early, ("4.871", "4.672", "4.659", "4.659")):
    show(f"target {g}: mean gamma over arrivals 2001 to 3000 against {told}", abs(early[g] - Q(told)), "<", Q(1, 2000))
show("target 8 and target 1", early[8], "<", early[1])
show("target 8 and target 3", early[8], "<", early[3])
limit = (sqrt(5**2 + 4 * 9 * 5) - 5) / 2
for g in early:
    show(f"target {g}: mean over the last 1000 of 20,000 against the common limit", abs(
        sum(run(g, 20000, float)[-1000:]) / 1000 - limit), "<", 1e-6)
print("VERDICT:", "the smaller target is more stale, and in the end no target matters" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
