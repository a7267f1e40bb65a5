"""FedNova (NeurIPS 2020), eq (147) with rule (12)'s round-wise tau_eff(t): no constant repairs plain averages.
F_1, F_2 = (x-1)^2/2, (x+1)^2/2; p = (1/2, 1/2); exact gradient steps; period M: one round tau = (1, M), then M-1 rounds
tau = (1, 1); eta = 1/(4 M). Powers are enclosed by exact fractions, so every printed inequality is proved."""
from fractions import Fraction as Q

checks, GRID = [], 10**60
def show(text, left, op, right):
    checks.append({"<=": left <= right, "<": left < right, ">": left > right}[op])
    print(f"  {text}:  {float(left):.7g} {op} {float(right):.7g}  [{checks[-1]}]")
def power(eta, n):  # (low, high) around (1 - eta)^n by repeated squaring with outward rounding
    low = high = Q(1)
    b_low = b_high = 1 - eta
    while n:
        if n % 2:
            low, high = down(low * b_low), -down(-high * b_high)
        b_low, b_high, n = down(b_low * b_low), -down(-b_high * b_high), n // 2
    return low, high
def down(v):
    return Q((v.numerator * GRID) // v.denominator, GRID)
ratios = []
for M, least in ((2000, Q(85, 100)), (20000, Q(85, 10)), (200000, Q(85))):
    eta, tau_eff, beta2, kappa2 = Q(1, 4 * M), Q(1 + M, 2), 1, 1
    z, short = power(eta, M), power(eta, M - 1)
    print(f"M={M} eta={eta} L=1 sigma=0 beta^2=1 kappa^2=1 tau_eff of the long round = {tau_eff}")
    show("(152), (2 eta max|a|_1)^2 (2 beta^2+1)", (2 * eta * M) ** 2 * (2 * beta2 + 1), "<=", 1)
    show("(152), 2 eta tau_eff", 2 * eta * tau_eff, "<=", 1)
    # by (12) the long round is x -> slope x + push, a short one x -> (1-eta) x; x before the long one is fixed
    push = tau_eff / 2 * (eta - (1 - z[0]) / M)  # at least this much
    slope = 1 - tau_eff / 2 * (eta + (1 - z[0]) / M)  # at least this much, and positive
    show("slope", slope, ">", 0)
    low = short[0] * push / (1 - short[0] * slope)  # so the smallest x of the orbit is at least this
    right = 12 * eta**2 * kappa2 * Q(M * (M - 1), M)  # 12 eta^2 kappa^2 C~ of (147), T to infinity
    ratios.append(low**2 / right)
    show("smallest |grad F|^2 over right side, at least", ratios[-1], ">", least)
show("ten times longer, ratio at least 9.9 times larger", Q(99, 10) * ratios[0], "<", ratios[1])
show("once more", Q(99, 10) * ratios[1], "<", ratios[2])
print("VERDICT:", "the ratio grows with M without end" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
