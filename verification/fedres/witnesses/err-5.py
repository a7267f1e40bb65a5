"""Federated Residual Learning, Lemma 9 at r = 1: Figure 1's clients with slopes cut at 1, at the joint optimum w = t_i = 0, from
c_i = 0. L_1 = h(w + t_1) + 10 w, L_2 = h(t_2) - 10 w, h(x) = x^2/10, slope at most 1; N = 2, K = 10. Exact fractions."""
from fractions import Fraction as Q

N, K, eta, lam, alpha, checks = 2, 10, Q(1, 1000), Q(7, 10000), Q(7, 5), []
def slope(x):
    return max(Q(-1), min(Q(1), x / 5))
def grad_w(i, w, t):
    return slope(w + t) + 10 if i == 0 else Q(-10)
def grad_t(i, w, t):
    return slope(w + t) if i == 0 else slope(t)
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
gamma2, G2 = 2 * Q(1, 5) ** 2, 11**2 + 1  # blocks [[1/5, 1/5], [1/5, 1/5]]; |grad_w| <= 11, |grad_t| <= 1
w, t = Q(0), [Q(0), Q(0)]
show("eta <= 1/(96 gamma alpha K), squared", (96 * eta * alpha * K) ** 2 * gamma2, "<=", 1)
show("alpha <= N", alpha, "<=", N)
show("lambda <= eta", lam, "<=", eta)
mean = sum(grad_w(i, w, t[i]) for i in (0, 1)) / N
show("the gradient of F vanishes: in w", mean, "=", 0)
for i in (0, 1):
    show(f"in t_{i + 1}", grad_t(i, w, t[i]), "=", 0)
for _ in range(K):  # Step 1 stays
    t = [t[i] - lam * grad_t(i, w, t[i]) for i in (0, 1)]
local = w
for _ in range(K - 1):  # local steps of client 1, c_1 = c = 0
    local -= eta * grad_w(0, local, t[0])
for constant in (192, 1128):
    right = constant * gamma2 * eta**2 * (eta + lam) ** 2 * N**2 * G2 * K**4 + 6 * eta**2 * K**2 * mean**2
    show(f"|w_1^[10] - w|^2 against Lemma 9 with {constant}, x^0 = x^1", (local - w) ** 2, ">", right)
print("VERDICT:", "Lemma 9 fails at r = 1" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
