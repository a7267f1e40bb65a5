"""Section 4, (8): when the number of local steps is raised, kept or lowered, in every setting of Table 4 and both roundings."""
from fractions import Fraction as Q
from itertools import accumulate

import numpy as np

import fltheory as ft
from verification.asyncfeded import bugs
from verification.asyncfeded.formulas import k_rule as f
from verification.asyncfeded.formulas.steps import cap2
from verification.asyncfeded.line_runs import coded
from verification.asyncfeded.proofs import k_rule as proofs

try:
    import hypothesis.strategies as st
except ImportError:  # the searches are then SKIPPED, with that reason
    st = None

BOTH = {"down": "rounded down", "strict": "largest integer smaller"}


class Rule(ft.Instance):
    """The coded rule at listed (K, gamma), or along the first `arrivals` of a coded run on the line, in rationals."""

    def seen(self):
        """[(K, gamma, K afterwards)]; gamma None where Delta = 0 and the server has moved."""
        if "arrivals" in self.extra:
            run = coded(self.algorithm, self.problem, self.law, [self.start], self.arrivals, ft.RATIONAL)
            return [(s.K, s.gamma, s.next) for s in run]
        rule, ones = self.algorithm.to(ft.RATIONAL), np.array([0])
        return [(K, gamma, int(rule.next_steps(np.array([K]), ft.RATIONAL.array([gamma]), ones)[0])) for K, gamma in self.at]

    @property
    def said(self):
        """(gbar, kappa, strict) of the setting as stated, whatever is coded."""
        a = self.stated.algorithm
        return ft.fraction(a.gbar), ft.fraction(a.kappa), a.rounding == "strict"


def rule(name, gbar, kappa, rounding="down", at=None, lam=1, eps=1, **options):
    gbar, kappa = ft.fraction(gbar), ft.fraction(kappa)
    low, high = f.band(gbar, kappa)
    edge = Q(1, 10**9)
    near = (0, edge, low - edge, low, low + edge, (low + high) / 2, high - edge, high, high + edge, 2 * high + 1)
    at = [(400 + 10 * j, g) for j, g in enumerate(sorted({g for g in near if g >= 0}))] if at is None else at
    algorithm = ft.AsyncFedED("1/10", lam=lam, eps=eps, gbar=gbar, kappa=kappa, rounding=rounding)
    return Rule(name, algorithm=algorithm, at=at, **options)


def settings(rounding):
    return [rule(f"{name}, {BOTH[rounding]}", gbar, kappa, rounding, lam=lam, eps=eps)
            for name, (lam, eps, gbar, kappa) in f.TABLE4.items()]


def along(name, gbar, kappa, x=0, rounding="down", K=(4, 3), arrivals=6, h=(1, "1/2"), b=(-1, 1), lam=1, eps=1):
    problem = ft.Quadratic([[[v]] for v in h], [[v] for v in b])
    return Rule(name, problem, ft.AsyncFedED("1/2", lam=lam, eps=eps, gbar=gbar, kappa=kappa, rounding=rounding),
                ft.EventClock((1,) * len(h), steps=K), start=x, arrivals=arrivals)


defined = ft.Hypothesis("non-zero updates", r"arrivals with $\Delta=0$ from a server that has moved: at most 0",
                        lambda i: (sum(gamma is None for _, gamma, _ in i.seen()), 0))
unclamped = ft.Hypothesis("room below", r"$K+\lfloor(\bar\gamma-\gamma)\kappa\rfloor\ge1$", lambda i: (1, min(
    (K + f.increment(gamma, *i.said) for K, gamma, _ in i.seen() if gamma is not None), default=1)))


def drawn(draw, gbar=None, kappa=None, K=None, gamma=None):
    gbar = gbar or draw(st.sampled_from([Q(1, 10), Q(1, 2), Q(1), Q(3), Q(5)]))
    kappa = kappa or draw(st.sampled_from([Q(1, 100), Q(1, 20), Q(1, 10), Q(1, 2), Q(1), Q(7, 3)]))
    K = K or draw(st.integers(1, 40))
    gamma = draw(st.fractions(0, 12, max_denominator=40)) if gamma is None else gamma
    return rule("drawn", gbar, kappa, draw(st.sampled_from(sorted(BOTH))), [(K, gamma)])


