"""Federated Residual Learning, Lemma 8, given the history before Step 2: one client, L = Huber_1(w + t), N = K = alpha = 1,
eta = lambda = 1/200, from w = 0, t = 1; noise in Step 1 alone: 199 with chance 1/10001, else -199/10^4. Exact fractions."""
from fractions import Fraction as Q

eta = lam = Q(1, 200)
high, low, p, checks = Q(199), -Q(199, 10**4), Q(1, 10001), []
sigma2 = p * high**2 + (1 - p) * low**2
gamma2 = G2 = Q(2)  # Hessian [[1, 1], [1, 1]] or 0; |(1, 1)|^2
def clip(x):
    return max(Q(-1), min(Q(1), x))
def L(w, t):
    return (w + t) ** 2 / 2 if abs(w + t) <= 1 else abs(w + t) - Q(1, 2)
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
show("mean of the noise", p * high + (1 - p) * low, "=", 0)
show("eta <= 1/(96 gamma), squared", (96 * eta) ** 2 * gamma2, "<=", 1)
w, t = Q(0), Q(1)
t1 = t - lam * (clip(w + t) + high)
show("given the high draw theta' is", t1, "=", 0)
w1 = w - eta * clip(w + t1)
gamma = Q(15, 10)  # larger than gamma = sqrt 2, which only enlarges the right side
show("gamma^2", gamma2, "<=", gamma**2)
right = -eta / 4 * clip(w + t) ** 2 + gamma * eta**2 * sigma2 + gamma2 * eta**3 * G2 + gamma2 * eta * lam**2 * G2
show("Lemma 8, left against right", L(w1, t1) - L(w, t1), ">", right)
print("VERDICT:", "Lemma 8 fails given the history before Step 2" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
