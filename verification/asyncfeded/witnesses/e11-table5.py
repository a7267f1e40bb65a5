"""AsyncFedED, Table 5: E(x_T) does not tend to x_*. Two clients in turn, f = h (x - b)^2/2 with h = (1, 1/4), b = (1, -2), K = 5,
local step 1/10, lambda = eps = 1, x_1 = 0. Fractions, the server's model rounded to 60 digits."""
from fractions import Fraction as Q

h, b, eta, K, lam, eps, digits, checks = (Q(1), Q(1, 4)), (Q(1), Q(-2)), Q(1, 10), 5, 1, 1, 10**60, []
def show(text, left, op, right):
    checks.append({"<": left < right, "=": left == right}[op])
    print(f"{text}:  {float(left):.9g} {op} {float(right):.9g}  [{checks[-1]}]")
best = sum(u * v for u, v in zip(h, b)) / sum(h)
show("minimiser of F", best, "=", Q(2, 5))
x, base, models, gammas = Q(0), [Q(0), Q(0)], [], []
for t in range(400):
    i = t % 2
    y = base[i]
    for _ in range(K):
        y -= eta * h[i] * (y - b[i])
    delta = y - base[i]
    gammas.append(abs(x - base[i]) / abs(delta))
    x = Q(round((x + lam / (gammas[-1] + eps) * delta) * digits), digits)
    base[i] = x
    models.append(x)
for t in (199, 398, 399):
    show(f"|x - x_*| after {t + 1} arrivals, at least", Q(38, 1000), "<", abs(models[t] - best))
show("change over a period after 200 arrivals", abs(models[201] - models[199]), "<", Q(1, 10**20))
show("the odd models, against .361310911", abs(models[398] - Q(361310911, 10**9)), "<", Q(1, 10**9))
show("the even models, against .199664388", abs(models[399] - Q(199664388, 10**9)), "<", Q(1, 10**9))
show("average over a period, at least so far from x_*", Q(119, 1000), "<", abs((models[398] + models[399]) / 2 - best))
show("gamma (gamma + 1) - 1 there", abs(gammas[-1] * (gammas[-1] + 1) - 1), "<", Q(1, 10**20))
print("VERDICT:", "the last model cycles around .28 and never comes near x_* = .4" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
