"""AsyncFedED, Section 4: raising a client's K need not raise its next staleness. Exact fractions; in the long run rounded to 60
digits. Clients h (x - b)^2/2 of equal speed."""
from fractions import Fraction as Q
from math import floor

checks = []
def show(text, left, op, right):
    checks.append({"<": left < right, "=": left == right}[op])
    print(f"{text}:  {left if isinstance(left, Q) and left.denominator < 999 else float(left):} {op} "
          f"{right if isinstance(right, Q) and right.denominator < 999 else float(right):}  [{checks[-1]}]")
def run(h, b, eta, K, x, arrivals, kappa=0, gbar=1, digits=None):
    lam, eps, K = 1, 1, list(K)
    base, due, seen = [x] * len(h), list(K), []
    for _ in range(arrivals):
        i = min(range(len(h)), key=lambda j: (due[j], j))
        delta = (1 - (1 - eta * h[i]) ** K[i]) * (b[i] - base[i])
        gamma, old = abs(x - base[i]) / abs(delta), K[i]
        x += lam / (gamma + eps) * delta
        x = x if digits is None else Q(round(x * 10**digits), 10**digits)
        K[i] = max(1, K[i] + floor((gbar - gamma) * kappa))
        base[i], due[i] = x, due[i] + K[i]
        seen.append((i, old, gamma))
    return [s[1:] for s in seen if s[0] == 1]
first = ([Q(1), Q(1)], [Q(-1), Q(1)], Q(1, 2), (4, 3), Q(0), 4)
kept, raised = run(*first, kappa=0)[1], run(*first, kappa=1)[1]
show("K of client 1 in its second run, where (8) is off", kept[0], "=", 3)
show("K of client 1 in its second run by (8), gbar = kappa = 1", raised[0], "=", 4)
show("its next gamma with more steps and with fewer", raised[1], "<", kept[1])
show("exactly", raised[1], "=", Q(120, 29))
show("exactly", kept[1], "=", Q(900, 203))
long = ([Q(1), Q(1, 1000)], [Q(0), Q(1000)], Q(1, 10))
means = [sum(g for _, g in run(*long, (20, K), Q(3), 900, digits=60)[-200:]) / 200 for K in (10, 20)]
show("mean gamma of client 1 at K = 10 against .70753381", abs(means[0] - Q("0.70753381")), "<", Q(1, 10**8))
show("mean gamma of client 1 at K = 20 against .61803399", abs(means[1] - Q("0.61803399")), "<", Q(1, 10**8))
print("VERDICT:", "more local steps, less staleness" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
