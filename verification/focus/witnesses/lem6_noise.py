"""FOCUS (arXiv 2503.20117v3), the noise constant 8 eta^2 N/q of Lemma 6: N = 24 clients f_i = x^2/2, one uniform client a round,
tau = 1, eta = 2^-15, sigma^2 = 1, start x_0 = x* = 0, g_i = 0. Full covariance of (x, z_i, n_i), g_i = z_i + n_i. Exact."""
from fractions import Fraction as Q

N, L, tau, q, sigma2, eta, checks = 24, 1, 1, Q(1, 24), 1, Q(1, 2**15), []
def show(text, left, op, right):
    checks.append({"<=": left <= right, "=": left == right, ">": left > right}[op])
    print(f"{text}:  {float(left):.10g} {op} {float(right):.10g}  [{checks[-1]}]")
show("Lemma 6: eta^2 against q^3/(96 L^2 N)", eta**2, "<=", q**3 / (96 * L**2 * N))
show("smaller still: eta^2 against q^3/(8LN)^2", eta**2, "<=", q**3 / (64 * L**2 * N**2))
show("conditions with tau - 1 = 0: left side", eta * (tau - 1), "<=", 1)
show("no empty round: sum of q_i", N * q, "=", 1)
D = 1 + 2 * N  # S holds integers, the covariance is S / scale
def one_round(S, noise):
    new, moves = [[0] * D for _ in range(D)], 0
    for i in range(N):  # client i drawn: z_i = x, n_i fresh, then x = x - eta sum(z + n)
        a, b = 1 + i, 1 + N + i
        source = [0 if k == a else None if k == b else k for k in range(D)]
        T = [[0 if s is None or t is None else S[s][t] for t in source] for s in source]
        T[b][b] = noise
        row = [sum(T[k][j] for k in range(1, D)) for j in range(D)]
        moves += sum(row[1:])
        for j in range(1, D):
            cross = 2**15 * T[0][j] - row[j]
            new[0][j] += cross * 2**15
            new[j][0] = new[0][j]
            for k in range(1, D):
                new[j][k] += T[j][k] * 2**30
        new[0][0] += 2**30 * T[0][0] - 2 * 2**15 * row[0] + sum(row[1:])
    return new, moves
S, scale, B, row0 = [[0] * D for _ in range(D)], 1, Q(0), Q(0)
for _ in range(39):
    (S, moves), scale, before, row0_before = one_round(S, sigma2 * scale), scale * 2**30 * N, B, row0
    B = Q(sum(S[0][0] - 2 * S[0][k] + S[k][k] for k in range(1, N + 1)), scale)
    row0 = Q(moves, scale)  # the server's own move, eta^2 E y^2
    bound = (1 - q / 3) * before + 9 * eta**2 * N**3 / q * Q(S[0][0], scale) + 8 * eta**2 * N / q * sigma2
show("round 39, client rows: E B_r against the right side", B, ">", bound)
show("round 39, with row 0", B + row0, ">", bound + (1 - q / 3) * row0_before)
print("VERDICT:", "the printed noise constant is too small" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
