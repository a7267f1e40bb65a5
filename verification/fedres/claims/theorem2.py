"""Theorem 2: FedResAvg after R rounds, from one bound of either option; the strongly convex half and its last term."""
from fractions import Fraction as Q

import fltheory as ft
from verification.fedres import bugs, paths, rounds
from verification.fedres.claims import eq9
from verification.fedres.claims.eq8_quadratic import alike, strongly
from verification.fedres.claims.theorem1 import convex
from verification.fedres.claims.theorem1_tuned import ALL, bounded, no_room, symbolic, wrong
from verification.fedres.formulas import theorem1 as first
from verification.fedres.formulas import theorem2 as t
from verification.fedres.moments import steady
from verification.fedres.paths import Noise, as_printed, path, run_of
from verification.fedres.proofs import meaning_avg as meaning
from verification.fedres.proofs import theorem2 as proofs
from verification.fedres.rounds import clients
from verification.symbols import Symbols

# rows that all vanish at 0, so that F* = 0; FOUR has F* = 5/2 at w = 0
AROUND = clients([[[1, 1], [0, 2]], [[1, -1]], [[2, 1]], [[0, 1], [1, 0]]], 0, Q(1, 2))
runs = [run_of("from far away", eq9.HUBER, 1, "1/100", w="1/2", rounds=3, least=0),
        run_of("noise alone", eq9.SMALL, 1, "1", noise=Noise((1,), slots=(1,)), rounds=2, least=0),
        run_of("opposite gradients, half change", eq9.FOUR, 4, "1", rounds=2, least=Q(5, 2)),
        *(run_of(f"four clients, option {option}", AROUND, 3, "1", w="1/8", theta=[["1/8"], [0], [0], [1]], ci=[1, -1, 0, "1/2"],
                 rounds=4, option=option, least=0) for option in (1, 2)),
        run_of("four clients, noise", AROUND, 2, "1", theta=1, noise=Noise((1,), (1,), 2, slots=(2,)), rounds=2, least=0),
        run_of("100 clients", clients([[1, 1], [0, 1]], 0, n=100), 2, "1", w=3, theta=1, rounds=2, least=0),
        run_of("100 local steps", eq9.HUBER, 100, "1/10", w=2, theta=-1, ci=[1], rounds=2, least=0),
        run_of("30 rounds", clients([[[1, 0]]]), 1, "1", w=2, rounds=30, least=0)]


def drawn(draw, **at):
    """Convex, so that 0 is below the infimum of F: a larger gap only weakens the bound."""
    made = paths.drawn(draw, roots=True, small=True, bent=False, rounds=draw(rounds.st.sampled_from([1, 2])), **at)
    return None if made is None else made.but(least=0)


ENDS = eq9.ENDS | {"rounds": (1, 30)}


@ft.claim("thm2-stationarity", on=runs, needs=eq9.NEEDS, rejects=[*eq9.BUGS[:3], bugs.old_theta_in_step_two],
          meaning=meaning.rounds,
          proof=lambda: (proofs.stationarity(), proofs.stationarity(tuned=True)), ends=ENDS,
          search=ft.Search((ft.Family("convex Huber sums", drawn, eq9.CORNERS),), tries=24),
          domain=proofs.DOMAIN + "; F bounded below, every R; the tuned bound for a gap > 0",
          reading="All terms of the appendix, with constants; the term of order R^(-3/4) is not needed.")
