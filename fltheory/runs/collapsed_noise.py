"""One Gaussian for a client and round in place of one for each of its local steps: the same distribution, derived from the round.

An affine round answers noise in slot k of client i by R_k, and noise in its last local step by R_last. Where R_k = R_last W_k for
every local step, as it is wherever noise acts through the local model alone, the sum of all answers is R_last times one Gaussian
with covariance sum_k W_k W_k'. W_k is found from the coded round of one client alone, and looked at again on cohorts drawn from
the law: whole rounds with literal noise must end where those with its collapsed value do.
"""
from __future__ import annotations

import math

import numpy as np

from fltheory.core.algorithms.base import advance
from fltheory.core.errors import FLTheoryError, TooLarge, refuse, shortened
from fltheory.core.kinds import Algorithm, Law, Problem, Who
from fltheory.core.laws.base import RandomSteps
from fltheory.core.laws.draw import Draw
from fltheory.core.numbers.arrays import to_numpy
from fltheory.core.numbers.scalars import FLOAT, fraction
from fltheory.core.operators.probe import Layout
from fltheory.core.problems.quadratic import Quadratic
from fltheory.runs.sources import digest
from fltheory.runs.streams import Stream

MOST_ENTRIES = 2**23   # of the responses of one client to all unit samples
TRIED = 8              # cohorts of each mode on which the collapse is looked at
MODES = 64             # at most, evenly spaced
CLOSE = 1e-9           # relative
_REMEDY = "Leave collapsed out: noise is then drawn in every local step."


class Collapse:
    """steps (n,): local steps; factor (n, d, d): what a standard Gaussian sample is multiplied by; weights: W (n, steps, d, d)."""

    def __init__(self, steps, weights):
        self.steps, self.weights = steps, weights
        self.longest, self.alike = int(steps.max()), bool((steps == steps[0]).all())
        self._last = frozenset(int(k) - 1 for k in steps)
        values, vectors = np.linalg.eigh(np.einsum("nkij,nklj->nil", weights, weights))
        self.factor = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]

    def falls(self, k) -> bool:
        """Whether slot k has a sample: some client's last local step, or what comes after them."""
        return k >= self.longest or k in self._last

    def into(self, i, samples, out):
        np.matmul(samples, self.factor[i].T, out=out)


def collapse(algorithm: Algorithm, problem: Problem, law: Law, seed=0) -> Collapse:
    """The collapsed noise of a run, or a refusal in words where it would not be exact.

    law: prepared, see `prepare`. Raises BadInput for rounds that are not affine, problems without constant Hessians, local steps
    that are drawn or change, and wherever a round's answer to noise is not that to one sample of the last step; TooLarge beyond
    `MOST_ENTRIES`.
    """
    name = type(algorithm).__name__
    if not algorithm.affine or getattr(algorithm, "arrivals", False):
        refuse("collapsed", True, f"rounds of {name} are not affine: no Gaussian does what the noise of all steps does", _REMEDY)
    if algorithm.absent_act or algorithm.personal:
        refuse("collapsed", True, f"{name} draws noise for absent clients or for two parts of the parameters", _REMEDY)
    if not isinstance(problem, Quadratic):
        refuse("collapsed", True, f"gradients of {type(problem).__name__} are not affine", _REMEDY)
    if law.batch is not None or not fraction(law.noise):
        refuse("collapsed", True, "only additive noise is collapsed", "Give noise=sigma, or leave collapsed out.")
    steps = [law.steps_of(problem.n, mode) for mode in range(law.modes)]
    if any(isinstance(s, RandomSteps) for s in steps) or any((s != steps[0]).any() for s in steps):
        refuse("collapsed", True, "local steps that are drawn or change leave no fixed covariance", _REMEDY)
    alg, prob, counts = algorithm.to(FLOAT), _centred(problem.to(FLOAT)), np.asarray(steps[0])
    key = digest(algorithm, counts)
    collapses = problem.__dict__.setdefault("_cached_collapse", {})
    try:
        if key not in collapses:
            collapses[key] = Collapse(counts, _weights(alg, prob, counts))
        _look(alg, prob, law, collapses[key], seed)
    except FLTheoryError:
        raise
    except Exception as error:
        if type(algorithm).__module__.startswith("fltheory."):
            raise
        refuse("collapsed", True, f"the round of {name} fails in numpy, in which the noise is derived from it "
               f"({shortened(str(error), 120)})", _REMEDY)
    return collapses[key]


def _centred(problem: Problem):
    """The problem with all minimisers at 0: what an affine round answers to noise is the same, and no digit of it is lost beside
    far ones. A user's own problem stays what it is: its gradients may be others."""
    if not type(problem).__module__.startswith("fltheory."):
        return problem
    return Quadratic.from_linear(problem._H, 0 * problem._b, problem.p).to(FLOAT)  # type: ignore[attr-defined]


