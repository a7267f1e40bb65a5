"""FedNova (NeurIPS 2020), Section 4.2, linear speed-up read off (8): FedProx, alpha = eta*mu = 1, does not obey it.
m = 1014 clients, half F = (x-1)^2/2 with 1 step, half F = (x+1)^2/2 with 2 steps; T = m^2; x_0 = 1; exact fractions."""
from fractions import Fraction as Q

m, L, sigma2, x0, checks = 1014, 1, 0, Q(1), []
e, tau = [1] * (m // 2) + [-1] * (m // 2), [1] * (m // 2) + [2] * (m // 2)
T, taubar, eta, mu, p = m * m, Q(sum(tau), m), Q(1, 39), 39, Q(1, m)
a = [[(1 - eta * mu) ** (t - 1 - k) for k in range(t)] for t in tau]  # (34), with 0^0 = 1
n1, n2 = [sum(v) for v in a], [sum(z * z for z in v) for v in a]
tau_eff = sum(p * v for v in n1)  # (6)
w = [p * v / tau_eff for v in n1]  # (6)
A = m * tau_eff * sum(w[i] ** 2 * n2[i] / n1[i] ** 2 for i in range(m))  # (93)
B = sum(w[i] * (n2[i] - a[i][-1] ** 2) for i in range(m))  # (94)
C = max(n1[i] * (n1[i] - a[i][-1]) for i in range(m))  # (95)
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, "<": left < right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def server(x):  # one FedProx round, every client run: x + sum_i p (y_tau - x), steps (31)
    total = Q(0)
    for i in range(m):
        y = x
        for _ in range(tau[i]):
            y -= eta * (y - e[i] + mu * (y - x))
        total += p * (y - x)
    return x + total
print(f"m={m} T={T} taubar={taubar} eta={eta} L=1 sigma=0 tau_eff={tau_eff} A={A} B={B} C={C} w_i={w[0]},{w[-1]}")
show("eta^2 taubar T against m", eta**2 * taubar * T, "=", m)
for x in (Q(0), Q(1), Q(5, 3)):  # quadratics in x that agree at three points are equal
    show(f"A3, beta^2 = kappa^2 = 1, at x={x}", sum(w[i] * (x - e[i]) ** 2 for i in range(m)), "=", x**2 + 1)
show("(101)", max((2 * eta * L * max(n1)) ** 2 * 3, 2 * eta * L * tau_eff), "<=", 1)
slope, low = server(Q(1)) - server(Q(0)), Q(1, 77)
show("slope of the round, an affine map", 0, "<", slope)
show("fixed point; iterates from x_0 = 1 stay above it", server(low), "=", low)
root, gap = m / eta, x0**2 / 2  # sqrt(m taubar T) and F~(x0) - F~_inf, as F~ = (x^2+1)/2 and grad F~ = x
first, last = (4 * gap * taubar / tau_eff + 4 * L * A * sigma2) / root, 6 * L**2 * m * (B * sigma2 + 2 * C) / (taubar * T)
show("A is bounded", A, "<=", 1)
show("T is large: the last two terms of (8) against the first two", last, "<=", first)
show("twice the first two terms: every |grad F~(x_t)|^2 = x_t^2 is at least", low**2, ">", 2 * first)
print("VERDICT:", "(8) is led by its first two terms and the clients do not reach twice them" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
