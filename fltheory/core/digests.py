"""One hash of everything that a result depends on: SHA-256 of words, each after its length, so that no two lists of words are one
stream of bytes. What the words are stands where a result is made.
"""
from __future__ import annotations

import hashlib


class Digest:
    """A hash that is fed word by word."""

    def __init__(self):
        self._hash = hashlib.sha256()

    def add(self, *words: object):
        """The next words: bytes as they are, anything else by its text."""
        for word in words:
            data = word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogatepass")
            self._hash.update(len(data).to_bytes(8, "big") + data)

    def __str__(self) -> str:
        return self._hash.hexdigest()


def digest_of(parts) -> str:
    """The hash of pairs (name, content), in their order: of files by their names, of settings by theirs."""
    h = Digest()
    for name, content in parts:
        h.add(name, content)
    return str(h)
