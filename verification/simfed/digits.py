"""scikit-learn's digits over clients as in Appendix C.1, and softmax regression on many splits side by side.

A split deals 72 rows to each of 20 clients (log-normal numbers where sizes differ) and keeps 357 for one central test set. The
recorded runs do not use the engine: claims run some of them again with its coded rounds.
"""
import functools

import numpy as np

import fltheory as ft
from fltheory.core.laws.draw import Slots, everyone
from fltheory.core.problems.plain import Rows
from fltheory.runs.streams import Stream

CLIENTS, ROWS, TEST, BATCH, CLASSES, PENALTY, CLIP = 20, 72, 357, 18, 10, 1e-4, "1e-9"


@functools.cache
def images(standardised=True):
    """(x (1797, 64), labels): each pixel standardised over the whole set, or as it is, between 0 and 1."""
    from sklearn.datasets import load_digits
    x, labels = load_digits(return_X_y=True)
    if not standardised:
        return x / 16, labels
    spread = x.std(0)
    return (x - x.mean(0)) / np.where(spread > 0, spread, 1), labels


@functools.cache
def split(seed, a, b=0):
    """(rows of each client, rows of the test set). a: class imbalance, labels of a client ~ Dir(1/a), 0 for equal shares; b:
    imbalance of sizes, spread of the logarithm of a client's number of rows, 0 for 72 each."""
    labels, rng = images()[1], Stream(seed, "simfed", "split", str(a), str(b)).generator()
    order = rng.permutation(len(labels))
    test, rest = order[:TEST], order[TEST:]
    sizes = _sizes(rng, b)
    if a == 0:
        dealt = rest[np.argsort(labels[rest], kind="stable")]      # class by class, dealt round by round
        owner = _turns(sizes)
        return [dealt[owner == i] for i in range(CLIENTS)], test
    pools = [list(rest[labels[rest] == k]) for k in range(CLASSES)]
    own = []
    for size in sizes:
        wanted = np.floor(np.cumsum(np.concatenate([[0], rng.dirichlet([1 / a] * CLASSES)])) * size + 0.5).astype(int)
        own.append([pools[k].pop() for k, count in enumerate(np.diff(wanted)) for _ in range(min(count, len(pools[k])))])
    left = list(rng.permutation([r for pool in pools for r in pool]))
    return [np.array(o + [left.pop() for _ in range(size - len(o))]) for o, size in zip(own, sizes, strict=True)], test


def _sizes(rng, b):
    """Rows of each client, 1440 in all: log-normal, at least one batch."""
    if b == 0:
        return [ROWS] * CLIENTS
    share = np.exp(b * rng.standard_normal(CLIENTS))
    ends = np.floor(np.cumsum(share / share.sum()) * (ROWS - BATCH) * CLIENTS + 0.5).astype(int)
    return (BATCH + np.diff(ends, prepend=0)).tolist()


def _turns(sizes):
    """Whose turn it is (1440,), in proportion to the sizes, spread evenly."""
    at = np.concatenate([(np.arange(s) + 0.5) / s for s in sizes])
    return np.repeat(np.arange(len(sizes)), sizes)[np.argsort(at, kind="stable")]


def graph(seed, a, b=0, standardised=True):
    """The similarity graph of a split: first right singular vectors with a positive sum."""
    x = images(standardised)[0]
    return ft.SimilarityGraph.of(ft.messages([x[own] for own in split(seed, a, b)[0]]), clip=CLIP)


def batches(seed, number, epochs):
    """Rows (4 epochs, clients, 18) of the mini-batches of one round: a partition of each client's rows, anew for every epoch."""
    rng = Stream(seed, "simfed", "batches", number).generator()
    order = rng.permuted(np.tile(np.arange(ROWS), (epochs, CLIENTS, 1)), axis=-1)
    return order.reshape(epochs, CLIENTS, -1, BATCH).swapaxes(1, 2).reshape(-1, CLIENTS, BATCH)


def with_bias(x):
    return np.concatenate([x, np.ones((len(x), 1))], 1)


