"""FedSGD: one step of size lr times the number of mini-batches, by their mean gradient at the server model."""

from tests.naive.vectors import add, scale, sub, zeros_like


def rounds(clients, x0, lr, schedule, noise=None):
    """The server model after each round; schedule and noise(round, place, k) as in fedavg.rounds."""
    x, history = x0, []
    for r, cohort in enumerate(schedule):
        p_cohort, move = sum(clients.p[i] for i, _ in cohort), zeros_like(x)
        for place, (i, batches) in enumerate(cohort):
            g = zeros_like(x)
            for k in range(batches):
                g = add(g, clients.grad(i, x))
                if noise is not None:
                    g = add(g, noise(r, place, k))
            y = sub(x, scale(lr * batches, [entry / batches for entry in g]))
            move = add(move, scale(clients.p[i] / p_cohort, sub(y, x)))
        x = add(x, move)
        history.append(x)
    return history