CORNERS = ({"K": 1, "gbar": Q(1, 10), "kappa": Q(1, 100)}, {"K": 500, "gbar": Q(5), "kappa": Q(1)}, {"K": 500, "gamma": Q(0)},
           {"K": 10**9, "gamma": Q(10**5)}, {"K": 1, "gamma": Q(0)})
SEARCH = ft.Search((ft.Family("settings", drawn, CORNERS),), tries=60)
steps, stale = (ft.Variable(name, lambda i, k=k: [row[k] for row in i.seen() if row[k] is not None])
                for k, name in enumerate(("local steps of a run", "staleness")))
target, length = (ft.Variable(name, lambda i, k=k: i.said[k]) for k, name in enumerate(("target", "kappa")))
ENDS = {steps: (1, 10**9), stale: (0, 10**5), target: (Q(1, 10), 5), length: (Q(1, 100), 1)}
WRONG = [bugs.steps_wrong_sign, bugs.steps_rounded_up, bugs.rounded_before_kappa]
on = [*settings("down"), *settings("strict"), rule("kappa = 3/2", 2, "3/2"), rule("a run on the line", 1, 1, at=[(5, Q(1))]),
      along("two clients, arrival by arrival", 2, 2), along("the same, strictly smaller", 2, 2, rounding="strict"),
      rule("one step at the edge", 3, 1, at=[(1, Q(3)), (2, Q(7, 2))]),
      rule("K = 1 above the target", 3, 1, at=[(1, Q(5))]),
      along("a zero update", 3, 1, x=0, h=(1, 0), b=(-1, 0), K=(1, 2), arrivals=3)]


@ft.claim("k-rule-bands", on=on, needs=[defined, unclamped], rejects=WRONG, domain=proofs.DOMAIN, ends=ENDS, search=SEARCH,
          proof=lambda: [*proofs.where(), *proofs.where(True)],
          reading="The paper calls its brackets the floor and the largest integer smaller than the input; both are "
                  "decided.")
def bands(i):
    r"""For non-zero updates and where no clamp acts, (8) with $\lfloor\cdot\rfloor$ keeps $K$ for
    $\gamma\in(\bar\gamma-1/\kappa,\bar\gamma]$, raises it exactly for $\gamma\le\bar\gamma-1/\kappa$ and lowers it exactly for
    $\gamma>\bar\gamma$. With the largest integer smaller than $(\bar\gamma-\gamma)\kappa$: it raises $K$ exactly for
    $\gamma<\bar\gamma-1/\kappa$ and lowers it exactly for $\gamma\ge\bar\gamma$."""
    out, (low, high) = [], f.band(*i.said[:2])
    for K, gamma, new in i.seen():
        if gamma is None:
            out.append(ft.at_most(1, 0, "a gamma with gamma |Delta| = |x - base| > 0, where Delta = 0"))
            continue
        out += [ft.equivalent((new > K, (K, new)), (f.grows(gamma, *i.said), (gamma, low)), f"raised at {gamma}"),
                ft.equivalent((new < K, (new, K)), (f.shrinks(gamma, *i.said), (high, gamma)), f"lowered at {gamma}"),
                ft.equal(new - K, f.increment(gamma, *i.said), f"by how much at {gamma}")]
    return out


ft.finding("e15", kind="missing-hypothesis", breaks="k-rule-bands", at=("K = 1 above the target", "a zero update"),
           step="Rule (8) has no lower bound: at K = 1 and gamma = 5 the Synthetic setting asks for K = -1, and the coded "
                "rule keeps 1. Where a client's update is 0 and the server has moved, no number gamma satisfies (6).",
           reading="Algorithm 1 as printed, without a clamp and without a rule for Delta = 0.",
           survives="eq8-clamped: with K kept at 1 or more and a convention for Delta = 0 the rule is defined at every "
                    "arrival.")


