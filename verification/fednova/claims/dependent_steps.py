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


@ft.claim("susp-independence", on=[STOPS, *BEFORE], needs=NEEDS,
          finding="err-own-gradient",
          at=("a client that stops on its own first gradient",),
          script="witnesses/err_own_gradient.py",
          step="the normalised gradient d_i is taken to have the mean h_i, which needs a_i independent of the "
               "gradients that it weighs",
          reading="Theorem 3 lets each client make an 'arbitrary number of local updates', and Assumptions 1 to 3 "
                  "constrain the gradients only: every gradient is unbiased when it is drawn. Steps may then depend "
                  "on the gradients of the round. tau_eff is constant and A, B, C are the largest that occur, the "
                  "most generous right side. The paper never says that it means this; the step that fails, E[d_i - "
                  "h_i] = 0 in Appendix C, is where it takes a_i as fixed. One client, so no heterogeneity, no "
                  "sampling and no surrogate objective are in play; tau_eff = 1 in every round. A client that stops "
                  "after a gradient of noise +1 gives that gradient the weight 1, and one of noise -1 only 1/2: E d = "
                  "grad F + 1/4 to leading order, which no small step removes.",
          survives="With steps and a_i(t) decided before the gradients of the round are drawn, as by a clock or by "
                   "earlier rounds, the round's analysis holds given the past (thm3-corrected). A rule under which "
                   "E[d_i - h_i] stays 0 is not excluded either. Steps drawn with the same chances before the "
                   "gradients: the bound holds at both instances of the claim.")
def susp_independence(i):
    r"""The bound of Theorem 3 survives when $\tau_i(t)$ and $a_i(t)$ depend on the stochastic gradients of the round:
    for every rule of stopping, with the largest $A,B,C$ that occur,
    $$\min_{t<T}E\|\nabla F(x^{(t,0)})\|^2\le\frac{4[F(x^{(0,0)})-F_{\inf}]}{\eta\tau_{\rm eff}T}+\frac{4\eta
    L\sigma^2A}m+6\eta^2L^2\sigma^2B+12\eta^2L^2\kappa^2C.$$
    """
    A, B, C = _constants(i)
    gap = ft.fraction(i.x0[0]) ** 2 / 2
    right = g.thm3(i.eta, ft.fraction(i.constants.L), LEVEL, Fraction(0), gap, Fraction(1), i.rounds, A, B, C, 1)
    return ft.at_most(smallest_gradient_square(i), sum(right.values()))
