"""The synthetic model of Experiment E.2 (eq 13, two classes): fresh samples for every gradient, exact population losses.

A label is the sign of v_i'x + N(0, 2), v_i the difference of the two rows of (1 - mix) W* + mix Theta_i*. `rows` says how a model
is stored: 1, the difference u of the two rows of a classifier, or 2, both rows, as in eq 3.
"""
from typing import Any, NamedTuple

import numpy as np

from fltheory.core.laws.draw import Slots, everyone, to_device
from fltheory.core.numbers.arrays import to_numpy
from fltheory.core.numbers.scalars import Torch
from fltheory.core.problems.base import Problem, check_weights
from fltheory.runs.streams import Stream

NOISE = 2.0    # variance of the difference of two independent N(0, 1)
BATCH = 10
NODES, WEIGHTS = (lambda z: (z, 0.08 * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)))(np.arange(-8.48, 8.5, 0.08))


class Batch(NamedTuple):
    """x (..., n, b, features); sign (..., n, b): labels as -1 and 1."""

    x: Any
    sign: Any


class Population(Problem):
    """Clients with Gaussian features and the labels of eq 13, x_g = x_l.

    v: (n, features), or (seeds, n, features) with ground truths of its own for each seed. rows: 1 or 2. noise: variance of the
    difference of the two labels' noise. Personal parameters have the shared ones' dimension.
    """

    _data = ("v",)

    def __init__(self, v, rows=1, noise=NOISE):
        self.v, self.rows, self.noise = np.asarray(v, dtype=float), rows, noise
        self.n, self.features = self.v.shape[-2:]
        self.d = self.personal = rows * self.features
        self.weights = check_weights(None, self.n)

    def difference(self, y):
        """u (..., features) of a stored model y (..., d)."""
        return y if self.rows == 1 else y[..., self.features:] - y[..., :self.features]

    def sample(self, x, noise):
        """The batch with features x and label noise N(0, 1), scaled here."""
        import torch
        return Batch(x, torch.sign((x @ self._v[..., None])[..., 0] + self.noise**0.5 * noise))

    def _gradient(self, who, y, sample):
        import torch
        u = self.difference(y)
        pull = sample.sign * torch.sigmoid(-sample.sign * (sample.x @ u[..., None])[..., 0])
        g = -(sample.x.transpose(-1, -2) @ pull[..., None])[..., 0] / sample.x.shape[-2]
        return g if self.rows == 1 else torch.cat([-g, g], -1)

    def _gradient_pair(self, who, w, theta, sample):
        g = self._gradient(who, w + theta, sample)
        return g, g

    def losses(self, models):
        """Population loss of each client at models (..., n, d) of its own, numpy (..., n)."""
        return loss(self.difference(to_numpy(models)), self.v, self.noise)


class Given(Problem):
    """Clients with one feature whose gradients in the difference are handed in as samples (m, 1). rows: 1 or 2."""

    def __init__(self, n, rows):
        self.n, self.rows = n, rows
        self.d = self.personal = rows
        self.weights = check_weights(None, n)

    def _gradient(self, who, y, sample):
        return sample if self.rows == 1 else np.concatenate([-sample, sample], -1)

    def _gradient_pair(self, who, w, theta, sample):
        return (self._gradient(who, w, sample),) * 2


def loss(u, v, noise=NOISE):
    """Population losses (...,) of difference vectors u (..., features) where labels are the signs of v'x + N(0, noise)."""
    from scipy.special import ndtr
    a, r, _ = _polar(u, v, noise)
    return 2 * (WEIGHTS * np.logaddexp(0, -a[..., None] * NODES) * ndtr(r[..., None] * NODES)).sum(-1)


def gradient(u, v, noise=NOISE):
    """Gradients (..., features) of `loss` in u."""
    from scipy.special import expit, ndtr
    a, r, q = _polar(u, v, noise)
    V, unit = (v * v).sum(-1) + noise, u / np.maximum(a, 1e-300)[..., None]
    z, az = NODES, a[..., None] * NODES
    by_norm = -2 * (WEIGHTS * z * expit(-az) * ndtr(r[..., None] * z)).sum(-1)
    density = np.exp(-((r[..., None] * z) ** 2) / 2) / np.sqrt(2 * np.pi)
    by_slope = 2 * (WEIGHTS * np.logaddexp(0, -az) * z * density).sum(-1)
    turn = by_slope * V / (V - q**2) ** 1.5 / np.maximum(a, 1e-300)
    return by_norm[..., None] * unit + turn[..., None] * (v - q[..., None] * unit)


