"""Findings about Section 3, Appendix A and Assumption 3."""
from fractions import Fraction

import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.claims.appendix_a import digits
from verification.fednova.instances import appendix_a, two_clients


def _vanishes():
    """E3's numbers, and the mean-square gap as a function of eta: it is zero at eta = 0 and the mean is x* for every
    eta."""
    eta = ft.Field("eta").symbols[0]
    every = appendix_a.random_steps("E3, every eta", eta, domain=ft.Field("eta"))
    gap = every.op.floor([2])
    legs = [ft.equal(every.op.fixed_point().x, [2], "mean of FedAvg: x* = 2 for every eta"),
            ft.equal(gap.series("eta", 0)[0], 0, "limit of the mean-square gap as eta tends to 0")]
    legs += [digits(i.op.floor(), i.digits, f"mean-square gap, {i.name}") for i in appendix_a.E3_FLOORS]
    # FedNova with the round-wise default tau_eff, uniform p: the gap falls by about the cube of eta
    bounds = (("2.05e-3", "2.15e-3"), ("1.65e-5", "1.75e-5"), ("1.65e-8", "1.75e-8"))
    for i, (low, high) in zip(appendix_a.E3_FEDNOVA, bounds, strict=True):
        value = ft.fraction(i.op.floor())
        legs += [ft.at_most(ft.fraction(low), value, f"{i.name}: not below the printed digits"),
                 ft.at_most(value, ft.fraction(high), f"{i.name}: not above them")]
    return legs


ft.finding("e3", kind="remark", breaks="sec3-random-fixed-eta", check=_vanishes,
           reading="'Non-vanishing gap' in the sense of Lemma 1: one that survives eta to 0. The sentence is informal.",
           survives="At a fixed eta the stationary mean-square gap is non-zero: sec3-random-fixed-eta.")


def _order_eta():
    """Fixed points as functions of eta: FedNova with steps (1, 9), FedProx at alpha = 1 with steps (1, 2)."""
    field = ft.Field("eta")
    eta = field.symbols[0]

    def reached(algorithm):
        return ft.Instance("xi = +-1", two_clients(), algorithm, ft.Full(), domain=field).op.fixed_point().x[0]
    nova = reached(ft.FedNova(eta, (1, 9)))
    q = [f.first_order_q("vanilla", t) for t in (1, 9)]
    slope = sum(Fraction(1, 2) * k * (0 - xi) for k, xi in zip(q, (1, -1), strict=True))  # x* = 0, H = 1, w = p
    at = nova.substitute(eta=Fraction(1, 20))
    return (ft.equal(nova.series("eta", 1), [0, slope], "FedNova: bias 2 eta + O(eta^2)"),
            ft.at_most(Fraction(1, 20), ft.fraction(at), "FedNova at eta = 1/20: bias", strict=True),
            ft.equal(reached(ft.FedProx(eta, (1, 2), alpha=1)), eta / (2 - eta),
                     "FedProx at alpha = 1: bias eta/(2 - eta)"),
            ft.equal(reached(ft.FedAvg(eta, 9)), 0, "equal steps and Hessians: no bias"))


ft.finding("r1-fixed-eta-bias", kind="remark", breaks="fednova-consistency", check=_order_eta,
           reading="Consistency read at a fixed step size, as in an experiment.",
           survives="As eta tends to 0 after T tends to infinity FedNova and FedProx at alpha = 1 reach the true "
                    "minimiser.")


def _one_constant():
    """F_{1,2} = (x -+ 1)^2/2, beta^2 = 1: kappa^2 = 4 w_1 w_2, at most 1; with 1 for every w the lower bound of D.1
    fails."""
    legs, problem = [], two_clients()
    for w in (Fraction(1, 2), Fraction(9, 10)):
        legs.append(ft.equal(problem.dissimilarity([w, 1 - w], 1), 4 * w * (1 - w), f"smallest kappa^2 at w_1 = {w}"))
    u, v, M = ft.Field("u v M").symbols
    legs.append(ft.equal(1 - 4 * u * v / ((u + v) * (u + v)), ((u - v) / (u + v)) ** 2,
                         "a constant for every w is at least 1"))
    # steps (1, 1 + M): limit of |grad F|^2 is ((tau_1 - tau_2)/(tau_1 + tau_2))^2; chi^2 from the weights themselves
    half, tau = [Fraction(1, 2)] * 2, 1 + M
    chi2 = f.chi2(half, f.plain_averaging(half, [1 + 0 * M, tau])[1])
    reached = (M / (2 + M)) ** 2
    legs.append(ft.equal(chi2 * 4 * tau / ((1 + tau) * (1 + tau)), reached, "chi^2 kappa^2(w) is the limit exactly"))
    legs.append(ft.nonnegative(chi2 - M / 4 * reached,
                               "with kappa^2 = 1 for every w: chi^2 kappa^2 exceeds M/4 times the limit"))
    return legs


ft.finding("rem-a3-quantifier", kind="remark", check=_one_constant,
           reading="'For any sets of weights there exist constants': the constants may be chosen after the weights.",
           survives="Every theorem uses one w only and holds with constants for that w. Were kappa^2 one constant for "
                    "all w, the lower bound Omega(chi^2 kappa^2) of D.1 would fail for steps (1, M).")
