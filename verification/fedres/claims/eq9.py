"""Appendix D, (9) and (10): the change of F in a round, from Lemmas 7 to 9, and one bound for either option and every round."""
from fractions import Fraction as Q

import fltheory as ft
from verification.fedres import bugs, paths, rounds
from verification.fedres.claims.lemma9 import HUBER, SMALL
from verification.fedres.formulas import appendix_d as f
from verification.fedres.formulas import theorem2 as t
from verification.fedres.paths import Noise, as_printed, path, run_of
from verification.fedres.proofs import either as proofs
from verification.fedres.proofs import lemma9, theorem2
from verification.fedres.proofs import meaning_avg as meaning
from verification.fedres.rounds import clients
from verification.symbols import Symbols

BUGS = [bugs.alpha_dropped, bugs.personal_step_with_lr, bugs.variates_not_averaged, bugs.mean_not_divided,
        bugs.old_theta_in_step_two]
NEEDS = [*paths.NOISY, rounds.independent, paths.cap, paths.root_alpha, paths.root_lambda, paths.start_bounded]
FOUR = clients([[[1, 0]]] * 4, [[-1], [5], [-1], [5]], [[10], [1]] * 2)      # opposite gradients at w = 0, half of them change
PLANE = clients([[[1, 1], [0, 2]], [[1, -1]], [[2, 1]], [[0, 1], [1, 0]]], [[0, 1], [2], [-1], [1, 3]], Q(1, 2))
noise_alone = run_of("noise alone", SMALL, 1, "1", noise=Noise((1,), slots=(1,)), rounds=2)
moving = run_of("one client moves", HUBER, 3, "1", w="1/2", rounds=2)
balanced = run_of("opposite gradients, half change", FOUR, 4, "1", rounds=2)
plane = [run_of(f"four clients, option {option}", PLANE, 3, share, w=1, theta=[[2], [-1], [0], [1]], ci=[1, -1, 0, "1/2"], rounds=3,
                option=option) for option, share in ((1, "1"), (2, "1/8"))]
noisy = [run_of(f"four clients, noise in slot {slot}", PLANE, 2, "1", theta=1, noise=Noise((1,), (1,), 2, slots=(slot,)), rounds=2)
         for slot in (1, 2)]
bent = run_of("not convex", clients([[[1, 1], [1, 2]]], [[1, -1]], 1, [[Q(-1, 2), 1]]), 3, "1", w=2, theta=-1, ci=["1/2"], rounds=3)
many = run_of("100 clients", clients([[1, 1], [0, 1]], [[0, -2]], n=100), 2, "1", w=3, theta=1, rounds=2)
long = run_of("100 local steps", HUBER, 100, "1", w=2, theta=-1, ci=[1], rounds=2)
ON = [noise_alone, moving, balanced, *noisy, bent, many, long]
ENDS = {"clients": (1, paths.MANY), "local steps": (1, paths.LONG), "step over its cap": (Q(1, 1000), Q(999, 1000))}
CORNERS = ({"n": paths.MANY, "K": 1}, {"n": paths.MANY, "K": 2, "eta": "1"}, {"n": 1, "K": paths.LONG}, {"n": 1, "eta": "1/1000"},
           {"n": 4, "K": 2, "eta": "1"})


def search(count=2, tries=24, **options):
    return ft.Search((ft.Family("Huber sums", lambda draw, **at: paths.drawn(draw, roots=True, small=True, rounds=count,
            **options, **at),
                                CORNERS),), tries=tries)


def change(i, k):
    """E F after round k = 0, 1, .. minus E F before, plus eta sqrt(N) K/4 E|grad F|^2."""
    r = path(i)
    return r.value(k + 1) - r.value(k) + i.eta * i.s * i.K / 4 * r.grad2(k)


def grouped(bound, names=("noise", "personal_noise")):
    """A bound as the terms with sigma^2 and those with G^2 or gradients."""
    noise = sum(v for k, v in bound.items() if k in names)
    return ft.Terms(noise=noise, gradients=sum(v for k, v in bound.items() if k not in names))


