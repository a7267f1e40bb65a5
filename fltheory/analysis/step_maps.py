"""A grid of client step sizes by rounds: how far the coded method has come, from one eigendecomposition per client where that
is exact, else from the operator of each step size."""
from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fltheory.core.errors import NotKept, TooLarge, refuse
from fltheory.core.kinds import Algorithm, Law, Who
from fltheory.core.laws.draw import Draw, everyone
from fltheory.core.numbers.scalars import FLOAT, Number, Numbers, fraction
from fltheory.core.operators.operator import listed
from fltheory.core.operators.setting import certain, check_records, prepare
from fltheory.core.optima import float_optimum
from fltheory.core.problems.base import Problem
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.problems.shapes import shaped
from fltheory.core.records import count
from fltheory.derivation import derive

MOST_STEPS, MOST_ROUNDS = 10_000, 10**6
MOST_NUMBERS = 2 * 10**7   # of the table
CHECKS = 2                 # random states beyond those that fit the weights
ROUNDING = 1e-10           # of the largest number of a round: what floats may differ by
BYTES = 2**28              # of maps made at a time
BLOCK = 256                # rounds that are taken at a time, by powers of the round up to
LARGEST_POWER = 1e100      # entries of this size, so that nothing overflows that rounds one at a time keep
STRUCTURED = "use method='structured', "   # a remedy of `derive`
SECONDS = 60               # of work that is begun
PRODUCTS, CALLS = 5e8, 2e4   # a second: of small products in blocks, and of rounds of an operator


@dataclass(frozen=True, repr=False)
class StepMap:
    """E|x_t - x*|^2 of the server model for client step sizes `steps` (L,) and rounds t = 0..R: `distance` (L, R + 1).

    Numbers beyond the range of floats are inf. rate (L,): contraction factor of the mean per round. route: "eigenbases" (one
    eigendecomposition of each client's Hessian; every map was checked on the coded round) or "operators" (one for each step size).
    """

    algorithm: str
    steps: np.ndarray
    distance: np.ndarray
    rate: np.ndarray
    route: str

    def __repr__(self):
        lr, distance = self.best()
        return (f"StepMap({self.algorithm}, {len(self.steps)} step sizes from {self.steps.min():.6g} to {self.steps.max():.6g}, "
                f"{self.rounds} rounds, by {self.route}; best after the last: lr = {lr:.6g} with E|x - x*|^2 = {distance:.6g})")

    @property
    def rounds(self) -> int:
        """R, the last round."""
        return self.distance.shape[1] - 1

    def best(self, rounds: int | None = None) -> tuple[float, float]:
        """(lr, E|x_t - x*|^2) of the step size that is nearest to the optimum after t rounds, by default the last."""
        t = self.rounds if rounds is None else count(0, self.rounds)(rounds, "rounds")
        k = int(np.argmin(self.distance[:, t]))
        return float(self.steps[k]), float(self.distance[k, t])

    def rounds_to(self, target: Number) -> np.ndarray:
        """(L,) the first round with E|x_t - x*|^2 <= target (a number >= 0), -1 where none of them is."""
        there = self.distance <= float(fraction(target))
        return np.where(there.any(1), there.argmax(1), -1)


def step_map(algorithm: Algorithm, problem: Problem, law: Law, steps: Numbers, rounds: int = 100, noise: Number | None = None,
             x0: Numbers | None = None) -> StepMap:
    """E|x_t - x*|^2 of the server model for every client step size of a grid and every round up to `rounds`.

    algorithm: its `lr` is replaced by each of `steps` (1 to 10,000 numbers > 0), everything else stays. problem: quadratic clients
    with a minimiser x*. rounds: 1 to 10^6. noise: sigma of additive gradient noise. x0: (d,) start, default 0. In floats.
    Raises BadInput, NotAffine for rounds without an operator, NoMinimiser, TooLarge as `derive` does and for more than a minute
    of rounds.
    """
    check_records(algorithm, problem, ("lr",))
    lrs = np.array([float(fraction(v, "steps")) for v in np.asarray(steps, dtype=object).reshape(-1)])
    if np.ndim(steps) != 1 or not 1 <= len(lrs) <= MOST_STEPS or not (lrs > 0).all():
        refuse("steps", steps, f"is a list of 1 to {MOST_STEPS} step sizes > 0", "For example np.geomspace(0.01, 1, 64).")
    rounds = count(1, MOST_ROUNDS)(rounds, "rounds")
    if len(lrs) * rounds > MOST_NUMBERS:
        refuse("rounds", rounds, f"{len(lrs)} step sizes and {rounds} rounds are a table of more than {MOST_NUMBERS} numbers",
               "Ask for fewer of either.")
    target = float_optimum(problem)
    start = FLOAT.array(shaped([0] * problem.d if x0 is None else x0, "x0", "d", d=problem.d))
    ready = prepare(replace(algorithm, lr=1), problem, law, noise)
    with np.errstate(all="ignore"):   # of steps that diverge
        maps = _eigenbases(algorithm, problem, ready, lrs)
        if maps is None:
            distance, rate = _operators(algorithm, problem, law, noise, lrs, rounds, start, target, certain(ready, problem.n))
        else:
            _affordable(len(lrs), rounds, (problem.d + 1) ** 2 / PRODUCTS)
            distance, rate = _iterated(maps, rounds, start, target), np.concatenate([
                np.abs(np.linalg.eigvals(M)).max(-1) for M, _ in _batches(maps)])
    return StepMap(type(algorithm).__name__, lrs, np.where(np.isnan(distance), np.inf, distance), rate,
                   "operators" if maps is None else "eigenbases")


