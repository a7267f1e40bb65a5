"""Rounds that are affine at no scale: adaptive optimisers and penalties that are not squared, each run beside the code."""
from __future__ import annotations

import numpy as np

from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.numbers.text import number

SCALES = (1e-2, 1.0, 1e2)
PENALTIES = np.concatenate([-np.logspace(-3, 2, 11), np.logspace(-3, 2, 26)])


def _adam(g, y, steps, lr, decay=0.0, beta=0.9, gamma=0.999):
    m = v = 0 * y
    for k in range(1, steps + 1):
        y = y * (1 - lr * decay)
        m, v = beta * m + (1 - beta) * g(y), gamma * v + (1 - gamma) * g(y) ** 2
        y = y - lr * (m / (1 - beta**k)) / (np.sqrt(v / (1 - gamma**k)) + 1e-8)
    return y


def _scaled(rule):
    """Steps lr g/rule(g, memory), the memory starting at 0."""
    def run(g, y, steps, lr):
        memory = 0 * y
        for _ in range(steps):
            slope = g(y)
            memory, divisor = rule(slope, memory)
            y = y - lr * slope / divisor
        return y
    return run


OPTIMISERS = {   # as torch has them, with its default numbers
    "Adam (0.9, 0.999)": _adam,
    "AdamW (0.9, 0.999, decay 0.01)": lambda g, y, steps, lr: _adam(g, y, steps, lr, 0.01),
    "Adagrad": _scaled(lambda g, G: (G + g * g, np.sqrt(G + g * g) + 1e-10)),
    "RMSprop (0.99)": _scaled(lambda g, v: (0.99 * v + 0.01 * g * g, np.sqrt(0.99 * v + 0.01 * g * g) + 1e-8)),
    "the sign of the gradient": _scaled(lambda g, m: (m, np.abs(g) + 1e-300)),
    "the normalised gradient g/|g|": _scaled(lambda g, m: (m, np.linalg.norm(g, axis=-1, keepdims=True) + 1e-12)),
}


def _not_squared(mu):
    def run(g, y, steps, lr):
        x = y
        for _ in range(steps):
            away = y - x
            y = y - lr * (g(y) + mu / 2 * away / np.maximum(np.linalg.norm(away, axis=-1, keepdims=True), 1e-300))
        return y
    return run


class Response:
    """How far one client with curvatures h (d,) moves the model from (s, .., s) at some scales s, less what it moves without."""

    def __init__(self, box, problems, height):
        d, before = problems.d, box.scale
        self.h, self.starts = height * np.linspace(1, 0.5, d), np.array(SCALES)[:, None] * np.ones(d)
        moves = []
        for scale in SCALES:
            box.scale = scale
            with_it, without = (box.first(problems.single(0, h), np.ones(d)) for h in (self.h, 0 * self.h))
            moves.append(scale * (without - with_it))
        self.moves, box.scale = np.array(moves), before
        self.close = 1e-6 if box.precision < 1e-10 else 5e-3

    def miss(self, run, steps, lr, pull=0.0):
        """Relative deviation of a local optimiser's moves from those seen, whatever the aggregation weight. pull: mu of a
        proximal term in its gradients."""
        with np.errstate(all="ignore"):
            with_it, without = (run(lambda y, h=h: h * y + pull * (y - self.starts), self.starts, steps, lr)
                                for h in (self.h, 0 * self.h))
            q = without - with_it
            size = np.abs(self.moves) + 1e-6 * np.abs(self.moves).max(1, keepdims=True) + 1e-300
            a, b = q / size, self.moves / size
            gap = np.abs(b - (a * b).sum() / max((a * a).sum(), 1e-300) * a).max()
        return float(gap) if np.isfinite(gap) else np.inf


def kind(box, problems, height, reference):
    """(sentence, residual) on what bends a round whose local steps are known, or None."""
    if reference is None or problems.personal:
        return None
    record = reference.algorithm.to(FLOAT)
    response, lr, steps = Response(box, problems, height), float(record.lr), int(reference.steps[0])
    if not np.abs(response.moves).max():
        return None
    pull = float(getattr(getattr(record, "solver", None), "mu", None) or 0)
    for rate in (lr, *(lr * k for k in (0.1, 0.01, 10, 0.5, 2) if steps > 1)):   # any single step looks alike at another rate
        for name, run in OPTIMISERS.items():
            gap = min(response.miss(run, steps, rate, mu) for mu in {0.0, pull})
            if gap <= response.close:
                other = "" if rate == lr else f" at step size {number(rate)}"
                return f"the clients use an adaptive step instead of SGD: {name}{other} fits", gap
    return (_penalty(response, steps, lr, pull) if steps > 1 else None) or _server(response, steps, lr)


def _penalty(response, steps, lr, stated):
    """A penalty mu/2 |y - x| whose mu is fitted."""
    from scipy.optimize import minimize_scalar
    grid = [stated, *PENALTIES] if stated else list(PENALTIES)
    gaps = [response.miss(_not_squared(mu), steps, lr) for mu in grid]
    best = int(np.argmin(gaps))
    mu, gap = float(grid[best]), gaps[best]
    if gap > response.close:
        spread = sorted((mu / 1.7, mu * 1.7))
        minimum = minimize_scalar(lambda v: response.miss(_not_squared(v), steps, lr), bounds=spread, method="bounded",
                                  options={"xatol": 1e-13, "maxiter": 200})
        mu, gap = float(minimum.x), float(minimum.fun)
    if gap > max(response.close, 1e-4):
        return None
    return f"the proximal penalty is mu/2 |y - x|, not squared, with mu = {number(float(f'{mu:.5g}'))}", gap


def _server(response, steps, lr):
    """A change D of the model that enters as D/(a |D| + b), coordinate by coordinate."""
    with np.errstate(all="ignore"):
        D = response.starts * (1 - (1 - lr * response.h) ** steps)
        rows = np.stack([np.ones(D.size), 1 / np.abs(D).ravel()], axis=1)
        target = 1 / np.abs(response.moves).ravel()
        if not (np.isfinite(rows).all() and np.isfinite(target).all()):
            return None
        fitted = np.linalg.lstsq(rows / target[:, None], np.ones(D.size), rcond=None)[0]
        gap = float(np.abs(rows @ fitted / target - 1).max())
    if gap > max(1e-6, response.close) or fitted[0] <= 0:
        return None
    return "the server's step is adaptive: the averaged change D is divided by its own size, D/(a |D| + b) coordinate by " \
        f"coordinate, as in FedAdam, FedYogi and FedAdagrad (no step is longer than {number(1 / fitted[0])})", gap
