"""Local SGD with partial averaging: everybody steps from its own model, those present leave with their mean."""

from tests.naive.vectors import mix, scale, sub


def rounds(clients, x0, lr, schedule):
    """(last average, [x_i]) after each round; a round is (steps of every client, participants)."""
    own, average, history = [x0] * clients.n, x0, []
    for steps, present in schedule:
        own = list(own)
        for i in range(clients.n):
            for _ in range(steps[i]):
                own[i] = sub(own[i], scale(lr, clients.grad(i, own[i])))
        if present:
            total = sum(clients.p[i] for i in present)
            average = mix([clients.p[i] / total for i in present], [own[i] for i in present])
            for i in present:
                own[i] = average
        history.append((average, own))
    return history
