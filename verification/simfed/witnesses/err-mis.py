"""Misalignment mis(m, n) = (1 - m'n)/2 of unit messages is called a metric: it breaks the triangle inequality, its root does not.
Messages at 0, 60 and 120 degrees with rational coordinates in four dimensions; exact fractions throughout."""
from fractions import Fraction as Q

half, checks = Q(1, 2), []
m = [[1, 0, 0, 0], [half] * 4, [-half, half, half, half]]
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def dot(x, y):
    return sum(a * b for a, b in zip(x, y))
def mis(x, y):
    return (1 - dot(x, y)) / Q(2)
for k, v in enumerate(m):
    show(f"message {k} has norm 1, squared", dot(v, v), "=", 1)
a, b, c = mis(m[0], m[2]), mis(m[0], m[1]), mis(m[1], m[2])
for name, x, y, found in (("0, 2", m[0], m[2], a), ("0, 1", m[0], m[1], b), ("1, 2", m[1], m[2], c)):
    diff = [s - t for s, t in zip(x, y)]
    show(f"mis({name}) is a quarter of the squared distance", found, "=", dot(diff, diff) / 4)
show("the way round is shorter", a, ">", b + c)
show("roots: (a - b - c)^2 against 4 b c, so sqrt a <= sqrt b + sqrt c", (a - b - c) ** 2, "<=", 4 * b * c)
show("identical messages: mis, which has no logarithm", mis(m[0], m[0]), "=", 0)
print("VERDICT:", "mis is no metric, its square root obeys the inequality" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
