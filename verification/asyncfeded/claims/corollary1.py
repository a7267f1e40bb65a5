"""Lemma 3 and Corollary 1 with what its proof passes through: at single arrivals over all outcomes of their noise, and in runs."""
from dataclasses import replace
from fractions import Fraction as Q

import fltheory as ft
from verification.asyncfeded import local_bugs as bugs
from verification.asyncfeded import noise_paths as paths
from verification.asyncfeded import updates as up
from verification.asyncfeded.bugs import one_step_more
from verification.asyncfeded.formulas import corollary1 as f
from verification.asyncfeded.formulas.steps import theta
from verification.asyncfeded.instances import at_cap
from verification.asyncfeded.proofs import corollary1 as proofs
from verification.piecewise import st, waves
from verification.symbols import Symbols


def line(h, b, n=1):
    """n clients h (x - b)^2/2 for every b."""
    b = [b] if isinstance(b, int | Q) else list(b)
    return ft.Quadratic([[[h]]] * (n * len(b)), [[Q(v)] for v in b] * n)


def plane(b):
    return ft.Quadratic([[[1, 0], [0, "1/2"]]] * len(b), b)


def stale(name, problem, K, base, now, *law, L=1, share=1, more=0, **extra):
    """One arrival at `share` of the cap. more: factors listed beyond the K steps, for rounds that make too many."""
    eta = at_cap(K + more, L, share, 12 if K < 20 else 6)
    made = paths.local(name, problem, eta, base, *law, now=now, L=L, **extra)
    return made.but(algorithm=replace(made.algorithm, steps=K)) if more else made


def event(name, problem, share, K, pace, lam, eps=1, rounds=10, kappa=0, gbar=3, most=None, x0=(3,), **extra):
    """AsyncFedED at `share` of the cap, its first runs of K steps; most: the longest run that it can make."""
    solver = ft.Listed(at_cap(most or K, problem.constants.L, share))
    method = ft.AsyncFedED(1, K, lam=lam, eps=eps, gbar=gbar, kappa=kappa, solver=solver)
    return up.run_of(name, problem, method, ft.EventClock(pace), x0, rounds, **extra)


