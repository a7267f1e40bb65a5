"""Codes whose server has a memory: server momentum (FedAvgM), FOCUS and MIFA."""

from __future__ import annotations

import numpy as np
import torch

from tests.blackbox.loops.specimen import Loop, Specimen, count, fixed, half_mse, linear, number, numpy_of, tensors

MOMENTUM_BUGS = {
    "buffer_reset": "the server's optimiser is made anew each round: FedAvg",
    "server_lr_two": "the server's step size is 2",
    "ascent": "the pseudo-gradient has the wrong sign, average minus old model",
    "dampening": "the server's optimiser has dampening = beta: its buffer averages, from the first change on",
    "nesterov": "Nesterov's look-ahead at the server",
    "momentum_on_the_clients": "the momentum went to the clients' optimisers instead",
    "weights_dropped": "every client counts alike whatever its size",
    "one_step_more": "every client makes one local step too many",
}
FOCUS_BUGS = {
    "pushes_averaged": "the server averages the pushed changes instead of summing them",
    "gradient_not_kept": "clients forget their stored gradient between rounds",
    "tracker_kept": "a client's tracker y_i is not reset after it has been pushed",
    "server_does_not_move": "the server takes the clients' models instead of its own step",
    "stored_at_start": "the stored gradient is the one at the pulled model, not the last one",
    "one_step_more": "every client makes one local step too many",
    "lr_halved": "the step size is half of what is stated",
}
MIFA_BUGS = {
    "only_participants": "the server averages over the participants only: FedAvg",
    "ascent": "the pseudo-gradient has the wrong sign (FedASL `server.py`)",
    "change_of_own_iterate": "the stored update is own stale iterate minus new iterate (FedASL's notebook)",
    "weights_dropped": "every client counts alike whatever its size",
    "one_step_more": "every client makes one local step too many",
}


def local_sgd(x, client, steps, lr, momentum=0):
    """The client's model after its local steps, as a flat array."""
    model, (X, y) = linear(x), tensors(client)
    optimiser = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    for _ in range(steps):
        optimiser.zero_grad()
        half_mse(model, X, y).backward()
        optimiser.step()
    return numpy_of(model)


class FedAvgM:
    """The server feeds the averaged change as a gradient to a torch optimiser of step size 1 (FedOpt, FedML)."""

    def __init__(self, lr, steps, beta, bug):
        self.lr, self.steps, self.beta, self.bug = lr, steps, beta, bug
        self.reset()

    def reset(self):
        self.model = self.optimiser = None

    def set_up(self, x):
        """The server's model and optimiser live as long as the training; its weights are overwritten by x."""
        if self.model is None or self.bug == "buffer_reset":
            self.model = linear(x)
            beta = 0 if self.bug == "momentum_on_the_clients" else self.beta
            self.optimiser = torch.optim.SGD(
                self.model.parameters(), lr=2.0 if self.bug == "server_lr_two" else 1.0, momentum=beta,
                dampening=beta if self.bug == "dampening" else 0, nesterov=self.bug == "nesterov")
        with torch.no_grad():
            self.model.weight.copy_(torch.as_tensor(x)[None])

    def round(self, x, clients):
        self.set_up(x)
        average, total = np.zeros_like(x), sum(len(c.y) for c in clients)
        momentum = self.beta if self.bug == "momentum_on_the_clients" else 0
        for i, c in enumerate(clients):
            steps = count(self.steps, i) + (self.bug == "one_step_more")
            share = 1 / len(clients) if self.bug == "weights_dropped" else len(c.y) / total
            average += share * local_sgd(x, c, steps, self.lr, momentum)
        pseudo_gradient = torch.as_tensor(x - average)
        self.optimiser.zero_grad()
        self.model.weight.grad = (-pseudo_gradient if self.bug == "ascent" else pseudo_gradient)[None]
        self.optimiser.step()
        return numpy_of(self.model)


class FocusClient:
    """A FOCUS client: stored gradient g_i and tracker y_i."""

    def __init__(self, d):
        self.stored, self.tracker = torch.zeros(d, dtype=torch.float64), torch.zeros(d, dtype=torch.float64)

    def train(self, x, data, steps, lr, bug):
        """The change to push."""
        if bug != "tracker_kept":
            self.tracker = torch.zeros_like(self.tracker)
        if bug == "gradient_not_kept":
            self.stored = torch.zeros_like(self.stored)
        model, (X, y), seen = linear(x), tensors(data), []
        for _ in range(steps + (bug == "one_step_more")):
            model.zero_grad()
            half_mse(model, X, y).backward()
            g = model.weight.grad[0].clone()
            self.tracker = self.tracker + g - self.stored
            self.stored = g
            seen.append(g)
            with torch.no_grad():
                model.weight.sub_(lr * self.tracker)
        if bug == "stored_at_start":
            self.stored = seen[0]
        return self.tracker, numpy_of(model)


