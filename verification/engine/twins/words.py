"""Words as numbers, so that a relation can compare them."""


def number(word) -> int:
    """A whole number that tells words apart."""
    return int.from_bytes(str(word).encode(), "big")
