"""Appendix A.4, (31) to (33): the descent lemma at one arrival, and the noise in the error term T2."""
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded import error_runs as runs
from verification.asyncfeded import local_bugs as bugs
from verification.asyncfeded import local_families as families
from verification.asyncfeded import noise_paths as paths
from verification.asyncfeded.bugs import one_step_more
from verification.asyncfeded.error_runs import arrival, error
from verification.asyncfeded.formulas import error_term as f
from verification.asyncfeded.instances import at_cap
from verification.asyncfeded.local_families import clients, concave
from verification.asyncfeded.noise_paths import ByState, OneBatch, skewed
from verification.asyncfeded.proofs import error_term as proofs
from verification.symbols import Symbols

H_STAR = "H*: noise has mean zero given everything earlier in the round and before, the client, x_t and x_{t-tau}. " \
         "Assumption 2 is used as E|g_i - grad f_i|^2 <= sigma_l^2 given the past, which the printed bound of every draw implies."
ONE, CONCAVE = clients([[1, 1]], [[0]], [0]), concave([0])
BENT = clients([[-1, 1, -1], [-1, Q(-1, 2), -1], [-1, Q(1, 2), -1]], [[0, 1], [Q(1, 2), 1], [-1, 2]], [1, -2, Q(1, 2)])
PLANE = ft.Quadratic([[[1, "1/2"], ["1/2", 0]]] * 2, [[0, 1], [2, 0]])
SHARED = clients([[1, 1], [1, 1]], [[0], [0]], [0, 0])
FIFTHS = [Q(1, 5), Q(1, 8)]
BALLS = ft.Balls(128)


def at_steps(name, problem, eta, base, *law, **extra):
    """An arrival with these steps, x_t its base."""
    return paths.local(name, problem, eta, base, *law, now=extra.pop("now", base), **extra)


single = [arrival("noise alone, K = 1", ONE, 1, 0, None, skewed(1), more=1),
          arrival("no noise", ONE, 3, 1, more=1),
          at_steps("concave, steps 1/5 and 1/8", CONCAVE, FIFTHS, 1, skewed(1)),
          arrival("concave, K = 6", CONCAVE, 6, 1, 2, skewed(1)),
          arrival("concave pair, L = 1000, skewed noise", concave([2, 0], 1000), 5, 1, 3, skewed(700, 10), L=1000),
          arrival("L = 1/100", concave([2, 0], Q(1, 100)), 4, 0, -1, skewed(Q(1, 100), Q(1, 3)), L=Q(1, 100)),
          arrival("kinks, noise by the state", BENT, 6, Q(-1, 4), 1, ByState(skewed(1), skewed(1, 3)), who=1),
          arrival("noise that dies down at 0", clients([[-1, -1]] * 2, [[0]] * 2, [1, -1], calm=[0, 0]), 5, Q(1, 2), 1, skewed(1)),
          arrival("in the plane", PLANE, 5, [1, 2], [0, 1], skewed(1, 2, ("3/5", "4/5")), L=Q(5, 4), who=1),
          arrival("300 clients", concave([1, -1] * 150), 3, 0, 1, skewed(1), who=299),
          arrival("300 steps, some with noise", concave([2, 0]), 300, 0, 1, skewed(1), digits=4, loud=[0, 299])]
once = at_steps("concave, steps 7/30 and 1/8, one mini-batch for both", CONCAVE, [Q(7, 30), Q(1, 8)], 0, OneBatch(skewed(1)))
CAPS = arrival("concave, K = 2 at the caps", CONCAVE, 2, 1, None, skewed(1))
ENDS = {"clients": (1, 300), "local steps": (1, 300), families.SMOOTHNESS: (Q(1, 100), 1000), "step over its cap": (Q(1, 100), 1),
        families.SKEWNESS: (0, Q(99, 10))}
SEARCH = ft.Search((ft.Family("clients with kinks", runs.drawn, runs.CORNERS + runs.LARGE),), tries=25)
WRONG = [bugs.first_step_throughout, bugs.schedule_shifted, bugs.gradients_kept]


