"""Asynchronous servers on an event clock, one heap of finish times, in floats."""

import heapq
import math

from tests.naive.vectors import add, scale, sub, zeros_like


def run(clients, i, base, lr, K, rho=0, mu=0, u=None, noise=lambda k: None):
    """(Delta, u) after K local steps of client i from a model: u <- rho u + g, y <- y - lr (u + mu (y - base))."""
    y, u = base, zeros_like(base) if u is None else u
    for k in range(K):
        g, xi = clients.grad(i, y), noise(k)
        u = add(scale(rho, u), g if xi is None else add(g, xi))
        y = sub(y, scale(lr, add(u, scale(mu, sub(y, base))) if mu else u))
    return sub(y, base), u


def events(clients, x0, lr, K0, c, arrivals, server, steps=lambda K, seen: K, r=None, hang=lambda event, i: 0,
           wait=lambda event, i: 0, rho=0, mu=0, kept=False, decay=1, noise=lambda event, k: None):
    """The first arrivals as dicts of time, client, K, lag, elapsed and x, with what the server adds to them.

    server(x, base, delta, event) -> new model, or None where it stays for now; steps(K, event) -> K of the next run, whose whole
    part is run; who has none left does not come again. A run of client i with K steps lasts
    c[i] K (1 + hang(event, i)) + wait(event, i) + r[i], event 0 for the first runs and k for those that start at the k-th arrival.
    Equal times are served in the order of the client index. kept: the momentum u goes on where the client's last run left it;
    decay: the local step of a client's later runs is that often smaller; noise(event, k): of local step k of an arrival's run.
    """
    n, x, version = clients.n, x0, 0
    r = r or [0] * n
    base, K, born, began, u, rate = [x0] * n, [K0] * n, [0] * n, [0] * n, [None] * n, [lr] * n

    def duration(event, i):
        length = c[i] * math.floor(K[i])
        return length + length * hang(event, i) + wait(event, i) + r[i]
    queue = [(duration(0, i), i) for i in range(n)]
    heapq.heapify(queue)
    history = []
    for number in range(1, arrivals + 1):
        if not queue:
            break
        time, i = heapq.heappop(queue)
        event = {"time": time, "client": i, "K": math.floor(K[i]), "lag": version - born[i], "elapsed": time - began[i],
                 "version": born[i]}
        delta, end = run(clients, i, base[i], rate[i], math.floor(K[i]), rho, mu, u[i], lambda k, number=number: noise(number, k))
        new = server(x, base[i], delta, event)
        x, version = (x, version) if new is None else (new, version + 1)
        event["x"], event["step"] = x, version
        history.append(event)
        K[i] = steps(K[i], event)
        base[i], born[i], began[i], rate[i] = x, version, time, rate[i] * decay
        u[i] = end if kept else None
        if K[i] >= 1:
            heapq.heappush(queue, (time + duration(number, i), i))
    return history


def rounds(clients, x0, lr, K, c, number, weights, r=None, hang=lambda event, i: 0, wait=lambda event, i: 0):
    """[(time, x)] of federated averaging whose server waits for everybody: event t for runs that start with round t = 0, 1, .."""
    n, x, time, out = clients.n, x0, 0, []
    r = r or [0] * n
    for t in range(number):
        deltas = [run(clients, i, x, lr, K)[0] for i in range(n)]
        x = [v + sum(w * d[k] for w, d in zip(weights, deltas, strict=True)) for k, v in enumerate(x)]
        time += max(c[i] * K + c[i] * K * hang(t, i) + wait(t, i) + r[i] for i in range(n))
        out.append((time, x))
    return out


def fedasync(alpha, kind="constant", a=1, b=0, unit="lag"):
    """x <- (1 - w) x + w y_K."""
    def server(x, base, delta, event):
        late = event["lag" if unit == "lag" else "elapsed"]
        s = {"constant": 1, "hinge": 1 if late <= b else 1 / (a * (late - b) + 1), "polynomial": (1 + late) ** -a}[kind]
        return [(1 - alpha * s) * u + alpha * s * (v + w) for u, v, w in zip(x, base, delta, strict=True)]
    return server


def fedbuff(size, server_lr):
    """x <- x + server_lr times the mean of `size` changes."""
    waiting = []

    def server(x, base, delta, event):
        waiting.append(delta)
        if len(waiting) < size:
            return None
        new = [u + server_lr * sum(v) / size for u, v in zip(x, zip(*waiting, strict=True), strict=True)]
        waiting.clear()
        return new
    return server
