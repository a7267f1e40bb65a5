"""FedNova (NeurIPS 2020), App C, eq (69): x - y_k = eta sum_{s<k} a_s g(y_s) for a client with accumulation vector a.
FedProx (31)-(34) and local momentum (35)-(43); three local steps; free gradients g_0, g_1; exact fractions."""
from fractions import Fraction as Q

tau, eta, alpha, rho, checks = 3, Q(1, 8), Q(1, 2), Q(1, 2), []
a = {"proximal": [(1 - alpha) ** (tau - 1 - k) for k in range(tau)],  # (34)
     "momentum": [(1 - rho ** (tau - k)) / (1 - rho) for k in range(tau)],  # (43)
     "vanilla": [Q(1)] * tau}
def local(solver, g):  # y_0 .. y_tau from x = 0 when the stochastic gradients are g
    y, u = [Q(0)], Q(0)
    for v in g:
        u = rho * u + v if solver == "momentum" else v
        y.append(y[-1] - eta * u - (alpha * (y[-1] - y[0]) if solver == "proximal" else 0))
    return y
def show(text, left, op, right):
    checks.append({"=": left == right, "!=": left != right, "<": left < right, ">": left > right}[op])
    print(f"  {text}:  {left} {op} {right}  [{checks[-1]}]")
def square(z):
    return z * z
for solver, op in (("vanilla", "="), ("proximal", ">"), ("momentum", "<")):
    print(f"{solver}: a = {[str(v) for v in a[solver]]}, alpha = {alpha}, rho = {rho}, eta = {eta}")
    for s in range(tau):  # after all tau steps the coefficients are a: the vector belongs to this solver
        unit = local(solver, [Q(int(k == s)) for k in range(tau)])
        show(f"coefficient of g_{s} in (x - y_tau)/eta against a_{s}, >= 0", -unit[tau] / eta, "=", a[solver][s])
    for k in (1, 2):
        for g in ([Q(1), Q(1), Q(0)], [Q(2), Q(3), Q(0)]):
            y = local(solver, g)
            printed = square(eta * sum(a[solver][s] * g[s] for s in range(k)))
            show(f"(69), k={k}, g = ({g[0]}, {g[1]}): |x - y_k|^2 against printed", square(y[0] - y[k]), op, printed)
print("fair reading, prefix coefficients b^(k): proximal (1-alpha)^(k-1-s), momentum (1-rho^(k-s))/(1-rho)")
for solver, b in (("proximal", lambda k, s: (1 - alpha) ** (k - 1 - s)),
                  ("momentum", lambda k, s: (1 - rho ** (k - s)) / (1 - rho))):
    for k in (1, 2, 3):
        y = local(solver, [Q(2), Q(3), Q(5)])
        show(f"{solver}, k={k}: x - y_k against eta sum b_s g_s", y[0] - y[k], "=",
             eta * sum(b(k, s) * v for s, v in enumerate((2, 3, 5)) if s < k))
print("VERDICT:", "(69) is wrong for proximal and momentum steps" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
