"""FedAvg, x+ = x + sum_i p_i Delta_i, with any of the local solvers of the FedNova paper."""

from tests.naive.vectors import add, scale, sub, zeros_like


def local_run(gradient, x, lr, steps, solver=None):
    """The local model after `steps` steps from x; gradient(k, y) is used in step k = 0, 1, ..."""
    name, *parameter = solver or ("vanilla",)
    y = x
    u = zeros_like(x)
    for k in range(steps):
        g = gradient(k, y)
        if name == "vanilla":
            y = sub(y, scale(lr, g))
        elif name == "proximal":
            (mu,) = parameter
            y = sub(y, scale(lr, add(g, scale(mu, sub(y, x)))))
        elif name == "momentum":
            (rho,) = parameter
            u = add(scale(rho, u), g)
            y = sub(y, scale(lr, u))
        elif name == "momentum, proximal":
            rho, mu = parameter
            u = add(scale(rho, u), g)
            y = sub(y, scale(lr, add(u, scale(mu, sub(y, x)))))
        elif name == "decay":
            (gamma,) = parameter
            y = sub(y, scale(lr * gamma**k, g))
        else:
            raise ValueError(f"unknown solver {name!r}")
    return y


def own(solver, i):
    """The solver of client i: decays may be a list with one number per client."""
    return (*solver[:-1], solver[-1][i]) if solver and isinstance(solver[-1], list) else solver


def client_gradient(clients, i, noise, r, place):
    """gradient(k, y) of client i, run at this place of round r's cohort."""
    if noise is None:
        return lambda k, y: clients.grad(i, y)
    return lambda k, y: add(clients.grad(i, y), noise(r, place, k))


def rounds(clients, x0, lr, schedule, solver=None, noise=None):
    """The server model after each round.

    A round of the schedule is its cohort, a list of (client, steps).  A client listed twice makes two fresh
    runs and counts twice; an empty cohort keeps x.  noise(round, place in the cohort, k), a vector,
    is added to the gradient of step k.
    """
    x, history = x0, []
    for r, cohort in enumerate(schedule):
        p_cohort = sum(clients.p[i] for i, _ in cohort)
        move = zeros_like(x)
        for place, (i, steps) in enumerate(cohort):
            y = local_run(client_gradient(clients, i, noise, r, place), x, lr, steps, own(solver, i))
            move = add(move, scale(clients.p[i] / p_cohort, sub(y, x)))
        x = add(x, move)
        history.append(x)
    return history
