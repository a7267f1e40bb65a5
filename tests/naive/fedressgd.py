"""FedResSGD (Federated Residual Learning), Algorithm 3, noiseless, all clients in every round."""

from tests.naive.fedresavg import mean
from tests.naive.vectors import add, scale, sub


def rounds(clients, w0, theta0, lr, personal_lr, steps, n_rounds):
    """(w, [theta_i]) after each round."""
    w, theta, history = w0, list(theta0), []
    for _ in range(n_rounds):
        theta_new, moves = [], []
        for i in range(clients.n):
            # Step 1: the personal part, w frozen
            t = theta[i]
            for _ in range(steps):
                _, gtheta = clients.grad(i, w, t)
                t = sub(t, scale(personal_lr, gtheta))
            # Step 2: one large batch, one large step
            gw, _ = clients.grad(i, w, t)
            w_i = sub(w, scale(lr * steps, gw))
            theta_new.append(t)
            moves.append(sub(w_i, w))
        w, theta = add(w, mean(moves)), theta_new
        history.append((w, theta))
    return history
