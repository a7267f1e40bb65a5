"""Section 4.2 and Appendix C: Theorem 1 with explicit constants."""
import hypothesis.strategies as st

from fltheory.claims.claim import Hypothesis, claim
from fltheory.claims.evidence import Terms
from fltheory.claims.relations import at_most
from fltheory.claims.search import Family, Search
from fltheory.problems.huber import HuberLoss
from fltheory.problems.logistic import Logistic
from fltheory.problems.quadratic import Quadratic
from fltheory.scalars import FLOAT, RATIONAL
from verification import bugs
from verification.fednova import formulas as f
from verification.fednova import instances as I


def left_side(i, t):
    """(1/T) sum E |grad F~(x_t)|^2: exact second moments of the coded round."""
    return i.left_side() if hasattr(i, "left_side") else i.op.mean_gradient_square(t["target"], i.rounds, i.x0)


def constants(i, corrected):
    """(t, A, B, C, beta^2): everything on the right-hand side; beta^2 is the largest that the cap allows."""
    t = I.theorem(i)
    if corrected:
        A, B, C = f.abc_corrected(i.solver, i.value, i.taus, t["w"], t["tau_eff"])
        beta2 = f.beta2_under_corrected_cap(i.eta, t["L"], C) if C else f.beta2_under_cap(i.eta, t["L"], max(t["norms"]))
    else:
        A, B, C = f.abc(t["vectors"], t["w"], t["tau_eff"])
        beta2 = f.beta2_under_cap(i.eta, t["L"], max(t["norms"]))
    return t, A, B, C, beta2


def kappa2(i, t, beta2):
    """Smallest kappa^2 of Assumption 3 at this beta^2; None if there is no finite one."""
    return i.kappa2 if "kappa2" in i.extra else i.problem.dissimilarity(t["w"], beta2)


def right_side(i, corrected):
    t, A, B, C, beta2 = constants(i, corrected)
    k = kappa2(i, t, beta2)
    return t, Terms(**f.thm1(i.eta, t["L"], t["sigma2"], I.fraction_of(k), t["gap"], t["tau_eff"], i.rounds, A, B, C, t["m"]))


def _needs(corrected):
    def smallest_entry(i):
        return 0, min(min(a) for a in I.theorem(i)["vectors"])

    def cap(i):
        return 1, constants(i, corrected)[4]

    def server_cap(i):
        t = I.theorem(i)
        return 2 * i.eta * t["L"] * t["tau_eff"], 1

    def dissimilar(i):
        t, _, _, _, beta2 = constants(i, corrected)
        k = kappa2(i, t, beta2)
        return 0, None if k is None else I.fraction_of(k)

    def bounded(i):
        return 0, I.theorem(i)["gap"]
    drift = r"4\eta^2L^2C'\le\frac1{2\beta^2+1}" if corrected else r"\eta L\max_i\|a_i\|_1\sqrt{2\beta^2+1}\le\frac12"
    return [Hypothesis("non-negative a", r"$a_{i,k}\ge0$", smallest_entry),
            Hypothesis("step cap (101), drift", rf"${drift}$ leaves $\beta^2\ge1$", cap),
            Hypothesis("step cap (101), server", r"$2\eta L\tau_{\rm eff}\le1$", server_cap),
            Hypothesis("Assumption 3", r"$\kappa^2(\beta^2)<\infty$", dissimilar),
            Hypothesis("bounded below", r"$\widetilde F_{\inf}>-\infty$, gap $\ge0$", bounded)]


# ---- search families: hypothesis draws, shrinks and stops ---------------------------------------------------
def _fraction(draw, low, high):
    return I.fraction(draw(st.fractions(low, high, max_denominator=8)))


def _setting(draw, n):
    """Steps, solver with its parameter, and the share of the largest admissible step."""
    taus = tuple(draw(st.integers(1, 5)) for _ in range(n))
    solver = draw(st.sampled_from(sorted(I.SOLVERS)))
    ranges = {"proximal": (0, 1), "momentum": (0, I.Fraction(7, 8)), "decay": (I.Fraction(1, 2), 1)}
    value = _fraction(draw, *ranges[solver]) if solver in ranges else None
    return taus, solver, value, draw(st.sampled_from([I.Fraction(1, 8), I.Fraction(1, 4), I.Fraction(1, 2)]))


def _weights(draw, n):
    parts = [draw(st.integers(1, 5)) for _ in range(n)]
    return [I.Fraction(v, sum(parts)) for v in parts]


def quadratics(draw):
    """Random quadratics (some with a concave client), any solver, with and without noise."""
    n, d = draw(st.integers(2, 3)), draw(st.integers(1, 2))
    numbers, H = st.integers(-3, 3), []
    for _ in range(n):
        diagonal = [draw(st.integers(-1, 4)) for _ in range(d)]
        off = draw(st.integers(-1, 1))
        H.append([diagonal] if d == 1 else [[diagonal[0], off], [off, diagonal[1]]])
    e = [[draw(numbers) for _ in range(d)] for _ in range(n)]
    problem = Quadratic.from_linear(H, e, _weights(draw, n))
    taus, solver, value, share = _setting(draw, n)
    rounds, sigma = draw(st.sampled_from([1, 2, 5, None])), draw(st.sampled_from([0, 1]))
    x0 = [draw(numbers) for _ in range(d)]
    L = I.fraction(problem.constants.L)
    if L == 0:
        return None
    eta = share / (L * max(f.norm1(f.a_vector(solver, t, value)) for t in taus))
    return I.surrogate("random quadratic", problem, taus, eta, solver, value, sigma, rounds, x0,
                       says=f"H={H}, e={e}, tau={taus}, {solver} {value}, eta={eta}, sigma={sigma}, T={rounds}, x0={x0}")


