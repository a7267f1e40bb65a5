"""Rounds as plain loops over numbers, laid out like the methods' pseudo-code: scalars, one client after the other.

f_i(x) = h_i/2 (x - c_i)^2. `noise` is a function (round, slot, client) -> number added to that gradient.
"""
import itertools
from fractions import Fraction as Q


def silent(t, slot, i):
    return 0


def average(members, p, values):
    whole = sum(p[i] for i in members)
    return sum(p[i] * values[i] for i in members) / whole


def local(h, c, x, lr, steps, i, t=0, noise=silent):
    for k in range(steps):
        x = x - lr * (h * (x - c) + noise(t, k, i))
    return x


def fedavg(h, c, p, lr, steps, cohorts, x, noise=silent):
    """Server models before rounds 0, 1, ..., len(cohorts); cohorts: the participants of every round."""
    out = [x]
    for t, members in enumerate(cohorts):
        if members:
            x = average(members, p, {i: local(h[i], c[i], x, lr, steps[i], i, t, noise) for i in members})
        out.append(x)
    return out


def server_momentum(h, c, p, lr, steps, beta, rounds, x):
    out, v = [x], 0
    for _ in range(rounds):
        y = [local(h[i], c[i], x, lr, steps[i], i) for i in range(len(h))]
        scale = sum(p[i] * steps[i] for i in range(len(h)))
        aggregated = x + scale * sum(p[i] * (y[i] - x) / steps[i] for i in range(len(h)))
        v = beta * v + (x - aggregated) / lr
        x = x - lr * v
        out.append(x)
    return out


def adaptive_server(h, c, p, lr, steps, server_lr, eps, rounds, x):
    out, v = [x], 0.0
    for _ in range(rounds):
        y = [local(h[i], c[i], x, lr, steps[i], i) for i in range(len(h))]
        scale = sum(p[i] * steps[i] for i in range(len(h)))
        step = scale * sum(p[i] * (y[i] - x) / steps[i] for i in range(len(h)))
        v = v + step * step
        x = x + server_lr * step / (v ** 0.5 + eps)
        out.append(x)
    return out


def neighbours(h, c, graph, lr, steps, beta, rounds, x):
    """w_i <- w_i - lr grad f_i(beta w_i + (1 - beta) u_i), u_i the neighbours' mean of the round before."""
    n = len(h)
    p = [sum(row) for row in graph]
    w, out = [x] * n, [x]
    for _ in range(rounds):
        new = []
        for i in range(n):
            u = sum(graph[i][j] * w[j] for j in range(n)) / p[i]
            y = x
            for _ in range(steps):
                y = y - lr * h[i] * (beta * y + (1 - beta) * u - c[i])
            new.append(y)
        w = new
        x = sum(p[i] * w[i] for i in range(n))
        out.append(x)
    return out


def residual_averaging(data, p, lr, personal_lr, alpha, steps, rounds, w):
    """FedResAvg; data: (a, b, c, bw, bt) per client, L = a w^2/2 + b w t + c t^2/2 - bw w - bt t."""
    n = len(data)
    theta, ci, cc, out = [0] * n, [0] * n, 0, [w]
    for _ in range(rounds):
        moved, fresh = [], []
        for i, (a, b, c, bw, bt) in enumerate(data):
            for _ in range(steps):
                theta[i] = theta[i] - personal_lr * (b * w + c * theta[i] - bt)
            y, total = w, 0
            for _ in range(steps):
                g = a * y + b * theta[i] - bw
                y, total = y - lr * (g - ci[i] + cc), total + g
            moved.append(y - w)
            fresh.append(total / steps)
        w = w + alpha * sum(p[i] * moved[i] for i in range(n))
        ci = fresh
        cc = sum(p[i] * ci[i] for i in range(n))
        out.append(w)
    return out


def scaffold(h, c, p, lr, steps, option, rounds, x, noise=silent):
    """SCAFFOLD with all clients; option 1 takes one more gradient at x, with a sample of its own."""
    n = len(h)
    v, vi, out = 0, [0] * n, [x]
    for t in range(rounds):
        moved, fresh = [], []
        for i in range(n):
            y = x
            for k in range(steps):
                y = y - lr * (h[i] * (y - c[i]) + noise(t, k, i) - vi[i] + v)
            moved.append(y - x)
            if option == 1:
                fresh.append(h[i] * (x - c[i]) + noise(t, steps, i))
            else:
                fresh.append(vi[i] - v + (x - y) / (steps * lr))
        x = x + sum(p[i] * moved[i] for i in range(n))
        v = v + sum(p[i] * (fresh[i] - vi[i]) for i in range(n))
        vi = fresh
        out.append(x)
    return out


def focus(h, c, lr, steps, cohorts, x, warm=False):
    """FOCUS along given cohorts; warm: gradients at the start are stored."""
    n = len(h)
    g = [h[i] * (x - c[i]) if warm else 0 for i in range(n)]
    y, out = sum(g), [x]
    for members in cohorts:
        change = 0
        for i in members:
            u, v = x, 0
            for _ in range(steps):
                new = h[i] * (u - c[i])
                v, g[i] = v + new - g[i], new
                u = u - lr * v
            change = change + v
        y = y + change
        x = x - lr * y
        out.append(x)
    return out


