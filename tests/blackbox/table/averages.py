"""Servers that average: FedAvg, FedProx, FedNova and server momentum in plain torch, each slip a switch."""

from __future__ import annotations

import numpy as np
import torch

from tests.blackbox.table.local import train


def local_steps(steps, i):
    return steps[i] if isinstance(steps, (tuple, list)) else steps


class FedAvg:
    """The weighted mean of the participants' models. averaging: "size", "alike" or "unbiased" (p_i n/|S|)."""

    def __init__(self, lr, steps, bugs=(), averaging="size", dtype=torch.float64, inside=None, single_weights=False,
                 **local):
        self.lr, self.steps, self.bugs, self.averaging, self.dtype = lr, steps, frozenset(bugs), averaging, dtype
        self.inside, self.options = inside or dtype, local   # inside: the type of the clients' models
        self.single_weights = single_weights                 # weights in float32, models in float64
        self.reset()

    def reset(self):
        self.rounds, self.kept, self.models = 0, {}, {}

    def rule(self, clients, cohort):
        """The participants' weights as the rule of averaging has them, or another rule by a slip."""
        bugs, n = self.bugs, len(clients)
        sizes = torch.tensor([float(len(clients[i].y)) for i in cohort], dtype=torch.float64)
        total = float(sum(len(c.y) for c in clients))
        if self.averaging == "alike" or "alike" in bugs:
            weights = torch.full((len(cohort),), 1 / len(cohort), dtype=torch.float64)
        elif self.averaging == "unbiased":
            weights = sizes / total * n / len(cohort)
        else:
            weights = sizes / sizes.sum()
        if "by size" in bugs:
            weights = sizes / sizes.sum()
        if "not renormalised" in bugs:
            weights = sizes / total
        if "over all" in bugs:
            weights = torch.full((len(cohort),), 1 / n, dtype=torch.float64)
        return weights

    def weights(self, clients, cohort):
        """What each participant's change is multiplied by."""
        bugs, n, weights = self.bugs, len(clients), self.rule(clients, cohort)
        if "n/|S|" in bugs:
            weights = weights * n / len(cohort)
        if "summed" in bugs:
            weights = torch.ones(len(cohort), dtype=torch.float64)
        if "first twice" in bugs:
            weights[0] *= 2
        if "server lr 2" in bugs:
            weights = 2 * weights
        if "wrong sign at the server" in bugs:
            weights = -weights
        if "last left out" in bugs and len(cohort) > 1:
            weights[-1] = 0
        if "swapped" in bugs and len(cohort) == n:
            weights[[0, n - 1]] = weights[[n - 1, 0]]
        return weights.float().double() if self.single_weights else weights

    def changes(self, x, clients, cohort):
        """The participants' models less x (|S|, d), in the order of the cohort."""
        out, start = [], x
        for i in cohort:
            kept = self.kept.setdefault(i, {}) if "optimiser kept" in self.bugs else None
            lr = self.lr * (0.9**self.rounds if "lr decays over rounds" in self.bugs else 1)
            y = train(start, clients[i], local_steps(self.steps, i), lr, self.bugs, dtype=self.inside, kept=kept, **self.options)
            if "in turn" in self.bugs or "one object" in self.bugs:
                start = y.numpy()
            out.append(y - torch.as_tensor(x))
        if "one object" in self.bugs or "last model alone" in self.bugs:
            out = [out[-1]] * len(out)
        return torch.stack(out)

    def aggregate(self, x, clients, cohort, changes):
        return torch.as_tensor(x) + self.weights(clients, cohort) @ changes

    def round(self, x, clients, cohort=None):
        if "nothing" in self.bugs:
            return x
        cohort = list(range(len(clients))) if cohort is None or "cohort ignored" in self.bugs else list(cohort)
        new = self.aggregate(x, clients, cohort, self.changes(np.asarray(x), clients, cohort))
        if "models summed" in self.bugs or self.single_weights:   # of models, not changes, with weights that do not sum to 1
            new = new + (self.weights(clients, cohort).sum() - 1) * torch.as_tensor(x)
        if "noise" in self.bugs:
            new = new + 0.01
        self.rounds += 1
        return new.to(self.dtype)


class FedNova(FedAvg):
    """FedNova: each change divided by |a_i|, their mean multiplied by tau_eff = sum s_i |a_i|."""

    def masses(self, cohort):
        out, momentum, mu = [], self.options.get("momentum", 0), self.options.get("mu", 0)
        for i in cohort:
            a = u = 0.0
            for _ in range(local_steps(self.steps, i)):
                u = momentum * u + 1
                a = (1 - self.lr * (0 if "prox ignored" in self.bugs else mu)) * a + u
            out.append(local_steps(self.steps, i) if "steps counted" in self.bugs else a)
        return torch.tensor(out, dtype=torch.float64)

    def aggregate(self, x, clients, cohort, changes):
        weights, masses = self.weights(clients, cohort), self.masses(cohort)
        if "not normalised" in self.bugs:
            return torch.as_tensor(x) + weights @ changes
        if "tau cancels" in self.bugs:        # the scales are divided by their sum, as weights are
            scales = weights / masses
            return torch.as_tensor(x) + (scales / scales.sum()) @ changes
        tau = (weights * masses).sum()
        if "plain tau" in self.bugs:
            tau = masses.mean()
        if "tau missing" in self.bugs:
            tau = 1.0
        return torch.as_tensor(x) + tau * (weights / masses) @ changes


class ServerMomentum(FedAvg):
    """v <- beta v + (x - average), x <- x - v."""

    def __init__(self, lr, steps, bugs=(), beta=0.5, **options):
        self.beta = beta
        super().__init__(lr, steps, bugs, **options)

    def reset(self):
        super().reset()
        self.v = None

    def aggregate(self, x, clients, cohort, changes):
        x, D = torch.as_tensor(x), -self.weights(clients, cohort) @ changes
        bugs, beta = self.bugs, self.beta
        if self.v is None or "buffer reset" in bugs:
            self.v = torch.zeros_like(D)
            first = True
        else:
            first = False
        if "server adam" in bugs:
            self.v = beta * self.v + (1 - beta) * D * D
            return x - 0.1 * D / (self.v.sqrt() + 1e-3)
        self.v = beta * self.v + (1 - beta if "dampened" in bugs and not first else 1) * D
        if "server nesterov" in bugs:
            return x - D - beta * self.v
        return x - self.v
