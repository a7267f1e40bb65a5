"""Findings about FedAvg: Theorem 3, the bias (3), the heterogeneity (37)."""
from fractions import Fraction as Q

import numpy as np

from fltheory.core.scalars import Field
from fltheory.verdicts.claims.claim import finding
from fltheory.verdicts.claims.relations import at_most, equal, limit, nonnegative
from verification.focus.claims import theorem3 as claims
from verification.focus.claims.fedavg import _bias
from verification.focus.formulas import fedavg as f
from verification.focus.instances import fedavg as I
from verification.focus.instances import theorem3 as T


def _digits(value, text, label):
    """The value rounds to the printed digits."""
    half = Q(1, 2 * 10 ** len(text.partition(".")[2]))
    return at_most(abs(value - Q(text)), half, f"{label} is {text}")


def _theorem3():
    i = T.e2
    delta2, sigma2 = claims.heterogeneity(i)
    at = (i.eta, i.tau, *claims.curvatures(i))
    return (_digits(i.op.floor(), "0.64018", "stationary E|x - x*|^2 of the coded round"),
            _digits(sum(f.thm3(*at, delta2, sigma2, printed=True).values()), "0.09024", "printed bound"),
            _digits(sum(f.thm3(*at, sigma2, sigma2, printed=True).values()), "0.132", "printed bound at delta_q = sigma_G"),
            _digits(sum(f.thm3(*at, delta2, sigma2).values()), "6.426", "corrected bound"))


finding("e2", kind="counterexample", breaks="thm3", at=("mu=L=.1, one client a round, q=(.9,.1)",), check=_theorem3,
        script="witnesses/e2.py", step="(67) divides (5 eta/mu) delta_q^2 by eta mu/2, which is 10 delta_q^2/mu^2",
        reading="The smallest delta_q^2 that (37) allows at consensus; with the larger delta_q = sigma_G the printed bound is .132 "
                "and fails too.",
        survives="With 10 delta_q^2/mu^2 (thm3-corrected); as printed where kappa mu^2 >= 1, or for uniform weights.")


def _units():
    k = Field("eta mu L tau delta2 sigma2 c")
    eta, mu, L, tau, delta2, sigma2, c = k.symbols
    steady, drift = f.floor_recursion(eta, mu, L, tau, delta2, sigma2), f.thm3_drift(eta, tau, mu, L, delta2, sigma2)
    printed = drift * L * L
    scaled = printed.substitute(eta=eta / c, mu=c * mu, L=c * L, delta2=c * c * delta2, sigma2=c * c * sigma2)
    return (equal(steady["spread"], drift, "re-derived from (49) and (54): no L^2"),
            equal(steady["sampling"], 10 * delta2 / (mu * mu), "re-derived: delta_q^2 over mu^2"),
            equal(drift.substitute(eta=eta / c, mu=c * mu, L=c * L, delta2=c * c * delta2, sigma2=c * c * sigma2), drift,
                  "f -> c f, eta -> eta/c leaves every iterate and the drift term as they are"),
            equal(scaled, c * c * printed, "and multiplies the printed drift term by c^2"))


finding("e2-units", kind="misprint", breaks="cor1", check=_units,
        says="The drift term of Theorem 3 and Corollary 1 carries an extra L^2: 80 eta^2 kappa^2 (tau-1)^2 has the units of |x|^2.")


def _origin():
    """The bias does not move with the origin; the printed right side does, and is 0 where x* is the origin."""
    out = []
    for shift in (-1, 0, 99):
        i = I.biases[0].but(problem=I.line([1, 3], [2 + Q(1, 4) + shift, -1 + Q(1, 4) + shift]))
        best = f.minimiser(i.problem.H, i.problem.c)
        out += [equal(_bias(i), _bias(I.biases[0]), f"x* = {shift}: same bias"),
                equal(f.eq3(i.eta, i.tau, best), 2 * i.eta * shift**2, f"x* = {shift}: right side 2 eta x*^2")]
    return out


finding("e17", kind="counterexample", breaks="eq3", at=("equal Hessians", "equal Hessians in the plane"), check=_origin,
        script="witnesses/e17.py",
        reading="For every problem, as printed; Omega with any positive constant; strongly convex quadratics, full participation, "
                "several local steps, small eta.",
        survives="For one problem made for it and the distance not squared, as in the theorem that (3) is attributed to. Squared, "
                 "(3) fails on fixed quadratics as eta -> 0 (e17-rate). The first-order bias eq3-corrected, which is 0 exactly "
                 "when sum H_i^2 (c_i - x*) = 0.")


