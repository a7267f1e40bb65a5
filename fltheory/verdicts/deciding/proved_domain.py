"""What a proof covers: numbers of clients n, dimensions d, local steps tau, and what else a claim names.

What an argument reaches in general is declared, "all", and its `domain` says by which argument. Everything else is read off
the symbolic instances on which the proof was carried out, or off the settings that were certified. What is declared beyond them
and carried by no comparison that was checked (an induction or a `power_series` over the local steps, a statement for all spectra, a
proof) is shown as argued.
"""
from __future__ import annotations

import difflib
import re
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction

from fltheory.core.errors import refuse
from fltheory.core.evidence import HOLDS
from fltheory.core.kinds import Algorithm
from fltheory.core.numbers.scalars import Field, fraction
from fltheory.verdicts.deciding.at_instance import described
from fltheory.verdicts.deciding.evidence import CERTIFIED, PROVED
from fltheory.worstcase.classes import FunctionClass

KNOWN, ALL, NONE = ("n", "d", "tau"), "all", "none"
GENERAL = (*KNOWN, "law", "solver", "mu/L", "eta L")   # of which "all" or "none" can be said
LOCAL_STEPS = {"tau", "K", "E", "H", "k"}   # as papers write their number, in what an induction or a power is over
SPECTRA = "for all spectra"   # in the relation of a comparison that decides every dimension at once
SHOWN = 4   # values of one name that a label shows
NOTHING = {"", "0", "None", "False", "NoneType"}     # parameters of laws that say nothing


def check_covers(covers, id) -> dict:
    """The declared dictionary {name: "all", "none" (the statement has none) or the values in words}. Names of the claim's own have
    values, so that a misspelt name covers nothing by accident. Raises BadInput."""
    good = isinstance(covers, dict) and all(isinstance(k, str) and isinstance(v, str) and k.strip() and v.strip()
                                            for k, v in covers.items())
    if not good:
        refuse(f"covers of claim {id!r}", covers, 'is a dictionary of texts: "all", "none", or values such as "2, 3"',
               'For example covers={"tau": "all"}: what is left out is read off the symbolic instances.')
    for name, values in covers.items():
        near = difflib.get_close_matches(name.lower(), GENERAL, 1, 0.6)
        if name not in GENERAL and (values in (ALL, NONE) or near):
            refuse(f"covers of claim {id!r}", name, f"is none of {', '.join(GENERAL)}, and a name of your own has values in words",
                   f"Write {near[0]!r}." if near else 'For example covers={"tau": "all"} or covers={"order": "0 to 5"}.')
    return covers


def covered(claim, word) -> dict:
    """{name: "all" or values in words}: n, d and tau first, without those that the statement does not have; {} for words that
    need no such list."""
    if word == CERTIFIED and claim.over:
        values = _certified(claim.over) | claim.covers
        return {k: values[k] for k in dict.fromkeys((*KNOWN, *values)) if values.get(k, NONE) != NONE}
    if word != PROVED:
        return {}
    if claim.proof:   # its symbols stand for any number of clients, dimensions and local steps, unless the claim says otherwise
        values = dict.fromkeys(KNOWN, ALL) | claim.covers
        return {k: v for k, v in values.items() if v != NONE}
    words = {name: claim.covers.get(name) or _words(values) for name, values in _symbolic_values(claim).items()}
    return {k: v for k, v in (words | claim.covers).items() if v and v != NONE}


def argued(claim, word, verdicts) -> list:
    """Names of n, d and tau whose values rest on the claim's own words: declared beyond the instances or settings, by a claim
    without `proof`, of whose verdicts (`InstanceVerdict` each) no comparison decides every value at once."""
    if word not in (PROVED, CERTIFIED) or claim.proof:
        return []
    if word == CERTIFIED:
        known = _certified(claim.over)
        return [k for k in KNOWN if claim.over and claim.covers.get(k, NONE) not in (NONE, known.get(k))]
    decided = [c for v in verdicts for c in v.comparisons if c.status == HOLDS and c.evidence == "symbolic"]
    carried = {"d": any(SPECTRA in c.relation for c in decided),
               "tau": any(LOCAL_STEPS.intersection(re.findall(r"\w+", over)) for c in decided for over in c.every)}
    return [name for name, values in _symbolic_values(claim).items()
            if not _within(claim.covers.get(name, NONE), values) and not carried.get(name, False)]


def _symbolic_values(claim) -> dict:
    """The values that the symbolic instances have."""
    symbolic = [i for i in claim.on if isinstance(i.domain, Field)]
    return {"n": {i.problem.n for i in symbolic if hasattr(i.problem, "n")},
            "d": {i.problem.d for i in symbolic if hasattr(i.problem, "d")},
            "tau": {s for i in symbolic for s in _steps(i.algorithm)}}


def _within(declared, values) -> bool:
    """Whether the declared values in words ("2, 3", "1 to 5") are all among those seen."""
    if declared in (NONE, _words(values)):
        return True
    parts = [re.fullmatch(r"(\d+)(?: to (\d+))?", part.strip()) for part in declared.split(",")]
    return all(part and set(range(int(part[1]), int(part[2] or part[1]) + 1)) <= values for part in parts)


