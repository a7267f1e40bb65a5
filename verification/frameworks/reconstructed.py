"""Rounds written anew after published research repositories, in two functions each, as (local_train, aggregate).

A reconstruction says what these lines do. It gives no verdict on the repository: versions, options and callers differ.
"""
from __future__ import annotations

import copy

import torch

LR, STEPS = 1 / 20, (1, 3, 5)


def steps_of(client, steps):
    return steps[client.index] if isinstance(steps, (tuple, list)) else steps


def sgd(model, client, steps, correction=None, rho=0):
    """Local SGD as these codes write it, with a correction added to each gradient."""
    optimiser, criterion = torch.optim.SGD(model.parameters(), lr=LR, momentum=rho), torch.nn.CrossEntropyLoss()
    for _ in range(steps_of(client, steps)):
        for X, y in client.loader:
            optimiser.zero_grad()
            criterion(model(X), y.long()).backward()
            for p, extra in zip(model.parameters(), correction or [], strict=False):
                p.grad += extra
            optimiser.step()


def mean_of(states, weights):
    return {k: sum(w * s[k] for w, s in zip(weights, states, strict=True)) for k in states[0]}


def fedavg(steps=3):
    """FedAvg on state dicts, weighted by rows, as in PFLlib, FL-bench and NIID-Bench."""
    def aggregate(model, states, clients):
        total = sum(c.size for c in clients)
        return mean_of(states, [c.size / total for c in clients])

    def train(model, client):
        sgd(model, client, steps)
        return model.state_dict()

    return train, aggregate


def zeros(model):
    return [torch.zeros_like(p) for p in model.parameters()]


def scaffold(steps=3, stored=True, used=True, variate="plain", model_weights="plain"):
    """SCAFFOLD, option II, with its variates in lists of tensors.

    stored=False: the client computes its new variate and the change, and the store that is read in the next round is never
    written, as in FL-bench's server at 06e658b. used=False: the correction is added to tensors that are no parameters and have
    no gradient, so that no step sees it, as in FedLab's repository at 92552a7 (its release 1.3.0 uses it). model_weights: a
    "plain" mean over the participants, or one by "rows"; variate: the clients' changes count 1/n each ("plain"), or by their
    share of all rows ("rows").
    """
    def train(model, client):
        c = client.server.setdefault("c", zeros(model))
        own = client.memory.get("c_i", zeros(model))
        start = [p.detach().clone() for p in model.parameters()]
        sgd(model, client, steps, [g - h for g, h in zip(c, own, strict=True)] if used else None)
        moved = [(a - b.detach()) / (steps_of(client, steps) * LR) for a, b in zip(start, model.parameters(), strict=True)]
        new = [h - g + m for h, g, m in zip(own, c, moved, strict=True)]
        if stored:
            client.memory["c_i"] = new
        return model.state_dict(), [a - b for a, b in zip(new, own, strict=True)]

    def aggregate(model, updates, clients):
        total = sum(c.size for c in clients)
        shares = [1 / c.population if variate == "plain" else c.weight for c in clients]
        weights = [1 / len(clients) if model_weights == "plain" else c.size / total for c in clients]
        for j, c in enumerate(clients[0].server["c"]):
            c += sum(share * change[j] for share, (_, change) in zip(shares, updates, strict=True))
        return mean_of([state for state, _ in updates], weights)

    return train, aggregate


def fednova(steps=STEPS, divided=False, rho=0):
    """FedNova: changes per step, weighted by rows, times the effective number of steps; rho: of heavy-ball momentum, as in
    NIID-Bench, whose normaliser is (K - rho (1 - rho^K)/(1 - rho))/(1 - rho).

    divided=True: the server divides by the sum of its scales, so that tau_eff cancels, as in `aggregate` of Flower's baseline
    `fednova`, which pins flwr 1.9.0.
    """
    def train(model, client):
        before = copy.deepcopy(model.state_dict())
        sgd(model, client, steps, rho=rho)
        return {k: before[k] - v for k, v in model.state_dict().items()}

    def aggregate(model, changes, clients):
        total = sum(c.size for c in clients)
        p, counts = [c.size / total for c in clients], [steps_of(c, steps) for c in clients]
        tau = [(k - rho * (1 - rho**k) / (1 - rho)) / (1 - rho) for k in counts]
        effective = sum(a * t for a, t in zip(p, tau, strict=True))
        scales = [effective * a / t for a, t in zip(p, tau, strict=True)]
        if divided:
            scales = [s / sum(scales) for s in scales]
        step = mean_of(changes, scales)
        return {k: v - step[k] for k, v in model.state_dict().items()}

    return train, aggregate


class FedNovaOptimiser(torch.optim.SGD):
    """An optimiser class that counts its own normaliser, in the manner of FedNova's and FedASL's repositories."""

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.normaliser = 0

    def step(self, closure=None):
        super().step(closure)
        self.normaliser += 1


def fednova_by_optimiser(steps=STEPS):
    """FedNova in the layout of its authors' code: the optimiser counts the normaliser, the server averages."""
    def train(model, client):
        optimiser, before = FedNovaOptimiser(model.parameters(), lr=LR), [p.detach().clone() for p in model.parameters()]
        for _ in range(steps_of(client, steps)):
            for X, y in client.loader:
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(model(X), y).backward()
                optimiser.step()
        tau = optimiser.normaliser
        return [(b - p.detach()) / tau for b, p in zip(before, model.parameters(), strict=True)], tau

    def aggregate(model, updates, clients):
        p = [c.size / sum(k.size for k in clients) for c in clients]
        effective = sum(a * t for a, (_, t) in zip(p, updates, strict=True))
        for j, parameter in enumerate(model.parameters()):
            parameter.data -= effective * sum(a * d[j] for a, (d, _) in zip(p, updates, strict=True))

    return train, aggregate
