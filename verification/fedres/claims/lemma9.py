"""Appendix D, Lemma 9: how far local runs drift, from the second round on."""
from fractions import Fraction as Q

import fltheory as ft
from verification.fedres import bugs, paths
from verification.fedres.formulas import appendix_d as f
from verification.fedres.paths import Noise, as_printed, path, run_of
from verification.fedres.proofs import lemma9 as proofs
from verification.fedres.proofs import meaning_avg as meaning
from verification.fedres.rounds import clients

BUGS = [bugs.variates_not_averaged, bugs.mean_not_divided, bugs.alpha_dropped, bugs.personal_step_with_lr]
SLOPE = [Q(1, 5), Q(1, 1000)]      # of (w + theta_1)^2/10 with slopes cut at 1, and of 10 w as a Huber loss far from its kink
FIGURE1 = clients([[[1, 1], [1, 0]], [[0, 1], [1, 0]]], [[0, -10**9], [0, 10**9]], [[5, 10**4]] * 2, [SLOPE] * 2)
HUBER = clients([[[1, 1]]])
SMALL = clients([[[1, 1]]], 0, Q(1, 10**6))
MIXED = clients([[[1, 1], [0, 2]], [[1, -1]]], [[0, 1], [2]], [[1, "1/2"], [2]])
BENT = clients([[[1, 1]], [[1, 0], [1, 2]]], [[0], [1, -1]], 1, [[1], [Q(-1, 2), 1]])
APART = clients([[[1, 0]], [[1, 0]]], [[-1], [5]], [[10], [1]])

SLOW = [Q(1, 1000), Q(7, 10000), Q(7, 5)]          # eta, lambda, alpha below sqrt 2
first = run_of("Figure 1's clients made Huber, at the optimum, round 1", FIGURE1, 10, *SLOW)
second = run_of("the same, round 2", FIGURE1, 10, *SLOW, rounds=2)
moving = run_of("one client moves", HUBER, 3, "1/1000", w="1/2", rounds=2)
balanced = run_of("opposite gradients, one changes", APART, 4, "1", Q(1, 10**9), 1, rounds=2)
mixed = run_of("two clients, variates, three rounds", MIXED, 3, "1", alpha=2, lam=Q(1, 5000), w=1, theta=[[2], [-1]],
               ci=[1, -2], rounds=3)
bent = run_of("two clients, not convex", BENT, 3, "1", alpha=2, lam=Q(1, 5000), w=2, theta=[[-1], [1]], ci=[-1, "1/2"], rounds=3)
many = run_of("100 clients, alpha = N", clients([[1, 1], [0, 1]], [[0, -2]], n=100), 2, "1", alpha=100, lam=Q(1, 10**5), w=3,
              theta=1,
              rounds=2)
long = run_of("100 local steps", HUBER, 100, "1", w=2, theta=-1, ci=[1], rounds=2)
fast = run_of("far above the cap", HUBER, 3, Q(1, 2), Q(3), 1, w=2, theta=-1, ci=[1], rounds=2)
noise_alone = run_of("noise alone", SMALL, 2, "1", noise=Noise((1,), slots=(2, 3)), rounds=2)
noisy = [run_of(f"two clients, noise in slots {slots}, {name}", MIXED, 2, "1", alpha=2, lam=Q(1, 5000), w=1, theta=[[1], [0]],
                ci=[1, -1],
                noise=Noise((1,), (2,), 2, common, slots), rounds=2)
         for slots, name, common in (((0, 2), "each its own", False), ((1, 3), "common", True))]
QUIET = [second, moving, balanced, mixed, bent, many, long]


def drift(i, noise, constant, quiet=0):
    """The largest E|w_i^[k] - w|^2 of the last round run against Lemma 9, in both readings of the theta of the round before."""
    r, last = path(i), i.rounds - 1
    w, before, _ = r.states[max(last - 1, 0)]
    left = max(r.drifts(last, i.K).reshape(-1))
    for name, theta in (("before", before), ("after", r.states[last][1])):
        bound = f.lem9(i.gamma, i.eta, i.lam, i.sigma2, i.G2, i.n, i.K, r.mean(r.squares(w, theta)[0]), noise, constant)
        if quiet:
            bound.pop("noise")
        yield ft.at_most(left, ft.Terms(**bound), f"theta {name} Step 1")


HERE = [paths.small_alpha, paths.start_bounded, paths.second_round]
ENDS = {k: v for k, v in paths.ENDS.items() if k in ("clients", "local steps")} | {paths.ALPHA: (1, paths.MANY)}
CORNERS = ({"n": paths.MANY, "K": 1, "alpha": 1}, {"n": paths.MANY, "K": 2, "alpha": paths.MANY}, {"n": 1, "K": paths.LONG})


