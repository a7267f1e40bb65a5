"""Appendix C, Lemmas 5 and 6 and (6), and Appendix D, Lemma 7: what one step of a coded round does to F."""
from fractions import Fraction as Q

import fltheory as ft
from fltheory.core.mutants import residual as bugs
from verification.fedres import rounds
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


on_step1 = [round_of("noise alone", ONE, 1, "1", "1", theta=0, noise=Noise(theta=(1,))),
            round_of("far out, many steps", ONE, 100, "1/20", "1", theta=1),
            round_of("two clients, noise", PAIR, 2, "1/2", "1", w=1, theta=[[2], [-1]], noise=Noise(theta=(Q(1, 2),), skew=2)),
            round_of("common noise of the state", PAIR, 3, "1", "1", w=0, theta=3,
                     noise=Noise(theta=(2,), common=True, where=rounds.Beyond(Q(1), Q(1, 4))))]
LEM7 = [misprint(ft.FedResAvg), *(i.but(name=f"{i.name}, FedResAvg", algorithm=ft.FedResAvg(i.stated.algorithm.lr, i.K, i.lam))
                                  for i in on_step1)]
STEP1_BUGS = [bugs.personal_step_fewer, bugs.personal_step_with_lr]


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
    \le-\frac{\lambda K}4\frac1N\sum_i\|\nabla_\theta L_i(w,\theta_i)\|^2+\frac{\gamma\lambda^2\sigma^2K+\gamma^2\lambda^3G^2K^2}2$."""
    return step1(i, f.lemma5)


CORNERS1 = ({"n": rounds.MANY, "K": 1}, {"n": 1, "K": rounds.LONG}, {"n": 1, "K": 1, "lam": "1"},
            {"n": 2, "K": 2, "lam": "1/1000"})
STEP1_FAMILIES = (ft.Family("Huber with noise", rounds.hubers, CORNERS1),)
STEP1_ENDS = rounds.ENDS | {"step over its cap": (rounds.TINY, 1)}


@ft.claim("lem5-k3", on=[misprint(ft.FedResSgd), *on_step1], needs=STEP1, rejects=STEP1_BUGS, ends=STEP1_ENDS,
          search=ft.Search(STEP1_FAMILIES, tries=60))
def lem5_k3(i):
    r"""Lemma 5 with $K^3$ for $K^2$ in the last term, noise included."""
    return step1(i, f.lemma5_k3)


@ft.claim("lem5-corrected", on=[misprint(ft.FedResSgd), *on_step1, *LEM7], needs=STEP1, rejects=STEP1_BUGS, proof=proofs.lemma5,
          meaning=meaning.step1, domain=proofs.STEP1, ends=STEP1_ENDS, search=ft.Search(STEP1_FAMILIES, tries=40))
def lem5_corrected(i):
    r"""Lemmas 5 and 7 with $\frac{\gamma^2\lambda^3G^2K^3}3+\frac{\gamma^2\lambda^3\sigma^2K^2}2$ for the last term: it bounds the
    drift of $K$ steps by gradients and by noise. Convexity and independence across clients are not needed."""
    return step1(i, f.lemma5_corrected)
