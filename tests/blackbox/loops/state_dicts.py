"""FedAvg as most public code has it: deep copies of a module, `state_dict` averaging, an `args` record.

The layout of AshwinRJ/Federated-Learning-PyTorch and its many descendants, with the options people add to the local
optimiser: momentum, weight decay, gradient clipping, step decay, mini-batches, single precision.
"""

from __future__ import annotations

import copy
from types import SimpleNamespace

import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

from tests.blackbox.loops.specimen import Loop, Specimen, count, fixed, linear, number, numpy_of, tensors, times

BUGS = {
    "weights_dropped": "every client counts alike whatever its size (AshwinRJ/Federated-Learning-PyTorch#27)",
    "first_client_twice": "the sum starts from the first client and then runs over all (OpenMined/PySyft#3863, #3828)",
    "one_step_more": "every client makes one local step too many",
    "one_step_only": "the loop over local epochs is missing",
    "lr_halved": "the local step size is half of what is stated",
    "mse_without_half": "the loss has no factor 1/2: the step size is doubled",
    "server_lr_two": "the server applies the averaged change twice",
    "weight_decay_left_on": "the optimiser keeps a weight decay of 1/20",
    "clipping_left_on": "gradients are clipped to norm 1/4",
    "lr_decay_left_on": "the step size decays by 10 % per local step",
    "lr_decay_over_rounds": "the step size decays by 10 % per round",
    "server_model_trained": "models are not deep-copied: each client starts where the last one ended, and all entries "
                            "of the list are one tensor (FedASL `pull_model`)",
    "sequential_pass": "clients train the server's own model one after another; their weights are copied and averaged",
    "aliased_state_dicts": "`state_dict()` of one reused model is collected without a copy: the last client wins",
}
MEMORY = {"optimiser_kept": "models and optimisers are made once: buffers carry over between rounds "
                            "(KarhouTam/FL-bench#104, alibaba/FederatedScope#136)"}
MOMENTUM = MEMORY | {
    # torch starts the buffer from the first gradient, undamped, so these two differ
    "dampening": "the optimiser has dampening = rho: u <- rho u + (1 - rho) g from u = the first gradient",
    "averaged_gradients": "a buffer written by hand averages gradients, u <- rho u + (1 - rho) g from u = 0",
    "nesterov": "Nesterov's look-ahead instead of heavy-ball momentum",
    "momentum_dropped": "the momentum argument never reaches the optimiser",
}
SCHEDULE = {
    "scheduler_kept": "the schedule is made once and goes on decaying in later rounds",
    "never_decayed": "`scheduler.step()` is never called",
}
CLIPPING = {"clip_after_step": "gradients are clipped after the optimiser has used them",
            "clip_by_value": "each coordinate is clipped instead of the norm"}
DECAY = {"decay_dropped": "the weight decay never reaches the optimiser",
         "decay_doubled": "an explicit |w|^2 penalty without the 1/2 is used instead: twice the decay"}
BATCHES = {
    "one_epoch": "the loop over epochs is missing: one pass over the data",
    "last_batch_dropped": "`drop_last` style: the last mini-batch of every epoch is lost",
    "sum_reduction": "losses are summed over the batch instead of averaged (reduction='sum')",
    "one_batch_per_epoch": "each epoch stops after its first mini-batch (CharlieDinh/pFedMe#6, whose author means "
                           "it so)",
}