on_growth = [*settings("down"), *settings("strict"), rule("gbar kappa = 1", "1/2", 2), rule("just below 1", "99/100", 1),
             rule("gbar kappa = 1, strictly smaller", "1/2", 2, "strict"),
             rule("just above 1, strictly smaller", "101/100", 1, "strict")]


@ft.claim("k-rule-no-growth", on=on_growth,
          rejects=WRONG[:2], domain=proofs.DOMAIN, search=SEARCH, ends={target: (Q(1, 10), 5), length: (Q(1, 100), 1)},
          proof=lambda: [*proofs.no_growth(), *proofs.no_growth(True)])
def no_growth(i):
    r"""Some $\gamma\ge0$ raises $K$ by (8) exactly if $\bar\gamma\kappa\ge1$; in the strict reading exactly if
    $\bar\gamma\kappa>1$. FEMNIST's setting, $\bar\gamma\kappa=3/20$, never raises $K$; the other two can."""
    gbar, kappa, strict = i.said
    rule_, zero = i.algorithm.to(ft.RATIONAL), np.array([0])
    tried = [Q(0), *(gamma for _, gamma, _ in i.seen())]
    most = max(int(rule_.next_steps(np.array([7]), ft.RATIONAL.array([gamma]), zero)[0]) - 7 for gamma in tried)
    return ft.equivalent((most > 0, (0, most)), (f.can_grow(gbar, kappa, strict), (1, gbar * kappa)), "raised, against gbar kappa")


def changes(i):
    """(K, n, Kn) of the coded rule and whether the clamp has acted."""
    for K, gamma, new in i.seen():
        if gamma is not None:
            n = f.increment(gamma, *i.said)
            yield {"K": K, "n": n, "Kn": new, "th": int(K + n < 1)}, {}


@ft.claim("eq8-clamped", on=[*on, along("steps fall to 1", "1/10", 3, K=(9, 2), arrivals=7), rule("K = 1, very stale", 3, 1, at=[
    (1, Q(10**5)), (1, Q(0)), (500, Q(600))]), along("strict, at the target", 1, 1, K=(1, 1), rounding="strict")],
          rejects=[bugs.clamp_missing], search=SEARCH, domain=proofs.DOMAIN, proof=proofs.clamped, ends=ENDS,
          meaning=lambda i: changes(i))
def clamped(i):
    r"""With $K$ kept at $1$ or more, $\gamma=0$ for $0/0$, and $\eta_g=0$, $K=1$ where $\Delta=0$ although the server has moved,
    (8) gives an integer $K\ge1$ at every arrival."""
    return [c for K, gamma, new in i.seen() for c in (ft.at_most(1, new, f"from {K}, gamma = {gamma}"), ft.equal(new, int(new)))]


@ft.claim("claim-k-rises", on=[rule("FEMNIST", 3, "1/20", at=[(10, Q(0)), (10, Q(1)), (10, Q(2))]),
                               rule("Synthetic, between 2 and 3", 3, 1, at=[(10, Q(5, 2))]),
                               rule("Synthetic, at most 2", 3, 1, at=[(10, Q(0)), (10, Q(2))])],
          instead="k-rule-bands", finding="e12", at=("FEMNIST", "Synthetic, between 2 and 3"), script="witnesses/e12.py",
          step="FEMNIST's setting of Table 4, gbar = 3 and kappa = 1/20: floor((3 - gamma)/20) = 0 for every gamma in [0, "
               "3], so that K is never raised. In the two other settings K stays for gamma in (2, 3).",
          reading="K is an integer and (8) is rounded at each arrival, as it is printed.",
          survives="With real K, rounded where it is used, every gamma below gbar raises it, as described. k-rule-bands "
                   "says what the printed rule does.")
def rises(i):
    r"""As printed: rule (8) increases the number of local steps whenever the staleness of the update is below the target,
    $\gamma<\bar\gamma$."""
    return [ft.at_most(K + 1, new, f"gamma = {gamma} below {i.said[0]}") for K, gamma, new in i.seen() if gamma < i.said[0]]


