"""Appendix F: Theorem 3 where it holds, with one tau_eff and with one per round: proofs, searches and certificates."""
from dataclasses import replace
from fractions import Fraction
from math import inf, sqrt

import numpy as np

import fltheory as ft
from verification.fednova import families, nonconvex, over
from verification.fednova import formulas as f
from verification.fednova.claims.theorem3 import (
    _REJECTS,
    THREE,
    Scheduled,
    _needs,
    common_noise,
    constant,
    e4,
    e4_constant,
    gap,
    left_side,
    parts,
    prox_alpha1,
    prox_alpha1_finite,
    right_side,
    rounds_of,
    schedule,
    too_large,
)
from verification.fednova.common_noise import independent
from verification.fednova.formulas import theorem3 as g
from verification.fednova.instances import plane, scalar
from verification.fednova.proofs import numbers, theorems


def _schedule(draw, constant, n=None, taus=None, period=None, solver=None, share=None, p=None):
    """A random schedule: blocks, solver with its parameter, tau_eff, weights, share of the largest step."""
    st, n = families.st, n or draw(families.st.integers(2, 3))
    blocks = tuple((1, taus or tuple(draw(st.integers(1, 4)) for _ in range(n))) for _ in range(period or draw(st.integers(1, 3))))
    solver = solver or draw(st.sampled_from(["vanilla", "momentum", "decay"] + ([] if constant else ["proximal"])))
    value = None if solver == "vanilla" else ft.fraction(draw(st.sampled_from(
        ["0", "1/2", "4/5"] if solver == "momentum" else ["1/2", "9/10", "1"])))
    tau_eff = ft.fraction(draw(st.sampled_from(["1/2", "1", "5/2"]))) if constant else None
    p = p or [draw(st.integers(1, 5)) for _ in range(n)]
    return (blocks, solver, value, tau_eff, [Fraction(v, sum(p)) for v in p],
            ft.fraction(share or draw(st.sampled_from(["1/16", "1/8", "1/4", families.CAP]))))


def _step(share, L, solver, value, blocks):
    return share / (L * max(f.norm1(f.a_vector(solver, t, value)) for _, taus in blocks for t in taus))


def quadratics(constant):
    def build(draw, rounds=0, kind="", **corner):
        """kind: "equal" clients, "noise" without drift, or the "spread" of curvatures from 1/1000 to 1."""
        st = families.st
        blocks, solver, value, tau_eff, p, share = _schedule(draw, constant, **corner)
        H = [[[draw(st.integers(1, 4)) if not kind else Fraction(1, 1000) if k and kind == "spread" else 1]] for k in range(len(p))]
        b = [[0 if kind == "noise" or k > 3 else draw(st.integers(-3, 3))] for k in range(len(p))]
        problem = ft.Quadratic.from_linear(H, b, p)
        rounds = draw(st.sampled_from([3, 6, None])) if rounds == 0 else rounds
        eta, x0 = _step(share, max(h[0][0] for h in H), solver, value, blocks), [0 if kind == "noise" else draw(st.integers(-3, 3))]
        sigma = 0 if rounds is None else 1 if kind == "noise" else draw(st.sampled_from([0, 1]))
        return schedule("random quadratic", problem, blocks, eta, solver, value, sigma, rounds, x0, tau_eff,
                          share=Fraction(1) if kind == "spread" else ft.fraction(draw(st.sampled_from(["1/10", "1/2", "1"]))),
                          says=f"H={H}, b={b}, p={p}, {blocks}, {solver} {value}, eta={eta}, tau_eff={tau_eff}, "
                               f"T={rounds}, x0={x0}")
    return build


