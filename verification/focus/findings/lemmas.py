"""Findings about Lemmas 3 and 4, (93)-(94), (110), (113) and Assumption 2."""

from fractions import Fraction as Q

from fltheory.verdicts.claims.claim import finding
from fltheory.verdicts.claims.relations import at_most, equal, nonnegative
from verification.focus.claims.lemmas import summed_changes
from verification.focus.formulas import lemmas as f
from verification.focus.instances import lemmas as I
from verification.focus.instances import line
from verification.focus.one_round import one_round, semidefinite, value, worst

finding(
    "e9",
    kind="wrong-formula",
    breaks="eq110",
    at=("q=1/2, N=2, L=mu=1",),
    script="witnesses/e9.py",
    reading="The product of the contraction factor of A and the weight of B in (110), at the largest printed step.",
    survives="Half of the printed step (eq110-corrected).",
)


def _first_step():
    """eta = mu/(9 N L^2) meets the bound under (110) only for q >= (8 L^2/mu + mu/2) mu/(6 L^2) > 1."""
    i = I.factors[0]
    L = i.mu * (1 + i.s)
    needed = (8 * L**2 / i.mu + i.mu / 2) * i.mu / (6 * L**2)
    at_it = i.mu / (9 * i.N * L**2) / f.eq110_step(i.N, L, i.mu, needed)
    return (
        equal(at_it, 1 + 0 * i.s, "the first step of Theorem 1 equals the bound under (110) at q = q_0"),
        nonnegative(needed - Q(4, 3), "q_0 >= 4/3 for all L >= mu, so no weight reaches it"),
        equal(needed.substitute(s=Q(0)), Q(17, 12) + 0 * i.s, "q_0 at L = mu"),
    )


finding(
    "e9-step",
    kind="gap",
    breaks="eq110",
    check=_first_step,
    step="the condition on eta that (110) uses contains q_min, the first step condition of Theorem 1 does not",
    reading="Theorem 1 (23) as printed, eta <= 3 mu/(27 N L^2).",
    survives="The statement itself with the appendix Psi on quadratics (thm1-sc-corrected); the step under eq110-corrected.",
)


def _missing_tau():
    """At tau = 40 each part of Theorem 1 admits a step that Lemma 4 does not."""
    N, L, mu, q, tau = Q(2), Q(1), Q(1), Q(1, 2), 40
    lemma = f.step_lemma4_tau(L, q, tau)
    parts = {
        "(23), mu = L/9": f.steps_strongly_convex(N, L, mu / 9, q, tau),
        "(24)": f.steps_pl(N, L, mu, q),
        "(25)": f.steps_nonconvex(N, L, q, tau),
    }
    return [
        at_most(
            lemma, f.admissible(bounds), f"{name}: Lemma 4's squared condition lies below the squared step", strict=True
        )
        for name, bounds in parts.items()
    ]


finding(
    "e9-tau",
    kind="gap",
    breaks="thm1-pl",
    check=_missing_tau,
    step="Lemma 4 is applied without its condition eta <= q^1.5/(8L(tau-1))",
    reading="N=2, L=1, q=1/2, tau=40 at the printed steps.",
    survives="For (23) and (25) no violation is known; (24) needs a condition on tau (e5).",
)


def _sign():
    i = I.coefficients[0]
    eta = i.step(i.N, i.L) / (1 + i.s)
    n = I.coefficients[1]
    left = f.eq113(n.step(n.N, n.L), n.N, n.L)
    return (
        nonnegative(f.eq113(eta, i.N, i.L) + eta * i.N, "left coefficient + eta N, for every step up to 1/(4LN)"),
        at_most(-n.step(n.N, n.L) * n.N, left, "N=3, L=2, eta=1/24: printed right side below the left", strict=True),
        nonnegative(f.eq113(eta, i.N, i.L) + eta * i.N / 2, "the left coefficient is never below -eta N/2"),
    )


finding(
    "e10",
    kind="gap",
    breaks="eq113-corrected",
    check=_sign,
    step="(113) continues -(eta N/2 - eta^2 N^2 L)|grad F|^2 <= -eta N |grad F|^2",
    reading="As printed, with eta > 0.",
    survives="-eta N/4 for eta <= 1/(4LN) (eq113-corrected); the same in Theorem 5's proof.",
)

finding(
    "e11",
    kind="counterexample",
    breaks="lem3",
    at=("one of two, eta=40, literal start at x*", "rare clients, empty rounds, eta=10"),
    script="witnesses/e11.py",
    step="the proof bounds min{1/mu, 1/(3L(tau-1))} by its second part, which is infinite at tau = 1",
    reading="tau = 1; one uniform client, no empty round; y = 0, so row 0 of the consensus error vanishes.",
    survives="eta <= 1/mu, implied for tau >= 2 (lem3-corrected); Theorem 1's other steps are smaller.",
)

