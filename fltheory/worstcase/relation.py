"""A relation for claims: an inequality certified for all functions of given classes, with the smallest constant that does."""
from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable
from typing import Any

from fltheory.core.errors import refuse
from fltheory.core.evidence import HOLDS, INCONCLUSIVE, Comparison
from fltheory.core.kinds import Algorithm, Law
from fltheory.core.numbers.scalars import fraction
from fltheory.core.records import is_one_of
from fltheory.worstcase.boundary import certify_at
from fltheory.worstcase.certificate import Certificate, certify, holds
from fltheory.worstcase.classes import FunctionClass
from fltheory.worstcase.quadratic_forms import Form
from fltheory.worstcase.worst import Unbounded, question, solved

BELOW = 1e-5  # relative: a certificate of the given constant itself is looked for a little below it


def check_sides(left, terms):
    """Refuse sides that are no function of the situation and no {name: (coefficient, function of the situation)}."""
    if not callable(left):
        refuse("left", left, "is a function of the situation", "For example lambda s: s.square(s.next - s.star).")
    if not isinstance(terms, dict) or not all(isinstance(name, str) and isinstance(v, tuple) and len(v) == 2 and callable(v[1])
                                              for name, v in terms.items()):
        refuse("terms", terms, "is {name: (coefficient, function of the situation)}", "Name the terms of the right side.")


def certified_over(algorithm: Algorithm, classes: FunctionClass | list, law: Law | None = None, *, left: Callable,
                   terms: dict, tight: str, label: str = "", initial: Callable | list | tuple = (),
                   **options: Any) -> Comparison:
    """left(s) <= sum of the other terms + coefficient * bound, for every function of the classes and every bound >= max(0, tight
    term), in any dimension, after the rounds.

    left: a function of the situation (see `worst_case`); terms: {name: (coefficient, function of the situation)}, homogeneous;
    tight: the name of the term, free of `next`, whose coefficient is compared (where it is never negative, bound is the term
    itself): a certified one (all others as they are), the smallest where the solver found it, is the left side of the
    comparison, the given one its right side. initial: further conditions; options: as
    `worst_case` (clients, counts, rounds, noise, weights, start).
    HOLDS only by a rational certificate; without one, or with a larger constant, it is INCONCLUSIVE: a witness of the programme
    is a float, and what is false needs an exact instance. Speaks of this algorithm, step, law and number of clients alone.
    """
    check_sides(left, terms)
    if not is_one_of(tight, tuple(terms)):
        refuse("tight", tight, f"is one of the terms {sorted(terms)}", "Name the term whose constant is compared.")
    coefficient = fraction(terms[tight][0])

    def measure(s):
        others = (term(s) * c for name, (c, term) in terms.items() if name != tight)
        return left(s) - sum(others, Form() if isinstance(left(s), Form) else 0.0)
    conditions = [lambda s: terms[tight][1](s) <= 1, *(initial if isinstance(initial, (list, tuple)) else [initial])]
    relation = f"certified over {classes}"
    setting = question(algorithm, classes, law, measure, conditions, **options)
    programme, shelf = setting.programme(), _SHELF.get()
    stored = None if shelf is None else shelf.take(programme, coefficient)
    try:
        worst = None if stored else solved(setting, programme)
    except Unbounded as error:
        return Comparison(relation, "unbounded", coefficient, INCONCLUSIVE, "float", label, detail=str(error))
    certificate = stored or worst.certificate
    if certificate is None or certificate.bound > coefficient:  # then the given constant itself, if need be with equality
        near = certify(programme, float(coefficient) * (1 - BELOW))
        certificate = near if near and near.bound <= coefficient else certify_at(programme, coefficient) or certificate
    if certificate is None:
        return Comparison(relation, worst.value, coefficient, INCONCLUSIVE, "float", label,
                          detail=f"no certificate; the solver said {worst.status}")
    if shelf is not None:
        shelf.used.append(certificate)
    bound, source = certificate.bound, "kept multipliers checked anew" if stored else f"the solver said {worst.status}"
    same = bound >= coefficient * (1 - fraction(2 * BELOW))
    rest = ", ".join(f"{name} {fraction(c)}" for name, (c, _) in terms.items() if name != tight)
    what = "the given constant, no smaller one is," if same else "a constant"
    detail = f"certified is {what} of {tight}: {float(bound):.4g}{f' (beside {rest})' if rest else ''}; {source}"
    return Comparison(relation, bound, coefficient, HOLDS if bound <= coefficient else INCONCLUSIVE, "exact", label,
                      coefficient - bound, coefficient / bound if bound > 0 and not same else None, detail=detail)


class Shelf:
    """Certificates kept from before, used in the order of the calls of `certified_over` inside `shelved`, once they have been
    checked anew, and those used there."""

    def __init__(self, certificates=()):
        self.certificates, self.used, self._next = list(certificates), [], 0

    def take(self, programme, coefficient) -> Certificate | None:
        """The kept certificate of this call, None unless it holds for the programme and is no larger than the coefficient."""
        at, self._next = self._next, self._next + 1
        if at >= len(self.certificates) or self.certificates[at].bound > coefficient:
            return None
        return self.certificates[at] if holds(programme, self.certificates[at]) else None


@contextlib.contextmanager
def shelved(shelf):
    """Inside, `certified_over` looks for its certificates on the shelf before it asks a solver, and leaves them there."""
    before = _SHELF.set(shelf)
    try:
        yield shelf
    finally:
        _SHELF.reset(before)


_SHELF = contextvars.ContextVar("certificates", default=None)
