"""FedAvg, FedAU, MIFA and SCAFFOLD in the layout of FOCUS's public code: clients that pull a torch model from a server.

The bugs are those of its two public versions; `variate_drifts` is a ProxSkip repository's.
"""

from __future__ import annotations

import numpy as np
import torch

from tests.blackbox.loops.specimen import Loop, Specimen, count, fixed, half_mse, linear, number, numpy_of, tensors

SHARED = {"shared_storage": "a pulled model shares its storage with the server's: clients train on it in turn"}
FEDAVG_BUGS = SHARED | {"one_step_more": "every client makes one local step too many"}
FEDAU_BUGS = SHARED | {
    "counter_indented": "counter and interval are reset in the wrong branch only, so no interval ever ends",
    "weights_normalised": "the server divides by the sum of the weights instead of the number of clients",
    "current_interval": "weights are renewed before they are used, with the interval of the very round",
    "as_in_the_notebook": "weights with the current interval, divided by their sum",
    "as_in_the_script": "the same with the counter reset in the wrong branch: equal weights",
}
MIFA_BUGS = SHARED | {
    "ascent": "the server adds the mean of x - y_i",
    "previous_local_model": "an update is measured from the client's previous local model",
    "ids_and_set": "a list of ids is paired with a set of clients, which has an order of its own",
}
SCAFFOLD_BUGS = {
    "fixed_divisor": "the changes are divided by the number of clients that should have been drawn, 2",
    "variate_drifts": "the server's variate moves by c_i_new - c instead of c_i_new - c_i",
    "one_step_more": "every client makes one local step too many, which the divisor does not count",
}


class Client:
    """A client: its model, and what its method remembers of it."""

    def __init__(self, index, d, bug):
        self.index, self.bug = index, bug
        self.model = linear(torch.zeros(d))
        self.weight, self.counter, self.interval = 1.0, 0, 0                           # FedAU
        self.update, self.previous = torch.zeros(d, dtype=torch.float64), None         # MIFA
        self.control = torch.zeros(d, dtype=torch.float64)                             # SCAFFOLD

    def __hash__(self):  # the order of a set of clients, the same in every process
        return 63 - self.index

    def __eq__(self, other):
        return self is other

    def pull_model(self, server_model):
        for p, q in zip(self.model.parameters(), server_model.parameters(), strict=True):
            if self.bug == "shared_storage":
                p.data = q.data
            else:
                p.data = q.data.clone()

    def train(self, data, steps, lr, correction=None):
        """Local steps on the pulled model; the local model (d,)."""
        X, y = tensors(data)
        optimiser = torch.optim.SGD(self.model.parameters(), lr=lr)
        for _ in range(steps + (self.bug == "one_step_more")):
            optimiser.zero_grad()
            half_mse(self.model, X, y).backward()
            if correction is not None:
                self.model.weight.grad += correction[None]
            optimiser.step()
        return self.model.weight.data[0]

    def update_weight(self, participates, cutoff):
        """FedAU's counter: an interval ends when the client takes part, or at the cut-off."""
        self.interval += 1
        if not participates and self.interval != cutoff:
            return
        if self.counter == 0:
            self.weight = float(self.interval)
            if self.bug in ("counter_indented", "as_in_the_script"):
                return
        else:
            self.weight = (self.counter * self.weight + self.interval) / (self.counter + 1)
        self.counter += 1
        self.interval = 0


class Server:
    """The server's model, and the clients of one training."""

    def __init__(self, lr, steps, bug=None, cutoff=None):
        self.lr, self.steps, self.bug, self.cutoff = number(lr), steps, bug, cutoff
        self.reset()

    def reset(self):
        self.clients = self.model = self.c = None

    def set_up(self, x, n):
        if self.clients is None:
            self.clients, self.c = [Client(i, len(x), self.bug) for i in range(n)], torch.zeros(len(x), dtype=torch.float64)
            self.model = linear(x)
        with torch.no_grad():
            self.model.weight.copy_(torch.as_tensor(x)[None])

    def round(self, x, clients, cohort):
        self.set_up(x, len(clients))
        for i in cohort:
            self.clients[i].pull_model(self.model)
        with torch.no_grad():
            new = self.aggregate(clients, cohort)
            self.model.weight.copy_(new[None])
        return numpy_of(self.model)

    def local(self, client, clients, correction=None):
        with torch.enable_grad():
            return client.train(clients[client.index], count(self.steps, client.index), self.lr, correction)


