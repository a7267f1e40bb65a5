"""FOCUS (arXiv 2503.20117v3), (3): "|x^o - x*|^2 = Omega((tau-1) eta) |x*|^2" for the point x^o where FedAvg stops. Full participation,
f_i = h_i (x - c_i)^2/2 on the line, eta = 1/10, tau = 3. Exact fractions throughout."""
from fractions import Fraction as Q

tau, checks = 3, []
def show(text, left, op, right):
    checks.append({"<=": left <= right, "=": left == right, "<": left < right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def one_round(h, c, eta, x):  # (2a)-(2c) with everybody
    ends = [x] * len(h)
    for _ in range(tau):
        ends = [y - eta * a * (y - b) for y, a, b in zip(ends, h, c)]
    return sum(ends) / len(ends)
def stop(h, c, eta):  # the round is affine: x^o = shift/(1 - slope), and |slope| < 1, so it is the limit from every start
    shift = one_round(h, c, eta, Q(0))
    slope = one_round(h, c, eta, Q(1)) - shift
    assert abs(slope) < 1
    return shift / (1 - slope)
def best(h, c):
    return sum(a * b for a, b in zip(h, c)) / Q(sum(h))
h, c, eta = (2, 2), (3, 1), Q(1, 10)
show("strongly convex: 0 against mu", 0, "<", min(h))
show("eta against 1/L", eta, "<=", Q(1, max(h)))
show("several local steps: 2 against tau", 2, "<=", tau)
xs = best(h, c)
show("heterogeneous: smallest minimiser against largest", min(c), "<", max(c))
left, right = (stop(h, c, eta) - xs) ** 2, (tau - 1) * eta * xs**2
show("equal Hessians: |x^o - x*|^2", left, "=", 0)
show("0 against (tau-1) eta |x*|^2, times any constant > 0", 0, "<", right)
h, c = (1, 3), (2, -1)
for move in (0, 100):  # the same clients with the origin elsewhere
    d = [v + move for v in c]
    show(f"h = (1,3), origin moved by {move}: bias unchanged", stop(h, d, eta) - best(h, d), "=", stop(h, c, eta) - best(h, c))
show("but the right side changes with the origin", best(h, c) ** 2, "<", best(h, [v + 100 for v in c]) ** 2)
for k in (100, 1000, 10000):
    e = Q(1, k)
    ratio = (stop(h, c, e) - best(h, c)) ** 2 / ((tau - 1) * e * best(h, c) ** 2)
    show(f"h = (1,3), eta = 1/{k}: ratio {float(ratio):.3g} against 11/{k}", ratio, "<=", Q(11, k))
print("VERDICT:", "equal Hessians have no bias, so (3) fails for every constant" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