def near(value, text, label):
    """`value` rounds to the digits of `text`."""
    wanted = Q(text) if isinstance(value, Q) else BALLS.scalar(text)
    return ft.at_most(abs(value - wanted), Q(1, 2 * 10 ** len(text.partition(".")[2])), label)


# ---- (31) and (32) ----------------------------------------------------------------------------------------------------
def served(i, eta_g):
    return i.but(eta_g=ft.fraction(eta_g))


descents = [served(i, g) for i, g in zip(single, ("1/2", 3, 1, "1/10", "1/10", 1, 1, 1, "1/2", 1, "1/4"), strict=True)]
descents += [served(arrival("a step of 1/(N K L), the minimum is reached", ONE, 1, 1, 1, more=1), 1 / at_cap(1)[0]),
             served(arrival("ten times the update, from the minimum", ONE, 1, 1, 0, more=1), 10)]


def drawn_descent(draw, eta_g=None, **at):
    return served(runs.drawn(draw, **at), draw(runs.st.sampled_from([Q(1, 100), Q(1), Q(7)])) if eta_g is None else eta_g)


SERVER = ft.Variable("server step", lambda i: i.eta_g)


@ft.claim("eq32", on=descents, needs=[paths.smooth], proof=proofs.descent, meaning=runs.descent_of, rejects=WRONG + [one_step_more],
          domain="every m, d, K, L-smooth F, local step and eta_g > 0 that the noise of this update does not enter; no other "
                 "assumption", ends={k: v for k, v in ENDS.items() if "cap" not in str(k)} | {SERVER: (Q(1, 1000), 7)},
          search=ft.Search((ft.Family("clients with kinks", drawn_descent, runs.CORNERS + runs.LARGE + (
              {"eta_g": Q(1, 1000), "K": 2},)),), tries=20),
          reading="The mean is over the noise of this update, given x_t. Terms may be negative: the update's is, where "
                  "eta_g N K L < 1.")
def eq32(i):
    r"""For $L$-smooth $F$ and $x_{t+1}=x_t+\eta_g\Delta_i$ with $\eta_g$ fixed: $E[F(x_{t+1})-F(x_t)]\le-\frac{KN\eta_g}2
    \|\nabla F(x_t)\|^2+\big(\frac{L\eta_g^2}2-\frac{\eta_g}{2NK}\big)E\|\Delta_i\|^2+\frac{K\eta_g}{2N}E[T_2]$,
    $T_2=\|N\nabla F(x_t)+\frac1K\Delta_i\|^2$."""
    law, e, right = paths.path(i), error(i), error(i.but(algorithm=i.stated.algorithm))
    after = [runs.values(i, [a + i.eta_g * b for a, b in zip(i.now, d, strict=True)]) for d in law.delta]
    left = sum(p * v for p, v in zip(law.chance, after, strict=True)) - runs.values(i, i.now)
    bound = f.descent(i.L, i.eta_g, i.K, e.N, e.F2, right.d2, right.ET)
    error_part = bound.pop("error")
    inner = law.mean((law.delta * e.slope).sum(-1))
    return (ft.at_most(left, ft.Terms(error=error_part, others=sum(bound.values()))),
            ft.equal(f.smooth31(i.L, i.eta_g, inner, e.d2), sum(f.descent(i.L, i.eta_g, i.K, e.N, e.F2, e.d2, e.ET).values()),
                     "the right sides of (31), in the mean, and of (32)"))


