"""Catalogued bugs of public federated code, and mutants of the same kinds: functions of an algorithm or of a law.

Each returns the wrong variant, or None where it would change nothing. A claim names the bugs it must reject;
only variants that still converge count. `of = "law"` marks bugs of the participation law.
"""
from dataclasses import dataclass, fields, replace
from typing import ClassVar

from fltheory.core.algorithms.fedavg import FedAvg, shares
from fltheory.core.algorithms.fednova import FedNova
from fltheory.core.algorithms.scaffold import Scaffold
from fltheory.core.algorithms.solvers import Decay, Momentum, MomentumProximal, Proximal, Vanilla
from fltheory.core.laws.base import RandomSteps
from fltheory.core.laws.memoryless import Uniform, WithReplacement
from fltheory.core.scalars import fraction


def _as(kind, record):
    """The record as a sub-class that declares no fields of its own."""
    return kind(*(getattr(record, f.name) for f in fields(record)))


def _steps(steps, change):
    return tuple(change(k) for k in steps) if isinstance(steps, tuple) else change(steps)


def one_step_more(algorithm):
    """Every client makes one local step too many."""
    return None if algorithm.steps is None else replace(algorithm, steps=_steps(algorithm.steps, lambda k: k + 1))


@dataclass(frozen=True)
class _Unweighted(FedAvg):
    def server(self, x, cohort, draw, change, mass):
        return x + (shares(cohort, draw.present, "plain")[..., None] * change).sum(-2)


def uniform_weights(algorithm):
    """The data weights p_i are dropped: every participant counts alike."""
    if type(algorithm) is not FedAvg or algorithm.averaging == "plain":
        return None
    return _Unweighted(algorithm.lr, algorithm.steps, algorithm.solver)


@dataclass(frozen=True)
class _Doubled(FedAvg):
    def server(self, x, cohort, draw, change, mass):
        return x + 2 * (super().server(x, cohort, draw, change, mass) - x)


def server_step_two(algorithm):
    """The server applies the averaged change twice."""
    return (
        _Doubled(algorithm.lr, algorithm.steps, algorithm.solver, algorithm.averaging)
        if type(algorithm) is FedAvg
        else None
    )


@dataclass(frozen=True)
class _FirstTwice(FedAvg):
    def server(self, x, cohort, draw, change, mass):
        first = draw.present * ((draw.present.cumsum(-1) == 1) * 1)
        share = shares(cohort, draw.present, self.averaging) * first
        return super().server(x, cohort, draw, change, mass) + (share[..., None] * change).sum(-2)


def first_client_twice(algorithm):
    """The server adds the first participant's change twice (OpenMined/PySyft #3828)."""
    return _as(_FirstTwice, algorithm) if type(algorithm) is FedAvg else None


@dataclass(frozen=True)
class _Unnormalised(FedAvg):
    def server(self, x, cohort, draw, change, mass):
        return x + ((cohort.p * draw.present)[..., None] * change).sum(-2)


@dataclass(frozen=True)
class _UnnormalisedNova(FedNova):
    def server(self, x, cohort, draw, change, mass):
        share = (cohort.p * draw.present)[..., None]
        scale = (share * mass).sum(-2) if self.tau_eff is None else self.lr * self.tau_eff
        return x + scale * (share * (change / mass)).sum(-2)


def weights_not_renormalised(algorithm):
    """The participants' p_i are used as they are, although under sampling they do not sum to 1."""
    kind = {FedAvg: _Unnormalised, FedNova: _UnnormalisedNova}.get(type(algorithm))
    return None if kind is None or algorithm.averaging == "plain" else _as(kind, algorithm)


def hidden_proximal(algorithm):
    """Plain local SGD carries an undeclared proximal term (weight decay towards the server model)."""
    return replace(algorithm, solver=Proximal(mu="1/5")) if algorithm.solver == Vanilla() else None


def proximal_missing(algorithm):
    """The proximal term is overwritten and never applied (FedLab #280)."""
    return replace(algorithm, solver=Vanilla()) if isinstance(algorithm.solver, Proximal) else None


@dataclass(frozen=True)
class _Repelling(Proximal):
    def step(self, y, anchor, buffer, g, lr, on):
        z = y - lr * on * g
        return z + on * (lr * self.mu if self.alpha is None else self.alpha) * (z - anchor), buffer


def proximal_repelling(algorithm):
    """The proximal term has the wrong sign, and is applied after the step (FedScale)."""
    solver = getattr(algorithm, "solver", None)
    return replace(algorithm, solver=_as(_Repelling, solver)) if type(solver) is Proximal else None


@dataclass(frozen=True)
class _Norm(Proximal):
    def step(self, y, anchor, buffer, g, lr, on):
        away = y - anchor  # d = 1, where the unit vector away/|away| is a sign
        pull = (lr * self.mu if self.alpha is None else self.alpha) * ((away > 0) * 1 - (away < 0) * 1)
        return y - on * (lr * g + pull / 2), buffer


