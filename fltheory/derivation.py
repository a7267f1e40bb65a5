"""`derive`: the exact operator of an algorithm as coded, its matrices listed or, where that would cost far more, structured."""
from __future__ import annotations

import logging

from fltheory.core.errors import BadInput, NotAffine, TooLarge, refuse
from fltheory.core.kinds import Algorithm, Law, Problem
from fltheory.core.numbers.scalars import FLOAT, Domain, Number
from fltheory.core.operators.operator import Operator, listed
from fltheory.core.operators.setting import check_domain, prepare
from fltheory.core.operators.size import check_dense, check_size, outgrown
from fltheory.core.records import is_one_of
from fltheory.large.after_average import after_average
from fltheory.large.structured import Structured, structured

_LOG = logging.getLogger(__name__)


def derive(algorithm: Algorithm, problem: Problem, law: Law, noise: Number | None = None, start: str = "init",
           domain: Domain = FLOAT, method: str = "auto") -> Operator | Structured:
    """The operator of `algorithm` on a quadratic `problem` under a `law`.

    noise: sigma of additive gradient noise (E|noise|^2 = sigma^2), a symbol too. start: "init" (states reachable from
    init(x0), any x0) or "any" (every state). domain: arithmetic of the results.
    method: "dense" lists matrices; "structured" has functions instead, in floats, for thousands of clients or a thousand
    coordinates, and says with `accuracy()` how each number was checked; "auto" takes what costs less of those that there are.
    Raises NotAffine, BadInput, TooLarge (before anything is allocated); CertificateFailed if the reachable subspace cannot be
    lifted.
    """
    if not is_one_of(start, ("init", "any")):
        refuse("start", start, 'is "init" or "any"', "Say which states count.")
    if not is_one_of(method, ("auto", "dense", "structured")):
        refuse("method", method, 'is "auto", "dense" or "structured"', "Say how the round is represented.")
    check_domain(domain)
    if method == "structured" and (domain is not FLOAT or start != "init"):
        refuse("method", method, "structured operators live in floats and on states that start at init(x0)",
               "Use method='dense' for other arithmetics and start='any'.")
    law = prepare(algorithm, problem, law, noise)
    if law.batch is not None:
        refuse("batch", law.batch, "mini-batch noise multiplies the state, so the operator is a different one per batch",
               "Use ft.run, or additive noise.")
    _LOG.info("deriving %s, n = %s, d = %s, %s, in %s", type(algorithm).__name__, problem.n, problem.d, type(law).__name__, domain)
    if method == "structured":
        return structured(algorithm, problem, law)
    if method == "auto" and domain is FLOAT and start == "init":
        return _by_cost(algorithm, problem, law)
    return _listed(algorithm, problem, law, start, domain)


def _by_cost(algorithm: Algorithm, problem: Problem, law: Law) -> Operator | Structured:
    """The operator that costs less, the other one where that has no form or does not fit."""
    why = None
    if outgrown(algorithm, problem, law):
        try:
            return structured(algorithm, problem, law)
        except (BadInput, NotAffine, TooLarge) as error:     # a round or a law of another form: its matrices are listed
            why = error
    try:
        return _listed(algorithm, problem, law, "init", FLOAT)
    except TooLarge as large:
        try:
            if why is None:
                return structured(algorithm, problem, law)
        except (BadInput, NotAffine, TooLarge) as error:
            why = error
        raise TooLarge(f"{large}. Nor has it a structured operator: {why}") from None


def _listed(algorithm: Algorithm, problem: Problem, law: Law, start, domain: Domain) -> Operator:
    try:
        check_size(algorithm, problem, domain, start, None)
        if domain is FLOAT:
            check_dense(algorithm, problem, law)
        return listed(algorithm, problem, law, law.noise, start, domain)
    except TooLarge:
        operator = after_average(algorithm, problem, law, start) if domain is FLOAT else None
        if operator is None:
            raise
        return operator
