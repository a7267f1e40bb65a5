"""Pencil proofs that a machine reads: named steps over free symbols, each an identity with signs, or a standard inequality.

argument: the proof and its steps; symbols and vectors: what they speak of; standard: what they may cite; assertion: what an
assertion of a test file compared.
"""
