"""Wrong variants for FOCUS's stability: empty rounds, independence."""
from fltheory.mutants.laws import forgets_the_chain, skips_empty_rounds
from fltheory.mutants.local import one_step_only


def forgets_one_client(seen):
    """The last client is never counted as taking part."""
    return lambda law: [tuple(i for i in s if i != max(map(max, filter(None, law.sets)))) for s in law.sets]


forgets_one_client.of = "seen"

__all__ = ["forgets_one_client", "forgets_the_chain", "one_step_only", "skips_empty_rounds"]
