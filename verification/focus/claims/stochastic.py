"""SG-FOCUS: Theorems 2, 4, 5, 6 and Lemmas 5, 6; exact second moments of the round as coded."""
from fractions import Fraction as Q

import numpy as np

from fltheory import linalg
from fltheory.claims.claim import Hypothesis, claim
from fltheory.claims.evidence import Bounds, Terms
from fltheory.claims.relations import at_most, equal
from fltheory.claims.search import Family, Search
from fltheory.errors import CertificateFailed
from fltheory.scalars import fraction
from verification import bugs_focus_stability as empty
from verification import bugs_focus_structure as wrong
from verification.focus.claims.trajectories import coded
from verification.focus.formulas import stochastic as f
from verification.focus.instances import stochastic as I


def _mu(i):
    return min(i.h)


def _L(i):
    return max(i.h)


def minimiser(i):
    return linalg.solve(i.problem.H.sum(0), i.problem.b.sum(0))[0]


def _square_root_step(i, factor):
    """(left, right) of eta <= q^1.5/(factor), both squared; factor is given squared."""
    return (i.eta**2 * factor, i.q**3)


local = Hypothesis("local steps", r"$\eta\le q_{\min}^{3/2}/(8\sqrt2L(\tau-1))$, squared",
                   lambda i: _square_root_step(i, 128 * _L(i) ** 2 * (i.tau - 1) ** 2))
participation = Hypothesis("participation", r"$\eta\le q_{\min}^{3/2}/(4L\sqrt{6N})$, squared",
                           lambda i: _square_root_step(i, 96 * _L(i) ** 2 * i.N))
weights = Hypothesis("smallest averaging weight", r"$q_{\min}$", lambda i: (i.q, min(i.law.averaging_weights(i.N))))
never_empty = Hypothesis("no empty round", r"$\sum_iq_i=1$", lambda i: (1, sum(i.law.averaging_weights(i.N))))
fourth = [Hypothesis("strongly convex step", r"$\eta\cdot3N(16L^2/\mu+\mu/2)\le2q_{\min}$",
                     lambda i: (i.eta * 3 * i.N * (16 * _L(i) ** 2 / _mu(i) + _mu(i) / 2), 2 * i.q)),
          participation, local,
          Hypothesis("local drift", r"$\eta\cdot128(\tau-1)^2L^2N\le\mu$",
                     lambda i: (i.eta * 128 * (i.tau - 1) ** 2 * _L(i) ** 2 * i.N, _mu(i))), weights, never_empty]
