"""Batched runs, their audit by superposition, and their checkpoints."""
from fltheory.runs.batched import BLOCK, _device, provenance, run

__all__ = ["BLOCK", "_device", "provenance", "run"]
