"""FOCUS (arXiv 2503.20117v3), the noise constant 8 eta^2 N/q of Lemma 6 with local steps: one client f = x^2/2 that always takes part,
tau = 4, eta = 1/64, sigma^2 = 1, start x_0 = x* = 0, g = 0. Every number is a combination of independent noises: a list of
coefficients, its mean square the sum of their squares. Exact."""
from fractions import Fraction as Q

N, L, tau, q, sigma2, eta, checks = 1, 1, 4, 1, 1, Q(1, 64), []
def show(text, left, op, right):
    checks.append({"<=": left <= right, "=": left == right, ">": left > right}[op])
    print(f"{text}:  {float(left):.10g} {op} {float(right):.10g}  [{checks[-1]}]")
show("Lemma 6: eta^2 against q^3/(96 L^2 N)", eta**2, "<=", Q(q**3, 96 * L**2 * N))
show("Lemma 6: eta^2 against q^3/(128 L^2 (tau-1)^2)", eta**2, "<=", Q(q**3, 128 * L**2 * (tau - 1) ** 2))
show("smaller still: eta^2 against q^3/(8LN)^2", eta**2, "<=", Q(q**3, 64 * L**2 * N**2))
show("no empty round: sum of q_i", N * q, "=", 1)
size = 2 * tau                                    # gradients of two rounds
def plus(a, b, factor=1):
    return [v + factor * w for v, w in zip(a, b, strict=True)]
def square(a):
    return sigma2 * sum(v * v for v in a)
zero = [Q(0)] * size
x, z, g, y, drawn, B = zero, zero, zero, zero, 0, [Q(0)]
for _ in range(2):
    u, v = x, zero
    for _ in range(tau):
        noise = [Q(int(k == drawn)) for k in range(size)]
        z, new, drawn = u, plus(u, noise), drawn + 1   # stochastic gradient u + noise at the point z
        v, g = plus(v, plus(new, g, -1)), new
        u = plus(u, v, -eta)
    y = plus(y, v)
    x = plus(x, y, -eta)
    B.append(square(plus(x, z, -1)))
gradient = L**2 * square(x)
show("round 2: E B against (1 - q/3) E B + 8 eta^2 N^2/q E|grad F|^2 + 8 eta^2 N/q sigma^2", B[2], ">",
     (1 - Q(q, 3)) * B[1] + 8 * eta**2 * N**2 / q * gradient + 8 * eta**2 * N / q * sigma2)
show("the same with 9 eta^2 N^3/q on the gradient", B[2], ">",
     (1 - Q(q, 3)) * B[1] + 9 * eta**2 * N**3 / q * gradient + 8 * eta**2 * N / q * sigma2)
print("VERDICT:", "the printed noise constant lacks the local steps" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
