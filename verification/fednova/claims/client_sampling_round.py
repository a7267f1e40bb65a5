"""Appendix G: Lemma 5 and one-round descent under client sampling."""
import itertools
from fractions import Fraction

import numpy as np

import fltheory as ft
from verification import bugs
from verification.fednova import families, nonconvex, over
from verification.fednova import formulas as f
from verification.fednova.claims.client_sampling import (
    Sampled,
    SharedSampled,
    after_one_round,
    coded_square,
    common,
    round_square,
    runs,
    sampled,
    scheme_i,
)
from verification.fednova.common_noise import FAIR, exceeded, fresh, independent, one_sign
from verification.fednova.formulas import client_sampling as c
from verification.fednova.instances import plane, scalar
from verification.fednova.proofs import numbers, sampling

st = families.st
MANY = 16  # clients at the ends of a search


def kappa2(i, beta2):
    """Smallest kappa^2 of Assumption 3 at this beta^2 with w = p; None if there is no finite one."""
    found = i.kappa2 if "kappa2" in i.extra else i.problem.dissimilarity(i.p, beta2)
    return None if found is None else ft.fraction(found)


dissimilar = ft.Hypothesis("Assumption 3", r"$\kappa^2(\beta^2)<\infty$ with $\beta^2\ge1$",
                           lambda i: (1, i.beta2 if kappa2(i, i.beta2) is not None else None))

on_lem5 = [sampled("plane", plane(), (1, 3, 4), "1/10", 2, tau_eff=1, x0=[2, 2], beta2=Fraction(5)),
        sampled("diverging local steps", scalar([1, 2], [1, -1]), (3, 3), 2, 2, tau_eff=1, x0=["-1/3"],
                beta2=Fraction(2), says="h_i is far from the gradient: the drift term is needed"),
        sampled("identical clients", scalar([1, 1], [0, 0]), (1, 1), "1/10", 4, tau_eff=1, x0=[3], beta2=Fraction(1),
                says="one step, many draws: only the gradient term is large"),
        sampled("at the optimum", scalar([1, 1], [1, -1]), (1, 1), "1/10", 2, tau_eff=1, beta2=Fraction(1),
                says="one step from the optimum: only the sampling term is left"),
        sampled("long runs, tau_eff = 1", scalar([1, 1], [1, -1]), (5, 5), "1/10", 2, tau_eff=1, x0=[1],
                beta2=Fraction(1))]


class Enumerated(Sampled):
    """Rounds without noise on any smooth problem: the coded round over every outcome of the law, in rationals."""

    def start(self):
        return ft.declare(self.x0)

    def gradient(self, k, y):
        """grad F_k at y (d,)."""
        problem = self.problem.to(ft.RATIONAL)
        return np.array([ft.fraction(v) for v in problem.grad(ft.RATIONAL.array(np.stack([y] * problem.n)))[k]],
                        dtype=object)

    def outcomes(self, x=None):
        """[(probability, server model)] after one coded round from x, default the start."""
        problem, algorithm = self.problem.to(ft.RATIONAL), self.algorithm.to(ft.RATIONAL)
        state = algorithm.init(problem, ft.RATIONAL.array(self.start() if x is None else x))
        law = self.law.with_steps(self.algorithm.steps)
        return [(p, np.array([ft.fraction(v) for v in algorithm.round(problem, state, draw).x], dtype=object))
                for p, draw in law.support(problem.n)]

    def left_side(self):
        """(1/T) sum E|grad F(x_t)|^2 over the tree of outcomes."""
        problem, level, total = self.problem.to(ft.RATIONAL), [(Fraction(1), self.start())], 0
        for t in range(self.rounds):
            total = total + sum(p * ft.fraction((problem.gradient(ft.RATIONAL.array(x)) ** 2).sum()) for p, x in level)
            if t + 1 < self.rounds:
                level = [(p * r, after) for p, x in level for r, after in self.outcomes(x)]
        return total / self.rounds


