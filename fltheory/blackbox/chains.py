"""Code that draws its own cohorts with memory: transitions from set to set, counted along one long run against the chain."""
from __future__ import annotations

import itertools

import numpy as np

from fltheory.blackbox.box import Reference
from fltheory.blackbox.checks import find_height
from fltheory.blackbox.result import Fault, Identification, first_line, wrong_of
from fltheory.blackbox.sampling import LEVEL
from fltheory.core.errors import refuse
from fltheory.core.kinds import Algorithm, Law
from fltheory.core.numbers.text import number
from fltheory.core.statistics import EXPECTED, chi_square


def watch(box, problems, height, rounds):
    """Models (rounds, d) of consecutive rounds, each started at the model (1, .., 1), and the sets that moved.

    The code is reset once, at the beginning, so that its own memory of who took part runs on.
    """
    instance, ones = problems.axes(height), np.ones(problems.d)
    box.fresh()
    models = np.stack([box.call(ones, instance) for _ in range(rounds)])
    moved = np.abs(models - 1)[:, :problems.n] > 1e-7
    return instance, models, [tuple(int(i) for i in np.flatnonzero(row)) for row in moved]


def transitions(law: Law, n):
    """(sets, matrix (k, k) of floats) of a law's participation sets, which determine its modes; None if they do not."""
    if law.modes == 1:
        chances: dict = {}
        for chance, who, present in law.cohorts(n):
            members = np.arange(n)[who][np.asarray(present) > 0]
            key = tuple(sorted({int(i) for i in members}))
            chances[key] = chances.get(key, 0) + float(chance)
        return list(chances), np.array([list(chances.values())] * len(chances))
    sets = [tuple(sorted(s)) for s in getattr(law, "sets", ())]
    if len(sets) != law.modes or len(set(sets)) < len(sets):
        return None
    return sets, np.array([[float(v) for v in row] for row in law.chain()])


def counted(cohorts, sets):
    """(k, k) counts of the transitions between these sets, and the transitions that involve another one."""
    at, lost = {s: k for k, s in enumerate(sets)}, 0
    table = np.zeros((len(sets), len(sets)), dtype=int)
    for before, after in itertools.pairwise(cohorts):
        if before in at and after in at:
            table[at[before], at[after]] += 1
        else:
            lost += 1
    return table, lost


def against(cohorts, law: Law, n):
    """p-value of the transitions under a law: smallest of the rows', times the number of rows; 0 for impossible ones."""
    declared = transitions(law, n)
    if declared is None:
        return None
    sets, matrix = declared
    table, lost = counted(cohorts, sets)
    if lost or table[matrix == 0].sum():
        return 0.0
    rows = [chi_square(row[chances > 0], chances[chances > 0]) for row, chances in zip(table, matrix, strict=True) if row.sum()]
    return min(1.0, len(rows) * min(rows)) if rows else 1.0


def without_memory(cohorts):
    """p-value of the hypothesis that the next set does not depend on the present one; None where too little was seen."""
    from scipy.stats import chi2_contingency
    table = counted(cohorts, sorted(set(cohorts)))[0]
    table = table[table.sum(1) >= 20]
    if len(table) < 2:
        return None
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    many = expected.min(0) >= EXPECTED
    parts = [table[:, many], table[:, ~many].sum(1, keepdims=True)]
    table = np.concatenate([p for p in parts if p.sum()], axis=1)
    return None if table.shape[1] < 2 else float(chi2_contingency(table, correction=False).pvalue)


