"""FedAU: the server divides by all clients, weights are running means of the intervals counted so far."""

from fractions import Fraction

from tests.naive.vectors import add, scale, sub, zeros_like


def local(clients, i, x, lr, steps):
    """Model of client i after its local steps from x."""
    for _ in range(steps):
        x = sub(x, scale(lr, clients.grad(i, x)))
    return x


def rounds(clients, x0, lr, schedule, eta_g=1, K=None, weights=None):
    """(x, [w_i], [M_i], [s_i]) after each round; a cohort is a list of (client, steps). weights: constant ones."""
    n = clients.n
    x, w, M, s, history = x0, [1] * n if weights is None else list(weights), [0] * n, [0] * n, []
    for cohort in schedule:
        move = zeros_like(x)
        for i, steps in cohort:
            move = add(move, scale(eta_g * clients.p[i] * w[i], sub(local(clients, i, x, lr, steps), x)))
        x = add(x, move)
        if weights is None:
            w, M, s = list(w), list(M), list(s)
            for i in range(n):
                s[i] += 1
                if i in [j for j, _ in cohort] or s[i] == K:
                    w[i] = s[i] if M[i] == 0 else Fraction(M[i] * w[i] + s[i], M[i] + 1)
                    M[i] += 1
                    s[i] = 0
        history.append((x, w, M, s))
    return history