CORNERS = ({"n": 1, "taus": (1,), "period": 1, "rounds": 1}, {"n": 16, "taus": (1,) * 16, "kind": "equal", "share": families.CAP},
           {"n": 2, "taus": (families.LONG, 1), "rounds": 1, "period": 1}, {"n": 2, "period": 6, "rounds": 6},
           {"n": 2, "share": families.TINY}, {"n": 2, "kind": "equal", "rounds": None}, {"n": 2, "kind": "noise", "rounds": 3},
           {"n": 2, "kind": "spread", "share": "1/16"}, {"n": 2, "p": [99, 1]},
           {"n": 2, "taus": (2, 2), "share": "1/2", "period": 1, "solver": "vanilla"},
           {"n": 2, "taus": (2, 2), "share": families.CAP, "period": 1, "solver": "vanilla", "kind": "equal"})
PERIOD = ft.Variable("period", lambda i: sum(count for count, _ in i.blocks))


def ends(weighted, prefixes):
    """The ends of Theorem 3's variables; the step against both parts of (152), the drift's at beta^2 = 1."""
    def read(i):
        largest = max(tau_eff for *_, tau_eff in rounds_of(i))
        return max(float(2 * i.eta * i.L * largest), sqrt(3 / (2 * parts(i, weighted, prefixes)["cap"] + 1)))
    return {"clients": (1, 16), "local steps": (1, families.LONG), PERIOD: (1, 6), "rounds": (1, inf),
            "noise against drift": (0, 1), "curvature": (Fraction(1, 1000), 1), "weight": (Fraction(1, 100), 1),
            ft.Variable("step over its cap", read): (families.TINY * 4, 1)}


def _start(problem, x0):
    """F(x0) - F_inf of a smooth problem, rounded upwards by 1e-6: a larger gap only weakens the bound."""
    at = float(problem.to(ft.FLOAT).value(np.array(x0, dtype=float)))
    return max(ft.fraction(at) - ft.fraction(float(ft.optimum(problem).value)), Fraction(0)) + Fraction(1, 10**6)


def hubers(constant):
    """Sums of Huber losses on the line, run in exact rationals."""
    def build(draw):
        st = families.st
        blocks, solver, value, tau_eff, p, share = _schedule(draw, constant)
        U = [[[draw(st.sampled_from([1, 2, -1]))] for _ in range(draw(st.integers(1, 2)))] for _ in p]
        offsets = [[draw(st.integers(-3, 3)) for _ in u] for u in U]
        problem = ft.HuberLoss(U, offsets, 1, 1, Fraction(1, 4), p)
        # data gradients are at most sum |u|, so kappa^2 = sum p_i (sum |u|)^2 is admissible with every beta^2 >= 1
        kappa2 = sum(q * sum(abs(r[0]) for r in u) ** 2 for q, u in zip(p, U, strict=True))
        eta, rounds, x0 = _step(share, ft.fraction(problem.constants.L), solver, value,
                                blocks), draw(st.sampled_from([2, 4])), [draw(st.integers(-4, 4))]
        start = _start(problem, x0)
        return schedule("random Huber", problem, blocks, eta, solver, value, 0, rounds, x0, tau_eff, beta2=1,
                          kappa2=kappa2, units=False,
                          gap=start,
                          says=f"U={U}, offsets={offsets}, p={p}, {blocks}, {solver} {value}, tau_eff={tau_eff}, "
                               f"T={rounds}, x0={x0}")
    return build


def bents(constant):
    """Non-convex clients with piecewise-linear gradients; kappa^2 and the gap are exact."""
    def build(draw):
        drawn = nonconvex.clients(draw)
        if drawn is None:
            return None
        problem, x0, start, clients = drawn
        blocks, solver, value, tau_eff, _, share = _schedule(draw, constant, problem.n)
        eta, rounds = _step(share, ft.fraction(problem.constants.L), solver, value, blocks), draw(families.st.sampled_from([2, 4]))
        return schedule("random non-convex clients", problem, blocks, eta, solver, value, 0, rounds, [x0], tau_eff,
                        share=ft.fraction(draw(families.st.sampled_from(["1/10", "1"]))), units=False, gap=start,
                        says=f"{clients}, {blocks}, {solver} {value}, eta={eta}, tau_eff={tau_eff}, x0={x0}")
    return build