def thm2_stationarity(i):
    r"""Either option, $\alpha=\sqrt N$, $\lambda=\eta/\sqrt N$, $\eta\le\frac1{96\gamma\sqrt NK}$, $\|c_i^1\|\le G$:
    $\frac1R\sum_rE\|\nabla F(x^r)\|^2\le\frac{4\Delta^{(1)}}{\eta\sqrt NKR}+\frac{8\gamma\eta\sigma^2}{\sqrt
    N}+44\gamma^2\eta^2G^2K^2$, and with the best such $\eta$ at most
    $2\sqrt{\frac{32\gamma\sigma^2\Delta^{(1)}}{NKR}}+2\big(\frac{704(\Delta^{(1)}\gamma G)^2}{NR^2}\big)^{1/3}
    +\frac{384\gamma\Delta^{(1)}}R$: the printed orders $R^{-1/2}$, $R^{-2/3}$ and $R^{-1}$."""
    r = path(i)
    left = sum(r.grad2(k) for k in range(i.rounds)) / i.rounds
    bound = t.stationarity(i.gamma, i.eta, i.sigma2, i.G2, i.s, i.K, i.rounds, r.value(0) - i.least)
    return ft.at_most(left, ft.Terms(**bound)), *as_printed(i)


# ---- convex -----------------------------------------------------------------------------------------------------
NAMES = "gamma sigma2 G2 N K R D2"
CONVEX = ("every number of clients, local steps, rounds and dimensions; all convex smooth clients with gradients at most G, either "
          "option, first variates of mean c and norm at most G; noise with mean 0 given the past, uncorrelated across clients")
undivided = wrong("noise_not_averaged", "The variance is not divided by the number of clients.", t.convex_roots,
                  lambda g, s2, G2, N, K, R, D2: t.convex_roots(g, N * s2, G2, N, K, R, D2))


@ft.claim("thm2-convex", on=symbolic(t.convex_roots, NAMES), rejects=[undivided], covers=ALL, domain=CONVEX, meaning=meaning.tuned,
          proof=lambda: (proofs.printed(), proofs.printed(large=True), proofs.printed(early=True)),
          reading="All terms of the appendix, with constants. Its own step to (Delta + delta)/R drops gamma D^2/R from the cap on "
                  "eta; the third term covers it where R >= gamma D/G, and alone bounds the gap where R is smaller. D bounds the "
                  "root of E|x^r - x*|^2 over the rounds.")
def thm2_convex(i):
    r"""With the best $\eta\le\frac1{96\gamma\sqrt NK}$, $\alpha=\sqrt N$, $\lambda=\eta/\sqrt N$: $\Delta^{(R+1)}\le
    2\big(\frac{32D^4\gamma\sigma^2}{NKR}\big)^{1/3}+2\big(\frac{704D^6\gamma^2G^2}{NR^2}\big)^{1/4}
    +384\big(\frac{D^8G^2\gamma^3}{R^3}\big)^{1/5}$, hence the printed bound, whose last term is not needed."""
    s = i.s
    roots = i.formula(*(getattr(s, k) for k in NAMES.split()))
    cube, fourth = (roots[k][0] for k in ("noise", "drift"))
    printed = t.leading(s.gamma, s.gamma, s.sigma2, s.N, s.K, s.R, s.D2, s.D2)["convex"]
    return (ft.equal(cube, 32 * printed[0], "the cube of the leading term"),
            ft.equal(fourth, 704 * (s.D2**3 * s.gamma**2 * s.G2 / (s.N * s.R**2)), "the fourth power of the second"),
            ft.equal(t.third_root(s.gamma, s.G2, s.R, s.D2), (s.gamma * s.D2 / s.R) ** 3 * s.D2 * s.G2,
                     "the third term is between gamma D^2/R and D G: its fifth power is (gamma D^2/R)^3 (D G)^2"))


# ---- strongly convex --------------------------------------------------------------------------------------------
def avg(lr, steps, personal_lr):
    return ft.FedResAvg(lr=lr, steps=steps, personal_lr=personal_lr)


quadratic = steady("strongly convex quadratic", alike(1), 2, "1/960", "1/10", [1], [[1]], kind=avg, rounds=5)
huber = run_of("Huber sums", clients([[[1, 0], [0, 1]]]), 2, "1", w=1, theta=1, beta=Q(0), rounds=2)


@ft.claim("thm2-sc", on=[quadratic, huber], needs=[strongly, convex, bounded], vacuous=no_room,
          powerless="no instance meets the hypotheses",
          reading="Taken literally, with Assumption 2 everywhere; with a bound of the gradients along the run the recursion of the "
                  "proof remains, with gamma^3 in its last term (thm2-sc-last-term-corrected).")
