"""The error term T2 of Appendix A.4 as one coded arrival makes it, and the arrivals that a search draws for it.

T2 is read off what the arrival sends, T21 and the noise off where it asks for gradients.
"""
from dataclasses import replace
from fractions import Fraction as Q
from functools import lru_cache
from typing import NamedTuple

import numpy as np

import fltheory as ft
from verification.asyncfeded import local_families as families
from verification.asyncfeded import noise_paths as paths
from verification.asyncfeded import updates as up
from verification.asyncfeded.formulas.corollary1 import largest_gamma2
from verification.asyncfeded.formulas.error_term import growth, products
from verification.asyncfeded.formulas.steps import mean_square, mean_step
from verification.asyncfeded.instances import at_cap
from verification.piecewise import st

MOST = 50   # local steps of an arrival on which proofs are tried


class Error(NamedTuple):
    """ET, ET1: means of T2 and T21; B: E|(1/K) sum_k eta_k n_k|^2, n the noise; covariance: E<A - E A, B> of both parts;
    F2 = |grad F(x_t)|^2; d2 = E|Delta|^2; drifts = sum_k eta_k^2 E|y_{k-1} - x_{t-tau}|^2; slope: grad F(x_t) (d,)."""

    N: Q
    M: Q
    ET: Q
    ET1: Q
    B: Q
    covariance: Q
    F2: Q
    d2: Q
    drifts: Q
    slope: np.ndarray


@lru_cache(256)
def error(i):
    """Of an instance's arrival."""
    law, K, N = paths.path(i), i.K, mean_step(i.eta)
    slope = paths.gradients(i.stated.problem, i.now)[1]
    exact, noise = parts(i)
    drifts = sum(e**2 * v for e, v in zip(i.eta, law.drift, strict=False))
    return Error(N, mean_square(i.eta), law.square(N * slope + law.delta / K), law.square(exact), law.square(noise),
                 law.dot(exact - law.mean(exact), noise), paths.square(slope), law.square(law.delta), drifts, slope)


def parts(i):
    """(N grad F(x_t) - (1/K) sum_k eta_k grad f_i, (1/K) sum_k eta_k (grad f_i - g_i)), each (m, d)."""
    law, K = paths.path(i), i.K
    slope = paths.gradients(i.stated.problem, i.now)[1]
    exact = mean_step(i.eta) * slope - sum(e * g for e, g in zip(i.eta, law.exact, strict=False)) / K
    return exact, -sum(e * n for e, n in zip(i.eta, law.noise, strict=False)) / K


def bound_of(i, formula, log=None):
    """The right side of (35) by `formula`; log: for ln(K + 1), by default rounded down, as every coefficient increases with it."""
    e = error(up.right(i))
    log = up.updates(up.right(i))[0].log() if log is None else log
    return formula(e.N, e.M, i.L, i.K, log, up.Gamma2(i), e.F2, e.d2, i.sigma_g2, i.sigma2)


# ---- instances ----------------------------------------------------------------------------------------------------------
def arrival(name, problem, K, base, now=None, *law, L=1, share=1, digits=12, more=0, **extra):
    """An arrival at `share` of the caps. now: x_t, the base where it has not moved; more: factors listed beyond the K steps."""
    made = paths.local(name, problem, at_cap(K + more, L, share, digits), base, *law, now=base if now is None else now, **extra)
    return made.but(algorithm=replace(made.algorithm, steps=K)) if more else made


def well(L, reach):
    """F' = -L x on [-reach, reach], rising with slope L beyond: L-smooth and bounded below."""
    return ft.PiecewiseQuadratic([[L, -L, L]], [[-reach, reach]], [-2 * L * reach])


def drawn(draw, near=None, c1=False, **at):
    """An arrival of `local_families` whose server has moved: by at most `near` of what (C1) allows, or anywhere."""
    made = families.drawn(draw, **at)
    one = up.updates(made)[0]
    near = draw(st.sampled_from([Q(0), Q(1, 2), Q(-1, 2), Q(99, 100), Q(-99, 100)])) if near is None else near
    room = min(one.squares)
    if c1:
        room *= largest_gamma2(one.K, made.L, one.M, one.log(high=True))
    else:
        room *= draw(st.sampled_from([Q(1, 4), Q(4), Q(400)]))
    return made.but(now=[made.base[0] + near * up.runs.root(room)])


CORNERS = ({"n": 300, "K": 1, "L": Q(1)}, {"n": 1, "K": 300, "L": Q(1, 100), "share": Q(1), "law": paths.CALM},
           {"K": 2, "share": Q(1, 100), "L": Q(1), "law": paths.skewed(1, 10)})
LARGE = ({"n": 2, "K": 5, "L": Q(1000), "share": Q(1), "law": paths.skewed(200)}, {"n": 1, "K": 1, "L": Q(1000), "share": Q(1)})