class FocusServer:
    """The FOCUS server sums what is pushed and always moves, also when nobody takes part."""

    def __init__(self, lr, steps, start, bug):
        self.lr, self.steps, self.start, self.bug = lr / 2 if bug == "lr_halved" else lr, steps, start, bug
        self.reset()

    def reset(self):
        self.y, self.clients = None, []

    def set_up(self, x, clients):
        self.y = torch.zeros(len(x), dtype=torch.float64)
        self.clients = [FocusClient(len(x)) for _ in clients]
        if self.start == "warm":
            for own, data in zip(self.clients, clients, strict=True):
                own.stored = torch.as_tensor(data.grad(x))
                self.y += own.stored

    def round(self, x, clients, cohort):
        if self.y is None:
            self.set_up(x, clients)
        models = []
        for i in cohort:
            change, model = self.clients[i].train(x, clients[i], count(self.steps, i), self.lr, self.bug)
            self.y = self.y + change / (len(cohort) if self.bug == "pushes_averaged" else 1)
            models.append(model)
        if self.bug == "server_does_not_move" and models:
            return np.mean(models, axis=0)
        return x - self.lr * self.y.numpy()


def mifa_round(lr, steps, bug):
    """MIFA as a function of {"x": (d,), "G": (n, d)}; one more leaf for the bug that needs the clients' own models."""
    def round_fn(state, clients, cohort):
        x, G = state["x"], state["G"].copy()
        own = state["own"].copy() if "own" in state else None
        p = np.array([len(c.y) for c in clients], dtype=float)
        p = np.ones(len(clients)) / len(clients) if bug == "weights_dropped" else p / p.sum()
        for i in cohort:
            y = local_sgd(x, clients[i], count(steps, i) + (bug == "one_step_more"), lr)
            G[i] = ((x if own is None else own[i]) - y) / lr
            if own is not None:
                own[i] = y
        if bug == "only_participants":
            who = list(cohort)
            step = p[who] @ G[who] / p[who].sum() if who else 0 * x
        else:
            step = p @ G
        new = {"x": x + lr * step if bug == "ascent" else x - lr * step, "G": G}
        return new if own is None else new | {"own": own}

    return round_fn


def mifa_state(n, d, bug):
    own = {"own": np.zeros((n, d))} if bug == "change_of_own_iterate" else {}
    return {"x": np.zeros(d), "G": np.zeros((n, d))} | own


def fedavgm(lr, steps, bug=None, beta="1/2"):
    """The catalogue's server momentum is FedNova's, so the claim is made for equal numbers of steps only."""
    code = FedAvgM(number(lr), steps, number(beta), bug)
    same = not isinstance(steps, (tuple, list)) or len(set(steps)) == 1
    return Loop(code.round, ("ServerMomentum", {"lr": lr, "steps": steps, "beta": beta}) if same else None,
                fixed(steps), reset=code.reset, restart=code.reset)


def focus(lr, steps, bug=None, start="zero"):
    """start: "zero", or "warm" (a full pass at the first model). It minimises the plain sum of the losses."""
    code = FocusServer(number(lr), steps, start, bug)
    return Loop(code.round, ("Focus", {"lr": lr, "steps": steps, "init": start}), fixed(steps), reset=code.reset,
                restart=code.reset, needs_cohort=True, objective={"weights": "plain"})


def mifa(lr, steps, bug=None):
    return Loop(mifa_round(number(lr), steps, bug), ("Mifa", {"lr": lr, "steps": steps}), fixed(steps),
                state=lambda n, d: mifa_state(n, d, bug), needs_cohort=True)


SPECIMENS = [
    Specimen("fedavgm", fedavgm, MOMENTUM_BUGS, diverging=("ascent",)),
    Specimen("focus", focus, FOCUS_BUGS, needs_cohort=True),
    Specimen("focus_warm", lambda lr, steps, bug=None: focus(lr, steps, bug, "warm"), FOCUS_BUGS, needs_cohort=True),
    Specimen("mifa", mifa, MIFA_BUGS, needs_cohort=True, diverging=("ascent", "change_of_own_iterate")),
]
