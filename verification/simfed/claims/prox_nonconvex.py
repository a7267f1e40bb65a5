"""Appendix A, Lemma 4, and Theorem 2: FedProx on smooth clients, as printed and with smaller constants."""
from fractions import Fraction as Q
from math import isqrt

import numpy as np

import fltheory as ft
from fltheory.core.problems.base import Constants, Problem, check_weights
from verification.simfed import bugs
from verification.simfed import runs_prox as runs
from verification.simfed.claims.hypotheses import one_draw, uncorrelated
from verification.simfed.formulas import prox as f
from verification.simfed.formulas import theorems
from verification.simfed.proofs import prox_nonconvex as proofs
from verification.simfed.runs_prox import joined, lines, path, run_of, smooth_cap
from verification.symbols import Symbols

st = runs.hypothesis and runs.hypothesis.strategies
ONE, APART = lines([1], [0]), lines([1, "1/2"], [-1, 1])
LINEAR = ft.PiecewiseQuadratic([[0, 0]], [[0]], [1])          # gradient -1 everywhere
BENT = ft.PiecewiseQuadratic([[1, "1/2"], ["-1/3", 1], [0, 2]], [[0], [1], ["1/2"]], [1, -2, 0], ["1/3", "1/2", "1/6"])
PLANE = ft.Quadratic([[[1, "1/3"], ["1/3", "1/2"]], [[1, 0], [0, "1/5"]]], [[1, 0], [-2, 3]], ["3/4", "1/4"])
MANY = lines([1, "1/2"] * 50, [0, 1] * 50)
HEAVY = lines([1, 1], [-1, 1], ["99/100", "1/100"])


class Sines(Problem):
    """f_i(w) = sin(w - phase_i) in floats: L = G = 1 on the whole line, infimum -|sum_i p_i e^(-i phase_i)|."""

    d, _data = 1, ("phases",)
    constants = Constants(Q(1), Q(-1), True)

    def __init__(self, phases, weights=None):
        self.phases, self.n = np.array(phases, dtype=float), len(phases)
        self.weights = check_weights(weights, self.n)

    def _gradient(self, who, y, sample):
        return np.cos(y - self.phases[who][:, None]) + (0 if sample is None else sample)

    def _values(self, x):
        return np.sin(x - self.phases)

    def least(self, weights=None):
        """(minimiser, infimum)."""
        wave = (np.array([float(v) for v in (self.weights if weights is None else weights)]) * np.exp(-1j * self.phases)).sum()
        return -np.pi / 2 - np.angle(wave), -abs(wave)


# ---- Lemma 4 ----------------------------------------------------------------------------------------------------
def least(problem):
    return runs.optimum(problem)[0][0]


def on(factor):
    """Rounds at the cap 1/L, 1/(factor alpha), and below."""
    return [run_of("noise alone, at rest", ONE, 1, 0, "1/10", 0, 1), run_of("far away, short steps", ONE, 1, 0, "1/100", 5),
            run_of("two clients from the optimum", APART, 2, 0, 1, least(APART)),
            run_of("a constant gradient, held back", LINEAR, 20, 5, Q(1, 5 * factor), 0),
            run_of("one heavy client, at the cap", HEAVY, 1, 0, 1, least(HEAVY)),
            run_of("one heavy client, short step", HEAVY, 1, 0, "1/50", least(HEAVY)),
            run_of("not convex, noise", BENT, 3, "1/2", smooth_cap(BENT, "1/2", factor), 1, "1/2", slots=[(0, 0), (0, 2)]),
            run_of("in the plane, noise", PLANE, 5, 2, smooth_cap(PLANE, 2, factor), 3, 1),
            run_of("300 steps", APART, 300, 10, Q(1, 1000), 3), run_of("100 clients", MANY, 2, 1, "1/4", 3)]


def drawn(factor):
    def build(draw, **at):
        made = runs.drawn(draw, lambda problem, alpha: smooth_cap(problem, alpha, factor), convex=draw(st.booleans()), **at)
        return made and made.but(bound=runs.measured(made))
    return build


