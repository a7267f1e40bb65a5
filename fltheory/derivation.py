"""`derive`: the exact operator of an algorithm as coded, its matrices listed or, where that would cost far more, structured."""
from __future__ import annotations

import logging

from fltheory.core.errors import BadInput, NotAffine, TooLarge, is_one_of, refuse
from fltheory.core.numbers.scalars import FLOAT, Domain
from fltheory.core.operators.operator import Operator, listed
from fltheory.core.operators.setting import check_domain, check_size, prepare
from fltheory.core.operators.size import check_dense
from fltheory.large.structured import Structured, structured

_LOG = logging.getLogger(__name__)


def derive(algorithm, problem, law, noise=None, start="init", domain: Domain = FLOAT, method="auto") -> Operator | Structured:
    """The operator of `algorithm` on a quadratic `problem` under a `law`.

    noise: sigma of additive gradient noise (E|noise|^2 = sigma^2), a symbol too. start: "init" (states reachable from
    init(x0), any x0) or "any" (every state). domain: arithmetic of the results.
    method: "dense" lists matrices; "structured" has functions instead, in floats, for thousands of clients or a thousand
    coordinates, and says with `accuracy()` how each number was checked; "auto" takes dense where it fits, else structured.
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
        refuse(
            "batch",
            law.batch,
            "mini-batch noise multiplies the state, so the operator is a different one per batch",
            "Use ft.run, or additive noise.",
        )
    _LOG.info("deriving %s, n = %s, d = %s, %s, in %s", type(algorithm).__name__, problem.n, problem.d, type(law).__name__, domain)
    if method == "structured":
        return structured(algorithm, problem, law)
    try:
        check_size(algorithm, problem, domain, start, None)
        if domain is FLOAT:
            check_dense(algorithm, problem, law)
        return listed(algorithm, problem, law, law.noise, start, domain, None)
    except TooLarge as dense:
        if method == "dense" or domain is not FLOAT or start != "init":
            raise
        try:
            return structured(algorithm, problem, law)
        except (BadInput, NotAffine, TooLarge) as other:
            raise TooLarge(f"{dense}. Nor has it a structured operator: {other}") from None


__all__ = ["derive"]
