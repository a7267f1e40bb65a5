"""Wrong neighbours of a reference algorithm, compared as whole maps: for faults that hide in memories."""
from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from fltheory.algorithms.fedavg import FedAvg
from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.fednova_vr import FedNovaVR
from fltheory.algorithms.focus import Focus
from fltheory.algorithms.mifa import Mifa
from fltheory.algorithms.scaffold import Scaffold, State
from fltheory.algorithms.server_momentum import ServerMomentum
from fltheory.algorithms.vrlsgd import VRLSGD
from fltheory.arrays import put, spread, take
from fltheory.scalars import fraction


@dataclass(frozen=True)
class _Control(Scaffold):
    """SCAFFOLD with parts of its control variates replaced."""

    longer: Any = 0            # added to the divisor of the client variate
    server: str = "weighted"   # weights with which c moves: "weighted", "plain", "participants", "frozen"
    sign: Any = 1              # of the correction c - c_i in the local step
    order: str = "old"         # how c_i is renewed: "old" (as stated), "none", "no lr", "lost", "end"; see CONTROLS
    stateful: ClassVar[bool] = True

    def round(self, problem, s, draw):
        cohort = problem.at(draw.who)
        x, c, ci = spread(s.x, draw.who), spread(s.c, draw.who), take(s.ci, draw.who)
        y, share = x, (cohort.p * draw.present)[..., None]
        for k, on in draw.local_steps():
            y = y - self.lr * on * (cohort.grad(y, draw.xi_at(k)) + (-ci if self.sign == "client" else self.sign * (c - ci)))
        steps = 1 if self.longer == "one" else draw.steps[..., None] + self.longer
        new = ci - (0 if self.order == "none" else c) + (x - y) / (steps * (1 if self.order == "no lr" else self.lr))
        if self.option == 1:
            new = cohort.grad(y if self.order == "end" else x + 0 * ci, draw.xi_at(k + 1))
        total = share.sum(-2, keepdims=True)
        total = total + (total == 0) * 1
        there = draw.present[..., None]
        moves = {"weighted": share, "plain": there * (1 + 0 * share) / problem.n, "frozen": 0 * share,
                 "participants": share / total, "sum": there * (1 + 0 * share)}[self.server]
        return State(s.x + (share / total * (y - x)).sum(-2), s.c + (moves * (new - ci)).sum(-2),
                     put(s.ci, draw.who, new, 0 * draw.present if self.order == "lost" else draw.present))


CONTROLS = [
    ({"longer": 1}, "the client variates are divided by one local step too many (steps + 1)"),
    ({"longer": -1}, "the client variates are divided by one local step too few (steps - 1)"),
    ({"server": "plain"}, "the server variate c moves by the plain mean of the clients' changes, not weighted by p_i"),
    ({"server": "participants"}, "the server variate's weights are renormalised over the participants"),
    ({"server": "frozen"}, "the server variate c is never updated"),
    ({"sign": -1}, "the correction c - c_i enters the local step with the wrong sign"),
    ({"sign": 0}, "the control variates are not used in the local steps (plain FedAvg)"),
    ({"longer": "one"}, "the client variates are divided by one step instead of all local steps (batches, not epochs?)"),
    ({"order": "no lr"}, "the client variates are not divided by the step size"),
    ({"order": "lost"}, "the client variates are computed and sent, but never stored"),
    ({"order": "end"}, "the client variate is the gradient at the local model instead of the server model"),
    ({"server": "sum"}, "the server variate adds the clients' changes without averaging them"),
    ({"sign": "client"}, "the local correction is -c_i alone: the server variate is missing"),
    ({"order": "none"}, "c is not subtracted when the client variates are updated"),
]
OTHERS = {"option": (1, 2), "variant": ("printed", "repaired"), "divisor": ("own", "mean"), "start": ("zero", "warm"),
          "averaging": ("weighted", "plain", "unbiased")}