def _descent_lemma():
    """(31) at coded arrivals on L x^2/2: an equality, as the descent lemma is there; <g, s> <= |g||s| and |g + s| <= |g| + |s| have
    no such L."""
    out = []
    for L in (Q(1), Q(1, 100), Q(1000)):
        i = arrival("one gradient", clients([[1, 1]], [[0]], [0], L), 2, 1, 3, L=L)
        e, law = error(i), paths.path(i)
        d = law.delta[0]
        moved = runs.values(i, [3 + d[0]]) - runs.values(i, [Q(3)])
        inner = (e.slope * d).sum()
        out += [ft.equal(moved, f.smooth31(L, 1, inner, e.d2), f"L = {L}: both sides of (31)"),
                ft.at_most(f.smooth31(Q(0), 1, inner, e.d2), moved, f"L = {L}: not without L/2 |Delta|^2", strict=True)]
    return out


ft.finding("misprint-eq31", kind="misprint", breaks="eq32", check=_descent_lemma,
           reading="'From Lemma 2 and the triangle inequality' stands before (31), which is the descent lemma.",
           survives="(31) and all that follows from it.")


# ---- (33c): the split ---------------------------------------------------------------------------------------------------
@ft.claim("eq33c", on=[single[0], single[2], CAPS, arrival("convex, K = 2", ONE, 2, 1, None, skewed(1))], finding="e7",
          needs=[paths.smooth, paths.unbiased, paths.quiet, paths.steps], script="witnesses/e7.py",
          at=("concave, steps 1/5 and 1/8", "concave, K = 2 at the caps", "convex, K = 2"),
          step="the cross term of (33b) is dropped as 'similar to (17)': the noise of step j enters every later local model, so "
               "that it is not independent of the later gradients; twice their covariance is missing",
          reading="E over the mini-batches of this update, all other things fixed, noise unbiased given the past (H*). With K = 1 "
                  "there is no later gradient.",
          survives="(33d), the inequality for which (33c) is used, for every K (eq33d); (33c) for K = 1, and with the covariance "
                   "(eq33c-corrected).")
def eq33c(i):
    r"""As printed, $E[T_2]=E[T_{21}]+E\big\|\frac1K\sum_k\eta_k(\nabla f_i(y_{k-1})-g_i(y_{k-1}))\big\|^2$, $T_{21}$ being $T_2$
    with exact gradients: (33b) to (33c)."""
    e = error(i)
    return ft.equal(e.ET, sum(f.split33c(e.ET1, e.B).values()))


@ft.claim("eq33c-corrected", on=single, needs=[paths.unbiased], proof=proofs.split, meaning=runs.noise_of, rejects=WRONG,
          domain="every m, d, K, client and local step; noise with mean zero given everything earlier and given i, x_t and "
                 "x_{t-tau}", reading=H_STAR)
def eq33c_corrected(i):
    r"""$E[T_2]=E[T_{21}]+E\|B\|^2+2E\langle A-EA,B\rangle$ with $A=N\nabla F(x_t)-\frac1K\sum_k\eta_k\nabla f_i(y_{k-1})$ and
    $B=\frac1K\sum_k\eta_k(\nabla f_i-g_i)(y_{k-1})$, under H*. The last term is
    $\frac2{K^2}\sum_{j<k}\eta_j\eta_kE\langle\nabla f_i(y_{k-1}),g_i(y_{j-1})-\nabla f_i(y_{j-1})\rangle$, nothing for $K=1$."""
    e, law = error(i), paths.path(i)
    right = error(i.but(algorithm=i.stated.algorithm))
    pairs = sum(i.eta[j] * law.dot(sum(i.eta[k] * law.exact[k] for k in range(j + 1, i.K)), law.noise[j])
                for j in range(i.K - 1) if i.loud is None or j in i.loud)
    return (ft.equal(e.ET, ft.Terms(**f.split(right.ET1, right.B, right.covariance))),
            ft.equal(2 * e.covariance, 2 * pairs / i.K**2, "noise against later gradients"),
            *([ft.equal(e.covariance, 0, "K = 1")] if i.K == 1 else []))


