"""Synthetic(alpha, beta) of Li et al. for ten clients: labels of a client's own linear model, rows of its own law, many or few."""
import functools

import numpy as np

import fltheory as ft
from fltheory.runs.streams import Stream
from verification.asyncfeded import tasks
from verification.asyncfeded.tasks import CLIENTS, SideBySide, Task, split

FEATURES, CLASSES, SEED, SECONDS, GOAL = 60, 10, 9, 40, 75


def clients(alpha=1, beta=1, seed=SEED, sizes=None):
    """Yields (x (n_i, 60), W (10, 60), b (10,)): u ~ N(0, alpha), B ~ N(0, beta); W, b ~ N(u, 1), v ~ N(B, 1),
    x ~ N(v, diag(j^-1.2)); n_i = 50 + floor of a log-normal(4, 2) number unless sizes are given. alpha, beta: variances."""
    rng = Stream(seed, "asyncfeded", "synthetic").generator()
    drawn = 50 + np.floor(rng.lognormal(4, 2, CLIENTS)).astype(int)
    spread = np.arange(1, FEATURES + 1) ** -0.6
    for n in drawn if sizes is None else sizes:
        u, B = np.sqrt(alpha) * rng.standard_normal(), np.sqrt(beta) * rng.standard_normal()
        W, b = u + rng.standard_normal((CLASSES, FEATURES)), u + rng.standard_normal(CLASSES)
        yield B + rng.standard_normal(FEATURES) + spread * rng.standard_normal((n, FEATURES)), W, b


def rows(alpha=1, beta=1, seed=SEED, sizes=None):
    """[(x (n_i, 60), labels)]: the label is the largest entry of W x + b."""
    return [(x, (x @ W.T + b).argmax(1)) for x, W, b in clients(alpha, beta, seed, sizes)]


@functools.cache
def softmax():
    """Synthetic(1, 1) with softmax regression."""
    train, (x, y) = split([(np.concatenate([x, np.ones((len(x), 1))], 1), y) for x, y in rows()])
    sizes = np.array([len(y) for _, y in train])
    problem = ft.Logistic(*map(list, zip(*train, strict=True)), 0, classes=CLASSES, weights=sizes / sizes.sum())
    return Task("Synthetic", problem, (x, y), np.zeros(problem.d), "1/100", 64, SECONDS, "Synthetic", GOAL)


def layers():
    import torch
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    return torch.nn.Sequential(linear(FEATURES, 24), relu(), linear(24, 16), relu(), linear(16, CLASSES))


@functools.cache
def perceptron():
    """The same data with a network of three fully connected layers, as in the paper; its widths are not printed."""
    train, test = split(rows())
    sizes = np.array([len(y) for _, y in train])
    problem = SideBySide(layers, tasks.perceptron, *map(list, zip(*train, strict=True)), weights=sizes / sizes.sum())
    return Task("Synthetic, MLP", problem, test, problem.initial(0), "1/100", 32, 12, "Synthetic", GOAL)