def sines(draw, step=None, rounds=1, E=None):
    """Sines from any angle in floats. step: function of (alpha, E, rounds), default a share of min{1, 1/(2 alpha)}."""
    n, E = draw(st.integers(1, 3)), E or draw(st.integers(1, 5))
    alpha, parts = draw(st.sampled_from([0, Q(1, 2), 3, 10])), [draw(st.integers(1, 4)) for _ in range(n)]
    problem = Sines([draw(st.integers(-3, 3)) for _ in range(n)], [Q(v, sum(parts)) for v in parts])
    gamma = step(alpha, E, rounds) if step else draw(st.sampled_from([Q(1, 10), Q(1)])) / max(1, 2 * Q(alpha))
    sigma, slot = draw(st.sampled_from([0, 0, 1, 3])), (draw(st.integers(0, rounds - 1)), draw(st.integers(0, E - 1)))
    says = f"phases={[float(v) for v in problem.phases]}, weights={[*map(str, problem.weights)]}"
    return run_of("sines", problem, E, alpha, gamma, draw(st.integers(-3, 3)), sigma, rounds, domain=ft.FLOAT, slots=[slot],
                  bound=1 + Q(sigma) ** 2, says=says)


ENDS = {"clients": (1, 300), "local steps": (1, 300), runs.ALPHA: (0, 10), "step over its cap": (Q(1, 100), 1)}
CORNERS = ({"n": 300, "E": 1}, {"n": 1, "E": 300, "noise": False, "share": Q(1, 100), "alpha": Q(10)})


def search(factor):
    return ft.Search((ft.Family("piecewise quadratics", drawn(factor), CORNERS), ft.Family("sines", sines)), tries=12)


def lemma4(i, *bounds):
    """The mean squared gradient of a round against bounds in the fall of f."""
    run = path(i)
    left = sum(run.square(run.slope(w)) for w in run.along[0][:i.E]) / i.E
    fall = run.value(run.along[0][0]) - run.value(run.along[0][-1])
    return [ft.at_most(left, ft.Terms(**bound(i.L, i.alpha, i.gamma, fall, i.S, i.sigma2, i.G2, i.E)), bound.__name__)
            for bound in bounds]


def as_printed(*args):
    return joined(f.lemma4(*args), "terms with alpha", "proximal", "last")


BUGS = [bugs.one_step_more, bugs.uniform_weights]
SHARED = {"rejects": BUGS, "meaning": runs.descent_of, "ends": ENDS, "domain": proofs.DOMAIN}


@ft.claim("lema4s", on=on(1), needs=[runs.smooth_step, runs.bounded], proof=proofs.lemma4_s, search=search(1), **SHARED)
def lema4s(i):
    r"""For $\gamma\le\min\{\frac1L,\frac1\alpha\}$ and noise uncorrelated across clients: $\frac1E\sum_{k<E}E\|\nabla
    f(\bar w_{t,k})\|^2\le\frac2{\gamma E}E[f(\bar w_{t,0})-f(\bar w_{t+1,0})]+\gamma LS\sigma^2
    +\frac23\gamma^2E^2G^2(L^2+\alpha^2)$, and even with $\frac13\gamma^2(E-1)(2E-1)G^2(L^2+\alpha^2)$."""
    return lemma4(i, f.lemma4_s, f.lemma4_summed)


@ft.claim("lema4", on=[*on(2), one_draw], needs=[runs.half_step, runs.bounded, uncorrelated], proof=proofs.lemma4,
          search=search(2), **SHARED,
          reading="The two terms with alpha are one: the last is the smaller one of both wherever the step is allowed. "
                  "thm2-derivation ties each to its term of Theorem 2.")
def lema4(i):
    r"""For $\gamma\le\min\{\frac1L,\frac1{2\alpha}\}$ and noise uncorrelated across clients: $\frac1E\sum_{k<E}E\|\nabla
    f(\bar w_{t,k})\|^2\le\frac4{\gamma E}E[f(\bar w_{t,0})-f(\bar w_{t+1,0})]+2\gamma LS\sigma^2+2\gamma\alpha E^2G^2
    +8\gamma^2L^2E^2G^2+\frac12\gamma^3\alpha^2LE^2G^2$: as printed, by way of lema4s."""
    return lemma4(i, as_printed)


