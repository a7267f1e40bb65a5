"""Wrong participation: laws that are easily mistaken for one another."""
from __future__ import annotations

from dataclasses import replace
from functools import wraps

from fltheory.core.kinds import Law
from fltheory.core.laws.base import RandomSteps
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform, WithReplacement
from fltheory.core.laws.modes import Chain
from fltheory.core.laws.weighted import Weighted


def of_law(kind, when=None):
    """Decorator: a function law -> wrong law as the mutant of laws of exactly this kind (None: of any)."""
    def mutant_of(change):
        @wraps(change)
        def mutant(law: Law):
            fits = kind is None or type(law) is kind
            return change(law) if fits and (when is None or when(law)) else None
        mutant.of = "law"
        return mutant
    return mutant_of


def _same(law: Law):
    return {"steps": law.steps, "noise": law.noise, "batch": law.batch}


@of_law(WithReplacement, lambda law: law.draws > 1)
def without_replacement(law: WithReplacement):
    """Scheme (i) draws without replacement."""
    return Uniform(law.draws, **_same(law))


@of_law(WithReplacement, lambda law: law.draws > 1)
def one_draw_less(law: WithReplacement):
    """One client fewer is drawn each round."""
    return replace(law, draws=law.draws - 1)


@of_law(Uniform)
def one_client_more(law: Uniform):
    """One client more is drawn each round."""
    return replace(law, m=law.m + 1)


@of_law(Uniform)
def everybody_takes_part(law: Law):
    """All clients take part in every round."""
    return Full(**_same(law))


@of_law(Bernoulli, lambda law: law.empty == "redraw")
def keeps_empty_rounds(law: Bernoulli):
    """Rounds without participants are not drawn again: the server keeps its model."""
    return replace(law, empty="move")


@of_law(Bernoulli, lambda law: law.empty == "move")
def skips_empty_rounds(law: Bernoulli):
    """The server stands still in rounds without participants."""
    return replace(law, empty="skip")


@of_law(None, lambda law: isinstance(law.steps, RandomSteps))
def shared_steps(law: Law):
    """One number of local steps is drawn for all clients instead of one each."""
    return replace(law, steps=replace(law.steps, independent=False))


@of_law(Chain)
def forgets_the_chain(law: Chain):
    """Rounds are drawn independently from the chain's stationary law."""
    return replace(law, matrix=(tuple(law.stationary()),) * law.modes, initial=None)


@of_law(Chain, lambda law: law.modes > 1)
def equal_rows(law: Chain):
    """All rows of the transition matrix are the first one: rounds are independent, the chain has no memory."""
    first = tuple(law.chain()[0])
    return replace(law, matrix=(first,) * law.modes, initial=first)


def rivals(law: Law, n, weights):
    """Yield (clause, law) of laws of n clients that are easily mistaken for the one given; weights: p_i of the problem."""
    if isinstance(law, WithReplacement):
        yield from _of_drawing(law, n, weights)
    elif type(law) is Uniform:
        yield from _of_cohorts(law, n, weights)
    elif type(law) is Bernoulli:
        yield from _of_coins(law, n)
    if isinstance(law.steps, RandomSteps):
        yield from _of_steps(law, law.steps)


def _of_drawing(law: WithReplacement, n, weights):
    """Of clients that are drawn one after the other and put back."""
    same, q, chances = {"steps": law.steps}, law.draws, law.probabilities
    if 1 < q <= n:
        yield "clients are drawn without replacement instead of with", without_replacement(law)
        if chances is not None and all(chances):
            yield "clients are drawn without replacement, one after the other, instead of with replacement", \
                Weighted(q, chances, replace=False, **same)
    for more in (-1, 1):
        if q + more >= 1:
            yield f"{q + more} clients are drawn each round instead of {q}", replace(law, draws=q + more)
    if chances is not None:
        yield "clients are drawn uniformly, not with the stated probabilities", WithReplacement(q, **same)
    else:
        yield "clients are drawn with probabilities p_i instead of uniformly", WithReplacement(q, weights, **same)


def _of_cohorts(law: Uniform, n, weights):
    """Of cohorts of one size, all equally likely."""
    same = {"steps": law.steps}
    for more in (-1, 1):
        if 1 <= law.m + more <= n:
            yield f"{law.m + more} clients take part each round instead of {law.m}", replace(law, m=law.m + more)
    yield "clients are drawn with replacement instead of without", WithReplacement(law.m, **same)
    if law.m < n:
        yield f"every client takes part independently with probability {law.m}/{n}", Bernoulli(f"{law.m}/{n}", **same)
    yield "clients are drawn with probabilities p_i, without replacement", Weighted(law.m, weights, replace=False, **same)


def _of_coins(law: Bernoulli, n):
    """Of clients that each take part independently."""
    mean = sum(law.inclusion(n, 0))
    if mean.denominator == 1 and 1 <= mean <= n:
        yield f"exactly {mean} clients take part each round instead of an independent choice", Uniform(int(mean), steps=law.steps)
    for empty in ("move", "skip", "redraw"):
        if empty != law.empty:
            yield f"empty rounds are treated as {empty!r} instead of {law.empty!r}", replace(law, empty=empty)


def _of_steps(law: Law, steps: RandomSteps):
    """Of local steps that are drawn afresh every round."""
    if steps.independent:
        yield "one number of local steps is drawn for all clients instead of one each", shared_steps(law)
    elif not any(isinstance(s, tuple) for _, s in steps.choices):
        yield "every client draws its own number of local steps instead of one shared by all", \
            replace(law, steps=replace(steps, independent=True))
    yield "every client always makes the same number of local steps", replace(law, steps=steps.choices[0][1])
