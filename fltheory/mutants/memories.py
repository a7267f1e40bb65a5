"""Wrong memories: control variates, trackers, stored updates, counted intervals and server buffers."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fltheory.algorithms.fedau import FedAu
from fltheory.algorithms.focus import Focus
from fltheory.algorithms.mifa import Mifa
from fltheory.algorithms.reweighted import weighed
from fltheory.algorithms.scaffold import Scaffold, State
from fltheory.algorithms.server_momentum import ServerMomentum
from fltheory.algorithms.vrlsgd import VRLSGD
from fltheory.core.algorithms.solvers import Momentum, Vanilla, descend
from fltheory.core.kinds import Algorithm, Draw, Problem
from fltheory.core.numbers.arrays import arange, put, ratio, spread, take
from fltheory.core.numbers.scalars import Number
from fltheory.mutants.base import altered, changed, option, variant, variants


# ---- SCAFFOLD ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Control(Scaffold):
    """SCAFFOLD with parts of its control variates replaced.

    c_i is divided by divisor steps, or by (steps + longer) times `factor`; sign: of the correction c - c_i in the local
    step, "client" for -c_i alone, "server" for c alone; mean, server: weights with which x and c move; order: how c_i is
    renewed and sent; pace: multiplies the move of c; early: c moves after each client, so that later ones use it, in their
    "local" steps alone or everywhere.
    """

    longer: Any = 0
    factor: Number = 1
    divisor: Number = None
    sign: Any = 1
    server: str = "weighted"
    order: str = "old"
    pace: Number = 1
    early: Any = False
    mean: str = "weighted"

    def round(self, problem: Problem, s, draw: Draw):
        if not self.early:
            return self._together(problem, s, draw)
        x, c, ci = s
        cohort, places = problem.at(draw.who), arange(draw.present.shape[-1], draw.present)
        share = ratio(cohort.p * draw.present, (cohort.p * draw.present).sum(-1, keepdims=True))
        for k in range(draw.present.shape[-1]):
            here = draw._replace(present=draw.present * ((places == k) * 1))
            before = s.c if self.early == "local" else c
            one = self._together(problem, State(s.x, before, ci), here, c)
            one = one._replace(c=c + (one.c - before))
            x, c, ci = x + share[..., k:k + 1] * (one.x - s.x), one.c, one.ci
        return State(x, c, ci)

    def _together(self, problem: Problem, s, draw: Draw, sent=None):
        """One round; sent: the server variate that the local steps use, if it is another than the state's."""
        cohort = problem.at(draw.who)
        x, c, ci = spread(s.x, draw.who), spread(s.c, draw.who), take(s.ci, draw.who)
        y, there, used = x, draw.present[..., None], c if sent is None else spread(sent, draw.who)
        for k, on in draw.local_steps():
            one_sided = {"client": -ci, "server": used + 0 * ci}
            correction = one_sided[self.sign] if isinstance(self.sign, str) else self.sign * (used - ci)
            y = y - self.lr * on * (cohort.grad(y, draw.xi_at(k)) + correction)
        divisor = self.divisor if self.divisor is not None else (draw.steps[..., None] + self.longer) * self.factor
        moved = (x - y) / (divisor * (1 if self.order == "no lr" else self.lr))
        new = ci + {"none": 0, "added": 1}.get(self.order, -1) * c + (-moved if self.order == "reversed" else moved)
        if self.option == 1:
            new = cohort.grad(y if self.order == "end" else x + 0 * ci, draw.xi_at(k + 1))
        share = (cohort.p * draw.present)[..., None]
        weights = ratio(share, share.sum(-2, keepdims=True))
        alike = there * (1 + 0 * share)
        moves = {"weighted": share, "plain": alike / problem.n, "frozen": 0 * share, "participants": weights,
                 "mean": ratio(alike, alike.sum(-2, keepdims=True)), "sum": alike}[self.server]
        change = new - {"whole": 0 * c, "from c": c}.get(self.order, ci)
        model = {"plain": ratio(alike, alike.sum(-2, keepdims=True)), "raw": share}.get(self.mean, weights)
        return State(s.x + self.server_lr * (model * (y - x)).sum(-2), s.c + self.pace * (moves * change).sum(-2),
                     put(s.ci, draw.who, new, 0 * draw.present if self.order == "lost" else draw.present))