# ---- either option, every round -----------------------------------------------------------------------------
@ft.claim("thm2-either", on=[*ON, *plane], needs=NEEDS, rejects=[*BUGS[:3], BUGS[4]], proof=proofs.either, meaning=meaning.rounds,
          domain=proofs.DOMAIN, ends=ENDS, search=search())
def thm2_either(i):
    r"""Either option, every round, $\alpha=\sqrt N$, $\lambda=\eta/\sqrt N$, $\eta\le\frac1{96\gamma\sqrt NK}$, first
    variates of mean $c$ and norm at most $G$, convex or not: $E[F^{r+1}-F^r]\le-\frac{\eta\sqrt NK}4E\|\nabla
    F(w^r,\theta^r)\|^2+2\gamma\eta^2\sigma^2K +11\sqrt N\gamma^2\eta^3G^2K^3$."""
    bound = f.either(i.gamma, i.eta, i.sigma2, i.G2, i.s, i.K)
    return *(ft.at_most(change(i, k), ft.Terms(**bound), f"round {k + 1}") for k in range(i.rounds)), *as_printed(i)


# ---- (9) ----------------------------------------------------------------------------------------------------
UNEVEN = clients([[[1, 0]]] * 4, [[-1], [5], [-2], [5]], [[10], [1], [20], [1]], [[1], [1], [Q(1, 2)], [1]])


def at_the_optimum():
    """Rounds 1 and 2 start at the optimum w = 0, not at rest in the variates: one of them solves an affine equation."""
    made = [run_of("rounds 1 and 2 from the optimum", UNEVEN, 4, "1", ci=[0, -v / 2, v, -v / 2], rounds=1) for v in (Q(0), Q(1))]
    first, second = (path(i).states[1][0][0, 0] for i in made)
    v = first / (first - second)
    return run_of("rounds 1 and 2 from the optimum", UNEVEN, 4, "1", ci=[0, -v / 2, v, -v / 2], rounds=2)


two = [*ON, plane[1], at_the_optimum()]


@ft.claim("eq9", on=two, needs=[*NEEDS, paths.second_round], rejects=BUGS, proof=proofs.eq9, meaning=meaning.rounds,
          domain=proofs.EQ9, ends=ENDS, search=search(option=2))
def eq9(i):
    r"""(9) with $K^3$ for $K^2$, for $\lambda=\eta/\sqrt N$ and rounds $r\ge2$ of Option II: $E[F^{r+1}-F^r]\le
    -\frac{\lambda NK}4\frac1{N^2}\sum_i\|\nabla_\theta L_i\|^2-\frac{\eta\sqrt NK}4E\|\nabla_wF\|^2
    +\frac{\gamma\lambda^2\sigma^2K+\gamma^2\lambda^3G^2K^3}2+19\gamma\eta^2\sigma^2K+\sqrt N\gamma^2\eta^3G^2K^3
    +192\gamma^3\eta^4N^2G^2K^4+6\gamma\eta^2K^2E\|\nabla_wF(w^{r-1},\theta^{r-1})\|^2$."""
    r, out = path(i), []
    for k in range(1, i.rounds):
        before = r.mean(r.squares(*r.states[k - 1][:2])[0])
        bound = f.eq9(i.gamma, i.eta, i.lam, i.sigma2, i.G2, i.n, i.s, i.K, before)
        out.append(ft.at_most(change(i, k), grouped(bound), f"round {k + 1}"))
    return *out, *as_printed(i)


@ft.claim("lem9-r1-repair", on=[*ON, plane[1]], needs=NEEDS, rejects=BUGS[:3], proof=lambda: (lemma9.warm(), proofs.first_round()),
          meaning=meaning.rounds, domain=proofs.DOMAIN.replace("every K and round of either option", "every K, round 1"), ends=ENDS,
          search=search(1))
