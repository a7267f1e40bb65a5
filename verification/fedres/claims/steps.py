"""Appendix C, Lemmas 5 and 6 and (6), and Appendix D, Lemma 7: what one step of a coded round does to F."""
from fractions import Fraction as Q

import fltheory as ft
from verification.fedres import bugs, over, rounds
from verification.fedres.formulas import steps as f
from verification.fedres.one_round import Noise, one_round, square
from verification.fedres.proofs import meaning
from verification.fedres.proofs import steps as proofs
from verification.fedres.rounds import clients, round_of

STEP1 = [rounds.convex, rounds.bounded, rounds.variance, rounds.personal_cap]
ONE = clients([[[0, 1]]])                      # Huber(theta), gamma = G = 1
PAIR = clients([[[1, 1], [0, 2]], [[1, -1]]], [[0, 1], [2]], [[1, "1/2"], [2]])


def step1(i, bound):
    """E F(w, theta') plus the descent, against F(w, theta) plus a bound, after the coded Step 1."""
    r = one_round(i)
    left = r.mean(r.F(r.w, r.theta1)) - r.F(r.w, r.theta)[0, 0] + f.step1_descent(i.lam, i.K, r.own2(r.w, r.theta)[0, 0])
    return ft.at_most(left, ft.Terms(**bound(i.gamma, i.lam, i.K, i.G2, i.sigma2)))


def misprint(kind):
    return round_of(f"Huber(theta), lambda=1/100, K=300, {kind.__name__}", ONE, 300, Q(1, 100), Q(1, 300), kind=kind)


APART = clients([[[0, 1]], [[0, 1]]], [[3], [-3]])
on_step1 = [round_of("noise alone, short steps", ONE, 1, "1/100", "1", theta=0, noise=Noise(theta=(1,))),
            round_of("clients apart, short steps", APART, 2, "1/100", "1/1000", theta=[[2], [-2]]),
            round_of("far out, many steps", ONE, 100, "1/20", "1", theta=1),
            round_of("two clients, noise", PAIR, 2, "1/2", "1", w=1, theta=[[2], [-1]], noise=Noise(theta=(Q(1, 2),), skew=2)),
            round_of("common noise of the state", PAIR, 3, "1", "1", w=0, theta=3,
                     noise=Noise(theta=(2,), common=True, where=rounds.Beyond(Q(1), Q(1, 4))))]
LEM7 = [misprint(ft.FedResAvg), *(i.but(name=f"{i.name}, FedResAvg", algorithm=ft.FedResAvg(i.stated.algorithm.lr, i.K, i.lam))
                                  for i in on_step1)]
STEP1_BUGS = [bugs.personal_step_with_lr, bugs.personal_averaged, bugs.personal_reset]


@ft.claim("lem5", on=[misprint(ft.FedResSgd), *on_step1], needs=STEP1, rejects=STEP1_BUGS, instead="lem5-corrected",
          finding="err-1", at=("Huber(theta), lambda=1/100, K=300, FedResSgd",), script="witnesses/err-1.py",
          step="the sum over K local steps of lambda (gamma lambda G K)^2/2 is written with K^2; it has K^3",
          reading="One client, no noise, lambda K gamma = 3: only lambda <= 1/gamma is asked for.",
          survives="With K^3, as the proof's last display and (8) have it: a misprint (lem5-k3, lem5-corrected).")
def lem5(i):
    r"""For $\lambda\le1/\gamma$, given the past of the round: $E\frac1N\sum_iL_i(w,\theta_i')-\frac1N\sum_iL_i(w,\theta_i)
    \le-\frac{\lambda K}{4N}\sum_i\|\nabla_\theta L_i(w,\theta_i)\|^2+\frac{\gamma\lambda^2\sigma^2K}2
    +\frac{\gamma^2\lambda^3G^2K^2}2$."""
    return step1(i, f.lemma5)


@ft.claim("lem7", on=LEM7, needs=STEP1, rejects=STEP1_BUGS, instead="lem5-corrected",
          finding="err-1-lem7", at=("Huber(theta), lambda=1/100, K=300, FedResAvg",), script="witnesses/err-1.py",
          step="as in Lemma 5, whose proof it refers to",
          reading="Step 1 of FedResAvg is that of FedResSGD; one client, no noise, lambda K gamma = 3.",
          survives="With K^3: a misprint (lem5-corrected, which holds for both algorithms).")
