"""FOCUS (arXiv 2503.20117v3), Section 3, Case 3a: m of N clients drawn uniformly without replacement.
Printed: q_i = 1/m for the averaging weight q_i = E[I_i / sum_j I_j] of Assumption 1. Exact fractions, all sets listed."""
from fractions import Fraction as Q
from itertools import combinations

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "!=": left != right}[op])
    print(f"  {text}:  {left} {op} {right}  [{checks[-1]}]")
for N, m in ((2, 1), (3, 2), (5, 2)):
    sets = list(combinations(range(N), m))
    q = [sum((Q(1, len(sets)) / m for S in sets if i in S), Q(0)) for i in range(N)]
    p = [sum((Q(1, len(sets)) for S in sets if i in S), Q(0)) for i in range(N)]
    print(f"N={N} m={m}: {len(sets)} sets of equal probability")
    show("p_i", p, "=", [Q(m, N)] * N)
    show("q_i against the printed 1/m", q[0], "!=", Q(1, m))
    show("q_i against 1/N", q, "=", [Q(1, N)] * N)
    show("sum of the true q_i", sum(q), "=", 1)
    show("sum of the printed 1/m", N * Q(1, m), "!=", 1)
print("VERDICT:", "the averaging weight is 1/N, not 1/m" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