def domain(claim, word) -> str:
    """What exactly a PROVED or CERTIFIED verdict covers, in words; "" for other words."""
    if word not in (PROVED, CERTIFIED):
        return ""
    if word == PROVED or not claim.over:
        return claim.domain
    kinds = {described(kind) for i in claim.over for kind in (i.classes if isinstance(i.classes, (list, tuple)) else [i.classes])}
    words = f"one round, for all functions of {', '.join(sorted(kinds))} in every dimension, at {len(claim.over)} listed settings"
    return f"{words}; {claim.domain}" if claim.domain else words


def _certified(settings) -> dict:
    """What certified settings have: clients, local steps, solvers, laws, curvatures and steps in units of L, and every
    dimension."""
    values = {"n": {i.extra.get("n") for i in settings} - {None}, "tau": {s for i in settings for s in _steps(i.algorithm)},
             "law": _laws([i.law for i in settings if i.law is not None]), "mu/L": set(), "eta L": set()}
    solvers = {described(i.algorithm.solver) for i in settings if hasattr(i.algorithm, "solver")}
    values["solver"] = solvers if solvers - {"Vanilla"} else set()
    for i in settings:
        for kind in i.classes if isinstance(i.classes, (list, tuple)) else [i.classes]:
            if isinstance(kind, FunctionClass):
                L = fraction(kind.high)
                values["mu/L"].add(fraction(kind.low) / L)
                values["eta L"].add(fraction(i.algorithm.lr) * L)
    return {k: _words(v) for k, v in values.items() if v} | {"d": ALL}


def _laws(laws) -> set:
    """The laws by name, with all values of each parameter: WithReplacement(draws=1 or 2, probabilities=1/2 each or 1/3 each)."""
    kinds: dict[str, dict] = {}
    for law in laws:
        parameters = kinds.setdefault(described(law).partition("(")[0], {})
        for field in fields(law):
            value = getattr(law, field.name)
            each = isinstance(value, (tuple, list)) and len(value) > 1 and len(set(map(described, value))) == 1
            parameters.setdefault(field.name, {})[f"{described(value[0])} each" if each else described(value)] = None
    listed = {kind: [f"{name}={' or '.join(sorted(texts))}" for name, texts in parameters.items() if not set(texts) <= NOTHING]
              for kind, parameters in kinds.items()}
    return {kind + (f"({', '.join(texts)})" if texts else "") for kind, texts in listed.items()}


def _steps(algorithm: Algorithm | None) -> list:
    steps = getattr(algorithm, "steps", None)
    if isinstance(steps, tuple) and len(steps) == 1:
        steps = steps[0]
    return [] if not isinstance(steps, (int, tuple)) else [steps]


def _words(values) -> str:
    """2, 3 for few values; 1 to 5 for a range; 9 values from 1/90 to 1/8 for many; local steps of several clients as tuples;
    texts as they are."""
    numbers = sorted(v for v in values if isinstance(v, (int, Fraction)))
    tuples, texts = sorted(v for v in values if isinstance(v, tuple)), sorted(v for v in values if isinstance(v, str))
    whole = [v for v in numbers if isinstance(v, int)]
    if len(numbers) > 2 and numbers == whole == list(range(whole[0], whole[-1] + 1)):
        listed = [f"{numbers[0]} to {numbers[-1]}"]
    elif len(numbers) > SHOWN:
        listed = [f"{len(numbers)} values from {_short(numbers[0])} to {_short(numbers[-1])}"]
    else:
        listed = [_short(v) for v in numbers]
    listed += [*(f"({', '.join(map(str, v))})" for v in tuples), *texts]
    return ", ".join(listed[:SHOWN]) + (", ..." if len(listed) > SHOWN else "")


def _short(v) -> str:
    """A number exactly: 1/64, and 0.008018 for 4009/500000."""
    decimal = format(Decimal(v.numerator) / Decimal(v.denominator), "f")
    return decimal if v.denominator >= 1000 and Fraction(decimal) == v else str(v)


def label(word, covers, argued=()) -> str:
    """The word with what it covers: "PROVED for n = 2, 3 and all d, tau"; "" for words that need no such list. argued: names
    whose values stand apart, as what the claim argues."""
    if not covers:
        return word if word == PROVED else ""
    proved, claimed = ([(k, v) for k, v in covers.items() if (k in argued) == apart] for apart in (False, True))
    if not claimed:
        return f"{word} for {_listed(proved)}"
    return f"{word} for {_listed(proved)} and, as the claim argues, {_listed(claimed)}" if proved else \
        f"{word} for {_listed(claimed)}, as the claim argues"


def _listed(covers) -> str:
    limits = "; ".join(f"{k} = {v}" for k, v in covers if v != ALL)
    general = ", ".join(k for k, v in covers if v == ALL)
    return " and ".join([limits] * bool(limits) + [f"all {general}"] * bool(general))


def restricted(covers) -> bool:
    """Whether something is covered for some values only."""
    return any(v != ALL for v in covers.values())
