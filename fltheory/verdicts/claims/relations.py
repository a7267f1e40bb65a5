"""The relations of `core.relations`, where claim files look for them."""
from fltheory.core.relations import agrees, at_most, equal, equivalent, induction, limit, nonnegative

__all__ = ["agrees", "at_most", "equal", "equivalent", "induction", "limit", "nonnegative"]
