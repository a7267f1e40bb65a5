"""Defects of public code around FOCUS: shared storage, MIFA's sign, SCAFFOLD's divisor and variate, equal rows.

Those of FOCUS's own repository are read from its two public versions, the server variate's from a ProxSkip repository.
FedAU's and MIFA's other defects are `figures.fedau_counter_stuck`, `figures.mifa_previous_local_model`,
`baselines.weights_normalised` and `baselines.current_interval_counts`.
"""
from fltheory.mutants.laws import equal_rows
from fltheory.mutants.local import shared_storage
from fltheory.mutants.memories import VARIATES, fixed_divisor, mifa_ascent

variate_drifts = VARIATES["variate_drifts"]

__all__ = ["equal_rows", "fixed_divisor", "mifa_ascent", "shared_storage", "variate_drifts"]