def _polar(u, v, noise):
    a = np.sqrt((u * u).sum(-1))
    q = (u * v).sum(-1) / np.maximum(a, 1e-300)
    return a, q / np.sqrt((v * v).sum(-1) + noise - q**2), q


def own_optima(v, noise=NOISE):
    """(losses (...,), lengths (...,)): the best model of each client points along v, so that one number is searched, by bisection
    of the derivative of a convex function."""
    size = np.sqrt((v * v).sum(-1))
    unit = v / size[..., None]
    low, high = 0 * size, 0 * size + 100.0
    for _ in range(60):
        middle = (low + high) / 2
        rising = (gradient(middle[..., None] * unit, v, noise) * unit).sum(-1) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    return loss(high[..., None] * unit, v, noise), high


def single_optimum(v, noise=NOISE):
    """(F, u, norm of the gradient): the best model u (features,) for all clients v (n, features) together."""
    from scipy.optimize import minimize
    found = minimize(lambda u: loss(u, v, noise).mean(), v.mean(0), jac=lambda u: gradient(u, v, noise).mean(0), method="BFGS",
                     options={"gtol": 1e-10})
    return found.fun, found.x, float(np.linalg.norm(gradient(found.x, v, noise).mean(0)))


# ---- ground truths ---------------------------------------------------------------------------------------------------
def stated(n=10, d=10):
    """(Delta W* (d,), Delta Theta* (n, d)): a ground truth in closed form, of the size of a drawn one."""
    j, i = np.arange(1, d + 1), np.arange(1, n + 1)[:, None]
    return 2 * np.sin(j + 0.5), 2 * np.cos(1.7 * i * j + 0.3 * i)


def drawn(seed, n=10, d=10):
    """Differences of two rows with N(0, 1) entries each, as in the paper."""
    rng = Stream(seed, "fedres", "truth").generator()
    return np.sqrt(2) * rng.standard_normal(d), np.sqrt(2) * rng.standard_normal((n, d))


# ---- runs ------------------------------------------------------------------------------------------------------------
def predictors(state):
    """What each client predicts with (..., n, d): its local copy (eq 14), w + theta_i, or the shared model."""
    if hasattr(state, "own"):
        return state.own
    return state.x[..., None, :] + state.theta if hasattr(state, "theta") else state.x[..., None, :]


class Samples:
    """Fresh features and label noise of one round: those of seed s in slot k come from the stream (s, round, k) alone, so that any
    seed can be run again without the others."""

    def __init__(self, seeds, number, n, d):
        self.seeds, self.number, self.shape = seeds, number, (n, BATCH, d + 1)
        self.slots = Slots(self._make)

    def _make(self, k):
        import torch
        # numpy's own normals, with which the recorded tables were made: the engine's are others by now
        streams = (Stream(s, "fedres", "round", self.number, k) for s in self.seeds)
        made = np.stack([stream.generator().standard_normal(self.shape) for stream in streams])
        return torch.from_numpy(made[..., :-1].copy()), torch.from_numpy(made[..., -1].copy())

    def of(self, problem):
        return Slots(lambda k: problem.sample(*self.slots(k)))


def contest(entries, rounds, seeds, look=lambda r: True):
    """Run algorithms side by side on the same samples, from 0: yields (name, round, losses (seeds, n)) after each round that `look`
    names.

    entries: name -> (algorithm with its steps, problem); all problems have the same n and features. seeds: ints, one replicate
    each.
    """
    import torch
    ready = {name: (a.to(Torch()), p.to(Torch())) for name, (a, p) in entries.items()}
    draws = {name: to_device(everyone(p.n, a.steps), "cpu") for name, (a, p) in ready.items()}
    with torch.inference_mode():
        states = {name: a.init(p, torch.zeros(len(seeds), p.d, dtype=torch.float64)) for name, (a, p) in ready.items()}
        for r in range(rounds):
            some = next(iter(ready.values()))[1]
            samples, labelled = Samples(seeds, r, some.n, some.features), {}
            for name, (a, p) in ready.items():
                slots = labelled.setdefault(id(p), samples.of(p))
                states[name] = a.round(p, states[name], draws[name]._replace(xi=slots))
                if look(r + 1):
                    yield name, r + 1, p.losses(predictors(states[name]))


__all__ = ["Batch", "Population", "contest", "drawn", "gradient", "loss", "own_optima", "single_optimum", "stated"]