def _divides(algorithm: Scaffold):
    return algorithm.option == 2


def _divides_by_more(algorithm: Scaffold):
    steps = algorithm.steps
    return _divides(algorithm) and (min(steps) if isinstance(steps, tuple) else steps) > 1


VARIATES = variants(Control, Scaffold, {
    "control_wrong_steps": ("the client variates are divided by one local step too many (steps + 1)", _divides, {"longer": 1}),
    "one_step_fewer": ("the client variates are divided by one local step too few (steps - 1)", _divides_by_more, {"longer": -1}),
    "no_lr": ("the client variates are not divided by the step size", _divides, {"order": "no lr"}),
    "c_kept": ("c is not subtracted when the client variates are updated", _divides, {"order": "none"}),
    "update_reversed": ("the option-II update has the wrong sign: it adds y_i - x where it has x - y_i", _divides,
     {"order": "reversed"}),
    "c_added": ("c is added, not subtracted, when the client variates are updated", _divides, {"order": "added"}),
    "gradient_at_the_end": ("the client variate is the gradient at the local model instead of the server model",
     lambda a: a.option == 1, {"order": "end"}),
    "never_stored": ("the client variates are computed and sent, but never stored: every c_i stays 0", None, {"order": "lost"}),
    "sent_whole": ("a client sends its new variate where the server adds the change c_i_new - c_i", None, {"order": "whole"}),
    "variate_drifts": ("the server variate moves by c_i_new - c instead of c_i_new - c_i: it is no mean of the c_i any more",
     None, {"order": "from c"}),
    "control_unweighted": ("the server variate c moves by the plain mean of the clients' changes, not weighted by p_i",
     None, {"server": "plain"}),
    "renormalised": ("the server variate's weights are renormalised over the participants (p_i/p_S, not p_i)",
     None, {"server": "participants"}),
    "over_participants": ("the server variate is divided by the number |S| of participants instead of all clients",
     None, {"server": "mean"}),
    "frozen": ("the server variate c is never updated", None, {"server": "frozen"}),
    "summed": ("the server variate adds the clients' changes without averaging them", None, {"server": "sum"}),
    "early": ("the server variate c moves after each client, so that later clients of the round use the new one",
     None, {"early": True}),
    "early_in_steps": ("the server variate c moves after each client, so that later clients of the round use the new one in their "
     "local steps, not in their own update", None, {"early": "local"}),
    "wrong_sign": ("the correction c - c_i enters the local step with the wrong sign", None, {"sign": -1}),
    "never_used": ("the corrections are never used in the local steps: this is FedAvg", None, {"sign": 0}),
    "without_c": ("the local correction is -c_i alone: the server variate is missing", None, {"sign": "client"}),
    "without_ci": ("the local correction is c alone: the client variate is missing", None, {"sign": "server"}),
    "model_plain": ("the model is averaged with equal weights (the data weights p_i are dropped there), the variates with p_i",
     None, {"mean": "plain"}),
    "model_raw": ("the participants' p_i are not renormalised over the cohort in the model's average", None, {"mean": "raw"}),
})


@changed(Scaffold, "round")
def variates_never_updated(self, right, problem: Problem, s, draw: Draw):
    """SCAFFOLD's control variates stay at zero: plain FedAvg."""
    return s._replace(x=right(problem, s, draw).x)


@changed(Scaffold, "round")
def fixed_divisor(self, right, problem: Problem, s, draw: Draw):
    """The changes are divided by a fixed cohort size, half of all clients, however many take part."""
    new, cohort = right(problem, s, draw), problem.at(draw.who)
    mass = (cohort.p * draw.present).sum(-1, keepdims=True)    # p_S
    return new._replace(x=s.x + 2 * mass * (new.x - s.x))      # sum p_i (y_i - x) over half of all weight


