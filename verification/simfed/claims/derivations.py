"""Where the constants of Theorems 1, 2 and 4 come from: term by term from those of the lemmas (for Theorem 3: thm3-derivation)."""
import fltheory as ft
from verification.simfed.formulas import perturbed, prox, prox_convex, theorems
from verification.simfed.proofs import derivations as proofs
from verification.symbols import Symbols

COVERS = {"n": "all", "d": "all", "tau": "all"}


def wrong(name, says, right, term, factor):
    """A mutant of a lemma's formula, which an instance carries: one term times a factor."""
    def mutant(value):
        if value is not right:
            return None
        return lambda *given: (lambda A: A | {term: A[term] * factor})(right(*given))
    mutant.__name__, mutant.__doc__, mutant.of = name, says, "formula"
    return mutant


def on_symbols(formula, names):
    s = Symbols(names)
    return [ft.Instance("all symbols", formula=formula, domain=s.field, s=s, says="symbols > 0")]


Q = ft.fraction
LEMMA3 = [wrong("quarter_of_the_drift", "2 gamma^2 E^3 G^2 for 8 gamma^2 E^3 G^2.", prox_convex.lemma3, "drift", Q("1/4")),
          wrong("half_of_Gamma", "3 gamma^2 L E Gamma for 6 gamma^2 L E Gamma.", prox_convex.lemma3, "heterogeneity", Q("1/2")),
          wrong("noise_twice", "The noise counts twice.", prox_convex.lemma3, "noise", 2)]
LEMMA4 = [wrong("half_of_the_drift", "4 gamma^2 L^2 E^2 G^2 for 8 gamma^2 L^2 E^2 G^2.", prox.lemma4, "drift", Q("1/2")),
          wrong("half_of_the_pull", "gamma alpha E^2 G^2 for 2 gamma alpha E^2 G^2.", prox.lemma4, "proximal", Q("1/2")),
          wrong("no_last_term", "gamma^3 alpha^2 L E^2 G^2/2 is left out.", prox.lemma4, "last", 0)]
LEMMA4B = [wrong("half_of_the_neighbours", "16 for 32 before the neighbours' part.", perturbed.lemma4, "neighbours", Q("1/2")),
           wrong("half_of_the_local_part", "2 for 4 before the local part.", perturbed.lemma4, "local", Q("1/2")),
           wrong("noise_doubled", "2 gamma L S sigma^2, as in Appendix A.", perturbed.lemma4, "noise", 2)]


@ft.claim("thm1-derivation", on=on_symbols(prox_convex.lemma3, "L mu alpha S sigma2 Gamma G2 E gap"), rejects=LEMMA3,
          proof=proofs.theorem1, domain=proofs.DERIVED1, covers=COVERS)
def thm1_derivation(i):
    r"""If Lemma 3 of Appendix A holds in every round with $\gamma=\frac1{2E(L+\alpha)}$, Theorem 1 follows for every $t$, with its
    printed constants: each of its error terms is $\frac L2\cdot\frac1{\mu\gamma}$ times the term of $A$, its decay at most
    $\frac L2\cdot\frac{2\Delta}\mu\big(1-\frac\mu{3(L+\alpha)}\big)^t$."""
    s = i.s
    gamma = 1 / (2 * s.E * (s.L + s.alpha))
    A = i.formula(s.L, 1, gamma, 0, s.S, s.sigma2, s.Gamma, s.G2, s.E)
    terms = theorems.theorem1(s.L, s.mu, s.alpha, s.gap, s.S, s.sigma2, s.Gamma, s.G2, s.E, 0)
    return [ft.equal(s.L / (2 * s.mu * gamma) * A[name], terms[name], name) for name in ("noise", "heterogeneity", "drift")]


@ft.claim("thm2-derivation", on=on_symbols(prox.lemma4, "L alpha S sigma2 G2 E root gap"), rejects=LEMMA4, proof=proofs.theorem2,
          domain=proofs.DERIVED, covers=COVERS)
def thm2_derivation(i):
    r"""If Lemma 4 of Appendix A holds in every round with $\gamma=\frac1{2(L+\alpha)\sqrt{TE}}$, Theorem 2 follows with its printed
    constants: each of its terms is the lemma's, with $\Delta/T$ for the fall of $f$."""
    s = i.s
    T = s.root**2 / s.E
    own = i.formula(s.L, s.alpha, 1 / (2 * (s.L + s.alpha) * s.root), s.gap / T, s.S, s.sigma2, s.G2, s.E)
    terms = theorems.theorem2(s.L, s.alpha, s.gap, s.S, s.sigma2, s.G2, s.E, T, s.root)
    return [ft.equal(own[name], terms[name], name) for name in terms]


@ft.claim("thm4-derivation", on=on_symbols(perturbed.lemma4, "L beta S sigma2 G2 E root gap"), rejects=LEMMA4B,
          proof=proofs.theorem4, domain=proofs.DERIVED + "; a constant step", covers=COVERS)
def thm4_derivation(i):
    r"""If Lemma 4 of Appendix B holds in every round with $\gamma=\frac1{2L\sqrt{TE}}$, Theorem 4 follows with its printed
    constants: its noise term is the lemma's, its term with $G$ the sum of the lemma's two, its first
    $\frac2{\gamma E}\cdot\frac\Delta T$."""
    s = i.s
    T, gamma = s.root**2 / s.E, 1 / (2 * s.L * s.root)
    own = i.formula(s.L, gamma, gamma, s.beta, s.S, s.sigma2, s.G2, s.E)
    terms = theorems.theorem4(s.L, s.beta, s.gap, s.S, s.sigma2, s.G2, s.E, T, s.root)
    return (ft.equal(own["noise"], terms["noise"], "noise"), ft.equal(own["local"] + own["neighbours"], terms["drift"], "drift"),
            ft.equal(2 / (gamma * s.E) * s.gap / T, terms["start"], "start"))
