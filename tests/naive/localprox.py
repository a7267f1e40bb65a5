"""FedProx whose clients predict with their own copies (Federated Residual Learning, Eq 14)."""

from tests.naive.vectors import add, scale, sub, zeros_like


def rounds(clients, x0, lr, mu, schedule):
    """(x, [own_i]) after each round: copies before they are averaged; schedule as in fedavg.rounds."""
    x, own, history = x0, [x0] * clients.n, []
    for cohort in schedule:
        p_cohort, move = sum(clients.p[i] for i, _ in cohort), zeros_like(x)
        own = list(own)
        for i, steps in cohort:
            y = x
            for _ in range(steps):   # the local loss is f_i(y) + mu/2 |y - x|^2
                y = sub(y, scale(lr, add(clients.grad(i, y), scale(mu, sub(y, x)))))
            own[i] = y
            move = add(move, scale(clients.p[i] / p_cohort, sub(y, x)))
        x = add(x, move)
        history.append((x, own))
    return history