def _rate():
    i = I.ratio
    eta, best = i.eta, f.minimiser(i.problem.H, i.problem.c)
    ratio = f.square(_bias(i)) / f.eq3(eta, i.tau, best)
    unsquared2 = ratio / f.eq3(eta, i.tau, best) * f.square(best)
    general = I.first_order[4]  # any two clients, tau = 2
    squared = f.square(_bias(general))
    first = f.square(f.first_order_bias(*(general.domain.array(v) for v in (general.problem.H, general.problem.c)), general.tau))
    small = I.biases[0].but(algorithm=I.plain(Q(1, 10000), 3), eta=Q(1, 10000))
    here = f.square(_bias(small)) / f.eq3(small.eta, small.tau, best)
    return (equal(limit(ratio, "eta"), 0, "h=(1,3), c=(2,-1), tau=3: squared bias/((tau-1) eta x*^2) tends to 0"),
            equal(limit(_bias(i)[0] / eta, "eta"), Q(9, 8), "bias/eta tends to 9/8"),
            equal(limit(unsquared2, "eta"), Q(81, 16), "|bias|/((tau-1) eta |x*|) tends to 9/4, squared"),
            at_most(abs(here - Q("1.0e-3")), Q(1, 20000), "ratio at eta = 1e-4 is 1.0e-3"),
            equal(squared.series("eta", 1), [0, 0], "any two clients: squared bias has no terms below eta^2"),
            equal(squared.series("eta", 2)[2], first, "and starts with the square of the first-order bias"))


finding("e17-rate", kind="asymptotic", breaks="eq3", check=_rate,
        reading="Different Hessians, where the bias is not 0: the order in eta is compared at fixed clients and tau.",
        survives="The unsquared distance is of order (tau-1) eta.")


def _unbounded():
    """q'grad f(X) - u'grad f(X) at X = (s, 0), f_i = h (x - c_i)^2/2: a quadratic in s with leading coefficient > 0."""
    k = Field("s h c1 c2 d")
    s, h, c1, c2, d = k.symbols
    q = [Q(1, 2) + d, Q(1, 2) - d]
    rows = f.as_rows([h * (s - c1), -h * c2])
    value = f.sampling(q, rows)
    rest = value - (d * h * s) ** 2
    top = rest.substitute(s=1 / s) * s * s
    same = f.sampling(q, f.as_rows([h * (s - c1), h * (s - c2)]))
    free = f.sampling([Q(9, 10), Q(1, 10)], f.as_rows([Q(10**6) - 1, Q(1)]))
    return (equal(limit(top, "s"), 0, "beyond (d h s)^2, d = q_1 - 1/2, only lower powers of s: the supremum over s is infinite"),
            equal(same, (d * h * (c1 - c2)) ** 2, "at consensus the value does not depend on the point"),
            nonnegative(d * d * h * h, "its coefficient (d h)^2 is positive unless d = 0"),
            at_most(Q(10**10), free, "X = (10^6, 0), q = (.9,.1), h = 1: value above 10^10"))


finding("eq37-consensus", kind="missing-hypothesis", breaks="delta-le-sigma", at=(I.free_state.name,), check=_unbounded,
        step="(37) bounds the difference over free stacked states, where it grows with the distance between the rows",
        reading="(37) for every stacked X, with q different from uniform.",
        survives="Consensus, X = 1 x', which is all that the proofs use (delta-le-sigma).")


def _full():
    i = I.descent
    M, shift = i.op.mean_map()
    H, b = sum(i.problem.H) / i.problem.n, sum(i.problem.b) / i.problem.n
    return (equal(M, np.eye(1, dtype=int) - i.eta * H, "matrix of the coded round: I - eta times the Hessian of F"),
            equal(shift, i.eta * b, "its offset: gradient descent on F"), equal(i.op.floor(), 0, "floor"),
            *(equal(g.op.mean_map()[1], [g.eta * sum(h * c for h, c in zip(g.problem.H[:, 0, 0], g.problem.c[:, 0], strict=True))
                                         / g.problem.n], "any h, c and eta") for g in I.fixed_points if g.name == "full, tau=1"))


finding("rem-thm3-full", kind="remark", breaks="rem-thm3-restricted", check=_full,
        reading="Uniform sampling includes m = N, where q = u and every round is one exact gradient step.",
        survives="Partial uniform sampling, m < N (rem-thm3-restricted).")
