"""Server momentum on FedNova's aggregated step; with a momentum solver this is the hybrid momentum of Section 5."""

from tests.naive import fednova
from tests.naive.vectors import add, scale, sub, zeros_like


def rounds(clients, x0, lr, schedule, beta, solver=None, tau_eff=None):
    """(x, v) after each round: v <- beta v + (x - x_agg)/lr, x <- x - lr v, x_agg is FedNova; v = 0 at the start."""
    x, v, history = x0, zeros_like(x0), []
    for cohort in schedule:
        (aggregated,) = fednova.rounds(clients, x, lr, [cohort], solver, tau_eff=tau_eff)
        v = add(scale(beta, v), scale(1 / lr, sub(x, aggregated)))
        x = sub(x, scale(lr, v))
        history.append((x, v))
    return history
