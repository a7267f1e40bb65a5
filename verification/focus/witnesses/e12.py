"""FOCUS (arXiv 2503.20117v3), (93)-(94): sum of |y_k|^2 over the tau - 1 local moves of a participant against
4 (tau-1) L^2 |x - z|^2, for eta <= 1/(2 L sqrt(tau-1)), from Lipschitz gradients alone, as derived and as reused in (95) and (101);
for the strongly convex clients of Lemma 3 (94) is true. f = -x^2/2, tau = 100, eta = .05025 < 1/(2 sqrt 99)."""
from fractions import Fraction as Q

L, tau, eta, x, z, checks = 1, 100, Q(201, 4000), Q(1), Q(0), []
def show(text, left, op, right):
    checks.append({"<=": left <= right, ">": left > right}[op])
    shown = [str(v) if v.denominator < 10**6 else f"{float(v):.8g}" for v in (Q(left), Q(right))]
    print(f"{text}:  {shown[0]} {op} {shown[1]}  [{checks[-1]}]")
def grad(u):
    return -u
def summed(step):                            # y_{k+1} = grad f(u_k) - grad f(z), u_{k+1} = u_k - eta y_{k+1}
    u, total = x, Q(0)
    for _ in range(tau - 1):
        v = grad(u) - grad(z)
        total, u = total + v * v, u - step * v
    return total
show("Lipschitz gradients: |grad f(x) - grad f(z)|", abs(grad(x) - grad(z)), "<=", L * abs(x - z))
show("eta <= 1/(2 L sqrt(tau-1)), squared", (2 * L * eta) ** 2 * (tau - 1), "<=", 1)
right = 4 * (tau - 1) * L**2 * (x - z) ** 2
left = summed(eta)
show("(94): the sum of squares against the bound", left, ">", right)
show("by a factor of more than 402", left / right, ">", 402)
show("at eta = 1/(2L(tau-1)) it holds", summed(Q(1, 2 * (tau - 1))), "<=", right)
print("VERDICT:", "(94) does not follow from Lipschitz gradients" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
