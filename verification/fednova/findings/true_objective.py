"""Findings about Section 4.2 and Appendix D."""
import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.instances import surrogate as S
from verification.fednova.instances import two_clients

ft.finding("e1-thm2", kind="counterexample", breaks="thm2-as-printed", at=("prox-alpha1, T=100",
                                                                           "prox-alpha1, T to infinity"),
           script="witnesses/e1_thm2.py",
           step="Theorem 2 inserts Theorem 1's right-hand side, which misses the drift of the proximal solver (eq 69); "
                "Lemma 3 is not to blame",
           reading="alpha = 1 gives w = p, so chi^2 = 0 and F = F~; the constants of (10) are those of (97) times 2.",
           survives="With the prefix-based error (thm2-corrected) the same instance satisfies the bound.")

ft.finding("e9", kind="wrong-formula", breaks="lem4-constants-as-printed", at=("tau=(9, 1), a=1", "tau=(2, 5), a=3/2"),
           script="witnesses/e9.py",
           step="w_1 |x - a|^2 + w_2 |x + a|^2 = |grad F~|^2 + 4 w_1 w_2 a^2: the factor is 4, and chi^2 has 4 tau_1 "
                "tau_2 below",
           reading="beta^2 = 1, where Assumption 3 is an equality for every x.",
           survives="The product chi^2 kappa^2, which Lemma 4 uses, is unaffected.")

ft.finding("e10", kind="counterexample", breaks="disc-only-two-cases", at=("common minimiser", "two alike of three"),
           script="witnesses/e10.py",
           step="w != p moves the minimiser only if sum (p_i - w_i) grad F_i(x_w) != 0; a common minimiser makes it 0 "
                "for every w",
           reading="'Inconsistency' means that the surrogate's minimiser is not the true one; kappa^2 = 0 here, so "
                   "Theorem 2's own floor vanishes. Two alike of three clients refute the reading F~ = F as functions too.",
           survives="inconsistency-condition: the minimisers agree exactly when sum (p_i - w_i) grad F_i(x_w) = 0.")


def _minimum_over_rounds():
    """Lemma 4's instance, tau = (9, 1): started at x* = 0 the minimum over rounds is 0 although the last iterate's
    limit is not; started beyond the limit the rounds come down monotonically and never pass it."""
    at_optimum = S.surrogate("from 0", two_clients(), (9, 1), "1/100", rounds=1)
    limit = ft.fraction(at_optimum.op.fixed_point().x[0])
    first = ft.fraction(at_optimum.op.mean_gradient_square(at_optimum.problem, 1, [0]))
    slope = ft.fraction(at_optimum.op.mean_map()[0][0, 0])
    # x = limit + gap with gap >= 0: one round keeps the sign, shrinks it
    z0, z1, gap = ft.Field("z0 z1 gap").symbols
    factor = f.eq29_factor([z0, z1])
    return (ft.equal(first, 0, "start at x* = 0: the minimum of |grad F|^2 over rounds is 0"),
            ft.at_most(ft.fraction("1/2"), limit**2,
                       "limit of |grad F|^2 for the last iterate, eta = 1/100 (0.64 as eta tends to 0)"),
            ft.equal(slope, f.eq29_factor([ft.fraction("99/100") ** 9, ft.fraction("99/100")]),
                     "factor of the coded round"),
            ft.nonnegative(factor * gap, "a start at or beyond the limit stays there: x - limit >= 0 is multiplied by "
                                         "(z_1 + z_2)/2 >= 0"))


ft.finding("r6", kind="remark", breaks="lem4", check=_minimum_over_rounds,
           reading="Section 4.2 states the lower bound for the minimum over rounds, Lemma 4 proves it for the last "
                   "iterate.",
           survives="As an existence statement both hold: from any start at or beyond the limit the minimum over "
                    "rounds is the limit.")
