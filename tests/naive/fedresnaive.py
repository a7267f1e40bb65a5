"""FedResNaive (Federated Residual Learning), Algorithm 2, noiseless, all clients in every round."""

from tests.naive.fedresavg import mean
from tests.naive.vectors import add, scale, sub


def rounds(clients, w0, theta0, lr, personal_lr, steps, n_rounds, simultaneous=False):
    """(w, [theta_i]) after each round; the lines of the pseudo-code are one after the other, the text says at once."""
    w, theta, history = w0, list(theta0), []
    for _ in range(n_rounds):
        theta_new, moves = [], []
        for i in range(clients.n):
            w_i, t = w, theta[i]
            for _ in range(steps):
                before = w_i
                gw, _ = clients.grad(i, w_i, t)
                w_i = sub(w_i, scale(lr, gw))
                _, gtheta = clients.grad(i, before if simultaneous else w_i, t)
                t = sub(t, scale(personal_lr, gtheta))
            theta_new.append(t)
            moves.append(sub(w_i, w))
        w, theta = add(w, mean(moves)), theta_new
        history.append((w, theta))
    return history
