"""scikit-learn's digits over ten clients whose labels are skewed, with a small network: what stands in for FEMNIST."""
import functools

import numpy as np

from fltheory.runs.streams import Stream
from verification.asyncfeded.tasks import CLIENTS, SideBySide, Task, perceptron, split

CLASSES, SKEW, SEED, HIDDEN, SECONDS, GOAL = 10, 0.3, 2, 32, 20, 80


def rows(seed=SEED):
    """[(pixels between 0 and 1 (n_i, 64), labels)]: the images of a class are dealt to the clients by Dirichlet(0.3) shares."""
    from sklearn.datasets import load_digits
    x, labels = load_digits(return_X_y=True)
    rng, owners = Stream(seed, "asyncfeded", "digits").generator(), [[] for _ in range(CLIENTS)]
    for k in range(CLASSES):
        members = rng.permutation(np.nonzero(labels == k)[0])
        cuts = (np.cumsum(rng.dirichlet([SKEW] * CLIENTS))[:-1] * len(members)).astype(int)
        for own, part in zip(owners, np.split(members, cuts), strict=True):
            own.extend(part)
    return [(x[own] / 16, labels[own]) for own in owners]


def layers():
    import torch
    return torch.nn.Sequential(torch.nn.Linear(64, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, CLASSES))


@functools.cache
def network():
    """Digits with one hidden layer."""
    train, test = split(rows())
    sizes = np.array([len(y) for _, y in train])
    problem = SideBySide(layers, perceptron, *map(list, zip(*train, strict=True)), weights=sizes / sizes.sum())
    return Task("digits", problem, test, problem.initial(0), "1/10", 32, SECONDS, "FEMNIST", GOAL)
