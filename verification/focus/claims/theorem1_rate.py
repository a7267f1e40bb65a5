"""Theorem 1's rate under the PL condition, with a potential that carries it at steps of order q/(LN)."""
from fractions import Fraction as Q

import fltheory as ft
from verification.focus import steps
from verification.focus.bugs import structure as wrong
from verification.focus.bugs import theorem1 as bugs
from verification.focus.crowd import one_round
from verification.focus.formulas import lemmas as f
from verification.focus.one_round import within
from verification.focus.proofs import meaning
from verification.focus.proofs import theorem1 as proofs
from verification.focus.proofs.lemmas import EVERY

step = steps.squared("step", r"$\eta\le\min\{q/(5LN),1/(3L(\tau-1))\}$, squared",
                     lambda i: f.admissible(f.steps_of_the_rate(i.n, i.L, i.q, i.tau)))
PL = [p for p in steps.CONVEX + steps.CONCAVE if "concave F" not in p[0]]


hubers = [steps.huber(f"Huber, {name}", U, offsets, delta, "1/4", law, tau, "rate", 1, x, z) for name, U, offsets, delta, law,
          tau, x, z in (
    ("one of two, tau=3", [[1, 2], [1]], [[0, 3], [-1]], Q(1), ft.Uniform(1), 3, Q(4), [Q(-2), Q(1, 2)]),
    ("all three, tau=2", [[1], [-1, 1], [2]], [[2], [0, 1], [-3]], Q(1, 2), ft.Full(), 2, Q(-1), [Q(3)] * 3),
    ("rare clients", [[1], [2]], [[1], [-2]], Q(1), ft.Bernoulli(("1/10", "1/2")), 1, Q(7), [Q(1), Q(-3)]))]


@ft.claim("thm1-rate", on=[*steps.at_largest("rate", PL, (1, 4)), *steps.crowds("rate"), *hubers],
          needs=[steps.smooth, steps.pl_condition, steps.participation, steps.weights, step], bound=True,
          rejects=[bugs.slow_server, wrong.tracking_reset], proof=proofs.rate, meaning=meaning.rate_along, domain=EVERY,
          search=ft.Search((ft.Family("random quadratics, concave clients, every state", steps.quadratics("rate", (-3, 6)),
                                      steps.corners(many=10, spread=(1, 1000))),
                            ft.Family("Huber clients, random states", steps.hubers("rate", reg=("1/4", "1")))), tries=150),
          ends=steps.CONVEX_ENDS | steps.CROWDED,
          reading="F has the PL constant beta (for strongly convex clients beta >= mu), clients need not be convex. "
                  "The proof uses beta <= L, which fails only "
                  "for a constant F with clients that are not constant. The "
                  "printed steps of "
                  "(23) and (25) imply it for beta = mu, since q <= 1/N gives q^{3/2}/(8L sqrt N) <= q/(8LN); those of (24) "
                  "with eta "
                  "<= 1/(3L(tau-1)) added as well.",
          survives="It is the rate of Theorem 1 with F - F* in place of the squared distance: E|x_R - x*|^2 <= (2/mu)(1 - eta "
                   "mu N)^R "
                   "Phi_0 for strongly convex clients.")
def thm1_rate(i):
    r"""For $\eta\le\min\{q/(5LN),1/(3L(\tau-1))\}$ and $F$ with the PL constant $\beta$: $E\Phi_{r+1}\le(1-\eta\beta N)E\Phi_r$
    with     $\Phi_r=F(x_r)-F^\star+\frac{2\eta L^2}q\sum_i\|x_r-z_i\|^2$, from every state.
    """
    s, rate, weight = one_round(i), f.pl_rate(i.eta, steps.pl_constant(i), i.n), f.weight_of_the_rate(i.eta, i.L, i.q)
    return within(i, s.gap1 + weight * s.B1, server=rate * s.gap, consensus=rate * weight * s.B)


def crowd(n, least, holds):
    """n equal clients at the step q/(least L N)."""
    eta = Q(1) / (Q(least) * n * n)
    return ft.Instance(f"{n} equal clients, eta = q/({least} L N)", ft.Quadratic([[[1]]] * n, [[0]] * n), ft.Focus(eta, 1),
                       ft.Uniform(1), holds=holds)


@ft.claim("thm1-rate-step", rejects=[bugs.slow_server], domain="the listed numbers of equal clients, exactly",
          on=[crowd(2, "3/2", True), crowd(2, "7/5", False), crowd(64, "6/5", True), crowd(64, 1, False), crowd(1000, "11/10",
                                                                                                                True),
              crowd(1000, 1, False)],
          reading="How far the step of thm1-rate is from the largest one: its proof asks for q/(5LN).")
def thm1_rate_step(i):
    r"""Equal quadratic clients, one a round, $\tau=1$: the mean-square rate is at most $1-\eta\beta N$ for 2 clients at
    $\eta=q/(1.5LN)$,
    not at $q/(1.4LN)$; for 64 at $q/(1.2LN)$ and for 1,000 at $q/(1.1LN)$, for neither at $q/(LN)$.
    """
    found = ft.Bounds(*ft.exchangeable(i.algorithm, i.problem, i.law).certify(width=Q(1, 10**8)).mean_square)
    rate = f.pl_rate(i.algorithm.lr, Q(1), i.problem.n)
    return ft.at_most(found, rate, "rate") if i.holds else ft.at_most(rate, found.low, "the rate lies above", strict=True)
