"""Weights of the surrogate objective: the round run on linear losses, at a step size and in its small-step limit."""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from fltheory import linalg
from fltheory.elements import Symbolic
from fltheory.errors import TooLarge, refuse, shown
from fltheory.operators.operator import _check_domain, prepare
from fltheory.operators.outcomes import mixtures
from fltheory.operators.probe import layout
from fltheory.residues import word_prime
from fltheory.scalars import FLOAT, RATIONAL, Domain, Field, Words, is_count

MOST_CLIENTS = 300   # linear losses are probed in n dimensions
MOST_SYMBOLIC = 16   # clients up to which the step size is kept as a symbol
STEP = "step"        # its name there


def surrogate_weights(algorithm, law, n, weights=None, domain: Domain = RATIONAL):
    """Weights w (n,) of the surrogate objective that a method minimises in the small-step limit; exact by default.

    On f_i(x) = <g_i, x> the mean server step is -sum s_i g_i, and w = s / sum s. For most methods w is the same at every
    step size. Where it is not (a proximal term held at mu, so that lr mu vanishes in the limit), w is the limit lr -> 0,
    taken of the coded round with lr as a symbol; `step_weights` are the ones at the given lr. weights: p (n,), default
    uniform. Symbols among the algorithm's numbers stay what they are: with them, w is that of `step_weights`.
    Raises BadInput, and TooLarge for more than 300 clients (16 where the limit differs from the value).
    """
    symbolic = isinstance(getattr(algorithm, "lr", None), Symbolic) or domain not in (FLOAT, RATIONAL)
    if symbolic or _same_at_all_steps(algorithm, law, n, weights):
        return step_weights(algorithm, law, n, weights, domain)
    if n > MOST_SYMBOLIC:
        raise TooLarge(f"{n} clients: these weights depend on lr, and their limit is taken with lr as a symbol for up to "
                       f"{MOST_SYMBOLIC} clients. Fix alpha = lr mu instead of mu, or ask step_weights at a small lr")
    field = Field(STEP)
    w = step_weights(replace(algorithm, lr=field.symbols[0]), law, n, weights, field)
    limit = linalg.to_fractions([v.substitute(**{STEP: 0}) for v in w])
    return limit if domain is RATIONAL else domain.array(limit)


def step_weights(algorithm, law, n, weights=None, domain: Domain = RATIONAL):
    """Weights w (n,) with which one round at the given lr moves along the clients' gradients, on linear losses."""
    step, _ = _mean_step(algorithm, law, n, weights, domain)
    if step.sum() == 0:
        refuse("law", law, "the mean round makes no step, so there is nothing to share out", "Let some client take part.")
    w = step / step.sum()
    return linalg.to_fractions(w) if domain is RATIONAL else w


def _same_at_all_steps(algorithm, law, n, weights) -> bool:
    """Whether w does not depend on lr: an identity between rational functions of lr, decided at random residues."""
    found = []
    for k in range(3):
        domain = Words(word_prime(0))
        step, prime = _mean_step(replace(algorithm, lr=1 + word_prime(k + 1) % (domain.prime - 1)), law, n, weights, domain)
        found.append([int(v) for v in step])
    first = found[0]
    return all((u * b - v * a) % prime == 0 for other in found[1:] for u, v in [(sum(first), sum(other))]
               for a, b in zip(first, other, strict=True))


def _mean_step(algorithm, law, n, weights, domain):
    """(s (n,), prime or None): minus the mean server step from 0 on the losses f_i(x) = -x_i."""
    from fltheory.problems.quadratic import Quadratic
    _check_domain(domain)
    if not is_count(n):
        refuse("n", n, "there is at least one client", "Give an int >= 1.")
    if n > MOST_CLIENTS:
        raise TooLarge(f"{shown(n)} clients: surrogate weights probe linear losses in n dimensions, so n <= {MOST_CLIENTS}")
    flat = Quadratic.from_linear(np.zeros((n, n, n), dtype=object), -np.eye(n, dtype=int).astype(object), weights)
    law = prepare(algorithm, flat, law, None)
    alg, prob = algorithm.to(domain), flat.to(domain)
    lay = layout(alg, prob)
    if lay.size != prob.d:
        refuse(
            "algorithm",
            type(algorithm).__name__,
            "surrogate weights are defined for methods whose state is the model",
            "Methods with memories have fixed points of their own: use derive(...).fixed_point().",
        )
    mixes = mixtures(alg, prob, lay, law)
    pi = domain.array(np.array(law.stationary(), dtype=object))
    return sum(q * mix.mean()[1] for q, mix in zip(pi, mixes, strict=True)), getattr(domain, "prime", None)


__all__ = ["step_weights", "surrogate_weights"]
