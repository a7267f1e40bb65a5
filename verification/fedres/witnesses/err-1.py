"""Federated Residual Learning, Lemmas 5 and 7: the last term has K^2 where the proof has K^3, and with K^2 they fail.
One client, L(w, t) = Huber(t) = t^2/2 for |t| <= 1, |t| - 1/2 beyond: gamma = G = 1; no noise; exact fractions throughout."""
from fractions import Fraction as Q

N, gamma, G, sigma2, K, lam, checks = 1, 1, 1, 0, 300, Q(1, 100), []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {float(left):.6g} {op} {float(right):.6g}  [{checks[-1]}]")
def loss(t):
    return t * t / 2 if abs(t) <= 1 else abs(t) - Q(1, 2)
def grad(t):
    return max(min(t, Q(1)), Q(-1))
grid = [Q(k, 10) for k in range(-40, 41)]
show("A1: convex, gradients rise by 0 to gamma", max(abs(grad(b) - grad(a)) / (b - a) for a in grid for b in grid if b > a), "<=", gamma)
show("A2: |grad| (its largest value)", max(abs(grad(t)) for t in grid), "<=", G)
show("A3: no noise", sigma2, "=", 0)
show("step: lambda", lam, "<=", Q(1, gamma))
t = start = Q(1)
for _ in range(K):  # Step 1 of Algorithms 3 and 4, w frozen
    t -= lam * grad(t)
left = loss(t) - loss(start)
descent, noise = -lam * K / 4 * grad(start) ** 2, gamma * lam**2 * sigma2 * K / 2
show("Lemma 5, left against printed right", left, ">", descent + noise + gamma**2 * lam**3 * G**2 * Q(K**2, 2))
show("with K^3", left, "<=", descent + noise + gamma**2 * lam**3 * G**2 * Q(K**3, 2))
show("Lemma 5 as corrected", left, "<=", descent + noise + gamma**2 * lam**3 * (G**2 * Q(K**3, 3) + sigma2 * Q(K**2, 2)))
print("VERDICT:", "A1-A3 hold; Lemmas 5 and 7 fail as printed" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
