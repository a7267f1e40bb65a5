"""FedNova (NeurIPS 2020), Theorem 3, eq (147), with the proximal solver, alpha = eta*mu = 1, tau_eff = 1.
F_1, F_2 = (x-1)^2/2, (x+1)^2/2; p = (1/2, 1/2); tau = (1, 2) in every round; exact gradients; exact fractions."""
from fractions import Fraction as Q

e, p, tau, eta, mu, L, sigma2, m = (1, -1), (Q(1, 2), Q(1, 2)), (1, 2), Q(1, 4), 4, 1, 0, 2
a = [[(1 - eta * mu) ** (t - 1 - k) for k in range(t)] for t in tau]  # a_i of the proximal solver, (34)
n1, n2 = [sum(v) for v in a], [sum(z * z for z in v) for v in a]
tau_eff = sum(p[i] * n1[i] for i in (0, 1))  # FedNova's default; the same in every round
A = m * tau_eff * sum(p[i] ** 2 * n2[i] / n1[i] ** 2 for i in (0, 1))  # (93) with w = p; averages over equal rounds
B = sum(p[i] * (n2[i] - a[i][-1] ** 2) for i in (0, 1))  # (94)
C = max(n1[i] * (n1[i] - a[i][-1]) for i in (0, 1))  # (95)
beta2, kappa2, x0, checks = 1, 1, Q(1, 7), []
def local(i, x):  # Delta_i, (31)
    y = x
    for _ in range(tau[i]):
        y -= eta * (y - e[i] + mu * (y - x))
    return y - x
def server(x):  # (12): x + tau_eff sum_i p_i Delta_i / |a_i|_1
    return x + tau_eff * sum(p[i] * local(i, x) / n1[i] for i in (0, 1))
def rhs(T):  # (147); gap = x0^2/2, since F = (x^2+1)/2
    noise = 4 * eta * L * sigma2 * A / m + 6 * (eta * L) ** 2 * sigma2 * B
    return 4 * (x0**2 / 2) / (eta * tau_eff * T) + noise + 12 * (eta * L) ** 2 * kappa2 * C
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
print(f"L={L} sigma={sigma2} tau_eff={tau_eff} A={A} B={B} C={C} beta^2={beta2} kappa^2={kappa2} eta={eta}")
show("smallest entry of a_1, a_2", 0, "<=", min(a[0] + a[1]))
for x in (Q(0), Q(1), Q(5, 3)):  # quadratics in x that agree at three points are equal
    show(f"A3 with w = p at x={x}", sum(p[i] * (x - e[i]) ** 2 for i in (0, 1)), "=", beta2 * x**2 + kappa2)
show("(152), (2 eta L max|a|_1)^2 (2 beta^2+1)", (2 * eta * L * max(n1)) ** 2 * (2 * beta2 + 1), "<=", 1)
show("(152), 2 eta L tau_eff", 2 * eta * L * tau_eff, "<=", 1)
show("one FedNova round from x0=1/7, so |grad F|^2=1/49 in every round", server(x0), "=", x0)
for T in (20, 100, 10**6):
    show(f"(147), T={T}: average = minimum of |grad F|^2 against the right side", x0**2, ">", rhs(T))
print("VERDICT:", "all hypotheses hold and (147) fails" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