def proximal_not_squared(algorithm):
    """The proximal penalty is mu/2 |y - x| instead of mu/2 |y - x|^2 (flwr #2210). One dimension, ordered numbers."""
    solver = getattr(algorithm, "solver", None)
    return replace(algorithm, solver=_as(_Norm, solver)) if type(solver) is Proximal else None


@dataclass(frozen=True)
class _Dampened(Momentum):
    def step(self, y, anchor, buffer, g, lr, on):
        buffer = self.rho * buffer + (1 - self.rho) * g
        return y - lr * on * buffer, buffer


def dampened_momentum(algorithm):
    """The momentum buffer averages gradients, u <- rho u + (1 - rho) g, instead of summing them."""
    solver = getattr(algorithm, "solver", None)
    return replace(algorithm, solver=_Dampened(solver.rho)) if type(solver) is Momentum else None


@dataclass(frozen=True)
class _Nesterov(Momentum):
    def step(self, y, anchor, buffer, g, lr, on):
        buffer = self.rho * buffer + g
        return y - lr * on * (g + self.rho * buffer), buffer


def nesterov_momentum(algorithm):
    """Nesterov's look-ahead is used where the normaliser assumes heavy-ball momentum."""
    solver = getattr(algorithm, "solver", None)
    return replace(algorithm, solver=_Nesterov(solver.rho)) if type(solver) is Momentum else None


@dataclass(frozen=True)
class _CurvedStep(Proximal):
    def step(self, y, anchor, buffer, g, lr, on):
        return y - on * (lr * g + self.alpha * self.alpha * (y - anchor)), buffer


def proximal_squared(algorithm):
    """The proximal coefficient enters squared."""
    solver = getattr(algorithm, "solver", None)
    return (
        replace(algorithm, solver=_CurvedStep(alpha=solver.alpha))
        if type(solver) is Proximal and solver.alpha is not None
        else None
    )


@dataclass(frozen=True)
class _StepsOnly(FedNova):
    def server(self, x, cohort, draw, change, mass):
        return super().server(x, cohort, draw, change, 0 * mass + self.lr * draw.steps[..., None])


def normaliser_counts_steps(algorithm):
    """FedNova divides by the number of steps whatever the solver."""
    if not isinstance(algorithm, FedNova):
        return None
    return _StepsOnly(algorithm.lr, algorithm.steps, algorithm.solver, algorithm.averaging, algorithm.tau_eff)


def normaliser_missing(algorithm):
    """FedNova's normalisation is lost: plain averaging."""
    return (
        FedAvg(algorithm.lr, algorithm.steps, algorithm.solver, algorithm.averaging)
        if isinstance(algorithm, FedNova)
        else None
    )


@dataclass(frozen=True)
class _ScaledUp(FedNova):
    def server(self, x, cohort, draw, change, mass):
        taken = (draw.present + 0 * cohort.p).sum(-1, keepdims=True)  # |S|
        return x + cohort.n / taken * (super().server(x, cohort, draw, change, mass) - x)


def fednova_scaled_up(algorithm):
    """FedNova's displacement is multiplied by n/|S| (FedLab's default `weighted_scale`)."""
    return _as(_ScaledUp, algorithm) if type(algorithm) is FedNova else None


@dataclass(frozen=True)
class _Aliased(MomentumProximal):
    def step(self, y, anchor, buffer, g, lr, on):  # the buffer holds lr u
        buffer = self.rho * buffer + lr * g + self.alpha * (y - anchor)
        return y - on * buffer, buffer


@dataclass(frozen=True)
class _PublicNormaliser(FedNova):
    def server(self, x, cohort, draw, change, mass):
        counter = norm = 0 * mass
        for _, on in draw.local_steps():
            counter = self.solver.rho * counter + 1
            norm = norm + on * ((norm + counter) * (1 - self.solver.alpha) + 1 - norm)
        return super().server(x, cohort, draw, change, self.lr * norm)


def normaliser_of_public_code(algorithm):
    """FedNova's public code: the proximal term leaks into the momentum buffer, and the normaliser adds 1 per step."""
    if type(algorithm) is not FedNova or type(algorithm.solver) is not MomentumProximal:
        return None
    return _as(_PublicNormaliser, replace(algorithm, solver=_as(_Aliased, algorithm.solver)))


def tau_eff_halved(algorithm):
    """The server's effective step is half of what is stated."""
    if not isinstance(algorithm, FedNova) or algorithm.tau_eff is None:
        return None
    return replace(algorithm, tau_eff=fraction(algorithm.tau_eff) / 2)


def without_replacement(law):
    """Scheme (i) draws without replacement."""
    return (
        Uniform(law.draws, law.steps, law.noise, law.batch)
        if isinstance(law, WithReplacement) and law.draws > 1
        else None
    )


