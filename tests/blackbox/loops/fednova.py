"""FedNova: with plain steps, with torch's own momentum, with sampled clients, and with its authors' optimiser class."""

from __future__ import annotations

import copy

import torch

from tests.blackbox.loops.specimen import (
    Loop,
    Specimen,
    count,
    fixed,
    half_mse,
    linear,
    number,
    numpy_of,
    tensors,
    times,
)

BUGS = {
    "normaliser_missing": "changes are averaged as they are: FedAvg",
    "effective_steps_unweighted": "the server's effective number of steps is a plain mean",
    "first_clients_normaliser": "the first client's normaliser is used for everybody",
    "weights_dropped": "every client counts alike whatever its size",
    "one_step_more": "every client makes one local step too many, which the normaliser does not count",
    "lr_halved": "local steps are half as long as the normaliser assumes",
}
MOMENTUM = {
    "normaliser_counts_steps": "the normaliser is the number of steps although momentum is on (JYWa/FedNova#1)",
    "normaliser_limit": "the normaliser is steps/(1 - rho), its value for infinitely many steps",
    "momentum_kept": "the optimiser's buffer carries over between rounds (FederatedScope#136)",
    "dampening": "the optimiser's buffer averages gradients while the normaliser assumes a sum",
    "nesterov": "Nesterov's look-ahead while the normaliser assumes heavy-ball momentum",
}
SAMPLED = {
    "scaled_up": "the displacement is multiplied by n/|S| (FedLab's default `weighted_scale`)",
    "scaled_down": "the displacement is multiplied by |S|/n (flgo with `weighted_scale`)",
    "shares_not_renormalised": "the participants' weights among all clients are used as they are",
}
OPTIMISER = {
    "aliased_buffer": "the proximal term is added to the momentum buffer itself (FedNova's `d_p` aliases it)",
    "public_normaliser": "aliased buffer, and the normaliser counts 1 per step for the proximal term on top of the "
                         "momentum (FedNova's `distoptim/FedNova.py`)",
    "prox_not_in_normaliser": "the normaliser knows the momentum but not the proximal term",
    "momentum_kept": "the optimiser's buffer carries over between rounds",
}


class FedNovaOptimizer(torch.optim.Optimizer):
    """SGD with heavy-ball momentum and a proximal term that counts its own normaliser |a_i|_1 as it goes."""

    def __init__(self, params, lr, momentum, mu, bug=None):
        super().__init__(params, {"lr": lr, "momentum": momentum, "mu": mu})
        self.bug = bug
        self.restart()

    def restart(self):
        """A new round: the anchor is the present model."""
        self.counter, self.normalising = 0.0, 0.0
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["old_init"] = p.detach().clone()

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            lr, momentum, mu = group["lr"], group["momentum"], group["mu"]
            for p in group["params"]:
                state = self.state[p]
                if "buffer" not in state:
                    state["buffer"] = p.grad.clone()
                else:
                    state["buffer"].mul_(momentum).add_(p.grad)
                d_p = state["buffer"]
                if self.bug not in ("aliased_buffer", "public_normaliser"):
                    d_p = d_p.clone()
                d_p.add_(p - state["old_init"], alpha=mu)
                p.add_(d_p, alpha=-lr)
        self.counter = momentum * self.counter + 1
        if self.bug == "public_normaliser":
            self.normalising = (self.normalising + self.counter) * (1 - lr * mu) + 1
        elif self.bug == "prox_not_in_normaliser":
            self.normalising += self.counter
        else:
            self.normalising = (1 - lr * mu) * self.normalising + self.counter


