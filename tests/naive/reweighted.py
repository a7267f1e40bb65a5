"""Known participation probabilities: every update is divided by its client's own."""

from tests.naive.fedau import local
from tests.naive.vectors import add, scale, sub, zeros_like


def rounds(clients, x0, lr, schedule, chances, eta_g=1):
    """x after each round; a cohort is a list of (client, steps)."""
    x, history = x0, []
    for cohort in schedule:
        move = zeros_like(x)
        for i, steps in cohort:
            move = add(move, scale(eta_g * clients.p[i] / chances[i], sub(local(clients, i, x, lr, steps), x)))
        x = add(x, move)
        history.append(x)
    return history