def thm2_sc(i):
    r"""If F is $\beta$-strongly convex besides Assumptions 1 to 3, FedResAvg has
    $\Delta^{(R+1)}=\tilde O\big(\frac{\gamma\sigma^2}{\beta^2NKR}\big)$."""
    best, after = i.stated.problem.joint_optimum(), path(i).value(i.rounds)
    return ft.at_most(after - i.problem.joint_value(*best), first.strongly_convex(i.gamma, i.beta, i.sigma2, i.n, i.K, i.rounds))


LAST = "gamma beta eta root G2 K R l"
FLOORS = "the recursion's gamma^3 eta^4 N^2 G^2 K^4 over the contraction beta eta sqrt(N) K/4, as Lemma 4 divides them"


def last_term(i, power):
    """Both forms of the last term against what Lemma 4 makes of the recursion; l = log R."""
    s = i.s
    d = t.recursion(s.gamma, s.eta, s.root, s.root**2, s.G2, 0, s.K)["last"]
    floor = i.formula(s.gamma, s.beta, s.eta, s.root, s.G2, s.K, power)
    yield ft.equal(d / t.contraction(s.beta, s.eta, s.root, s.K), 4 * floor, "the floor")
    eta = 8 * s.l / (s.beta * s.root * s.K * s.R)
    tuned = i.formula(s.gamma, s.beta, eta, s.root, s.G2, s.K, 3)
    yield ft.equal(tuned, (8 * s.l) ** 3 * t.tuned_last(s.gamma, s.beta, s.G2, s.R, power), "tuned, up to the logarithm")


on_last = symbolic(t.floor_last, LAST)
one_beta_less = wrong("beta_forgotten", "The floor is not divided by beta.", t.floor_last,
                      lambda g, b, eta, root, G2, K, power: b * t.floor_last(g, b, eta, root, G2, K, power))


@ft.claim("thm2-sc-last-term", on=on_last, rejects=[one_beta_less], instead="thm2-sc-last-term-corrected", finding="err-7",
          at=("all symbols",), script="witnesses/err-7.py",
          step="gamma^3 eta^4 N^2 G^2 K^4 over beta eta sqrt(N) K/4 is written with gamma^2, and so after tuning",
          reading="The terms inside the O, whose constants do not depend on gamma: " + FLOORS + ".",
          survives="With gamma^3 in both places. The bound itself loses nothing: by thm2-either and strong convexity the floor "
                   "needs no such term.")
def thm2_sc_last_term(i):
    r"""The last term of the strongly convex floor is $\frac{\gamma^2\eta^3N^{3/2}G^2K^3}\beta$ up to a constant, and
    $\frac{\gamma^2G^2}{\beta^4R^3}$ after $\frac{\beta\eta\sqrt NK}4=\frac{2\log R}R$, up to logarithms."""
    return list(last_term(i, 2))


@ft.claim("thm2-sc-last-term-corrected", on=on_last, rejects=[one_beta_less], covers=ALL,
          domain="all positive constants, as identities: " + FLOORS)
def thm2_sc_last_term_corrected(i):
    r"""The last term of the strongly convex floor is $\frac{4\gamma^3\eta^3N^{3/2}G^2K^3}\beta$, and
    $\frac{4(8\log R)^3\gamma^3G^2}{\beta^4R^3}$ at $\frac{\beta\eta\sqrt NK}4=\frac{2\log R}R$."""
    return list(last_term(i, 3))


# ---- what the statement leaves out ----------------------------------------------------------------------------------
def parameters():
    s = Symbols("eta root K")
    personal, shared = (lambda lam: lam * s.root**2 * s.K / 4), s.eta * s.root * s.K / 4
    return (ft.equal(personal(s.eta / s.root), shared, "lambda = eta/sqrt N: both gradient terms of (9) have one coefficient"),
            ft.equal(personal(s.eta / s.root**2) * s.root, shared, "lambda = eta/N of Theorem 1 is short of it by sqrt N"),
            ft.equal((s.root**2 * s.eta**2 / s.root**2), s.eta**2, "alpha = sqrt N: Lemma 8's noise is gamma eta^2 sigma^2 K"))


