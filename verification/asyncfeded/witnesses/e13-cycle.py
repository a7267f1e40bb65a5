"""AsyncFedED, Section 4: near a minimiser K need not settle. Two clients (x +- 1)^2/2, local step 1/10, Shakespeare: lambda = 5,
eps = 10, gbar = 3, kappa = 1, K_0 = 10, x_1 = 14/5; then one client alone. Fractions, models rounded to 200 digits."""
from fractions import Fraction as Q
from math import floor, sqrt

eta, lam, eps, gbar, kappa, digits, checks = Q(1, 10), 5, 10, 3, 1, 10**200, []
def show(text, left, op, right):
    checks.append({"<": left < right, "=": left == right}[op])
    print(f"{text}:  {float(left):.9g} {op} {float(right):.9g}  [{checks[-1]}]")
def run(b, x, arrivals):
    m = len(b)
    base, K, due, seen = [x] * m, [10] * m, [10] * m, []
    for _ in range(arrivals):
        i = min(range(m), key=lambda j: (due[j], j))
        shrink = Q(1)
        for _ in range(K[i]):
            shrink = Q(round(shrink * (1 - eta) * digits), digits)
        delta = (1 - shrink) * (b[i] - base[i])
        gamma = abs(x - base[i]) / abs(delta)
        x = Q(round((x + lam / (gamma + eps) * delta) * digits), digits)
        old, K[i] = K[i], max(1, K[i] + floor((gbar - gamma) * kappa))
        base[i], due[i] = x, due[i] + K[i]
        seen.append((i, old, K[i], gamma, x))
    return seen
pair = run((-1, 1), Q(14, 5), 440)
gamma = (sqrt(120) - 10) / 2
show("gamma of the orbit of period 2", gamma, "<", 0.4772256)
for t in (400, 438, 439):
    show(f"gamma at arrival {t + 1} is that one", abs(float(pair[t][3]) - gamma), "<", 1e-9)
    show("change of K there", pair[t][2] - pair[t][1], "=", 2)
show("K of both clients after 440 arrivals", pair[-1][2], "=", 444)
show("change of the model over two arrivals", abs(pair[-1][4] - pair[-3][4]), "<", Q(1, 10**15))
alone = run((0,), Q(1), 20)
show("one client alone: its largest gamma", max(g for *_, g, _ in alone), "=", 0)
show("and its K after 20 arrivals", alone[-1][2], "=", 10 + 20 * 3)
print("VERDICT:", "K grows and the staleness stays at .4772, below its target 3" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
