"""Corollary 3 as the text states it: which conditions, and which eta."""
from fractions import Fraction

import fltheory as ft
from verification.fednova.claims.client_sampling_rate import over_the_server_condition
from verification.fednova.formulas import client_sampling as c


def _theorem_1_holds():
    """(101) and Assumption 3 with beta^2 = 362 and kappa^2 = 0 hold at the instance, at its prescribed eta; (182) fails."""
    i = over_the_server_condition
    beta2 = ft.fraction(362)
    mean = sum(p * ft.fraction(h[0, 0]) for p, h in zip(i.p, i.problem.H, strict=True))
    first, second = (ft.fraction(moment[0, 0]) for _, moment in i.op.trajectory(2, i.x0))
    bound = sum(c.cor3(i.eta, i.L, 0, ft.fraction(0), mean / 2, i.tau_eff, i.rounds, i.q, 0, 0).values())
    return [ft.equal(i.eta**2 * i.rounds, ft.fraction(i.q), "eta = sqrt(q/(tau T)), tau = 1"),
            ft.equal(sum(p * ft.fraction(h[0, 0]) ** 2 for p, h in zip(i.p, i.problem.H, strict=True)), beta2 * mean**2,
                     "Assumption 3 with beta^2 = 362, kappa^2 = 0, as an equality"),
            ft.at_most((2 * i.eta * i.L) ** 2 * (2 * beta2 + 1), 1, "(101), drift, |a_i|_1 = 1"),
            ft.at_most(2 * i.eta * i.L * i.tau_eff, 1, "(101), server"),
            ft.at_most(ft.fraction("1/2"), 6 * i.tau_eff * i.eta * i.L * (1 + beta2 / i.q),
                       "the condition on the server step that stands before (175) is not met", strict=True),
            ft.at_most(first, second, "E x^2 grows in every round, so the first E|grad F|^2 is the smallest", strict=True),
            ft.at_most(bound, mean**2 * first, "and it is above (182)", strict=True)]


ft.finding("err-cor3-conditions", kind="remark", breaks="cor3-o-as-printed", check=_theorem_1_holds,
           script="witnesses/err_cor3_conditions.py",
           step="(182) is derived under one condition more than (101) that is used: 6 tau_eff eta L (1 + beta^2/q) <= 1/2, printed "
                "before (175)",
           reading="Corollary 3 asks for 'the same condition as Theorem 1'; its proof in Appendix G prints 6 tau_eff eta L (1 + "
                   "beta^2/q) <= 1/2 and D <= 1/(12 beta^2 + 1), and 'small enough' before (183), so that nobody who reads it "
                   "is misled; the rows ask for both. Here the first of them is shown to be needed (C = D = 0, so that the second "
                   "plays no part): tau_eff is any positive constant, as in rule (12), and clients of opposite curvature make "
                   "the second moment grow.",
           survives="Under the conditions of Appendix G: cor3-explicit-restricted and cor3-explicit-corrected.")


def _random_eta():
    """Two clients, steps 1 and 9, q = T = 1: eta = sqrt(q/(tau T)) with the sampled client's steps is 1 or 1/3."""
    taus, p = (1, 9), (Fraction(1, 2), Fraction(1, 2))
    squares = [c.prescribed_eta_square(1, t, 1) for t in taus]
    moves = [q * e for q, e in zip(p, squares, strict=True)]
    fixed = c.prescribed_eta_square(1, sum(q * t for q, t in zip(p, taus, strict=True)), 1)
    return [ft.equal(squares, [Fraction(1), Fraction(1, 9)], "eta^2 is q/(tau T): it depends on who is drawn"),
            ft.equal(moves, [Fraction(1, 2), Fraction(1, 18)], "so eta^2 weighs the clients by 1 and 1/9 instead of alike"),
            ft.equal(fixed, Fraction(1, 5), "with the mean over all clients eta^2 = 1/5 whoever is drawn")]


ft.finding("rem-cor3-eta", kind="remark", breaks="cor3-o-as-printed", check=_random_eta,
           reading="Section 5 defines tau-tilde by the sampled clients, sum over t and i in S^(t) of tau_i^(t)/(qT): "
                   "the step then depends "
                   "on draws that are still to come. Appendix G says 'the average local updates across all rounds' and keeps a_i "
                   "fixed.",
           survives="Read with the mean over all clients, as everywhere here, eta is a number.")
