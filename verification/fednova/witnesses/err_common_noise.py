"""FedNova (NeurIPS 2020): Assumptions 1 to 3 allow noise that all clients share, and the bounds then fail.
m = 64 clients F_i = x^2/2, p = 1/m, tau = 1; in each round one noise value, +1 or -1, for all; exact fractions throughout."""
from fractions import Fraction as Q

m, L, sigma2, beta2, kappa2, tau_eff, A, B, C, checks = 64, 1, 1, 1, 0, 1, 1, 0, 0, []  # a_i = [1], w = p = 1/m
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def server(x, noise, eta):  # rule (12) = plain averaging: x + sum_i p_i Delta_i
    return x + sum(Q(1, m) * ((x - eta * (x + v)) - x) for v in noise)
def following(second, eta):  # E x^2 after a round, whatever E x: the pushes +-eta cancel
    both = [(server(Q(1), n, eta) - server(Q(0), n, eta), server(Q(0), n, eta)) for n in rounds]
    return sum(a * a * second + b * b for a, b in both) / 2
rounds = [[1] * m, [-1] * m]  # equally likely
show("A2, each client: mean of its noise", max(abs(sum(r[i] for r in rounds)) for i in range(m)), "=", 0)
show("A2, each client: its variance", max(Q(sum(r[i] ** 2 for r in rounds), 2) for i in range(m)), "<=", sigma2)
show("A3 at x=3 (one objective): sum_i w_i |grad F_i|^2", sum(Q(1, m) * 9 for _ in range(m)), "=", beta2 * 9 + kappa2)
show("A = m tau_eff sum_i w_i^2 |a_i|_2^2/|a_i|_1^2", m * tau_eff * sum(Q(1, m) ** 2 for _ in range(m)), "=", A)
show("(59): cross term of clients 1 and 2, not 0", Q(sum(r[0] * r[1] for r in rounds), 2), "=", 1)
square = sum((sum(r) / Q(m)) ** 2 for r in rounds) / 2
show("(61), and (163) with q = m, at x = 0, where h_i = 0: E|sum w_i d_i|^2", square, ">", 2 * sigma2 * m * Q(1, m) ** 2)
eta = Q(1, 10)
show("(101): (2 eta L)^2 (2 beta^2+1)", (2 * eta * L) ** 2 * 3, "<=", 1)
show("stationary E|grad F|^2 = 1/19 of the rounds", following(Q(1, 19), eta), "=", Q(1, 19))
show("(97), (147) for T to infinity", Q(1, 19), ">", 4 * eta * L * sigma2 * A / m)
show("(10), twice it with chi^2 = 0", Q(1, 19), ">", 2 * 4 * eta * L * sigma2 * A / m)
eta, T, root, second, total, x0 = Q(1, 4), 1024, 256, Q(3, 8) ** 2, 0, Q(3, 8)  # (8) at its own step
show("prescribed eta^2 taubar T", eta**2 * T, "=", m)
show("(101) there", (2 * eta * L) ** 2 * 3, "<=", 1)
least = min(second, Q(1, 7))  # E x^2 moves from 9/64 towards 1/7 monotonically
show("stationary value there", following(Q(1, 7), eta), "=", Q(1, 7))
show("(8) and Corollary 1, the least E|grad F|^2 from x0 = 3/8 or -3/8", least, ">", (4 * x0**2 / 2 + 4 * L * sigma2 * A) / root)
eta = Q(1, 13)
show("(182), q = m: 6 tau_eff eta L (1 + beta^2/q)", 6 * eta * (1 + Q(1, m)), "<=", Q(1, 2))
show("(182): stationary value 1/25", following(Q(1, 25), eta), "=", Q(1, 25))
show("(182) for T to infinity", Q(1, 25), ">", 8 * tau_eff * eta * L * sigma2 / m)
print("VERDICT:", "A1-A3 hold; (61), (163), (8), (10), (97), (147), (182) fail" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