def worst_rows(cohorts, law: Law, n):
    """Faults: the transitions that are furthest from what the law expects, in standard deviations."""
    sets, matrix = transitions(law, n)
    table, _ = counted(cohorts, sets)
    visits = table.sum(1, keepdims=True)
    spread = np.sqrt(np.maximum(visits * matrix * (1 - matrix), 1e-9))
    gap, out = np.abs(table - visits * matrix) / spread, []
    for a, b in sorted(np.ndindex(table.shape), key=lambda k: -gap[k])[:2]:
        if gap[a, b] > 4:
            out.append(Fault(f"after {_set(sets[a])} came {_set(sets[b])} in {table[a, b]} of {visits[a, 0]} rounds, the chain "
                             f"expects {number(float(visits[a, 0] * matrix[a, b]))}", "counts along one run", 1 / gap[a, b]))
    return out


def _set(members):
    return "{" + ", ".join(map(str, members)) + "}"


def identify_chain(box, problems, algorithm: Algorithm | None, law: Law, bugs, tolerance, trials):
    """The `Identification` of code whose cohorts remember: `trials` consecutive rounds against the chain's transitions.

    Raises BadInput for algorithms with memories (who took part could not be read off), d < n, and chains whose modes are
    not their sets.
    """
    if algorithm is None or algorithm.stateful or hasattr(algorithm, "beta"):
        return refuse("algorithm", None if algorithm is None else type(algorithm).__name__, "has no memory where the law has one, "
                      "so that the models show who took part",
                      "Test the cohorts with FedAvg, or give the code a parameter `cohort`.")
    if box.template is not None or problems.d < problems.n:
        refuse("d", problems.d, f"at least one coordinate per client, so {problems.n}, in a code x -> x", "Use a larger d.")
    if transitions(law, problems.n) is None:
        refuse("law", str(law), "each set belongs to one mode", "Give the code a parameter `cohort`, which compares rounds alone.")
    height, n = find_height(box, problems, 3), problems.n
    full = law if law.steps is not None or getattr(law, "per_mode_steps", None) else law.with_steps(algorithm.steps)
    instance, models, cohorts = watch(box, problems, height, trials)
    allowed = tolerance or (1e-4 if box.precision > 1e-10 else 1e-8)
    reference, sets = Reference(algorithm, n, box.d, full.steps_of(n)), transitions(law, n)[0]
    ones, expected = np.ones(box.d), {}
    for mode, members in enumerate(sets):
        draw = full.support(n, mode)[0][1]
        expected[members] = reference.run(instance, ones, draws=[draw])[0]
    off = max((float(np.abs(x - expected[s]).max()) for x, s in zip(models, cohorts, strict=True) if s in expected), default=np.inf)
    value, strange = against(cohorts, law, n), sorted(set(cohorts) - set(sets))
    result = Identification("matches", "sets follow one another, and models come out, as the law and the algorithm say",
                            f"{algorithm!r} under {law}", deviation=off, tolerance=allowed)
    result.notes.append(f"{trials} consecutive rounds, transitions against the chain's: p = {value:.2g}, level {LEVEL:g}; the "
                        "first round's distribution is not tested")
    if value >= LEVEL and off <= allowed:
        return result.finish(box)
    result.verdict = "differs"
    result.reason = "sets do not follow one another as the chain says" if value < LEVEL else \
        "the models after a round are not the algorithm's"
    if value < LEVEL:
        for bug in bugs:
            wrong = wrong_of(bug, law, "law")
            p = None if wrong is None else against(cohorts, wrong, n)
            if p is not None and p >= LEVEL:
                result.faults.append(Fault(first_line(bug), f"it explains the transitions (p = {p:.2g}), what is stated does not",
                                           0.0, bug.__name__))
        p = without_memory(cohorts)
        if p is not None and p >= LEVEL:
            result.faults.append(Fault("the set of a round does not depend on the one before: all rows of the transition matrix "
                                       "are alike", f"counts along one run, p = {p:.2g}", 0.0))
        if strange:
            result.faults.append(Fault(f"sets take part that the chain does not know, such as {_set(strange[0])}",
                                       "read off the models", 0.0))
        result.faults += worst_rows(cohorts, law, n)
    if off > allowed:
        result.faults.append(Fault("the model after a round is not the algorithm's", "set by set", off))
    return result.finish(box)
