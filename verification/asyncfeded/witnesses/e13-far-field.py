"""AsyncFedED, Section 4: K need not settle where the staleness is gbar. Ten clients of equal speed, one common linear loss f = x,
Synthetic: lambda = eps = 5, gbar = 3, kappa = 1, K_0 = 10. Fractions, the server's model rounded to 60 digits."""
from fractions import Fraction as Q
from math import floor

m, lam, eps, gbar, kappa, digits, checks = 10, Q(5), Q(5), 3, 1, 10**60, []
def show(text, left, op, right):
    checks.append({"<": left < right, "=": left == right}[op])
    print(f"{text}:  {float(left):.10g} {op} {float(right):.10g}  [{checks[-1]}]")
def run(arrivals, clamp):
    x, base, K, due, seen = Q(0), [Q(0)] * m, [10] * m, [10] * m, []
    for _ in range(arrivals):
        i = min((j for j in range(m) if K[j] >= 1), key=lambda j: (due[j], j))
        gamma = abs(x - base[i]) / K[i]   # Delta = -K in units of the local step
        eta = lam / (gamma + eps)
        x = Q(round((x - eta * K[i]) * digits), digits)
        K[i] = K[i] + floor((gbar - gamma) * kappa)
        K[i] = max(1, K[i]) if clamp else K[i]
        base[i], due[i] = x, due[i] + K[i]
        seen.append((i, K[i], gamma, eta))
    return seen
free = run(35, False)
show("smallest K after 34 arrivals, at least", 0, "<", min(K for _, K, _, _ in free[:34]))
show("K after arrival 35 without a lower bound", free[34][1], "=", -5)
last = run(400, True)[-m:]
show("clients in turn", len({(i - t) % m for t, (i, *_) in enumerate(last)}), "=", 1)
show("all K kept at 1 or more, after 400 arrivals", max(K for _, K, _, _ in last), "=", 1)
low, high = Q(51, 100), Q(53, 100)   # steps of the server: an interval that maps into itself
for *_, eta in last[1:]:
    show("its last steps", abs(eta - Q(52, 100)), "<", Q(1, 100))
show("the largest next one", lam / ((m - 1) * low + eps), "<", high)
show("the smallest next one", low, "<", lam / ((m - 1) * high + eps))
show("gamma for ever above", gbar + Q(3, 2), "<", (m - 1) * low)
show("gamma against its limit 4.6589105316", abs(last[-1][2] - Q("4.6589105316")), "<", Q(1, 10**9))
print("VERDICT:", "the staleness never comes near its target 3" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
