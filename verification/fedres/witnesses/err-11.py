"""Federated Residual Learning, Appendix B: 'the optimal model is w = (1, 1, 0, 0)' under (4). Exact fractions throughout.
For x ~ N(0, I) a linear model u has the expected loss |u - mu_i|^2 + sigma^2 for user i."""
from fractions import Fraction as Q

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "!=": left != right, "<": left < right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
mu = {"A": (1, -1, 1, -1), "B": (1, -1, -1, 1)}  # Example 1: x1 - x2 + x3 - x4 and x1 - x2 - x3 + x4
def excess(models):
    return sum(Q(sum((a - b) ** 2 for a, b in zip(models[k], mu[k], strict=True))) for k in mu) / 2
printed, corrected = (1, 1, 0, 0), (1, -1, 0, 0)
show("second entry of the gradient of (4) at the printed w", sum(2 * (printed[1] - m[1]) for m in mu.values()) / Q(2), "!=", 0)
show("excess loss of (4) at the printed w", excess(dict.fromkeys(mu, printed)), "=", 6)
show("excess loss of (4) at (1, -1, 0, 0)", excess(dict.fromkeys(mu, corrected)), "=", 2)
for j in range(4):
    show(f"gradient of (4) at (1, -1, 0, 0), entry {j + 1}", sum(2 * (corrected[j] - m[j]) for m in mu.values()) / Q(2), "=", 0)
theta = {"A": (0, 0, 1, -1), "B": (0, 0, -1, 1)}
joint = {k: tuple(a + b for a, b in zip(printed, theta[k], strict=True)) for k in mu}
show("excess loss of (1) at Appendix B's w and theta_i", excess(joint), "=", 4)
joint = {k: tuple(a + b for a, b in zip(corrected, theta[k], strict=True)) for k in mu}
show("the same with w = (1, -1, 0, 0)", excess(joint), "=", 0)
print("VERDICT:", "(1, 1, 0, 0) is not optimal: excess 6 against 2" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
