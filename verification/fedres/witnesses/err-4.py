"""Federated Residual Learning, Lemma 8: nine equal clients, alpha = 3, K = 1, exact gradients, in exact fractions.
L(w, t) = Huber_1(w + t) + 1/100 Huber_1000(t + 5000), so L is convex; from w = 0, t = 1 one personal step of 1/11."""
from fractions import Fraction as Q

N, alpha, K, eta, lam, sigma2, checks = 9, 3, 1, Q(1, 10**4), Q(1, 11), 0, []
def clip(x, d):
    return max(-d, min(d, x))
def huber(x, d):
    return Q(x) ** 2 / 2 if abs(x) <= d else d * abs(x) - Q(d) ** 2 / 2
def L(w, t):
    return huber(w + t, 1) + huber(t + 5000, 1000) / 100
def grad_w(w, t):
    return clip(w + t, Q(1))
def grad_t(w, t):
    return clip(w + t, Q(1)) + clip(t + 5000, Q(1000)) / 100
# Hessians are [[a, a], [a, a + b/100]] with a, b in {0, 1}: the longest block column is (1, 1 + 1/100)
gamma2 = 1 + Q(101, 100) ** 2
G2 = 1 + Q(11) ** 2  # |grad_w| <= 1, |grad_t| <= 1 + 10
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
w, t = Q(0), Q(1)
show("eta <= 1/(96 gamma alpha K), squared", (96 * eta * alpha * K) ** 2 * gamma2, "<=", 1)
t1 = t - lam * grad_t(w, t)  # Step 1
show("after Step 1 theta' is", t1, "=", 0)
w1 = w - alpha * eta * grad_w(w, t1)  # Step 2: all clients alike, every c_i = c = 0, K = 1
left = L(w1, t1) - L(w, t1)
right = (-alpha * eta * K / 4 * grad_w(w, t) ** 2  # no noise; with K = 1 every w_i^[k] is w: no drift
         + gamma2 * alpha * eta**3 * G2 * K**3 + gamma2 * eta * lam**2 * G2 * K**3 / N)
show("Lemma 8, left against printed right", left, ">", right)
half = -alpha * eta * K / 4 * grad_w(w, t) ** 2 + gamma2 * alpha * eta**3 * G2 + alpha * gamma2 * eta * lam**2 * G2 / N
show("with alpha in the personal term, 1/N kept", left, ">", half)
corrected = -alpha * eta * K / 4 * grad_w(w, t) ** 2 + gamma2 * alpha * eta * lam**2 * G2 * K**3
show("with gamma^2 alpha eta lambda^2 G^2 K^3", left, "<=", corrected)
print("VERDICT:", "Lemma 8 fails as printed" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
