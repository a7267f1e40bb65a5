"""FOCUS (arXiv 2503.20117v3), eq (5): E R(S) of the assign matrix (4), with q_i = E[I_i / sum_j I_j] of Assumption 1.
Full participation of N = 2 clients, and two of three clients drawn uniformly. Exact fractions, all sets listed."""
from fractions import Fraction as Q
from itertools import combinations

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "!=": left != right, "<=": left <= right}[op])
    print(f"  {text}:  {left} {op} {right}  [{checks[-1]}]")
def assign(S, N):  # eq (4): participants take the server's row e_0, all others keep e_i
    return [[Q(int(j == (0 if i in S else i))) for j in range(N + 1)] for i in range(N + 1)]
for N, m in ((2, 2), (3, 2)):
    sets = list(combinations(range(1, N + 1), m))
    chance = Q(1, len(sets))
    print(f"N={N}, sets {sets}, each with probability {chance}")
    p = [sum((chance for S in sets if i in S), Q(0)) for i in range(1, N + 1)]
    q = [sum((chance / len(S) for S in sets if i in S), Q(0)) for i in range(1, N + 1)]
    show("Assumption 1: smallest p_i is positive", Q(1, 10**9), "<=", min(p))
    show("Assumption 1: p_i are probabilities", max(p), "<=", 1)
    show("no empty round: sum of q_i", sum(q), "=", 1)
    mean = [[sum((chance * assign(S, N)[i][j] for S in sets), Q(0)) for j in range(N + 1)] for i in range(N + 1)]
    for i in range(1, N + 1):
        show(f"E R[{i},0] against the printed q_{i}", mean[i][0], "!=", q[i - 1])
        show(f"E R[{i},0] against p_{i}", mean[i][0], "=", p[i - 1])
        show(f"E R[{i},{i}] against 1 - p_{i}", mean[i][i], "=", 1 - p[i - 1])
print("VERDICT:", "(5) holds with p_i and fails with q_i" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
