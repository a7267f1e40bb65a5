"""An fltheory algorithm as somebody else's training code: numpy arrays, hidden memories or a dict of them."""
import numpy as np

from fltheory.algorithms.personal_problem import Personal
from fltheory.core.laws.draw import Draw, everyone
from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.problems.quadratic import Quadratic


def problem_of(clients):
    """The quadratic that the clients' rows make."""
    rows = [c.X if c.Z is None else np.concatenate([c.X, c.Z], axis=1) for c in clients]
    H = np.stack([R.T @ R / c.size for R, c in zip(rows, clients, strict=True)])
    b = np.stack([R.T @ c.y / c.size for R, c in zip(rows, clients, strict=True)])
    p = np.array([c.size for c in clients], dtype=float)
    whole = Quadratic.from_linear((H + H.swapaxes(-1, -2)) / 2, b, p / p.sum())
    d = clients[0].X.shape[1]
    return (whole if whole.d == d else Personal(whole, d)).to(FLOAT)


def _draw(algorithm, n, cohort, steps=None):
    steps = algorithm.steps if steps is None else steps
    if cohort is None:
        return everyone(n, steps)
    who = np.array(cohort, dtype=np.int64)
    if len(set(cohort)) < len(cohort):
        return Draw(who, np.ones(len(who), dtype=np.int64), np.broadcast_to(steps, (n,))[who])
    present = np.zeros(n, dtype=np.int64)
    present[who] = 1
    return everyone(n, steps, present)


def plain(algorithm, dtype=np.float64, cohorts=True):
    """A round without memory."""
    record = algorithm.to(FLOAT)

    def run(x, clients, cohort=None):
        problem = problem_of(clients)
        state = record.init(problem, np.asarray(x, dtype=float))
        return record.model(record.round(problem, state, _draw(algorithm, len(clients), cohort))).astype(dtype)

    if cohorts:
        return run
    return lambda x, clients: run(x, clients)


def hidden(algorithm, dtype=np.float64, cohorts=True):
    """(round_fn, reset): memories live between the calls."""
    record, kept = algorithm.to(FLOAT), {}

    def run(x, clients, cohort=None):
        problem = problem_of(clients)
        state = kept.get("state") or record.init(problem, np.asarray(x, dtype=float))
        state = record.round(problem, state._replace(x=np.asarray(x, dtype=float)),
                             _draw(algorithm, len(clients), cohort))
        kept["state"] = state
        return record.model(state).astype(dtype)

    return (run if cohorts else lambda x, clients: run(x, clients)), kept.clear


def joint(algorithm, n, d, dtype=np.float64, cohorts=True, personal=0, weights=None):
    """(round_fn, template): the whole state goes in and out."""
    record = algorithm.to(FLOAT)
    begin = record.init(_zero(n, d, personal, weights), np.zeros(d))
    kind, template = type(begin), {k: np.array(v) for k, v in begin._asdict().items()}

    def run(state, clients, cohort=None):
        problem = problem_of(clients)
        start = kind(**{k: np.asarray(v, dtype=float) for k, v in state.items()})
        new = record.round(problem, start, _draw(algorithm, n, cohort))
        return {k: v.astype(dtype) for k, v in new._asdict().items()}

    return (run if cohorts else lambda state, clients: run(state, clients)), template


def _zero(n, d, personal, weights):
    whole = Quadratic.from_linear(np.zeros((n, d + personal, d + personal)), np.zeros((n, d + personal)), weights)
    return (Personal(whole, d) if personal else whole).to(FLOAT)


def sampled(algorithm, law, seed=0):
    """A round that draws its own cohort and steps from a law."""
    record, rng = algorithm.to(FLOAT), np.random.default_rng(seed)

    def run(x, clients):
        n = len(clients)
        who, present = law.sample_cohort(rng.random((1, law.uniforms_needed(n))), n, np.zeros(1, dtype=int))
        steps = law._sample_steps(_Stream(rng), n, 1, np.zeros(1, dtype=int))
        steps = np.broadcast_to(steps, (1, n))
        if not isinstance(who, slice):
            steps = np.take_along_axis(steps, who, axis=-1)
            who, present = who[0], np.broadcast_to(present, (1, len(who[0])))[0]
        else:
            present = np.broadcast_to(present, (1, n))[0]
        problem = problem_of(clients)
        state = record.init(problem, np.asarray(x, dtype=float))
        return record.model(record.round(problem, state, Draw(who, present, steps[0])))

    return run


def remembering(algorithm, law, seed=0):
    """(round_fn, reset): a round that draws its own cohort from a chain of sets, which goes on from call to call."""
    record, kept = algorithm.to(FLOAT), {}

    def reset():
        kept.update(mode=None, rng=np.random.default_rng(seed))

    def run(x, clients):
        chances = law.start() if kept["mode"] is None else law.chain()[kept["mode"]]
        kept["mode"] = int(kept["rng"].choice(law.modes, p=[float(v) for v in chances]))
        problem = problem_of(clients)
        state = record.init(problem, np.asarray(x, dtype=float))
        return record.model(record.round(problem, state, _draw(algorithm, len(clients), list(law.sets[kept["mode"]]))))

    reset()
    return run, reset


class _Stream:
    def __init__(self, rng):
        self._rng = rng

    def child(self, *name):
        return self

    def random(self, shape):
        return self._rng.random(shape)