# ---- rounds -----------------------------------------------------------------------------------------------------
def at_step(name, problem, E, alpha, *rest, rounds=1, **options):
    """At the step of Theorem 2; rounds * E is a square."""
    double = 2 * (runs.curvatures(problem)[0] + ft.fraction(alpha))
    return run_of(name, problem, E, alpha, 1 / (double * isqrt(rounds * E)), *rest, rounds=rounds, **options)


TILTED = ft.PiecewiseQuadratic([[1, "1/2"], ["-1/3", 1], [1, 2]], [[0], [1], ["1/2"]], [1, -2, 0], ["1/3", "1/2", "1/6"])
on_rounds = [at_step("one heavy client, from the optimum", HEAVY, 1, 0, least(HEAVY), rounds=144),
             at_step("noise alone, from the optimum", ONE, 1, 0, 0, 1, rounds=144), at_step("far away", ONE, 1, 0, 5, rounds=16),
             at_step("two clients from the optimum", APART, 4, 0, least(APART)),
             at_step("held back, from the optimum", APART, 4, 2, least(APART), rounds=4),
             at_step("not convex, noise", TILTED, 2, "1/2", 2, 1, rounds=2, slots=[(0, 0), (1, 1)]),
             at_step("in the plane, noise", PLANE, 3, 1, 3, 1, rounds=3),
             at_step("300 steps", APART, 300, 10, 3, rounds=3), at_step("100 clients", MANY, 1, 1, 3)]
PAIRS = [(1, 1), (4, 1), (1, 4), (2, 2), (8, 2)]   # E, T


def drawn_rounds(draw, n=None, E=None, rounds=None, **at):
    E, rounds = (E, rounds) if E else draw(st.sampled_from(PAIRS))
    made = runs.drawn(draw, smooth_cap, n=n, E=E, rounds=rounds, convex=draw(st.booleans()), **at)
    gamma = made and 1 / (2 * (made.L + made.alpha) * isqrt(E * rounds))
    return made and made.but(algorithm=ft.FedProx(gamma, E, mu=made.alpha))


def drawn_sines(draw):
    E, rounds = draw(st.sampled_from(PAIRS))
    return sines(draw, lambda alpha, E, rounds: 1 / (2 * (1 + Q(alpha)) * isqrt(E * rounds)), rounds, E)


ROUNDS = ft.Search((ft.Family("piecewise quadratics", drawn_rounds, ({"n": 300, "E": 1, "rounds": 1},)),
                    ft.Family("sines", drawn_sines)), tries=12)
RATE = {"needs": [runs.below, runs.theorem2_step, runs.bounded], "rejects": [bugs.uniform_weights], "proof": proofs.theorem2,
        "search": ROUNDS, "domain": proofs.RATE, "meaning": runs.rates_of,
        "ends": {"clients": (1, 300), "local steps": (1, 300), runs.ALPHA: (0, 10), "rounds": (1, 144)}}


def theorem2(i, bound, *parts):
    """The mean squared gradient over all rounds and local steps."""
    run = path(i)
    left = sum(run.square(run.slope(w)) for along in run.along for w in along[:i.E]) / (i.E * i.rounds)
    terms = bound(i.L, i.alpha, i.gap, i.S, i.sigma2, i.G2, i.E, i.rounds, isqrt(i.E * i.rounds))
    return ft.at_most(left, ft.Terms(**(joined(terms, "gradients", *parts) if parts else terms)))


@ft.claim("thm2s", on=on_rounds, **RATE)
def thm2s(i):
    r"""At $\gamma=\frac1{2L_\alpha\sqrt{TE}}$, $L_\alpha=L+\alpha$, $\alpha\ge0$, with noise uncorrelated across clients:
    $E\|\nabla f(\hat w_T)\|^2\le\frac{4L_\alpha\Delta}{\sqrt{TE}}+\frac{LS\sigma^2}{2L_\alpha\sqrt{TE}}
    +\frac{(L^2+\alpha^2)EG^2}{6L_\alpha^2T}$."""
    return theorem2(i, f.theorem2_s)


@ft.claim("thm2", on=on_rounds, **RATE,
          reading="The three terms with G are one: runs that miss the first alone would take about a million local steps.")
