"""FOCUS (arXiv 2503.20117v3), (110): eta <= 2q/(3N(8 L^2/mu + mu/2)) is said to give
(1 - eta mu N/2)(1 - 8 eta L^2 N/mu) >= 1 - q/3. N = 2, L = mu = 1, q = 1/2. Exact fractions."""
from fractions import Fraction as Q

N, L, mu, q, checks = 2, Q(1), Q(1), Q(1, 2), []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, "<": left < right}[op])
    print(f"{text}:  {left} = {float(left):.4f} {op} {right} = {float(right):.4f}  [{checks[-1]}]")
def product(eta):
    return (1 - eta * mu * N / 2) * (1 - 8 * eta * L**2 * N / mu)
bound = 2 * q / (3 * N * (8 * L**2 / mu + mu / 2))
show("0 < mu <= L", mu, "<=", L)
show("q_min <= 1/N", q, "<=", Q(1, N))
show("eta at the printed bound", bound, "=", Q(1, 51) * 1)
show("the product against 1 - q/3", product(bound), "<", 1 - q / 3)
show("at half the step: 1 - q/3 against the product", 1 - q / 3, "<=", product(bound / 2))
print("VERDICT:", "(110) fails at its own step and holds at half of it" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
