"""Condition (C1), the constants N, M and ln(K + 1), and what Sec. 5.3 says of their growth with K."""
from fractions import Fraction as Q
from functools import lru_cache

import fltheory as ft
from verification.asyncfeded.formulas import corollary1 as f
from verification.asyncfeded.formulas.steps import cap2, mean_square, mean_step, theta
from verification.asyncfeded.instances import at_cap, log_between
from verification.asyncfeded.local_bugs import wrong
from verification.asyncfeded.proofs import condition as proofs
from verification.asyncfeded.proofs.corollary1 import log_sum
from verification.piecewise import st
from verification.symbols import Symbols

ln = lru_cache(None)(log_between)   # (low, high)
LN2 = ln(2)


class Schedule(ft.Instance):
    """The local steps eta of one round, L, and the formulas that a claim takes from it."""

    @property
    def K(self):
        return len(self.eta)

    @property
    def M(self):
        return mean_square(self.eta)

    @property
    def log(self):
        return ln(self.K + 1)


def schedule(name, eta, L=1, formula=None, **extra):
    return Schedule(name, eta=list(eta), L=Q(L), formula=formula, **extra)


def capped(K, L=1, share=1, **extra):
    """At a share of the cap; long ones with fewer digits."""
    return schedule(f"K = {K}, L = {L}, {share} of the cap", at_cap(K, L, share, 12 if K < 50 else 5), L, **extra)


def drawn(draw, K=None, L=None, share=None):
    """Steps that are shares of their caps, unequal ones."""
    K, L = K or draw(st.integers(1, 7)), L or draw(st.sampled_from([Q(1), Q(1, 100), Q(100)]))
    share = share or draw(st.sampled_from([Q(1), Q(1, 2), Q(1, 100)]))
    eta = at_cap(K, L, share, 12 if K < 50 else 5)
    few = [draw(st.sampled_from([Q(1), Q(1), Q(1, 3), Q(0)])) for _ in range(5)]
    eta = [e * (1 if k == 0 else few[k % 5]) for k, e in enumerate(eta)] if draw(st.booleans()) else eta
    return schedule("drawn", eta, L)


CAP, STEPS = "step over its cap", ft.Variable("local steps of a round", lambda i: i.K)
SMOOTHNESS = ft.Variable("smoothness constant", lambda i: i.L)
ENDS = {STEPS: (1, 300), SMOOTHNESS: (Q(1, 100), 100)}
CORNERS = ({"K": 1, "L": Q(1, 100)}, {"K": 300, "L": Q(1), "share": Q(1)}, {"K": 3, "L": Q(100), "share": Q(1, 100)})
within = ft.Hypothesis("(T1)", r"$6k(2k+1)L^2\eta_k^2\le1$ for $k=1,\dots,K$",
                       lambda i: (max(e**2 / cap2(k, i.L) for k, e in enumerate(i.eta, 1)), 1), cap=2)
PURE = {"n": "none", "d": "none"}
LISTED = (1, 2, 3, 5, 10, 20, 50, 300)


def kinds(formula, proof, domain, rejects, on=None, needs=(within,), ends=ENDS | {CAP: (Q(1, 100), 1)}):
    """What the claims about a schedule have in common; the search draws schedules with the claim's formula."""
    on = on or [*map(capped, LISTED), capped(4, 100), capped(3, Q(1, 100)), capped(7, 1, Q(1, 100))]
    family = ft.Family("schedules", lambda draw, **at: drawn(draw, **at).but(formula=formula), CORNERS)
    return {"on": [i.but(formula=formula) for i in on], "needs": list(needs), "proof": proof, "domain": domain, "covers": PURE,
            "rejects": rejects, "search": ft.Search((family,), tries=20), "ends": ends, "meaning": logs}


# ---- sums -------------------------------------------------------------------------------------------------------------
def half_log(log):
    return log / 2


