"""Theorem 3: the restatement of Theorem 2 for convex losses, and two steps of its proof."""
from fractions import Fraction as Q

import fltheory as ft
from verification.fedres.claims.theorem1_tuned import ALL, symbolic, wrong
from verification.fedres.claims.theorem2 import CONVEX, NAMES
from verification.fedres.formulas import appendix_d as d
from verification.fedres.formulas import theorem2 as t
from verification.fedres.proofs import meaning_avg as meaning
from verification.fedres.proofs import theorem2 as proofs
from verification.symbols import Symbols

STATED = "gamma beta sigma2 N K R gap D2"
other = wrong("clients_forgotten", "The restated bounds have no N.", t.leading_restated,
              lambda g, b, s2, N, K, R, gap, D2: t.leading_restated(g, b, s2, 1, K, R, gap, D2))


@ft.claim("thm3-restates-thm2", on=symbolic(t.leading_restated, STATED), rejects=[other], covers=ALL,
          domain="all positive constants, as identities of what both statements print",
          reading="O in Theorem 3 where Theorem 2 has it up to logarithms, in the strongly convex bound; the first bound is new.")
def thm3_restates_thm2(i):
    r"""For convex losses Theorem 3 has the bounds of Theorem 2, whose words are "general $\gamma$-smooth losses" under
    Assumption 1, besides one on the gradients that Theorem 2 does not print:
    $O\big((\frac{D^4\gamma\sigma^2}{NKR})^{1/3}\big)$ for convex losses and
    $\frac\gamma\beta\frac{\sigma^2}{\beta NKR}$ for strongly convex ones."""
    values = [getattr(i.s, k) for k in STATED.split()]
    printed, restated = t.leading(*values), i.formula(*values)
    return [ft.equal(restated[name][0], value, name) for name, (value, _) in printed.items()]


DELTA = "gamma eta K root D2"
halved = wrong("eta_not_squared", "delta has eta in place of eta^2.", d.delta, lambda g, eta, K,
               before: d.delta(g, eta, K, before) / eta)


@ft.claim("thm3-delta-le-one", on=symbolic(d.delta, DELTA), rejects=[halved], covers=ALL, proof=proofs.delta_le_one,
          domain="every number of clients, local steps and dimensions; smooth clients with a joint optimum; every eta below the "
                 "cap, D any bound of the root of E|x^r - x*|^2")
def thm3_delta_le_one(i):
    r"""$\frac{\eta\sqrt NK}{2D^2}\delta^{(r)}\le1$ follows from smoothness, $\|\nabla F(x)\|^2\le2\gamma^2\|x-x^*\|^2$, and
    the cap on $\eta$."""
    s = i.s
    u = s.gamma * s.eta * s.root * s.K
    left = s.eta * s.root * s.K / (2 * s.D2) * i.formula(s.gamma, s.eta, s.K, 2 * s.gamma**2 * s.D2)
    return ft.equal(left, 6 * u**3 / s.root**2, "6 u^3/N, u = gamma eta sqrt(N) K"), ft.at_most(6 * Q(1, 96) ** 3, 1,
            "at the cap u = 1/96")


def through_G():
    """One client, K = 1, gamma = 1, at the cap: a Huber loss with slopes up to G, started D = 1/1000 from its optimum."""
    eta, D2, G2 = Q(1, 96), Q(1, 1000) ** 2, Q(1000) ** 2
    s = Symbols("gamma eta K root D2 G2")
    left = s.eta * s.root * s.K / (2 * s.D2) * d.delta(s.gamma, s.eta, s.K, s.G2)
    at = {"gamma": Q(1), "eta": eta, "K": Q(1), "root": Q(1), "D2": D2}
    return (ft.at_most(1, left.substitute(**at, G2=G2), "through G the left side exceeds 1", strict=True),
            ft.at_most(left.substitute(**at, G2=2 * D2), 1, "through |grad F|^2 <= 2 gamma^2 D^2 it does not"))


ft.finding("gap-thm3-delta", kind="gap", breaks="thm3-delta-le-one", check=through_G,
           step="eta sqrt(N) K/(2 D^2) times 6 gamma eta^2 K^2 G^2 is called at most 1 by the choice of eta, which knows no D",
           reading="Assumption 2 allows any G >= the gradients that occur; D may be small where G is large.",
           survives="The condition itself: thm3-delta-le-one.")


roots = wrong("noise_not_averaged", "The variance is not divided by the number of clients.", t.convex_roots,
              lambda g, s2, G2, N, K, R, D2: t.convex_roots(g, N * s2, G2, N, K, R, D2))


@ft.claim("thm3-convex-last-term", on=symbolic(t.convex_roots, NAMES), rejects=[roots], covers=ALL, domain=CONVEX,
          meaning=meaning.tuned,
          proof=lambda: (proofs.convex(), proofs.convex(large=True), proofs.smoothness()),
          reading="Lemma 3 with 1/(cR) = 4 D^2/(eta sqrt(N) K R), which at the cap on eta is 384 gamma D^2/R.")
def thm3_convex_last_term(i):
    r"""With the best $\eta\le\frac1{96\gamma\sqrt NK}$: $\Delta^{(R+1)}\le2\big(\frac{32D^4\gamma\sigma^2}{NKR}\big)^{1/3}
    +2\big(\frac{704D^6\gamma^2G^2}{NR^2}\big)^{1/4}+\frac{384\gamma D^2}R$: the last term comes from the cap on $\eta$ and is
    $\gamma D^2/R$ in place of $(\Delta^{(1)}+\delta^{(1)})/R$."""
    s = i.s
    found = i.formula(*(getattr(s, k) for k in NAMES.split()))
    cap = t.tuned(s.gamma, s.R, s.D2, 0, 0)["cap"]
    return (ft.equal(found["noise"][0], 32 * s.D2**2 * s.gamma * s.sigma2 / (s.N * s.K * s.R), "the cube of the first term"),
            ft.equal(found["drift"][0] * s.N * s.R**2, 704 * s.D2**3 * s.gamma**2 * s.G2, "the fourth power of the second"),
            ft.equal(cap, 4 * s.D2 * 96 * s.gamma / s.R, "the last: 4 D^2/(u R) at u = 1/(96 gamma)"))