# ---- what the symbols of the proofs are -----------------------------------------------------------------------------------
def noise_of(i):
    """Of the proofs about noise, at some local steps and two outcomes."""
    if i.K > MOST:
        return
    law, e = paths.path(i), error(i)
    exact, noise = parts(i)
    whole, K = -noise * i.K, i.K
    common = {"L": i.L, "K": K, "J": K - 1, "N": e.N, "M": e.M, "ET": e.ET, "ET1": e.ET1, "Ec": law.square(whole),
              "sigma2": i.sigma2, "q": K * e.M, "SX": 2 * K**2 * e.covariance,
              "Emc": law.dot(law.mean(exact) + 0 * whole, whole), "Esc": law.dot(exact - law.mean(exact), whole),
              "W": sum(a**2 * law.square(n) for a, n in zip(i.eta, law.noise, strict=True))}
    before = [law.y[k] - law.mean(law.y[k]) for k in range(K + 1)]
    for k in sorted({1, 2, 3, K} & set(range(1, K + 1))):
        eta, g, n, u = i.eta[k - 1], law.exact[k - 1], law.noise[k - 1], before[k - 1]
        h, r = g - law.mean(g), g - own_gradient(i, law.mean(law.y[k - 1]))
        at = {"k": k, "eta": eta, "q0": sum(v**2 for v in i.eta[:k - 1]), "V": law.square(u), "Vn": law.square(before[k]),
              "Eh": law.square(h), "Er": law.square(r), "En": law.square(n), "Eun": law.dot(u, n), "Ehn": law.dot(h, n),
              "e2": eta**2, "w": eta**2 * law.square(n), "X": 2 * eta * law.dot(h, whole)}
        for row in {0, len(u) - 1}:
            yield common | at | {"d2": (before[k][row] ** 2).sum(), "x": 2 * eta * (h[row] * whole[row]).sum(),
                                 "T": paths.square(e.N * e.slope + law.delta[row] / K), "T1": paths.square(exact[row])}, {
                "u": u[row], "h": h[row], "n": n[row], "r": r[row], "c": whole[row], "m": law.mean(exact),
                "s": exact[row] - law.mean(exact)}


def own_gradient(i, x):
    return paths.gradients(i.stated.problem, list(x))[0][i.who]


def descent_of(i):
    """Of the proof of (32), with the server step of the instance."""
    law, e = paths.path(i), error(i)
    F = [values(i, i.now), *(values(i, [a + i.eta_g * b for a, b in zip(i.now, d, strict=True)]) for d in law.delta)]
    numbers = {"L": i.L, "K": i.K, "N": e.N, "eg": i.eta_g, "ET": e.ET, "Ed": e.d2,
               "Edrop": sum(p * (v - F[0]) for p, v in zip(law.chance, F[1:], strict=True))}
    for row in {0, len(law.delta) - 1}:
        d = law.delta[row]
        yield numbers | {"drop": F[1 + row] - F[0], "T": paths.square(e.N * e.slope + d / i.K)}, {"a": e.slope, "d": d}


@lru_cache(4096)
def _value(problem, x):
    p = problem.to(ft.RATIONAL)
    return ft.fraction(p.value(p.domain.array(np.array([list(x)], dtype=object)))[0])


def values(i, x):
    """F(x)."""
    return _value(i.stated.problem, tuple(x))


def exact_of(i):
    """Of the proofs of (34e) and (35) corrected, at some local steps and two outcomes."""
    if i.K > MOST:
        return
    law, e, one, K = paths.path(i), error(i), up.updates(i)[0], i.K
    common = {"L": i.L, "K": K, "N": e.N, "M": e.M, "ET": e.ET, "ET1": e.ET1, "Gamma2": up.Gamma2(i), "D2": one.D2, "ED": e.d2,
              "Z": e.drifts, "log": one.log(), "sigma_l2": i.sigma2, "sigma_g2": i.sigma_g2}
    exact, moved = parts(i)[0], [i.own - g for g in law.exact]
    c = sum(a * v for a, v in zip(i.eta, moved, strict=True)) / K
    common |= {"Ecc": law.square(c), "W": sum(a**2 * law.square(v) for a, v in zip(i.eta, moved, strict=True))}
    for k in {1, K}:
        at, far = i.eta[k - 1] ** 2, law.y[k - 1] - law.y[0]
        mean = {"e2": at, "Er": law.square(far), "Es": law.square(moved[k - 1])}
        mean |= {"z": at * mean["Er"], "w": at * mean["Es"]}
        for row in {0, len(far) - 1}:
            yield common | mean | {"d2": one.squares[row], "r": paths.square(far[row]), "s2": paths.square(moved[k - 1][row]),
                                   "T1": paths.square(exact[row])}, {"u": one.u, "v": one.v, "h": i.own, "c": c[row]}


def printed_of(i):
    """Of the proof of (35) as printed, in floats; e.. are at the caps."""
    law, e, one, K, L = paths.path(i), error(i), up.updates(i)[0], i.K, float(i.L)
    caps = [(6 * k * (2 * k + 1)) ** -0.5 for k in range(1, K + 1)]
    P, S, _ = products(caps)
    log = float(one.log())
    Gc = (3 / (K * log)) ** 0.5
    a, w = growth(P, S, 1 + caps[0], Gc)
    r = [float(v) ** 0.5 for v in law.drift]
    moved = sum(u * v for u, v in zip(i.eta, [i.own - g for g in law.exact], strict=True)) / K
    roots = {"sg": i.sigma_g2, "sl": i.sigma2, "Gt": e.F2, "Gb": i.slope2, "G": i.own2, "Dl": one.D2, "d": e.d2,
             "cc": law.square(moved), "Z": K * e.M, "Gamma": up.Gamma2(i)}
    round_ = {"g": P - 1 - caps[0], "s": S - caps[0], "R": sum(float(v) * L * x for v, x in zip(i.eta, r, strict=False))}
    yield {k: float(v) ** 0.5 for k, v in roots.items()} | round_ | {
        "L": L, "K": K, "N": float(e.N), "M": float(e.M), "e1": caps[0], "log": log, "Gc": Gc, "a": a, "w": w, "ET": float(e.ET),
        "ET1": float(e.ET1)}, {}
