"""Asynchronous servers on an event clock, one heap of finish times, in floats."""

import heapq

from tests.naive.vectors import scale, sub


def run(clients, i, base, lr, K):
    """Delta of K local steps of client i from a model."""
    y = base
    for _ in range(K):
        y = sub(y, scale(lr, clients.grad(i, y)))
    return sub(y, base)


def events(clients, x0, lr, K0, c, arrivals, server, steps=lambda K, seen: K, r=None, hang=lambda event, i: 0):
    """The first arrivals as dicts of time, client, K, lag, elapsed and x, with what the server adds to them.

    server(x, base, delta, event) -> new model, or None where it stays for now; steps(K, event) -> K of the next run. A run of
    client i with K steps lasts c[i] K (1 + hang(event, i)) + r[i], event 0 for the first runs and k for those that start at the
    k-th arrival. Equal times are served in the order of the client index.
    """
    n, x, version = clients.n, x0, 0
    r = r or [0] * n
    base, K, born, began = [x0] * n, [K0] * n, [0] * n, [0] * n
    queue = [(c[i] * K0 + c[i] * K0 * hang(0, i) + r[i], i) for i in range(n)]
    heapq.heapify(queue)
    history = []
    for number in range(1, arrivals + 1):
        time, i = heapq.heappop(queue)
        event = {"time": time, "client": i, "K": K[i], "lag": version - born[i], "elapsed": time - began[i]}
        new = server(x, base[i], run(clients, i, base[i], lr, K[i]), event)
        x, version = (x, version) if new is None else (new, version + 1)
        event["x"] = x
        history.append(event)
        K[i] = steps(K[i], event)
        base[i], born[i], began[i] = x, version, time
        duration = c[i] * K[i]
        heapq.heappush(queue, (time + (duration + duration * hang(number, i) + r[i]), i))
    return history


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
