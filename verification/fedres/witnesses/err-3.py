"""Federated Residual Learning, last display of Lemma 6's proof: |theta' - theta| <= lambda G K ignores the noise of Step 1.
One client, L(w, t) = Huber(w + t): gamma = G = sqrt 2; noise +-9 in t; given the outcome t' = 0 the display fails."""
from fractions import Fraction as Q

N, K, gamma2, G2, sigma2, lam, eta, checks = 1, 1, 2, 2, 81, Q(1, 10), Q(1, 1000), []
above = Q(14143, 10000)  # of gamma = sqrt 2, which the right side grows with
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {float(left):.7g} {op} {float(right):.7g}  [{checks[-1]}]")
def loss(w, t):
    x = w + t
    return x * x / 2 if abs(x) <= 1 else abs(x) - Q(1, 2)
def grad(w, t):  # in w, and in t
    return max(min(w + t, Q(1)), Q(-1))
show("gamma from above, squared", above**2, ">", gamma2)
show("A2: |grad|^2 = 2 grad_w^2 (its largest value)", max(2 * grad(0, Q(k, 10)) ** 2 for k in range(-40, 41)), "<=", G2)
show("A3: its variance", sum(v * v for v in (9, -9)) / Q(2), "<=", sigma2)
show("step: lambda^2 gamma^2", lam**2 * gamma2, "<=", 1)
show("step: (eta gamma K)^2", (eta * K) ** 2 * gamma2, "<=", 1)
w, t, lefts = Q(0), Q(1), {}
right = -eta * K / 4 * grad(w, t) ** 2 + above * eta**2 * sigma2 * K / (2 * N) + gamma2 * eta * lam**2 * G2 * Q(K**3, 2)
for v in (9, -9):
    new = t - lam * (grad(w, t) + v)  # Step 1
    after = w - eta * K * grad(w, new)  # Step 2, no noise in w
    lefts[new] = loss(after, new) - loss(w, new)
show("Step 1 with noise +9 ends at t' =", min(lefts), "=", 0)
show("|t' - t|^2 against (lambda G K)^2", 1, ">", (lam * K) ** 2 * G2)
show("given t' = 0: left against right", lefts[0], ">", right)
show("mean over both outcomes", sum(lefts.values()) / 2, "<=", right - (above - Q(14142, 10000)) * eta**2 * sigma2 * K / 2)
print("VERDICT:", "the display fails given theta', and holds in the mean" if all(checks) else "the gap does not stand")
raise SystemExit(not all(checks))
