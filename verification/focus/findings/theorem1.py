"""Findings about Theorem 1: the weight of the text, the missing condition on tau, the start, units, the order of the step."""

from fractions import Fraction as Q

from fltheory.verdicts.claims.claim import finding
from fltheory.verdicts.claims.evidence import Bounds
from fltheory.verdicts.claims.relations import at_most, equal, nonnegative
from verification.focus.claims.theorem1 import pl_constant
from verification.focus.formulas import lemmas as f
from verification.focus.instances import lemmas, line
from verification.focus.instances import theorem1 as I
from verification.focus.one_round import one_round, state_vector, value

finding(
    "e4",
    kind="counterexample",
    breaks="thm1-sc",
    at=(I.e4.name,),
    script="witnesses/e4.py",
    step="the weight 1 - 8 eta tau L N of Section 5 is negative at admissible steps; (110) has 1 - 8 eta L^2 N/mu",
    reading="Printed indices from the literal start at x*, and equal indices; row 0 of the difference is 0.",
    survives="The appendix weight, which lies in [1/9, 1] at the printed steps (thm1-sc-corrected).",
)


def _start():
    """At x* with z_i = x_0 the printed Psi_0 would be 0, and the literal algorithm leaves x*."""
    i = lemmas.make(
        "h=(1,3), literal start at x*", line((1, 3), (3, -1)), lemmas.Full(), 2, "1/324", state=([0], [[3], [-1]])
    )
    s, v = one_round(i), state_vector(i)
    weight = f.weight_of_the_appendix(i.eta, Q(3), 2, Q(1))
    rate = f.strongly_convex_rate(i.eta, Q(1), 2)
    common = state_vector(i.but(state=([0], [[0], [0]])))
    ahead, spread, later = s.potential("A", weight)
    two = s.along(v, 2, A=s.A)[1][1]["A"]
    return (
        equal(value(s.A, common) + weight * value(s.B, common), Q(0), "Psi_0 with every z_i at x_0 = x*"),
        at_most(Q(0), two, "the literal start at x* moves away: E|x_2 - x*|^2", strict=True),
        at_most(Q(0), value(ahead + spread, v), "Psi_1 with the stale points at the minimisers", strict=True),
        at_most(value(later, v), rate * value(ahead + spread, v), "and from there it contracts: Psi_2"),
    )


finding(
    "psi0-start",
    kind="remark",
    breaks="thm1-sc",
    check=_start,
    reading="Psi_0 contains the consensus error of a round before round 0, which does not exist.",
    survives="Psi_1 = A_1 + w B_0 with the stale points at the clients' minimisers, where the stored gradient 0 belongs.",
)


def _tied():
    """The same clients at tau = 100 with the step of Lemma 4."""
    i = I.pl[-1]
    rate = Bounds(*i.op.certify(width=1e-6).mean_square)
    printed = f.admissible(f.steps_pl(2, Q(1), Q(1, 4), Q(1, 2)))
    return (
        at_most(printed, I.e5[0].eta ** 2, "eta = 3/128 is the largest printed step, squared"),
        at_most(
            rate,
            f.pl_rate(i.eta, pl_constant(i), 2),
            "tau = 100, eta <= q^1.5/(8L(tau-1)): mean-square rate against 1 - eta beta N",
        ),
    )


finding(
    "e5",
    kind="counterexample",
    breaks="thm1-pl",
    at=(I.e5[2].name, I.e5[3].name),
    check=_tied,
    script="witnesses/e5.py",
    step="Lemma 4 is used without its condition on tau - 1",
    reading="Full participation, nothing random; every printed condition holds with equality or slack.",
    survives="tau <= 60 on this instance; eta <= q^1.5/(8L(tau-1)) on quadratics (thm1-pl-corrected).",
)


def _units():
    """f -> f/100, eta -> 100 eta: the rounds are the same, the admissible multiples and the potential are not."""
    i = lemmas.make("f=(x^2/2, -x^2/4)", I.CONCAVE_CLIENT, lemmas.Full(), 2, "3/128")
    j = i.rescaled(Q(1, 100), 1)
    a, b = one_round(i), one_round(j)
    bounds = [f.admissible(f.steps_pl(2, k.constants.L, pl_constant(k), Q(1, 2))) for k in (i, j)]
    return (
        equal(a.A1, b.A1, "one round, server error"),
        equal(a.B1, b.B1, "one round, consensus error"),
        at_most(i.eta**2, bounds[0], "eta = 3/128 satisfies the conditions, squared"),
        at_most(bounds[1], j.eta**2, "the same iterates after f -> f/100, eta -> 100 eta do not, squared", strict=True),
        at_most(
            Q(1, 100),
            f.pl_weight(j.eta, j.constants.L) - f.pl_weight(i.eta, i.constants.L),
            "the weight 1 - 4 eta L^2 has changed by at least 1/100",
            strict=True,
        ),
    )


finding(
    "pl-units",
    kind="remark",
    breaks="thm1-pl",
    check=_units,
    reading="Changing the unit of f must not change whether the theorem applies to the same iterates.",
    survives="The strongly convex and the non-convex part, whose conditions are consistent.",
)

finding(
    "e22",
    kind="missing-hypothesis",
    breaks="thm1-nc",
    at=(I.e22.name,),
    script="witnesses/e22.py",
    step="E.7 notes C_0 = 0, F.5 says that a common start gives it",
    reading="Algorithm 1's own start, x_1 of the statement its x_0; also with F taken after the first round.",
    survives="A start with one full gradient pass, which is the fair reading of the statement (thm1-nc).",
)


def _orders():
    """eta = alpha/N leaves the printed range for N > 1/(8 L alpha)."""
    i = I.orders[0]
    N = (1 + i.s) / (8 * i.L * i.alpha)
    return (
        nonnegative(i.alpha / N - 1 / (8 * i.L * N**2), "alpha/N - 1/(8 L N^2) for N >= 1/(8 L alpha)"),
        equal(
            f.nonconvex(1 / (8 * i.L * i.N**2), i.N),
            64 * i.L * i.N,
            "factor of (25) at the largest step that q_min <= 1/N leaves",
        ),
    )


finding(
    "e23",
    kind="asymptotic",
    breaks="rem-no-linear-speedup",
    check=_orders,
    step="q_min <= 1/N makes eta <= q_min^1.5/(8 L sqrt N) at most 1/(8 L N^2)",
    reading="The remark takes eta of order 1/N; Theorem 1 (25) as printed does not admit it for large N.",
    survives="The formula itself (rem-no-linear-speedup); with the admissible order it grows like N (step-order-n2).",
)