class FedNova:
    """Server and clients in one object; `mu` is not None selects the authors' optimiser."""

    def __init__(self, lr, steps, momentum, mu, bug):
        self.lr, self.steps, self.momentum, self.mu, self.bug = lr, steps, momentum, mu, bug
        self.reset()

    def reset(self):
        self.kept = {}

    def optimiser(self, model):
        if self.mu is not None:
            return FedNovaOptimizer(model.parameters(), self.lr, self.momentum, self.mu, self.bug)
        return torch.optim.SGD(model.parameters(), lr=self.lr / 2 if self.bug == "lr_halved" else self.lr,
                               momentum=self.momentum, nesterov=self.bug == "nesterov",
                               dampening=self.momentum if self.bug == "dampening" else 0)

    def local(self, i, x, client):
        """(normalised gradient d_i, normaliser |a_i|_1)."""
        start = linear(x)
        model, optimiser = self.kept.get(i) or (start, self.optimiser(start))
        if self.bug == "momentum_kept":
            self.kept[i] = (model, optimiser)
            model.load_state_dict(copy.deepcopy(start.state_dict()))
            if self.mu is not None:
                optimiser.restart()
        X, y = tensors(client)
        steps, counter, a = count(self.steps, i), 0.0, 0.0
        for _ in range(steps + (self.bug == "one_step_more")):
            optimiser.zero_grad()
            half_mse(model, X, y).backward()
            optimiser.step()
        for _ in range(steps):
            counter = self.momentum * counter + 1
            a += counter
        if self.mu is not None:
            a = optimiser.normalising
        if self.bug == "normaliser_counts_steps":
            a = float(steps)
        if self.bug == "normaliser_limit":
            a = steps / (1 - self.momentum)
        return (x - numpy_of(model)) / (self.lr * a), a

    def server(self, x, clients, cohort):
        if not len(cohort):
            return x
        bug = self.bug
        sizes = [1 if bug == "weights_dropped" else len(clients[i].y) for i in cohort]
        total = sum(len(c.y) for c in clients) if bug == "shares_not_renormalised" else sum(sizes)
        results = [self.local(i, x, clients[i]) for i in cohort]
        tau_eff = sum(m / total * a for m, (_, a) in zip(sizes, results, strict=True))
        if bug == "effective_steps_unweighted":
            tau_eff = sum(a for _, a in results) / len(results)
        if bug == "first_clients_normaliser":
            results = [(g * a / results[0][1], a) for g, a in results]
        if bug == "normaliser_missing":
            results, tau_eff = [(g * a, a) for g, a in results], 1
        scale = {"scaled_up": len(clients) / len(cohort), "scaled_down": len(cohort) / len(clients)}.get(bug, 1)
        return x - scale * self.lr * tau_eff * sum(m / total * g for m, (g, _) in zip(sizes, results, strict=True))

    def round(self, x, clients):
        return self.server(x, clients, range(len(clients)))

    def sampled_round(self, x, clients, cohort):
        return self.server(x, clients, cohort)


def build(lr, steps, bug=None, momentum=0, mu=None, sampled=False):
    """A Loop; mu selects momentum and proximal term together."""
    code = FedNova(number(lr), steps, number(momentum), None if mu is None else number(mu), bug)
    arguments = {"lr": lr, "steps": steps}
    if mu is not None:
        arguments["solver"] = ("MomentumProximal", {"rho": momentum, "alpha": times(lr, mu)})
    elif momentum:
        arguments["solver"] = ("Momentum", {"rho": momentum})
    return Loop(code.sampled_round if sampled else code.round, ("FedNova", arguments), fixed(steps),
                restart=code.reset, needs_cohort=sampled)


def options(**defaults):
    """`build` with other defaults."""
    return lambda lr, steps, bug=None, **changes: build(lr, steps, bug=bug, **{**defaults, **changes})


SPECIMENS = [  # give different numbers of steps to the clients: with equal ones FedNova is FedAvg
    Specimen("fednova", build, BUGS),
    Specimen("fednova_momentum", options(momentum="1/2"), BUGS | MOMENTUM),
    Specimen("fednova_sampled", options(sampled=True), BUGS | SAMPLED, needs_cohort=True),
    Specimen("fednova_optimiser", options(momentum="1/2", mu="1/2"), OPTIMISER),
]
