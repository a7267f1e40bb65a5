"""FedNova (NeurIPS 2020), Algorithm 2, line 13: d_i is taken from the model difference, so it contains c_i.
F_1 = (x-1)^2/2, F_2 = 3(x+1)^2/2, p = (1/2, 1/2), tau = (1, 3), rho = 0, eta = 1/10, exact gradients, all clients.
Section 5: c_i = -d_i + sum p_j d_j with d_i = G_i a_i/|a_i|_1, G_i the RAW gradients; here |a_i|_1 = tau_i."""
from fractions import Fraction as Q

eta, h, e, p, tau, checks = Q(1, 10), (1, 3), (1, -3), (Q(1, 2), Q(1, 2)), (1, 3), []
best = Q(sum(p[i] * e[i] for i in (0, 1)), sum(p[i] * h[i] for i in (0, 1)))  # minimiser of F, grad F_i = h x - e
def show(text, left, op, right):
    checks.append({"=": left == right, "!=": left != right}[op])
    left, right = (", ".join(map(str, z)) if isinstance(z, list) else z for z in (left, right))
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def local_run(x, d):  # lines 6-13: (d of line 13, d of Section 5) of both clients
    line13, raw = [], []
    for i, c in enumerate(p[0] * d[0] + p[1] * d[1] - z for z in d):
        y, g = x, []
        for _ in range(tau[i]):
            g.append(h[i] * y - e[i])
            y -= eta * (g[-1] + c)
        line13.append((x - y) / (eta * tau[i]))
        raw.append(sum(g) / tau[i])
    return line13, raw
def server(x, line13):  # line 3: the same for both, since sum p_i c_i = 0
    return x - sum(p[i] * tau[i] for i in (0, 1)) * eta * sum(p[i] * line13[i] for i in (0, 1))
x, (first, raw) = Q(1), local_run(Q(1), [Q(0), Q(0)])
show("round 0 (c_i = 0): line 13 against raw, client 1", first[0], "=", raw[0])
x, d = server(x, first), first
second, raw = local_run(x, d)
for i in (0, 1):
    show(f"round 1, client {i + 1}: line 13 against raw G a/|a|", second[i], "!=", raw[i])
    show("   their difference is c_i", second[i] - raw[i], "=", -d[i] + p[0] * d[0] + p[1] * d[1])
s = [(1 - (1 - eta * h[i]) ** tau[i]) / (eta * h[i] * tau[i]) for i in (0, 1)]
w = [p[i] * s[i] / (1 + s[i]) for i in (0, 1)]  # printed fixed point: d_i = s_i (grad F_i - d_i), sum p_i d_i = 0
fixed = sum(w[i] * e[i] for i in (0, 1)) / sum(w[i] * h[i] for i in (0, 1))
d = [s[i] / (1 + s[i]) * (h[i] * fixed - e[i]) for i in (0, 1)]
show("printed: x~ and its d_i stay", [server(fixed, local_run(fixed, d)[0]), *local_run(fixed, d)[0]], "=", [fixed, *d])
show("   but it is not the minimiser of F", fixed, "!=", best)
d = [h[i] * best - e[i] for i in (0, 1)]
show("raw: x* and d_i = grad F_i stay", [server(best, local_run(best, d)[0]), *local_run(best, d)[1]], "=", [best, *d])
print("VERDICT:", "line 13 is not the d_i of Section 5" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