# ---- recorded runs: many splits and methods at once -------------------------------------------------------------------
def contest(a, lr, epochs, methods, seeds, rounds, standardised=True, longest=None):
    """(accuracy, loss): (rounds + 1, methods, seeds) of the server model on the test set, and its penalised loss on the clients'
    rows, weighted as the method weights them. methods: ((beta, "similarity" or "rank-one"), ...); beta = 1 is FedAvg. standardised:
    the pixels that messages are made of; losses always see standardised ones. longest: norm to which gradients are cut."""
    import torch
    torch.set_num_threads(1)
    x, y, p, P, X, Y = (torch.from_numpy(np.stack(v)) for v in zip(*(_arrays(s, a, standardised) for s in seeds), strict=True))
    count, features, many = len(seeds), x.shape[-1], len(methods)
    beta = torch.tensor([m[0] for m in methods], dtype=torch.float64).repeat_interleave(CLASSES)
    pull = torch.tensor([m[1] == "rank-one" for m in methods]).repeat_interleave(CLASSES)
    mean = torch.zeros(count, 1, features, many * CLASSES, dtype=torch.float64)     # columns: method by method, class by class
    last = mean.expand(-1, CLIENTS, -1, -1).clone()
    at = torch.arange(count)[:, None, None], torch.arange(CLIENTS)[None, :, None]
    seen = [_look(mean, x, y, p, X, Y, many)]
    for r in range(rounds):
        u = torch.where(pull, mean, torch.einsum("sij,sjfk->sifk", P, last))
        w = mean.expand(-1, CLIENTS, -1, -1).clone()
        index = torch.from_numpy(np.stack([batches(s, r, epochs) for s in seeds], 1))
        for rows in index:
            near = beta * w + (1 - beta) * u
            xb, yb = x[at[0], at[1], rows], y[at[0], at[1], rows]
            q = torch.softmax((xb @ near).unflatten(-1, (many, CLASSES)), -1)
            q -= yb[..., None, :]
            g = xb.mT @ q.flatten(-2) / BATCH + PENALTY * near
            w -= lr * (g if longest is None else _cut(g, longest, many))
        last, mean = w, (p[..., None, None] * w).sum(1, keepdim=True)
        seen.append(_look(mean, x, y, p, X, Y, many))
    return tuple(torch.stack(v).numpy() for v in zip(*seen, strict=True))


def _cut(g, longest, many):
    """Gradients (splits, clients, features, methods x classes), each no longer than a norm."""
    parts = g.unflatten(-1, (many, CLASSES))
    size = (parts**2).sum((2, 4), keepdim=True).sqrt()
    return (parts * (longest / size).clamp(max=1)).flatten(-2)


def _arrays(seed, a, standardised):
    (x, labels), (owners, test), g = images(), split(seed, a), graph(seed, a, 0, standardised)
    x, one = with_bias(x), np.eye(CLASSES)
    return (np.stack([x[o] for o in owners]), np.stack([one[labels[o]] for o in owners]), g.weights.astype(float),
            g.neighbours.astype(float), x[test], labels[test])


def _look(mean, x, y, p, X, Y, many):
    """(accuracy, loss), each (methods, seeds)."""
    import torch
    one = mean[:, 0]
    right = (X @ one).unflatten(-1, (many, CLASSES)).argmax(-1) == Y[..., None]
    logs = torch.log_softmax((x @ mean).unflatten(-1, (many, CLASSES)), -1)
    loss = (-(logs * y[..., None, :]).sum(-1).mean(-2) * p[..., None]).sum(1)
    size = (one**2).unflatten(-1, (many, CLASSES)).sum((1, 3))
    return right.double().mean(1).T, (loss + PENALTY / 2 * size).T


# ---- the same with the engine's rounds, one split at a time -----------------------------------------------------------
def problem(seed, a, weights):
    """Softmax regression on one split."""
    x, labels = images()
    owners, _ = split(seed, a)
    return ft.Logistic([with_bias(x[o]) for o in owners], [labels[o] for o in owners], PENALTY, classes=CLASSES, weights=weights)


def coded(algorithm, clients, seed, epochs, rounds):
    """The server models (d,) after each round of a coded algorithm from 0, on the batches of a seed."""
    p, a = clients.to(ft.FLOAT), algorithm.to(ft.FLOAT)
    state, out = a.init(p, np.zeros(p.d)), []
    for r in range(rounds):
        rows = batches(seed, r, epochs)
        draw = everyone(p.n, a.steps)._replace(xi=Slots(lambda k, rows=rows: Rows(rows[k])))
        state = a.round(p, state, draw)
        out.append(state.x)
    return out