def thm2(i):
    r"""At $\gamma=\frac1{2L_\alpha\sqrt{TE}}$, with noise uncorrelated across clients: $E\|\nabla f(\hat w_T)\|^2\le
    \frac1{\sqrt T}\big[\frac{8L_\alpha\Delta}{\sqrt E}+\frac{LS\sigma^2}{L_\alpha\sqrt E}+\frac{\alpha E^{3/2}G^2}{L_\alpha}\big]
    +\frac{2L^2EG^2}{L_\alpha^2T}+\frac{\alpha^2L\sqrt EG^2}{16L_\alpha^3T^{3/2}}$, $\hat w_T$ uniform over the $\bar w_{t,k}$."""
    return theorem2(i, theorems.theorem2, "drift", "proximal", "last")


# ---- the sharper rate against the printed one ------------------------------------------------------------------------
def wrong(name, says, right, changed):
    """A mutant of a formula that an instance carries as `formula`: `changed` in place of `right`."""
    def mutant(value):
        return changed if value is right else None
    mutant.__name__, mutant.__doc__, mutant.of = name, says, "formula"
    return mutant


def rates(formula, at=None):
    """(symbols, the sharper terms, the printed ones); T = root^2/E, root = 1 + r. at: {symbol: value} put in."""
    s = Symbols("L alpha gap S sigma2 G2 E r").field
    L, alpha, gap, S, sigma2, G2, E, r = ((at or {}).get(n, v) for n, v in zip(s.names, s.symbols, strict=True))
    args = (L, alpha, gap, S, sigma2, G2, E, (1 + r) ** 2 / E, 1 + r)
    return args, formula(*args), theorems.theorem2(*args)


FIELD = Symbols("L alpha gap S sigma2 G2 E r").field
half_left = wrong("half_left", "The descent keeps 1 - alpha gamma >= 1/2, as the paper's proof does.", f.theorem2_s,
                  lambda *a: {k: v * (1 if k == "drift" else 2) for k, v in f.theorem2_s(*a).items()})


@ft.claim("thm2s-dominates", on=[ft.Instance("all symbols", formula=f.theorem2_s, domain=FIELD,
                                             says="L, alpha, Delta, S, sigma^2, G^2, E >= 0 and r = sqrt(TE) - 1 >= 0: symbols")],
          rejects=[half_left], covers={"n": "all", "d": "all", "tau": "all"},
          domain="all L > 0, alpha >= 0, Delta, S, sigma, G >= 0 and T, E with TE >= 1: polynomials without negative coefficients")
def thm2s_dominates(i):
    r"""No term of thm2s is larger than Theorem 2's: start and noise are half of them, $\frac{L^2EG^2}{6L_\alpha^2T}$ is a twelfth
    of $\frac{2L^2EG^2}{L_\alpha^2T}$, and $\frac{\alpha^2EG^2}{6L_\alpha^2T}$ is $\frac\alpha{6L_\alpha\sqrt{TE}}\le\frac16$ of
    $\frac{\alpha E^{3/2}G^2}{L_\alpha\sqrt T}$."""
    (L, alpha, *_, root), sharp, printed = rates(i.formula)
    own, pulled = (sharp["drift"] * v**2 / (L**2 + alpha**2) for v in (L, alpha))
    return (*(ft.equal(2 * sharp[k], printed[k], f"{k}: half of the printed") for k in ("start", "noise")),
            ft.equal(12 * own, printed["drift"], "the part with L^2: a twelfth"),
            ft.equal(pulled * 6 * (L + alpha) * root, alpha * printed["proximal"], "the part with alpha^2"),
            ft.nonnegative(6 * (L + alpha) * root - 6 * alpha, "alpha/(6 L_alpha sqrt(TE)) <= 1/6"))


# ---- findings ---------------------------------------------------------------------------------------------------------
def _split():
    """The split (76) of |alpha gamma x - gamma y|^2 after the first of two coded steps, where y = 0."""
    i = run_of("gradient 0 after one step", ONE, 2, "1/2", 1, 1)
    run = path(i)
    x, y = run.along[0][0] - run.along[0][1], run.exact[0][1][:, 0]
    left = i.L / 2 * run.square(i.alpha * i.gamma * x - i.gamma * y)
    bound = i.gamma**2 * i.L / 2 * run.square(y), i.gamma**2 * i.alpha**2 * i.L / 8 * run.square(x)
    young = 2 * bound[0] + 8 * bound[1]
    return (ft.at_most(i.gamma * max(i.L, 2 * i.alpha), 1, "(58) holds"), ft.equal(run.square(y), 0, "y = 0"),
            ft.equal(left, Q(1, 8), "the left side"), ft.at_most(sum(bound), left, "(76): the right side is smaller", strict=True),
            ft.at_most(left, young, "|a - b|^2 <= 2 |a|^2 + 2 |b|^2 holds"), *lemma4(i, as_printed))


