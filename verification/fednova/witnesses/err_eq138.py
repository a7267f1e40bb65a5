"""FedNova (NeurIPS 2020), Appendix C, (138): the relaxed bound of FedProx is not an upper bound of (97).
m clients, p_i = 1/m; K local steps at all but one, which makes K m^2; alpha = 1/(K m); sigma = kappa = 0, L = Delta = 1."""
from fractions import Fraction as Q

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {float(left):.6g} {op} {float(right):.6g}  [{checks[-1]}]")
for m, K, times in ((64, 10, 15), (64, 1000, 15), (1000, 10, 240), (4000, 10, 900)):
    alpha, total = Q(1, K * m), K * (m - 1) + K * m * m
    taubar, root = Q(total, m), Q(10**4 * K**2 * m**4)  # root = sqrt(m taubar T)
    T, eta = root**2 / total, m / root
    short = (1 - (1 - alpha) ** K) / alpha  # |a_i|_1 of the others, (127)
    tau_eff = ((m - 1) * short + 1 / alpha) / m  # (7) from above: the long client's |a|_1 is below 1/alpha
    show(f"m={m}, K={K}: prescribed eta^2 taubar T", eta**2 * taubar * T, "=", m)
    show("alpha", alpha, "<=", 1)
    show("(101): (2 eta L max|a|_1)^2 (2 beta^2+1)", 3 * (2 * eta / alpha) ** 2, "<=", 1)
    first = 4 * taubar / (tau_eff * root)  # (97), first term at T rounds, from below; the others are 0
    printed = 4 * (alpha * taubar / root + 1 / root + m / (alpha**2 * taubar * T))  # 4 times (138)
    show(f"(97) against {times} times 4 times (138)", first, ">", times * printed)
print("VERDICT:", "(138) is no upper bound, with no constants" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
