"""Federated training loops as people write them in torch: nn.Module, optimisers, state_dicts. No line of the package is used.

Each is correct by default; `bug` switches on a fault that public code really shipped. Quadratic clients come as data (X, y).
"""
import copy

import numpy as np
import torch
from torch import nn

DTYPE = {"float32": torch.float32, "float64": torch.float64}


def linear(x, dtype):
    """nn.Linear without bias holding the model x."""
    model = nn.Linear(len(x), 1, bias=False, dtype=dtype)
    with torch.no_grad():
        model.weight.copy_(torch.as_tensor(np.asarray(x), dtype=dtype)[None])
    return model


def data(client, dtype):
    return torch.as_tensor(client.X, dtype=dtype), torch.as_tensor(client.y, dtype=dtype)[:, None]


def flat(state):
    return torch.cat([v.reshape(-1) for v in state.values()]).numpy()


def own(steps, i):
    return steps if isinstance(steps, int) else steps[i]


class FedAvgLoop:
    """FedAvg, FedProx and local momentum: copy the model, run an optimiser, average state_dicts weighted by len(y)."""

    def __init__(self, lr, steps, mu=0.0, momentum=0.0, dtype="float64", bug=None):
        self.lr, self.steps, self.mu, self.momentum, self.dtype, self.bug = lr, steps, mu, momentum, DTYPE[dtype], bug
        self.buffers = {}

    def reset(self):
        self.buffers = {}

    def local(self, model, client, i):
        start = copy.deepcopy(model.state_dict())
        lr = self.lr / 2 if self.bug == "half_lr" else self.lr
        optimiser = torch.optim.SGD(model.parameters(), lr=lr, momentum=self.momentum,
                                    dampening=self.momentum if self.bug == "dampening" else 0,
                                    nesterov=self.bug == "nesterov", weight_decay=0.05 if self.bug == "weight_decay" else 0)
        if self.bug == "momentum_kept" and i in self.buffers:
            optimiser.load_state_dict(self.buffers[i])
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.9) if self.bug == "lr_decay" else None
        mse, (X, y) = nn.MSELoss(), data(client, self.dtype)
        for _ in range(own(self.steps, i) + (self.bug == "one_step_more")):
            optimiser.zero_grad()
            loss = mse(model(X), y) * (1.0 if self.bug == "mse_without_half" else 0.5)
            if self.mu and self.bug != "prox_missing":
                away = sum(((v - start[k]) ** 2).sum() for k, v in model.named_parameters())
                if self.bug == "prox_norm":
                    away = away.sqrt() if float(away.detach()) > 0 else 0 * away
                loss = loss + (-1 if self.bug == "prox_repels" else 1) * self.mu / 2 * away
            loss.backward()
            if self.bug == "clipping":
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimiser.step()
            if schedule is not None:
                schedule.step()
        if self.bug == "momentum_kept":
            self.buffers[i] = optimiser.state_dict()
        return model.state_dict()

    def round(self, x, clients, cohort):
        server = linear(x, self.dtype)
        states, sizes = [], []
        for i in cohort:
            model = server if self.bug == "shared_model" else copy.deepcopy(server)
            states.append({k: v.detach().clone() for k, v in self.local(model, clients[i], i).items()})
            sizes.append(1 if self.bug == "weights_dropped" else len(clients[i].y))
        total = sum(len(c.y) for c in clients) if self.bug == "total_of_all" else sum(sizes)
        if self.bug == "first_twice":
            states.append(states[0])
            sizes.append(sizes[0])
        new = {k: sum(s[k] * (w / total) for s, w in zip(states, sizes, strict=True)) for k in states[0]}
        if self.bug == "first_twice":
            return flat(new) - sizes[0] / total * flat({"w": server.weight.detach()})
        if self.bug == "server_lr_two":
            old = flat({"w": server.weight.detach()})
            return old + 2 * (flat(new) - old)
        return flat(new)


