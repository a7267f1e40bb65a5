"""Theorem 1 and its proof in Appendix C: R rounds of FedResSGD, as printed and with explicit constants."""
from fractions import Fraction as Q
from math import isqrt

import fltheory as ft
from verification.fedres import bugs, instances, rounds
from verification.fedres.claims import eq8_quadratic as quad
from verification.fedres.claims.eq8 import half_cap, personal
from verification.fedres.claims.eq8_quadratic import alike, at_cap, same_noise, strongly
from verification.fedres.formulas import theorem1 as f
from verification.fedres.moments import Affine, listed, steady
from verification.fedres.one_round import Noise
from verification.fedres.proofs import eq8 as one
from verification.fedres.proofs import eq8_numbers as numbers
from verification.fedres.proofs import theorem1 as proofs
from verification.fedres.rounds import clients

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

convex = ft.Hypothesis("Assumption 1", r"every $L_i$ convex (0 if one is not)",
                       lambda i: (1, quad.convex_blocks(i)) if isinstance(i, Affine) else (0, min(i.stated.problem.scale.flat)))
FREE = [rounds.variance, half_cap, personal, rounds.independent]
WRONG = [bugs.large_step_not_multiplied, bugs.personal_averaged]


def path(i):
    return list(i.along(i.rounds))


def average(i):
    """(1/R) sum of E|grad F|^2 before each round, Delta at the start."""
    run = path(i)
    return sum(grad2 for _, grad2, _ in run[:-1]) / i.rounds, run[0][0]


def quadratic(name, problem, K, share, noise, w, theta, rounds):
    """At this share of 1/(gamma K)."""
    eta = ft.fraction(share) / (steady("", problem, K, 1).gamma * K)
    return steady(name, problem, K, eta, noise, w, theta, rounds=rounds)


SUM, HUBER = clients([[[3, 4]]], deltas=1), clients([[[1, 0], [0, 1]]])
MIXED = clients([[[3, 4], [0, 2]], [[4, -3]]])
runs = [quadratic("from far away", alike(2), 3, "1/2", 0, [3], [[-1], [2]], 1),
        quadratic("noise alone, many rounds", alike(1, (5, 0, 5)), 2, "1/2", 1, [0], [[0]], 45),
        quadratic("three clients", alike(3), 7, "1/2", "1/10", [1], [[1], [-1], [0]], 12),
        quadratic("condition number 5e8", quad.WIDE, 4, "1/2", 1, [1], [[1], [-1]], 5),
        quadratic("unequal dimensions", instances.unequal(), 3, "1/4", "1/3", [1, 1], [[1], [0, 1], [2]], 5),
        quadratic("w alone", instances.scalar([5], [0], ["1/1000"], [0], [0]), 40, "1/2", 0, [1], [[0]], 40),
        quadratic("clients apart", instances.scalar([1, 1], [0, 0], [1, 1], [0, 0], [3, -3]), 2, "1/10", 0, [0], [[3], [-3]], 4),
        listed("Huber, two rounds of noise", HUBER, 1, "1/4", 1, 1, Noise((Q(1, 2),), (Q(1),), skew=2), 2),
        listed("Huber from far away", MIXED, 3, "1/2", 4, [[-2], [1]], rounds=3),
        listed("Huber, tiny step", SUM, 2, "1/1000", 1, 2, rounds=2)]
common = listed("one draw for all clients", clients([[1, 0]], n=5), 1, "1/2", 0, 0, Noise((1,), common=True, slots=(1,)))


def drawn_quadratic(draw, rounds=None, **at):
    """Strongly convex quadratics over some rounds at up to half the cap."""
    made = quad.drawn(draw, definite=True, **at)
    if made is None:
        return None
    eta = made.eta / 2
    return made.but(algorithm=ft.FedResSgd(lr=eta, steps=made.K, personal_lr=eta / made.n),
                    rounds=rounds or draw(st.sampled_from([1, 2, 5])))


def drawn_huber(draw, n=None, K=None, share=None, cap=Q(1, 2)):
    """Huber sums around 0 with noise in one round; many alike clients have it in w alone."""
    parts, K = st.sampled_from([-1, 0, 1, 2]), K or draw(st.integers(1, 3))
    several, size = st.integers(1, 2), 1 if n else draw(st.integers(1, 2))
    rows = [[[draw(parts), draw(parts)] for _ in range(draw(several))] for _ in range(size)] * (n or 1)
    if not any(v for own in rows for r in own for v in r):
        return None
    halves, loud = st.integers(-6, 6), K * len(rows) <= 3
    noise = Noise((draw(st.sampled_from([Q(1, 2), Q(2)])),), (Q(1),) if loud else (), draw(st.sampled_from([1, 3])),
                  slots=None if loud else (K,))
    share = Q(share or draw(st.sampled_from(quad.rounds.SHARES))) * cap
    return listed("drawn Huber sums", clients(rows, deltas=draw(st.sampled_from([Q(1, 2), Q(3)]))), K, share, Q(draw(halves), 2),
                  [[Q(draw(halves), 2)]] * (n or len(rows)), noise, says=f"rows={rows[:4]}, K={K}, share={share}, noise={noise}")


