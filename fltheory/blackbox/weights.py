"""Aggregation weights cohort by cohort, and the rules of averaging that explain them."""
from __future__ import annotations

import itertools

import numpy as np

from fltheory.blackbox.fits import mass
from fltheory.blackbox.result import Fault
from fltheory.core.numbers.text import number
from fltheory.mutants.averages import FACTORS, WEIGHTS, Members, normalised


def shares(box, problems, height, full, cohorts, moves=False):
    """{cohort: aggregation weights (n,)}; full: weights with everybody present; None stands for that cohort. moves: whether
    models move without any gradient, as under a weight decay."""
    out, ones = {None: np.array(full)}, np.ones(problems.d)
    instances = [problems.single(i, np.full(problems.d, height)) for i in range(problems.n)]
    still = problems.single(0, 0 * ones)

    def changes(cohort=None):
        rest = box.first(still, ones, cohort)[0] if moves else 1
        return [rest - box.first(inst, ones, cohort)[0] for inst in instances]
    whole = changes() if cohorts else []
    for cohort in cohorts:
        out[cohort] = np.array([f * r / w if w else np.nan for f, r, w in zip(full, changes(cohort), whole, strict=True)])
    return out


def rules(problems, fits, base):
    """Yield (clause, rule(cohort) -> weights (n,)); base: {cohort: the reference's weights}."""
    n, p = problems.n, np.array([float(w) for w in problems.weights])
    steps, masses = np.array([f.steps for f in fits]), np.array([f.mass for f in fits])
    alike = np.ptp(masses) <= 1e-9 * masses.max()

    def members(cohort):
        there = np.ones(n)
        if cohort is not None:
            there = np.zeros(n)
            np.add.at(there, list(cohort), 1)
        return Members(p, there, n, masses, steps)

    def on(rule):
        return lambda S: rule(members(S))

    for name, (clause, rule) in WEIGHTS.items():
        if not (alike and name in ("no tau", "cancelled")):   # equal normalisers show no effective number of steps
            yield clause, on(rule)
    if "alpha" in fits[0].extra:
        bare = np.array([mass(f.kind, f.steps, f.lr, f.extra | {"alpha": 0.0}) for f in fits])
        yield "the normaliser |a_i| ignores the proximal term", on(normalised(lambda a: bare))
        yield "the normaliser |a_i| ignores the proximal term, the effective number of steps does not", \
            on(normalised(lambda a: bare, lambda a: (a.share * a.mass).sum()))
    yield "the first participant's change is added twice", lambda S: base[S] * (1 + members(S).first)
    for clause, factor in FACTORS.values():
        yield clause, lambda S, factor=factor: base[S] * factor(members(S))
    yield "the changes are added up instead of averaged", lambda S: members(S).there
    for factor in (2, 0.5, float(n), 1 / n):
        yield f"the server applies the averaged change {number(factor)} times", lambda S, k=factor: base[S] * k
    for i, j in itertools.combinations(range(n), 2) if n <= 12 else ():
        swap = np.arange(n)
        swap[[i, j]] = j, i
        yield f"the weights of clients {i} and {j} are swapped", lambda S, w=swap: _swapped(base[S], p, w, S)


def _swapped(weights, p, swap, cohort):
    """The reference's weights (n,) of a cohort if two clients had each other's."""
    if cohort is None:
        return weights[swap]
    moved = weights * p[swap] / p                     # as if they had each other's data weight
    total = moved.sum()
    return moved * weights.sum() / total if total else moved


def furthest(weights, rule):
    """The largest deviation of a rule's weights from those seen, infinite where the rule says nothing."""
    gaps = [float(np.abs(weights[k] - rule(k)).max()) for k in weights]
    return max(gaps) if np.isfinite(gaps).all() else np.inf


def faults_of_weights(weights, base, fits, problems, tolerance, wanted=None):
    """Faults of the aggregation: weights per cohort, seen against the reference's. wanted: fits of the reference's local work,
    whose normalisers a code with other local work may still use."""
    slack = 30 * max(tolerance, 1e-8)
    if all(np.abs(weights[c] - base[c]).max() <= slack for c in weights):
        return []
    c = max(weights, key=lambda k: (not np.abs(weights[k] - base[k]).max() <= slack, k is None))
    where = "with all clients" if c is None else f"with cohort {list(c)}"
    evidence = f"{where} the weights are {_numbers(weights[c])}, the reference's {_numbers(base[c])}"
    weights = {k: v for k, v in weights.items() if np.isfinite(v).all()}
    out = []
    for work in (fits, wanted or ()):
        gaps = [(clause, furthest(weights, rule)) for clause, rule in rules(problems, work, base)] if work and not out else ()
        out += [Fault(clause, evidence, gap) for clause, gap in gaps if gap <= slack]
    out = out or [Fault(clause, evidence, gap) for clause, gap in _factors(weights, base, problems) if gap <= slack][:1]
    absent = [k for k in weights if k is not None and any(abs(weights[k][i]) > slack for i in range(problems.n) if i not in k)]
    if absent:
        out.insert(0, Fault(f"clients outside the cohort {list(absent[0])} change the model", evidence, tolerance))
    return out or [Fault("the aggregation weights are wrong", evidence, 1.0)]


def _factors(weights, base, problems):
    """Yield (clause, spread) of factors that every weight shares: over p_i, and over the reference's weights."""
    p = np.array([float(w) for w in problems.weights])
    over = np.concatenate([(v / p)[list(k) if k else slice(None)] for k, v in weights.items()])
    if len({len(k or p) for k in weights}) > 1:
        yield (f"the sum over the participants is divided by a fixed cohort size, {number(problems.n / over[0])} of "
               f"{problems.n} clients, however many take part"), float(np.ptp(over))
    ratio = np.concatenate([weights[k] / np.where(base[k] == 0, np.nan, base[k]) for k in weights])
    ratio = ratio[np.isfinite(ratio)]
    if len(ratio):
        sign = ": it has the wrong sign" if ratio[0] < 0 else ""
        yield f"the aggregated change is multiplied by {number(ratio[0])}{sign}", float(np.ptp(ratio))


def _numbers(values):
    return "(" + ", ".join(number(v) if v else "0" for v in values) + ")"