def lem7(i):
    r"""Step 1 of FedResAvg, for $\lambda\le1/\gamma$: $E\frac1N\sum_iL_i(w,\theta_i')-\frac1N\sum_iL_i(w,\theta_i)
    \le-\frac{\lambda K}4\frac1N\sum_i\|\nabla_\theta L_i(w,\theta_i)\|^2
    +\frac{\gamma\lambda^2\sigma^2K+\gamma^2\lambda^3G^2K^2}2$."""
    return step1(i, f.lemma5)


CORNERS1 = ({"n": rounds.MANY, "K": 1}, {"n": 1, "K": rounds.LONG}, {"n": 1, "K": 1, "lam": "1"},
            {"n": 2, "K": 2, "lam": "1/1000"})
STEP1_FAMILIES = (ft.Family("Huber with noise", rounds.hubers, CORNERS1),)
STEP1_ENDS = rounds.ENDS | {"step over its cap": (rounds.TINY, 1)}


def lem5_k3_over(i):
    return over.lemma5(i, f.step1_descent(i.lam, i.K, 1), sum(f.lemma5_sharper(i.gamma, i.lam, i.K, 1, 0).values()))


@ft.claim("lem5-k3", on=[misprint(ft.FedResSgd), *on_step1], needs=STEP1, rejects=STEP1_BUGS, proof=proofs.lemma5_convex,
          meaning=meaning.step1, domain=proofs.STEP1.replace("smooth losses, convex or not", "smooth convex losses"),
          over=[i for i in over.STEP1 if isinstance(i.classes, ft.SmoothConvex)], certify=lem5_k3_over, ends=STEP1_ENDS,
          search=ft.Search(STEP1_FAMILIES, tries=60))
def lem5_k3(i):
    r"""Lemma 5 with $K^3$ for $K^2$ in the last term, noise included, and even with $\frac{\gamma^2\lambda^3G^2K^3}4$ for
    $\frac{\gamma^2\lambda^3G^2K^3}2$."""
    return step1(i, f.lemma5_k3), step1(i, f.lemma5_sharper)


BENT1 = ft.Family("non-convex Huber sums", lambda draw: rounds.hubers(draw, bent=True))
BENT = clients([[[1, 1], [0, 1]], [[1, 1], [1, -1]]], [[0, 0], [1, 0]], scales=[[1, Q(-1, 2)], [Q(-1, 2), 1]])
bent1 = round_of("not convex", BENT, 2, "1/2", "1", theta=[[2], [Q(1, 2)]], noise=Noise(theta=(1,), skew=3))


def lem5_over(i):
    return over.lemma5(i, f.step1_descent(i.lam, i.K, 1), sum(f.lemma5_corrected(i.gamma, i.lam, i.K, 1, 0).values()))


@ft.claim("lem5-corrected", on=[misprint(ft.FedResSgd), *on_step1, *LEM7, bent1], needs=STEP1[1:], rejects=STEP1_BUGS,
          proof=proofs.lemma5, meaning=meaning.step1, domain=proofs.STEP1, over=over.STEP1, certify=lem5_over, ends=STEP1_ENDS,
          search=ft.Search((*STEP1_FAMILIES, BENT1), tries=40))
def lem5_corrected(i):
    r"""Lemmas 5 and 7 with $\frac{\gamma^2\lambda^3G^2K^3}3+\frac{\gamma^2\lambda^3\sigma^2K^2}2$ for the last term: it bounds the
    drift of $K$ steps by gradients and by noise. Convexity and independence across clients are not needed."""
    return step1(i, f.lemma5_corrected)


# ---- Step 2 -------------------------------------------------------------------------------------------------
SHARED = clients([[[1, 0]]])                   # Huber(w)
SUM = clients([[[1, 1]]])                      # Huber(w + theta)
STEP2 = [rounds.variance, rounds.server_cap]
STEP2_BUGS = [bugs.old_theta_in_step_two, bugs.large_step_not_multiplied]


