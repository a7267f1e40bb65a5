"""Methods side by side on one problem: what their operators predict, beside what runs measure."""
from fltheory.workbench.comparison.compare import compare
from fltheory.workbench.comparison.table import MethodTable

__all__ = ["MethodTable", "compare"]