ft.finding("err-13", kind="remark", breaks="thm2-stationarity", check=parameters,
           reading="'The same notations as in Theorem 1' are those of w^r, theta^r, Delta and D, not lambda = eta/N.",
           survives="With lambda = eta/sqrt N and alpha = sqrt N, which the proof picks.")


dominated = wrong("square_root", "The dominant convex term has the square root in place of the third.", t.lower_orders,
                  lambda *a: (found := t.lower_orders(*a)) | {"convex": ((found["convex"][0][0], 2), found["convex"][1])})
ORDERS = "gamma beta sigma2 G2 N K gap D2 v"


@ft.claim("remark-dominant", on=symbolic(t.lower_orders, ORDERS), rejects=[dominated], covers=ALL,
          domain="all positive constants, sigma > 0, R without end; in the form of the appendix, with gamma^3 in the last term",
          reading="Orders in R alone, up to logarithms in the strongly convex case; R = 1/v.")
def remark_dominant(i):
    r"""With noise, the terms of Theorem 2's bounds that dominate as $R\to\infty$ are those it prints, and Theorem 1's."""
    s, out = i.s, []
    found = i.formula(s.gamma, s.beta, s.sigma2, s.G2, s.N, s.K, 1 / s.v, s.gap, s.D2)
    for name, ((main, k), others) in found.items():
        for rest, m in others:
            out.append(ft.equal(ft.limit(rest**k / main**m, "v"), 0, f"{name}: (lower term/dominant term)^{k * m} tends to 0"))
    same = found["convex"][0][0] ** 1, first.leading3(s.gamma, s.sigma2, 1, s.N, s.K, 1 / s.v) * s.D2**2
    rate = found["strongly convex"][0][0], first.strongly_convex(s.gamma, s.beta, s.sigma2, s.N, s.K, 1 / s.v)
    return *out, ft.equal(*same, "convex: Theorem 1's"), ft.equal(*rate, "strongly convex: Theorem 1's")


def bare():
    """Without noise the printed orders are 0; the convex run is not at its optimum and has a gradient."""
    i = runs[0]
    r = path(i)
    main = t.leading_restated(i.gamma, 1, i.sigma2, i.n, i.K, i.rounds, r.value(0), 1)
    left = sum(r.grad2(k) for k in range(i.rounds)) / i.rounds
    return (ft.equal(main["stationarity"][0], 0, "the printed stationarity bound at sigma = 0"),
            ft.equal(main["convex"][0], 0, "and the convex one"),
            ft.at_most(0, left, "the mean squared gradient", strict=True), ft.at_most(0, r.value(i.rounds), "the gap", strict=True))


ft.finding("note-dominant-terms", kind="remark", breaks="thm2-stationarity", check=bare,
           reading="Theorem 2's remark says that only the dominant terms are shown; Theorems 1 and 3 do not say so.",
           survives="With all terms: thm2-stationarity, thm2-convex.")


@ft.claim("remark-option1-rate", on=[i for i in runs if i.stated.algorithm.option == 1], needs=eq9.NEEDS,
          rejects=[bugs.alpha_dropped],
          reading="The text cites SCAFFOLD's paper, whose lower bound is about other hypotheses. Here Option I obeys every bound "
                  "that Theorem 2 proves of Option II (thm2-either); that its rate is worse is neither shown by them nor refuted.")
def remark_option1_rate(i):
    r"""Option I, without control variates, has a provably worse rate than Theorem 2's where clients differ. What is known
    here: every round of it obeys the bound of thm2-either."""
    return thm_either(i)


def thm_either(i):
    bound = eq9.f.either(i.gamma, i.eta, i.sigma2, i.G2, i.s, i.K)
    return *(ft.at_most(eq9.change(i, k), sum(bound.values())) for k in range(i.rounds)), *as_printed(i)