# ---- a smaller target -------------------------------------------------------------------------------------------------
class TwoTargets(Rule):
    """The coded rule along one sequence of staleness, at the target of the algorithm and at the `larger` one."""

    def both(self):
        out = []
        for gbar in (self.algorithm.gbar, self.larger):
            rule_, K = self.algorithm.to(ft.RATIONAL), np.array([self.K])
            path, gbar = [], ft.RATIONAL.scalar(gbar)
            for gamma in self.gammas:
                object.__setattr__(rule_, "gbar", gbar)
                K = np.array([int(rule_.next_steps(K, ft.RATIONAL.array([gamma]), np.array([0]))[0])])
                path.append(int(K[0]))
            out.append(path)
        return out


def targets(name, gbar, larger, kappa, K, gammas, rounding="down"):
    algorithm = ft.AsyncFedED("1/10", gbar=gbar, kappa=kappa, rounding=rounding)
    return TwoTargets(name, algorithm=algorithm, larger=ft.fraction(larger), K=K, gammas=[ft.fraction(g) for g in gammas])


def drawn_targets(draw, K=None, long=False):
    gbar = draw(st.sampled_from([Q(1, 10), Q(1, 2), Q(1), Q(3)]))
    gammas = draw(st.lists(st.fractions(0, 9, max_denominator=9), min_size=1, max_size=6)) * (60 if long else 1)
    return targets("drawn", gbar, gbar + draw(st.sampled_from([Q(0), Q(1, 10), Q(2), Q(4)])),
                   draw(st.sampled_from([Q(1, 100), Q(1, 20), Q(1, 2), Q(1)])), K or draw(st.integers(1, 30)), gammas,
                   draw(st.sampled_from(sorted(BOTH))))


def pairs(i):
    """K, J and their changes n, k at both targets, at every arrival."""
    gbar, kappa, strict = i.said
    more, (small, large) = i.larger - gbar, i.both()
    for t, gamma in enumerate(i.gammas):
        K, J = (path[t - 1] if t else i.K for path in (small, large))
        n, k = (f.increment(gamma, target_, kappa, strict) for target_ in (gbar, i.larger))
        yield {"K": K, "J": J, "n": n, "k": k, "Kn": small[t], "Jn": large[t], "th": int(K + n < 1), "gamma": gamma, "gbar": gbar,
               "more": more, "kappa": kappa, "K0": i.K, "KT": small[-1], "JT": large[-1]}, {}


on_targets = [targets("Synthetic against gbar = 1", 1, 3, 1, 10, [0, 2, 5, "9/2", 1, 3, 0, 7]),
              targets("equal targets", 3, 3, 1, 1, [9, 0, 2]), targets("clamped and back", "1/2", 5, 1, 2, [9, 9, 0, 0, 4, 1]),
              targets("strict", 1, 3, "1/2", 4, [0, 1, 3, 5, 0], "strict"),
              targets("300 arrivals", 1, 3, "1/20", 200, [0, 5, 2] * 100)]


@ft.claim("claim-gbar-smaller-k", on=on_targets, domain=proofs.DOMAIN, meaning=lambda i: pairs(i),
          proof=lambda: [proofs.monotone(), proofs.monotone(True)],
          rejects=[bugs.steps_wrong_sign], search=ft.Search((ft.Family("sequences", drawn_targets, (
              {"K": 1}, {"K": 500, "long": True})),), tries=40),
          ends={ft.Variable("first local steps", lambda i: i.K): (1, 500),
                ft.Variable("arrivals", lambda i: len(i.gammas)): (1, 300)},
          reading="One sequence of staleness for both targets. In a run it depends on K itself: "
                  "claim-gbar-smaller-k-printed.")
def smaller_target(i):
    r"""For a given sequence of staleness, the change of $K$ by (8) does not decrease in $\bar\gamma$: the smaller of two targets
    never gives a client more local steps, also where $K$ is kept at $1$ or more."""
    small, large = i.both()
    return [ft.at_most(a, b, f"arrival {t}") for t, (a, b) in enumerate(zip(small, large, strict=True), 1)]


