"""Instances of every algorithm class, built from its annotations, for the rules of `fltheory.workbench.conformance`."""
import dataclasses
from fractions import Fraction as Q

import fltheory.core.algorithms.solvers
from fltheory.core.errors import BadInput
from fltheory.core.numbers.scalars import SEVERAL, SINGLE
from tests.algorithms.instances import GRAPH, P


def variants(cls):
    """Instances of an algorithm class: the shortest call that it accepts, every optional number given, every solver.

    Numbers (annotated Number) become distinct small rationals, declared arrays (Numbers) the edge weights or their row sums,
    whichever is accepted.
    """
    values, flat = {}, {}
    for k, f in enumerate(dataclasses.fields(cls)):
        if f.type in SINGLE and f.name != "lr":
            values[f.name] = Q(1, 3 + k)
        elif f.type in SEVERAL:
            values[f.name], flat[f.name] = GRAPH, P
    found = []
    for options in [{}, *([values] if values else []), *([values | flat] if flat else [])]:
        try:
            found.append(cls("1/10", **options))
        except BadInput:
            continue
    if any(f.name == "solver" for f in dataclasses.fields(cls)):
        found += [dataclasses.replace(found[-1], solver=solver) for solver in solvers()]
    return found


def solvers():
    """One instance of every solver and of every way to give its numbers."""
    found = []
    for cls in vars(fltheory.core.algorithms.solvers).values():
        if not (isinstance(cls, type) and hasattr(cls, "step")):
            continue
        names = [f.name for f in dataclasses.fields(cls)]
        together = [dict.fromkeys(names, Q(2, 5))] if len(names) > 1 else []
        for options in [{}, *({name: Q(2, 5)} for name in names), *together]:
            try:
                found.append(cls(**options))
            except (BadInput, TypeError):
                continue
    return found