def step2(i, descent, before="new", at="new", **bound):
    """Given Step 1: E F(w', theta') plus the descent, against F(w, theta) plus a bound, at the worst outcome of Step 1. before, at:
    the "old" theta or the "new" one, in the first loss and in the gradient."""
    r = one_round(i)
    theta = {"old": r.theta, "new": r.theta1}
    after, start, g2 = r.given_step1(r.F(r.w1, r.theta1)), r.F(r.w, theta[before]), square(r.shared(r.w, theta[at]))
    left = after - (start[:, 0] - descent(i.eta, i.K, g2[:, 0]))
    return ft.at_most(max(left), ft.Terms(**bound), f"the worst of {len(left)} outcomes of Step 1")


def eq6_bound(i):
    return f.eq6(i.gamma, i.eta, i.K, i.n, i.sigma2)


def lemma6_bound(i):
    return f.lemma6(i.gamma, i.eta, i.lam, i.K, i.n, i.G2, i.sigma2)


def shared_noise(n, common=False, K=1):
    """n clients Huber(w) at their minimiser, noise +-1 in w."""
    name = f"noise alone, N={n}, K={K}{', one draw for all' * common}"
    return round_of(name, clients([[1, 0]], deltas=9, n=n), K, "1/1000", "1/2", 0, 0, Noise(w=(1,), common=common))


QUADRATIC = ft.Personal(ft.Quadratic.from_linear([[[2, 1], [1, -1]], [[-1, 0], [0, 1]]], [[1, 0], [0, 2]]), 1)
on_step2 = [shared_noise(1), shared_noise(5, K=2),
            round_of("mean gradient alone, largest step", SUM, 8, "1/1000", "1", 5, 1),
            round_of("Step 1 makes the mean gradient", clients([[[1, 1]], [[1, 0]]], [[1], [-1]]), 2, "1/2", "1/1000", 0, 0),
            round_of("two clients, noise in both steps", PAIR, 2, "1/2", "1", 1, [[2], [-1]], Noise((1,), (Q(1, 2),), skew=2)),
            round_of("not convex, noise", BENT, 2, "1/2", "1", 0, [[2], [Q(1, 2)]], Noise((1,), (1,), skew=3))]
unbounded = round_of("indefinite quadratics", QUADRATIC, 2, "1/2", "1", 1, [[1], [2]], Noise((1,)))
CORNERS2 = ({"n": rounds.MANY, "K": 1}, {"n": 1, "K": rounds.LONG}, {"n": 1, "K": 1, "eta": "1"}, {"n": 2, "K": 2, "eta": "1/1000"})


def second(draw, n=None, **at):
    """Noise in both steps; many clients have it in Step 2 of w alone, where only its sum matters."""
    return rounds.hubers(draw, n, step1=n is None, step2=True, common=False, **at)


STEP2_FAMILIES = (ft.Family("Huber with noise", second, CORNERS2),
                  ft.Family("non-convex Huber sums", lambda draw: second(draw, bent=True)))


@ft.claim("eq6", on=[*on_step2, unbounded, shared_noise(2, True)], needs=[*STEP2, rounds.independent], rejects=STEP2_BUGS,
          proof=proofs.eq6, meaning=meaning.step2, domain=proofs.STEP2, over=over.STEP2,
          certify=lambda i: over.descent(i, f.step2_descent(i.eta, i.K, 1) / (i.eta * i.K)), ends=STEP1_ENDS,
          search=ft.Search(STEP2_FAMILIES, tries=40))
def eq6(i):
    r"""For $\eta\le1/(\gamma K)$, given the past before Step 2: $E\frac1N\sum_iL_i(w',\theta_i')-\frac1N\sum_iL_i(w,\theta_i')
    \le-\frac{\eta K}2\big\|\frac1N\sum_i\nabla_wL_i(w,\theta_i')\big\|^2+\frac{\gamma\eta^2\sigma^2K}{2N}$, without convexity and
    without Assumption 2."""
    return step2(i, f.step2_descent, **eq6_bound(i))