# ---- from eigenbases ------------------------------------------------------------------------------------------
def _alike(algorithm: Algorithm, problem: Problem, law: Law) -> bool:
    """Whether rounds are all the same, clients keep no memory, and their losses are told by a Hessian each."""
    return (certain(law, problem.n) and algorithm.affine and not algorithm.stateful
            and not algorithm.personal and algorithm.init(problem.to(FLOAT), np.zeros(problem.d))._fields == ("x",))


def _eigenbases(algorithm: Algorithm, problem: Problem, law: Law, lrs):
    """[(M (d, d), c (d,)) of the round] for each step, or None where the round is no sure weighted sum of its clients' own
    rounds.

    Client i alone goes from x to x + Q_i ((r - 1) Q_i'x + s Q_i'b_i), where r and s at each eigenvalue of H_i are what its coded
    round does on the line. The server's weights are fitted to coded rounds of all clients, and the sum is checked on others.
    """
    if type(problem) is not Quadratic or not _alike(algorithm, problem, law):
        return None
    prob = problem.to(FLOAT)
    n, d = problem.n, problem.d
    values, Q = np.linalg.eigh(FLOAT.array(problem.H))
    turned_b = np.matmul(FLOAT.array(problem.b)[:, None], Q)[:, 0]
    line = _OnTheLine(values)
    work = np.asarray(law.steps_of(n))
    alone = Draw(np.arange(2 * n)[:, None], np.ones((2 * n, 1), dtype=np.int64), np.tile(np.broadcast_to(work, n), 2)[:, None])
    ones = np.repeat([[1.0], [0.0]], n, axis=0) * np.ones(d)
    states = np.random.Generator(np.random.Philox(d)).standard_normal((-(-n // d) + CHECKS, d))
    flat = np.ascontiguousarray(Q.swapaxes(0, 1)).reshape(d, n * d)
    columns = np.ascontiguousarray(Q.swapaxes(1, 2)).reshape(n * d, d)
    inside = np.matmul(states[None], Q)                                                     # (n, states, d)
    maps = []
    for lr in lrs:
        method = replace(algorithm, lr=float(lr)).to(FLOAT)
        out = method.round(line, method.init(line, ones), alone).x
        r, s = out[:n] - 1, out[n:]
        parts = np.matmul(inside * r[:, None] + (s * turned_b)[:, None], Q.swapaxes(1, 2))   # (n, states, d)
        whole = method.round(prob, method.init(prob, states), everyone(n, work)).x - states
        weights = _weights(parts, whole, -(-n // d))
        if weights is None:
            return None
        M = (flat * (weights[:, None] * r).reshape(-1)) @ columns
        maps.append((M + np.eye(d), flat @ (weights[:, None] * s * turned_b).reshape(-1)))
    return maps


def _weights(parts, whole, states):
    """(n,) server weights with sum_i w_i parts_i = whole on the first `states` states, if that holds on all of them."""
    size = max(np.abs(parts).max(), np.abs(whole).max(), 1e-300)
    if not np.isfinite(size):
        return None
    A = parts.reshape(len(parts), -1).T / size
    rows = states * parts.shape[-1]
    w = np.linalg.lstsq(A[:rows], whole[:states].reshape(-1) / size, rcond=1e-12)[0]
    return w if np.abs(A @ w - whole.reshape(-1) / size).max() <= ROUNDING else None


class _OnTheLine(Problem):
    """2n clients whose Hessians are diagonal (n, d), the first n with b = 0 and the others with b = 1: what clients do alone in the
    basis of their own eigenvectors."""

    quadratic = True

    def __init__(self, values):
        self.n, self.d = 2 * len(values), values.shape[1]
        self.p = np.full(self.n, 1 / self.n)
        self._h, self._b = np.concatenate([values, values]), np.repeat([0.0, 1.0], len(values))

    def _gradient(self, who: Who, y, sample):
        return self._h[who] * y - self._b[who][..., None]


def _affordable(steps, rounds, seconds):
    """Refuse a table that would take too long. seconds: of one round of one step size."""
    if steps * rounds * seconds > SECONDS:
        raise TooLarge(f"{rounds} rounds of {steps} step sizes would take about {steps * rounds * seconds:.2g} seconds, and at "
                       f"most {SECONDS} are begun. Ask for fewer rounds or steps; op.after(x0, rounds) takes powers, and "
                       "op.floor() is where E|x - x*|^2 ends")


def _batches(maps, rows=1):
    d = len(maps[0][1])
    size = max(1, BYTES // (8 * d * max(d, rows)))
    for k in range(0, len(maps), size):
        yield np.stack([M for M, _ in maps[k:k + size]]), np.stack([c for _, c in maps[k:k + size]])


def _iterated(maps, rounds, start, target):
    """|x_t - x*|^2 (L, R + 1) of x <- M x + c, for all steps at a time."""
    parts = []
    for M, c in _batches(maps, BLOCK):
        out = np.empty((len(c), rounds + 1))
        bounded = np.zeros(len(c), dtype=bool)
        if rounds >= 2 * BLOCK:
            powers = _powers(M, c)
            bounded = np.abs(powers[-1][0]).max((1, 2)) < LARGEST_POWER
            if bounded.any():
                out[bounded] = _in_blocks([(P[bounded], p[bounded]) for P, p in powers], rounds, start, target)
        if not bounded.all():
            out[~bounded] = _one_by_one(M[~bounded], c[~bounded], rounds, start, target)
        parts.append(out)
    return np.concatenate(parts)


def _powers(M, c):
    """[(M^k, c_k)] of 1, 2, 4, .., BLOCK rounds."""
    out = [(M, c)]
    while 2 ** (len(out) - 1) < BLOCK:
        M, c = np.matmul(M, M), np.matmul(M, c[..., None])[..., 0] + c
        out.append((M, c))
    return out


def _in_blocks(powers, rounds, start, target):
    *within, (M, c) = powers
    out = np.empty((len(c), rounds + 1))
    x = np.broadcast_to(start, (len(c), 1, len(start)))
    for P, p in within:      # rounds 0 to BLOCK - 1, their number doubled each time
        x = np.concatenate([x, np.matmul(x, P.swapaxes(1, 2)) + p[:, None]], axis=1)
    for t in range(0, rounds + 1, BLOCK):
        out[:, t:t + BLOCK] = ((x - target) ** 2).sum(-1)[:, :rounds + 1 - t]
        x = np.matmul(x, M.swapaxes(1, 2)) + c[:, None]
    return out


def _one_by_one(M, c, rounds, start, target):
    x, out = np.broadcast_to(start, c.shape), np.full((len(c), rounds + 1), np.inf)
    for t in range(rounds + 1):
        out[:, t] = ((x - target) ** 2).sum(-1)
        if not np.isfinite(out[:, t]).any():   # nor will they be again
            break
        x = np.matmul(M, x[..., None])[..., 0] + c
    return out


# ---- from operators -------------------------------------------------------------------------------------------
def _operators(algorithm: Algorithm, problem: Problem, law: Law, noise, lrs, rounds, start, target, sure):
    distance, rate, last = np.empty((len(lrs), rounds + 1)), np.empty(len(lrs)), None
    for k, lr in enumerate(lrs):
        last = _next(last, replace(algorithm, lr=float(lr)), problem, law, noise)
        if k == 0:
            parts = sum(getattr(mix, "parts", np.empty(0)).size for mix in last.moments.mixtures)
            _affordable(len(lrs), rounds, last.moments.modes / CALLS + 4 * parts * (last.reachable + 1) / PRODUCTS)
        rate[k] = last.rate()
        for t, (mean, second) in enumerate(last.trajectory(rounds + 1, start)):
            gap = mean - target
            spread = 0.0 if sure else max(np.trace(second) - mean @ mean, 0.0)
            distance[k, t] = gap @ gap + spread
    return distance, rate


def _next(last, algorithm: Algorithm, problem: Problem, law: Law, noise):
    """The operator of the next step size; invariants are structural, so that the subspace of the last one is tried first."""
    if last is not None:
        try:
            return listed(algorithm, problem, last.law, last.noise, "init", FLOAT, last.reach)
        except NotKept:
            pass
    try:
        return derive(algorithm, problem, law, noise, method="dense")
    except TooLarge as error:
        raise TooLarge(f"a step map lists second moments of every round: {str(error).replace(STRUCTURED, '')}. Ask ft.derive(.., "
                       "method='structured') for one step size at a time: it has fixed point and rate") from None