class FedNovaLoop:
    """FedNova with torch.optim.SGD: normalise each change by what its optimiser accumulated, then rescale."""

    def __init__(self, lr, steps, momentum=0.0, bug=None):
        self.lr, self.steps, self.momentum, self.bug = lr, steps, momentum, bug

    def round(self, x, clients, cohort):
        sizes = np.array([len(clients[i].y) for i in cohort], dtype=float)
        p = sizes / sizes.sum()
        directions, masses = [], []
        for i in cohort:
            model, (X, y) = linear(x, torch.float64), data(clients[i], torch.float64)
            optimiser = torch.optim.SGD(model.parameters(), lr=self.lr, momentum=self.momentum)
            mass = counter = 0.0
            for _ in range(own(self.steps, i)):
                optimiser.zero_grad()
                (0.5 * nn.functional.mse_loss(model(X), y)).backward()
                optimiser.step()
                counter = self.momentum * counter + 1
                mass += counter
            mass = own(self.steps, i) if self.bug == "counts_steps" else mass
            directions.append((np.asarray(x) - model.weight.detach().numpy()[0]) / mass)
            masses.append(mass)
        tau_eff = p @ masses
        if self.bug == "scaled_up":
            tau_eff = tau_eff * len(clients) / len(cohort)
        if self.bug == "not_normalised":
            return x - sum(w * m * g for w, m, g in zip(p, masses, directions, strict=True))
        return x - tau_eff * sum(w * g for w, g in zip(p, directions, strict=True))


class ScaffoldLoop:
    """SCAFFOLD with a server and client objects that keep their control variates between rounds."""

    def __init__(self, lr, steps, option=2, bug=None):
        self.lr, self.steps, self.option, self.bug = lr, steps, option, bug
        self.reset()

    def reset(self):
        self.c, self.ci = None, None

    def round(self, x, clients, cohort):
        x = torch.as_tensor(np.asarray(x), dtype=torch.float64)
        if self.c is None:
            self.c, self.ci = torch.zeros_like(x), [torch.zeros_like(x) for _ in clients]
            if self.bug == "random_variates":
                self.ci = [torch.full_like(x, 0.3 * (i + 1)) for i in range(len(clients))]
        sizes = [clients[i].size for i in cohort]
        p = [clients[i].weight for i in range(len(clients))]
        change, moved = torch.zeros_like(x), torch.zeros_like(x)
        for i, size in zip(cohort, sizes, strict=True):
            w = x.clone().requires_grad_(True)
            K = own(self.steps, i)
            for _ in range(K):
                (g,) = torch.autograd.grad(clients[i].loss(w), w)
                correction = self.c - self.ci[i]
                with torch.no_grad():
                    w -= self.lr * (g - correction if self.bug == "wrong_sign" else g + correction)
            y = w.detach()
            divisor = {"divisor_off_by_one": K + 1, "batches_not_epochs": 1}.get(self.bug, K)
            if self.option == 2:
                new = self.ci[i] - self.c + (x - y) / (divisor * self.lr)
            else:
                at = x.clone().requires_grad_(True)
                (new,) = torch.autograd.grad(clients[i].loss(at), at)
            share = {"plain_server_variate": 1 / len(clients), "divided_by_cohort": 1 / len(cohort)}.get(self.bug, p[i])
            moved += share * (new - self.ci[i])
            self.ci[i] = new
            change += size / sum(sizes) * (y - x)
        self.c = self.c + moved
        return (x + change).numpy()


class ServerMomentumLoop:
    """FedAvgM: heavy-ball momentum on the server's pseudo-gradient."""

    def __init__(self, lr, steps, beta, bug=None):
        self.inner, self.beta, self.bug, self.v = FedAvgLoop(lr, steps), beta, bug, None

    def reset(self):
        self.v = None

    def round(self, x, clients, cohort):
        delta = np.asarray(x) - self.inner.round(x, clients, cohort)
        self.v = delta if self.v is None else self.beta * self.v + (1 - self.beta if self.bug == "dampened" else 1) * delta
        return np.asarray(x) - self.v


def scaffold_state(lr, steps, bug=None):
    """SCAFFOLD as a function of its joint state {"x", "c", "ci"}, in numpy."""
    def round_fn(state, clients, cohort):
        x, c, ci = state["x"], state["c"], state["ci"].copy()
        new_x, new_c = x.copy(), c.copy()
        total = sum(clients[i].weight for i in cohort)
        for i in cohort:
            y = x.copy()
            for _ in range(steps):
                y = y - lr * (clients[i].grad(y) - ci[i] + c)
            fresh = ci[i] - c + (x - y) / ((steps + (bug == "divisor_off_by_one")) * lr)
            new_x = new_x + clients[i].weight / total * (y - x)
            new_c = new_c + (1 / len(clients) if bug == "plain_server_variate" else clients[i].weight) * (fresh - ci[i])
            ci[i] = fresh
        return {"x": new_x, "c": new_c, "ci": ci}
    return round_fn