def one_draw_less(law):
    """One client fewer is drawn each round."""
    return replace(law, draws=law.draws - 1) if isinstance(law, WithReplacement) and law.draws > 1 else None


without_replacement.of = one_draw_less.of = "law"


@dataclass(frozen=True)
class _DecayedStep(Vanilla):
    def start(self, y):
        return 0 * y + 1

    def step(self, y, anchor, buffer, g, lr, on):
        return y - lr * on * buffer * g, buffer * 9 / 10

    affine: ClassVar[bool] = True


def decayed_step(algorithm):
    """The local step size decays by 10 % per local step although it is stated constant."""
    return replace(algorithm, solver=_DecayedStep()) if algorithm.solver == Vanilla() else None


def unscaled_proximal(algorithm):
    """The proximal term is not multiplied by the local step size."""
    solver = getattr(algorithm, "solver", None)
    if type(solver) is not Proximal or solver.mu is None:
        return None
    return replace(algorithm, solver=Proximal(alpha=solver.mu))


def shared_steps(law):
    """One number of local steps is drawn for all clients instead of one each."""
    return replace(law, steps=replace(law.steps, independent=False)) if isinstance(law.steps, RandomSteps) else None


shared_steps.of = "law"


@dataclass(frozen=True)
class _EarlyDecay(Decay):
    def step(self, y, anchor, buffer, g, lr, on):
        buffer = self.gamma * buffer
        return y - lr * on * buffer * g, buffer


def early_decay(algorithm):
    """The step size is decayed before the first local step instead of after it."""
    solver = getattr(algorithm, "solver", None)
    return replace(algorithm, solver=_EarlyDecay(solver.gamma)) if type(solver) is Decay else None


def renormalised_weights(algorithm):
    """The weights p_i are renormalised over the sample although the sampling scheme already accounts for them."""
    weighted = getattr(algorithm, "averaging", "weighted") == "weighted"
    return None if weighted else replace(algorithm, averaging="weighted")


@dataclass(frozen=True)
class _Undivided(FedNova):
    def server(self, x, cohort, draw, change, mass):
        taken = (cohort.p * draw.present).sum(-1, keepdims=True)  # p_S
        return x + taken * (super().server(x, cohort, draw, change, mass) - x)


def shares_not_renormalised(algorithm):
    """Algorithm 1's tau_eff is not divided by the weight of the sample (the text of FedNova's Appendix H)."""
    if type(algorithm) is not FedNova or algorithm.tau_eff is not None:
        return None
    return _Undivided(algorithm.lr, algorithm.steps, algorithm.solver)


def corrections_kept(algorithm):
    """Variance reduction stores corrected gradients: the corrections are not subtracted again (FedNova, line 13)."""
    return replace(algorithm, variant="printed") if getattr(algorithm, "variant", None) == "repaired" else None


def mean_divisor(algorithm):
    """VRL-SGD divides by the mean number of steps instead of the client's own."""
    return replace(algorithm, divisor="mean") if getattr(algorithm, "divisor", None) == "own" else None


def own_divisor(algorithm):
    """VRL-SGD divides by the client's own number of steps instead of the mean."""
    return replace(algorithm, divisor="own") if getattr(algorithm, "divisor", None) == "mean" else None


@dataclass(frozen=True)
class _PlainControl(Scaffold):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        return new._replace(c=s.c + (new.ci - s.ci).sum(-2) / problem.n)


def control_unweighted(algorithm):
    """SCAFFOLD's server variate moves by the plain mean of the clients' although the objective is weighted."""
    return _as(_PlainControl, algorithm) if type(algorithm) is Scaffold else None


@dataclass(frozen=True)
class _LongControl(Scaffold):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        k, old = draw.steps[..., None], s.ci - s.c[..., None, :]
        ci = s.ci + draw.present[..., None] * (old + (new.ci - old) * k / (k + 1) - s.ci)
        return new._replace(c=s.c + (problem.p[..., None] * (ci - s.ci)).sum(-2), ci=ci)


def control_wrong_steps(algorithm):
    """SCAFFOLD (option II, all clients) divides by one step too many in the client variates: fixed points stay."""
    return _as(_LongControl, algorithm) if type(algorithm) is Scaffold and algorithm.option == 2 else None


def columns_swapped(table):
    """A table of (baseline, method) pairs is read with its columns swapped."""
    return {k: pair[::-1] for k, pair in table.items() if None not in pair}


def vanilla_and_momentum_swapped(table):
    """A table by (epochs, optimiser) is read with two of its rows swapped."""
    other = {"vanilla": "momentum", "momentum": "vanilla"}
    return {(e, o): table[e, other.get(o, o)] for e, o in table}


columns_swapped.of = vanilla_and_momentum_swapped.of = "table"
