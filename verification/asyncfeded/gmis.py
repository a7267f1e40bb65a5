"""Algorithm 1 with the store of models that it describes (GMIS): all models by their index, or only those that clients hold.

Written after the pseudo-code, on the line: a client keeps the index of the model that it was sent, and the server looks that model
up when the update arrives. What local steps do is a closed form. Nothing of the engine is used.
"""
from math import floor


class Server:
    """store: {index: model}; prune: whether models that no client holds are dropped after each arrival."""

    def __init__(self, x, lam, eps, gbar, kappa, prune):
        self.t, self.x, self.store, self.prune = 1, x, {1: x}, prune
        self.lam, self.eps, self.gbar, self.kappa = lam, eps, gbar, kappa
        self.held, self.largest = {}, 1

    def send(self, client):
        """(model, its index) for a client."""
        self.held[client] = self.t
        return self.x, self.t

    def receive(self, client, delta, index, K):
        """(5) to (8) for an update that started from the model of that index; the client's next K."""
        old = self.store[index]
        gamma = abs(self.x - old) / abs(delta)
        self.x = self.x + self.lam / (gamma + self.eps) * delta
        self.t += 1
        self.store[self.t] = self.x
        self.held[client] = self.t
        if self.prune:
            self.store = {k: v for k, v in self.store.items() if k in self.held.values()}
        self.largest = max(self.largest, len(self.store))
        return max(1, K + floor((self.gbar - gamma) * self.kappa))


def run(server, change, paces, K, arrivals):
    """[(client, K, model afterwards)]; change(i, y, K): what K local steps of client i from y change."""
    due, K, at, seen = [c * k for c, k in zip(paces, K, strict=True)], list(K), [], []
    for i in range(len(paces)):
        at.append(server.send(i))
    for _ in range(arrivals):
        i = min(range(len(paces)), key=lambda j: (due[j], j))
        y, index = at[i]
        old, K[i] = K[i], server.receive(i, change(i, y, K[i]), index, K[i])
        seen.append((i, old, server.x))
        at[i] = server.send(i)
        due[i] += paces[i] * K[i]
    return seen
