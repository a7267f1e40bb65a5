"""FOCUS (arXiv 2503.20117v3), Lemma 5: three identical clients f_i = x^2/2, everybody takes part, tau = 1, stochastic gradients
with independent noises of variance sigma^2 = 1 (the values -1 and 1), start x_0 = x* = 0, g_i = 0, y = 0. Exact fractions."""
from fractions import Fraction as Q
from itertools import product

N, mu, L, tau, sigma2, eta, checks = 3, 1, 1, 1, Q(1), Q(1, 10), []
def show(text, left, op, right):
    checks.append({"<=": left <= right, "=": left == right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
show("step: 128 (tau-1)^2 L^2 N eta against mu", 128 * (tau - 1) ** 2 * L**2 * N * eta, "<=", mu)
show("step: (2 sqrt2 (tau-1) L eta)^2", 8 * ((tau - 1) * L * eta) ** 2, "<=", 1)
show("Assumption 6: mean of the noise", sum((-1, 1)), "=", 0)
show("Assumption 6: variance of the noise", Q((-1) ** 2 + 1**2, 2), "<=", sigma2)
show("q_min = 1/N, no empty round: sum of q_i", N * Q(1, N), "=", 1)
def one_round(x, g, y, noise):  # Algorithm 2, lines 5-12, for tau = 1 and S = everybody
    for i in range(N):
        u, v = x, Q(0)
        gradient = u + noise[i]          # grad f_i(u; xi)
        v, g[i] = v + gradient - g[i], gradient
        y += v
    return x - eta * y
x0, A, B = Q(0), Q(0), Q(0)              # A_0 = |x_0 - x*|^2, B_0 = sum |x_0 - z_i|^2 with z_i = 0
after = [one_round(x0, [Q(0)] * N, Q(0), noise) for noise in product((-1, 1), repeat=N)]
error = sum(x * x for x in after) / len(after)
bound = (1 - eta * mu * N / 2) * A - 2 * eta * N * (1 - 2 * eta * N * L) * Q(0) + 16 * eta * L**2 * N / mu * B + 2 * eta**2 * sigma2
show("E|x_1 - x*|^2 against N eta^2 sigma^2", error, "=", N * eta**2 * sigma2)
show("E|x_1 - x*|^2 against the printed right side", error, ">", bound)
print("VERDICT:", "Lemma 5 fails" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
