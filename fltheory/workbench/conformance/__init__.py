"""The rules that a `round` must obey so that its operator, its exact arithmetic and its batched runs mean the same."""
from fltheory.workbench.conformance.report import Conformance, conforms
from fltheory.workbench.conformance.rules import RULES

__all__ = ["RULES", "Conformance", "conforms"]