ft.finding("err-76", kind="gap", breaks="lema4", check=_split, script="witnesses/err-76.py",
           step="(76) bounds L/2 |alpha gamma x - gamma y|^2 by gamma^2 L/2 |y|^2 + gamma^2 alpha^2 L/8 |x|^2, which needs "
                "alpha^2/2 <= alpha^2/8 where y = 0",
           reading="x = wbar_0 - wbar_k, y the mean gradient at step k; gamma = 1/L = 1/(2 alpha) = 1, one client, no noise.",
           survives="Lemma 4 as printed on its whole range of steps, and Theorem 2 (lema4, thm2): |a - b|^2 <= (1 + s)|a|^2 + "
                    "(1 + 1/s)|b|^2 is not even needed.")


def _baseline():
    """FedAvg by Theorem 2 at alpha = 0 and by Theorem 4 at beta = 1."""
    (L, _, gap, S, sigma2, G2, E, T, root), sharp, prox = rates(f.theorem2_s, {"alpha": 0 * FIELD.symbols[0]})
    ours = theorems.theorem4(L, L / L, gap, S, sigma2, G2, E, T, root)
    return (*(ft.equal(prox[k], 2 * ours[k], f"{k}: Theorem 2 has twice Theorem 4's") for k in ("start", "noise")),
            ft.equal(2 * prox["drift"], ours["drift"], "drift: half of it"),
            *(ft.equal(sharp[k], ours[k], f"{k}: thm2s has Theorem 4's") for k in ("start", "noise")),
            ft.equal((prox["start"] / ours["start"]) ** 2 * 16, 64 + 0 * L, "rounds for a given start term: 64 against 16"))


ft.finding("err-baseline", kind="remark", breaks="thm2", check=_baseline,
           reading="Both bounds are true of the same rounds, FedAvg's. The comparison of complexities in the discussion sets one "
                   "chain's constants against the other's, beside what alpha and beta do.",
           survives="Both theorems; with the constants of thm2s the leading terms of FedAvg agree, and the factor 64 against 16 is "
                    "from 1 - alpha gamma >= 1/2 in the proof of Lemma 4.")


def _extra_terms():
    """What alpha adds to Theorem 2, and what of it thm2s keeps."""
    (L, alpha, *_), sharp, _ = rates(f.theorem2_s)
    plain, La = rates(f.theorem2_s, {"alpha": 0 * alpha}), L + alpha
    new = [k for k, v in plain[2].items() if v == 0]
    return (ft.equal(int(new == ["proximal", "last"]), 1, "two terms of Theorem 2 vanish at alpha = 0"),
            ft.equal(sharp["start"] / plain[1]["start"], La / L, "start of thm2s: times L_alpha/L, the step being smaller"),
            ft.equal(sharp["noise"] / plain[1]["noise"], L / La, "its noise: times L/L_alpha"),
            ft.equal(sharp["drift"] / plain[1]["drift"], (L**2 + alpha**2) / La**2, "its term in 1/T: between 1/2 and 1 times"),
            ft.nonnegative(2 * (L**2 + alpha**2) - La**2 - (L - alpha) ** 2, "at least 1/2"),
            ft.nonnegative(La**2 - L**2 - alpha**2, "at most 1"))


ft.finding("note-extra-terms", kind="remark", breaks="thm2", check=_extra_terms,
           reading="That the first of the two terms may be a reason of deceleration is said of the bound, which is true.",
           survives="Theorem 2 has both terms. With the pull counted as a deviation from the gradient, alpha^2 |wbar_0 - wbar_k|^2,"
                    " thm2s needs neither; alpha remains in the step, by L_alpha/L, and in the 1/T term, which it leaves as small.")
