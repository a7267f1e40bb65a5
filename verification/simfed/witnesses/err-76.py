"""Similarity-perturbed FedAvg, Appendix A, (76): the split of |alpha gamma x - gamma y|^2 in the proof of Lemma 4 of FedProx.
One client f = w^2/2 (L = 1), no noise, w_0 = 1, gamma = 1, alpha = 1/2, E = 2; exact fractions."""
from fractions import Fraction as Q

L, gamma, alpha, E, w0, checks = 1, Q(1), Q(1, 2), 2, Q(1), []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def grad(w):
    return L * w
def f(w):
    return L * w * w / 2
show("(58): gamma L", gamma * L, "<=", 1)
show("(58): 2 alpha gamma", 2 * alpha * gamma, "<=", 1)
w = [w0]
for k in range(E):  # (10) to (12)
    w.append((1 - alpha * gamma) * w[k] + alpha * gamma * w0 - gamma * grad(w[k]))
x, y = w0 - w[1], grad(w[1])
show("w_1", w[1], "=", 0)
show("x = w_0 - w_1", x, "=", 1)
show("y = gradient at w_1", y, "=", 0)
left = Q(L) / 2 * (alpha * gamma * x - gamma * y) ** 2
printed = gamma**2 * L / 2 * y**2 + gamma**2 * alpha**2 * L / 8 * x**2
show("left side of (76) against the printed right side", left, ">", printed)
for s in (Q(1, 3), Q(1), Q(3)):
    right = Q(L) / 2 * ((1 + s) * (alpha * gamma * x) ** 2 + (1 + 1 / s) * (gamma * y) ** 2)
    show(f"with 1 + s and 1 + 1/s, s = {s}", left, "<=", right)
G2 = max(grad(v) ** 2 for v in w[:E])
mean = sum(grad(v) ** 2 for v in w[:E]) / E
lemma = (4 / (gamma * E) * (f(w[0]) - f(w[E])) + 2 * gamma * alpha * E**2 * G2 + 8 * gamma**2 * L**2 * E**2 * G2
         + gamma**3 * alpha**2 * L * E**2 * G2 / 2)
show("Lemma 4 itself there", mean, "<=", lemma)
print("VERDICT:", "(76) is impossible as printed; Lemma 4 is not touched" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