def lem9_r1_repair(i):
    r"""Round 1: from $c_i=\nabla_wL_i(w^1,\theta_i^1)$ and without noise Lemma 9 holds with the gradient at
    $(w^1,\theta^1)$; from any $\|c_i\|\le G$ (9) holds with $\gamma\eta^2K^2G^2$, once, in place of what speaks of the round
    before."""
    quiet = path(i.but(noise=0, rounds=1))
    w, theta, _ = (v[0] for v in quiet.states[0])
    own = quiet.gradients(w[None], theta[None])[0][0]
    warm = path(i.but(noise=0, rounds=1, ci0=[list(v) for v in own]))
    drift = max(warm.drifts(0, i.K).reshape(-1))
    lemma = f.lem9(i.gamma, i.eta, i.lam, 0, i.G2, i.n, i.K, warm.squares(w[None], theta[None])[0][0])
    bound = f.eq9(i.gamma, i.eta, i.lam, i.sigma2, i.G2, i.n, i.s, i.K, 0) | f.first_round(i.gamma, i.eta, i.G2, i.K)
    return (ft.at_most(drift, sum(lemma.values()), "warm start"), ft.at_most(change(i, 0), grouped(bound), "once"), *as_printed(i))


# ---- its constants ------------------------------------------------------------------------------------------
class Constants(ft.Instance):
    """gamma, eta, lambda, .. as symbols; `noises`: how many noise terms Lemma 9 adds up, with 6 each."""


symbols = Symbols("gamma eta lam more sigma2 G2 N root K before")
in_symbols = Constants("symbols", domain=symbols.field, noises=3, **{k: getattr(symbols, k) for k in vars(symbols) if k != "field"})


def noise_forgotten(noises):
    """Lemma 9's proof adds up two noise terms instead of three: that of c is left out."""
    return noises - 1


noise_forgotten.of = "noises"


@ft.claim("eq9-bookkeeping", on=[in_symbols], rejects=[noise_forgotten],
          domain="all gamma, eta, lambda, sigma, N, K: identities, and signs for eta = lambda + more, more >= 0")
def eq9_bookkeeping(i):
    r"""In (9) the noise is $19=1+18$ times $\gamma\eta^2\sigma^2K$, from Lemma 8 at $\alpha=\sqrt N$ and from $\gamma$ times
    Lemma 9; with Lemma 7's it is at most $19.5\gamma\eta^2\sigma^2K$ where $\lambda\le\eta$."""
    whole = f.eq9(i.gamma, i.eta, i.lam, i.sigma2, i.G2, i.N, i.root, i.K, i.before)
    eight = f.lem8(i.gamma, i.root, i.eta, i.lam, i.sigma2, i.G2, i.root**2, i.K, 0)["noise"]
    nine = i.gamma * f.lem9(i.gamma, i.eta, i.lam, i.sigma2, i.G2, i.N, i.K, 0, 6 * i.noises)["noise"]
    larger = i.lam + i.more
    rest = f.eq9(i.gamma, larger, i.lam, i.sigma2, i.G2, i.N, i.root, i.K, i.before)
    slack = Q(39, 2) * i.gamma * larger**2 * i.sigma2 * i.K - rest["noise"] - rest["personal_noise"]
    return ft.equal(eight + nine, whole["noise"], "1 + 18"), ft.nonnegative(slack, "19.5 where lambda <= eta")


def pure_bookkeeping():
    s = symbols
    equal = s.gamma * f.lem9(s.gamma, s.eta, s.eta, 0, s.G2, s.N, s.K, 0)["drift"]
    printed = f.eq9(s.gamma, s.eta, s.lam, 0, s.G2, s.N, s.root, s.K, 0)["drift"]
    return (ft.equal(equal, 4 * printed, "lambda = eta (N = 1): gamma times Lemma 9 with 192 is 768 gamma^3 eta^4 N^2 G^2 K^4"),
            ft.equal(4 * 192, 768, "(eta + lambda)^2 = 4 eta^2"))


ft.finding("gap-eq9-192", kind="gap", breaks="eq9", check=pure_bookkeeping,
           step="192 (eta + lambda)^2 eta^2 is written as 192 eta^4; for lambda <= eta it is up to 768 eta^4",
           reading="lambda = eta/sqrt N as chosen below (9), so lambda = eta for one client.",
           survives="The constant stands: the drift enters (9) with gamma eta K sqrt N/2 <= 1/192 of gamma, so much smaller (eq9).")


