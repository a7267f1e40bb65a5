"""SCAFFOLD: a server and clients with hidden control variates, and one pure function of the joint state."""

from __future__ import annotations

import copy

import numpy as np
import torch

from tests.blackbox.loops.specimen import Loop, Specimen, count, fixed, half_mse, linear, number, numpy_of, tensors

BUGS = {
    "divisor_one_more": "the client variate divides by steps + 1",
    "divisor_is_batches": "the client variate divides by the batches of one epoch, not by all steps (PFLlib#160)",
    "divisor_without_lr": "the client variate is not divided by the step size",
    "wrong_sign": "the correction is added with the wrong sign, g + c_i - c (fedbiomed#734)",
    "random_variates": "control variates start from random model weights (Xtra-Computing/NIID-Bench#8)",
    "delta_after_overwriting": "a client overwrites its variate before it computes the change: the server hears 0",
    "variate_sent_whole": "a client sends its new variate where the server expects the change (TL-System/plato#382)",
    "server_variate_early": "the server's variate is updated after each client, so that later clients use it",
    "variate_never_stored": "the client variate is computed, sent and not kept",
    "server_variate_missing": "the local correction is -c_i alone",
    "server_variate_summed": "the server's variate adds the clients' changes without averaging",
    "one_step_more": "every client makes one local step too many, which the divisor does not count",
}
SAMPLED = {
    "divided_by_sample": "the server's variate is averaged over the sampled clients, not all (NIID-Bench#12)",
    "weights_not_renormalised": "the model moves with the participants' weights among all clients",
}
WEIGHTED = {"weights_dropped": "the model is averaged with equal weights, the variate with the sizes",
            "variate_unweighted": "the server's variate is a plain mean while the model is weighted by size"}
OPTION_ONE = {k: BUGS[k] for k in ("wrong_sign", "random_variates", "delta_after_overwriting",
                                   "server_variate_summed", "one_step_more")} | {
    "gradient_at_the_end": "the new variate is the gradient at the local model instead of the server model",
}


class Client:
    """A client with its control variate."""

    def __init__(self, d, lr, option, bug, control):
        self.lr, self.option, self.bug = lr, option, bug
        self.control = torch.zeros(d, dtype=torch.float64) if control is None else control

    def train(self, data, global_model, c, steps):
        """(local model, change of the control variate)."""
        bug, (X, y) = self.bug, tensors(data)
        model = copy.deepcopy(global_model)
        optimiser = torch.optim.SGD(model.parameters(), lr=self.lr)
        correction = c - self.control
        if bug == "wrong_sign":
            correction = self.control - c
        if bug == "server_variate_missing":
            correction = -self.control
        for _ in range(steps + (bug == "one_step_more")):
            optimiser.zero_grad()
            half_mse(model, X, y).backward()
            for p in model.parameters():
                p.grad.add_(correction)
            optimiser.step()
        if self.option == 2:
            divisor = {"divisor_one_more": steps + 1, "divisor_is_batches": 1}.get(bug, steps)
            divisor *= 1 if bug == "divisor_without_lr" else self.lr
            moved = (global_model.weight - model.weight).detach()[0]
            new = self.control - c + moved / divisor
        else:
            where = copy.deepcopy(model if bug == "gradient_at_the_end" else global_model)
            where.zero_grad()
            half_mse(where, X, y).backward()
            new = where.weight.grad[0].clone()
        if bug == "delta_after_overwriting":
            self.control = new
        delta = new if bug == "variate_sent_whole" else new - self.control
        if bug != "variate_never_stored":
            self.control = new
        return model, delta


class Server:
    """The server: `round` and `reset`. Clients appear in their first round and keep their variates."""

    def __init__(self, lr, steps, option=2, weighted=True, bug=None):
        self.lr, self.steps, self.option, self.weighted, self.bug = lr, steps, option, weighted, bug
        self.reset()

    def reset(self):
        self.c, self.clients = None, {}
        self.generator = torch.Generator().manual_seed(0)

    def new_control(self, d):
        if self.bug == "random_variates":
            return torch.randn(d, generator=self.generator, dtype=torch.float64)
        return torch.zeros(d, dtype=torch.float64)

    def start(self, n, d):
        self.c = self.new_control(d)
        self.clients = {i: Client(d, self.lr, self.option, self.bug, self.new_control(d)) for i in range(n)}

    def full_round(self, x, clients):
        return self.round(x, clients, range(len(clients)))

    def round(self, x, clients, cohort):
        if not len(cohort):
            return x
        bug, n = self.bug, len(clients)
        if self.c is None:
            self.start(n, len(x))
        share, weight = shares(clients, cohort, self.weighted, bug)
        global_model, c, x_new = linear(x), self.c.clone(), x.copy()
        if bug == "weights_not_renormalised":
            share = weight
        for i, s, w in zip(cohort, share, weight, strict=True):
            sent = self.c if bug == "server_variate_early" else c
            model, delta = self.clients[i].train(clients[i], global_model, sent, count(self.steps, i))
            x_new += s * (numpy_of(model) - x)
            self.c = self.c + w * delta
        return x_new


