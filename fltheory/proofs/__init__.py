"""Pencil proofs that a machine reads: named steps over free symbols, each an identity with signs, or a standard inequality."""