def logs(i):
    """The two facts about logarithms that the proofs cite, at some places i; then all that they say of one schedule."""
    K, L = i.K, i.L
    for k in {1, 2, K // 2 + 1, K}:
        low, high = ln(k), ln(k + 1)
        yield {"i": k, "l": low[0], "l1": high[1], "K": K, "L": L, "M": i.M, "U": _sum(K)[1]}, {}
    double = {"a": K + 1, "b": 2 * K + 2, "la": ln(K + 1)[0], "lb": ln(K + 1)[0] + LN2[0], "l2": LN2[0]}
    D = sum(Q(1, j) for j in range(K + 1, 2 * K + 2))
    place = {"k": K, "e": i.eta[-1], "q": i.eta[-1] ** 2, "u": Q(1, K * (2 * K + 1)), "N": mean_step(i.eta), "M": i.M, "L": L,
             "K": K}
    sums = {"Se": sum(i.eta), "S2": sum(e * e for e in i.eta), "U": _sum(K)[1], "UK": _sum(K)[1], "D": D, "DK": D}
    here = {"n": K + 1, "lK": i.log[0], "l": i.log[0], "log": i.log[0], "l1": ln(K + 2)[0], "V": _sum(K)[0], "j": K - 1,
            "more": i.eta[-1] ** 2}
    for Gamma in (Q(0), Q(1, 2), Q(3)):
        Theta = theta(Gamma, K, L, i.M, i.log[0])
        least = {"Theta": Theta, "th": Theta / 2, "rest": 1 - Theta} if Theta > 0 else {}
        yield double | place | sums | here | least | {"Gamma": Gamma}, {}


@lru_cache(None)
def _sum(K):
    """(the sum of 1/(2 k + 1), that of 1/(k (2 k + 1))), k = 1..K."""
    return sum(Q(1, 2 * k + 1) for k in range(1, K + 1)), sum(Q(1, k * (2 * k + 1)) for k in range(1, K + 1))


@lru_cache
def facts():
    """What the proofs cite of logarithms: ln((i + 1)/i) lies between 2/(2 i + 1) and 1/i, by derivatives that show their sign."""
    import sympy
    z, at = sympy.Symbol("z"), Symbols("i x")
    below, above = sympy.log((1 + z) / (1 - z)) - 2 * z, z - sympy.log(1 + z)
    place, inside = 1 / (2 * at.i + 1), at.x / (1 + at.x)
    return (ft.equal([int(v.subs(z, 0)) for v in (below, above)], [0, 0], "2 artanh z - 2 z and z - ln(1 + z) are 0 at z = 0"),
            ft.equal(int(sympy.simplify(sympy.diff(below, z) - 2 * z**2 / (1 - z**2))), 0, "slope 2 z^2/(1 - z^2)"),
            ft.equal(int(sympy.simplify(sympy.diff(above, z) - z / (1 + z))), 0, "slope z/(1 + z)"),
            ft.nonnegative(2 * inside**2 / (1 - inside**2), "the first slope, at every z = x/(1 + x) in [0, 1)"),
            ft.nonnegative(inside, "the second slope"), ft.equal((1 + place) / (1 - place), (at.i + 1) / at.i, "z = 1/(2 i + 1)"))


third = wrong("a_third", "ln(K + 1)/3.", half_log, lambda log: log / 3)


@ft.claim("cor1-log-sum", **kinds(half_log, log_sum, "every K; ln((i + 1)/i) >= 2/(2 i + 1) is a fact of analysis", [third],
                                  on=[capped(K) for K in (1, 2, 3, 10, 100, 1000)], needs=(), ends={STEPS: (1, 1000)}))
def cor1_log_sum(i):
    r"""$\sum_{k=1}^K\frac1{2k+1}\le\frac12\ln(K+1)$ for every $K$."""
    return ft.at_most(_sum(i.K)[0], i.formula(i.log[0])), *(facts() if i.K == 1 else ())


def means(K, L):
    """(a cap of M by the caps of (T1), one without K)."""
    return sum(cap2(k, L) for k in range(1, K + 1)) / K, 1 / (18 * L**2)


nineteenth = wrong("one_nineteenth", "1/(19 L^2).", means, lambda K, L: (means(K, L)[0], 1 / (19 * L**2)))


@ft.claim("aux-nm", **kinds(means, proofs.means, "every K, L > 0 and steps within (T1)", [nineteenth]))
def aux_nm(i):
    r"""$N^2\le M$, and under (T1) $M\le\frac1K\sum_{k=1}^K\frac1{6k(2k+1)L^2}\le\frac1{18L^2}$, with equality at $K=1$. (The
    printed upper limit of the sum, $K=1$, is read as $k=1$ to $K$.)"""
    first, last = i.formula(i.K, i.L)
    return (ft.at_most(mean_step(i.eta) ** 2, i.M, "N^2"), ft.at_most(i.M, first, "M by its caps"),
            ft.at_most(first, last, "1/(18 L^2)"))


def room(log2):
    return (2 - 2 * log2) / 6


tenth = wrong("one_tenth", "1/10.", room, lambda log2: Q(1, 10))


@ft.claim("aux-nm-sharper", **kinds(room, proofs.sharper, "every K, L > 0 and steps within (T1); 1/i >= ln((i + 1)/i) is a fact of "
                                    "analysis", [tenth]))
def aux_nm_sharper(i):
    r"""Under (T1) $KML^2\le\frac16\sum_{k=1}^K\frac1{k(2k+1)}\le\frac{2-2\ln2}6<0.10229$ for every $K$."""
    most, limit = _sum(i.K)[1] / 6, i.formula(LN2[1])
    return (ft.at_most(i.K * i.M * i.L**2, most, "the caps"), ft.at_most(most, limit, "(2 - 2 ln 2)/6"),
            ft.at_most(room(LN2[0]), Q(10229, 10**5), "its digits"))


# ---- (C1) -----------------------------------------------------------------------------------------------------------------
def near_cap(i, factor):
    """A rational Gamma whose square is `factor` of the admissible one, up to 1e-9."""
    square = f.largest_gamma2(i.K, i.L, i.M, i.log[0]) * factor
    return Q(int(float(square) ** 0.5 * 10**9), 10**9)


half_as_much = wrong("half_of_the_drift", "K ln(K + 1)/6 in Theta.", theta,
                     lambda Gamma, K, L, M, log: theta(Gamma, K, L, M, log / 2))


@ft.claim("cor1-condition", **kinds(theta, proofs.positive, "every K, L, Gamma and schedule with M > 0, whatever stands for "
                                    "ln(K + 1)", [half_as_much], needs=(), ends=ENDS))
def cor1_condition(i):
    r"""(C1), $\Gamma^2<\frac3{12K^2L^2M+K\ln(K+1)}$, holds exactly when $\Theta(\Gamma)>0$; their difference times
    $\frac{12K^2L^2M+K\ln(K+1)}3$ is $\Theta$."""
    out = []
    for factor in (0, Q(1, 2), Q(999999, 10**6), Q(1000001, 10**6), 4):
        Gamma, cap = near_cap(i, factor), f.largest_gamma2(i.K, i.L, i.M, i.log[0])
        Theta = i.formula(Gamma, i.K, i.L, i.M, i.log[0])
        out.append(ft.equivalent((Gamma**2 < cap, (Gamma**2, cap)), (Theta > 0, (0, Theta)), f"{factor} of the cap"))
    return out


VALUES = {1: "1.48532", 2: "0.87364", 5: "0.45919", 10: "0.29143", 20: "0.18845", 50: "0.10805"}


def ball(v):
    import flint
    return flint.arb(flint.fmpq(v.numerator, v.denominator))


def cap_ball(K, L, formula=f.largest_gamma2):
    """The admissible Gamma at the boundary schedule."""
    M = sum(cap2(k, Q(L)) for k in range(1, K + 1)) / K
    return formula(K, ball(Q(L)), ball(M), ball(Q(K + 1)).log()).sqrt()


no_log = wrong("logarithm_of_K", "ln K in place of ln(K + 1).", f.largest_gamma2,
               lambda K, L, M, log: f.largest_gamma2(K, L, M, (log.exp() - 1).log()))


@ft.claim("cor1-gamma-values", on=[capped(K, L, formula=f.largest_gamma2, value=v) for K, v in VALUES.items() for L in (1, 100)],
          rejects=[no_log], covers=PURE, domain="the listed K at the boundary schedule; the value does not depend on L")
def cor1_gamma_values(i):
    r"""The admissible $\Gamma$ at $\eta_k=\frac1{L\sqrt{6k(2k+1)}}$: 1.48532, 0.87364, 0.45919, 0.29143, 0.18845, 0.10805 for
    $K=1,2,5,10,20,50$, whatever $L$."""
    return ft.at_most(abs(cap_ball(i.K, i.L, i.formula) - ball(Q(i.value))), ball(Q(5, 10**6)), f"K = {i.K}: {i.value}")


def short_steps(K, log):
    return f.largest_gamma2_of_short_steps(K, log)


too_small = wrong("half", "3/(2 K ln(K + 1)).", short_steps, lambda K, log: short_steps(K, log) / 2)


@ft.claim("cor1-gamma-supremum", **kinds(short_steps, proofs.supremum, "every K, L and schedule with M > 0", [too_small],
                                         on=[capped(K, 1, share) for K in LISTED for share in (1, Q(1, 1000))], needs=(),
                                         ends=ENDS))
def cor1_gamma_supremum(i):
    r"""The admissible $\Gamma^2$ lies below $\frac3{K\ln(K+1)}$, its limit as the steps vanish, at most $\frac3{\ln2}$: over all
    $K$ and schedules $\Gamma<\sqrt{3/\ln2}=2.0804$."""
    low, high = i.log
    out = [ft.at_most(f.largest_gamma2(i.K, i.L, i.M, high), i.formula(i.K, high), "any steps", strict=True),
           ft.at_most(short_steps(i.K, low), 3 / LN2[1] if i.K > 1 else 3 / LN2[0], "every K")]
    if i.K == 1:
        at = Symbols("K L M log")
        out.append(ft.equal(ft.limit(f.largest_gamma2(at.K, at.L, at.M, at.log), "M"), i.formula(at.K, at.log), "the limit M -> 0"))
    if max(i.eta) * i.L < Q(1, 1000) and i.K <= 10:
        out.append(ft.at_most(i.formula(i.K, high) * Q(999, 1000), f.largest_gamma2(i.K, i.L, i.M, high), "close to its limit"))
    return out


# ---- orders ------------------------------------------------------------------------------------------------------------------
def exceeded(coefficients, bound, label):
    return [ft.at_most(c, bound[k], f"{label}: {k}") for k, c in coefficients.items()]


of_first_order = wrong("first_order", "K in place of K^2.", f.quadratic, lambda K, L: f.quadratic(1, L) | {
    k: v * K for k, v in f.quadratic(1, L).items()})


@ft.claim("disc-delta-quadratic", **kinds(f.quadratic, proofs.quadratic, "every K, L > 0, schedule within (T1) and Theta >= th > 0",
                                          [of_first_order]))
def disc_delta_quadratic(i):
    r"""Under (T1), where $\Theta\ge\theta>0$: the coefficients of (10) are at most $\frac59,\frac5{72},\frac7{18}$ (gradient,
    $\sigma_l^2$, $\sigma_g^2$) times $\frac{K^2}{\theta L^2}$, so that the bound is $O(K^2)$."""
    return exceeded(f.coefficients(i.K, i.L, i.M, i.log[1]), i.formula(i.K, i.L), "before the division by Theta")


def orders(K, L, log, log2):
    return f.ordered(K, L, log, log2), f.least(K, L, log)


no_rest = wrong("logarithm_alone", "K ln(K + 1) without the part of M.", orders,
                lambda K, L, log, log2: (f.least(K, L, log), f.least(K, L, log)))


@ft.claim("disc-delta-order", **kinds(orders, proofs.order, "every K, L > 0, schedule within (T1) and Theta >= th > 0", [no_rest]))
def disc_delta_order(i):
    r"""Under (T1), where $\Theta\ge\theta>0$: with $c=\frac{2-2\ln2}6$ the coefficients of (10) lie between $K\ln(K+1)$ and
    $\frac K\theta(nc+\ln(K+1))$, $n=12,72,24$, times $\frac1{3L^2},\frac1{72L^2},\frac1{6L^2}$: of order $K\ln K$ whatever the
    schedule."""
    above, below = i.formula(i.K, i.L, i.log[1], LN2[1])
    found = f.coefficients(i.K, i.L, i.M, i.log[1])
    return [*exceeded(found, above, "above"), *exceeded(below, found, "below")]


def steeper(K, L, M, log):
    return f.largest_gamma2(K, L, M, log)


upside_down = wrong("upside_down", "(12 K^2 L^2 M + K ln(K + 1))/3.", steeper, lambda *args: 1 / steeper(*args))


longer = [capped(K, L) for K, L in ((2, 1), (5, 1), (10, 100), (50, 1), (300, 1), (4, Q(1, 100)))]


@ft.claim("disc-gamma-shrinks", **kinds(steeper, proofs.shrinks, "every K, L > 0; one M for both K, or a schedule and its prefix",
                                        [upside_down], on=longer, needs=(), ends=ENDS | {STEPS: (2, 300)}))
def disc_gamma_shrinks(i):
    r"""The admissible $\Gamma$ falls as $K$ grows if $M$ stays, or if shorter rounds make the first steps of one schedule. If the
    steps shrink it can grow: from $0.653$ at $K=3$ at the cap to $0.682$ at $K=4$ at a thirtieth of it."""
    K, now = i.K, i.formula(i.K, i.L, i.M, i.log[1])
    if K == 1:
        return ft.at_most(0, now, "one step: nothing to compare", strict=True)
    before, low = mean_square(i.eta[:-1]), ln(K)[1]
    small, large = capped(3), capped(4, 1, Q(1, 30))
    return (ft.at_most(now, i.formula(K - 1, i.L, before, low), "a prefix", strict=True),
            ft.at_most(now, i.formula(K - 1, i.L, i.M, low), "the same M", strict=True),
            ft.at_most(Q(682, 1000) ** 2, f.largest_gamma2(4, 1, large.M, large.log[1]), "smaller steps, K = 4", strict=True),
            ft.at_most(f.largest_gamma2(3, 1, small.M, small.log[0]), Q(653, 1000) ** 2, "K = 3 at the cap", strict=True))


# ---- findings --------------------------------------------------------------------------------------------------------------
TARGET, FIRST = 3, 10   # the selected target staleness and the first K of all three tasks


def _out_of_reach():
    """(C1) beside Table 4: exact for the numbers, and on coded runs with the tasks' server settings."""
    from verification.asyncfeded import updates as up
    from verification.asyncfeded.claims.corollary1 import table4
    ever, ten = (short_steps(K, ball(Q(K + 1)).log()).sqrt() for K in (1, FIRST))
    seen = [ft.at_most(1, up.c1.sides(i)[0], f"{i.name}: Gamma^2 of the run over what (C1) allows", strict=True) for i in table4]
    return (ft.at_most(abs(ever - ball(Q("2.0804"))), ball(Q(5, 10**5)), "over all K and steps: 2.0804"),
            ft.at_most(ever, ball(Q(TARGET)), "below the target", strict=True),
            ft.at_most(ten, ball(Q("0.354")), "K = 10, vanishing steps: below .354", strict=True),
            ft.at_most(cap_ball(FIRST, 1), ball(Q("0.29144")), "K = 10 at the cap of (T1)", strict=True), *seen)


ft.finding("e3", kind="remark", breaks="cor1", check=_out_of_reach,
           reading="Table 4 selects the target staleness 3 in all tasks, with K = 10 at the start; (C1), which Corollary 1 and "
                   "Theorem 2 need, excludes updates whose staleness is near it. The paper does not report which gamma were "
                   "reached; the runs are quadratics at steps within (T1) under the tasks' lambda, eps, target and kappa.",
           survives="Corollary 1 for runs whose staleness is below the cap: those of cor1 that are not out of scope.")


def _wasted():
    """M by its own cap against 1/(18 L^2), which stands for it in (36) and (11)."""
    out = []
    for K in (10, 100, 300):
        M = capped(K).M
        out.append(ft.at_most(Q(K * 54, 100) * M, Q(1, 18), f"K = {K}: 1/(18 L^2) is at least .54 K times M", strict=True))
    return (*out, ft.at_most(Q(54, 100) * room(LN2[0]), Q(1, 18), "K M L^2 at most (2 - 2 ln 2)/6: .54 for every K", strict=True),
            *(ft.equal(int(proof().status == "HOLDS"), 1, f"{proof.__name__}: every step is checked")
              for proof in (proofs.sharper, proofs.order)))


ft.finding("e8", kind="remark", breaks="disc-delta-quadratic", check=_wasted,
           reading="O(K^2) is an upper bound and true. Under (T1), which Corollary 1 needs, it is never the order; where M is kept "
                   "fixed it is the order of the formula, but then (T1) bounds K.",
           survives="disc-delta-quadratic as a bound.")
