"""Bugs that FedNova's claims must reject, of public federated code and of the same kinds: by name, from the engine's catalogue.

Only variants that still converge count. `of = "table"` marks bugs of a table of printed results.
"""
from fltheory.mutants.averages import (
    fednova_scaled_up,
    first_client_twice,
    normaliser_counts_steps,
    normaliser_missing,
    renormalised_weights,
    server_step_two,
    shares_not_renormalised,
    tau_eff_halved,
    uniform_weights,
    weights_not_renormalised,
)
from fltheory.mutants.laws import one_draw_less, shared_steps, without_replacement
from fltheory.mutants.local import (
    dampened_momentum,
    decayed_step,
    early_decay,
    hidden_proximal,
    nesterov_momentum,
    normaliser_of_public_code,
    one_step_more,
    proximal_missing,
    proximal_not_squared,
    proximal_repelling,
    proximal_squared,
    unscaled_proximal,
)
from fltheory.mutants.memories import VARIATES, corrections_kept, mean_divisor, own_divisor

control_unweighted, control_wrong_steps = VARIATES["control_unweighted"], VARIATES["control_wrong_steps"]


def columns_swapped(table):
    """A table of (baseline, method) pairs is read with its columns swapped."""
    return {k: pair[::-1] for k, pair in table.items() if None not in pair}


def vanilla_and_momentum_swapped(table):
    """A table by (epochs, optimiser) is read with two of its rows swapped."""
    other = {"vanilla": "momentum", "momentum": "vanilla"}
    return {(e, o): table[e, other.get(o, o)] for e, o in table}


columns_swapped.of = vanilla_and_momentum_swapped.of = "table"

__all__ = [
    "columns_swapped", "control_unweighted", "control_wrong_steps", "corrections_kept", "dampened_momentum", "decayed_step",
    "early_decay", "fednova_scaled_up", "first_client_twice", "hidden_proximal", "mean_divisor", "nesterov_momentum",
    "normaliser_counts_steps", "normaliser_missing", "normaliser_of_public_code", "one_draw_less", "one_step_more", "own_divisor",
    "proximal_missing", "proximal_not_squared", "proximal_repelling", "proximal_squared", "renormalised_weights", "server_step_two",
    "shared_steps", "shares_not_renormalised", "tau_eff_halved", "uniform_weights", "unscaled_proximal",
    "vanilla_and_momentum_swapped", "weights_not_renormalised", "without_replacement",
]
