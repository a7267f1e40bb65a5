"""FedAvg with sampled clients, and FedProx, in the manner of Flower: parameters travel as lists of arrays.

A client's `fit` returns (parameters, number of examples); the server's `aggregate` sees nothing else.
"""

from __future__ import annotations

import numpy as np
import torch

from tests.blackbox.loops.specimen import Loop, Specimen, count, fixed, half_mse, linear, number, tensors

SAMPLED_BUGS = {
    "weights_dropped": "every participant counts alike whatever its size",
    "weights_not_renormalised": "models are averaged with the weights of all clients, which sum to less than 1 over "
                                "a sample (ssg-research/WAFFLE#6: weights that do not sum to 1 for some sizes)",
    "all_clients_averaged": "clients that did not train are averaged too, with the model they were sent "
                            "(katsura-jp/fedavg.pytorch#1; omarfoq/FedEM#1, whose author means it so)",
    "stale_clients_averaged": "clients that did not train are averaged too, with the model they kept from their last "
                              "training",
    "divided_by_all": "participants' changes are averaged over the number of all clients",
    "first_change_twice": "the first participant's change is added twice",
    "cohort_ignored": "every client trains, sampled or not",
    "server_lr_two": "the server applies the averaged change twice",
}
PROX_BUGS = {
    "prox_missing": "the proximal term is computed and never added",
    "prox_overwritten": "a later line assigns the loss again, without the term (SMILELab-FL/FedLab#280)",
    "prox_not_squared": "the penalty is mu/2 |w - x| (flwrlabs/flower#2210)",
    "prox_without_half": "the penalty is mu |w - x|^2: mu is doubled",
    "prox_repelling": "the term is applied after the step, with the wrong sign (FedScale)",
    "prox_unscaled": "the pull mu (w - x) is applied after the step and not multiplied by the step size",
    "prox_anchor_moves": "the anchor is the list of live parameters: the distance is always 0",
    "prox_after_step": "the pull is applied after the gradient step, at the point already moved",
    "weights_dropped": "every client counts alike whatever its size",
    "one_step_more": "every client makes one local step too many",
}


def get_parameters(net):
    return [value.detach().numpy().copy() for value in net.state_dict().values()]


def set_parameters(net, parameters):
    keys = net.state_dict().keys()
    net.load_state_dict({k: torch.as_tensor(v) for k, v in zip(keys, parameters, strict=True)})


def train(net, data, steps, lr, mu=None, bug=None):
    """Local SGD on loss + mu/2 |w - x|^2; mu None is FedAvg."""
    X, y = data
    optimiser = torch.optim.SGD(net.parameters(), lr=lr)
    anchor = list(net.parameters()) if bug == "prox_anchor_moves" else [p.detach().clone() for p in net.parameters()]
    for _ in range(steps + (bug == "one_step_more")):
        optimiser.zero_grad()
        loss = half_mse(net, X, y)
        if mu is not None:
            term = 0.0
            for p, p0 in zip(net.parameters(), anchor, strict=True):
                distance = (p - p0).norm(2)
                term = term + (distance if bug == "prox_not_squared" else distance**2)
            if bug == "prox_without_half":
                loss = loss + mu * term
            elif bug not in ("prox_missing", "prox_repelling", "prox_unscaled", "prox_after_step"):
                loss = loss + mu / 2 * term
            if bug == "prox_overwritten":
                loss = half_mse(net, X, y)
        loss.backward()
        optimiser.step()
        pull = {"prox_repelling": lr, "prox_unscaled": -1, "prox_after_step": -lr}.get(bug)
        if pull is not None:
            with torch.no_grad():
                for p, p0 in zip(net.parameters(), anchor, strict=True):
                    p.add_(p - p0, alpha=pull * mu)


def fit(parameters, client, steps, lr, mu=None, bug=None):
    net = linear(np.zeros(client.X.shape[1]))
    set_parameters(net, parameters)
    train(net, tensors(client), steps, lr, mu, bug)
    return get_parameters(net), len(client.y)


