"""Bugs that this paper's claims reject: the engine's wrong rounds of residual learning, and what goes wrong elsewhere."""
from fltheory.mutants.local import one_step_less, one_step_more
from fltheory.mutants.memories import variates_never_updated
from fltheory.mutants.residual_models import (
    alpha_dropped,
    large_step_not_multiplied,
    local_prox_halved,
    local_prox_missing,
    local_prox_squared,
    local_steps_for_large_step,
    mean_is_late,
    mean_not_divided,
    old_theta_in_step_two,
    own_copy_goes_on,
    personal_averaged,
    personal_reset,
    personal_step_fewer,
    personal_step_with_lr,
    sequential_for_simultaneous,
    simultaneous_for_sequential,
    variates_dropped,
    variates_kept,
    variates_not_averaged,
)

__all__ = [
    "alpha_dropped", "large_step_not_multiplied", "local_prox_halved", "local_prox_missing",
    "local_prox_squared", "local_steps_for_large_step", "mean_is_late", "mean_not_divided",
    "old_theta_in_step_two", "one_step_less", "one_step_more", "own_copy_goes_on", "personal_averaged",
    "personal_reset", "personal_step_fewer", "personal_step_with_lr", "sequential_for_simultaneous",
    "simultaneous_for_sequential", "variates_dropped", "variates_kept", "variates_never_updated", "variates_not_averaged",
]