def proxskip(h, c, p, lr, chance, coins, x):
    """Iterations of all clients; a coin of 1 averages before the step, as the coded round does."""
    n = len(h)
    y, shift, out = [x] * n, [0] * n, [x]
    for coin in coins:
        if coin:
            x = sum(p[i] * y[i] for i in range(n))
            shift = [shift[i] + chance / lr * (x - y[i]) for i in range(n)]
            y = [x] * n
        y = [y[i] - lr * (h[i] * (y[i] - c[i]) - shift[i]) for i in range(n)]
        out.append(x)
    return out


def asynchronous(h, c, lr, lam, eps, gbar, kappa, steps, pace, rounds, x):
    """AsyncFedED: whose run ends first uploads; x <- x + lam/(gamma + eps) Delta with gamma = |x - base|/|Delta|."""
    n = len(h)
    base, K = [x] * n, list(steps)
    finish, out = [pace[i] * K[i] for i in range(n)], [x]
    for _ in range(rounds):
        i = finish.index(min(finish))
        delta = local(h[i], c[i], base[i], lr, int(K[i]), i) - base[i]
        gamma = abs(x - base[i]) / abs(delta)
        x = x + lam / (gamma + eps) * delta
        K[i] = max(1, K[i] + (gbar - gamma) * kappa // 1)
        base[i], finish[i] = x, finish[i] + pace[i] * K[i]
        out.append(x)
    return out


def hinged(h, c, lr, alpha, a, b, steps, pace, rounds, x):
    """FedAsync: x <- x + alpha s (y - x) for whose run ends first; s = 1/(a (lag - b) + 1) beyond a lag of b arrivals, else 1."""
    n = len(h)
    base, since, finish, out = [x] * n, [0] * n, [pace[i] * steps for i in range(n)], [x]
    for t in range(rounds):
        i = finish.index(min(finish))
        lag = t - since[i]
        share = alpha / (a * (lag - b) + 1) if lag > b else alpha
        x = x + share * (local(h[i], c[i], base[i], lr, steps, i) - x)
        base[i], since[i], finish[i] = x, t + 1, finish[i] + pace[i] * steps
        out.append(x)
    return out


def solved(grad, x, lr, steps, rho=0, alpha=0, gamma=1):
    """Local steps with heavy ball, with a pull to where they start, or with steps that decay."""
    y, u, size = x, 0, lr
    for _ in range(steps):
        u = rho * u + grad(y)
        y, size = y - size * u - alpha * (y - x), size * gamma
    return y


def normalised(h, c, p, lr, steps, rounds, x, alike=True, **solver):
    """Averages of what `solved` changes; alike: each divided by what it makes of unit gradients, and scaled by the mean of that."""
    out, every = [x], range(len(h))
    for _ in range(rounds):
        moved = [solved(lambda y, i=i: h[i] * (y - c[i]), x, lr, steps[i], **solver) - x for i in every]
        mass = [solved(lambda y: -1, 0, lr, steps[i], **solver) if alike else 1 for i in every]
        x = x + sum(p[i] * mass[i] for i in every) * sum(p[i] * moved[i] / mass[i] for i in every)
        out.append(x)
    return out


# ---- moments ----------------------------------------------------------------------------------------------
def expected(run, sequences):
    """(mean, mean square) per round of run(sequence) over [(probability, sequence)]."""
    total = None
    for q, sequence in sequences:
        path = [(q * v, q * v * v) for v in run(sequence)]
        total = path if total is None else [(a + m, b + s) for (a, b), (m, s) in zip(total, path, strict=True)]
    return total


def sequences(cohorts, rounds):
    """[(probability, cohorts of all rounds)] of independent rounds."""
    out = []
    for chosen in itertools.product(cohorts, repeat=rounds):
        q = Q(1)
        for chance, _ in chosen:
            q = q * chance
        out.append((q, [s for _, s in chosen]))
    return out


def with_noise(run, slots, variance):
    """(mean, mean square) per round of run(noise) under independent noise of this variance: by superposition, one unit
    of noise at a time. slots: the (round, slot, client) that exist."""
    quiet = run(silent)
    square = [v * v for v in quiet]
    for one in slots:
        bent = run(lambda *at, one=one: int(at == one))
        square = [s + variance * (b - q) ** 2 for s, b, q in zip(square, bent, quiet, strict=True)]
    return list(zip(quiet, square, strict=True))


def drawn(run, cohorts, rounds, slots, variance):
    """(mean, mean square) per round of run(cohorts of all rounds, noise) where both are drawn."""
    seen = [(q, with_noise(lambda noise, chosen=chosen: run(chosen, noise), slots, variance))
            for q, chosen in sequences(cohorts, rounds)]
    return [tuple(sum(q * path[t][k] for q, path in seen) for k in (0, 1)) for t in range(rounds + 1)]
