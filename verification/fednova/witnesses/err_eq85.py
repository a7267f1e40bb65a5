"""FedNova (NeurIPS 2020), App C, eq (85): the drift bound, for FedProx with two local steps and alpha = 9/10.
F(x) = x^2/2, one client, exact gradients, x = 1, eta = 1/4; exact fractions throughout."""
from fractions import Fraction as Q

eta, alpha, tau, L, sigma2, x, checks = Q(1, 4), Q(9, 10), 2, 1, 0, Q(1), []
a = [(1 - alpha) ** (tau - 1 - k) for k in range(tau)]  # (34)
n1, n2 = sum(a), sum(v * v for v in a)
C = n1 * (n1 - a[-1])  # (95)
D = 4 * (eta * L) ** 2 * C  # (84)
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, "<": left < right, ">": left > right}[op])
    print(f"  {text}:  {left} {op} {right}  [{checks[-1]}]")
y = [x]
for _ in range(tau):  # (31): y <- y - eta (F'(y) + mu (y - x)) with eta mu = alpha
    y.append(y[-1] - eta * y[-1] - alpha * (y[-1] - x))
print(f"a = {[str(v) for v in a]}, |a|_1 = {n1}, |a|_2^2 = {n2}, L = {L}, sigma = 0, D = {D}")
show("smallest entry of a", 0, "<=", min(a))
show("the local run accumulates a: (x - y_2)/eta", (x - y[2]) / eta, "=", a[0] * y[0] + a[1] * y[1])
show("smoothness: |F'(u) - F'(v)| at u=3, v=1/2 against L |u - v|", abs(Q(3) - Q(1, 2)), "<=", L * abs(Q(3) - Q(1, 2)))
show("alpha <= 1", alpha, "<=", 1)
show("D", D, "<", 1)
show("step cap (101): (2 eta L |a|_1)^2 (2 beta^2 + 1), beta^2 = 1", (2 * eta * L * n1) ** 2 * 3, "<=", 1)
left = Q(L * L) / n1 * sum(a[k] * (x - y[k]) ** 2 for k in range(tau))
right = 2 * eta**2 * L**2 * sigma2 * (n2 - a[-1] ** 2) / (1 - D) + D / (1 - D) * x**2
print(f"  decimals: left {float(left):.6f}, right {float(right):.6f}")
show("(85): (L^2/|a|_1) sum a_k |x - y_k|^2", left, ">", right)
drift = (eta * a[0] * x) ** 2
show("cause, (69) at k=1: |x - y_1|^2 against eta^2 |a_0 g_0|^2", (x - y[1]) ** 2, ">", drift)
D2 = 4 * (eta * L) ** 2 * 1  # the largest prefix: b^(1) = (1), so C' = 1
show("with C' = max_k (sum_s b_s^(k))^2 = 1 in D the bound holds", left, "<=", D2 / (1 - D2) * x**2)
print("VERDICT:", "every hypothesis holds and (85) fails" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
