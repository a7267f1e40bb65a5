"""FedNova (NeurIPS 2020), Theorem 2, eq (10), for FedProx with alpha = eta*mu = 1: w = p, so chi^2 = 0 and F~ = F.
F_1, F_2 = (x-1)^2/2, (x+1)^2/2; p = (1/2, 1/2); tau = (1, 2); exact gradients; exact fractions throughout."""
from fractions import Fraction as Q

e, p, tau, eta, mu, L, sigma2, m = (1, -1), (Q(1, 2), Q(1, 2)), (1, 2), Q(1, 4), 4, 1, 0, 2
a = [[(1 - eta * mu) ** (t - 1 - k) for k in range(t)] for t in tau]  # FedProx's a_i, (34)
n1, n2 = [sum(v) for v in a], [sum(z * z for z in v) for v in a]
tau_eff = sum(p[i] * n1[i] for i in (0, 1))  # (6)
w = [p[i] * n1[i] / tau_eff for i in (0, 1)]  # (6)
chi2 = sum((p[i] - w[i]) ** 2 / w[i] for i in (0, 1))
A = m * tau_eff * sum(w[i] ** 2 * n2[i] / n1[i] ** 2 for i in (0, 1))  # (93)
B = sum(w[i] * (n2[i] - a[i][-1] ** 2) for i in (0, 1))  # (94)
C = max(n1[i] * (n1[i] - a[i][-1]) for i in (0, 1))  # (95)
beta2, kappa2, x0, checks = 1, 4 * w[0] * w[1], Q(1, 7), []
def server(x):  # one FedProx round, (31) and (2)
    total = x
    for i in (0, 1):
        y = x
        for _ in range(tau[i]):
            y -= eta * (y - e[i] + mu * (y - x))
        total += p[i] * (y - x)
    return total
def rhs(T):  # (10) with eps_opt = right side of (97); the gap is x0^2/2, since F~ = (x^2+1)/2
    eps = 4 * (x0**2 / 2) / (eta * tau_eff * T) + 4 * eta * L * sigma2 * A / m + 6 * (eta * L) ** 2 * sigma2 * B
    eps += 12 * (eta * L) ** 2 * kappa2 * C
    return 2 * (chi2 * (beta2 - 1) + 1) * eps + 2 * chi2 * kappa2
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
print(f"L=1 sigma=0 w={w[0]},{w[1]} tau_eff={tau_eff} A={A} B={B} C={C} chi^2={chi2} beta^2=1 kappa^2={kappa2}")
show("smallest entry of a_1, a_2", 0, "<=", min(a[0] + a[1]))
for x in (Q(0), Q(1), Q(5, 3)):  # quadratics in x that agree at three points are equal
    show(f"A3 at x={x}", sum(w[i] * (x - e[i]) ** 2 for i in (0, 1)), "=", beta2 * x**2 + kappa2)
show("(101), (2 eta L max|a|_1)^2 (2 beta^2+1)", (2 * eta * L * max(n1)) ** 2 * (2 * beta2 + 1), "<=", 1)
show("(101), 2 eta L tau_eff", 2 * eta * L * tau_eff, "<=", 1)
show("one round from x0=1/7, so |grad F|^2=1/49 in every round", server(x0), "=", x0)
for T in (20, 100, 10**6):
    show(f"(10), T={T}: minimum over rounds of |grad F|^2 against the right side", x0**2, ">", rhs(T))
print("VERDICT:", "all hypotheses hold and (10) fails" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
