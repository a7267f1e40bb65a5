"""Batched runs, their audit by superposition, and their checkpoints."""
from fltheory.runs.batched import BLOCK, run
from fltheory.runs.preparation import device_name as _device
from fltheory.runs.preparation import provenance

__all__ = ["BLOCK", "_device", "provenance", "run"]