def hubers(draw):
    """Sums of Huber losses on the line, run in exact rationals: gradients with kinks."""
    n = draw(st.integers(2, 3))
    U = [[[draw(st.sampled_from([1, 2, -1]))] for _ in range(draw(st.integers(1, 3)))] for _ in range(n)]
    offsets = [[draw(st.integers(-3, 3)) for _ in u] for u in U]
    delta = draw(st.sampled_from([I.Fraction(1, 2), I.Fraction(1), I.Fraction(2)]))
    problem = HuberLoss(U, offsets, delta, 1, draw(st.sampled_from([0, I.Fraction(1, 4)])), _weights(draw, n))
    taus, solver, value, share = _setting(draw, n)
    w = f.plain_averaging(_exact(problem), [f.norm1(f.a_vector(solver, t, value)) for t in taus])[1]
    # data gradients are bounded by G_i = sum delta |u|, so kappa^2 = sum w_i G_i^2 is admissible with every beta^2 >= 1
    kappa2 = sum(q * (delta * sum(abs(r[0]) for r in u)) ** 2 for q, u in zip(w, U, strict=True))
    rounds, x0 = draw(st.sampled_from([1, 3])), [draw(st.integers(-4, 4))]
    return I.descending("random Huber", problem, RATIONAL, kappa2, taus, share, solver, value, rounds, x0,
                        says=f"U={U}, offsets={offsets}, delta={delta}, tau={taus}, {solver} {value}, T={rounds}, x0={x0}")


def logistics(draw):
    """Regularised logistic regression in the plane, in floats."""
    n = draw(st.integers(2, 3))
    A = [[[draw(st.integers(-2, 2)) for _ in range(2)] for _ in range(draw(st.integers(2, 4)))] for _ in range(n)]
    labels = [[draw(st.integers(0, 1)) for _ in a] for a in A]
    if not any(v for a in A for r in a for v in r):
        return None
    problem = Logistic(A, labels, I.Fraction(1, 10), weights=_weights(draw, n))
    taus, solver, value, share = _setting(draw, n)
    w = f.plain_averaging(_exact(problem), [f.norm1(f.a_vector(solver, t, value)) for t in taus])[1]
    kappa2 = sum(q * sum(I.fraction(abs(r[0]) + abs(r[1])) for r in a) ** 2 / len(a) ** 2 for q, a in zip(w, A, strict=True))
    rounds, x0 = draw(st.sampled_from([1, 5, 20])), [draw(st.integers(-3, 3)), draw(st.integers(-3, 3))]
    return I.descending("random logistic", problem, FLOAT, kappa2, taus, share, solver, value, rounds, x0,
                        says=f"A={A}, labels={labels}, tau={taus}, {solver} {value}, T={rounds}, x0={x0}")


def _exact(problem):
    return [I.fraction(v) for v in problem.weights]


@claim("thm1-explicit-as-printed", on=[*I.solvers, *I.one_per_term, I.prox_alpha1, I.prox_alpha1_limit, I.too_large],
       needs=_needs(False), bound=True, rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.normaliser_missing], finding="e1",
       reading="Constants of eqs (96)-(101) exactly as printed; L, kappa^2 and the initial gap are exact, beta^2 is the largest value the cap "
               "allows (which makes the bound smallest). alpha = 1 is discussed in the paper itself.",
       survives="The theorem holds for every solver whose prefixes are accumulated with the same a_i (vanilla, step decay) and for momentum, "
                "where b <= a. For fixed m and tau the missing term is O(1/T), so the slope in T alone survives for FedProx.")
def thm1_as_printed(i):
    r"""Under A1-A3, $a_{i,k}\ge0$ and $\eta L\le\frac12\min\left\{\frac1{\max_i\|a_i\|_1\sqrt{2\beta^2+1}},\frac1{\tau_{\rm eff}}\right\}$ (101),
    $$\frac1T\sum_{t<T}E\|\nabla\widetilde F(x^{(t,0)})\|^2\le\frac{4[\widetilde F(x^{(0,0)})-\widetilde F_{\inf}]}{\eta\tau_{\rm eff}T}
    +\frac{4\eta L\sigma^2A}m+6\eta^2L^2\sigma^2B+12\eta^2L^2\kappa^2C$$
    with $A=m\tau_{\rm eff}\sum_i\frac{w_i^2\|a_i\|_2^2}{\|a_i\|_1^2}$, $B=\sum_iw_i(\|a_i\|_2^2-a_{i,-1}^2)$,
    $C=\max_i\|a_i\|_1(\|a_i\|_1-a_{i,-1})$.
    """
    t, bound = right_side(i, corrected=False)
    return at_most(left_side(i, t), bound)


@claim("thm1-explicit-corrected", needs=_needs(True), bound=True, rejects=[bugs.uniform_weights, bugs.one_step_more, bugs.normaliser_missing],
       on=[*I.solvers, *I.one_per_term, I.many_kinked, I.prox_alpha1, I.prox_alpha1_limit, I.too_large],
       search=Search((Family("quadratic", quadratics), Family("Huber", hubers), Family("logistic", logistics)), tries=150))
def thm1_corrected(i):
    r"""For every linear solver with prefix coefficients $b^{(k)}_{i,s}\ge0$ the bound of Theorem 1 holds with
    $B'=\sum_iw_i\max_{k<\tau_i}\sum_s(b^{(k)}_{i,s})^2$ and $C'=\max_i\max_{k<\tau_i}\big(\sum_sb^{(k)}_{i,s}\big)^2$ in place of $B$ and $C$,
    under $\tau_{\rm eff}\eta L\le\frac12$ and $4\eta^2L^2C'\le\frac1{2\beta^2+1}$.
    """
    t, bound = right_side(i, corrected=True)
    return at_most(left_side(i, t), bound)
