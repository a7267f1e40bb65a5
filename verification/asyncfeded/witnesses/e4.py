"""AsyncFedED, from (11) to (12): the noise term of (11) at eta_g = (KNT)^(-1/2) over its printed order in (12), for L = 1.
K = a^2, N = b^2, T = r^2 make all roots rational; ln(K + 1) is taken as 0, which makes the term of (11) smaller."""
from fractions import Fraction as Q

checks = []
def show(text, left, op, right):
    checks.append({"=": left == right, "<=": left <= right, ">": left > right}[op])
    print(f"{text}:  {left} {op} {right}  [{checks[-1]}]")
def term(a, b, r, theta):  # (eta_g/N) (ln(K+1) + 4K)/(72 L Theta), sigma_l = 1
    K, N, eta_g = a**2, b**2, Q(1) / (a * b * r)
    return eta_g / N * 4 * K / (72 * theta)
def printed(a, b, r, theta):  # 1/(K^(3/2) N^(3/2) T^(1/2) Theta)
    return Q(1) / (a**3 * b**3 * r * theta)
b, r, theta = Q(1, 4), 1000, Q(1, 2)
for a in (1, 10, 100, 1000):
    show(f"K = {a**2}: term of (11) over the printed order", term(a, b, r, theta) / printed(a, b, r, theta), "=", Q(a**4, 18))
for constant in (10**3, 10**9):
    a = next(10**k for k in range(9) if Q(10 ** (4 * k), 18) > constant)
    show(f"no hidden constant {constant}, K = {a**2}", term(a, b, r, theta), ">", constant * printed(a, b, r, theta))
half = [term(a, b, r, theta) / (Q(a) / (b**3 * r * theta)) for a in (1, 10, 100, 1000)]
show("over K^(1/2) N^(-3/2) T^(-1/2)/Theta it is constant", max(half), "=", min(half))
show("for fixed K the order in T is right: T = 10^6 over T = 10^8", term(7, b, 10**3, theta) / term(7, b, 10**4, theta), "=", 10)
print("VERDICT:", "(12) does not follow from (11): K^(-3/2) should be K^(1/2)" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
