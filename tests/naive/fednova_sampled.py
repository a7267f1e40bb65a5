"""FedNova under the two sampling schemes of its footnote 1: a fixed tau_eff, weights independent of who is drawn."""

from tests.naive.fedavg import client_gradient, local_run, own
from tests.naive.fednova import norm1
from tests.naive.vectors import add, scale, sub, zeros_like


def rounds(clients, x0, lr, schedule, tau_eff, scheme, solver=None, noise=None):
    """The server model after each round; schedule and noise as in fedavg.rounds.

    Scheme "i" (draws proportional to p): each of the q places weighs 1/q, repeats are fresh runs.
    Scheme "ii" (uniform subsets): client i weighs p_i n/q.
    """
    x, history = x0, []
    for r, cohort in enumerate(schedule):
        direction = zeros_like(x)
        for place, (i, steps) in enumerate(cohort):
            weight = clients.p[i] / clients.p[i] if scheme == "i" else clients.p[i] * clients.n
            y = local_run(client_gradient(clients, i, noise, r, place), x, lr, steps, own(solver, i))
            direction = add(direction, scale(weight / (len(cohort) * norm1(steps, lr, own(solver, i))), sub(y, x)))
        x = add(x, scale(tau_eff, direction))
        history.append(x)
    return history
