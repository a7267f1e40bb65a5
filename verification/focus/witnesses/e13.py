"""FOCUS (arXiv 2503.20117v3), Lemma 4 (97): E B_r <= (1 - q/3) B_{r-1} + 16 eta^2 N^2/(3q) |grad F(x_r)|^2.
N = 10, f_i = x^2/2, one uniform client per round (q = 1/10), tau = 1, eta = 1/800. Exact fractions."""
from fractions import Fraction as Q

N, L, tau, eta, q, checks = 10, 1, 1, Q(1, 800), Q(1, 10), []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    shown = [str(v) if Q(v).denominator < 10**9 else f"{float(v):.9f}" for v in (left, right)]
    print(f"{text}:  {shown[0]} {op} {shown[1]}  [{checks[-1]}]")
def move(x, z, i):                           # client i takes part: tau = 1, so its stored point becomes x
    z = [x if j == i else v for j, v in enumerate(z)]
    return x - eta * sum(z), z               # y = sum of the stored gradients z_j
def lemma(x, z, name):
    B = sum((x - v) ** 2 for v in z)
    left = right = Q(0)
    for i in range(N):                       # the set {i}, probability 1/N
        new, moved = move(x, z, i)
        left += Q(1, N) * sum((new - v) ** 2 for v in moved)
        right += Q(1, N) * 16 * eta**2 * N**2 / (3 * q) * new**2   # grad F = x
    right += (1 - q / 3) * B
    show(f"{name}: E B_r against the right side", left, ">", right)
    print(f"    {float(left):.6f} against {float(right):.6f}, ratio {float(left / right):.4f}")
show("Assumption 2, f'' = 1 = L; p_i = q_i, N q", N * q, "=", 1)
show("eta <= q^1.5/(8 L sqrt N), squared", (8 * L * eta) ** 2 * N, "<=", q**3)
show("eta <= q^1.5/(8 L (tau-1)), squared", (8 * L * eta * (tau - 1)) ** 2, "<=", q**3)
lemma(Q(1), [Q(23, 20)] * N, "x = 1, z_i = 1.15")
x, z = Q(1), [Q(0)] * N                      # Algorithm 1's start: stored gradients 0 belong to the points c_i = 0
for k in range(3 * N):                       # three round-robin passes, each set of positive probability
    x, z = move(x, z, k % N)
lemma(x, z, "from the literal start, after three passes")
print("VERDICT:", "the hypotheses hold and Lemma 4 fails at both states" if all(checks) else "counter-example does not stand")
raise SystemExit(not all(checks))
