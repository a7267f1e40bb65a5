"""Code that draws its own cohorts: outputs counted over many rounds against the law."""
from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fltheory.blackbox.box import Reference
from fltheory.blackbox.checks import find_height
from fltheory.blackbox.result import Fault, Identification, first_line, wrong_of
from fltheory.core.errors import TooLarge, refuse
from fltheory.core.kinds import Algorithm, Law
from fltheory.core.laws.memoryless import Full
from fltheory.core.statistics import chi_square
from fltheory.mutants.laws import rivals

LEVEL = 1e-4


@dataclass
class Sampled:
    """Outputs of many rounds from the same start, and who moved in each (trials, n), None where d < n."""

    outputs: np.ndarray
    who: np.ndarray | None


def collect(box, problems, height, trials):
    """`trials` rounds from the model (1, .., 1); client i acts along axis i mod d."""
    instance, ones = problems.axes(height), np.ones(problems.d)
    outputs = np.stack([box.first(instance, ones) for _ in range(trials)])
    who = np.abs(outputs - 1) > 1e-7 if problems.d >= problems.n else None
    return instance, Sampled(outputs, None if who is None else who[:, :problems.n])


def dictionary(reference, instance, law: Law, n):
    """[(output (d,), probability)] of one round over all outcomes of a law."""
    if law.modes > 1:
        refuse("law", str(law), "has memory (modes); a black box is tested against laws that draw every round afresh",
               "Give the code a parameter `cohort`, which compares the rounds alone.")
    outcomes = law.support(n, 0, limit=20_000)
    ones = np.ones(instance.d)
    return [(reference.run(instance, ones, draws=[draw])[0], float(prob)) for prob, draw in outcomes]


def counts(sampled, table, tolerance):
    """(observed counts, probabilities, number of outputs that no outcome explains), outcomes with one output merged."""
    keys, probabilities = [], []
    for output, prob in table:
        for k, key in enumerate(keys):
            if np.abs(key - output).max() <= tolerance:
                probabilities[k] += prob
                break
        else:
            keys.append(output)
            probabilities.append(prob)
    gaps = np.stack([np.abs(sampled.outputs - key).max(1) for key in keys], axis=1)
    nearest = gaps.argmin(1)
    near = gaps.min(1) <= tolerance
    return np.bincount(nearest[near], minlength=len(keys)), np.array(probabilities), int((~near).sum())


def against(sampled, reference, instance, law: Law, tolerance):
    """(p-value of the whole distribution, share of unexplained outputs)."""
    observed, probabilities, lost = counts(sampled, dictionary(reference, instance, law, instance.n), tolerance)
    if lost == len(sampled.outputs):
        return 0.0, 1.0
    return chi_square(observed, probabilities), lost / len(sampled.outputs)


def participation(sampled, law: Law, n, level):
    """Faults of inclusion and pair frequencies, which need no reference: two-sided binomial tests at `level`."""
    if sampled.who is None:
        return []
    from scipy.stats import binomtest
    trials, out = len(sampled.who), []
    single = [float(v) for v in law.inclusion(n, 0)]
    pairs = np.array(law.pairs(n, 0), dtype=float)
    together = sampled.who.T.astype(int) @ sampled.who.astype(int)
    tests: list = [((i,), int(together[i, i]), single[i]) for i in range(n)]
    tests += [((i, j), int(together[i, j]), pairs[i, j]) for i in range(n) for j in range(i)]
    for members, k, p in tests:
        value = binomtest(k, trials, min(max(p, 0.0), 1.0)).pvalue
        if value < level / len(tests):
            name = f"client {members[0]}" if len(members) == 1 else f"clients {members[1]} and {members[0]} together"
            out.append(Fault(f"{name} took part in {k} of {trials} rounds, the law expects {p * trials:.0f}",
                             f"binomial test, p = {value:.1g}", float(value)))
    return sorted(out, key=lambda f: f.residual)[:3]


def identify_draws(box, problems, algorithm: Algorithm | None, law: Law, bugs, tolerance, trials):
    """The `Identification` of code that draws its own cohorts or steps: `trials` rounds against the law's outcomes."""
    if algorithm is None:
        return refuse("algorithm", None, "testing the code's own draws needs the algorithm", 'Name it: ft.FedAvg("1/20", 5).')
    full = law if law.steps is not None else law.with_steps(algorithm.steps)
    plain = algorithm if law.steps is None else replace(algorithm, steps=None)
    if box.takes_cohort:
        full = Full(steps=full.steps)
    instance, sampled = collect(box, problems, find_height(box, problems, 3), trials)
    allowed = tolerance or (1e-4 if box.precision > 1e-10 else 1e-8)

    def test(method, chances):
        """(p-value, share of unexplained outputs), or None where the law has too many outcomes."""
        if law.steps is None and method.steps is not None:
            chances = replace(chances, steps=method.steps)
        try:
            return against(sampled, Reference(method, box.n, box.d, chances.steps), instance, chances, allowed)
        except TooLarge:
            return None

    outcome = test(algorithm, full)
    result = Identification("matches", "the models are distributed as the law and the algorithm say",
                            f"{plain!r} under {full}", tolerance=allowed)
    if outcome is not None:
        value, strange = outcome
        result.notes.append(f"{trials} rounds against the law's distribution of outcomes: p = {value:.2g}, level {LEVEL:g}")
        if value >= LEVEL / 2 and not strange:
            return result.finish(box)
    result.faults = participation(sampled, full, box.n, LEVEL / 2)
    if outcome is None and not result.faults:
        result.verdict = "inconclusive"
        result.reason = "inclusion and pair frequencies agree; the law has too many outcomes for a test of the models"
        return result.finish(box)
    result.verdict, result.reason = "differs", "the rounds are not distributed as the law and the algorithm say"
    if outcome is not None:
        named = list(_explaining(_suspects(algorithm, full, bugs, problems.weights), test))
        outside = [Fault("the code returns models that no outcome of the law can give", f"{strange:.1%} of the rounds", strange)]
        result.faults = named + result.faults + (outside if strange else [])
    return result.finish(box)


def _suspects(algorithm: Algorithm, law: Law, bugs, weights):
    """Yield (clause, algorithm, law, name of the bug or None): what may act instead of what is stated."""
    for bug in bugs:
        wrong = wrong_of(bug, law, "law")
        if wrong is not None:
            yield first_line(bug), algorithm, wrong, bug.__name__
    for bug in bugs:
        wrong = wrong_of(bug, algorithm)
        if wrong is not None:
            yield first_line(bug), wrong, law, bug.__name__
    for sentence, wrong in rivals(law, len(weights), [str(w) for w in weights]):
        yield sentence, algorithm, wrong, None


def _explaining(suspects, test):
    """Faults: the suspects whose distribution the outputs have."""
    for sentence, algorithm, law, name in suspects:
        outcome = None if law is None else test(algorithm, law)
        if outcome is not None and not outcome[1] and outcome[0] >= LEVEL:
            yield Fault(sentence, f"it explains the outputs (p = {outcome[0]:.2g}), what is stated does not", 0.0, name)
