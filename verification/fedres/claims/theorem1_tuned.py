"""Theorem 1: its tuned bounds, the hypotheses of its strongly convex half, and what that half says."""
from fractions import Fraction as Q

import numpy as np

import fltheory as ft
from verification.fedres import rounds
from verification.fedres.claims.eq8 import personal
from verification.fedres.claims.eq8_quadratic import alike, at_cap, drawn, strongly
from verification.fedres.claims.theorem1 import convex
from verification.fedres.formulas import theorem1 as f
from verification.fedres.moments import listed, steady
from verification.fedres.one_round import Noise
from verification.fedres.proofs import theorem1 as proofs
from verification.fedres.rounds import clients
from verification.symbols import Symbols

ALL = {"n": "all", "d": "all", "tau": "all"}


def wrong(name, says, right, changed):
    """A mutant of a formula that an instance carries as `formula`: `changed` in place of `right`."""
    def mutant(value):
        return changed if value is right else None
    mutant.__name__, mutant.__doc__, mutant.of = name, says, "formula"
    return mutant


def symbolic(formula, names):
    s = Symbols(names)
    return [ft.Instance("all symbols", formula=formula, domain=s.field, s=s, says=f"{names}: symbols > 0")]


half_root = wrong("half_root", "The minimum is taken where a/eta = b sqrt(eta).", f.tuned, lambda a, b: (a * b**2, 2))


@ft.claim("thm1-tuning", on=symbolic(f.tuned, "x y"), rejects=[half_root], covers={"n": "none", "d": "none", "tau": "none"},
          domain="all a, b > 0 as x^3 eta and 2 y^3/sqrt(eta), so that a/eta + b sqrt(eta) = x^3 + 2 y^3: every pair has this form")
def thm1_tuning(i):
    r"""$\min_{\eta>0}\big(\frac a\eta+b\sqrt\eta\big)=3\big(\frac{ab^2}4\big)^{1/3}=(2^{-2/3}+2^{1/3})\,a^{1/3}b^{2/3}$, and
    $2^{-2/3}+2^{1/3}=1.88988\ldots$"""
    x, y = i.s.x, i.s.y
    cube, factor = i.formula(x**3, 2 * y**3)                 # at eta = 1; other steps scale a and b
    least = factor * x * y**2
    return (ft.equal(cube, (x * y**2) ** 3, "m = x y^2"),
            ft.equal(x**3 + 2 * y**3 - least, (x - y) ** 2 * (x + 2 * y), "never below"),
            ft.equal(i.formula(x**3, 2 * x**3)[1] * x**3, x**3 + 2 * x**3, "attained at x = y"),
            ft.at_most(ft.Bounds(Q(188988, 100000) ** 3, Q(188988, 100000) ** 3), Q(27, 4), "1.88988 from below"),
            ft.at_most(Q(27, 4), Q(188989, 100000) ** 3, "and from above"))


squared_distance = wrong("squared_distance", "D^2 in place of D^3, as printed.", f.middle2,
                         lambda g, G, D, N, R, power: f.middle2(g, G, D, N, R, 2))


@ft.claim("thm1-convex-gterm-corrected", on=symbolic(f.middle2, "gamma eta G D N K R"), rejects=[squared_distance],
          covers=ALL, domain="all positive constants, as an identity: 4 a b and the square of a - b add up",
          reading="The two terms of the proof's own expression that remain at sigma = 0, D^2/(eta R K) and D gamma eta G K/N.")
def thm1_convex_gterm_corrected(i):
    r"""$\min_\eta\Big(\frac{D^2}{\eta RK}+\frac{D\gamma\eta GK}N\Big)=2\sqrt{\frac{D^3\gamma G}{NR}}$: the middle term of
    Theorem 1 has $D^3$."""
    s = i.s
    start, drift = s.D**2 / (s.eta * s.R * s.K), s.D * s.gamma * s.eta * s.G * s.K / s.N
    least2 = 4 * i.formula(s.gamma, s.G, s.D, s.N, s.R, 3)
    return (ft.equal((start + drift) ** 2 - least2, (start - drift) ** 2,
                     "never below 2 sqrt(D^3 gamma G/(NR)), attained where both agree"),)


def _middle_term():
    """The printed term against the least value of the proof's own expression, squared; and its units."""
    s = Symbols("gamma G D N R c")
    printed, own = f.middle2(s.gamma, s.G, s.D, s.N, s.R, 2), f.middle2(s.gamma, s.G, s.D, s.N, s.R, 3)
    units = {"D": s.c * s.D, "G": s.G / s.c, "gamma": s.gamma / s.c**2}   # x -> c x at the same values of F
    scaled = [f.middle2(units["gamma"], units["G"], units["D"], s.N, s.R, power) for power in (2, 3)]
    return (ft.equal(own / printed, s.D, "the ratio of the squares is D"),
            ft.equal(scaled[1], own, "with D^3 it does not depend on the unit of x"),
            ft.equal(scaled[0] * s.c, printed, "with D^2 it does"))


