"""FedNova (NeurIPS 2020), Section 4.2: 'only in these two special cases' (w = p, identical F_i): no inconsistency.
F_1, F_2 = x^2/2, x^2; p = (1/2, 1/2); FedAvg with tau = (1, 5) exact gradient steps; exact fractions throughout."""
from fractions import Fraction as Q

h, p, tau, eta, checks = (1, 2), (Q(1, 2), Q(1, 2)), (1, 5), Q(1, 10), []
def show(text, left, op, right):
    checks.append({"=": left == right, "!=": left != right, "<": left < right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def server(x):  # one FedAvg round, (2)
    total = x
    for i in (0, 1):
        y = x
        for _ in range(tau[i]):
            y -= eta * h[i] * y
        total += p[i] * (y - x)
    return total
tau_eff = sum(p[i] * tau[i] for i in (0, 1))  # (6)
w = [p[i] * tau[i] / tau_eff for i in (0, 1)]  # (6)
chi2 = sum((p[i] - w[i]) ** 2 / w[i] for i in (0, 1))
print(f"w = {w[0]},{w[1]}, p = {p[0]},{p[1]}, chi^2 = {chi2}")
show("first case excluded: w_1 against p_1", w[0], "!=", p[0])
show("second case excluded: grad F_1(1) against grad F_2(1)", h[0], "!=", h[1])
xw, xs = Q(0), Q(0)
show("grad F~ at x_w = 0 (F~ is strictly convex)", sum(w[i] * h[i] * xw for i in (0, 1)), "=", 0)
show("grad F at x* = 0 (F is strictly convex)", sum(p[i] * h[i] * xs for i in (0, 1)), "=", 0)
show("no inconsistency: x_w against x*", xw, "=", xs)
beta2 = sum(w[i] * h[i] ** 2 for i in (0, 1)) / sum(w[i] * h[i] for i in (0, 1)) ** 2
for x in (Q(1), Q(-3)):
    show(f"A3 with kappa^2 = 0, beta^2 = {beta2}, x={x}", sum(w[i] * (h[i] * x) ** 2 for i in (0, 1)), "=",
         beta2 * sum(w[i] * h[i] * x for i in (0, 1)) ** 2)
show("FedAvg's round at x* = 0, for this and every other eta", server(Q(0)), "=", 0)
show("and it converges: |factor|^2", server(Q(1)) ** 2, "<", 1)
w3 = [Q(1, 3) * t / sum(Q(s, 3) for s in (1, 3, 2)) for t in (1, 3, 2)]  # (6): three clients, p = 1/3, F_1 = F_2 = (x-1)^2/2
show("w_1 against p_1", w3[0], "!=", Q(1, 3))
for x in (Q(0), Q(2)):  # F_3 = (x+1)^2, gradients are affine: F~ and F differ by a constant only
    g3 = (x - 1, x - 1, 2 * (x + 1))
    show(f"grad F~ against grad F at {x}", sum(a * b for a, b in zip(w3, g3, strict=True)), "=", sum(g3) / 3)
print("VERDICT:", "w != p, F_1 != F_2, and no inconsistency" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
