"""AsyncFedED, Section 4: a smaller target need not give fewer local steps. Five clients of equal speed, one common linear loss f = x,
lambda = eps = 5, kappa = 1, K_0 = 20. Fractions, the server's model rounded to 60 digits."""
from fractions import Fraction as Q
from math import floor

m, lam, eps, digits, checks = 5, Q(5), Q(5), 10**60, []
def show(text, left, op, right):
    checks.append({"<": left < right, "=": left == right}[op])
    print(f"{text}:  {float(left):.9g} {op} {float(right):.9g}  [{checks[-1]}]")
def settled(gbar):
    x, base, K, due, seen = Q(0), [Q(0)] * m, [20] * m, [20] * m, []
    for _ in range(400):
        i = min(range(m), key=lambda j: (due[j], j))
        gamma = abs(x - base[i]) / K[i]   # Delta = -K in units of the local step
        eta = lam / (gamma + eps)
        x = Q(round((x - eta * K[i]) * digits), digits)
        K[i] = max(1, K[i] + floor(gbar - gamma))
        base[i], due[i] = x, due[i] + K[i]
        seen.append((i, eta))
    show(f"target {gbar}: all K are equal", max(K) - min(K), "=", 0)
    order = [i for i, _ in seen[-2 * m:]]
    show("clients in turn, one order", len(set(order[:m])) * (order[:m] == order[m:]), "=", m)
    low, high = Q(655, 1000), Q(657, 1000)   # steps of the server: an interval that maps into itself
    show("its last steps", max(abs(eta - Q(656, 1000)) for _, eta in seen[-m + 1:]), "<", Q(1, 1000))
    show("the largest next one", lam / ((m - 1) * low + eps), "<", high)
    show("the smallest next one", low, "<", lam / ((m - 1) * high + eps))
    for gamma in ((m - 1) * low, (m - 1) * high):
        show("change of K at the ends of gamma, for ever", floor(gbar - gamma), "=", 0)
    return K[0]
small, large = settled(Q(13, 4)), settled(Q(7, 2))
show("K for ever at target 13/4", small, "=", 24)
show("K for ever at target 7/2", large, "=", 23)
print("VERDICT:", "the smaller target has more local steps" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