fresh_variates = option("option", 1, "fresh_variates",
                        "SCAFFOLD's variates are gradients at the server model (option I) instead of mean local gradients")
mean_divisor = option("divisor", "mean", "mean_divisor",
                      "VRL-SGD divides by the mean number of steps instead of the client's own")
own_divisor = option("divisor", "own", "own_divisor",
                     "VRL-SGD divides by the client's own number of steps instead of the mean")
corrections_kept = option("variant", "printed", "corrections_kept", "variance reduction stores corrected gradients: the "
                          "corrections are not subtracted again (FedNova, line 13)")


@changed(VRLSGD, "round")
def correction_reversed(self, right, problem: Problem, s, draw: Draw):
    """The correction D_i enters the local step with the wrong sign."""
    new = right(problem, s._replace(D=-s.D), draw)
    return new._replace(D=s.D + put(0 * s.D, draw.who, take(new.D + s.D, draw.who), draw.present))


@changed(VRLSGD, "round")
def divisor_without_lr(self, right, problem: Problem, s, draw: Draw):
    """VRL-SGD's corrections are not divided by the step size."""
    new = right(problem, s, draw)
    return new._replace(D=s.D + self.lr * (new.D - s.D))


# ---- FOCUS ------------------------------------------------------------------------------------------------
def _pushed(self, s, new, y):
    """The round in which the server's sum became y instead."""
    return new._replace(x=s.x - self.lr * y, y=y)


@changed(Focus, "round")
def pushes_averaged(self, right, problem: Problem, s, draw: Draw):
    """The server averages the pushed changes instead of summing them (over n)."""
    new = right(problem, s, draw)
    return _pushed(self, s, new, s.y + (new.y - s.y) / problem.n)


@changed(Focus, "round")
def pushes_averaged_over_cohort(self, right, problem: Problem, s, draw: Draw):
    """The server averages the pushed changes instead of summing them (over |S|)."""
    new = right(problem, s, draw)
    return _pushed(self, s, new, s.y + ratio(new.y - s.y, (draw.present + 0 * problem.at(draw.who).p).sum(-1, keepdims=True)))


@changed(Focus, "round")
def tracking_reset(self, right, problem: Problem, s, draw: Draw):
    """Nothing is tracked: the server's sum starts from 0 every round."""
    new = right(problem, s, draw)
    return _pushed(self, s, new, (draw.present[..., None] * take(new.g, draw.who)).sum(-2))


@changed(Focus, "round")
def server_moves_first(self, right, problem: Problem, s, draw: Draw):
    """The server moves by the sum y it had before the pushes arrived."""
    return right(problem, s, draw)._replace(x=s.x - self.lr * s.y)


@changed(Focus, "round", lambda a: a.steps != 1)
def stores_first_gradient(self, right, problem: Problem, s, draw: Draw):
    """A client stores its first gradient of the round instead of its last."""
    first = problem.at(draw.who).grad(spread(s.x, draw.who), draw.xi_at(0))
    return right(problem, s, draw)._replace(g=put(s.g, draw.who, first, draw.present))


@changed(Focus, "round")
def gradients_forgotten(self, right, problem: Problem, s, draw: Draw):
    """The clients forget their stored gradient between rounds."""
    new = right(problem, s._replace(g=0 * s.g), draw)
    return new._replace(g=put(s.g, draw.who, take(new.g, draw.who), draw.present))


def _tracked(self, problem: Problem, s, draw: Draw, v):
    """(local models, trackers, stored gradients) after the local steps of FOCUS, from these trackers."""
    u, stored = spread(s.x, draw.who), take(s.g, draw.who)
    for k, on in draw.local_steps():
        g = stored + on * (problem.at(draw.who).grad(u, draw.xi_at(k)) - stored)
        v, stored = v + (g - stored), g
        u = u - self.lr * on * v
    return u, v, stored