# ---- instances --------------------------------------------------------------------------------------------------------
ONE, CONCAVE, APART = line(1, 0), line(-1, 0), line(1, (-1, 1))
FLAT, CROWD = line(0, 0), line(1, (-1, 0, 1), 40)
KINKED = ft.PiecewiseQuadratic([[1, -1, 1], [1, "-1/2", 1]], [[0, 1], [-1, 1]], [1, 0], calm=[0, 0])
single = [
    stale("noise alone, K = 1", FLAT, 1, 0, 0, paths.skewed(1), more=1),
    stale("one gradient", ONE, 1, 1, 1, more=1), stale("heterogeneity alone", APART, 1, 0, 0, more=1),
    stale("300 clients", line(1, (-1, 0, 1), 100), 2, 3, Q(29, 10), who=299),
    stale("noise alone, K = 4", CONCAVE, 4, 0, 0, paths.skewed(1)),
    stale("concave, stale", CONCAVE, 3, 2, Q(19, 10), paths.skewed(1)),
    stale("skewed noise", APART, 3, 3, Q(14, 5), paths.skewed(1, 3), who=1),
    stale("gamma = 7/5, below the cap of 1.485", ONE, 1, 2, 2 - Q(7, 5) * 2 * at_cap(1)[0]),
    stale("kinks, noise of the state", KINKED, 3, 2, Q(15, 8), paths.skewed(Q(1, 2)), L=1),
    stale("L = 100", line(100, (-1, 1)), 5, 2, Q(199, 100), L=100),
    stale("L = 1/100, noise", line(Q(1, 100), (-1, 1)), 4, 2, Q(199, 100), paths.skewed(Q(1, 100)), L=Q(1, 100)),
    stale("100 local steps, 1/10 of the cap", ONE, 100, 1, Q(999, 1000), share=Q(1, 10)),
    stale("300 local steps at the cap", CONCAVE, 300, 1, 1),
]
LONG = line(1, (-4, 5))
MIXED = ft.FedAsync(1, 1, alpha="1/20", solver=ft.Listed(at_cap(1)))
STALE = ft.StaleSteps(1, 2, server_lr="1/6", solver=ft.Listed(at_cap(2)))
runs = [
    event("120 clients", CROWD, 1, 1, tuple(1 + k % 3 for k in range(120)), "1/200", rounds=150),
    event("1,000 arrivals into the cycle of two clients", LONG, 1, 2, 1, "1/5", rounds=1000),
    event("plane, K = 10", plane([[-9, 0], [0, 9], [9, 9]]), 1, 10, (1, 2, 3), "1/30", rounds=40, x0=(0, 4)),
    event("K falls from 5", line(1, (-7, 7, 8)), 1, 5, (1, 2, 3), "1/30", kappa=1, gbar=0, rounds=24, x0=(0,)),
    event("noise at every step", LONG, 1, 2, (1, 2), "1/6", rounds=10, x0=(2,), signs="1/4"),
    event("L = 100, 20 steps", line(100, (-1, 1)), 1, 20, (2, 3), "1/50", rounds=20, x0=(3,)),
    event("L = 1/100", line(Q(1, 100), (-1, 1)), 1, 3, (2, 3), "1/50", rounds=20, x0=(3,)),
    up.run_of("FedAsync", LONG, MIXED, ft.EventClock((1, 2)), (3,), 40),
    up.run_of("stale steps, one client seldom", LONG, STALE, None, (2,), order=[0, 0, 1, 0, 0, 0, 1, 1, 0, 1]),
    up.run_of("kinks", KINKED, STALE, None, (4,), order=[0, 1] * 8),
]
TASKS = {"Synthetic": (5, 5, 1), "FEMNIST": (1, 1, "1/20"), "Shakespeare": (5, 10, 1)}   # lambda, eps, kappa; target 3
table4 = [event(f"Table 4, {task}", line(1, range(-4, 6)), 1, 10, tuple(range(1, 11)), lam, eps, 60, kappa, most=60, x0=(30,))
          for task, (lam, eps, kappa) in TASKS.items()]


# ---- the search ---------------------------------------------------------------------------------------------------------
def drawn(draw, K=None, L=None, n=None, kinks=None, share=None, loud=None, near=None):
    """One arrival with gamma a share of the admissible Gamma, or any gamma where the claim has no (C1)."""
    K, kinks = K or draw(st.integers(1, 4)), draw(st.booleans()) if kinks is None else kinks
    L = L or draw(st.sampled_from([Q(1), Q(1, 100), Q(100)]))
    n, b = n or draw(st.integers(1, 3)), [Q(draw(st.integers(-4, 4)), 2) for _ in range(3)]
    problem = waves(draw, n) if kinks else line(draw(st.sampled_from([L, -L, L / 2])), [b[k % 3] for k in range(n)])
    L = max(L, problem.constants.L) if kinks else L
    sigma = draw(st.sampled_from([Q(0), Q(1, 10), Q(3)])) * L if loud is None else loud
    law = paths.skewed(sigma if K <= 6 else 0, draw(st.sampled_from([1, 1, 2, Q(1, 3)])))
    share = share or draw(st.sampled_from([Q(1), Q(1), Q(1, 2), Q(1, 100)]))
    base, who = Q(draw(st.integers(-6, 6)), 2), draw(st.integers(0, n - 1))
    made = stale("drawn", problem, K, base, base, law, L=L, share=share, who=who)
    one = up.updates(made)[0]
    most = min(one.squares) * f.largest_gamma2(K, made.L, one.M, one.log(high=True))
    near = draw(st.sampled_from([0, Q(1, 2), Q(-1, 2), Q(99, 100)])) if near is None else near
    return made.but(now=[base + near * up.runs.root(most)])


CORNERS = ({"n": 300, "K": 1, "kinks": False}, {"K": 300, "loud": Q(0), "kinks": False, "L": Q(1)},
           {"L": Q(100), "K": 4, "kinks": False}, {"L": Q(1, 100), "K": 1, "kinks": False, "loud": Q(3)},
           {"share": Q(1, 100), "K": 2, "kinks": False}, {"near": Q(99, 100), "kinks": True, "loud": Q(0)})
