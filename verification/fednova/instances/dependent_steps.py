"""Rounds of one client whose number of local steps is decided before, or by, the gradients of the round."""
from fractions import Fraction

import numpy as np

import fltheory as ft
from verification.fednova.instances import scalar

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
                       x0=[ft.fraction(x0)],
                       rounds=rounds, outcomes=outcomes(steps_after), says=says)


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


# eta = sqrt(m/(tau T)) is the step that Theorem 3 prescribes: m = 1, tau = 3/2 on average
STOPS = one_client("a client that stops on its own first gradient",
                   lambda first: {1: 1} if first > 0 else {2: 1}, "1/150", 15000, "-151/599",
                   "tau = 1 if the noise of the first gradient is +1, else tau = 2")
BEFORE = [one_client(f"steps drawn before the gradients, x0={x0}", lambda first: {1: HALF, 2: HALF}, "1/150", 15000, x0,
                     "tau is 1 or 2 with probability 1/2 each, whatever the gradients are")
          for x0 in ("-151/599", "3")]