finding(
    "e12",
    kind="counterexample",
    breaks="eq94-without-convexity",
    at=("f=-x^2/2, tau=100, eta=.05025",),
    script="witnesses/e12.py",
    step="the sum over tau - 1 changes needs eta L (tau - 1) bounded, not eta L sqrt(tau - 1)",
    reading="(93) and (94) follow from Lipschitz gradients alone, as their derivation says; L = 1, eta just below 1/(2 sqrt 99).",
    survives="(94) itself for strongly convex clients, that is, inside Lemma 3 where it is printed (eq94). Without convexity "
    "eta <= 1/(2L(tau-1)) suffices (eq94-corrected), and such steps are assumed wherever (94) is reused.",
)


finding(
    "e13",
    kind="counterexample",
    breaks="lem4",
    at=("N=10, one at a time, eta=1/800, x=1, z=1.15", "N=10, three passes from the literal start, then one at a time"),
    script="witnesses/e13.py",
    step="see e13-causes",
    reading="Conditional on the state before the round, client rows; the second state is reached from the printed start.",
    survives="N <= 3 on this family; lem4-corrected. Total expectation does not help (lem4-total-expectation).",
)


finding(
    "lem4-total",
    kind="counterexample",
    breaks="lem4-total-expectation",
    at=("N=12, one at a time, 69 rounds",),
    script="witnesses/lem4_total.py",
    step="see e13-causes: the factor N of the stacked norm",
    reading="All expectations over all rounds, Algorithm 1's own start x_0 = 1, the largest admissible step, no empty rounds; on "
    "the client rows, and with the server's own move as row 0.",
    survives="N = 11 on this family (ratio .9993); the excess is small, .3 percent at N = 20; lem4-corrected.",
)


def _causes():
    """Forms over every state of f_i = x^2/2, one uniform client, boundary step, N = 3, 4 and 10."""
    out = [
        at_most(
            Q(16, 3), 8 / (1 - Q(1, 100) / 4), "8/(1-q^2/4) at q = 1/10 was replaced by the smaller 16/3", strict=True
        ),
        equal(sum(Q(3) ** 2 for _ in range(10)), 10 * Q(3) ** 2, "|1 y|_F^2 = N |y|^2 with N = 10 client rows, y = 3"),
    ]
    for N in (3, 4, 10):
        i = I.with_largest(I.RULES["lem4"])(f"N={N}", line((1,) * N, (0,) * N), I.Uniform(1), 1)
        s, (contraction, factor) = one_round(i), f.lemma4(i.eta, i.N, i.q)
        printed = contraction * s.B + factor * s.grad2_1 - s.B1
        if N == 3:
            out.append(semidefinite(printed, "N=3, as printed:"))
        else:
            out.append(
                at_most(
                    value(printed, worst(printed)), Q(0), f"N={N}: right minus left as printed, at a state", strict=True
                )
            )
        out.append(
            semidefinite(printed + (N - 1) * factor * s.grad2_1, f"N={N}, the factor N of the stacked norm restored:")
        )
    return out


finding(
    "e13-causes",
    kind="gap",
    breaks="lem4",
    check=_causes,
    step="|1 ybar|_F^2 needs a factor N; 8/(1-q^2/4) >= 8 was replaced by 16/3; the inner sum of (101) has index r-1; the two step "
    "conditions give 3q^2/8 instead of q^2/4",
    reading="f_i = x^2/2, one uniform client, tau = 1, every state: the printed bound fails for N = 4 and 10 and holds for N = 3; "
    "with the factor N it holds for all three.",
    survives="lem4-corrected.",
)


def _one_sided():
    """f = -h x^2/2 meets the printed upper bound with L = 1 for every h > 0; its gradient is h-Lipschitz."""
    h, points = Q(50), [Q(v) for v in (-3, 0, 1, 7)]
    upper = [-h * y * y / 2 - (-h * x * x / 2 - h * x * (y - x) + (y - x) ** 2 / 2) for x in points for y in points]
    steepest = max(abs(-h * x + h * y) / abs(x - y) for x in points for y in points if x != y)
    i = I.pulled("f=-25 x^2", line((-50,), (0,)), 3, "1/4", 1, [0])
    left, distance = (v[0] for v in summed_changes(i))
    return (
        at_most(
            max(upper), Q(0), "printed Assumption 2 with L = 1: f(y) - f(x) - <grad f(x), y-x> - |y-x|^2/2, largest"
        ),
        at_most(Q(1), steepest, "but the gradient has Lipschitz constant 50", strict=True),
        at_most(f.eq94(Q(1), 3) * distance, left, "and (94) with L = 1, eta = 1/4, tau = 3 fails", strict=True),
    )


finding(
    "ass2-one-sided",
    kind="gap",
    breaks="eq94-corrected",
    check=_one_sided,
    step="Assumption 2 is the quadratic upper bound only, the proofs use |grad f(x) - grad f(y)| <= L|x - y|",
    reading="f = -25 x^2 and L = 1.",
    survives="Lipschitz gradients, the hypothesis of every claim here; convex clients.",
)
