"""FOCUS (arXiv 2503.20117v3), eqs (81)-(82): what a pull changes, and what it leaves, in mean square on the client rows.
N = 2 clients at z = (0, 1), server model 2; full participation, and three clients of which two are drawn. Exact."""
from fractions import Fraction as Q
from itertools import combinations

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "!=": left != right}[op])
    print(f"  {text}:  {left} {op} {right}  [{checks[-1]}]")
for x, z, m in ((Q(2), [Q(0), Q(1)], 2), (Q(2), [Q(0), Q(1), Q(4)], 2)):
    N = len(z)
    sets = list(combinations(range(N), m))
    chance = Q(1, len(sets))
    p = [sum((chance for S in sets if i in S), Q(0)) for i in range(N)]
    q = [sum((chance / len(S) for S in sets if i in S), Q(0)) for i in range(N)]
    print(f"x={x} z={[str(v) for v in z]} p={[str(v) for v in p]} q={[str(v) for v in q]}")
    change = left = Q(0)
    for S in sets:  # X_{r tau + 1} = R(S) X: participants take the server's model
        pulled = [x if i in S else z[i] for i in range(N)]
        change += chance * sum((a - b) ** 2 for a, b in zip(pulled, z))
        left += chance * sum((x - a) ** 2 for a in pulled)
    gaps = [(x - v) ** 2 for v in z]
    show("(81) printed, weights q_i", change, "!=", sum(a * b for a, b in zip(q, gaps)))
    show("(82) printed, weights 1 - q_i", left, "!=", sum((1 - a) * b for a, b in zip(q, gaps)))
    show("(81) with p_i", change, "=", sum(a * b for a, b in zip(p, gaps)))
    show("(82) with 1 - p_i", left, "=", sum((1 - a) * b for a, b in zip(p, gaps)))
print("VERDICT:", "(81) and (82) hold with p_i and fail with q_i" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
