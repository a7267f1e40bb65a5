"""Findings about Appendix G and Algorithm 1."""
import fltheory as ft
from verification import bugs
from verification.fednova.claims import client_sampling as claims
from verification.fednova.formulas import client_sampling as c
from verification.fednova.instances import client_sampling as I

ft.finding("e1-cor3", kind="counterexample", breaks="cor3-explicit-as-printed",
           at=("m = q = 2000", "one draw of two, tau_eff = 1/10000"),
           script="witnesses/e1-cor3.py",
           step="eq (69), inherited through (85): prefix coefficients b_s^(k) replaced by a_s, wrong for FedProx",
           reading="alpha = 1 is inside the hypotheses: a_i >= 0, and the paper discusses it. tau_eff is the paper's "
                   "default at m = q = 2000 and an arbitrary constant, as the corollary allows, at the second instance.",
           survives="With B', C' from prefix coefficients, also in D (cor3-explicit-corrected), the same instances "
                    "satisfy the bound.")


def _not_consistent():
    """Uniform pairs: unequal steps with uniform p, equal steps with unequal p, and Appendix H's missing division."""
    uneven = ft.surrogate_weights(I.partial[-2].algorithm, I.partial[-2].law, 3)
    ratio = ft.surrogate_weights(I.skewed.algorithm, I.skewed.law, 3, I.skewed.problem.weights)
    one = I.algorithm1(3, 1)
    undivided = one.but(algorithm=bugs.shares_not_renormalised(one.algorithm))

    def steps(who):
        return [[-one.eta * one.t[k] * int(j == k) for j in range(3)] for k in who]
    printed, text = (sum(p * m for p, _, m in claims.server_moves(i, steps)) for i in (one, undivided))
    return [ft.equal(list(uneven), [ft.fraction(v) / 52 for v in (14, 15, 23)],
                     "tau = (1,2,10), uniform p, q = 2: coded weights"),
            ft.at_most(0, sum(abs(v - ft.fraction("1/3")) for v in uneven), "they differ from p", strict=True),
            ft.equal(list(ratio), c.ratio_weights([ft.fraction(v) for v in ("7/10", "1/5", "1/10")]),
                     "equal steps, p = (.7,.2,.1), q = 2"),
            ft.at_most(ratio[0], ft.fraction("7/10"), "the heaviest client gets less than p_1 (ratio estimator)",
                       strict=True),
            ft.equal(3 * text, printed,
                     "m = 3, q = 1: the text of Appendix H moves one third as far as the pseudo-code")]


ft.finding("e5", kind="remark", breaks="alg1-partial-weights", check=_not_consistent,
           reading="Consistency read as: surrogate weights equal to p as eta tends to 0, for the pseudo-code of "
                   "Algorithm 1 (divided by p_S) with uniform pairs. No theorem of the paper covers it.",
           survives="footnote1-i and footnote1-ii: with tau_eff independent of the sample both schemes are unbiased; "
                    "Corollary 3 covers rule (153) only.")


def _holds_with_fresh_runs():
    listed = next(i for i in I.fresh_runs if i.name == "listed, fresh runs")
    again = next(i for i in I.fresh_runs if i.name == "listed, shared runs")
    return [ft.equal(claims.run_variance(listed), ft.fraction("7/10"), "fresh runs: (1/q) sum p v"),
            ft.equal(claims.run_variance(again), ft.fraction("28/25"), "one shared run per client")]


ft.finding("e8", kind="missing-hypothesis", breaks="eq163-fresh-runs",
           at=("listed, shared runs", "dominant client, shared runs"),
           check=_holds_with_fresh_runs, step="(162) treats the draws of one client as independent runs",
           reading="A client drawn twice does its local work once and its update counts twice.",
           survives="eq163-fresh-runs with fresh runs; eq162-shared-runs for shared ones. No violation of (182) itself "
                    "is known.")