HUBERS = ft.Family("Huber with noise", drawn_huber, ({"n": rounds.MANY, "K": 1}, {"n": 1, "K": rounds.LONG},
                                                     {"n": 1, "K": 1, "share": "1"},
                                                     {"n": 1, "K": 1, "share": "1/1000"}))
QUADRATICS = ft.Family("strongly convex quadratics", drawn_quadratic, ({"rounds": 30, "K": 1}, {"rounds": 1, "share": "1"}))
ENDS = {"clients": (1, rounds.MANY), "local steps": (1, rounds.LONG), "rounds": (1, 30), "step over its cap": (Q(1, 1000), 1)}
SEARCH = ft.Search((HUBERS, QUADRATICS), tries=20)


@ft.claim("gfree-stationarity", on=[*runs, common], needs=FREE, rejects=WRONG, ends=ENDS, search=SEARCH,
          proof=proofs.stationarity, domain=one.SMOOTH + "; F bounded below, every R", meaning=numbers.runs)
def gfree_stationarity(i):
    r"""For $\lambda=\eta/N$, $\eta\le1/(2\gamma K)$, without Assumption 2 and convexity: $\frac1R\sum_rE\|\nabla F(x^r)\|^2\le
    \frac{5\Delta^{(1)}}{\eta KR}+\frac{15\gamma\eta\sigma^2}{2N}$."""
    left, gap = average(i)
    return ft.at_most(left, ft.Terms(**f.free_stationarity(i.gamma, i.eta, i.sigma2, gap, i.n, i.K, i.rounds)))


# ---- as printed: the average ----------------------------------------------------------------------------------------
PRINTED = [convex, rounds.bounded, rounds.variance, rounds.server_cap, personal, rounds.independent]
hubers = [listed("noise alone, two rounds", clients([[[1, 0]]]), 1, "1/8", 0, 0, Noise((4,), slots=(1,)), 2),
          listed("w alone, many local steps", clients([[[1, 0]]]), 60, "1/5", 1, 0, rounds=30),
          listed("at the cap, noise in both blocks", HUBER, 1, "1", 1, 1, Noise((Q(1, 2),), (Q(1),), skew=2), 2),
          listed("at the cap from far away", MIXED, 3, "1", 4, [[-2], [1]], rounds=5),
          listed("60 clients", clients([[3, 4]], n=60), 2, "1", 1, 1, Noise((1,), slots=(2,)))]


def drawn_printed(draw, **at):
    return drawn_huber(draw, cap=1, **at)


@ft.claim("thm1-stationarity", on=hubers, needs=PRINTED, rejects=WRONG[:1], ends=ENDS,
          search=ft.Search((ft.Family("Huber with noise", drawn_printed, HUBERS.corners),), tries=40),
          reading="The display above the first use of Lemma 3, eq 8 summed over R rounds; it has no proof where there is noise, "
                  "as eq 8. The term with G stands on the left side of the test: nothing that was run needs it.")
def thm1_stationarity(i):
    r"""For $\lambda=\eta/N$, $\eta\le1/(\gamma K)$: $\frac1R\sum_rE\|\nabla F(x^r)\|^2\le\frac{4\Delta^{(1)}}{\eta KR}
    +\frac{4\gamma\eta\sigma^2}N+\frac{4\gamma^2\eta^2G^2K^2}{N^2}$."""
    left, gap = average(i)
    terms = f.stationarity(i.gamma, i.eta, i.sigma2, i.G2, gap, i.n, i.K, i.rounds)
    return ft.at_most(left - terms.pop("drift"), ft.Terms(**terms))


