"""Corollary 1: how many local steps make the bound of Theorem 4 smallest, and from how many rounds on that is one at least."""
import fltheory as ft
from verification.simfed.formulas import corollary1 as f
from verification.simfed.formulas import theorems as th
from verification.simfed.proofs import corollary1 as proofs
from verification.symbols import Symbols

COVERS = {"n": "none", "d": "none", "tau": "none"}


def wrong(name, says, right, changed):
    """A mutant of a formula that an instance carries as `formula`: `changed` in place of `right`."""
    def mutant(value):
        return changed if value is right else None
    mutant.__name__, mutant.__doc__, mutant.of = name, says, "formula"
    return mutant


def symbolic(formula, names):
    s = Symbols(names)
    return [ft.Instance("all symbols", formula=formula, domain=s.field, s=s, says=f"{names}: symbols > 0")]


without_half = wrong("without_half", "E_opt = (a/b)^(2/3) T^(1/3).", f.best, lambda a, b, T: ((a / b) ** 2 * T, f.best(a, b, T)[1]))
wrong_power = wrong("wrong_power", "r falls like T^(-1/3).", f.best, lambda a, b, T: (f.best(a, b, T)[0], f.best(a, b, T)[1] * T))


@ft.claim("cor1", on=symbolic(f.best, "x y t e L beta gap S sigma2 G2"), rejects=[without_half, wrong_power], covers=COVERS,
          proof=proofs.smallest, domain=proofs.DOMAIN,
          reading="The printed choice E = O(T^(1/3)) is read as proportional to T^(1/3), as the proof does (note-order), "
                  "and G as one constant for every E and T, though Assumption 3 measures it along a run that depends on both.")
def cor1(i):
    r"""With $a=4L\Delta+\frac12S\sigma^2$ and $b=G^2[4+(1-\beta)^2+8(1-\frac1\beta)^2]$ the bound of Theorem 4 is
    $r(E)=a/\sqrt{TE}+bE/T$, smallest at $E_{opt}=(\frac a{2b})^{2/3}T^{1/3}$, where it is
    $3\cdot2^{-2/3}a^{2/3}b^{1/3}T^{-2/3}$. Whole numbers of steps near $E_{opt}$ come close to it (cor1-domain)."""
    s = i.s
    a, b, E, T, root = 2 * s.x**3, s.y**3, s.e**2, s.t**6, s.t**3 * s.e
    at, best, least = s.x * s.t / s.y, (s.x * s.t / s.y) ** 2, 3 * s.x**2 * s.y / s.t**4
    steps, value = i.formula(a, b, T)
    printed = sum(th.theorem4(s.L, s.beta, s.gap, s.S, s.sigma2, s.G2, E, T, root).values())
    return (ft.equal(printed, f.rate(*f.parts(s.L, s.beta, s.gap, s.S, s.sigma2, s.G2), E, T, root), "Theorem 4 as r(E)"),
            ft.equal(steps, best**3, "E_opt, cubed"), ft.equal(value, least**3, "r(E_opt), cubed"),
            ft.equal(f.rate(a, b, best, T, s.t**3 * at), least, "attained at E_opt"))


inverted = wrong("inverted", "T >= (a/(2b))^2.", f.least_rounds, lambda a, b: (a / (2 * b)) ** 2)
undoubled = wrong("undoubled", "T >= (b/a)^2.", f.least_rounds, lambda a, b: (b / a) ** 2)


@ft.claim("cor1-domain", on=symbolic(f.least_rounds, "a b T e"), rejects=[inverted, undoubled], covers=COVERS,
          domain="all a, b, T > 0: the cube of E_opt is T over (2b/a)^2; below that T, r is convex with a positive slope at E = 1")
def cor1_domain(i):
    r"""$E_{opt}\ge1$ exactly if $T\ge(2b/a)^2$; at $T=(2b/a)^2$ it is 1. With fewer rounds the bound grows with the number of
    local steps, and one is best."""
    s = i.s
    T0 = i.formula(s.a, s.b)
    cube, _ = f.best(s.a, s.b, s.T)
    fewer = T0 / (1 + s.e) ** 2                    # sqrt(T) = 2b/(a (1 + e)), below the border
    root = 2 * s.b / (s.a * (1 + s.e))
    slope = s.b / fewer - s.a / (2 * root)         # of r at E = 1; r is convex, so that it grows from there on
    return (ft.equal(cube, s.T / T0, "E_opt cubed is T over the border"),
            ft.equal(f.best(s.a, s.b, T0)[0], 1, "1 at the border"),
            ft.nonnegative(slope, "below it the bound grows from E = 1 on"))


def _one_case():
    """Theorem 4 has one bound, from which a and b of the corollary are read off."""
    s = Symbols("L beta gap S sigma2 G2 E T root")
    bound = th.theorem4(s.L, s.beta, s.gap, s.S, s.sigma2, s.G2, s.E, s.T, s.root)
    a, b = f.parts(s.L, s.beta, s.gap, s.S, s.sigma2, s.G2)
    other = f.rate(a, b, s.E, s.T, s.root) - sum(bound.values())
    return (ft.equal(other, 0, "its only bound gives the printed A and B"),
            ft.equal((bound["start"] + bound["noise"]) * s.root, a, "A from the terms over sqrt(TE)"),
            ft.equal(bound["drift"] * s.T / s.E, b, "B from the term over T"))


def _one_step():
    """r(1) T^(1/2) >= a: with one local step, which is O(T^(1/3)), the bound falls like T^(-1/2) and no faster."""
    a, b, T, root = ft.Field("a b T root").symbols
    one, best = f.rate(a, b, 1, T, root), 3 * a**2 * b / T**2     # root^2 = T E, E = 1; the best bound's cube is 27/4 of a^2 b/T^2
    return (ft.equal(one, a / root + b / T, "r(1)"), ft.nonnegative(one - a / root, "at least a T^(-1/2)"),
            ft.nonnegative((a / root) ** 3 * T**2 / (a**2 * b) - a * T**2 / (root**3 * b), "over the best order: a T^2/(b root^3)"),
            ft.nonnegative(best, "the best order, T^(-2/3), cubed"))


ft.finding("note-order", kind="remark", breaks="cor1", check=_one_step,
           reading="Choose E = O(T^(1/3)). Taken literally E = 1 is such a choice; the proof has E proportional to T^(1/3).",
           survives="The corollary with E proportional to T^(1/3) (cor1).")

ft.finding("typo-cor1-case", kind="misprint", breaks="cor1", check=_one_case,
           reading="The proof starts from 'case I' of Theorem 4, which has no cases.", survives="The corollary as a whole (cor1).")