ft.finding("err-6", kind="misprint", breaks="thm1-convex", check=_middle_term,
           reading="Minimising D^2/(eta RK) + D gamma eta G K/N over eta, as the proof says.",
           survives="The printed bound as a whole: the term with G can be left out (gfree-convex).")


# ---- the convex rate ----------------------------------------------------------------------------------------------
noise_forgotten = wrong("noise_not_averaged", "The variance is not divided by the number of clients.", f.free_tuned,
                        lambda gamma, sigma2, D, N, K, R: f.free_tuned(gamma, N * sigma2, D, N, K, R))


@ft.claim("thm1-convex", on=symbolic(f.free_tuned, "gamma sigma2 D N K R"), rejects=[noise_forgotten], covers=ALL,
          proof=lambda: (proofs.convex(), proofs.convex_loud(), proofs.tuned_inside(), proofs.tuned_at_the_cap()),
          domain="every number of clients, local steps, rounds and dimensions; all convex smooth losses and noise independent "
                 "across clients: the constants of gfree-convex at the best step, without the term that has G",
          reading="The O with constants, read with all its terms; D bounds the root of E|x^r - x*|^2 over the rounds. The middle "
                  "term is not needed, so that its misprint (err-6) does no harm.")
def thm1_convex(i):
    r"""With the best $\eta\le1/(2\gamma K)$, $\lambda=\eta/N$: $\Delta^{(R+1)}\le6.33\Big(\frac{D^4\gamma\sigma^2}{NKR}\Big)^{1/3}
    +10\,\frac{D^2\gamma}R$, hence Theorem 1's $O\Big(\big(\frac{D^4\gamma\sigma^2}{NKR}\big)^{1/3}+\sqrt{\frac{D^2\gamma G}{NR}}
    +\frac{D^2\gamma}R\Big)$."""
    s = i.s
    cube, cap = i.formula(s.gamma, s.sigma2, s.D, s.N, s.K, s.R)
    return (ft.equal(cube, Q(75, 8) * f.leading3(s.gamma, s.sigma2, s.D, s.N, s.K, s.R),
                     "m^3 is 75/8 of the printed leading term's cube"),
            ft.equal(cap, s.D**2 * s.gamma / s.R, "the last term"),
            ft.at_most(27 * Q(75, 8), Q(633, 100) ** 3, "3 (75/8)^(1/3) <= 6.33"))


# ---- the strongly convex half -----------------------------------------------------------------------------------------
bounded = ft.Hypothesis("Assumption 2", r"$\|\nabla L_i\|\le G<\infty$",
                        lambda i: (0, rounds.G2(i.stated.problem)) if hasattr(i.stated.problem, "scale") else (None, None))


def no_room():
    """beta^2 |x - x*|^2 <= G^2 for every x follows from the hypotheses, and is wrong where the left side is G^2 + 1."""
    proof = proofs.bounded_gradient()
    holds = all(step.status == "HOLDS" for step in proof.steps)
    (fact,) = proof.conclusions
    beta, G2 = proof("beta G2")
    return (ft.equal(int(holds), 1, "beta^2 |x - x*|^2 <= G^2 for every x"),
            ft.equal(fact.expression.substitute(e_e=(G2 + 1) / beta**2), G2 - (G2 + 1),
                     "at |x - x*|^2 = (G^2 + 1)/beta^2: -1 >= 0"))


@ft.claim("thm1-sc", on=[at_cap("strongly convex quadratic", alike(2), 2, 5, "1/10", [1], [[1], [2]], rounds=5),
                         listed("Huber sums", clients([[[1, 0], [0, 1]]]), 1, "1/2", 1, 1, Noise((1,), slots=(1,)))],
          needs=[strongly, convex, bounded, personal], vacuous=no_room, powerless="no instance meets the hypotheses",
          instead="gfree-sc",
          reading="Taken literally, with Assumption 2 everywhere. With a bound of the gradients along the run the recursion of "
                  "the proof remains (thm1-sc-recursion); without any bound of gradients there is gfree-sc.")
def thm1_sc(i):
    r"""If F is $\beta$-strongly convex besides Assumptions 1 to 3:
    $\Delta^{(R+1)}=\tilde O\big(\frac{\gamma\sigma^2}{\beta^2NKR}\big)$."""
    bound = f.strongly_convex(i.gamma, i.beta, i.sigma2, i.n, i.K, i.rounds)
    return ft.at_most(list(i.along(i.rounds))[-1][0], bound)