# ---- (33d): the bound -----------------------------------------------------------------------------------------------------
@ft.claim("eq33d", on=[*single, once], needs=[paths.smooth, paths.unbiased, paths.quiet, paths.steps],
          proof=lambda: [proofs.variance(), proofs.noise()], meaning=runs.noise_of, rejects=[*WRONG, one_step_more], ends=ENDS,
          search=SEARCH, domain=proofs.CLASS + "; (T1); every K, by an induction without a table of cases", reading=H_STAR)
def eq33d(i):
    r"""Under Assumptions 1 and 2, H* and (T1), for every $K$: $E[T_2]\le E[T_{21}]+M\sigma_l^2$, and even with
    $\frac{7K+5}{12K}M\sigma_l^2$. Noise that depends on the state, or is skewed, is allowed."""
    e, right = error(i), error(i.but(algorithm=i.stated.algorithm))
    return (ft.at_most(e.ET, ft.Terms(**f.bound33d(right.ET1, e.M, i.sigma2)), "(33d)"),
            ft.at_most(e.ET, right.ET1 + f.share33d(Q(i.K)) * e.M * i.sigma2, "with (7K + 5)/(12K)"))


def shared_noise():
    """Two clients with one noise sigma s, K = 1: client 2's update arrives with x_t moved by client 1's, f_i = x^2/2, base 0."""
    eta, g = Q(1, 5), Q(1)
    out = []
    for s in (1, -1):
        first = paths.path(at_steps("first", SHARED, [eta], 0, paths.Points(((Q(1), Q(s)),)), sigma=1)).delta[0][0]
        i = at_steps("second", SHARED, [eta], 0, paths.Points(((Q(1), Q(s)),)), sigma=1, who=1, now=g * first)
        out.append(error(i))
    T2, T21 = (sum(getattr(e, name) for e in out) / 2 for name in ("ET", "ET1"))
    return (T2 - T21) / out[0].M, 1 + 2 * eta * g


def _passes_through():
    """(33d) where (33c) is false, its proof, and what H* excludes: one mini-batch for two steps, one noise for two clients."""
    e, caps, batch, (quotient, wanted) = error(single[2]), error(CAPS), error(once), shared_noise()
    s = Symbols("a eta1 eta2")
    cross = f.split(0, 0, s.a * s.eta1**2 * s.eta2 / 4)["covariance"]
    bound = sum(f.bound33d(batch.ET1, batch.M, 1).values())
    return (*(ft.equal(int(p.status == "HOLDS"), 1, f"{p.conclusions[-1].name}: {len(p.steps)} steps, checked or cited")
              for p in (proofs.variance(), proofs.noise())),
            ft.equal(e.ET - e.ET1 - e.B, cross.substitute(a=Q(1), eta1=FIFTHS[0], eta2=FIFTHS[1]),
                     "a eta_1^2 eta_2/2 for -a x^2/2"),
            near(caps.ET, "0.0221046", "at the caps: E T2"),
            near(caps.ET1 + caps.B, "0.0185185", "at the caps: right side of (33c)"),
            ft.at_most(e.ET, sum(f.bound33d(e.ET1, e.M, 1).values()), "(33d) there"),
            ft.at_most(bound, batch.ET, "without H*: one mini-batch for both steps", strict=True),
            ft.equal([batch.ET - batch.ET1, batch.M], [Q(43, 1152), Q(1009, 28800)], "its excess and M"),
            ft.equal(quotient, wanted, "without H*: one noise for two clients, 1 + 2 eta eta_g of M sigma_l^2"))


ft.finding("e7-gap", kind="gap", breaks="eq33d", check=_passes_through,
           step="(33d) is drawn from the equality (33c), which fails for K >= 2; the covariance that (33c) lacks can be positive, "
                "and the room of M sigma_l^2 over the noise's own M sigma_l^2/K has to cover it",
           reading="H*: without it (33d) itself fails, for one mini-batch in two local steps and for noise that two clients share.",
           survives="(33d) for every K, with 7/12 + 5/(12 K) of M sigma_l^2, by another proof (eq33d).")


