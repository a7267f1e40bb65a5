"""Local solvers of FedNova Section 2: what one local step does with a gradient.

Each solver is a linear recursion. `start` makes its buffer, `step` makes one step from y with gradient g; a solver with
numbers of each client's own has `of(who, n)`, itself for a cohort of n clients, one with numbers of each step's own `at(k)`;
`on` (..., m, 1) is 0 for clients that have finished, for which y must stay bit-identical. The step is the
separate, callable piece on which general-tau proofs do their induction.
"""
from __future__ import annotations

from dataclasses import dataclass, is_dataclass

from fltheory.core.errors import refuse
from fltheory.core.kinds import Array, Draw, Who
from fltheory.core.numbers.scalars import Curvature, Number, Numbers, StepSize
from fltheory.core.records import Record, declared, one_or_each, per_client, unread, within


def local_solver(solver, what):
    """A record with `start` and `step`; anything else, its class too, is refused."""
    if not is_dataclass(solver) or isinstance(solver, type) or not all(
            callable(getattr(type(solver), k, None)) for k in ("start", "step")):
        refuse(what, solver, "is no local solver", "Give a record, for example ft.Vanilla() or ft.Momentum('1/2').")
    return solver


@dataclass(frozen=True)
class Solver(Record):
    """Base of the solvers: a buffer that starts at 0."""

    def start(self, y: Array) -> Array:
        return 0 * y


@dataclass(frozen=True)
class Vanilla(Solver):
    """Plain SGD: y <- y - lr g."""

    def step(self, y: Array, anchor: Array, buffer: Array, g: Array, lr: StepSize, on: Array) -> tuple[Array, Array]:
        return y - lr * on * g, buffer


@dataclass(frozen=True)
class Proximal(Solver):
    """FedProx (FedNova eq 31): y <- y - lr (g + mu (y - anchor)).

    Give mu >= 0 (kept as lr changes) or alpha = lr mu in [0, 1] (kept as lr changes): the limit lr -> 0 differs.
    """

    mu: Curvature = declared(within(0), None)
    alpha: Number = declared(within(0, 1), None)

    def __post_init__(self):
        super().__post_init__()
        if (self.mu is None) == (self.alpha is None):
            refuse("Proximal", (self.mu, self.alpha), "exactly one of mu and alpha is given",
                   "Which one stays fixed as lr decays?")

    def step(self, y: Array, anchor: Array, buffer: Array, g: Array, lr: StepSize, on: Array) -> tuple[Array, Array]:
        if self.alpha is None:
            return y - lr * on * (g + self.mu * (y - anchor)), buffer
        return y - on * (lr * g + self.alpha * (y - anchor)), buffer


@dataclass(frozen=True)
class Momentum(Solver):
    """Local heavy ball (FedNova eqs 35-36), buffer reset each round: u <- rho u + g, y <- y - lr u. rho in [0, 1)."""

    rho: Number = declared(within(0, 1, "[)"))

    def step(self, y: Array, anchor: Array, buffer: Array, g: Array, lr: StepSize, on: Array) -> tuple[Array, Array]:
        buffer = self.rho * buffer + g
        return y - lr * on * buffer, buffer


@dataclass(frozen=True)
class MomentumProximal(Solver):
    """Heavy ball and proximal term together: u <- rho u + g, y <- y - lr u - alpha (y - anchor), buffer reset each round.

    rho in [0, 1), alpha = lr mu in [0, 1]. The proximal term does not enter the buffer: rho = 0 is `Proximal(alpha)`,
    alpha = 0 is `Momentum(rho)`.
    """

    rho: Number = declared(within(0, 1, "[)"))
    alpha: Number = declared(within(0, 1))

    def step(self, y: Array, anchor: Array, buffer: Array, g: Array, lr: StepSize, on: Array) -> tuple[Array, Array]:
        buffer = self.rho * buffer + g
        return y - on * (lr * buffer + self.alpha * (y - anchor)), buffer


@dataclass(frozen=True)
class Decay(Solver):
    """Local step decay: y <- y - lr gamma_i^k g. The buffer carries gamma_i^k, so decay is data.

    gamma: a number >= 0 for all clients, or one per client (n,), as FedNova's a_i allow.
    """

    gamma: Number = declared(one_or_each(within(0)))

    def of(self, who: Who, n: int) -> Decay:
        """The decays of a cohort `who` of n clients; of a record converted `to` an arithmetic."""
        if not getattr(self.gamma, "ndim", 0):
            return self
        if len(self.gamma) != n:
            refuse("gamma", len(self.gamma), f"one per client, so {n} of them", "Give a number for a common one.")
        return unread(self, gamma=self.gamma[who][..., None])

    def start(self, y: Array) -> Array:
        return 0 * y + 1

    def step(self, y: Array, anchor: Array, buffer: Array, g: Array, lr: StepSize, on: Array) -> tuple[Array, Array]:
        return y - lr * on * buffer * g, self.gamma * buffer


@dataclass(frozen=True)
class Listed(Solver):
    """Local step k is lr factors[k]: y <- y - lr factors[k] g (asyncfeded, Eq 2), the list beginning anew in every round.

    factors: numbers >= 0, one for each local step; more local steps than factors are refused.
    """

    factors: Numbers = declared(per_client(within(0), "one number for each local step, in a flat list", "Give a list."))

    def at(self, k: int) -> Listed:
        """The solver of local step k = 0, 1, .."""
        if k >= len(self.factors):
            refuse("steps", f"> {k}", f"the list has {len(self.factors)} local steps", "Give a factor for every local step.")
        return unread(self, factors=self.factors[k])

    def step(self, y: Array, anchor: Array, buffer: Array, g: Array, lr: StepSize, on: Array) -> tuple[Array, Array]:
        return y - lr * self.factors * on * g, buffer


def descend(solver, lr, cohort, x, draw: Draw):
    """Local phase of a cohort from the common start x (..., 1, d) -> (change (..., m, d), mass (..., m, 1)).

    mass = lr |a_i|_1: the same coded step fed with unit gradients, so the normaliser of FedNova cannot
    drift away from the solver that is really run (the bug of the public FedNova code with momentum).
    """
    if hasattr(solver, "of"):  # one of each client's own
        solver = solver.of(draw.who, cohort.n)
    y, buffer = x, solver.start(x)
    unit = 0 * x[..., :1]
    s, unit_buffer = unit, solver.start(unit)
    listed = hasattr(solver, "at")
    for k, on in draw.local_steps():
        local = solver.at(k) if listed else solver
        y, buffer = local.step(y, x, buffer, cohort.grad(y, draw.xi_at(k)), lr, on)
        s, unit_buffer = local.step(s, 0 * s, unit_buffer, 0 * s - 1, lr, on)
    return y - x, s