# ---- convex -------------------------------------------------------------------------------------------------------
def below_root(q, digits=12):
    """A rational just below the root of q >= 0, or the root."""
    scale = 10**digits
    return Q(isqrt(int(q.numerator * scale**2 // q.denominator)), scale)


def distance2(i):
    """D^2: the largest E|x - x*|^2 before any of the rounds and after the last."""
    return max(far for *_, far in path(i))


CONVEX = [convex, *FREE]


@ft.claim("gfree-convex", on=[*runs, common], needs=CONVEX, ends=ENDS, search=SEARCH, meaning=numbers.runs,
          proof=lambda: (proofs.convex(), proofs.convex_loud(), proofs.tuned_inside(), proofs.tuned_at_the_cap()),
          domain=one.SMOOTH.replace("convex or not", "convex") + "; D may be any bound of the distance, every R",
          reading="D^2 is the largest E|x^r - x*|^2, which is at most the square of the printed D wherever that one is finite.")
def gfree_convex(i):
    r"""For $\lambda=\eta/N$, $\eta\le1/(2\gamma K)$, convex losses, without Assumption 2: $\Delta^{(R+1)}\le\frac{5D^2}{\eta KR}
    +D\sqrt{\frac{15\gamma\eta\sigma^2}{2N}}$; with the best such $\eta$:
    $\Delta^{(R+1)}\le3\Big(\frac{75D^4\gamma\sigma^2}{8NKR}\Big)^{1/3}+\frac{10\gamma D^2}R$."""
    D2, gap = distance2(i), path(i)[-1][0]
    noise = below_root(f.free_convex_noise2(i.gamma, i.eta, i.sigma2, 1, i.n) * D2)
    return ft.at_most(gap, ft.Terms(start=f.free_convex(i.eta, 1, i.K, i.rounds, 0)["start"] * D2, noise=noise))


# ---- strongly convex ----------------------------------------------------------------------------------------------
definite = [i for i in runs if isinstance(i, Affine)]
SC_SEARCH = ft.Search((QUADRATICS,), tries=20)
SC_ENDS = {"local steps": (1, 40), "rounds": (1, 45), "step over its cap": (Q(1, 1000), 1)}


@ft.claim("gfree-sc", on=definite, needs=[strongly, *FREE], rejects=WRONG[1:], ends=SC_ENDS, search=SC_SEARCH, meaning=numbers.runs,
          proof=lambda: proofs.strongly_convex(),
          domain=one.SMOOTH.replace("smooth losses, convex or not", "smooth losses whose F is strongly convex") + "; every R")
def gfree_sc(i):
    r"""For $\lambda=\eta/N$, $\eta\le1/(2\gamma K)$, $F$ $\beta$-strongly convex, without Assumption 2:
    $\Delta^{(R+1)}\le\big(1-\frac{2\beta\eta K}5\big)^R\Delta^{(1)}+\frac{15\gamma\eta\sigma^2}{4\beta N}$."""
    rate, run = f.contraction(i.eta, i.beta, i.K, f.DECREASE), path(i)
    floor = f.free_floor(i.gamma, i.eta, i.sigma2, i.beta, i.n)
    return ft.at_most(run[-1][0], ft.Terms(start=rate**i.rounds * run[0][0], floor=floor))


QUADRATIC = [quad.convex, rounds.variance, rounds.server_cap, personal, rounds.independent, same_noise]


@ft.claim("thm1-sc-recursion", on=[*definite, at_cap("three clients at the cap", alike(3), 7, 5, "1/10", [1], [[1], [-1], [0]],
                                                     rounds=12)],
          needs=[strongly, *QUADRATIC], rejects=WRONG[1:], ends=SC_ENDS, search=SC_SEARCH, proof=lambda: proofs.recursion(),
          domain="every sequence with the recursion, every R; the recursion itself is held on quadratics, where G is not needed",
          reading="Lemma 4 with the recursion as its hypothesis: what follows from it, not that it holds.")
def thm1_sc_recursion(i):
    r"""From $\Delta^{(r+1)}\le\Delta^{(r)}
    -\frac{\eta\beta K}2\Delta^{(r)}+\frac{\gamma\eta^2\sigma^2K}N+\frac{\gamma^2\eta^3G^2K^3}{N^2}$
    for every r: $\Delta^{(R+1)}\le\big(1-\frac{\eta\beta K}2\big)^R\Delta^{(1)}+\frac{2\gamma\eta\sigma^2}{\beta N}
    +\frac{2\gamma^2\eta^2G^2K^2}{\beta N^2}$; on quadratics with $G=0$."""
    rate, run = f.contraction(i.eta, i.beta, i.K), path(i)
    floor = f.sc_floor(i.gamma, i.eta, i.sigma2, 0, i.beta, i.n, i.K)["noise"]
    return ft.at_most(run[-1][0], ft.Terms(start=rate**i.rounds * run[0][0], floor=floor))