class LocalUpdate:
    """The local phase of one client. `bug` names the line that goes wrong."""

    def __init__(self, args, client, index):
        self.args = args
        X, y = tensors(client, args.dtype)
        if args.batch_size is None:
            self.epochs, self.batches = count(args.steps, index), [(X, y)]
        else:
            self.epochs = args.epochs
            self.batches = list(DataLoader(TensorDataset(X, y), batch_size=args.batch_size, shuffle=args.shuffle))
        self.epochs += args.bug == "one_step_more"
        if args.bug in ("one_step_only", "one_epoch"):
            self.epochs = 1
        if args.bug == "last_batch_dropped":
            self.batches = self.batches[:-1]
        if args.bug == "one_batch_per_epoch":
            self.batches = self.batches[:1]
        self.criterion = nn.MSELoss(reduction="sum" if args.bug == "sum_reduction" else "mean")

    def optimiser(self, model):
        args = self.args
        decay = 1 / 20 if args.bug == "weight_decay_left_on" else args.weight_decay
        decay = {"decay_dropped": 0.0, "decay_doubled": 2 * decay}.get(args.bug, decay)
        momentum = 0.0 if args.bug in ("momentum_dropped", "averaged_gradients") else args.momentum
        optimiser = torch.optim.SGD(
            model.parameters(),
            lr=args.lr / 2 if args.bug == "lr_halved" else args.lr,
            momentum=momentum,
            dampening=momentum if args.bug == "dampening" else 0.0,
            nesterov=args.bug == "nesterov",
            weight_decay=decay,
        )
        gamma = 0.9 if args.bug == "lr_decay_left_on" else args.gamma
        return optimiser, StepLR(optimiser, step_size=args.step_size, gamma=gamma)

    def update_weights(self, model, optimiser, scheduler):
        args, bug = self.args, self.args.bug
        max_norm = 1 / 4 if bug == "clipping_left_on" else args.max_norm
        buffers = [torch.zeros_like(p) for p in model.parameters()]
        for _ in range(self.epochs):
            for X, y in self.batches:
                optimiser.zero_grad()
                loss = self.criterion(model(X).squeeze(-1), y)
                if args.half and bug != "mse_without_half":
                    loss = loss / 2
                loss.backward()
                if max_norm is not None and bug == "clip_by_value":
                    nn.utils.clip_grad_value_(model.parameters(), max_norm)
                elif max_norm is not None and bug != "clip_after_step":
                    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                if bug == "averaged_gradients":
                    for p, u in zip(model.parameters(), buffers, strict=True):
                        p.grad.copy_(u.mul_(args.momentum).add_(p.grad, alpha=1 - args.momentum))
                optimiser.step()
                if bug == "clip_after_step":
                    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                if bug != "never_decayed":
                    scheduler.step()
        return model.state_dict()


def average_weights(w, sizes, bug=None):
    """Weighted mean of a list of state dicts."""
    if bug == "weights_dropped":
        sizes = [1] * len(w)
    total, averaged = sum(sizes), {}
    for key in w[0]:
        averaged[key] = w[0][key] * (sizes[0] / total)
        for i in range(0 if bug == "first_client_twice" else 1, len(w)):
            averaged[key] += w[i][key] * (sizes[i] / total)
    return averaged


class Federation:
    """One federated training: `round` and `reset`. Correct code has nothing to reset."""

    def __init__(self, args):
        self.args = args
        self.reset()

    def reset(self):
        self.rounds, self.kept, self.scratch = 0, {}, None

    def local_model(self, i, global_model, local):
        """A client's model with its optimiser and schedule: fresh ones, unless a bug keeps or shares them."""
        bug = self.args.bug
        if bug in ("server_model_trained", "sequential_pass"):
            return global_model, *local.optimiser(global_model)
        if bug == "aliased_state_dicts":
            self.scratch = self.scratch or copy.deepcopy(global_model)
            self.scratch.load_state_dict(global_model.state_dict())
            return self.scratch, *local.optimiser(self.scratch)
        if bug in ("optimiser_kept", "scheduler_kept"):
            if i not in self.kept:
                model = copy.deepcopy(global_model)
                self.kept[i] = (model, *local.optimiser(model))
            self.kept[i][0].load_state_dict(global_model.state_dict())
            return self.kept[i]
        model = copy.deepcopy(global_model)
        return model, *local.optimiser(model)

    def round(self, x, clients):
        args, bug = self.args, self.args.bug
        global_model, w = linear(x, args.dtype), []
        before = numpy_of(global_model)
        for i, client in enumerate(clients):
            local = LocalUpdate(args, client, i)
            model, optimiser, scheduler = self.local_model(i, global_model, local)
            if bug == "lr_decay_over_rounds":
                optimiser.param_groups[0]["lr"] *= 0.9**self.rounds
            weights = local.update_weights(model, optimiser, scheduler)
            w.append(weights if bug in ("server_model_trained", "aliased_state_dicts") else copy.deepcopy(weights))
        self.rounds += 1
        sizes = [len(client.y) for client in clients] if args.averaging == "weighted" else [1] * len(clients)
        global_model.load_state_dict(average_weights(w, sizes, bug))
        after = numpy_of(global_model)
        return before + 2 * (after - before) if bug == "server_lr_two" else after


