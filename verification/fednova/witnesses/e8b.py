"""FedNova (NeurIPS 2020), Corollary 3: from (182) to the rate (155)/(183) a factor tau~ is lost in term 2.
F_1, F_2 = (x-1)^2/2, (x+1)^2/2; p = (1/2, 1/2); one client drawn per round, (153); tau exact gradient steps;
tau_eff = tau~ = tau; T = 100 tau^3, so that eta = sqrt(q/(tau~ T)) = 1/(10 tau^2); exact fractions."""
from fractions import Fraction as Q

L, q, sigma2, beta2, kappa2, checks = 1, 1, 0, 1, 1, []
def show(text, left, op, right):  # the comparison is exact; long fractions are printed as decimals
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    a, b = (str(z) if Q(z).denominator < 10**12 else f"{float(z):.9g}" for z in (left, right))
    print(f"  {text}:  {a} {op} {b}  [{checks[-1]}]")
def server(x, e, tau, eta):  # (153) when the drawn client has F = (y-e)^2/2; |a|_1 = tau, tau_eff = tau
    y = x
    for _ in range(tau):
        y -= eta * (y - e)
    return x - tau * eta * ((x - y) / (eta * tau))
for x in (Q(0), Q(1), Q(5, 3)):  # quadratics in x that agree at three points are equal
    show(f"A3, beta^2=kappa^2=1, x={x}", ((x - 1) ** 2 + (x + 1) ** 2) / 2, "=", beta2 * x**2 + kappa2)
for tau in (10, 100, 1000):
    T, B, C, root, eta = 100 * tau**3, tau - 1, tau * (tau - 1), 10 * tau**2, Q(1, 10 * tau**2)
    s = 1 - (1 - eta) ** tau
    v = s / (2 - s)  # x0^2 = v gives E|grad F|^2 = E x^2 = v in every round, F(x0) - F_inf = v/2
    print(f"tau={tau} T={T} eta={eta} B={B} C={C} L=1 sigma=0; root = sqrt(q tau~ T) = {root}")
    show("root^2 against q tau~ T", root**2, "=", q * tau * T)
    show("step size of (182): eta L", eta * L, "<=", Q(1, 2 * tau))
    show("step size of (182): 6 tau_eff eta L (1+beta^2)", 6 * tau * eta * L * (1 + beta2), "<=", Q(1, 2))
    show("step size of (182): D = 4 eta^2 L^2 C", 4 * (eta * L) ** 2 * C, "<=", Q(1, 12 * beta2 + 1))
    if tau < 1000:
        show("a round from x=1/3, e=1, is (1-s)x+s", server(Q(1, 3), 1, tau, eta), "=", (1 - s) / 3 + s)
    show("E x^2 stationary: (1-s)^2 v + s^2 against v", (1 - s) ** 2 * v + s**2, "=", v)
    term1, term3 = 8 * (v / 2) / (eta * tau * T), 96 * (eta * L) ** 2 * kappa2 * C
    term2 = 8 * tau * eta * L * (sigma2 + 3 * kappa2) / q
    show("term 2 of (182) against 8L(sigma^2+3kappa^2) tau_eff/root", term2, "=", Q(24 * tau, root))
    show("left side v against (182)", v, "<=", term1 + term2 + term3)
    show("v against (182) with term 2 as in (183)", v, ">" if tau > 50 else "<=", term1 + term2 / tau + term3)
    printed = Q(2, root) + Q(q * (B + C), tau * T)
    show(f"v against (155), unit constants (ratio {float(v / printed):.1f})", v, ">", printed)
    show("v against (155) with term 2 times tau~", v, "<=", Q(1 + tau, root) + Q(q * (B + C), tau * T))
print("VERDICT:", "(182) holds; (155)/(183) miss a factor tau~" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