SEARCH = ft.Search((ft.Family("arrivals on the line", drawn, CORNERS),), tries=20)
SMOOTHNESS = ft.Variable("smoothness constant", lambda i: i.L)
STEPS = ft.Variable("local steps of an arrival", lambda i: [u.K for u in up.updates(up.right(i))])
ARRIVALS = ft.Variable("arrivals", lambda i: len(up.updates(up.right(i))))
CAP, NEAR = "step over its cap", ft.Variable("Gamma over its cap", lambda i: up.runs.root(up.c1.sides(i)[0]))
ENDS = {"clients": (1, 300), STEPS: (1, 300), SMOOTHNESS: (Q(1, 100), 100), ARRIVALS: (1, 1000),
        CAP: (Q(1, 100), 1), NEAR: (0, Q(9, 10)), "noise against drift": (0, 1), "curvature": (-1, 1)}
ANY_STEPS = {k: v for k, v in ENDS.items() if k not in (CAP, NEAR)}
AT_ONCE = {k: v for k, v in ENDS.items() if k not in (ARRIVALS, NEAR)}


def tightest(i, sides, label):
    """The comparison at the update with the largest left/right side, which says all of them; sides: update -> (left, Terms)."""
    found = [(left, right, u.says) for u in up.updates(i) for left, right in sides(u)]
    left, right, says = max(found, key=lambda v: (v[0] > v[1].total, v[0] / v[1].total if v[1].total else Q(0)))
    return ft.at_most(left, right, f"{label}, the tightest of {len(found)}: {says}" if says else label)


# ---- Lemma 3 ------------------------------------------------------------------------------------------------------------
def lem3_meaning(i):
    """Numbers of the proof at the first and the last updates, and at each outcome of the noise."""
    found, most = up.updates(i), up.Gamma2(i)
    for one in {u.says: u for u in [*found[:3], *found[-3:]]}.values():
        for square in list(one.squares)[:4]:
            yield {"L": i.L, "Gamma2": most, "d2": square, "D2": one.D2}, {"u": list(one.u), "v": list(one.v)}


tight = stale("both terms equal", ONE, 2, 2, 1)
diverging = up.run_of("a run that diverges", LONG, ft.StaleSteps(1, 2, server_lr=7, solver=ft.Listed(at_cap(2))), None, (3,),
                      order=[0, 1] * 60)


@ft.claim("lem3", on=[tight, *single, *runs, diverging, *table4], needs=[up.smooth, up.stale], proof=proofs.lemma3,
          meaning=lem3_meaning, domain="every m, d, loss with L-smooth F, update and server; only (6) and gamma <= Gamma are used",
          ends=ANY_STEPS, search=SEARCH, rejects=[bugs.one_step_less])
def lem3(i):
    r"""If $F$ is $L$-smooth and $\gamma(i,\tau)\le\Gamma$ (Assumption 4) then
    $\|\nabla F(x_{t-\tau})\|^2\le2L^2\Gamma^2\|\Delta_i\|^2+2\|\nabla F(x_t)\|^2$, at every arrival and for every outcome of the
    noise; equality is attained."""
    most = up.Gamma2(i)
    return tightest(i, lambda u: [(paths.square(u.u), ft.Terms(**f.lemma3(i.L, most, d2, paths.square(u.v))))
                                  for d2 in u.squares], "(14)")


# ---- Corollary 1 ----------------------------------------------------------------------------------------------------------
def one_law(i):
    """(update, its paths), where an instance has one."""
    found = up.updates(i)[0]
    return found, found.paths


