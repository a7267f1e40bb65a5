"""Ten clients that each write by a Markov chain of their own, and a small recurrent network that guesses the next letter: what
stands in for the Shakespeare text."""
import functools

import numpy as np

from fltheory.runs.streams import Stream
from verification.asyncfeded.tasks import CLIENTS, SideBySide, Task, split

LETTERS, SEEN, SEED, OWN, SECONDS, GOAL = 12, 4, 1, 0.4, 16, 35
EMBEDDING, HIDDEN = 6, 12


@functools.cache
def chains(seed=SEED):
    """Tables (10, 12, 12) of the next letter after a letter: .6 of it common to all clients, .4 a client's own."""
    rng = Stream(seed, "asyncfeded", "chains").generator()
    common = rng.dirichlet([0.1] * LETTERS, LETTERS)
    return (1 - OWN) * common + OWN * rng.dirichlet([0.1] * LETTERS, (CLIENTS, LETTERS))


@functools.cache
def rows(seed=SEED):
    """[(4 letters in a row (n_i, 4), the letter after them)], n_i from 100 to 400, from one text of each client."""
    rng, made = Stream(seed, "asyncfeded", "text").generator(), []
    for table, n in zip(chains(seed), rng.integers(100, 401, CLIENTS), strict=True):
        text = [rng.integers(LETTERS)]
        for u in rng.random(n + SEEN + 20):
            text.append(min(int((np.cumsum(table[text[-1]]) < u).sum()), LETTERS - 1))
        text = np.array(text[20:])
        windows = np.lib.stride_tricks.sliding_window_view(text, SEEN + 1)[:n]
        made.append((windows[:, :-1].astype(float), windows[:, -1]))
    return made


def best():
    """The test accuracy (%) of somebody who knows all chains and the sizes, but not who is writing."""
    train, (x, y) = split(rows())
    sizes = np.array([len(v) for _, v in train])
    mixed = np.einsum("i,iab->ab", sizes / sizes.sum(), chains())
    return 100 * float((mixed[x[:, -1].astype(int)].argmax(-1) == y).mean())


def recurrent():
    """Embedding, one gated recurrent layer written out, one linear layer."""
    import torch

    class Recurrent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.letters = torch.nn.Embedding(LETTERS, EMBEDDING)
            self.into = torch.nn.Linear(EMBEDDING, 3 * HIDDEN)
            self.back = torch.nn.Linear(HIDDEN, 3 * HIDDEN)
            self.out = torch.nn.Linear(HIDDEN, LETTERS)

        def forward(self, x):
            seen = self.into(self.letters(x.long()))                     # (k, 4, 3 hidden)
            h = seen[:, 0, :HIDDEN] * 0
            for k in range(x.shape[-1]):
                (a, b, c), (d, e, f) = seen[:, k].split(HIDDEN, -1), self.back(h).split(HIDDEN, -1)
                reset, keep = torch.sigmoid(a + d), torch.sigmoid(b + e)
                h = keep * h + (1 - keep) * torch.tanh(c + reset * f)
            return self.out(h)

    return Recurrent()


def together(layers, x):
    """The recurrent network of many models at once."""
    import torch
    letters = torch.baddbmm(layers["into.bias"][:, None], layers["letters.weight"], layers["into.weight"].mT)    # (models, 12, ..)
    seen = torch.nn.functional.one_hot(x.long(), LETTERS).to(letters.dtype).flatten(1, 2) @ letters
    seen = seen.unflatten(1, (-1, x.shape[-1]))                                                   # (models, k, 4, 3 hidden)
    h, back, bias = seen[:, :, 0, :HIDDEN] * 0, layers["back.weight"].mT, layers["back.bias"][:, None]
    for k in range(x.shape[-1]):
        (a, b, c), (d, e, f) = seen[:, :, k].split(HIDDEN, -1), torch.baddbmm(bias, h, back).split(HIDDEN, -1)
        reset, keep = torch.sigmoid(a + d), torch.sigmoid(b + e)
        h = keep * h + (1 - keep) * torch.tanh(c + reset * f)
    return torch.baddbmm(layers["out.bias"][:, None], h, layers["out.weight"].mT)


@functools.cache
def network():
    """The text with the recurrent network."""
    train, test = split(rows())
    sizes = np.array([len(y) for _, y in train])
    problem = SideBySide(recurrent, together, *map(list, zip(*train, strict=True)), weights=sizes / sizes.sum())
    return Task("text", problem, test, problem.initial(0), "1/5", 32, SECONDS, "Shakespeare", GOAL)