def build(lr, steps, bug=None, averaging="weighted", momentum=0, weight_decay=0, max_norm=None, gamma=1, step_size=1,
          half=True, epochs=None, batch_size=None, shuffle=False, single=False):
    """A Loop. gamma, step_size: StepLR, stepped after each local step; half: whether the loss has its factor 1/2.

    batch_size: mini-batches, `epochs` times over the data instead of `steps`; on data that repeat the same d rows,
    unshuffled batches of d rows have the client's exact gradient.
    """
    args = SimpleNamespace(
        lr=number(lr), steps=steps, averaging=averaging, momentum=number(momentum), weight_decay=number(weight_decay),
        max_norm=None if max_norm is None else number(max_norm), gamma=number(gamma), step_size=step_size, half=half,
        epochs=epochs, batch_size=batch_size, shuffle=shuffle,
        dtype=torch.float32 if single else torch.float64, bug=bug)
    code = Federation(args)
    arguments = {"lr": lr if half else times(2, lr)}
    if batch_size is None:
        arguments["steps"] = steps
    if averaging != "weighted":
        arguments["averaging"] = averaging
    if momentum:
        arguments["solver"] = ("Momentum", {"rho": momentum})
    if args.gamma != 1:
        arguments["solver"] = ("Decay", {"gamma": gamma})
    return Loop(
        code.round,
        # the catalogue has no staircase of step sizes and no momentum whose steps decay
        claim=None if step_size != 1 or (momentum and args.gamma != 1) else ("FedAvg", arguments),
        steps=fixed(steps) if batch_size is None else
        lambda clients: tuple(epochs * -(-len(c.y) // batch_size) for c in clients),
        restart=code.reset,
        objective={"reg": weight_decay} if weight_decay else {},
        single=single)


def options(**defaults):
    """`build` with other defaults."""
    return lambda lr, steps, bug=None, **changes: build(lr, steps, bug=bug, **{**defaults, **changes})


PLAIN_BUGS = {k: v for k, v in BUGS.items() if k != "weights_dropped"}
FEW = {k: BUGS[k] for k in ("weights_dropped", "one_step_more", "lr_halved")}
SPECIMENS = [
    Specimen("fedavg_weighted", build, BUGS, diverging=("first_client_twice",)),
    Specimen("fedavg_plain", options(averaging="plain"), PLAIN_BUGS, diverging=("first_client_twice",)),
    Specimen("fedavg_momentum", options(momentum="1/2"), FEW | MOMENTUM),
    Specimen("fedavg_weight_decay", options(weight_decay="1/10"), FEW | DECAY),
    Specimen("fedavg_clipped", options(max_norm="1/4"), FEW | CLIPPING),  # FedAvg while gradients are shorter
    Specimen("fedavg_decay", options(gamma="3/4"), FEW | SCHEDULE),
    Specimen("fedavg_staircase", options(gamma="1/2", step_size=2), FEW | SCHEDULE),
    Specimen("fedavg_single", options(single=True), BUGS, diverging=("first_client_twice",)),
    Specimen("fedavg_mse", options(half=False), FEW),
    Specimen("fedavg_batches", options(epochs=2, batch_size=4), FEW | BATCHES),
]
