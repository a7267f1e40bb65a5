"""FedNova (NeurIPS 2020), Corollary 3, form (182), for FedProx with alpha = eta*mu = 1, tau_eff = sum p_i|a_i|_1.
m = q = 2000, p = 1/m: 1000 clients F = (x-1)^2/2 with tau = 1, 1000 with F = (x+1)^2/2 and tau = 2; fresh runs, (153);
exact gradients; exact fractions. E|grad F|^2 = E x^2 >= (E x)^2, and E x follows a closed rule."""
from fractions import Fraction as Q

m = q = 2000
eta, L, sigma2, e, tau, group, checks = Q(2, 25), 1, 0, (1, -1), (1, 2), (Q(1, 2), Q(1, 2)), []
mu = 1 / eta
a = [[(1 - eta * mu) ** (t - 1 - k) for k in range(t)] for t in tau]  # FedProx's a_i, (34)
n1, n2 = [sum(v) for v in a], [sum(z * z for z in v) for v in a]
tau_eff = sum(p * s for p, s in zip(group, n1, strict=True))
B = sum(group[i] * (n2[i] - a[i][-1] ** 2) for i in (0, 1))  # (94)
C = max(n1[i] * (n1[i] - a[i][-1]) for i in (0, 1))  # (95)
beta2, kappa2, x0 = 1, 1, Q(1, 24)
D = 4 * (eta * L) ** 2 * C
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def change(i, x):  # Delta_i after tau_i steps (31)
    y = x
    for _ in range(tau[i]):
        y -= eta * (y - e[i] + mu * (y - x))
    return y - x
def mean_round(x):  # E over the draws of (153); affine in x, so it maps E x to the next E x
    return x + tau_eff * sum(group[i] * change(i, x) / n1[i] for i in (0, 1))
def rhs(T):  # (182); gap = x0^2/2, since F = (x^2+1)/2
    noise = 8 * tau_eff * eta * L * (sigma2 + 3 * kappa2) / q + 48 * (eta * L) ** 2 * sigma2 * B
    return 8 * (x0**2 / 2) / (eta * tau_eff * T) + noise + 96 * (eta * L) ** 2 * kappa2 * C
print(f"m={m} q={q} eta={eta} tau_eff={tau_eff} B={B} C={C} L=1 sigma=0 beta^2=kappa^2=1")
show(f"a_1, a_2 = {[[int(z) for z in v] for v in a]}, smallest entry", 0, "<=", min(a[0] + a[1]))
for x in (Q(0), Q(1), Q(5, 3)):  # quadratics in x that agree at three points are equal
    show(f"A3 at x={x}", sum(group[i] * (x - e[i]) ** 2 for i in (0, 1)), "=", beta2 * x**2 + kappa2)
show("step size: 2 tau_eff eta L", 2 * tau_eff * eta * L, "<=", 1)
show("server step: 6 tau_eff eta L (1 + beta^2/q)", 6 * tau_eff * eta * L * (1 + Q(beta2, q)), "<=", Q(1, 2))
show("D = 4 eta^2 L^2 C", D, "<=", Q(1, 12 * beta2 + 1))
show("the mean started at 1/24 stays there", mean_round(x0), "=", x0)
for T in (10**3, 10**6):
    show(f"(182), T={T}: average of E|grad F|^2 is at least (E x)^2", x0**2, ">", rhs(T))
print("VERDICT:", "all hypotheses hold and (182) fails" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