class FedAvg(Server):
    """No memory: nothing to reset."""

    def aggregate(self, clients, cohort):
        models = [self.local(self.clients[i], clients) for i in cohort]
        return sum(models) / len(models) if models else self.model.weight[0]


class FedAU(Server):
    """Weights from counted intervals."""

    def aggregate(self, clients, cohort):
        models = {i: self.local(self.clients[i], clients) for i in cohort}
        script = self.bug in ("as_in_the_notebook", "as_in_the_script")
        if script or self.bug == "current_interval":
            self.count(cohort)
        weights = {i: self.clients[i].weight for i in cohort}
        total = sum(weights.values()) if script or self.bug == "weights_normalised" else len(clients)
        x = self.model.weight[0]
        new = x + sum(weights[i] * (models[i] - x) for i in cohort) / total if models else x.clone()
        if not (script or self.bug == "current_interval"):
            self.count(cohort)
        return new

    def count(self, cohort):
        for client in self.clients:
            client.update_weight(client.index in cohort, self.cutoff)


class MIFA(Server):
    """Every client's last update, kept and averaged."""

    def aggregate(self, clients, cohort):
        x = self.model.weight[0]
        if self.bug == "ids_and_set":
            active = list(zip(cohort, {self.clients[i] for i in cohort}, strict=True))
        else:
            active = [(i, self.clients[i]) for i in cohort]
        for i, client in active:
            y = self.local(client, clients).clone()
            reference = x if self.bug != "previous_local_model" else client.previous
            self.clients[i].update = (x if reference is None else reference) - y
            client.previous = y
        if self.bug == "previous_local_model":  # everybody holds the first model at the start
            for client in self.clients:
                client.previous = x.clone() if client.previous is None else client.previous
        mean = sum(client.update for client in self.clients) / len(self.clients)
        return x + mean if self.bug == "ascent" else x - mean


class Scaffold(Server):
    """Control variates, option II."""

    def aggregate(self, clients, cohort):
        x, move, change = self.model.weight[0], 0, 0
        for i in cohort:
            client, steps = self.clients[i], count(self.steps, i)
            y = self.local(client, clients, self.c - client.control)
            new = client.control - self.c + (x - y) / (steps * self.lr)
            move = move + (y - x)
            change = change + new - (self.c if self.bug == "variate_drifts" else client.control)
            client.control = new
        self.c = self.c + change / len(clients)
        drawn = 2 if self.bug == "fixed_divisor" else max(len(cohort), 1)
        return x + move / drawn


class MarkovServer(FedAvg):
    """FedAvg whose clients come and go by themselves: P(active) is rows[1] after an active round, else rows[0].

    The published rows were equal.
    """

    def __init__(self, lr, steps, rows, seed=0):
        self.rows, self.seed = rows, seed
        super().__init__(lr, steps)

    def reset(self):
        super().reset()
        self.active, self.rng = None, np.random.default_rng(self.seed)

    def round(self, x, clients):
        """rows: (join, stay)."""
        join, stay = self.rows
        chance = [join / (1 - stay + join)] * len(clients) if self.active is None else [stay if a else join for a in self.active]
        self.active = self.rng.random(len(clients)) < chance
        return super().round(x, clients, [int(i) for i in np.flatnonzero(self.active)])


def made(kind, name, memory=True):
    def build(lr, steps, bug=None, **options):
        code = kind(lr, steps, bug, **options)
        return Loop(code.round, (name, {"lr": lr, "steps": steps, **options}), fixed(steps), reset=code.reset if memory else None,
                    restart=code.reset, needs_cohort=True, objective={"weights": "plain"})
    return build


SPECIMENS = [
    Specimen("repository_fedavg", made(FedAvg, "FedAvg", memory=False), FEDAVG_BUGS, needs_cohort=True),
    Specimen("repository_fedau", made(FedAU, "FedAu"), FEDAU_BUGS, needs_cohort=True, diverging=("counter_indented",)),
    Specimen("repository_fedau_cutoff", lambda lr, steps, bug=None: made(FedAU, "FedAu")(lr, steps, bug, cutoff=2), FEDAU_BUGS,
             needs_cohort=True, diverging=("counter_indented",)),
    Specimen("repository_mifa", made(MIFA, "Mifa"), MIFA_BUGS, needs_cohort=True, diverging=("ascent", "previous_local_model")),
    Specimen("repository_scaffold", made(Scaffold, "Scaffold"), SCAFFOLD_BUGS, needs_cohort=True),
]