def aggregate(results):
    """The weighted mean of [(parameters, number of examples)], as Flower's strategies have it."""
    total = sum(examples for _, examples in results)
    scaled = [[layer * examples for layer in parameters] for parameters, examples in results]
    return [sum(layers) / total for layers in zip(*scaled, strict=True)]


class SampledFedAvg:
    """FedAvg whose round trains a given cohort."""

    def __init__(self, lr, steps, averaging, bug):
        self.lr, self.steps, self.averaging, self.bug = lr, steps, averaging, bug
        self.reset()

    def reset(self):
        self.last = {}  # only a bug looks at models of earlier rounds

    def round(self, x, clients, cohort):
        if not len(cohort):
            return x
        bug, start, n = self.bug, [x[None]], len(clients)
        cohort = range(n) if bug == "cohort_ignored" else cohort
        results = [fit(start, clients[i], count(self.steps, i), self.lr) for i in cohort]
        if self.averaging == "plain" or bug == "weights_dropped":
            results = [(parameters, 1) for parameters, _ in results]
        if bug in ("all_clients_averaged", "stale_clients_averaged"):
            trained = dict(zip(cohort, results, strict=True))
            self.last |= trained if bug == "stale_clients_averaged" else {}
            new = aggregate([trained.get(i) or self.last.get(i) or (start, len(c.y)) for i, c in enumerate(clients)])
        elif bug == "weights_not_renormalised" or self.averaging == "unbiased":
            total = sum(len(c.y) for c in clients)
            new = [sum(layers) for layers in zip(*([w * m / total for w in p] for p, m in results), strict=True)]
            if self.averaging == "unbiased":  # x + sum_S p_i (n/|S|) (y_i - x)
                mass = sum(m for _, m in results) / total
                new = [x0 + n / len(results) * (w - mass * x0) for w, x0 in zip(new, start, strict=True)]
        else:
            new = aggregate(results)
        x1 = new[0][0]
        if bug == "divided_by_all":
            x1 = x + len(results) / n * (x1 - x)
        if bug == "first_change_twice":
            parameters, examples = results[0]
            x1 = x1 + examples / sum(m for _, m in results) * (parameters[0][0] - x)
        return x + 2 * (x1 - x) if bug == "server_lr_two" else x1


def sampled(lr, steps, bug=None, averaging="weighted"):
    """averaging: "weighted", "plain" or "unbiased" (weights p_i n/|S|, which do not sum to 1)."""
    code = SampledFedAvg(number(lr), steps, averaging, bug)
    return Loop(code.round, ("FedAvg", {"lr": lr, "steps": steps, "averaging": averaging}), fixed(steps),
                restart=code.reset, needs_cohort=True)


def fedprox(lr, steps, bug=None, mu="1/2"):
    """Plain functions, no class at all."""
    def round_fn(x, clients):
        results = [fit([x[None]], c, count(steps, i), number(lr), number(mu), bug) for i, c in enumerate(clients)]
        if bug == "weights_dropped":
            results = [(parameters, 1) for parameters, _ in results]
        return aggregate(results)[0][0]

    return Loop(round_fn, ("FedProx", {"lr": lr, "steps": steps, "mu": mu}), fixed(steps))


UNIFORM = {k: v for k, v in SAMPLED_BUGS.items() if k in ("divided_by_all", "cohort_ignored", "server_lr_two")}
SPECIMENS = [
    Specimen("fedavg_sampled", sampled, SAMPLED_BUGS, needs_cohort=True),
    Specimen("fedavg_sampled_plain", lambda lr, steps, bug=None: sampled(lr, steps, bug, "plain"), UNIFORM,
             needs_cohort=True),
    Specimen("fedavg_sampled_unbiased", lambda lr, steps, bug=None: sampled(lr, steps, bug, "unbiased"), UNIFORM,
             needs_cohort=True),
    Specimen("fedprox", fedprox, PROX_BUGS),
]
