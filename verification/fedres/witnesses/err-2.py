"""Federated Residual Learning, Lemma 6: its left side subtracts the loss at the old theta; so it fails.
One client, L(w, t) = Huber(t) = t^2/2 for |t| <= 1, |t| - 1/2 beyond: gamma = G = 1, w plays no part; noise +-1/2 in t."""
from fractions import Fraction as Q

N, K, gamma, G, sigma2, lam, eta, checks = 1, 1, 1, 1, Q(1, 4), Q(1), Q(1, 100), []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def loss(t):
    return t * t / 2 if abs(t) <= 1 else abs(t) - Q(1, 2)
def grad(t):
    return max(min(t, Q(1)), Q(-1))
noise = (Q(1, 2), Q(-1, 2))  # equally likely, the same at every t
show("A2: |grad| (its largest value)", max(abs(grad(Q(k, 10))) for k in range(-40, 41)), "<=", G)
show("A3: mean of the noise", sum(noise), "=", 0)
show("A3: its variance", sum(v * v for v in noise) / 2, "<=", sigma2)
show("step: lambda, as Lemma 5 asks", lam, "<=", Q(1, gamma))
show("step: eta", eta, "<=", Q(1, gamma * K))
t = Q(0)  # at the minimiser
right = gamma * eta**2 * sigma2 * K / (2 * N) + gamma**2 * eta * lam**2 * G**2 * Q(K**3, 2)  # the gradient in w is 0
for v in noise:
    new = t - lam * (grad(t) + v)  # Step 1; Step 2 leaves w where it is, or moves it without effect
    show(f"given theta' = {new}: left against printed right", loss(new) - loss(t), ">", right)
    show("with the loss at theta' subtracted", loss(new) - loss(new), "<=", right)
print("VERDICT:", "A1-A3 hold; Lemma 6 fails as printed" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