def at_one_step(settings):
    """The settings of one solver all at the smallest of their steps, so that a schedule may mix their rounds."""
    least = {}
    for i in settings:
        key = i.solver, i.value
        least[key] = min(i.eta, least.get(key, i.eta))
    return [over.setting((i.solver, i.value), i.taus, least[i.solver, i.value], i.p) for i in settings
            if isinstance(i.algorithm, ft.FedAvg) and i.p[0] == i.p[1]]


def rounds_over(settings, **fields):
    """Kinds of rounds of FedNova: any schedule may be made of those with as many clients, one solver and one step."""
    return [over.setting((i.solver, i.value), i.taus, i.eta, i.p, ft.FedNova, Scheduled, fields=fields, blocks=((1, i.taus),),
                         beta2=ft.fraction(4), rounds=None) for i in settings if isinstance(i.algorithm, ft.FedAvg)]


KINDS = ((2, 2), (1, 3), (3, 1), (3, 3), (1, 2, 3), (2, 2, 2))


def theorem3_over(i, prefixes):
    """One round of a schedule; summed with the rounds' tau_eff as weights it is the bound."""
    v = parts(i, True, prefixes)
    drift = g.thm3(i.eta, v["L"], v["sigma2"], ft.fraction(1), gap(i), v["tau_eff"], None, v["A"], v["B"], v["C"], v["m"])["drift"]
    return over.certified(i, over.descent(i, i.p, v["tau_eff"]), "drift",
                          drift=(drift, lambda s: over.excess(s, i.p, v["beta2"])))


def meaning(i, prefixes):
    """What the proof of Theorem 3 speaks of: from the start, once for every kind of round of the schedule."""
    if not numbers.readable(i) or gap(i) is None:
        return
    v, kinds, prefixes = parts(i, True, prefixes), rounds_of(i), prefixes and i.solver == "proximal"
    whole, count = sum(c * t for c, _, t in kinds), sum(c for c, _, _ in kinds)
    left = {"ZG": left_side(i, weighted=True) * whole, "S": left_side(i) * count} if i.rounds else {}
    left |= numbers.last_value(i, i.problem)
    sums = [sum(c * g.constants(i.solver, i.value, taus, i.p, t, prefixes)[k] for c, taus, t in kinds) for k in range(3)]
    at = left | {"beta2": v["beta2"], "kappa2": v["kappa2"], "Z": whole, "ZA": v["A"] * whole, "ZB": v["B"] * whole,
                 "ZC": v["C"] * whole,
                 "SA": sums[0], "SB": sums[1], "SC": sums[2], "T": count}
    for _, taus, tau_eff in kinds:
        A, B, C = g.constants(i.solver, i.value, taus, i.p, tau_eff, prefixes)
        kind = i.but(algorithm=replace(i.algorithm, steps=taus), law=ft.Full(), rounds=None)
        for known, points in numbers.bounds(kind, prefixes, at | {"A": A, "B": B, "C": C}, tau_eff=tau_eff):
            square = known["Gt"]
            yield known | {"gap": gap(i), "F0": known["F"], "inf": known["F"] - gap(i), "tA": tau_eff * A, "tB": tau_eff * B,
                           "tC": tau_eff * C, "tG": tau_eff * square, "EA": tau_eff * A, "EB": tau_eff * B, "EC": tau_eff * C,
                           "EG": tau_eff * square}, points


@ft.claim("thm3-restricted", proof=lambda: (theorems.theorem3_constant(), theorems.theorem3(printed=True)),
          meaning=lambda i: meaning(i, False), domain=theorems.DOMINATED,
          over=rounds_over(over.at_the_cap(over.DOMINATED, False, KINDS), tau_eff=2),
          certify=lambda i: theorem3_over(i, False), on=[*constant, *e4_constant, e4, prox_alpha1, common_noise, too_large],
          needs=[*_needs(False, constant=True, solvers=True), independent],
          bound=True, rejects=_REJECTS,
          search=ft.Search((ft.Family("periodic quadratic", quadratics(True), CORNERS),
                            ft.Family("periodic Huber", hubers(True)),
                            ft.Family("non-convex", bents(True), most=60)), tries=80), ends=ends(False, False))
