"""FedNova (NeurIPS 2020), Theorem 1, eq (8): on a family of m clients the ratio left/right grows like sqrt(m).
m = 6 j^2, half F = (x-1)^2/2 with 1 step, half F = (x+1)^2/2 with 2 steps; FedProx with alpha = eta*mu = 1; T = m^2;
eta = sqrt(m/(taubar T)) = 1/(3j); x_0 = 1. Equal deterministic clients make equal steps, so one of each half is run."""
from fractions import Fraction as Q

checks, ratios = [], []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, "<": left < right, ">": left > right}[op])
    print(f"  {text}:  {left} {op} {right}  [{checks[-1]}]")
def client(x, e, tau, eta):  # (31) with mu = 1/eta
    y = x
    for _ in range(tau):
        y -= eta * (y - e + (y - x) / eta)
    return y
def server(x, eta):  # weights m/2 * 1/m for each half
    return (client(x, 1, 1, eta) + client(x, -1, 2, eta)) / 2
for j in (6, 12, 24, 48, 96, 1000, 10**6):
    m, eta = 6 * j * j, Q(1, 3 * j)
    T, taubar, tau_eff, B, C, sigma2 = m * m, Q(3, 2), 1, 0, 0, 0  # a = (1) and (0, 1): |a|_1 = |a|_2 = a_last = 1
    print(f"j={j} m={m} T={T} eta={eta}")
    show("eta^2 taubar T against m", eta**2 * taubar * T, "=", m)
    show("(101), (2 eta L max|a|_1)^2 (2 beta^2+1), beta^2 = 1", (2 * eta) ** 2 * 3, "<=", 1)
    show("(101), 2 eta L tau_eff", 2 * eta * tau_eff, "<=", 1)
    low, slope = eta / (2 - eta), server(Q(1), eta) - server(Q(0), eta)
    show("fixed point eta/(2 - eta)", server(low, eta), "=", low)
    show("slope of the affine round, so iterates from 1 never pass it", 0, "<", slope)
    first = 4 * Q(1, 2) * taubar / tau_eff / (m / eta)  # first term of (8); the others are 0 as B = C = sigma = 0
    ratios.append(low**2 / first)
    print(f"  smallest |grad F~|^2 over right side: {float(ratios[-1]):.4f} = {float(ratios[-1]) / m**0.5:.5f} sqrt(m)")
    show("ratio against j/6 = sqrt(m/216)", ratios[-1], ">", Q(j, 6))
for k in range(4):  # doubling j multiplies m by 4 and the ratio by about 2
    growth = ratios[k + 1] / ratios[k]
    show(f"ratio at j={12 * 2**k} over ratio at j={6 * 2**k}, minus 2, times j", abs(growth - 2) * 6 * 2**k, "<", 1)
print("VERDICT:", "the ratio exceeds sqrt(m/216) for every listed m" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
