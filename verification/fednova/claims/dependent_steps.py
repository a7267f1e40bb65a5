"""Theorem 3's "arbitrary number of local updates": may a client decide on its own gradients when to stop?"""
from fractions import Fraction

import numpy as np

import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.formulas import theorem3 as g
from verification.fednova.instances import scalar

LEVEL = Fraction(1)  # sigma^2, the largest squared noise


def coded_round(i):
    """[(probability, slope, push)] of the coded round x -> slope x + push of every outcome."""
    problem, algorithm = i.problem.to(i.domain), i.algorithm.to(i.domain)

    def moved(x, noise, steps):
        state = algorithm.init(problem, i.domain.array(np.array([x], dtype=object)))
        slots = [i.domain.array(np.array([[v]], dtype=object)) for v in noise]
        draw = ft.everyone(1, np.array([steps]))._replace(xi=lambda k: slots[k])
        return algorithm.round(problem, state, draw).x[0]
    made = [(i.domain.scalar(q), moved(0, noise, steps), moved(1, noise, steps)) for q, noise, steps in i.outcomes]
    return [(q, far - near, near) for q, near, far in made]


def smallest_gradient_square(i):
    """min over t < T of E|grad F(x_t)|^2 = E x_t^2, by exact first and second moments of the coded round."""
    rounds = coded_round(i)
    mean = i.domain.scalar(i.x0[0])
    square, least = mean * mean, mean * mean
    for _ in range(i.rounds - 1):
        mean, square = (sum(q * (a * mean + b) for q, a, b in rounds),
                        sum(q * (a * a * square + 2 * a * b * mean + b * b) for q, a, b in rounds))
        least = min(least, square, key=float)
    return least


def _drift(i):
    """Largest |E[noise of gradient k | noise of the gradients before it]|."""
    sums = {}
    for q, noise, _ in i.outcomes:
        for k in range(len(noise)):
            sums[noise[:k]] = sums.get(noise[:k], 0) + q * noise[k]
    return max(abs(v) for v in sums.values())


def _constants(i):
    """The largest A, B and C of the numbers of steps that occur: with m = 1 and tau_eff = 1, w = p = 1."""
    return [max(v) for v in zip(*(g.constants("vanilla", None, (steps,), [Fraction(1)], Fraction(1), False)
                                  for _, _, steps in i.outcomes), strict=True)]


def _longest(i):
    return max(f.norm1(f.a_vector("vanilla", steps)) for _, _, steps in i.outcomes)


NEEDS = [
    ft.Hypothesis("Assumption 2, unbiased",
                  r"$|E[g_i(x_k)-\nabla F_i(x_k)\mid\text{earlier gradients of the run}]|\le0$",
                  lambda i: (_drift(i), 0)),
    ft.Hypothesis("Assumption 2, variance", r"$\|g_i(x)-\nabla F_i(x)\|^2\le\sigma^2$",
                  lambda i: (max(v * v for _, noise, _ in i.outcomes for v in noise), LEVEL)),
    ft.Hypothesis("Assumption 3", r"$\kappa^2\le0$ at $\beta^2=1$: there is one client",
                  lambda i: (i.problem.dissimilarity([Fraction(1)], Fraction(1)), 0)),
    ft.Hypothesis("step cap (152), drift", r"$(2\eta L\max_i\|a_i\|_1)^2(2\beta^2+1)\le1$",
                  lambda i: ((2 * i.eta * ft.fraction(i.constants.L) * _longest(i)) ** 2 * 3, 1)),
    ft.Hypothesis("step cap (152), server", r"$2\eta L\tau_{\rm eff}\le1$",
                  lambda i: (2 * i.eta * ft.fraction(i.constants.L), 1)),
]
HALF = Fraction(1, 2)
LEVELS = (Fraction(1), Fraction(-1))  # of the noise in every gradient, each with probability 1/2


def outcomes(steps_after):
    """[(probability, noise of the gradients drawn, local steps)]: steps_after(first noise) -> {steps: chance}."""
    found = []
    for first in LEVELS:
        for steps, chance in steps_after(first).items():
            tails = [()] if steps == 1 else [(second,) for second in LEVELS]
            found += [(HALF * chance / len(tails), (first, *tail), steps) for tail in tails]
    return found


