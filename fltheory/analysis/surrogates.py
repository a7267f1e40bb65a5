"""Weights of the surrogate objective: the round run on linear losses, at a step size and in its small-step limit."""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from fltheory.core.algorithms.base import advance
from fltheory.core.errors import TooLarge, refuse, shown
from fltheory.core.kinds import Algorithm, Array, Draw, Law, Who
from fltheory.core.laws.base import RandomSteps
from fltheory.core.numbers import linalg
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.residues import Residues, Words, word_prime
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Domain, Field, Numbers, is_count
from fltheory.core.operators.features import features_of
from fltheory.core.operators.probe import layout
from fltheory.core.operators.round_maps import FEW, cohorts, pieces, spanning
from fltheory.core.operators.setting import check_domain, prepare
from fltheory.core.problems.base import Problem, check_weights

MOST_CLIENTS = 300   # linear losses are probed in n dimensions
MOST_SYMBOLIC = 16   # clients up to which the step size is kept as a symbol
STEP = "step"        # its name there


def surrogate_weights(algorithm: Algorithm, law: Law, n: int, weights: Numbers | None = None, domain: Domain = RATIONAL) -> Array:
    """Weights w (n,) of the surrogate objective that a method minimises in the small-step limit; exact by default.

    On f_i(x) = <g_i, x> the mean server step is -sum s_i g_i, and w = s / sum s. For most methods w is the same at every
    step size. Where it is not (a proximal term held at mu, so that lr mu vanishes in the limit), w is the limit lr -> 0,
    taken of the coded round with lr as a symbol; `step_weights` are the ones at the given lr. weights: p (n,), default
    uniform. Symbols among the algorithm's numbers stay what they are: with them, w is that of `step_weights`.
    Raises BadInput, and TooLarge for more than 300 clients (16 where the limit differs from the value).
    """
    symbolic = isinstance(getattr(algorithm, "lr", None), Symbolic) or domain not in (FLOAT, RATIONAL)
    refused = not is_count(n) or n > MOST_CLIENTS
    if refused or symbolic or _proportional_to_step(algorithm, law, n, weights):
        return step_weights(algorithm, law, n, weights, domain)
    if n > MOST_SYMBOLIC:
        raise TooLarge(f"{n} clients: these weights depend on lr, and their limit is taken with lr as a symbol for up to "
                       f"{MOST_SYMBOLIC} clients. Fix alpha = lr mu instead of mu, or ask step_weights at a small lr")
    field = Field(STEP)
    w = step_weights(replace(algorithm, lr=field.symbols[0]), law, n, weights, field)
    limit = linalg.to_fractions([v.substitute(**{STEP: 0}) for v in w])
    return limit if domain is RATIONAL else domain.array(limit)


def step_weights(algorithm: Algorithm, law: Law, n: int, weights: Numbers | None = None, domain: Domain = RATIONAL) -> Array:
    """Weights w (n,) with which one round at the given lr moves along the clients' gradients, on linear losses."""
    step = _mean_step(algorithm, law, n, weights, domain)
    if step.sum() == 0:
        refuse("law", law, "the mean round makes no step, so there is nothing to share out", "Let some client take part.")
    w = step / step.sum()
    return linalg.to_fractions(w) if domain is RATIONAL else w


class _Linear(Problem):
    """f_i(x) = -x_i in n dimensions: coordinate i of a round collects what client i's gradient -1 moves."""

    _data = ("b",)
    _b: Array   # b in the arithmetic chosen

    def __init__(self, n, weights):
        self.n = self.d = n
        self.b, self.weights, self.name = -np.eye(n, dtype=int).astype(object), check_weights(weights, n), ""

    def _gradient(self, who: Who, y, sample):
        return 0 * y + (self._b if isinstance(who, slice) else self._b[who])


def _proportional_to_step(algorithm: Algorithm, law: Law, n, weights) -> bool:
    """Whether every round from 0 is lr times what it is at lr = 1: an identity between rational functions of lr, decided at
    random residues, for cohorts that speak for all."""
    domain, flat = Words(word_prime(0)), _Linear(n, weights)
    law = prepare(algorithm, flat, law, None)
    fixed = not any(isinstance(law.steps_of(n, mode), RandomSteps) for mode in range(law.modes))
    featured = fixed and law.exact_features
    scaled = []
    for k in range(3):
        lr = 1 + word_prime(k + 1) % (domain.prime - 1)
        alg, prob, lay = _in_domain(replace(algorithm, lr=lr), flat, domain)
        steps = [_from_zero(alg, prob, lay, part) for draw in spanning(law, n, featured)
                 for part in pieces(draw, 64)]
        scaled.append([np.asarray(step / Residues(lr, domain.prime)) for step in steps])
    return all((a == b).all() for other in scaled[1:] for a, b in zip(scaled[0], other, strict=True))


def _in_domain(algorithm: Algorithm, flat, domain):
    alg, prob = algorithm.to(domain), flat.to(domain)
    lay = None if algorithm.personal else layout(alg, prob)
    if lay is None or lay.size != prob.d:
        refuse("algorithm", type(algorithm).__name__,
               "surrogate weights are defined for methods whose state is the model",
               "Methods with memories have fixed points of their own: use derive(...).fixed_point().")
    return alg, prob, lay


def _from_zero(alg, prob, lay, draw: Draw):
    """What rounds at a stack of outcomes make of the model 0 (b, n)."""
    zero = prob.domain.array(np.zeros((1, lay.size), dtype=np.int64))
    return lay.flatten(advance(alg, prob, lay.unflatten(zero), draw)) + 0 * zero


def _mean_step(algorithm: Algorithm, law: Law, n, weights, domain):
    """s (n,): the mean server step from 0 on the losses f_i(x) = -x_i."""
    check_domain(domain)
    if not is_count(n):
        refuse("n", n, "there is at least one client", "Give an int >= 1.")
    if n > MOST_CLIENTS:
        raise TooLarge(f"{shown(n)} clients: surrogate weights probe linear losses in n dimensions, so n <= {MOST_CLIENTS}")
    flat = _Linear(n, weights)
    law = prepare(algorithm, flat, law, None)
    alg, prob, lay = _in_domain(algorithm, flat, domain)
    pi = domain.array(np.array(law.stationary(), dtype=object))
    return sum(q * _mode_step(alg, prob, lay, law, mode) for mode, q in enumerate(pi) if not q == 0)


def _mode_step(alg, prob, lay, law: Law, mode):
    n = prob.n
    if law.cohort_count(n, mode) > FEW and not isinstance(law.steps_of(n, mode), RandomSteps) and n >= 3:
        for features in features_of(law, prob):
            step = features.mean(law, lambda masks: _from_zero(alg, prob, lay, cohorts(law, n, masks, mode)), prob.domain)
            if step is not None:
                return step
    total = 0
    for chance, draw in law.support(n, mode):
        one = draw if isinstance(draw.who, slice) else draw._replace(present=draw.present[None], steps=draw.steps[None])
        total = total + prob.domain.scalar(chance) * _from_zero(alg, prob, lay, one)[0]
    return total
