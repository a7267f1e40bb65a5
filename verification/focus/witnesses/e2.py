"""FOCUS (arXiv 2503.20117v3), Theorem 3 (67): FedAvg with N = 2, f_i = (x - b_i)^2/20, so mu = L = 1/10, b = (1, -1), tau = 1,
one client a round, client 1 with probability 9/10. Exact fractions throughout."""
from fractions import Fraction as Q

h, b, q, eta, tau, N, checks = Q(1, 10), (1, -1), (Q(9, 10), Q(1, 10)), Q(1, 100), 1, 2, []
mu, L, u = h, h, (Q(1, 2), Q(1, 2))
def show(text, left, op, right):
    checks.append({"<=": left <= right, "=": left == right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  ({float(left):.5g}, {float(right):.5g})  [{checks[-1]}]")
def grad(i, x):
    return h * (x - b[i])
show("no empty round: sum of q", sum(q), "=", 1)
show("step: eta against 1/(3L)", eta, "<=", 1 / (3 * L))
show("local steps: 4 (tau-1) L eta", 4 * (tau - 1) * L * eta, "<=", 1)
xs = sum(b) / Q(N)
show("x* = 0, gradient of F there", sum(grad(i, xs) for i in (0, 1)), "=", 0)
for x in (Q(0), Q(7), Q(-3)):  # the differences do not depend on x: sigma_G^2 and delta_q^2 at every consensus point
    F = sum(grad(i, x) for i in (0, 1)) / N
    sigma2 = max((grad(i, x) - F) ** 2 for i in (0, 1))
    delta2 = (sum(q[i] * grad(i, x) for i in (0, 1)) - F) ** 2
    show(f"sigma_G^2 at x = {x}", sigma2, "=", Q(1, 100))
    show(f"delta_q^2 at x = {x}", delta2, "=", Q(64, 10000))
def moments(m1, m2):  # E x and E x^2 after one round x <- x - eta grad f_S(x) = (1 - a) x + a b_S
    a = eta * h
    return ((1 - a) * m1 + a * sum(q[i] * b[i] for i in (0, 1)),
            (1 - a) ** 2 * m2 + 2 * a * (1 - a) * m1 * sum(q[i] * b[i] for i in (0, 1)) + a * a * sum(q[i] * b[i] ** 2 for i in (0, 1)))
a, mean = eta * h, q[0] * b[0] + q[1] * b[1]
second = (2 * a * (1 - a) * mean * mean + a * a) / (1 - (1 - a) ** 2)
show("stationary first moment stays", moments(mean, second)[0], "=", mean)
show("stationary second moment stays (its factor (1-a)^2 < 1, so it is the limit)", moments(mean, second)[1], "=", second)
kappa = L / mu
tail = 16 * eta * tau**2 / mu
def printed(d2):
    return 80 * (eta * kappa * L * (tau - 1)) ** 2 * (d2 + sigma2) + 10 * kappa * d2 + tail * (d2 + sigma2)
show("limit of E|x - x*|^2 against (67)", second, ">", printed(delta2))
show("and against (67) at the larger delta_q = sigma_G", second, ">", printed(sigma2))
show("with 10 delta_q^2/mu^2 instead", second, "<=", 10 * delta2 / mu**2 + tail * (delta2 + sigma2))
print("VERDICT:", "all hypotheses hold and (67) fails" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