err2 = round_of("Huber(theta), noise 1/2 in theta", ONE, 1, "1", Q(1, 100), 0, 0, Noise(theta=(Q(1, 2),)))
err2_common = round_of("Huber(theta), lambda = eta/N, noise 4", ONE, 1, Q(1, 100), Q(1, 100), 0, 1, Noise(theta=(4,)))


@ft.claim("lem6", on=[err2, err2_common, shared_noise(1)], needs=[rounds.convex, rounds.bounded, *STEP2, rounds.independent],
          rejects=STEP2_BUGS, instead="lem6-corrected",
          finding="err-2", at=(err2.name, err2_common.name), script="witnesses/err-2.py",
          step="(6) subtracts the loss at theta', the statement the loss at theta: Step 1's noise has raised it",
          reading="One client whose loss does not see w, lambda = 1/gamma, noise +-1/2 in theta, theta at the minimiser; no "
                  "condition on lambda is printed, and conditioning on the past before Step 2 fixes theta'. At "
                  "Theorem 1's lambda = eta/N it fails given an outcome of Step 1, off the minimiser and with noise +-4.",
          survives="With the loss at the new theta subtracted: a misprint (lem6-corrected).")
def lem6(i):
    r"""As printed, for $\eta\le1/(\gamma K)$: $E\frac1N\sum_iL_i(w',\theta_i')-\frac1N\sum_iL_i(w,\theta_i)
    \le-\frac{\eta K}4\|\frac1N\sum_i\nabla_wL_i(w,\theta_i')\|^2+\frac{\gamma\eta^2\sigma^2K}{2N}
    +\frac{\gamma^2\eta\lambda^2G^2K^3}2$."""
    return step2(i, f.lemma6_descent, before="old", **lemma6_bound(i))


@ft.claim("lem6-corrected", on=[err2, *on_step2], needs=[rounds.bounded, *STEP2, rounds.independent], rejects=STEP2_BUGS,
          proof=proofs.lemma6, meaning=meaning.step2, domain=proofs.STEP2, over=over.STEP2,
          certify=lambda i: over.descent(i, f.lemma6_descent(i.eta, i.K, 1) / (i.eta * i.K)), ends=STEP1_ENDS,
          search=ft.Search(STEP2_FAMILIES, tries=40))
def lem6_corrected(i):
    r"""Lemma 6 with $L_i(w,\theta_i')$ for $L_i(w,\theta_i)$ on its left side. It is (6) with half the descent; its last term is
    not needed."""
    bound = lemma6_bound(i)
    return step2(i, f.lemma6_descent, noise=bound["noise"]), step2(i, f.lemma6_descent, **{"as printed": sum(bound.values())})


quiet1 = ft.Hypothesis("no noise in Step 1", r"amplitude of the noise in $\theta$ is at most 0",
                       lambda i: (max(map(abs, rounds.noise_of(i.stated).theta), default=0), 0))


def quiet(draw, n=None, **at):
    return rounds.hubers(draw, n, step1=False, step2=True, common=False, **at)


far_gradients = round_of("the old gradient is far from the new one", SUM, 1, "1", "1/100", 0, 1)


@ft.claim("lem6-old-theta-noiseless", on=[*on_step2[:4], far_gradients], needs=[rounds.bounded, *STEP2, rounds.independent, quiet1],
          rejects=[bugs.large_step_not_multiplied], proof=proofs.lemma6_old_theta, meaning=meaning.step2,
          domain=proofs.STEP2.replace("per mini-batch", "per mini-batch of Step 2, none in Step 1"),
          ends=STEP1_ENDS, search=ft.Search((ft.Family("Huber sums", quiet, CORNERS2),), tries=40))
def lem6_old_theta(i):
    r"""Where Step 1 has no noise: $E\frac1N\sum_iL_i(w',\theta_i')-\frac1N\sum_iL_i(w,\theta_i')
    \le-\frac{\eta K}4\|\frac1N\sum_i\nabla_wL_i(w,\theta_i)\|^2+\frac{\gamma\eta^2\sigma^2K}{2N}
    +\frac{\gamma^2\eta\lambda^2G^2K^3}2$, the last display of Lemma 6's proof, for every $\lambda$."""
    return step2(i, f.lemma6_descent, at="old", **lemma6_bound(i))
