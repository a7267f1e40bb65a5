"""What asynchronous methods share: who arrives, the run that it brings, and its next start. The law is `EventClock`."""
from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from fltheory.asynchronous.event_clock import WAITS
from fltheory.core.algorithms.solvers import Vanilla
from fltheory.core.kinds import Array, Draw, Problem, Who
from fltheory.core.numbers.arrays import placed, take
from fltheory.runs.client_tiles import descended, tiles, together

NEVER = 2**62   # a client without local steps does not come again


class State(NamedTuple):
    """x (..., d) server model; of each client: base (..., n, d) model its run started from, began and finish (..., n) times
    of its run, lag (..., n) changes of the server since then, K (..., n) steps of its run, rate (..., n) factor of the local
    step by which it has decayed, buffer (..., n, d) of its solver, where that is kept between runs (else zeros (..., n))."""

    x: Any
    base: Any
    began: Any
    finish: Any
    lag: Any
    K: Any
    rate: Any
    buffer: Any


class Arrival(NamedTuple):
    """The run that ends first: who (..., 1), its K (..., 1), lag and elapsed time (..., 1), delta and moved (..., d), what its
    local steps changed and how far the server moved meanwhile, and the solver's buffer (..., 1, d) at its end."""

    who: Any
    K: Any
    lag: Any
    elapsed: Any
    delta: Any
    moved: Any
    buffer: Any


class Arriving:
    """An asynchronous method: one round is one arrival, which `served` answers. A mix-in for records with `solver`, `momentum`
    ("reset": the solver's buffer starts afresh in every run; "kept": it goes on where the client's last run left it) and `decay`
    (the local step of a client's r-th run, r = 0, 1, .., is lr decay^r)."""

    lr: Any
    steps: Any
    solver: Any
    momentum: str
    decay: Any
    affine: ClassVar[bool] = False
    stateful: ClassVar[bool] = True
    arrivals: ClassVar[bool] = True

    def init(self, problem: Problem, x0: Array, draw: Draw | None = None) -> Any:
        return State(x0, *begin(self, problem, x0, draw))

    def arrival(self, problem: Problem, s: Any, draw: Draw) -> Arrival:
        """The run that ends first."""
        return arrived(self, problem, s, draw, arrives(s))

    def served(self, problem: Problem, s: Any, draw: Draw, arrival: Arrival) -> Any:
        """The state after the server's answer to an arrival."""
        raise NotImplementedError

    def round(self, problem: Problem, s: Any, draw: Draw) -> Any:
        return self.served(problem, s, draw, self.arrival(problem, s, draw))


def begin(algorithm: Arriving, problem: Problem, x0, draw: Draw | None):
    """What a `State` holds beside x where all clients start from x0 at time 0."""
    steps = draw.steps if draw is not None else 1 if algorithm.steps is None else problem.domain.array(algorithm.steps)
    zero = 0 * (x0[..., :1] + problem.p)  # type: ignore[attr-defined]
    K, base = zero + steps, x0[..., None, :] + 0 * problem.p[..., None]  # type: ignore[attr-defined]
    buffer = algorithm.solver.start(base) if algorithm.momentum == "kept" else zero
    return base, zero, lasts(draw, K, "first"), zero, K, zero + 1, buffer


def lasts(draw: Draw | None, K, hang="hang", who: Who = None):
    """The time (..., n) that a run of K steps takes each client, or (..., 1) the clients `who`: compute time, longer by the hang,
    and transmission."""
    extra = {} if draw is None or draw.extra is None else draw.extra
    if who is not None:
        extra = {k: of(v, who) for k, v in extra.items() if k in ("pace", "transmission", hang, WAITS[hang])}
    time = extra.get("pace", 1) * K
    if hang in extra:
        time = time + time * extra[hang]
    return time + extra.get(WAITS[hang], 0) + extra.get("transmission", 0) + NEVER * (K < 1)


def arrives(s):
    """The client (..., 1) whose run ends first, the smallest index if several do."""
    return s.finish.argmin(-1)[..., None]


def of(values, who: Who):
    """The entry (..., 1) of numbers per client (..., n) that belongs to the arrival."""
    return take(values[..., None], who)[..., 0]


