"""Rounds written anew after published codes, in their shapes. Each is a reconstruction and gives no verdict on the named package:
versions, options and callers differ, and what a package does is decided by running it.
"""

from __future__ import annotations

import copy

import numpy as np
import torch

LR = 1 / 20


def module(x):
    """A linear model without bias, as the codes' `net`."""
    net = torch.nn.Linear(len(x), 1, bias=False, dtype=torch.float64)
    with torch.no_grad():
        net.weight.copy_(torch.as_tensor(np.array(x))[None])
    return net


def flat(parameters):
    return torch.cat([p.detach().reshape(-1) for p in parameters])


def gradients(net, client):
    """Set the gradients of half the mean squared error on all rows of a client."""
    net.zero_grad()
    X, y = torch.as_tensor(client.X), torch.as_tensor(client.y)[:, None]
    (torch.nn.functional.mse_loss(net(X), y) / 2).backward()


def sgd(net, client, steps, mu=0.0, momentum=0.0):
    optimiser, anchor = torch.optim.SGD(net.parameters(), lr=LR, momentum=momentum), flat(net.parameters())
    for _ in range(steps):
        gradients(net, client)
        for p in net.parameters():
            p.grad += mu * (p.detach() - anchor.reshape(p.shape))
        optimiser.step()
    return net


# ---- SCAFFOLD -----------------------------------------------------------------------------------------------
class PflScaffold:
    """After pfl 0.6.0, SCAFFOLD with option II (reconstruction): its `get_model_difference` returns trained minus central, where
    the update of c_i needs central minus trained; difference="central minus trained" is the published rule."""

    def __init__(self, steps, difference="trained minus central"):
        self.steps, self.sign = steps, 1 if difference == "trained minus central" else -1
        self.reset()

    def reset(self):
        self.states, self.server_c = {}, 0.0

    def simulate_one_user(self, central, i, user):
        own, net = self.states.get(i, 0.0), copy.deepcopy(central)
        for _ in range(self.steps[i]):
            gradients(net, user)
            with torch.no_grad():
                for p in net.parameters():
                    p -= LR * (p.grad - own + self.server_c)
        difference = net.weight.detach() - central.weight.detach()
        new = own - self.server_c + self.sign * difference / (self.steps[i] * LR)
        self.states[i] = new
        return difference, new - own

    def train_cohort(self, x, users, cohort):
        central = module(x)
        sent = [self.simulate_one_user(central, i, users[i]) for i in cohort]
        self.server_c = self.server_c + sum(dc for _, dc in sent) / len(users)
        return (central.weight + sum(d for d, _ in sent) / len(sent)).detach()[0]


class FedLabScaffold:
    """After FedLab (HEAD 92552a7), SCAFFOLD (reconstruction): the correction is added to the gradients of `state_dict().values()`,
    which are detached and have none; loop="parameters" adds it to the parameters' own. Weights are None, all alike."""

    def __init__(self, steps, loop="state dict"):
        self.steps, self.loop = steps, loop
        self.reset()

    def reset(self):
        self.c_global, self.c_local = None, {}

    def train(self, x, i, data):
        net, own = module(x), self.c_local.get(i, torch.zeros(len(x), dtype=torch.float64))
        for _ in range(self.steps[i]):
            gradients(net, data)
            tensors = net.state_dict().values() if self.loop == "state dict" else net.parameters()
            for p in tensors:
                if p.grad is not None:
                    p.grad += (self.c_global - own).reshape(p.shape)
            with torch.no_grad():
                for p in net.parameters():
                    p -= LR * p.grad
        dy = flat(net.parameters()) - torch.as_tensor(x)
        dc = -dy / (self.steps[i] * LR) - self.c_global
        self.c_local[i] = own + dc
        return dy, dc

    def global_update(self, x, packages, n):
        dy = sum(dy for dy, _ in packages) / len(packages)
        self.c_global = self.c_global + sum(dc for _, dc in packages) / n
        return torch.as_tensor(x) + dy


class FLBenchScaffold:
    """After FL-bench (06e658b), SCAFFOLD (reconstruction): clients are given `c_local[i]` and send the change of it; the server
    never writes it back (write_back=True does)."""

    def __init__(self, steps, n, d, write_back=False):
        self.steps, self.n, self.d, self.write_back = steps, n, d, write_back
        self.reset()

    def reset(self):
        self.c_global = torch.zeros(self.d, dtype=torch.float64)
        self.c_local = {i: torch.zeros(self.d, dtype=torch.float64) for i in range(self.n)}

    def train_one_round(self, x, data, selected):
        packages = {i: self.fit(x, data[i], self.steps[i], self.c_local[i].clone()) for i in selected}
        for i, (_, c_plus, _) in packages.items():
            if self.write_back:
                self.c_local[i] = c_plus
        x = torch.as_tensor(x) + sum(y_delta for y_delta, *_ in packages.values()) / len(packages)
        self.c_global = self.c_global + sum(c_delta for *_, c_delta in packages.values()) / self.n
        return x

    def fit(self, x, data, steps, c_local):
        net = module(x)
        for _ in range(steps):
            gradients(net, data)
            with torch.no_grad():
                net.weight -= LR * (net.weight.grad + self.c_global - c_local)
        y_delta = flat(net.parameters()) - torch.as_tensor(x)
        c_plus = c_local - self.c_global - y_delta / (steps * LR)
        return y_delta, c_plus, c_plus - c_local