def shares(clients, cohort, weighted, bug):
    """The participants' weights in the model's average, which sum to 1, and in the server variate's, over all n."""
    sizes = np.array([len(c.y) if weighted else 1 for c in clients], dtype=float)
    weight = (sizes / sizes.sum())[list(cohort)]
    share = weight / weight.sum()
    if bug == "weights_dropped":
        share = np.full(len(cohort), 1 / len(cohort))
    if bug == "variate_unweighted":
        weight = np.full(len(cohort), 1 / len(clients))
    if bug == "server_variate_summed":
        weight = np.ones(len(cohort))
    if bug == "divided_by_sample":
        weight = weight / weight.sum()
    return share, weight


def joint_round(lr, steps, bug):
    """SCAFFOLD as a pure function of {"x": (d,), "c": (d,), "ci": (n, d)}, gradients by autograd on a flat vector."""
    def round_fn(state, clients, cohort):
        x, c, ci = (torch.as_tensor(state[k]) for k in ("x", "c", "ci"))
        share, weight = shares(clients, cohort, True, bug)
        if bug == "weights_not_renormalised":
            share = weight
        x_new, c_new, ci_new = x.clone(), c.clone(), ci.clone()
        for i, s, w in zip(cohort, share, weight, strict=True):
            y, K = x.clone(), count(steps, i)
            correction = {"wrong_sign": ci[i] - c, "server_variate_missing": -ci[i]}.get(bug, c - ci[i])
            for _ in range(K + (bug == "one_step_more")):
                y.requires_grad_(True)
                (g,) = torch.autograd.grad(clients[i].loss(y), y)
                y = (y - lr * (g + correction)).detach()
            divisor = {"divisor_one_more": K + 1, "divisor_is_batches": 1}.get(bug, K)
            new = ci[i] - c + (x - y) / (divisor * (1 if bug == "divisor_without_lr" else lr))
            x_new += s * (y - x)
            if bug != "delta_after_overwriting":
                c_new += w * (new if bug == "variate_sent_whole" else new - ci[i])
            if bug != "variate_never_stored":
                ci_new[i] = new
        return {"x": x_new.numpy(), "c": c_new.numpy(), "ci": ci_new.numpy()}

    return round_fn


def joint_state(n, d, random=False):
    """The state before the first round."""
    draw = np.random.default_rng(0).standard_normal if random else np.zeros
    return {"x": np.zeros(d), "c": draw(d), "ci": draw((n, d))}


def classes(lr, steps, bug=None, option=2, weighted=True, sampled=False):
    """A Loop around `Server`. weighted: by size, else plain means as published."""
    code = Server(number(lr), steps, option, weighted, bug)
    return Loop(code.round if sampled else code.full_round,
                ("Scaffold", {"lr": lr, "steps": steps, "option": option}), fixed(steps), reset=code.reset,
                restart=code.reset, needs_cohort=sampled, objective={} if weighted else {"weights": "plain"})


def joint(lr, steps, bug=None):
    return Loop(joint_round(number(lr), steps, bug), ("Scaffold", {"lr": lr, "steps": steps, "option": 2}),
                fixed(steps), state=lambda n, d: joint_state(n, d, bug == "random_variates"), needs_cohort=True)


def options(**defaults):
    """`classes` with other defaults."""
    return lambda lr, steps, bug=None, **changes: classes(lr, steps, bug=bug, **{**defaults, **changes})


UNSTABLE = ("divisor_is_batches", "wrong_sign")
NOT_JOINT = ("server_variate_early",)
SPECIMENS = [
    Specimen("scaffold", classes, BUGS | WEIGHTED, diverging=UNSTABLE),
    Specimen("scaffold_plain", options(weighted=False), BUGS, diverging=UNSTABLE),
    Specimen("scaffold_option_one", options(option=1), OPTION_ONE | WEIGHTED),
    Specimen("scaffold_sampled", options(sampled=True), BUGS | WEIGHTED | SAMPLED, needs_cohort=True,
             diverging=UNSTABLE),
    Specimen("scaffold_joint", joint, {k: v for k, v in (BUGS | WEIGHTED | SAMPLED).items() if k not in NOT_JOINT},
             needs_cohort=True, diverging=UNSTABLE),
]