def _huber(draw):
    """(problem, kappa^2 admissible for every beta^2 >= 1, text): data gradients are at most delta sum |u|."""
    n = draw(st.integers(2, 3))
    U = [[[draw(st.sampled_from([1, 2, -1]))] for _ in range(draw(st.integers(1, 2)))] for _ in range(n)]
    offsets = [[draw(st.integers(-3, 3)) for _ in u] for u in U]
    delta, p = draw(st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2)])), families.weights(draw, n)
    problem = ft.HuberLoss(U, offsets, delta, 1, draw(st.sampled_from([0, Fraction(1, 4)])), p)
    kappa2 = sum(w * (delta * sum(abs(r[0]) for r in u)) ** 2 for w, u in zip(p, U, strict=True))
    return problem, kappa2, f"U={U}, offsets={offsets}, delta={delta}"


RANGES = {"proximal": (Fraction(0), Fraction(1)), "momentum": (Fraction(0), Fraction(7, 8)),
          "decay": (Fraction(1, 2), Fraction(1))}


def _setting(draw, n, names, tau=None, solver=None, q=None):
    """Steps, solver with its parameter, sample size."""
    taus, solver = tuple(tau or draw(st.integers(1, 4)) for _ in range(n)), solver or draw(st.sampled_from(sorted(names)))
    value = ft.fraction(draw(st.fractions(*RANGES[solver], max_denominator=8))) if solver in RANGES else None
    return taus, solver, value, q or draw(st.integers(1, 2))


def _step(draw, problem, taus, solver, value, share=None):
    """(eta, tau_eff) at a drawn share of what the step conditions allow."""
    L = ft.fraction(problem.constants.L)
    longest = max(f.norm1(f.a_vector(solver, t, value)) for t in taus)
    tau_eff = draw(st.sampled_from([Fraction(1, 1000), Fraction(1), longest])) if share is None else longest
    share = share or draw(st.sampled_from([Fraction(1, 12), Fraction(1, 30), Fraction(1, 100)]))
    return (share / (L * longest), tau_eff) if L else (None, None)


NAMES = {True: "Huber", False: "quadratic", "bent": "non-convex clients"}


def _build(draw, huber, names, rounds, free_step=False, n=None, kind="", share=None, T=0, beta2=None, **setting):
    gap = None
    if huber == "bent":
        drawn = nonconvex.clients(draw)
        if drawn is None:
            return None
        (problem, x0, gap, text), noise = drawn, 0
        start = [x0]
    elif huber:
        problem, kappa2, text = _huber(draw)
    else:
        problem, noise, start, text = families.clients(draw, n, kind)
    taus, solver, value, q = _setting(draw, problem.n, names, **setting)
    eta, tau_eff = _step(draw, problem, taus, solver, value, share)
    if eta is None:
        return None
    eta = draw(st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(1)])) if free_step else eta
    T = draw(st.sampled_from(rounds)) if T == 0 else T
    sigma, x0 = (0, [draw(st.integers(-3, 3)) for _ in range(problem.d)]) if huber is True else (0 if free_step else noise, start)
    extra = {"beta2": beta2 or draw(st.sampled_from([Fraction(1), Fraction(3), Fraction(20)]))}
    if huber:
        extra |= {"kind": Enumerated} | ({"kappa2": kappa2} if gap is None else {"gap": gap})
    return sampled("random " + NAMES[huber], problem, taus, eta, q, tau_eff, solver, value,
                   sigma, T, x0,
                   says=f"{text}, tau={taus}, {solver} {value}, q={q}, eta={eta}, tau_eff={tau_eff}, sigma={sigma}, "
                        f"T={T}, x0={x0}", **extra)


def family(huber, names, rounds, free_step=False):
    def build(draw, **corner):
        return _build(draw, huber, names, rounds, free_step, **corner)
    return build