def _weights(alg, problem: Problem, steps):
    """W (n, steps, d, d) of every client, 0 behind its last local step."""
    d, out = problem.d, np.zeros((problem.n, int(steps.max()), problem.d, problem.d))
    for i, tau in enumerate(steps.tolist()):
        one, draw, place = _client(alg, problem, i, steps)
        lay, places = Layout.of(alg.init(one, np.zeros(d))), len(draw.present)
        if tau * d * (lay.size + tau * d * places) > MOST_ENTRIES:
            raise TooLarge(f"collapsed: {tau} local steps in {d} dimensions have {tau * d} unit samples with {lay.size} responses "
                           f"each, together above {MOST_ENTRIES} entries. {_REMEDY}")
        unit = np.zeros((tau * d, tau, places, d))
        unit[:, :, place] = np.eye(tau * d).reshape(-1, tau, d)
        points = np.zeros((tau * d, lay.size))

        def ends(xi, points=points, one=one, lay=lay, draw: Draw = draw):
            state = lay.flatten(alg.round(one, lay.unflatten(points), draw._replace(xi=xi)))
            return np.broadcast_to(state, points.shape)
        zero = np.zeros((1, places, d))
        answers = ends(lambda k, unit=unit, tau=tau, zero=zero: unit[:, k] if k < tau else zero) - ends(lambda k, zero=zero: zero)
        last = answers[-d:]
        W = np.linalg.lstsq(last.T, answers.T, rcond=None)[0].reshape(d, tau, d).swapaxes(0, 1)
        W[-1] = np.eye(d)
        gap = np.abs(last.T @ W.swapaxes(0, 1).reshape(d, tau * d) - answers.T).max()
        if not gap <= CLOSE * np.abs(answers).max():
            refuse("collapsed", True, f"noise in an early local step of client {i} does what none in its last one does", _REMEDY)
        out[i, :tau] = W
    return out


def _client(alg, problem: Problem, i, steps):
    """(problem, draw, place) of client i at work: in a problem of its own where the state holds something of each client and it
    may, else alone, or among all where cohorts may not be partial."""
    def at_work(who: Who, *clients):
        return Draw(who, np.ones(len(clients), dtype=np.int64), steps[list(clients)])
    state = alg.init(problem, np.zeros(problem.d))
    if any(leaf.ndim > 1 for leaf in state):
        one = Quadratic.from_linear(problem._H[i:i + 1], problem._b[i:i + 1]).to(FLOAT)  # type: ignore[attr-defined]
        try:
            alg.round(one, alg.init(one, np.zeros(problem.d)), at_work(slice(None), i))
            return one, at_work(slice(None), i), 0
        except FLTheoryError:   # numbers of each client's own
            pass
    return (problem, at_work(np.array([i]), i), 0) if alg.partial else (problem, at_work(slice(None), *range(problem.n)), i)


def _look(alg, problem: Problem, law: Law, noise, seed):
    """Refuse where rounds of cohorts drawn from the law do not end at the same states, noise literal or collapsed."""
    lay = Layout.of(alg.init(problem, np.zeros(problem.d)))
    for mode in sorted({k * law.modes // MODES for k in range(MODES)}):
        stream = Stream(seed, "collapse", mode)
        draw, _ = law.sample(stream, problem.n, TRIED, np.full(TRIED, mode))
        draw = draw.map(to_numpy)
        rng, members = stream.child("noise").generator(), np.arange(problem.n)[draw.who]
        places = draw.present.shape[-1]
        literal = rng.standard_normal((noise.longest, TRIED, places, problem.d)) * math.sqrt(1 / problem.d)
        literal *= (np.broadcast_to(draw.steps, (TRIED, places)) > np.arange(noise.longest)[:, None, None])[..., None]
        total = sum((noise.weights[members, k] @ literal[k][..., None])[..., 0] for k in range(noise.longest))
        more = rng.standard_normal((TRIED, places, problem.d))

        def round_(xi, draw: Draw = draw):
            start = np.zeros((TRIED, lay.size))
            return lay.flatten(advance(alg, problem, lay.unflatten(start), draw._replace(xi=xi)))

        def collapsed(k, draw: Draw = draw, total=total, more=more):
            return total * (np.broadcast_to(draw.steps, total.shape[:-1]) == k + 1)[..., None] if k < noise.longest else more
        one = round_(lambda k, literal=literal, more=more: literal[k] if k < noise.longest else more)
        other, rest = round_(collapsed), round_(None)
        if not np.abs(one - other).max() <= CLOSE * max(np.abs(one - rest).max(), 1e-300):
            refuse("collapsed", True, f"in cohorts of {type(law).__name__} the noise of all steps does what one sample cannot",
                   _REMEDY)
