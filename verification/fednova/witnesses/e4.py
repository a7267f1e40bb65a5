"""FedNova (NeurIPS 2020), Theorem 3, eq (147), with rule (12)'s round-wise tau_eff(t) = sum p_i tau_i(t).
F_1, F_2 = (x-1)^2/2, (x+1)^2/2; p = (1/2, 1/2); vanilla exact gradient steps; periodic schedule of 1000 rounds: one with
tau = (1, 2001), then 999 with tau = (1, 1); T = 1.6e9 and the theorem's own eta = sqrt(m/(tau T)) = 1/40000; exact fractions."""
from fractions import Fraction as Q

M, period, T, eta, L, sigma2, beta2, kappa2, checks = 2001, 1000, 1_600_000_000, Q(1, 40000), 1, 0, 1, 1, []
def show(text, left, op, right):  # exact comparison; long fractions are printed as decimals
    checks.append({"=": left == right, "<=": left <= right, "<": left < right, ">": left > right}[op])
    a, b = (str(z) if Q(z).denominator < 10**12 else f"{float(z):.9g}" for z in (left, right))
    print(f"{text}:  {a} {op} {b}  [{checks[-1]}]")
def change(x, e, tau):  # Delta_i = (1 - (1-eta)^tau)(e - x) for F_i = (y-e)^2/2
    return (1 - (1 - eta) ** tau) * (e - x)
def server(x, taus):  # (12)
    tau_eff = Q(sum(taus), 2)
    return x + tau_eff * sum(Q(1, 2) * change(x, e, t) / t for e, t in zip((1, -1), taus, strict=True))
y = Q(1, 3)
for _ in range(7):
    y -= eta * (y - 1)
show("closed form of the change against 7 gradient steps from x=1/3", change(Q(1, 3), 1, 7), "=", y - Q(1, 3))
for x in (Q(0), Q(1), Q(5, 3)):  # quadratics in x that agree at three points are equal
    show(f"A3, beta^2=kappa^2=1, x={x}", ((x - 1) ** 2 + (x + 1) ** 2) / 2, "=", beta2 * x**2 + kappa2)
show("eta^2 tau T, tau the average number of local steps, T whole periods", eta**2 * Q(M + 2 * period - 1, 2 * period) * T, "=", 2)
show("(152), (2 eta L max|a|_1)^2 (2 beta^2+1)", (2 * eta * L * M) ** 2 * (2 * beta2 + 1), "<=", 1)
show("(152), 2 eta L tau_eff of the long round", 2 * eta * L * Q(1 + M, 2), "<=", 1)
push, slope = server(Q(0), (1, M)), server(Q(1), (1, M)) - server(Q(0), (1, M))  # affine
show("a short round from x=1/3 is (1-eta) x", server(Q(1, 3), (1, 1)), "=", (1 - eta) * Q(1, 3))
short = (1 - eta) ** (period - 1)
low = short * push / (1 - short * slope)  # x before the long round on the periodic orbit: short (slope low + push)
show("a period maps x to a + b x: |b| (so every start tends to the orbit)", abs(short * slope), "<", 1)
show("the orbit stays above its last point, which is positive", low, ">", 0)
C = Q(M * (M - 1), period)  # plain average of (145): C(t) = 2001 * 2000 once, 0 otherwise
right = 4 * (low**2 / 2) / (eta * T) + 12 * (eta * L) ** 2 * kappa2 * C  # start at the last point: F - F_inf = low^2/2; tau_eff >= 1
show("smallest |grad F|^2 of the orbit against (147)", low**2, ">", right)
print(f"ratio {float(low**2 / right):.4f}")
print("VERDICT:", "all hypotheses hold and (147) fails" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
