"""Local training in plain torch: one client's steps, each slip of it a switch."""

from __future__ import annotations

import torch


def rows(client, dtype):
    return torch.as_tensor(client.X, dtype=dtype), torch.as_tensor(client.y, dtype=dtype)


def optimiser_for(parameters, lr, momentum, bugs):
    """SGD, or what a slip of the configuration puts in its place."""
    if "adam" in bugs:
        return torch.optim.Adam(parameters, lr=lr)
    if "adamw" in bugs:
        return torch.optim.AdamW(parameters, lr=lr)
    if "adagrad" in bugs:
        return torch.optim.Adagrad(parameters, lr=lr)
    if "rmsprop" in bugs:
        return torch.optim.RMSprop(parameters, lr=lr)
    if "momentum missing" in bugs:
        momentum = 0
    if "hidden momentum" in bugs:
        momentum = 0.9
    return torch.optim.SGD(parameters, lr=2 * lr if "lr doubled" in bugs else lr, momentum=momentum,
                           nesterov="nesterov" in bugs, weight_decay=0.1 if "weight decay" in bugs else 0)


def loss_of(X, y, w, anchor, mu, bugs):
    """Half the mean squared error with its proximal term, or what a slip makes of them."""
    residual = X @ w - y
    loss = (residual * residual).mean() * (1 if "no half" in bugs else 0.5)
    if "summed loss" in bugs:
        loss = (residual * residual).sum() / 2
    pull = mu
    if "prox missing" in bugs:
        pull = 0
    if "prox doubled" in bugs:
        pull = 2 * mu
    if "hidden prox" in bugs:
        pull = 0.5
    if "prox wrong sign" in bugs:
        pull = -mu
    if "prox not squared" in bugs:
        return loss + mu / 2 * (w - anchor).norm()
    if pull and "prox after step" not in bugs:
        return loss + pull / 2 * ((w - anchor) ** 2).sum()
    return loss


def bend_gradient(w, correction, bugs):
    """Add the correction to the gradient in place, then clip or normalise it where a slip does."""
    if correction is not None:
        w.grad.add_(correction.to(w.dtype))
    if "clip norm" in bugs:
        torch.nn.utils.clip_grad_norm_([w], 0.5)
    if "clip value" in bugs:
        torch.nn.utils.clip_grad_value_([w], 0.5)
    if "sign" in bugs:
        w.grad.sign_()
    if "normalised" in bugs:
        w.grad.div_(w.grad.norm() + 1e-12)


def train(x, client, steps, lr, bugs=(), mu=0, momentum=0, gamma=1, dtype=torch.float64, correction=None, kept=None):
    """The local model (d,) after the steps, as a float64 tensor.

    mu: weight of the proximal term; gamma: decay of the step size per step; correction (d,): added to each gradient. kept: a dict
    in which an optimiser that outlives the round is stored.
    """
    X, y = rows(client, dtype)
    w = torch.nn.Parameter(torch.as_tensor(x, dtype=dtype).clone())
    anchor = w.detach().clone()
    if kept is not None and "w" in kept:
        w, optimiser = kept["w"], kept["optimiser"]
        with torch.no_grad():
            w.copy_(anchor)
    else:
        optimiser = optimiser_for([w], lr, momentum, bugs)
        if kept is not None:
            kept.update(w=w, optimiser=optimiser)
    steps += ("one step more" in bugs) - ("one step less" in bugs)
    for k in range(1 if "one step only" in bugs else steps):
        if "gradients add up" not in bugs or k == 0:
            optimiser.zero_grad()
        loss_of(X, y, w, anchor, mu, bugs).backward()
        bend_gradient(w, correction, bugs)
        for group in optimiser.param_groups:
            if gamma != 1 and "decay missing" not in bugs:
                group["lr"] = lr * gamma**k
            if "hidden decay" in bugs:
                group["lr"] = lr * 0.8**k
        optimiser.step()
        if "prox after step" in bugs:
            with torch.no_grad():
                w.sub_(lr * mu * (w - anchor))
    return w.detach().double().clone()