def left_out():
    s = symbols
    seven = f.step_one(s.gamma, s.lam, s.sigma2, s.G2, s.K)
    lost = f.lem8(s.gamma, s.root, s.eta, s.lam, s.sigma2, s.G2, s.root**2, s.K, 0)["personal"]
    printed, right = (f.eq9(s.gamma, s.eta, s.lam, s.sigma2, s.G2, s.N, s.root, s.K, 0, power)["personal"] for power in (2, 3))
    return (ft.equal(3 * seven["drift"], 2 * right, "Lemma 7's proof gives K^3"),
            ft.equal(right, s.K * printed, "(9) is printed with K^2"),
            ft.equal(lost.substitute(lam=s.eta / s.root), s.gamma**2 * s.eta**3 * s.G2 * s.K**3 / s.root**4,
                     "Lemma 8's lambda-term is gone for every lambda; at lambda = eta/sqrt N it is gamma^2 eta^3 G^2 K^3/N^2"))


ft.finding("err-14-eq9", kind="misprint", breaks="eq9", check=left_out,
           reading="(9) stands before lambda is chosen; beside it the sum of Lemmas 7, 8 and 9.",
           survives="With K^3 and lambda = eta/sqrt N: eq9.")


# ---- (10) ---------------------------------------------------------------------------------------------------
@ft.claim("eq10", on=two, needs=[*NEEDS, paths.second_round], rejects=BUGS, proof=theorem2.eq10, meaning=meaning.rounds,
          domain=theorem2.EQ10, ends=ENDS, search=search(option=2))
def eq10(i):
    r"""With $\delta^{(r)}=6\gamma\eta^2K^2E\|\nabla F(w^{r-1},\theta^{r-1})\|^2$, rounds $r\ge2$:
    $(\Delta^{(r+1)}+2\delta^{(r+1)})-(\Delta^{(r)}+\delta^{(r)})\le-\frac{\eta\sqrt NK}8E\|\nabla F(w^r,\theta^r)\|^2
    +20\gamma\eta^2\sigma^2K+2\sqrt N\gamma^2\eta^3G^2K^3+192\gamma^3\eta^4N^2G^2K^4$; half of the decrease is left iff
    $\eta\le\frac{\sqrt N}{96\gamma K}$."""
    r, out = path(i), []
    for k in range(1, i.rounds):
        old, new = (f.delta(i.gamma, i.eta, i.K, r.grad2(j)) for j in (k - 1, k))
        left = r.value(k + 1) - r.value(k) + 2 * new - old + i.eta * i.s * i.K / 8 * r.grad2(k)
        parts = t.recursion(i.gamma, i.eta, i.s, i.n, i.G2, i.sigma2, i.K)
        out.append(ft.at_most(left, ft.Terms(noise=20 * parts["noise"], gradients=2 * parts["drift"] + 192 * parts["last"])))
    s = symbols
    taken = s.eta * s.root * s.K / 8 - 2 * f.delta(s.gamma, s.eta, s.K, 1)
    return *out, *as_printed(i), ft.equal(taken, s.eta * s.K / 8 * (s.root - 96 * s.gamma * s.eta * s.K),
                                          "half is left iff the cap")


def superscript():
    r = path(plane[1])
    shared, own = ([r.mean(r.squares(*v[:2])[k]) for v in r.states] for k in (0, 1))
    joint = r.grad2(1)
    return (ft.equal(joint, shared[1] + own[1] / Q(4) ** 2, "|grad F|^2 at round 2 from both gradients at round 2"),
            ft.at_most(joint, shared[0] + own[1] / Q(4) ** 2, "with grad_w at round 1, as printed, it is another number",
                       strict=True))


ft.finding("err-14-superscript", kind="misprint", breaks="eq10", check=superscript,
           reading="The display before (10): |grad F|^2 at round r on the left, grad_w L_i at round r - 1 on the right.",
           survives="With r on both sides; (10) uses it so.")
