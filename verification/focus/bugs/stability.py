"""Wrong variants for FOCUS's stability: empty rounds, independence."""
from dataclasses import replace

from fltheory.core.laws.memoryless import Bernoulli
from fltheory.core.laws.modes import Chain


def skips_empty_rounds(law):
    """The server stands still in rounds without participants."""
    return replace(law, empty="skip") if type(law) is Bernoulli and law.empty == "move" else None


def forgets_the_chain(law):
    """Rounds are drawn independently from the chain's stationary law."""
    if type(law) is not Chain:
        return None
    rows = tuple(law.stationary())
    return replace(law, matrix=(rows,) * law.modes, initial=None)


def one_step_only(algorithm):
    """Clients make a single local step whatever is asked for."""
    return None if algorithm.steps == 1 else replace(algorithm, steps=1)


def forgets_one_client(seen):
    """The last client is never counted as taking part."""
    return lambda law: [tuple(i for i in s if i != max(map(max, filter(None, law.sets)))) for s in law.sets]


skips_empty_rounds.of = forgets_the_chain.of = "law"
forgets_one_client.of = "seen"