def meaning(i):
    """Numbers and vectors of the proofs at single arrivals: every local step, two outcomes."""
    if isinstance(i, up.Run) or i.extra.get("discarding"):
        return
    (one, law), L, K, log = one_law(i), i.L, i.K, up.updates(i)[0].log()
    most = up.Gamma2(i)
    drift, e2 = law.drift, [e * e for e in i.eta]
    V = sum(Q(1, 2 * k + 1) for k in range(1, K + 1))
    common = {"B": sum(a * law.square(b) for a, b in zip(e2, law.exact, strict=True)), "S2": sum(e2), "J": K - 1, "V": V,
              "A": sum(a * law.square(b + n) for a, b, n in zip(e2, law.exact, law.noise, strict=True)), "V2": V - Q(1, 3),
              "Z": sum(a * b for a, b in zip(e2, drift[:-1], strict=True)), "L": L, "K": K, "D2": one.D2, "ED": one.delta2,
              "M": one.M, "log": log, "sigma_l2": i.sigma2, "sigma_g2": i.sigma_g2, "stale2": paths.square(one.u)}
    common["Z2"] = common["Z"]
    if most is not None and (Theta := theta(Gamma := up.runs.root(most, up=True), K, L, one.M, log)) > 0:
        common |= {"Gamma": Gamma, "th": Theta / 2}
    for k in {1, 2, K // 2 + 1, K} & set(range(1, K + 1)):
        at, g, n = e2[k - 1], law.exact[k - 1], law.noise[k - 1]
        mean = {"e2": at, "j": k - 1, "Er": drift[k - 1], "Ef": law.square(g), "En": law.square(n), "Eg": law.square(g + n),
                "Efn": law.dot(g, n), "v": Q(1, 2 * k + 1)}
        mean |= {"a": at * mean["Eg"], "b": at * mean["Ef"], "z": at * mean["Er"]}
        for row in {0, len(one.chance) - 1}:
            yield common | mean | {"d2": one.squares[row], "r": paths.square(law.y[k - 1][row] - law.y[0][row]),
                                   "gg": paths.square(g[row] + n[row])}, {
                "u": list(one.u), "v": list(one.v), "h": list(i.own), "f": list(g[row]), "n": list(n[row])}


HILL = ft.PiecewiseQuadratic([[1, -1, 1]], [[-10, 10]], [-20])   # -x^2/2 between -10 and 10, minima at -20 and 20
discarded = stale("kept by discarding", HILL, 3, -1, Q(-66751, 10**5), paths.skewed(Q(27, 5)), Gamma=Q(1, 10), discarding=True)
NEEDS = [up.smooth, up.unbiased, up.quiet, up.near, up.steps]
TOO_MANY = [one_step_more]


@ft.claim("cor1", on=[*single, *runs, *table4, discarded], needs=[*NEEDS, up.stale, up.c1], proof=proofs.corollary1,
          meaning=meaning, domain=proofs.CLASS + "; (T1) at every step, (C1), gamma <= Gamma for every outcome of the noise",
          ends=ENDS, search=SEARCH, rejects=TOO_MANY,
          reading="The mean is over the noise of this update with i, x_t and x_{t-tau} fixed, so that no law of arrivals enters. "
                  "A4 holds for every update that can occur; of those that discarding keeps: a4-discard.")
def cor1(i):
    r"""Under Assumptions 1 to 4, H*, (T1) and (C1): $E\|\Delta_i\|^2\le\frac{12K^2L^2M+K\ln(K+1)}{3L^2\Theta}\|\nabla F(x_t)\|^2
    +\frac{72K^2L^2M+K\ln(K+1)}{72L^2\Theta}\sigma_l^2+\frac{24K^2L^2M+K\ln(K+1)}{6L^2\Theta}\sigma_g^2$, $\Theta=\Theta(\Gamma)$,
    for the noise of this update and any $x_t$, $x_{t-\tau}$."""
    Gamma = up.runs.root(up.Gamma2(i))

    def sides(u):
        Theta = theta(Gamma, u.K, i.L, u.M, u.log())
        return [(u.delta2, ft.Terms(**f.corollary1(u.K, i.L, u.M, u.log(), Theta, paths.square(u.v), i.sigma2, i.sigma_g2)))]
    return tightest(i, sides, "(10)")


loud = [i for i in single if i.name != "gamma = 7/5, below the cap of 1.485"]


@ft.claim("cor1-eq25f", on=loud, needs=[up.unbiased, up.quiet], proof=proofs.update_split, meaning=meaning, rejects=TOO_MANY,
          domain=proofs.CLASS + "; local steps of any size", search=SEARCH,
          ends={k: v for k, v in AT_ONCE.items() if k != CAP})
def eq25f(i):
    r"""Under Assumption 2 and H*: $E\|\Delta_i\|^2\le K^2M\sigma_l^2+K\sum_k\eta_k^2E\|\nabla f_i(y_{k-1})\|^2$, whatever the
    steps and the losses."""
    one, law = one_law(i)
    right = one_law(up.right(i))[1]
    exact = i.K * sum(e**2 * right.square(g) for e, g in zip(i.eta, right.exact, strict=True))
    return ft.at_most(law.square(law.delta), ft.Terms(**f.update_split(one.K, one.M, i.sigma2, exact)))


few = [stale("a gradient, K = 2", CONCAVE, 2, 1, 1), stale("noise alone, K = 2", CONCAVE, 2, 0, 0, paths.skewed(1))]
small = bugs.wrong("ten_times_smaller", "ln(K+1)/240 and ln(K+1)/2880.", f.weighted_drift,
                   lambda *args: {k: v / 10 for k, v in f.weighted_drift(*args).items()})


def drawn27(draw, **at):
    return drawn(draw, **at).but(formula=f.weighted_drift)


SEARCH27 = ft.Search((ft.Family("arrivals on the line", drawn27, CORNERS),), tries=20)


@ft.claim("cor1-eq27e", on=[i.but(formula=f.weighted_drift) for i in (*few, *loud)], needs=NEEDS, proof=proofs.weighted_drift,
          meaning=meaning, domain=proofs.CLASS + "; (T1) at every step", search=SEARCH27, rejects=[bugs.gradients_kept, small],
          ends=AT_ONCE)
def eq27e(i):
    r"""Under Assumptions 1 to 3, H* and (T1): $\sum_k\eta_k^2E\|y_{k-1}-x_{t-\tau}\|^2\le\frac{\ln(K+1)}{24L^4}(\sigma_g^2
    +\|\nabla F(x_{t-\tau})\|^2)+\frac{\ln(K+1)}{288L^4}\sigma_l^2$."""
    one, law = one_law(i)
    left = sum(e**2 * d for e, d in zip(i.eta, law.drift, strict=False))
    return ft.at_most(left, ft.Terms(**i.formula(i.L, one.log(), paths.square(one.u), i.sigma2, i.sigma_g2)))


def _equation27f():
    """(27e) after Lemma 3 has the gradient at x_t, which is what (10) needs; printed is the one at x_{t-tau}."""
    s = Symbols("L K M log Gamma2 delta2 slope2 stale2 sl2 sg2")
    at = s.L, s.log
    meant = f.weighted_drift_now(*at, s.Gamma2, s.delta2, s.slope2, s.sl2, s.sg2)
    lemma = sum(f.lemma3(s.L, s.Gamma2, s.delta2, s.slope2).values())
    printed = f.weighted_drift_now(*at, s.Gamma2, s.delta2, s.stale2, s.sl2, s.sg2)
    one = up.updates(next(i for i in single if i.name == "concave, stale"))[0]
    return (ft.equal(sum(f.weighted_drift(*at, lemma, s.sl2, s.sg2).values()), sum(meant.values()), "(27e) with Lemma 3 put in"),
            ft.equal(4 * s.K * s.L**2 * meant["current"] + 4 * s.K**2 * s.M * s.slope2,
                     f.coefficients(s.K, s.L, s.M, s.log)["current"] * s.slope2, "what (10) has at x_t, by (26d)"),
            ft.equal(printed["current"] - meant["current"], s.log / (12 * s.L**4) * (s.stale2 - s.slope2), "the printed line"),
            ft.at_most(0, abs(paths.square(one.u) - paths.square(one.v)), "they differ at a coded arrival", strict=True))


ft.finding("misprint-eq27f", kind="misprint", breaks="cor1-eq27e", check=_equation27f,
           reading="(27f) prints the gradient at x_{t-tau} beside a term with Gamma^2, which Lemma 3 gives with the one at x_t; "
                   "(28) and (10) have x_t.",
           survives="Both lines are true, the printed one as it is above (27e).")