class NIIDBenchScaffold:
    """After NIID-Bench (61b901a), SCAFFOLD (reconstruction): nets are averaged by their rows, the server's c moves by the sum of
    the clients' changes over n."""

    def __init__(self, steps, n, d):
        self.steps, self.n, self.d = steps, n, d
        self.reset()

    def reset(self):
        self.c_global = torch.zeros(self.d, dtype=torch.float64)
        self.c_nets = [torch.zeros(self.d, dtype=torch.float64) for _ in range(self.n)]

    def local_train_net_scaffold(self, x, selected, data):
        total_delta, nets = torch.zeros(self.d, dtype=torch.float64), {}
        for i in selected:
            net = module(x)
            for _ in range(self.steps[i]):
                gradients(net, data[i])
                with torch.no_grad():
                    net.weight -= LR * net.weight.grad
                    net.weight -= LR * (self.c_global - self.c_nets[i])
            new = self.c_nets[i] - self.c_global + (torch.as_tensor(x) - flat(net.parameters())) / (self.steps[i] * LR)
            total_delta += new - self.c_nets[i]
            self.c_nets[i], nets[i] = new, flat(net.parameters())
        self.c_global = self.c_global + total_delta / self.n
        return nets


# ---- FedNova ------------------------------------------------------------------------------------------------
def fedlab_fednova(x, data, cohort, steps, weighted_scale=True):
    """After FedLab's FedNova (reconstruction): with its default `weighted_scale` the displacement is multiplied by n/|S|."""
    sizes, changes = np.array([len(data[i].y) for i in cohort], float), []
    for i in cohort:
        changes.append((flat(sgd(module(x), data[i], steps[i]).parameters()).numpy() - x) / steps[i])
    p = sizes / sizes.sum()
    tau_eff = p @ [steps[i] for i in cohort]
    return x + (len(data) / len(cohort) if weighted_scale else 1) * tau_eff * (p @ np.array(changes))


def flower_fednova_fit(parameters, client, steps):
    """(change, scale p tau_eff/a_i without tau_eff) as a client of Flower's baseline `fednova` reports it (reconstruction)."""
    trained = flat(sgd(module(parameters), client, steps).parameters()).numpy()
    return trained - parameters, client.weight / steps, client.weight * steps


def flower_fednova_aggregate(results):
    """`aggregate` of Flower's baseline `fednova`, which pins flwr 1.9.0 (reconstruction): a weighted mean, which divides by the sum
    of its weights tau_eff p_i/a_i, so that tau_eff cancels."""
    tau_eff = sum(share for *_, share in results)
    scales = [tau_eff * scale for _, scale, _ in results]
    return sum(s * change for s, (change, *_) in zip(scales, results, strict=True)) / sum(scales)


def niid_fednova(x, data, steps, rho=0.0):
    """After NIID-Bench's FedNova (reconstruction): a_i = (tau - rho (1 - rho^tau)/(1 - rho))/(1 - rho)."""
    total, sizes = 0, np.array([len(c.y) for c in data], float)
    a = [(k - rho * (1 - rho**k) / (1 - rho)) / (1 - rho) for k in steps]
    for c, k, norm, p in zip(data, steps, a, sizes / sizes.sum(), strict=True):
        total = total + p * (x - flat(sgd(module(x), c, k, momentum=rho).parameters()).numpy()) / norm
    return x - (sizes / sizes.sum() @ np.array(a)) * total


# ---- Flower's strategies ------------------------------------------------------------------------------------
def fit(parameters, client, steps, mu=0.0):
    """(parameters, number of examples) of a Flower client (reconstruction); mu: its proximal term."""
    return flat(sgd(module(parameters), client, steps, mu).parameters()).numpy(), len(client.y)


def weighted(results):
    return sum(y * m for y, m in results) / sum(m for _, m in results)


class Strategy:
    """Flower's aggregates (reconstruction): mean, momentum, median, trimmed mean, Adagrad."""

    def __init__(self, kind="FedAvg", momentum=0.5, eta=0.1, tau=1e-9):
        self.kind, self.momentum, self.eta, self.tau = kind, momentum, eta, tau
        self.reset()

    def reset(self):
        self.buffer, self.v = None, 0.0

    def aggregate_fit(self, x, results):
        models, mean = np.array([y for y, _ in results]), weighted(results)
        if self.kind == "FedMedian":
            return np.median(models, axis=0)
        if self.kind == "FedTrimmedAvg":
            return np.sort(models, axis=0)[1:-1].mean(axis=0)
        if self.kind == "FedAdagrad":
            self.v = self.v + (mean - x) ** 2
            return x + self.eta * (mean - x) / (np.sqrt(self.v) + self.tau)
        if self.kind == "FedAvgM":
            self.buffer = x - mean if self.buffer is None else self.momentum * self.buffer + x - mean
            return x - self.buffer
        return mean
