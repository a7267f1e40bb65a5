"""One client with a kink, kept from its minimiser by noise alone: coded rounds, and the proof's symbols on them."""
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded import noise_paths as paths
from verification.asyncfeded import runs_theorem2 as runs
from verification.asyncfeded.formulas import theorem2 as f


def kink(a, L=1):
    """F' = L max(x, a x)."""
    return ft.PiecewiseQuadratic([[Q(a) * Q(L), L]], [[0]], [0])


# ---- one client, K = 2, whatever eta_g ------------------------------------------------------------------------------
FLAT, STEPS = Q(1, 10), (Q(1, 5), Q(1, 8))
PUSH, PULL = Q(9, 800), Q(699, 800)   # E[x_t - y_K] >= PUSH - PULL |F'(x_t)|
KINKS = (Q(-10, 49), Q(0), Q(1, 4))


def round_from(i, x):
    """[(chance, Delta)] of one coded arrival from x."""
    once = i.but(order=(0,), rounds=1, x0=[Q(x)], algorithm=i.algorithm)
    return [(chance, run[0].delta[0]) for chance, run in runs.path(once)]


def rest(i, x):
    """(E[x - y_K] - PUSH + PULL |F'(x)| by the coded arrival, E[x - y_K] there)."""
    h = -sum(chance * delta for chance, delta in round_from(i, x))
    return h - PUSH + PULL * abs(runs.slope(i.problem, [x])[0]), h


def inequality(i):
    """It is piecewise linear in x: its values at the kinks, and that it grows beyond them, on the coded arrivals."""
    low, high = KINKS[0], KINKS[-1]
    at = (low - 1, *KINKS, high + 1)
    return [*(ft.at_most(0, rest(i, x)[0], f"E[-Delta(x)] >= 9/800 - 699/800 |F'(x)| at x = {x}") for x in KINKS),
            ft.at_most(rest(i, low)[0], rest(i, low - 1)[0], "it grows to the left"),
            ft.at_most(rest(i, high)[0], rest(i, high + 1)[0], "and to the right"),
            ft.equal([rest(i, x)[1] for x in at], [f.kinked_mean(STEPS, FLAT, 1, x) for x in at], "closed form")]


def enclosed(i):
    """The left side of (11) from x_1 = 0: by the inequality and `average` from below; E x_t^2 <= E Delta(0)^2/qa^2, qa =
    1 - prod(1 - a eta_k), by the same contraction in root mean squares from above."""
    zero, qa = round_from(i, 0), f.moved(STEPS, FLAT)
    D = sum(chance * abs(delta) for chance, delta in zero)
    low = ((PUSH - D / (qa * i.eta_g * i.T)) / PULL) ** 2
    return ft.Bounds(low, sum(chance * delta**2 for chance, delta in zero) / qa**2), inequality(i)


def as_it_falls(i, g):
    """That from below for T = 1/(S g^2), eta_g = g."""
    D = sum(chance * abs(delta) for chance, delta in round_from(i, 0))
    return ((PUSH - D * i.S * g / f.moved(STEPS, FLAT)) / PULL) ** 2


def noisy(T=10**9, g=Q(1, 10**4)):
    return runs.stale("one client, nothing but noise", kink(FLAT), STEPS, g, (0,), 0, 1, loud=[(1, 0), (1, 1)],
                      left=enclosed, Gamma2=Q(0)).but(
        rounds=T, says=f"F' = max(x, x/10), steps 1/5 and 1/8, fresh signs, x_1 = x_* = 0, eta_g = {g}, T = {T}")


# ---- every K --------------------------------------------------------------------------------------------------------
def at(i, x):
    """The coded arrival over all outcomes from another model."""
    return paths.path(i.but(base=[Q(x)], now=[Q(x)], algorithm=i.algorithm))


def symbols(i):
    """What the symbols of the proofs are on a coded arrival from x and one from 0 under the same noise; t = 1, x_1 = 0."""
    if i.K > 12:
        return
    x, a, s, L, eta = i.base[0], i.a, i.sigma, i.L, i.eta
    here, zero = at(i, x), at(i, 0)
    push, z, g, S = f.noise_drift(eta, L, a, s)[0], 1 - f.moved(eta, L), 1 / (2 * L * sum(eta)), sum(eta)
    qa, d = f.moved(eta, a * L), [abs(u - v)[:, 0] for u, v in zip(here.y, zero.y, strict=True)]
    h, slope = -here.mean(here.delta)[0], abs(i.slope[0])
    first = [L * e * (1 if e > 0 else a) for e in (eta[0] * s, -eta[0] * s)]
    common = {"L": L, "a": a, "e1": eta[0], "e2": eta[1], "s": s, "gu": first[0], "gd": first[1],
              "Y2": zero.mean(zero.y[2])[0], "YE": zero.mean(zero.y[-1])[0], "PE": 1 - f.moved(eta[2:], a * L), "zE": z,
              "uE": 1 - qa, "qa": qa, "d0": abs(x), "X": abs(x), "R": abs(x), "U": abs(x), "G": slope, "EG": slope,
              "push": push, "h0": -zero.mean(zero.y[-1])[0], "g": g, "S": S, "SE": S,
              "D": zero.mean(abs(zero.delta))[0], "h": h, "Eh": h,
              "m": x, "mN": x - g * h, "b": (1 - z) / (a * L), "T": 1, "t": 0, "sumG": 0, "total": 0,
              "mE": g * zero.mean(zero.delta)[0],
              "UN": here.mean(abs(i.base[0] + g * here.delta))[0], "UE": g * zero.mean(abs(zero.delta))[0]}
    common |= {"left": h, "El": here.mean(d[-1])} if x < 0 else {"right": h, "Er": here.mean(d[-1])}
    for o in {0, len(here.chance) - 1}:
        own = {"dE": d[-1][o], "dT": d[-1][o], "xi": abs(zero.delta[o][0]), "Rn": abs(x + g * here.delta[o][0]),
               ("dl" if x < 0 else "dr"): d[-1][o]}
        for k in range(1, i.K + 1):
            z0, u0 = (1 - f.moved(eta[:k - 1], v * L) for v in (1, a))
            step = {"eta": eta[k - 1], "d": d[k - 1][o], "dN": d[k][o], "z": z0, "u": u0,
                    "dg": abs(here.exact[k - 1] - zero.exact[k - 1])[o][0]}
            if k > 2:
                ends = [zero.mean(zero.y[k - j])[0] for j in (1, 0)]
                step |= {"P": 1 - f.moved(eta[2:k - 1], a * L), "Y": ends[0], "Ey": ends[0], "YN": ends[1], "Ev": ends[1],
                         "y": zero.y[k - 1][o][0], "v": zero.y[k][o][0], "n": zero.noise[k - 1][o][0],
                         "g": zero.exact[k - 1][o][0], "En": zero.mean(zero.noise[k - 1])[0]}
                yield {n: common[n] for n in ("L", "a", "e1", "e2", "s", "gu", "gd", "Y2", "YE", "PE")} | step, {}
                del step["g"]
            yield common | own | {k: v for k, v in step.items() if k in ("eta", "d", "dN", "dg", "z", "u")}, {}
