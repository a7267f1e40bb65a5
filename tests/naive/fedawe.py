"""FedAWE: own models, changes echoed by the number of rounds since the client was last active."""

from tests.naive.fedau import local
from tests.naive.vectors import add, mix, scale, sub


def rounds(clients, x0, lr, schedule, eta_g=1, cap=None):
    """(x, [x_i]) after each round, and the ages r - last_i that the next round would use; cap: ages are cut there."""
    own, last, x, history = [x0] * clients.n, [-1] * clients.n, x0, []
    for r, cohort in enumerate(schedule):
        sent = []
        for i, steps in cohort:
            age = r - last[i] if cap is None else min(r - last[i], cap)
            u = local(clients, i, own[i], lr, steps)
            sent.append(add(own[i], scale(eta_g * age, sub(u, own[i]))))
        if cohort:
            total = sum(clients.p[i] for i, _ in cohort)
            x = mix([clients.p[i] / total for i, _ in cohort], sent)
            own = list(own)
            for i, _ in cohort:
                own[i], last[i] = x, r
        history.append((x, own, [r + 1 - k for k in last]))
        last = list(last)
    return history
