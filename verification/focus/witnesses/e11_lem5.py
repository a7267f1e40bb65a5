"""FOCUS (arXiv 2503.20117v3), Lemma 5 at tau = 1, where its step conditions are empty: f_i = (x - c_i)^2/2, c = (1, -1), one of the
two clients a round (each with probability 1/2), no noise, eta = 80, start x_0 = x* = 0 with g_i = 0, y = 0. Exact fractions."""
from fractions import Fraction as Q

c, N, mu, L, tau, sigma2, eta, checks = (Q(1), Q(-1)), 2, 1, 1, 1, Q(0), Q(80), []
def show(text, left, op, right):
    checks.append({"<=": left <= right, "=": left == right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
show("step: 128 (tau-1)^2 L^2 N eta against mu", 128 * (tau - 1) ** 2 * L**2 * N * eta, "<=", mu)
show("step: (2 sqrt2 (tau-1) L eta)^2", 8 * ((tau - 1) * L * eta) ** 2, "<=", 1)
show("optimum: sum of gradients at x* = 0", sum(0 - v for v in c), "=", 0)
show("no empty round: sum of q_i = 1/2 + 1/2", Q(1, 2) + Q(1, 2), "=", 1)
def one_round(x, i):  # Algorithm 2 for tau = 1, S = {i}, from g = 0 and y = 0
    v = (x - c[i]) - 0
    y = Q(0) + v
    return x - eta * y
x0 = Q(0)
A, gap = x0**2, Q(0)                     # |x_0 - x*|^2 and F(x_0) - F*
B = sum((x0 - z) ** 2 for z in c)        # g_i = 0 is the gradient at z_i = c_i
error = sum(one_round(x0, i) ** 2 for i in range(N)) / N
bound = (1 - eta * mu * N / 2) * A - 2 * eta * N * (1 - 2 * eta * N * L) * gap + 16 * eta * L**2 * N / mu * B + 2 * eta**2 * sigma2
show("E|x_1 - x*|^2 against the printed right side", error, ">", bound)
print("VERDICT:", "Lemma 5 fails without noise at tau = 1" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