DRAWS = ft.Variable("draws", lambda i: i.q)
CORNERS = ({"n": 1, "tau": 1, "kind": "equal"}, {"n": MANY, "tau": 1, "kind": "equal", "share": Fraction(1, 24), "q": 1},
           {"n": 2, "tau": families.LONG, "kind": "equal", "share": Fraction(1, 50)}, {"n": 2, "kind": "equal", "q": 6},
           {"n": 2, "kind": "even", "share": families.TINY}, {"n": 2, "tau": 3, "kind": "noise"}, {"n": 2, "kind": "drift"},
           {"n": 2, "tau": 2, "kind": "concave", "share": Fraction(1, 400)}, {"n": 2, "kind": "uneven"})
ENDS = families.ROUND_ENDS | {"clients": (1, MANY), DRAWS: (1, 6)}
BETA2 = ft.Variable("beta^2", lambda i: i.beta2)
LEM5_CORNERS = (*({k: v for k, v in corner.items() if k != "share"} for corner in CORNERS), {"kind": "equal", "beta2": Fraction(1)},
                {"kind": "equal", "beta2": Fraction(20)})
LEM5_ENDS = {k: v for k, v in ENDS.items() if k != "noise against drift"} | {BETA2: (1, 20)}
STEP = ft.Variable("step over its cap", lambda i: 12 * i.tau_eff * i.eta * i.L * (1 + Fraction(1, i.q)))


EVERY = ("vanilla", *RANGES)
lem5_quadratics, lem5_hubers = (family(huber, EVERY, [1], free_step=True) for huber in (False, True))


def drawn_over(step, solvers=over.EVERY, taus=((1, 2), (2, 2), (1, 3), (1, 1, 2))):
    """Settings of scheme (i) with q = 1 and 2 draws and the paper's tau_eff; step: of (solver, taus, q, tau_eff)."""
    out = []
    for solver, steps, q in itertools.product(solvers, taus, (1, 2)):
        p = [Fraction(1, len(steps))] * len(steps)
        tau_eff = f.dot(p, [f.norm1(f.a_vector(solver[0], t, solver[1])) for t in steps])
        law, averaging = scheme_i(q, p)
        out.append(over.setting(solver, steps, step(solver, steps, q, tau_eff), p, ft.FedNova, Sampled, law, f"q={q}",
                                {"averaging": averaging, "tau_eff": tau_eff}, q=q, shared=0, part="round", beta2=Fraction(2)))
    return out


def lem5_over(i):
    """The coded server move divided by eta tau_eff; both forms, the sharper one for every beta^2 alike."""
    def left(s):
        return s.square(s.x - s.next) / (i.eta * i.tau_eff) ** 2

    return [over.certified(i, left, "sampling", label, drift=(3, lambda s: over.bias(s, i, i.p)),
                           gradient=(3, lambda s: s.square(s.grad(s.x))),
                           sampling=(Fraction(3, i.q), lambda s, less=less: over.excess(s, i.p, less)))
            for less, label in ((0, "as printed"), (1, "with beta^2 - 1"))]


def meaning(i, beta2):
    """What the proofs of Lemma 5 and (175) speak of, at the start."""
    if numbers.readable(i) and isinstance(i.problem, ft.Quadratic):
        yield from numbers.draws(i, {"beta2": beta2, "kappa2": kappa2(i, beta2)}, True)


@ft.claim("lem5", proof=sampling.lemma5, meaning=lambda i: meaning(i, i.beta2), domain=sampling.DOMAIN, covers={"tau": "none"},
          over=drawn_over(lambda *_: Fraction(1, 2)), certify=lem5_over,
          on=on_lem5, needs=[dissimilar], bound=True, rejects=[bugs.normaliser_missing],
          search=ft.Search((ft.Family("quadratic", lem5_quadratics, LEM5_CORNERS), ft.Family("Huber", lem5_hubers)),
                           tries=120), ends=LEM5_ENDS)
