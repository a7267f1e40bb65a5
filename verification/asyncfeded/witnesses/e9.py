"""AsyncFedED, Appendix B.4, (38): FedAvg's weights |xi_i|/sum |xi_j| sum to 1, and 1/m is printed before the sum as well.
Two clients with 1 and 3 rows that agree on the model y = 5; then f_i = (x - 5)^2/2, one local step of 1/2 a round, from 5. Fractions."""
from fractions import Fraction as Q

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "!=": left != right, "<": left < right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
sizes, y, m = [Q(1), Q(3)], Q(5), 2
shares = [v / sum(sizes) for v in sizes]
show("the weights sum to", sum(shares), "=", 1)
without = sum(p * y for p in shares)
show("without 1/m the agreed model", without, "=", y)
show("as printed the agreed model becomes", without / m, "!=", y)
printed = [p / m for p in shares]
show("the printed weights sum to", sum(printed), "=", Q(1, 2))
x = y
for _ in range(60):  # every client is at its minimiser: nothing should move
    models = [x - Q(1, 2) * (x - 5) for _ in sizes]
    x = sum(p * v for p, v in zip(printed, models))
show("60 printed rounds from the common minimiser end below 2", x, "<", 2)
fixed = Q(5, 3)
show("the printed round rests at 5/3", sum(printed) * (fixed - Q(1, 2) * (fixed - 5)), "=", fixed)
show("the round without 1/m rests at the minimiser", sum(shares) * (y - Q(1, 2) * (y - 5)), "=", y)
print("VERDICT:", "as printed (38) is no weighted average: a misprint, 1/m has to go" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
