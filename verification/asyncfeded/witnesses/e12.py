"""AsyncFedED, Section 4, (8): with the settings of Table 4 a staleness below its target does not always raise K. Exact fractions."""
from fractions import Fraction as Q
from math import ceil, floor

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "<": left < right, "<=": left <= right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
gbar, kappa = Q(3), Q(1, 20)   # FEMNIST
for gamma in (Q(0), Q(1), Q(5, 2), Q(299, 100)):
    show("FEMNIST: the staleness is below its target", gamma, "<", gbar)
    show("its change of K, rounded down", floor((gbar - gamma) * kappa), "=", 0)
    show("its change of K, largest integer smaller", ceil((gbar - gamma) * kappa) - 1, "=", 0)
show("largest value before rounding, at gamma = 0", gbar * kappa, "<", 1)
gbar, kappa, gamma = Q(3), Q(1), Q(5, 2)   # Synthetic and Shakespeare
show("Synthetic: the staleness is below its target", gamma, "<", gbar)
show("its change of K, rounded down", floor((gbar - gamma) * kappa), "=", 0)
show("it takes a staleness of gbar - 1/kappa to raise K", floor((gbar - 2) * kappa), "=", 1)
print("VERDICT:", "K is not raised whenever the staleness is below its target" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