def thm3_restricted(i):
    r"""With noise independent across clients, constant $\tau_{\rm eff}$, vanilla, step decay or momentum ($0\le\rho<1$) solvers,
    steps and $a_i(t)$ decided before the gradients of the round are drawn and without regard to those of earlier rounds, under
    (152) in every round,
    $$\frac1T\sum_{t<T}E\|\nabla F(x^{(t,0)})\|^2\le\frac{4[F(x^{(0,0)})-F_{\inf}]}{\eta\tau_{\rm eff}T}
    +\frac{4\eta L\sigma^2\widetilde A}m
    +6\eta^2L^2\sigma^2\widetilde B+12\eta^2L^2\kappa^2\widetilde C.$$
    """
    return ft.at_most(left_side(i), right_side(i))


varying = [
    schedule("vanilla, default tau_eff", plane(), THREE, "1/50", sigma="1/2", rounds=18, x0=[2, 2], beta2=4),
    schedule("momentum, default tau_eff", plane(), THREE, "1/100", "momentum", "1/2", "1/2", 18, [2, 2], beta2=4),
    schedule("proximal, default tau_eff", plane(), THREE, "1/50", "proximal", "1/2", "1/2", 18, [2, 2], beta2=4),
    schedule("drift, default tau_eff", scalar([1, 3], [1, -1], ["3/4", "1/4"]), ((1, (2, 6)), (2, (3, 1))), "1/2000",
             beta2=3),
    schedule("drift, default tau_eff, momentum", scalar([1, 3], [1, -1], ["3/4", "1/4"]), ((1, (2, 6)), (2, (3, 1))),
             "1/4000", "momentum",
             "1/2", beta2=3),
]


@ft.claim("thm3-corrected", proof=lambda: (theorems.theorem3(), theorems.theorem3(printed=True)),
          meaning=lambda i: meaning(i, True), domain=theorems.DOMAIN, over=rounds_over(at_one_step(over.corrected(KINDS))),
          certify=lambda i: theorem3_over(i, True), on=[*varying, *constant, e4, prox_alpha1, prox_alpha1_finite,
              common_noise, too_large],
          needs=[*_needs(True), independent], bound=True,
          rejects=_REJECTS,
          search=ft.Search((ft.Family("periodic quadratic", quadratics(False), CORNERS),
                            ft.Family("periodic Huber", hubers(False)),
                            ft.Family("non-convex", bents(False), most=60)), tries=80), ends=ends(True, True))
def thm3_corrected(i):
    r"""With noise independent across clients, steps, $a_i(t)$ and $\tau_{\rm eff}^{(t)}$ fixed in advance,
    $S=\sum_{t<T}\tau_{\rm eff}^{(t)}$, and $B',C'$ from the prefix coefficients for the proximal solver:
    $$\frac1S\sum_{t<T}\tau_{\rm eff}^{(t)}E\|\nabla F(x^{(t,0)})\|^2\le\frac{4[F(x^{(0,0)})-F_{\inf}]}{\eta S}
    +\frac{4\eta L\sigma^2\overline A}m+6\eta^2L^2\sigma^2\overline B+12\eta^2L^2\kappa^2\overline C$$
    with $\tau_{\rm eff}^{(t)}$-weighted averages $\overline A,\overline B,\overline C$. Where steps follow from earlier rounds
    the expectations enclose the random numbers, $E[\sum_t\tau_{\rm eff}^{(t)}\|\nabla F(x^{(t,0)})\|^2]$ on the left and
    $E[S]$, $E[S\,\overline A]$, $E[S\,\overline B]$, $E[S\,\overline C]$ on the right (rem-thm3-product)."""
    return ft.at_most(left_side(i, weighted=True), right_side(i, weighted=True, prefixes=True))
