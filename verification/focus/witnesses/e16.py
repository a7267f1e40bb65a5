"""FOCUS (arXiv 2503.20117v3), Theorem 6: N clients f_i = x^2/2, everybody takes part, tau = 1, independent noises of variance 1.
Then x' = (1 - eta N) x - eta sum_i xi_i, so that E x^2 -> eta^2 N/(1 - (1 - eta N)^2), and |grad F|^2 = x^2. Exact."""
from fractions import Fraction as Q

checks = []
def show(text, left, op, right):
    checks.append({"<=": left <= right, "=": left == right, ">": left > right}[op])
    print(f"  {text}:  {float(left):.6g} {op} {float(right):.6g}  [{checks[-1]}]")
for N, eta in ((10, Q(1, 10**5)), (4, Q(1, 1000))):
    L, tau, q, sigma2 = Q(1), 1, Q(1, N), Q(1)
    print(f"N={N} eta={eta} q_min={q}")
    show("eta^2 against q^3/(96 L^2 N)", eta**2, "<=", q**3 / (96 * L**2 * N))
    show("eta against 1/(4LN)", eta, "<=", 1 / (4 * L * N))
    show("eta^2 against 9/(32 N^2) (proof)", eta**2, "<=", Q(9, 32 * N * N))
    show("conditions with tau - 1 = 0: left side", eta * (tau - 1), "<=", Q(1))
    keep = 1 - eta * N                       # g_i = x + xi_i, y = sum g_i, x' = x - eta y
    square = eta**2 * N * sigma2 / (1 - keep**2)
    show("stationary: keep^2 E x^2 + eta^2 N sigma^2 against E x^2", keep**2 * square + eta**2 * N * sigma2, "=", square)
    floor = (2 * L * N + 8 * N**2 / ((N - 8 * L**2) * q)) * eta**2 * sigma2
    show("limit of the average of E|grad F|^2 against the printed floor", square, ">", floor)
    mean, R = 0.0, 3 * int(1 / eta)  # from x_0 = x* = 0: F(x_1) - F* = E x_1^2/2, first term of (28) below
    x2, first = 0.0, 8 * float(eta**2 * N) / 2
    for _ in range(R):
        x2 = float(keep) ** 2 * x2 + float(eta**2 * N)
        mean += x2 / R
    print(f"  R={R} rounds from the optimum: average {mean:.4g}, printed bound {first / (float(eta) * N * R) + float(floor):.4g}")
print("VERDICT:", "Theorem 6 fails" if all(checks) else "not confirmed")
raise SystemExit(not all(checks))