ft.finding("err-9", kind="remark", breaks="thm1-sc", check=no_room,
           reading="Assumption 2 bounds the gradient on the whole space, as it is written.",
           survives="The recursion with a bound of the gradients along the run (thm1-sc-recursion), and the rate without any "
                    "(gfree-sc).")


def gradients(i):
    """max_i |grad L_i|^2 at the start of a quadratic instance."""
    p, w = i.stated.problem, np.array([ft.fraction(v) for v in i.x0], dtype=object)
    found = []
    for A, B, C, bw, bt, theta in zip(p.A, p.B, p.C, p.bw, p.btheta, i.theta0, strict=True):
        A, B, C, bw, bt = (ft.linalg.to_fractions(v) for v in (A, B, C, bw, bt))
        t = np.array([ft.fraction(v) for v in theta] + [Q(0)] * (len(bt) - len(theta)), dtype=object)
        found.append(((A @ w + B @ t - bw) ** 2).sum() + ((B.T @ w + C @ t - bt) ** 2).sum())
    return max(found)


half_gradient = wrong("half_the_square", "G^2/(4 beta) in place of G^2/(2 beta).", f.of_gradient, lambda G2, beta: G2 / (4 * beta))
points = [at_cap("one client, equality", alike(1, (5, 0, 5)), 1, 5, 0, [1], [[2]], formula=f.of_gradient),
          at_cap("two coupled clients apart", alike(2), 2, 5, 0, [1], [[-2], [3]], formula=f.of_gradient),
          at_cap("ten clients", alike(10), 1, 5, 0, [1], [[-2]] * 10, formula=f.of_gradient)]


def drawn_point(draw, **at):
    made = drawn(draw, definite=True, **at)
    return made and made.but(formula=f.of_gradient)


@ft.claim("thm1-no-algorithm", on=points, needs=[strongly, convex], rejects=[half_gradient], covers=ALL, proof=proofs.no_algorithm,
          domain="every point, client number and dimension; strongly convex or convex F with gradients of at most G at that point",
          search=ft.Search((ft.Family("convex quadratics", drawn_point, ({"n": 12, "K": 1}, {"n": 1, "K": 1})),), tries=30),
          ends={"clients": (1, 12)}, reading="Assumption 2 at one point: what a rate must beat to say something of an algorithm.")
def thm1_no_algorithm(i):
    r"""With no algorithm at all, Assumption 2 at a point x gives $F(x)-F^*\le\frac{G^2}{2\beta}$ if F is $\beta$-strongly convex,
    and $F(x)-F^*\le\|x-x^*\|G$ if it is convex."""
    gap, _, distance2 = next(i.along(0))
    G2 = gradients(i)
    return (ft.at_most(gap, i.formula(G2, i.beta), "strongly convex"), ft.at_most(gap**2, distance2 * G2, "convex, squared"))


def tuned_step(factor):
    return lambda beta, K, R, log_R: factor * log_R / (beta * K * R)


halved_log = wrong("halved_logarithm", "The step has 2 log R in place of 4 log R.", f.sc_step, tuned_step(2))


@ft.claim("thm1-sc-window", on=symbolic(f.sc_step, "beta N K R l e"), rejects=[halved_log], covers=ALL,
          proof=lambda: proofs.window(),
          domain="all positive constants with beta <= gamma/N, every R > 1; l = log R, gamma = N beta + e",
          reading="The step that makes (1 - eta beta K/2)^R at most R^-2; the paper says only that the best eta is chosen.")
def thm1_sc_window(i):
    r"""The step $\eta=\frac{4\log R}{\beta KR}$ of the strongly convex rate obeys $\eta\le\frac1{\gamma K}$ only if
    $\frac R{\log R}\ge\frac{4\gamma}\beta\ge4N$."""
    s = i.s
    gamma, eta = s.N * s.beta + s.e, i.formula(s.beta, s.K, s.R, s.l)
    return (ft.equal(gamma * eta * s.K, 4 * gamma / s.beta * s.l / s.R, "eta gamma K = (4 gamma/beta) log R/R"),
            ft.nonnegative(4 * gamma / s.beta - 4 * s.N, "4 gamma/beta >= 4N"),
            ft.equal(eta * s.beta * s.K / 2 * s.R, 2 * s.l, "R steps shrink by exp(-2 log R)"))


one_beta = wrong("one_beta", "beta in place of beta^2.", f.strongly_convex, lambda g, b, s2, N, K, R: g * s2 / (b * N * K * R))


