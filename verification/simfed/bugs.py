"""Bugs that this paper's claims reject: the engine's wrong rounds on similarity graphs, and of FedProx and averaging."""
from fltheory.mutants.averages import uniform_weights
from fltheory.mutants.local import (
    hidden_proximal,
    one_step_less,
    one_step_more,
    proximal_missing,
    proximal_repelling,
    proximal_squared,
    unscaled_proximal,
)
from fltheory.mutants.memories import data_weights_dropped
from fltheory.mutants.neighbour_averages import (
    absent_models_forgotten,
    beta_swapped,
    degrees_not_used,
    iterate_perturbed,
    neighbours_counted_alike,
    neighbours_of_this_round,
    own_for_neighbours,
    own_model_included,
    rows_not_normalised,
    server_for_neighbours,
)

__all__ = [
    "absent_models_forgotten", "beta_swapped", "data_weights_dropped", "degrees_not_used", "hidden_proximal", "iterate_perturbed",
    "neighbours_counted_alike", "neighbours_of_this_round", "one_step_less", "one_step_more", "own_for_neighbours",
    "own_model_included", "proximal_missing", "proximal_repelling", "proximal_squared", "rows_not_normalised",
    "server_for_neighbours", "uniform_weights", "unscaled_proximal",
]
