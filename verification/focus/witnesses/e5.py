"""FOCUS (arXiv 2503.20117v3), Theorem 1 (24): no condition ties eta to tau. f_1 = x^2/2, f_2 = -x^2/4, full participation,
eta = 3q/(32N) = 3/128, tau = 100, Algorithm 1's own start at x_0 = 1. Exact fractions."""
from fractions import Fraction as Q

h, N, L, tau, eta, q, R, checks = (Q(1), Q(-1, 2)), 2, 1, 100, Q(3, 128), Q(1, 2), 16, []
beta = sum(h) / N
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    shown = [str(v) if Q(v).denominator < 10**6 else f"{float(v):.6g}" for v in (left, right)]
    print(f"{text}:  {shown[0]} {op} {shown[1]}  [{checks[-1]}]")
show("Lipschitz gradients: max |f_i''|", max(map(abs, h)), "<=", L)
show("PL: |F'|^2 = (beta x)^2 against 2 beta (F - F*) = (beta x)^2, beta", beta, "=", Q(1, 4))
for name, bound in (("3q/(32N)", 3 * q / (32 * N)), ("q/(12 beta N)", q / (12 * beta * N)), ("q/(16 L^2)", q / (16 * L**2))):
    show(f"eta <= {name}", eta, "<=", bound)
show("eta <= q^1.5/(8 L sqrt N), squared", (8 * L * eta) ** 2 * N, "<=", q**3)
x, y, g, z, F = Q(1), Q(0), [Q(0)] * N, [Q(0)] * N, []
for r in range(R):
    before = (x, list(z))
    for i in range(N):
        u, v = x, Q(0)
        for _ in range(tau):
            gradient = h[i] * u
            v, g[i], z[i] = v + gradient - g[i], gradient, u
            u = u - eta * v
        y = y + v
    x = x - eta * y
    F.append(beta * x**2 / 2)
    if r == 0:                               # Phi_1 = F(x_1) - F* + (1 - 4 eta L^2) B_0, B_0 = sum |x_0 - z_i|^2
        phi = F[0] + (1 - 4 * eta * L**2) * sum((before[0] - zi) ** 2 for zi in before[1])
show(f"F(x_{R}) - F* against (1 - eta beta N)^{R - 1} Phi_1", F[-1], ">", (1 - eta * beta * N) ** (R - 1) * phi)
show("and it grows: last quotient of two gaps", F[-1] / F[-2], ">", 4)
print("VERDICT:", "all printed conditions hold and the iterates diverge" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
