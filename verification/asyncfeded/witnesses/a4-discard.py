"""AsyncFedED, Assumption 4 by discarding: what the server keeps breaks Theorem 1 and Corollary 1. K = 3 local steps at (T1)'s cap,
F(x) = -x^2/2 where the iterates are (L = 1, sigma_g = 0), noise of signs, Gamma = 1/10, base -1; exact fractions."""
from fractions import Fraction as Q
from itertools import product
from math import isqrt

K, L, GAMMA, DIGITS, checks = 3, 1, Q(1, 10), 10**12, []
def show(text, ok, value):
    checks.append(ok)
    print(f"{text}: {float(value):.6f}  [{ok}]")
eta = [Q(isqrt(DIGITS**2 // (6 * k * (2 * k + 1))), DIGITS) for k in (1, 2, 3)]
show("(T1): the largest 6 k (2k + 1) L^2 eta_k^2", max(6 * k * (2 * k + 1) * e * e for k, e in enumerate(eta, 1)) <= 1, 1)
M, log_high = sum(e * e for e in eta) / K, Q(13862943612, 10**10)   # ln 4 from above
c1 = GAMMA**2 * (12 * K**2 * M + K * log_high) / 3
show("(C1): Gamma^2 over what it allows", c1 < 1, c1)

def updates(sigma):   # {signs: Delta} from the base -1
    out = {}
    for signs in product((1, -1), repeat=K):
        y = Q(-1)
        for e, s in zip(eta, signs):
            y -= e * (-y + s * sigma)   # the gradient is -y; the noise has mean 0 and size sigma for every draw
        out[signs] = y + 1
    return out

for sigma, x in ((Q(9), Q(-48049, 10**5)), (Q(27, 5), Q(-66751, 10**5))):
    every, D = updates(sigma), abs(x + 1)
    kept = [d for d in every.values() if GAMMA * abs(d) >= D]
    show(f"noise +-{float(sigma)}, x_t = {float(x)}: kept outcomes of 8", len(kept) == 1, len(kept))
    drift, average = sum(d * d for d in kept) / len(kept), sum(d * d for d in every.values()) / 8
    bound = Q(K, 2) * 1 + Q(K + 1, 24) * sigma**2
    show("Theorem 1: E|y_3 - x|^2 of the kept over its bound", drift > bound, drift / bound)
    show("Theorem 1 over all outcomes", average <= bound, average / bound)
    theta = 1 - GAMMA**2 * (K * log_high / 3 + 4 * K**2 * M)
    right = ((12 * K**2 * M + K * log_high) / 3 * x * x + (72 * K**2 * M + K * log_high) / 72 * sigma**2) / theta
    if sigma < 9:
        show("Corollary 1: E|Delta|^2 of the kept over its bound", drift > right, drift / right)
print("VERDICT:", "kept by discarding, both bounds fail; over all outcomes they stand" if all(checks) else "does not stand")
raise SystemExit(not all(checks))