@ft.claim("thm1-sc-no-speedup", on=symbolic(f.strongly_convex, "beta sigma2 N K R e"), rejects=[one_beta], covers=ALL,
          proof=lambda: proofs.no_speedup(), domain="all positive constants with beta <= gamma/N; gamma = N beta + e",
          reading="The least value of the bound over all problems with this gamma, sigma, K and R. Along problems that keep beta "
                  "the bound falls with N; their clients' own curvature then grows. What the method does is nospeedup-exact.")
def thm1_sc_no_speedup(i):
    r"""Since $\beta\le\gamma/N$, the strongly convex bound obeys
    $\frac{\gamma\sigma^2}{\beta^2NKR}\ge\frac{N\sigma^2}{\gamma KR}$, which grows linearly in N at fixed $\gamma$."""
    s = i.s
    gamma = s.N * s.beta + s.e
    bound = i.formula(gamma, s.beta, s.sigma2, s.N, s.K, s.R)
    return (ft.nonnegative(bound - s.N * s.sigma2 / (gamma * s.K * s.R), "bound - N sigma^2/(gamma K R)"),
            ft.equal(i.formula(s.N * s.beta, s.beta, s.sigma2, s.N, s.K, s.R), s.sigma2 / (s.beta * s.K * s.R),
                     "no N at beta = gamma/N"))


one_distance = wrong("distance_of_one_client", "D^2 = d^2, as if one client's distance were all.", f.leading3,
                     lambda gamma, sigma2, D, N, K, R: f.leading3(gamma, sigma2, 1, N, K, R))


@ft.claim("thm1-convex-no-speedup", on=symbolic(f.leading3, "gamma sigma2 d N K R"), rejects=[one_distance], covers=ALL,
          domain="all positive constants; the example for N = 1, 2 and 12 over 10 rounds",
          reading="D adds up over the clients: if every personal parameter is at least d from its optimum, D^2 >= N d^2.")
def thm1_convex_no_speedup(i):
    r"""With $D^2=Nd^2$ the leading convex term is $(Nd^4\gamma\sigma^2/(KR))^{1/3}$ and the last one $Nd^2\gamma/R$: both grow
    with N. Without noise FedResSGD at $\lambda=\eta/N$ on $L_i=(w^2+\theta_i^2)/2$ from $w=0$, $\theta_i=1$, $K=\eta=1$, has
    $\Delta^{(R+1)}=\frac12(1-\frac1N)^{2R}$."""
    s = i.s
    cube = i.formula(s.gamma, s.sigma2, s.d, s.N, s.K, s.R) * s.N**2            # D^4 = N^2 d^4
    runs = [(n, [gap for gap, *_ in steady("", alike(n, (1, 0, 1)), 1, 1, 0, [0], [[1]] * n).along(10)]) for n in (1, 2, 12)]
    return [ft.equal(cube, s.N * s.d**4 * s.gamma * s.sigma2 / (s.K * s.R), "leading term, cubed"),
            *(ft.equal(gaps, [Q(1, 2) * (1 - Q(1, n)) ** (2 * R) for R in range(11)], f"10 rounds, N={n}") for n, gaps in runs)]


def _cancelled():
    """At the largest beta, gamma/N, the bound is N sigma^2/(gamma K R); and quadratic clients alike come near that beta."""
    s = Symbols("gamma sigma2 N K R")
    at_most = f.strongly_convex(s.gamma, s.gamma / s.N, s.sigma2, s.N, s.K, s.R)
    i = at_cap("ten clients, B = 0", alike(10, (5, 0, 5)), 1, 5)
    return (ft.equal(at_most, s.N * s.sigma2 / (s.gamma * s.K * s.R), "the bound at beta = gamma/N"),
            ft.at_most(i.gamma / 10 * Q(999999, 10**6), i.beta, "ten alike clients with B = 0 have that beta"))


ft.finding("err-10", kind="remark", breaks="thm1-sc", check=_cancelled,
           reading="Strong convexity of F in all its variables, as Lemma 2 uses it.",
           survives="The bounds themselves; only what their 1/N suggests is lost (thm1-sc-no-speedup).")


def _below():
    """c Delta <= 1/10 for the c of Lemma 3, a step of the proof of gfree-convex, from smoothness and the cap on eta."""
    (step,) = [step for step in proofs.convex().steps if step.name == "c Delta at most 1/10"]
    return ft.equal(int(step.status == "HOLDS"), 1, step.name)


ft.finding("gap-lem3-start", kind="gap", breaks="thm1-convex", check=_below,
           reading="Lemma 3 supposes B_r <= 1/(2c). The proofs of Theorems 1 and 2 use it without a word on that.",
           survives="It follows from smoothness, Delta <= gamma D^2, and the cap on eta.")
