"""FOCUS (arXiv 2503.20117v3), Lemma 3 (87) at tau = 1, where its only step condition eta <= 1/(3L(tau-1)) is empty.
N = 2, f_i = (x - c_i)^2/2, c = (1, -1), one uniform client per round, eta = 40, Algorithm 1's own start at x_0 = x*."""
from fractions import Fraction as Q

c, eta, N, tau, L, mu, x, checks = (1, -1), Q(40), 2, 1, 1, 1, Q(0), []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
show("Assumptions 2 and 3, f'' = 1: mu and L", mu, "=", L)
show("one of two clients, p_i = q_i = 1/2 and they sum to", Q(1, 2) + Q(1, 2), "=", 1)
show("eta <= 1/(3L(tau-1)), cleared of the denominator", 3 * L * (tau - 1) * eta, "<=", 1)
show("x_0 is the minimiser of F: sum of gradients", sum(x - ci for ci in c), "=", 0)
g, y = [Q(0), Q(0)], Q(0)                    # y = 0, g_i = 0: the stored gradient 0 belongs to the point z_i = c_i
z = [g[i] + c[i] for i in (0, 1)]
B = sum((x - zi) ** 2 for zi in z)
show("row 0 of the consensus error, (eta y)^2", (eta * y) ** 2, "=", 0)
left = Q(0)
for i in (0, 1):                             # the set {i}, probability 1/2
    v = (x - c[i]) - g[i]                    # tau = 1: one gradient, v = grad f_i(x) - g_i
    left += Q(1, 2) * (x - eta * (y + v)) ** 2
gap = Q(0)                                   # F(x_0) - F*, since x_0 = x*
right = (1 - eta * mu * N / 2) * x**2 - 2 * eta * N * (1 - 2 * eta * N * L) * gap + 8 * eta * L**2 * N / mu * B
show("(87): E|x_1 - x*|^2 against the right side", left, ">", right)
show("left side", left, "=", 1600)
print("VERDICT:", "the hypotheses hold and Lemma 3 fails at tau = 1" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