class Tracked(NamedTuple):
    """A `Focus` state with trackers v (..., n, d) that live on."""

    x: Any
    y: Any
    g: Any
    v: Any


def _with_trackers(self, problem: Problem, x0, draw: Draw | None = None):
    s = Focus.init(self, problem, x0, draw)
    return Tracked(*s, 0 * s.g)


@changed(Focus, "round", init=_with_trackers)
def tracker_kept(self, right, problem: Problem, s, draw: Draw):
    """A client's tracker is not reset to 0 after it was pushed."""
    _, v, g = _tracked(self, problem, s, draw, take(s.v, draw.who))
    y = s.y + (draw.present[..., None] * v).sum(-2)
    return Tracked(s.x - self.lr * y, y, put(s.g, draw.who, g, draw.present), put(s.v, draw.who, v, draw.present))


@changed(Focus, "round")
def models_averaged(self, right, problem: Problem, s, draw: Draw):
    """The server takes the mean of the clients' models instead of its own step."""
    u = _tracked(self, problem, s, draw, 0 * take(s.g, draw.who))[0]
    there = draw.present[..., None] * (1 + 0 * u)
    return right(problem, s, draw)._replace(x=(ratio(there, there.sum(-2, keepdims=True)) * u).sum(-2))


# ---- MIFA -------------------------------------------------------------------------------------------------
@changed(Mifa, "round")
def mifa_ascent(self, right, problem: Problem, s, draw: Draw):
    """The server's step has the wrong sign: it adds the mean of the updates x - y_i (ascent)."""
    new = right(problem, s, draw)
    return new._replace(x=2 * s.x - new.x)


@changed(Mifa, "round")
def updates_forgotten(self, right, problem: Problem, s, draw: Draw):
    """The updates of absent clients are not stored: their memory stays 0."""
    return right(problem, s._replace(G=0 * s.G), draw)


class Referenced(NamedTuple):
    """x (..., d) server model; G (..., n, d) last updates; last (..., n, d) each client's last local model."""

    x: Any
    G: Any
    last: Any


@dataclass(frozen=True)
class PreviousModelMifa(Mifa):
    """MIFA whose participants report (last_i - y_i)/lr, last_i being their own previous local model (x0 at first)."""

    def init(self, problem: Problem, x0, draw: Draw | None = None):
        s = super().init(problem, x0, draw)
        return Referenced(*s, x0[..., None, :] + s.G)

    def round(self, problem: Problem, s, draw: Draw):
        cohort, x = problem.at(draw.who), spread(s.x, draw.who)
        y = x + descend(Vanilla(), self.lr, cohort, x, draw)[0]
        G = put(s.G, draw.who, (take(s.last, draw.who) - y) / self.lr, draw.present)
        return Referenced(s.x - self.lr * (problem.p[..., None] * G).sum(-2), G, put(s.last, draw.who, y, draw.present))


mifa_previous_local_model = variant(
    PreviousModelMifa, Mifa, "mifa_previous_local_model",
    "an update is measured from the client's own previous local model instead of the server model")


# ---- FedAU ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Weighing(FedAu):
    """FedAU with other weights; weight: "past" (its own), "current" (the interval that this round ends counts too),
    "stuck" (no interval ever ends: rounds so far), "last" (none ends either: rounds up to its last participation) or "none"
    (1); divisor: of the sum, all clients or the "sum" of weights."""

    weight: str = "past"
    divisor: str = "all"

    def round(self, problem: Problem, s, draw: Draw):
        used = s.weight if self.weights is None else self.weights
        later: Any = self._count(s, draw) if self.weights is None else None
        if self.weight in ("stuck", "last"):
            later = self._count(s._replace(seen=0 * s.seen), draw)._replace(seen=s.seen, waited=s.waited + 1)
        if self.weight in ("stuck", "current"):
            used = later.waited if self.weight == "stuck" else later.weight
        elif self.weight == "none":
            used = 0 * used + 1
        move = weighed(self.lr, problem, s.x, draw, used)
        if self.divisor == "sum":
            each = problem.at(draw.who).p * draw.present * take(used[..., None], draw.who)[..., 0]
            move = ratio(move, each.sum(-1, keepdims=True))
        x = s.x + self.server_lr * move
        return s._replace(x=x) if later is None else later._replace(x=x)


