"""FOCUS (arXiv 2503.20117v3), Theorem 1 (25) from Algorithm 1's own start. N = 8, f_i = (x - c_i)^2/2, c = (1,-1,1,-1,..),
one uniform client per round, tau = 1, eta = 1/512, x_0 = x* = 0. Exact second moments of (x, z_1, .., z_8), 100 rounds."""
from fractions import Fraction as Q

N, c, L, tau, scale, q, R, checks = 8, (1, -1) * 4, 1, 1, 512, Q(1, 8), 100, []
eta = Q(1, scale)
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    shown = [str(v) if Q(v).denominator < 10**6 else f"{float(v):.4g}" for v in (left, right)]
    print(f"{text}:  {shown[0]} {op} {shown[1]}  [{checks[-1]}]")
show("eta <= q^1.5/(8 L sqrt N), squared", (8 * L * eta) ** 2 * N, "<=", q**3)
show("eta <= q/(16 L sqrt(2N)), squared", (16 * L * eta) ** 2 * 2 * N, "<=", q**2)
show("eta <= 1/(4LN)", eta, "<=", Q(1, 4 * L * N))
show("eta <= 1/(2L(tau-1)), cleared of the denominator", 2 * L * (tau - 1) * eta, "<=", 1)
show("x_0 minimises F: sum of c_i", sum(c), "=", 0)
show("right side of (25) with x_1 = x_0: 8 (F(x_0) - F*)/(eta N R)", 8 * Q(0), "=", 0)
v = (0, *c)                                  # stored gradients 0 belong to the points z_i = c_i
X, D = [[a * b for b in v] for a in v], 1    # E vv' = X/D in integers; rows: x, z_1, .., z_N
total = first = Q(0)
for _r in range(R):
    total += Q(X[0][0], D)                   # |grad F(x)|^2 = x^2
    new = [[0] * (N + 1) for _ in v]
    for i in range(1, N + 1):                # the set {i}, probability 1/N: z_i <- x, then x <- x - eta sum z_j
        j = [0 if k == i else k for k in range(N + 1)]
        M = [[X[a][b] for b in j] for a in j]
        row = [scale * M[0][b] - sum(M[k][b] for k in range(1, N + 1)) for b in range(N + 1)]
        corner = scale * row[0] - sum(row[1:])
        for a in range(1, N + 1):
            new[a][0], new[0][a] = new[a][0] + row[a] * scale, new[0][a] + row[a] * scale
            new[a][1:] = [s + M[a][b] * scale**2 for b, s in enumerate(new[a][1:], 1)]
        new[0][0] += corner
    X, D = new, D * N * scale**2
    first = first or Q(X[0][0], D) / 2       # E F(x) - F* after the first round
show("even with F after the first round, R times the right side", 8 * first / (eta * N), "<=", Q(977, 10**6))
show("sum of E|grad F|^2 over the rounds 0..99", total, ">", Q(55, 1000))
print("VERDICT:", "(25) fails from the printed start" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
