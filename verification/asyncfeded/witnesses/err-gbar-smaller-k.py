"""AsyncFedED, Section 4: a smaller target need not give fewer local steps. Five clients of equal speed, local step 1/128,
f'(x) = clip(x + 100, -1, 1), lambda = eps = 5, kappa = 1, K_0 = 20, x_1 = 0, 400 arrivals; then for ever on f = x. 60 digits."""
from fractions import Fraction as Q
from math import floor

m, lam, eps, step, digits, checks = 5, Q(5), Q(5), Q(1, 128), 10**60, []
def show(text, left, op, right):
    checks.append({"<": left < right, "=": left == right}[op])
    print(f"{text}:  {float(left):.9g} {op} {float(right):.9g}  [{checks[-1]}]")
def settled(gbar):
    x, base, K, due, seen, least = Q(0), [Q(0)] * m, [20] * m, [20] * m, [], Q(0)
    for _ in range(400):
        i = min(range(m), key=lambda j: (due[j], j))
        y = base[i]
        for _ in range(K[i]):
            least = min(least, y)   # where a gradient is taken
            y -= step * max(-1, min(1, y + 100))
        delta = y - base[i]
        gamma = abs(x - base[i]) / abs(delta)
        eta = lam / (gamma + eps)
        x = Q(round((x + eta * delta) * digits), digits)
        K[i] = max(1, K[i] + floor(gbar - gamma))
        base[i], due[i] = x, due[i] + K[i]
        seen.append((i, eta))
    show(f"target {gbar}: all K are equal after 400 arrivals", max(K) - min(K), "=", 0)
    show("above -99 the loss is f = x, and the run has been", -99, "<", least)
    order = [i for i, _ in seen[-2 * m:]]
    show("for ever on f = x: clients in turn, one order", len(set(order[:m])) * (order[:m] == order[m:]), "=", m)
    low, high = Q(655, 1000), Q(657, 1000)   # steps of the server: an interval that maps into itself
    inside = all(low < eta < high for _, eta in seen[-m + 1:]) and lam / ((m - 1) * low + eps) < high
    show("steps of the server stay in an interval", inside and low < lam / ((m - 1) * high + eps), "=", True)
    for gamma in ((m - 1) * low, (m - 1) * high):
        show("change of K at its ends", floor(gbar - gamma), "=", 0)
    return K[0]
small, large = settled(Q(13, 4)), settled(Q(7, 2))
show("K at target 13/4", small, "=", 24)
show("K at target 7/2", large, "=", 23)
print("VERDICT:", "the smaller target has more local steps" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