def arrived(algorithm: Arriving, problem: Problem, s, draw: Draw, who: Who, K=None):
    """The `Arrival` of a client; K: its local steps, where the state's are no whole numbers."""
    steps, base = of(s.K, who), take(s.base, who)
    rate = None if algorithm.decay is None else of(s.rate, who)[..., None]
    start = take(s.buffer, who) if algorithm.momentum == "kept" else None
    run = draw.choose(who, steps if K is None else K)
    plain = rate is None and start is None and type(algorithm.solver) is Vanilla
    if plain and together(problem, who):   # the same steps, rows of one client at a time
        delta, buffer = descended(problem, who, base, run.steps, algorithm.lr, run.xi), 0 * base[:1]
    elif (grouped := tiles(problem, who)) is None:
        y, buffer = local_run(algorithm, problem.at(who), base, run, rate, start)
        delta = y - base
    else:
        parts = (None if v is None else grouped.into(v) for v in (rate, start))
        y, buffer = map(grouped.back, local_run(algorithm, grouped, grouped.into(base), _in_tiles(run, grouped), *parts))
        delta = y - base
    return Arrival(who, steps, of(s.lag, who), of(s.finish - s.began, who), delta[..., 0, :], s.x - base[..., 0, :], buffer)


def _in_tiles(run, grouped):
    """A draw of one client for each replicate, laid out as `Tiles` are."""
    xi = None if run.xi is None else lambda k: grouped.into(run.xi_at(k))
    return run._replace(who=grouped.who, steps=grouped.into(run.steps[..., None])[..., 0], xi=xi)


def brought(algorithm: Arriving, problem: Problem, s, draw: Draw, who: Who):
    """(Delta, x - base), each (..., d), of an arrival: what its local steps changed, and how far the server moved meanwhile."""
    arrival = arrived(algorithm, problem, s, draw, who)
    return arrival.delta, arrival.moved


def local_run(algorithm: Arriving, cohort, base, draw: Draw, rate=None, buffer=None):
    """(y, buffer) after a run from base (..., 1, d). rate (..., 1, 1) multiplies the local step; buffer (..., 1, d): where the
    solver's starts, and then it stays as it is once the client has made its steps; None: afresh."""
    solver, lr = algorithm.solver, algorithm.lr if rate is None else algorithm.lr * rate
    if hasattr(solver, "of"):  # one of each client's own
        solver = solver.of(draw.who, cohort.n)
    y, lasting, listed = base, buffer is not None, hasattr(solver, "at")
    buffer = buffer if lasting else solver.start(base)
    for k, on in draw.local_steps():
        y, new = (solver.at(k) if listed else solver).step(y, base, buffer, cohort.grad(y, draw.xi_at(k)), lr, on)
        buffer = put(buffer, on, new) if lasting else new
    return y, buffer


def restarted(algorithm: Arriving, problem: Problem, s, draw: Draw, arrival, x, K=None, moved=1, steps=None):
    """The parts of the state of which an arrival changes its own entry: it starts again at once from x with K steps.

    K: None, as many as before; moved: 1 where the server's model changed, which makes everybody else's lag larger by one; steps:
    how many of the K steps it makes, where K is no whole number.
    """
    who, K = arrival.who, arrival.K if K is None else K
    now = of(s.finish, who)
    then = now + lasts(draw, K if steps is None else steps, who=who)
    return {"base": placed(s.base, who, x[..., None, :], own=True), "began": _entered(s.began, who, now),
            "finish": _entered(s.finish, who, then), "lag": _entered(s.lag + moved, who, 0 * K), "K": _entered(s.K, who, K),
            "rate": s.rate if algorithm.decay is None else _entered(s.rate, who, of(s.rate, who) * algorithm.decay),
            "buffer": placed(s.buffer, who, arrival.buffer, own=True) if algorithm.momentum == "kept" else s.buffer}


def _entered(values, who: Who, new):
    """Numbers per client (..., n) with the arrival's entry (..., 1) replaced."""
    return placed(values[..., None], who, new[..., None])[..., 0]


def put(old, on, new):
    """`new` where `on` is 1, without rounding: a client that starts from x holds exactly x."""
    return old * (1 - on) + new * on