def one_client(name, steps_after, eta, rounds, x0, says):
    """F = x^2/2, one client, FedNova with tau_eff = 1 and one or two vanilla steps."""
    return ft.Instance(name, scalar([1], [0]), ft.FedNova(eta, None, tau_eff=1), ft.Full(), domain=ft.Balls(256),
                       x0=[ft.fraction(x0)], rounds=rounds, outcomes=outcomes(steps_after), says=says)


# eta = sqrt(m/(tau T)) is the step that Theorem 3 prescribes: m = 1, tau = 3/2 on average
STOPS = one_client("a client that stops on its own first gradient",
                   lambda first: {1: 1} if first > 0 else {2: 1}, "1/150", 15000, "-151/599",
                   "tau = 1 if the noise of the first gradient is +1, else tau = 2")
BEFORE = [one_client(f"steps drawn before the gradients, x0={x0}", lambda first: {1: HALF, 2: HALF}, "1/150", 15000, x0,
                     "tau is 1 or 2 with probability 1/2 each, whatever the gradients are")
          for x0 in ("-151/599", "3")]


def _dependence(i):
    """Largest difference between the chance of a number of steps given the first noise and without it."""
    steps = {t for _, _, t in i.outcomes}

    def chance(t, among):
        return sum(q for q, _, s in among if s == t) / sum(q for q, _, _ in among)
    given = [[o for o in i.outcomes if o[1][0] == v] for v in LEVELS]
    return max(abs(chance(t, among) - chance(t, i.outcomes)) for t in steps for among in given)


def sides(i):
    """(smallest E|grad F|^2, right side of (147)) with the largest A, B and C of the numbers of steps that occur."""
    A, B, C = _constants(i)
    gap = ft.fraction(i.x0[0]) ** 2 / 2
    right = g.thm3(i.eta, ft.fraction(i.constants.L), LEVEL, Fraction(0), gap, Fraction(1), i.rounds, A, B, C, 1)
    return smallest_gradient_square(i), sum(right.values())


before_the_gradients = ft.Hypothesis("steps decided before the gradients", "the number of steps has the same law "
                                                                           "whatever the first "
                                     "gradient's noise is: the largest difference of chances is 0", lambda i: (_dependence(i), 0))


@ft.claim("susp-independence", on=[STOPS, *BEFORE], needs=[*NEEDS, before_the_gradients],
          domain="one client F = x^2/2 with one or two local steps, each with probability 1/2, at two starts",
          powerless="the bound leaves a factor of eight, which no bug that still converges uses up",
          reading="A question of ours: the paper neither allows nor excludes steps that depend on the gradients of "
                  "their round. Section "
                  "2 has 'we treat tau_i as an arbitrary scalar', which speaks for steps that are given.")
def susp_independence(i):
    r"""With steps drawn before the gradients of the round, one client and the largest $A,B,C$ that occur,
    $$\min_{t<T}E\|\nabla F(x^{(t,0)})\|^2\le\frac{4[F(x^{(0,0)})-F_{\inf}]}{\eta\tau_{\rm eff}T}+\frac{4\eta
    L\sigma^2A}m+6\eta^2L^2\sigma^2B+12\eta^2L^2\kappa^2C.$$
    """
    return ft.at_most(*sides(i))


def _stops():
    """A client that stops on its own first gradient: every gradient is unbiased when it is drawn, and the bound fails."""
    left, right = sides(STOPS)
    return [ft.at_most(_drift(STOPS), 0, "every gradient of the run is unbiased, given those before it"),
            ft.at_most(Fraction(1, 4), _dependence(STOPS), "the number of steps depends on the first gradient"),
            ft.at_most(right, left, "(147) against the smallest E|grad F|^2", strict=True)]


ft.finding("err-own-gradient", kind="remark", breaks="thm3-corrected", check=_stops, script="witnesses/err_own_gradient.py",
           step="the normalised direction d_i is taken to have the mean h_i, which needs a_i independent of the gradients that it "
                "weighs",
           reading="No statement of the paper is called false by this: it takes tau_i as an arbitrary scalar. A client that stops "
                   "after a gradient of noise +1 gives that gradient the weight 1, and one of noise -1 only 1/2: E d "
                   "= grad F + 1/4 to "
                   "leading order, which no small step removes. One client, tau_eff = 1 in every round, A, B, C the "
                   "largest that occur.",
           survives="With steps and a_i(t) decided before the gradients of the round are drawn the round's analysis "
                    "holds given the "
                    "past (susp-independence, thm3-corrected). A rule under which E[d_i - h_i] stays 0 is not excluded either.")