@dataclass(frozen=True, init=False)
class _Tracking(Focus):
    """FOCUS with its server's tracking replaced: "mean", "reset" or "late"; set by `_tracking`."""

    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        if self.how == "mean":
            y = s.y + (new.y - s.y) / problem.n
        elif self.how == "reset":
            y = (draw.present[..., None] * take(new.g, draw.who)).sum(-2)
        else:
            return new._replace(x=s.x - self.lr * s.y)
        return new._replace(x=s.x - self.lr * y, y=y)

    def to(self, domain):
        made = super().to(domain)
        object.__setattr__(made, "how", self.how)
        return made


def _tracking(algorithm, how):
    made = object.__new__(_Tracking)
    for f in fields(algorithm):
        object.__setattr__(made, f.name, getattr(algorithm, f.name))
    object.__setattr__(made, "how", how)
    return made


def neighbours(algorithm, steps):
    """Yield (sentence, wrong algorithm or None for dropped data weights). steps (n,): the reference's."""
    yield "the data weights p_i are dropped: every client counts alike, in the model and in the memories", None
    tau = tuple(int(k) for k in steps)
    kind = type(algorithm)
    if kind is Scaffold:
        for change, sentence in CONTROLS:
            if not (change.get("longer") == -1 and min(tau) == 1) and not (algorithm.option == 1 and (
                    "longer" in change or change.get("order") in ("none", "no lr"))) \
                    and not (algorithm.option == 2 and change.get("order") == "end"):
                yield sentence, _Control(algorithm.lr, tau, algorithm.option, **change)
    if kind is Focus:
        yield "the server averages the pushed changes instead of summing them", _tracking(algorithm, "mean")
        yield "nothing is tracked: the server's sum starts from 0 every round", _tracking(algorithm, "reset")
        yield "the server moves by the sum it had before the pushes arrived", _tracking(algorithm, "late")
    for name, values in OTHERS.items():
        for value in values if hasattr(algorithm, name) and kind.__module__.startswith("fltheory.") else ():
            if getattr(algorithm, name) != value:
                yield f"the code does {name} = {value!r} where the reference has {getattr(algorithm, name)!r}", \
                    replace(algorithm, **{name: value})
    for name in ("beta", "tau_eff", "alpha"):
        value = getattr(algorithm, name, None)
        if value is not None and fraction(value):
            for factor in (0, Fraction(1, 2), 2):
                if (factor == 0 and name != "beta") or (factor * fraction(value) >= 1 and name == "beta"):
                    continue
                yield f"{name} is {float(factor * fraction(value)):g} where {float(fraction(value)):g} is stated", \
                    replace(algorithm, **{name: factor * fraction(value)})
    if all(f.name != "solver" or not is_dataclass(f) for f in fields(algorithm)):
        for lr_factor in (2, Fraction(1, 2)):
            yield f"the step size is {'twice' if lr_factor == 2 else 'half'} the stated one", \
                replace(algorithm, lr=lr_factor * fraction(algorithm.lr))
        for more in (1, -1):
            if min(tau) + more >= 1:
                yield f"every client makes one local step {'more' if more == 1 else 'less'}", \
                    replace(algorithm, steps=tuple(k + more for k in tau))
    for sentence, other in memories(algorithm.lr, tau):
        if type(other) is not kind:
            yield f"the code is {sentence}", other


def memories(lr, steps):
    """(name, algorithm) of the catalogue's methods without further numbers, for code whose steps are known."""
    return [("FedAvg: no memory acts", FedAvg(lr, steps)), ("FedNova: no memory acts", FedNova(lr, steps)),
            ("SCAFFOLD, option II", Scaffold(lr, steps)), ("SCAFFOLD, option I", Scaffold(lr, steps, option=1)),
            ("VRL-SGD, divided by the client's own steps", VRLSGD(lr, steps)),
            ("VRL-SGD, divided by the mean steps", VRLSGD(lr, steps, divisor="mean")), ("MIFA", Mifa(lr, steps)),
            ("FOCUS", Focus(lr, steps)), ("FOCUS with a warm start", Focus(lr, steps, "warm")),
            ("FedNova with variance reduction", FedNovaVR(lr, steps)),
            ("FedNova with variance reduction as printed", FedNovaVR(lr, steps, variant="printed"))]


def with_momentum(lr, steps, beta):
    """Server momentum on plain averaging needs equal steps; used where the catalogue is searched."""
    return ServerMomentum(lr, steps, beta=beta)