def lem5(i):
    r"""$l_j$ i.i.d. with probabilities $p$, any vectors $z_i$ (here $z_i=h_i$):
    $$E\Big\|\frac1q\sum_jz_{l_j}\Big\|^2\le3\sum_ip_i\|z_i-\nabla F_i(x)\|^2+3\|\nabla F(x)\|^2
    +\frac3q(\beta^2\|\nabla F(x)\|^2+\kappa^2);$$
    it also holds with $\beta^2-1$ in place of $\beta^2$."""
    h, g, *_ = runs(i)
    left = coded_square(i) if isinstance(i, Enumerated) else round_square(i)
    return [ft.at_most(left, ft.Terms(**c.lem5(i.p, h, g, i.q, i.beta2, kappa2(i, i.beta2), sharper)), label)
            for sharper, label in ((False, "as printed"), (True, "with beta^2 - 1"))]


def _server_beta2(i):
    return c.beta2_allowed(i.eta, i.L, i.tau_eff, i.q, 0)


def finite(i, beta2):
    """Sides of the hypothesis that a finite kappa^2 exists at an admissible beta^2."""
    return 0, None if beta2 < 1 else kappa2(i, beta2)


descent = [sampled("plane with noise", plane(), (1, 2, 4), "1/100", 2, sigma="1/2", x0=[2, 2]),
           sampled("momentum", plane(), (1, 2, 3), "1/100", 2, solver="momentum", value="1/2", sigma="1/2", x0=[1, -1]),
           sampled("proximal", plane(), (1, 2, 4), "1/100", 2, solver="proximal", value="1/2", sigma="1/2", x0=[1, -1]),
           sampled("drift dominates", scalar([1, 1], [0, 0]), (10, 10), "1/2", 1, tau_eff="1/100", x0=[1],
                   says="common minimiser, long local runs, tiny server steps"),
           sampled("noise dominates", scalar([1, 1], [0, 0]), (1, 1), "1/20", 2, sigma=1,
                   says="one noisy step from the optimum"),
           sampled("sampling dominates", scalar([1, 1], [1, -1]), (1, 1), "1/40", 1,
                   says="one exact step from the optimum"),
           sampled("tiny tau_eff", scalar([1, 1], [1, -1]), (2, 5), "1/40", 1, tau_eff="1/1000",
                   says="from the optimum"),
           sampled("step above the cap", plane(), (1, 2, 4), "1/4", 2, x0=[2, 2])]
common_noise = common("1/13")
shared_run = SharedSampled("three draws of one client, one run", ft.Quadratic([[[1]]], [[0]]),
                           ft.FedNova(Fraction(1, 16), (1,), averaging="plain", tau_eff=1), ft.WithReplacement(3), noise=1, x0=[0],
                           units=False, q=3, shared=1, part="round", outcomes=one_sign,
                           says="F = x^2/2 at its minimiser, one noisy step, +1 or -1, which counts three times")
descent_quadratics, descent_hubers = (family(huber, EVERY, [1]) for huber in (False, True))


def server_step(solver, steps, q, tau_eff):
    """The largest step with 6 tau_eff eta L (1 + beta^2/q) <= 1/2 for beta^2 = 2."""
    return 1 / (12 * tau_eff * (1 + Fraction(2, q)))


def eq175_over(i):
    beta2 = _server_beta2(i)
    terms = c.eq175(1, i.eta, i.L, i.tau_eff, i.q, 0, 0, 1)
    step = i.eta * i.tau_eff
    return over.certified(
        i, lambda s: (s.F(s.next) - s.F(s.x)) / step + s.square(s.grad(s.x)) / 4, "sampling",
        drift=(terms["drift"], lambda s: over.bias(s, i, i.p)),
        sampling=(terms["sampling"], lambda s: over.excess(s, i.p, beta2)))


