"""FOCUS (arXiv 2503.20117v3), Limitations, read with the steps of Theorem 1: three clients h = (1,3,10), tau = 1, exactly one
per round, kept with probability .999. The exact second-moment map T has an eigenvalue in (1, 2). Exact fractions."""
from fractions import Fraction as Q

h, eta, stay, N = (1, 3, 10), Q(1, 2700), Q(999, 1000), 3
mu, L, q, checks = 1, 10, Q(1, 3), []
def show(text, left, op, right):
    checks.append({"<=": left <= right, "=": left == right, "<": left < right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
show("Theorem 1: eta against 3 mu/(27 N L^2)", eta, "<=", Q(3 * mu, 27 * N * L * L))
show("Theorem 1: eta^2 against (q_min^1.5/(8 L sqrt N))^2", eta**2, "<=", q**3 / (64 * L * L * N))
P = [[stay if i == j else (1 - stay) / 2 for j in range(N)] for i in range(N)]
show("chain: rows and columns sum to 1, so q_i = p_i = 1/3", sum(P[0]), "=", sum(r[0] for r in P))
show("every client appears: smallest transition probability", 0, "<", min(map(min, P)))
M = []  # (x, z_1, z_2, z_3) relative to x*: client m pulls x, then x <- x - eta sum h_i z_i
for m in range(N):
    Z = [[Q(int(k == (0 if i == m + 1 else i))) for k in range(4)] for i in range(4)]
    M.append([[Z[0][k] - eta * sum(h[i] * Z[i + 1][k] for i in range(N)) for k in range(4)], *Z[1:]])
places = [(m, a, b) for m in range(N) for a in range(4) for b in range(a + 1)]  # E[z_a z_b 1{mode = m}], 30 numbers
def second(k, a, b):  # image of one unit block: the chain moves from k to m, then mode m acts
    units = {(a, b), (b, a)}
    return [P[k][m] * sum(M[m][i][c] * M[m][j][d] for c, d in units) for m, i, j in places]
T = list(zip(*[second(*place) for place in places]))
def determinant(A):
    A, out = [list(row) for row in A], Q(1)
    for k in range(len(A)):
        r = next(r for r in range(k, len(A)) if A[r][k])
        A[k], A[r], out = A[r], A[k], out * A[r][k] * (1 if r == k else -1)
        for i in range(k + 1, len(A)):
            f = A[i][k] / A[k][k]
            A[i] = [x - f * y for x, y in zip(A[i], A[k])] if f else A[i]
    return out
at = {s: determinant([[s * (i == j) - v for j, v in enumerate(row)] for i, row in enumerate(T)]) for s in (1, 2)}
show("sign of det(1 - T)", int(at[1] > 0) - int(at[1] < 0), "<", 0)
show("0 against sign of det(2 - T): T has an eigenvalue above 1", 0, "<", int(at[2] > 0) - int(at[2] < 0))
print("VERDICT:", "the step is admissible and FOCUS diverges in mean square" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
