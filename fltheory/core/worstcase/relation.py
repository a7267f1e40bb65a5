"""A relation for claims: an inequality certified for all functions of given classes, with the smallest constant that does."""
from __future__ import annotations

from fltheory.core.errors import BadInput, is_one_of, refuse
from fltheory.core.evidence import HOLDS, INCONCLUSIVE, Comparison
from fltheory.core.scalars import fraction
from fltheory.core.worstcase.forms import Form
from fltheory.core.worstcase.worst import worst_case


def check_sides(left, terms):
    """Refuse sides that are no function of the situation and no {name: (coefficient, function of the situation)}."""
    if not callable(left):
        refuse("left", left, "is a function of the situation", "For example lambda s: s.square(s.next - s.star).")
    if not isinstance(terms, dict) or not all(isinstance(name, str) and isinstance(v, tuple) and len(v) == 2 and callable(v[1])
                                              for name, v in terms.items()):
        refuse("terms", terms, "is {name: (coefficient, function of the situation)}", "Name the terms of the right side.")


def certified_over(algorithm, classes, law=None, *, left, terms, tight, label="", initial=(), **given) -> Comparison:
    """left(s) <= sum_k coefficient_k term_k(s) for every function of the classes, in any dimension, after the rounds.

    left: a function of the situation (see `worst_case`); terms: {name: (coefficient, function of the situation)}, homogeneous;
    tight: the name of the term, positive and free of `next`, whose coefficient is compared: the certified smallest one (all
    others as they are) is the left side of the comparison, the given one its right side. initial: further conditions; given: as
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
    relation, named = f"certified over {classes}", {name: fraction(c) for name, (c, _) in terms.items()}
    try:
        found = worst_case(algorithm, classes, law, measure, initial=conditions, **given)
    except BadInput as error:
        if "without limit" not in str(error):
            raise
        return Comparison(relation, "unbounded", coefficient, INCONCLUSIVE, "float", label, terms=named, detail=str(error))
    if found.bound is None:
        return Comparison(relation, found.value, coefficient, INCONCLUSIVE, "float", label, terms=named,
                          detail=f"no certificate; the solver said {found.status}")
    said = f"smallest constant of {tight}: {float(found.bound):.4g} certified, {found.value:.4g} found; given {coefficient}"
    return Comparison(relation, found.bound, coefficient, HOLDS if found.bound <= coefficient else INCONCLUSIVE, "exact", label,
                      coefficient - found.bound, coefficient / found.bound if found.bound > 0 else None, named, said)
