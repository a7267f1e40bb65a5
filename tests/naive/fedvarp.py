"""FedVARP: x moves by the memory's mean plus the cohort's mean surprise; then the cohort's memory is renewed."""

from tests.naive.fedau import local
from tests.naive.vectors import add, mix, scale, sub, zeros_like


def rounds(clients, x0, lr, schedule, eta_g=1):
    """(x, [y_i]) after each round; a cohort is a list of (client, steps), an empty one still moves x."""
    x, y, history = x0, [zeros_like(x0)] * clients.n, []
    for cohort in schedule:
        new = {i: sub(x, local(clients, i, x, lr, steps)) for i, steps in cohort}
        move = mix(clients.p, y)
        if cohort:
            total = sum(clients.p[i] for i in new)
            move = add(move, mix([clients.p[i] / total for i in new], [sub(new[i], y[i]) for i in new]))
        x = sub(x, scale(eta_g, move))
        y = [new.get(i, y[i]) for i in range(clients.n)]
        history.append((x, y))
    return history
