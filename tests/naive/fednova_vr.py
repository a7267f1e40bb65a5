"""FedNova with variance reduction and local momentum (Algorithm 2), line 13 as printed or repaired."""

from tests.naive.fedavg import own
from tests.naive.fednova import norm1
from tests.naive.vectors import add, mix, scale, sub, zeros_like


def local_run(clients, i, c, x, lr, steps, solver=None):
    """Local model and the raw gradients met on the way; every step uses g_i(y) + c."""
    name, *parameter = solver or ("vanilla",)
    y, u, raw = x, zeros_like(x), []
    for k in range(steps):
        raw.append(clients.grad(i, y))
        g = add(raw[-1], c)
        if name == "vanilla":
            y = sub(y, scale(lr, g))
        elif name == "proximal":
            y = sub(y, scale(lr, add(g, scale(parameter[0], sub(y, x)))))
        elif name == "momentum":
            u = add(scale(parameter[0], u), g)
            y = sub(y, scale(lr, u))
        elif name == "momentum, proximal":
            u = add(scale(parameter[0], u), g)
            y = sub(y, scale(lr, add(u, scale(parameter[1], sub(y, x)))))
        elif name == "decay":
            y = sub(y, scale(lr * parameter[0] ** k, g))
        else:
            raise ValueError(f"unknown solver {name!r}")
    return y, raw


def rounds(clients, x0, lr, steps, number, solver=None, printed=False):
    """(x, [d_i]) after each of `number` rounds of all clients; d_i = 0 before the first.

    Printed: d_i = (x - y)/(lr |a_i|_1), line 13.  Repaired: c_i is taken off again, as Section 5 defines d_i.
    """
    x, d, history = x0, [zeros_like(x0)] * clients.n, []
    for _ in range(number):
        mean = mix(clients.p, d)
        line13, stored, effective = [], [], 0
        for i in range(clients.n):
            c = sub(mean, d[i])
            y, _ = local_run(clients, i, c, x, lr, steps[i], own(solver, i))
            norm = norm1(steps[i], lr, own(solver, i))
            effective = effective + clients.p[i] * norm
            line13.append(scale(1 / (lr * norm), sub(x, y)))
            stored.append(line13[i] if printed else sub(line13[i], c))
        x = sub(x, scale(effective * lr, mix(clients.p, line13)))
        d = stored
        history.append((x, d))
    return history