# ---- how large the excess is ----------------------------------------------------------------------------------------------
DIGITS = {1: ("1", "1"), 2: ("0.599", "0.5993"), 3: ("0.452", "0.4518"), 4: ("0.372", "0.3719"), 5: ("0.321", "0.3206"),
          10: ("0.204", "0.2041")}
concaves = [arrival(f"concave, K = {K}", CONCAVE, K, 0, None, skewed(1), digits3=DIGITS[K], more=1) for K in DIGITS]
ROUNDED = Q(1, 10**9)   # relative: caps have 12 digits
others = [single[k] for k in (2, 4, 5, 6, 7, 8, 9)]


def at_caps(K):
    """The steps 1/sqrt(6k(2k + 1)), in balls."""
    return [BALLS.scalar(Q(1, 6 * k * (2 * k + 1))).sqrt() for k in range(1, K + 1)]


FEW = ({"n": 300, "K": 1, "L": Q(1)}, {"n": 1, "K": 2, "L": Q(1, 100), "share": Q(1)}, *runs.CORNERS[2:], *runs.LARGE)


def drawn_few(draw, **at):
    return runs.drawn(draw, **{"K": draw(runs.st.integers(1, 5)), **at})


@ft.claim("eq33d-worst-ratio", on=[*concaves, *others], needs=[paths.smooth, paths.unbiased, paths.quiet, paths.steps],
          rejects=[*WRONG, one_step_more], ends={**ENDS, "local steps": (1, 10)},
          search=ft.Search((ft.Family("clients with kinks", drawn_few, FEW),), tries=60),
          reading=H_STAR + " At the caps nothing exceeds these digits for any client, and for K = 2 the concave value itself "
                  "is the largest for every schedule; that shorter steps give no more for K >= 3 is what the search tries.")
def eq33d_worst_ratio(i):
    r"""$(E[T_2]-E[T_{21}])/(M\sigma_l^2)$ is at most $1,.599,.452,.372,.321,.204$ for $K=1,2,3,4,5,10$: its value on
    $f_i=-\frac L2x^2$ at the caps of (T1), $\frac1{KKM}\sum_j\eta_j^2\big(2\prod_{k>j}(1+L\eta_k)-1\big)$. For every client the
    quotient is at most $\frac1K+\frac2{K^2M}\sum_kL\eta_kv_{k-1}^{1/2}q_{k-1}^{1/2}$, $v_k=(1+L\eta_k)^2v_{k-1}+\eta_k^2$,
    $q_k=q_{k-1}+\eta_k^2$, which has the same three digits there."""
    e, right, steps = error(i), error(i.but(algorithm=i.stated.algorithm)), at_caps(i.K)
    one = BALLS.scalar(1)
    worst, allowed = f.concave(steps, one), BALLS.scalar(right.M * i.sigma2 * (1 + ROUNDED))
    out = [ft.at_most(BALLS.scalar(e.ET - right.ET1), worst * allowed, "at most the concave value at the caps")]
    if "digits3" in i.extra:
        short, long = i.digits3
        out += [ft.equal((e.ET - right.ET1) / right.M, f.concave(i.eta, i.L), "the formula on the coded arrival"),
                near(worst, long, "at the caps"), near(worst, short, "three digits"),
                near(f.excess(steps, one, lambda v: v.sqrt()), short, "no client exceeds them")]
        if i.K == 2:
            out.append(two_steps())
    return out


def two_steps():
    """For K = 2 the bound for every client, 1/2 + L eta_1^2 eta_2/(eta_1^2 + eta_2^2), is largest at the caps e_1 >= e_2: with
    eta_1^2 = e_1^2/(1 + x), eta_2 = e_2/(1 + y) and e_1^2 = e2 + d, e_2^2 = e2."""
    s = Symbols("e2 d x y")
    first, second, e1 = 1 / (1 + s.x), 1 / (1 + s.y), s.e2 + s.d
    return ft.nonnegative(first * e1 + second**2 * s.e2 - first * second * (e1 + s.e2), "K = 2: no shorter schedule has more")
