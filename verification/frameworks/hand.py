"""Rounds in plain numpy, written from the algorithms' papers and from the sentences of the gallery: no torch, no fltheory.

Each maker returns start(clients) -> round(x, cohort) -> x. A client has X (m, d), y (m,); its loss is |X w - y|^2/(2 m).
"""
import functools

import numpy as np

LR, STEPS = 1 / 20, 3


def told(maker):
    """What it makes knows the call that made it, as `.call`."""
    @functools.wraps(maker)
    def made(*given, **named):
        start = maker(*given, **named)
        start.call = f"{maker.__name__}({', '.join([*map(repr, given), *(f'{k}={v!r}' for k, v in named.items())])})"
        return start
    return made


def gradient(client, w):
    return client.X.T @ (client.X @ w - client.y) / len(client.y)


def trained(client, x, steps=STEPS, shift=0.0, mu=0.0, lr=LR):
    y = x
    for _ in range(steps):
        y = y - lr * (gradient(client, y) + mu * (y - x) + shift)
    return y


def shares(clients, cohort, by_rows):
    rows = np.array([len(clients[i].y) if by_rows else 1 for i in cohort], dtype=float)
    return rows / rows.sum()


@told
def fedavg(by_rows=True, mu=0.0):
    def start(clients):
        return lambda x, cohort: shares(clients, cohort, by_rows) @ [trained(clients[i], x, mu=mu) for i in cohort]
    return start


@told
def fedavgm(beta):
    def start(clients):
        kept = {"m": 0.0}

        def one(x, cohort):
            kept["m"] = beta * kept["m"] + x - fedavg()(clients)(x, cohort)
            return x - kept["m"]
        return one
    return start


@told
def adagrad(eta=0.1, tau=1e-9):
    def start(clients):
        kept = {"v": 0.0}

        def one(x, cohort):
            change = fedavg()(clients)(x, cohort) - x
            kept["v"] = kept["v"] + change**2
            return x + eta * change / (np.sqrt(kept["v"]) + tau)
        return one
    return start


@told
def median():
    def start(clients):
        return lambda x, cohort: np.median([trained(clients[i], x) for i in cohort], axis=0)
    return start


@told
def trimmed(beta):
    def start(clients):
        def one(x, cohort):
            models, cut = np.sort([trained(clients[i], x) for i in cohort], axis=0), int(beta * len(cohort))
            return models[cut:len(cohort) - cut].mean(axis=0)
        return one
    return start


@told
def scaffold(option=2, sign=1, among="all", model_by_rows=False, variate_by_rows=False, stored=True, used=True, shared=False,
             steps=STEPS, lr=LR):
    """sign: of x - y_i, or of the gradient, in the new variate. among: the server's variate moves by the changes' sum over all
    clients or over the participants. stored, used: whether the clients keep their variates, and add the corrections. shared: all
    stored variates are one buffer, into which the present client's new variate is written before its steps."""
    def start(clients):
        n, d = len(clients), clients[0].X.shape[1]
        c, own, seen = np.zeros(d), np.zeros((n, d)), set()

        def one(x, cohort):
            nonlocal c
            models, changes = [], []
            for i in cohort:
                if shared:
                    own[i] = sign * gradient(clients[i], x) if i in seen else 0
                    seen.add(i)
                y = trained(clients[i], x, steps, (c - own[i]) if used else 0.0, lr=lr)
                new = sign * gradient(clients[i], x) if option == 1 else own[i] - c + sign * (x - y) / (steps * lr)
                models.append(y)
                changes.append(new - own[i])
                if stored:
                    own[i] = new
            weight = shares(clients, cohort, variate_by_rows)
            total = sum(len(k.y) for k in clients)
            kept = sum(len(clients[i].y) for i in cohort) / total if variate_by_rows else len(cohort) / n
            c = c + weight @ changes * (kept if among == "all" else 1)
            return shares(clients, cohort, model_by_rows) @ models
        return one
    return start


def with_momentum(client, x, steps, rho):
    """(model, |a|_1) of heavy-ball momentum; |a|_1 adds up what each gradient contributes by the end of the round."""
    y, v = x, 0.0
    for _ in range(steps):
        v = rho * v + gradient(client, y)
        y = y - LR * v
    return y, sum(rho**j for k in range(steps) for j in range(steps - k))


@told
def fednova(steps=(STEPS,) * 3, by_rows=True, divided=False, scaled=False, rho=0.0):
    """divided: the scales tau_eff p_i/tau_i are divided by their sum. scaled: the step is multiplied by n/|S|."""
    def start(clients):
        def one(x, cohort):
            ran = [with_momentum(clients[i], x, steps[i], rho) for i in cohort]
            p, tau = shares(clients, cohort, by_rows), np.array([a for _, a in ran])
            scales = (p @ tau) * p / tau * (len(clients) / len(cohort) if scaled else 1)
            scales = scales / scales.sum() if divided else scales
            return x - scales @ [x - y for y, _ in ran]
        return one
    return start


def models(start, clients, x, cohorts):
    """The models (rounds, d) after each round."""
    step, made = start(clients), []
    for cohort in cohorts:
        x = step(x, cohort)
        made.append(x)
    return np.array(made)