@ft.claim("eq175", proof=lambda: (sampling.descent(), sampling.second_moment()), meaning=lambda i: meaning(i, _server_beta2(i)),
          domain=sampling.DOMAIN, over=drawn_over(server_step), certify=eq175_over,
          on=[*descent, common_noise, shared_run], bound=True, rejects=[bugs.normaliser_missing],
          needs=[fresh, independent,
                 ft.Hypothesis("server step", r"$6\tau_{\rm eff}\eta L(1+\beta^2/q)\le\frac12$ leaves $\beta^2\ge1$",
                               lambda i: (1, _server_beta2(i))),
                 ft.Hypothesis("Assumption 3", r"$\kappa^2(\beta^2)<\infty$", lambda i: finite(i, _server_beta2(i)))],
          search=ft.Search((ft.Family("quadratic", descent_quadratics, CORNERS), ft.Family("Huber", descent_hubers)),
                           tries=120), ends=ENDS | {STEP: (Fraction(1, 20), 1)})
def eq175(i):
    r"""Scheme (i) with fresh runs for repeated draws, independent across clients, under
    $6\tau_{\rm eff}\eta L(1+\beta^2/q)\le\frac12$:
    $$\frac{E[F(x^+)]-F(x)}{\eta\tau_{\rm eff}}\le-\frac14\|\nabla F(x)\|^2+\frac32\sum_ip_iE\|\nabla F_i(x)-h_i\|^2
    +\frac{\tau_{\rm eff}\eta L}q\Big(\sigma^2\sum_ip_i\frac{\|a_i\|_2^2}{\|a_i\|_1^2}+3\kappa^2\Big).$$
    """
    h, g, of_h, *_ = runs(i)
    total = f.dot(i.p, g)
    drift = sum(w * (((a - b) ** 2).sum() + s) for w, a, b, s in zip(i.p, h, g, of_h, strict=True))
    share = c.noise_share(i.p, i.vectors)
    terms = c.eq175(drift, i.eta, i.L, i.tau_eff, i.q, i.sigma**2, share,
                    kappa2(i, _server_beta2(i)))
    return ft.at_most(rise(i) / (i.eta * i.tau_eff) + (total * total).sum() / 4, ft.Terms(**terms))


ft.finding("e8-eq175", kind="missing-hypothesis", breaks="eq175", at=("three draws of one client, one run",),
           script="witnesses/e8.py", step="(162) treats the draws of one client as independent runs, and (175) rests on it",
           reading="A client drawn three times does its local work once and its update counts three times; the paper does not say "
                   "which of the two is meant.",
           survives="With fresh runs: eq175. The corollary, (182), fails with shared runs as well: e8-cor3.")


def _one_noise_for_all():
    i = common_noise   # at the minimiser of equal clients: no gradient, no drift
    terms = c.eq175(0, i.eta, i.L, i.tau_eff, i.q, i.sigma**2, c.noise_share(i.p, i.vectors), 0)
    return exceeded(rise(i) / (i.eta * i.tau_eff), sum(terms.values()), "(175) at x = 0, both sides over eta tau_eff")


ft.finding("err-common-noise-eq175", kind="remark", breaks="eq175", check=_one_noise_for_all, script="witnesses/e8.py",
           reading=FAIR, survives="With fresh runs and noise independent across clients: eq175.")


def rise(i):
    """E F(x+) - F(x) over one coded round."""
    problem = i.problem.to(ft.RATIONAL)
    if isinstance(i, Enumerated):
        return sum(p * (ft.fraction(problem.value(ft.RATIONAL.array(x))) - ft.fraction(problem.value(ft.RATIONAL.array(i.start()))))
                   for p, x in i.outcomes())
    mean, second = after_one_round(i)
    H, b = ((problem.p.reshape(-1, *[1] * k) * part).sum(0) for k, part in ((2, problem._H), (1, problem._b)))
    x = ft.RATIONAL.array(np.array([ft.fraction(v) for v in i.x0], dtype=object))
    before = (x * (H * x).sum(-1)).sum() / 2 - (b * x).sum()
    return ft.fraction((H * second).sum() / 2 - (b * mean).sum() - before)
