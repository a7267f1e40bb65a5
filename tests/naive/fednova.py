"""FedNova, x+ = x + tau_eff sum_i p_i Delta_i / |a_i|_1 (eq 12; Algorithm 1 under a partial cohort)."""

from tests.naive.fedavg import client_gradient, local_run, own
from tests.naive.vectors import add, scale, sub, zeros_like


def coefficients(steps, lr, solver=None):
    """a in Delta = -lr sum_k a_k g_k: the solver is run with the unit vector e_k as the k-th gradient."""

    def unit(k, y):
        return [int(j == k) for j in range(steps)]

    delta = local_run(unit, [0] * steps, lr, steps, solver)
    return [-entry / lr for entry in delta]


def norm1(steps, lr, solver=None):
    return sum(abs(entry) for entry in coefficients(steps, lr, solver))


def rounds(clients, x0, lr, schedule, solver=None, noise=None, tau_eff=None):
    """The server model after each round; schedule as in fedavg.rounds.

    The weights are renormalised over the cohort in both sums of Algorithm 1.  A given tau_eff replaces the
    default sum_i p_i |a_i|_1 in every round.
    """
    x, history = x0, []
    for r, cohort in enumerate(schedule):
        p_cohort = sum(clients.p[i] for i, _ in cohort)
        effective, direction = 0, zeros_like(x)
        for place, (i, steps) in enumerate(cohort):
            weight, norm = clients.p[i] / p_cohort, norm1(steps, lr, own(solver, i))
            y = local_run(client_gradient(clients, i, noise, r, place), x, lr, steps, own(solver, i))
            effective = effective + weight * norm
            direction = add(direction, scale(weight / norm, sub(y, x)))
        x = add(x, scale(effective if tau_eff is None else tau_eff, direction))
        history.append(x)
    return history
