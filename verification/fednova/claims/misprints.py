"""Misprints, and the gains that the text reads off Table 1."""
from fractions import Fraction

import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.claims import quadratics
from verification.fednova.claims.averaging import coded_averaging, whole
from verification.fednova.claims.constants import fednova, printed_table
from verification.fednova.claims.solvers import coded_vector, prefixes
from verification.fednova.formulas import constants as fc
from verification.fednova.formulas import solvers as fs
from verification.fednova.instances import two_clients

# ---- misprints --------------------------------------------------------------------------------------------


def _weighted_mean():
    tau = [ft.fraction(1), ft.fraction(3)]
    t0, t1 = ft.Field("t0 t1").symbols
    half = Fraction(1, 2)
    return (ft.equal(fs.mean([half, half], [t0, t1]), (t0 + t1) / 2, "uniform p: E_p tau is the plain mean"),
            ft.at_most(fs.mean([3 * half / 2, half / 2], tau), sum(tau) / 2,
                       "p = (3/4, 1/4), tau = (1, 3): E_p tau = 3/2 below 2", strict=True))


ft.finding("e12-alpha1", kind="misprint", breaks="remark-alpha1", check=_weighted_mean,
           reading="taubar is defined as the unweighted mean; the factor that the definitions give is E_p tau.",
           survives="Correct for uniform p.")


def _factors():
    alpha, step, u, v, W, x = ft.Field("alpha step u v W x").symbols
    slope = sum(fc.relaxed(alpha + step, u, v, W).values()).series("step", 1)[1]
    scaled = slope * alpha**3 * u * W**3 / v                    # alpha^3 minus the stationary cube
    one = Fraction(1)
    cube = fc.stationary_cube(one, one, one, printed=True)      # 1, so the printed alpha is 1 at u = v = W = 1
    there = slope.substitute(alpha=cube, u=one, v=one, W=one)
    return (ft.equal(alpha**3 - scaled, fc.stationary_cube(u, v, W),
                     "139: (138) is stationary at twice the printed cube"),
            ft.at_most(there, 0, "139: at the printed alpha (138) still falls, m = taubar = T = 1", strict=True),
            ft.at_most(one**2 + one**2, (one + one) ** 2,
                       "162: without it a = b = 1 violates |a + b|^2 <= |a|^2 + |b|^2",
                       strict=True),
            # tau_eff eta L = x: the descent lemma's x/2, times the 2 of (163), times the 3 of lemma 5
            ft.equal(Fraction(1, 2) + x / 2 * 2 * 3, Fraction(1, 2) + 3 * x,
                     "174: the drift carries 1/2 + 3 tau_eff eta L"),
            ft.nonnegative(3 * x - 2 * x, "174: printed 1/2 + 2 tau_eff eta L is smaller"),
            ft.at_most(Fraction(1, 2) + 3 * Fraction(1, 12), Fraction(3, 2),
                       "175 still holds for tau_eff eta L <= 1/12"))


ft.finding("e12-factors", kind="misprint", check=_factors,
           reading="Each printed constant beside the one that its own neighbours give.",
           survives="The order of alpha in (140), and (163) and (175), are unaffected.")


def _symbols_constants():
    tau, plane = 3, next(i for i in quadratics.on_eq26_28 if i.name == "plane, prox")
    matrix, _ = f.round_map(plane.problem.H, plane.problem.b, plane.problem.weights, plane.eta, plane.mu, plane.taus)
    fixed = [ft.fraction(v) for v in plane.op.fixed_point().x]
    *_, (last, _) = plane.op.trajectory(3, [2, 2])               # the model before round 2
    gap = [2 - v for v in fixed]
    for _ in range(2):
        gap = [f.dot(row, gap) for row in matrix]
    nova = next(i for i in fednova if i.taus == (1, 3, 8))
    steps = [ft.fraction(1), ft.fraction(3)]
    half = [Fraction(1, 2)] * 2
    return (ft.equal(len(list(ft.everyone(1, tau).local_steps())), tau,
                     "G_i has tau columns: the coded client takes tau gradients"),
            ft.equal([ft.fraction(v) - w for v, w in zip(last, fixed, strict=True)], gap,
                     "27: x^(t,0) - limit = M^t (x^(0,0) - limit)"),
            ft.at_most(ft.fraction(1) ** 2, 2 * ft.fraction(1) ** 2 + 2 * ft.fraction(0) ** 2,
                       "72: |a + b|^2 < 2|a|^2 + 2|b|^2 at a = 1, b = 0", strict=True),
            ft.at_most(steps[0], fs.mean(half, steps), "136, 140: no tau_i of steps (1, 3) is taubar = 2", strict=True),
            ft.at_most(fs.mean(half, steps), steps[1], "136, 140: nor the other one", strict=True),
            ft.equal(coded_averaging(nova)[1], nova.p, "143: for FedNova the weights are p"),
            ft.at_most(f.plain_averaging(half, steps)[1][0], half[0], "143: w of (6) is something else", strict=True))


ft.finding("e12-symbols", kind="misprint", check=_symbols_constants,
           reading="Slips without a number to compare: (14) h_i for H_i; (80) index s for k; (126) and (133) lack "
                   "x^(t,0); (82) is substituted into (80), not (75).",
           survives="No conclusion depends on them.")


def _wording():
    prox, plain = whole("proximal", (1, 3, 5), value=0), whole("vanilla", (1, 3, 5))
    momentum = prefixes[2]
    printed = [fs.norm1("momentum", momentum.value, t, momentum.value**t) for t in (2, 3)]
    w = [Fraction(9, 10), Fraction(1, 10)]
    at_half = [ft.fraction(str(v.substitute(v=Fraction(1, 2)))) for v in printed]
    return (ft.equal(prox.op.mean_map()[1], plain.op.mean_map()[1],
                     "FedProx at alpha = 0: the coded round is that of FedAvg"),
            ft.equal(ft.fraction(two_clients().dissimilarity(w, 1)), 4 * w[0] * w[1],
                     "D.1: F_2 = (x + a)^2/2 gives its kappa^2 = 4 w_1 w_2 a^2"),
            ft.equal(f.norm1(coded_vector(momentum, 3)), printed[1],
                     "Algorithm 2 with (35)-(36): the printed |a|_1 for 3 steps"),
            ft.at_most(at_half[0], at_half[1], "a buffer used one step late would give that of 2 steps", strict=True))


ft.finding("e12-wording", kind="misprint", check=_wording,
           reading="(10) and (111) lack expectations on the left; with 'w + a' the second objective of D.1 would not "
                   "depend on x.",
           survives="No conclusion depends on them.")


# ---- Table 1 ----------------------------------------------------------------------------------------------


def _gains():
    table = printed_table()
    gains = [table[e, o][1] - table[e, o][0] for e in ("2", "2-5") for o in ("vanilla", "momentum")]
    return (ft.equal(gains, [ft.fraction(v) for v in ("5.63", "8.06", "9.00", "6.63")],
                     "gains of the table (vanilla, momentum)"),
            ft.at_most(gains[0], 6, "the first is below the stated range 6 to 9", strict=True),
            *(ft.at_most(6, v, "the others are at least 6") for v in gains[1:]),
            *(ft.at_most(v, 9, "and at most 9") for v in gains[1:]))


ft.finding("err-table1-range", kind="empirical", check=_gains,
           reading="Gains as differences of the printed means; the printed spread of the first row (1.05 and 0.86) "
                   "covers the difference.",
           survives="To the nearest point 5.63 is 6, and the other three lie in the range.")