def _counts(algorithm: FedAu):
    return algorithm.weights is None


_BY_SUM = "the sum is divided by the sum of the weights instead of the number of all clients"
_CURRENT = "a weight includes the interval that ends in the very round (the current interval)"
INTERVALS = variants(Weighing, FedAu, {
    "fedau_counter_stuck": ("no interval ever ends, so all counters are equal and cancel: plain FedAvg",
     _counts, {"weight": "stuck", "divisor": "sum"}),   # as in the public scripts
    "stuck_over_all": ("no interval ever ends: the weight of a participant is the number of rounds so far",
     _counts, {"weight": "stuck"}),
    "last_round_counts": ("no interval ever ends (the counter is reset in the wrong branch?): a weight is the number of rounds up "
     "to the client's last participation", _counts, {"weight": "last"}),
    "weights_never_used": ("the counted weights are not used", None, {"weight": "none"}),
    "weights_normalised": (_BY_SUM, None, {"divisor": "sum"}),
    "current_interval_counts": (_CURRENT, _counts, {"weight": "current"}),
    "current_interval_normalised": (f"{_CURRENT}, and {_BY_SUM}", _counts, {"weight": "current", "divisor": "sum"}),
})


@changed(FedAu, "_count", lambda a: a.weights is None and a.cutoff is None)
def counts_one_round_more(self, right, s, draw: Draw):
    """After an interval has ended, the counter starts at 1 instead of 0: intervals seem one round longer."""
    new = right(s, draw)
    return new._replace(waited=new.waited + (new.seen - s.seen))


# ---- server momentum --------------------------------------------------------------------------------------
class Dampened(NamedTuple):
    """x (..., d) server model; v (..., d) server buffer; late: 0 in the first round, then 1."""

    x: Any
    v: Any
    late: Any = 0


@dataclass(frozen=True)
class ServerBuffer(ServerMomentum):
    """Server momentum as torch's optimiser: v <- D, then v <- beta v + (1 - dampening) D; nesterov: look-ahead."""

    dampening: Number = 0
    nesterov: bool = False

    def init(self, problem: Problem, x0, draw: Draw | None = None):
        return Dampened(x0, 0 * x0)

    def round(self, problem: Problem, s, draw: Draw):
        D = (s.x - self._aggregated(problem, s.x, draw)) / self.lr
        v = self.beta * s.v + (1 - self.dampening * s.late) * D
        return Dampened(s.x - self.lr * (D + self.beta * v if self.nesterov else v), v, 1)


nesterov_server = variant(ServerBuffer, ServerMomentum, "nesterov_server", "the server's momentum uses Nesterov's look-ahead",
                          nesterov=True)


def momentum_missing(algorithm: Algorithm):
    """The server's momentum is missing (beta = 0, or a buffer made anew each round)."""
    return replace(algorithm, beta=0) if type(algorithm) is ServerMomentum else None


def momentum_on_clients(algorithm: Algorithm):
    """The momentum is in the clients' local steps instead of at the server."""
    return (replace(algorithm, beta=0, solver=Momentum(algorithm.beta))
            if type(algorithm) is ServerMomentum and type(algorithm.solver) is Vanilla else None)


# ---- any algorithm ----------------------------------------------------------------------------------------
def _unweighted(self, right, problem: Problem, *arguments):
    return right(problem.surrogate(None), *arguments)


def data_weights_dropped(algorithm: Algorithm):
    """The data weights p_i are dropped: every client counts alike, in the model and in the memories."""
    return altered(altered(algorithm, _unweighted, "init"), _unweighted, "round")
