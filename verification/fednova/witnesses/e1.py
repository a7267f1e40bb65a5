"""FedNova (NeurIPS 2020), Theorem 1 in its explicit form (96)-(101), for FedProx with alpha = eta*mu = 1.
F_1, F_2 = (x-1)^2/2, (x+1)^2/2; p = (1/2, 1/2); tau = (1, 2); exact gradients; exact fractions throughout."""
from fractions import Fraction as Q

e, p, tau, eta, mu, L, sigma2, m = (1, -1), (Q(1, 2), Q(1, 2)), (1, 2), Q(1, 4), 4, 1, 0, 2
a = [[(1 - eta * mu) ** (t - 1 - k) for k in range(t)] for t in tau]  # FedProx's a_i, (34)
n1, n2 = [sum(v) for v in a], [sum(z * z for z in v) for v in a]  # |a_i|_1 and |a_i|_2^2
tau_eff = sum(p[i] * n1[i] for i in (0, 1))  # (6)
w = [p[i] * n1[i] / tau_eff for i in (0, 1)]  # (6)
A = m * tau_eff * sum(w[i] ** 2 * n2[i] / n1[i] ** 2 for i in (0, 1))  # (93)
B = sum(w[i] * (n2[i] - a[i][-1] ** 2) for i in (0, 1))  # (94)
C = max(n1[i] * (n1[i] - a[i][-1]) for i in (0, 1))  # (95)
beta2, kappa2, x0, checks = 1, 4 * w[0] * w[1], Q(1, 7), []
def local(i, x):  # y_0 .. y_tau of client i, (31)
    y = [x]
    for _ in range(tau[i]):
        y.append(y[-1] - eta * (y[-1] - e[i] + mu * (y[-1] - x)))
    return y
def server(x):  # x + sum_i p_i Delta_i
    return x + sum(p[i] * (local(i, x)[-1] - x) for i in (0, 1))
def rhs(T):  # (97); gap = x0^2/2, since the surrogate is (x^2+1)/2
    noise = 4 * eta * L * sigma2 * A / m + 6 * (eta * L) ** 2 * sigma2 * B
    return 4 * (x0**2 / 2) / (eta * tau_eff * T) + noise + 12 * (eta * L) ** 2 * kappa2 * C
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
print(f"L={L} sigma={sigma2} w={w[0]},{w[1]} tau_eff={tau_eff} A={A} B={B} C={C} beta^2=1 kappa^2={kappa2}")
show(f"a_1, a_2 = {[[int(z) for z in v] for v in a]}, smallest entry", 0, "<=", min(a[0] + a[1]))
for x in (Q(0), Q(1), Q(5, 3)):  # quadratics in x that agree at three points are equal
    show(f"A3 at x={x}", sum(w[i] * (x - e[i]) ** 2 for i in (0, 1)), "=", beta2 * x**2 + kappa2)
show("(101), (2 eta L max|a|_1)^2 (2 beta^2+1)", (2 * eta * L * max(n1)) ** 2 * (2 * beta2 + 1), "<=", 1)
show("(101), 2 eta L tau_eff", 2 * eta * L * tau_eff, "<=", 1)
show("one FedProx round from x0=1/7, so |grad F~|^2=1/49 in every round", server(x0), "=", x0)
show("slope of the affine round map (so every start tends to 1/7)", server(1) - server(0), "=", Q(25, 32))
for T in (9, 100, 10**6):
    show(f"(97), T={T}: average = minimum of |grad F~|^2 against the right side", x0**2, ">", rhs(T))
show("cause: (69), i=2, k=1", (x0 - local(1, x0)[1]) ** 2, ">", (eta * a[1][0] * (x0 - e[1])) ** 2)
print("VERDICT:", "all hypotheses hold and (97) fails" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
