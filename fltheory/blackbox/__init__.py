"""Somebody else's training round, recovered from outside and compared with what it claims to be."""