def search(**options):
    return ft.Search((ft.Family("Huber sums", lambda draw, **at: paths.drawn(draw, rounds=2, **options, **at), CORNERS),), tries=40)


@ft.claim("lem9", on=[first, second, moving, balanced, mixed, bent, many, long, noise_alone, *noisy], rejects=BUGS,
          needs=[*paths.NOISY, paths.cap, paths.large_alpha, paths.small_lambda,
                 *HERE], proof=proofs.noisy, meaning=meaning.local_runs,
          domain=proofs.DOMAIN, ends=ENDS | {"step over its cap": (Q(1, 1000), Q(999, 1000))}, search=search(small=True))
def lem9(i):
    r"""For $r\ge2$, $1\le\alpha\le N$, $\lambda\le\eta\le\frac1{96\gamma\alpha K}$ and $\|c_i^1\|\le G$, for every client and
    local step: $E\|w_i^{r,[k]}-w^r\|^2\le19\eta^2\sigma^2K+1128\gamma^2\eta^2(\eta+\lambda)^2N^2G^2K^4
    +6\eta^2K^2E\|\frac1N\sum_i\nabla_wL_i(w^{r-1},\theta_i^{r-1})\|^2$, and the same with $\theta_i^{r-1\prime}$ after Step 1."""
    return *drift(i, 19, 1128), *as_printed(i)


ft.finding("err-5", kind="missing-hypothesis", breaks="lem9", at=(first.name,), script="witnesses/err-5.py",
           step="the proof speaks of round r - 1, which round 1 does not have; c_i^1 is not specified, and the theorem's proof "
                "takes the state before round 1 to be the first one",
           reading="Figure 1's clients with slopes cut at 1, at the joint optimum, with c_i = 0, as the state before round 1.",
           survives="From round 2 on (lem9-noiseless, lem9); in round 1 from a warm start (lem9-r1-repair).")


@ft.claim("lem9-noiseless", on=[first, *QUIET, fast], needs=[*paths.QUIET, *HERE], rejects=BUGS, proof=proofs.quiet,
          meaning=meaning.local_runs, domain=proofs.QUIET, ends=ENDS, search=search(noise=False, small=True))
def lem9_noiseless(i):
    r"""Without noise, for $r\ge2$, $\alpha\le N$, $\|c_i^1\|\le G$ and every $\eta$, $\lambda$: $\|w_i^{r,[k]}-w^r\|^2
    \le192\gamma^2\eta^2(\eta+\lambda)^2N^2G^2K^4+6\eta^2K^2\|\frac1N\sum_i\nabla_wL_i(w^{r-1},\theta_i^{r-1})\|^2$,
    in both readings."""
    return *drift(i, 18, 192, quiet=True), *as_printed(i)


# ---- misprints of its proof -------------------------------------------------------------------------------------
def misprints():
    r, K = path(mixed), mixed.K
    total = sum(r.given[0][K + k][0][0] for k in range(K))
    near = [HUBER.to(ft.RATIONAL).joint_value(*(ft.RATIONAL.array(v) for v in ([w], [[0]]))) for w in (2, 3)]
    last, now = r.points[0][K:], r.points[1][K:]
    term5 = r.exact[0][2 * K - 1][0][0] - r.gradients(*r.states[0][:2])[0][0]
    moved = max(abs(v) for k in range(K) for v in (last[k][0][0] - r.states[0][0][0]).reshape(-1))
    other = min(abs(v) for a in last for b in now for v in (a[0][0] - b[0][0]).reshape(-1))
    step1 = max(abs(v) for v in (r.states[1][1] - r.states[0][1]).reshape(-1))
    return (ft.equal(r.states[1][2][0], total / K, "the coded c_i is the mean of the K gradients; the proof prints their sum"),
            ft.at_most(2 * Q(1, 2), ft.fraction(near[1] - near[0]), "term 2: values differ by 1 where gradients are equal"),
            ft.at_most(max(abs(v) for v in term5.reshape(-1)), mixed.gamma * (moved + step1), "term 5, against w^{r-1}"),
            ft.at_most(0, other, "the local iterates of round r, as printed, are other points", strict=True))


ft.finding("err-14-lem9", kind="misprint", breaks="lem9", check=misprints,
           reading="c_i^r without 1/K; |L_i - grad_w L_i| in the bound of term 2; w_i^{r,[h']} for w^{r-1} in that of term 5.",
           survives="With 1/K, grad_w and w^{r-1}: lem9-noiseless.")