def times(i):
    """When each update of a client of pace c arrives, at both targets."""
    return [[i.pace * v for v in accumulate([i.K, *path[:-1]])] for path in i.both()]


def rounds(i):
    """Times and numbers of steps of the rounds, at both targets."""
    first, second = times(i)
    for t, (K, J) in enumerate(zip(*([i.K, *path[:-1]] for path in i.both()), strict=True)):
        before = [v[t - 1] if t else Q(0) for v in (first, second)]
        yield {"c": i.pace, "K": K, "J": J, "t": before[0], "u": before[1], "tn": first[t], "un": second[t], "tT": first[-1],
               "uT": second[-1]}, {}


def drawn_paces(draw, **more):
    return drawn_targets(draw, **more).but(pace=draw(st.sampled_from([Q(1), Q(1, 7), Q(30)])))


@ft.claim("gbar-update-frequency", on=[i.but(pace=Q(k + 1, 2)) for k, i in enumerate(on_targets)],
          proof=lambda: [proofs.monotone(), proofs.monotone(True), proofs.sooner()], meaning=lambda i: [*pairs(i), *rounds(i)],
          rejects=[bugs.steps_wrong_sign], domain=proofs.DOMAIN + "; every pace c",
          search=ft.Search((ft.Family("sequences", drawn_paces, ({"K": 1}, {"K": 500, "long": True})),), tries=40),
          ends={ft.Variable("first local steps", lambda i: i.K): (1, 500),
                ft.Variable("arrivals", lambda i: len(i.gammas)): (1, 300)},
          reading="The update frequency is the other half of the trade-off that the paper speaks of. One sequence of staleness for "
                  "both targets; in a run the smaller one can have fewer updates: remark-update-frequency.")
def update_frequency(i):
    r"""For a given sequence of staleness and round times $cK$ without transmission, the $n$-th update of a client arrives no later
    for the smaller of two targets: its update frequency is at least as large."""
    return [ft.at_most(a, b, f"time of arrival {t}") for t, (a, b) in enumerate(zip(*times(i), strict=True), 1)]


# ---- epochs -----------------------------------------------------------------------------------------------------------
def an_epoch():
    """A client with the batches x^2/2 and (x - 2)^2/2: one epoch of two batches against one step and against two epochs."""
    method, ends = ft.AsyncFedED("1/10", lam=1, eps=1, kappa=0), []
    for centres in ([0], [2], [1], [0, 2], [0, 2, 0, 2]):   # the whole set of data is (x - 1)^2/2, up to a constant
        x = Q(1)
        for b in centres:
            (run,) = coded(method, ft.Quadratic([[[1]]], [[b]]), ft.EventClock(1, steps=1), [x], 1, ft.RATIONAL)
            x = run.after[0]   # gamma = 0 and eta_g = 1: one local step
        ends.append(x)
    one, epoch = min(abs(ends[3] - v) for v in ends[:3]), ends[3]
    caps = [cap2(Q(k), 1) for k in (10, 100)]
    return [ft.at_most(0, one, "an epoch of two batches is none of the single steps", strict=True),
            ft.at_most(0, abs(ends[4] - epoch), "nor two epochs", strict=True),
            ft.equal(round(caps[0] / caps[1], 1), Q("95.7"), "last cap of (T1) on eta^2: 10 steps over 10 epochs of 10 batches")]


ft.finding("remark-epoch", kind="remark", breaks="k-rule-bands", check=an_epoch,
           step="The text calls K a number of epochs, Algorithm 2 and the proofs draw one mini-batch for each of the K steps. They "
                "agree if an epoch is one batch. With B batches the theorems speak of K B steps, so that the last cap of (T1) on "
                "eta^2 falls about B^2 times (at K = B = 10 by 95.7), and (8) adds whole epochs of B steps each.",
           reading="Algorithm 2 as printed is taken for all rows: K is the number of steps.",
           survives="Everything, with K read as the number of steps.")
