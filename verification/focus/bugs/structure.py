"""Wrong variants for Section 3 of FOCUS: matrices, weights, and tracking."""
from dataclasses import dataclass, fields, replace
from fractions import Fraction

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.focus import Focus, State
from fltheory.core.algorithms.scaffold import Scaffold
from fltheory.core.arrays import put, spread, take
from fltheory.core.laws.memoryless import Uniform
from verification.focus.formulas import matrices


def indices_swapped(build):
    """The entries 1/|S| of the average matrix stand in column 0 instead of row 0 (printed cases of eq 4)."""
    return matrices.average_swapped if build is matrices.average else None


def figure_mixing(build):
    """The doubly stochastic matrix uses 1/(|S| + 1) as in the paper's figure."""
    return matrices.mixing_of_the_figure if build is matrices.mixing else None


def not_transposed(transpose):
    """The collect matrix is taken to be the assign matrix itself."""
    return lambda R: R


def averaging_for_participation(weights):
    """The averaging weights q_i stand where the participation probabilities p_i belong."""
    return "q" if weights == "p" else "p"


indices_swapped.of, figure_mixing.of, not_transposed.of = "average", "mixing", "transpose"
averaging_for_participation.of = "weights"


def _as(kind, record):
    made = object.__new__(kind)
    for f in fields(record):
        object.__setattr__(made, f.name, getattr(record, f.name))
    return made


@dataclass(frozen=True, init=False)
class _Mean(Focus):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        y = s.y + (new.y - s.y) / problem.n
        return State(s.x - self.lr * y, y, new.g)


def pushes_averaged(algorithm):
    """The server averages the pushed changes instead of summing them."""
    return _as(_Mean, algorithm) if type(algorithm) is Focus else None


@dataclass(frozen=True, init=False)
class _Forgets(Focus):
    def round(self, problem, s, draw):
        cohort = problem.at(draw.who)
        u, old = spread(s.x, draw.who), take(s.g, draw.who)
        v, stored, first = 0 * old, old, None
        for k, on in draw.local_steps():
            g = stored + on * (cohort.grad(u, draw.xi_at(k)) - stored)
            v, stored = v + g - stored, g
            first = g if first is None else first
            u = u - self.lr * on * v
        y = s.y + (draw.present[..., None] * v).sum(-2)
        return State(s.x - self.lr * y, y, put(s.g, draw.who, first, draw.present))


def stores_first_gradient(algorithm):
    """A client stores the first gradient of the round instead of the last one it evaluated."""
    return _as(_Forgets, algorithm) if type(algorithm) is Focus and algorithm.steps != 1 else None


@dataclass(frozen=True, init=False)
class _Reset(Focus):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        y = (draw.present[..., None] * take(new.g, draw.who)).sum(-2)
        return new._replace(x=s.x - self.lr * y, y=y)


def tracking_reset(algorithm):
    """The participants push their last gradients and y starts from 0 every round: nothing is tracked."""
    return _as(_Reset, algorithm) if type(algorithm) is Focus else None


@dataclass(frozen=True, init=False)
class _LateServer(Focus):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        return new._replace(x=s.x - self.lr * s.y)


def server_moves_first(algorithm):
    """The server moves by the y it had before the pushes arrived."""
    return _as(_LateServer, algorithm) if type(algorithm) is Focus else None


@dataclass(frozen=True, init=False)
class _OneSample(Focus):
    def round(self, problem, s, draw):
        return super().round(problem, s, draw if draw.xi is None else draw._replace(xi=lambda k: draw.xi(0)))


def one_sample_a_round(algorithm):
    """All local steps of a round see the same sample: unbiased, and the mean is right."""
    return _as(_OneSample, algorithm) if type(algorithm) is Focus and algorithm.steps != 1 else None


@dataclass(frozen=True)
class _KeepsAbsent(FedAvg):
    def server(self, x, cohort, draw, change, mass):
        return x + (draw.present[..., None] * change).sum(-2) / cohort.n


def divides_by_all(algorithm):
    """The sum over the participants is divided by the number of all clients."""
    if type(algorithm) is not FedAvg:
        return None
    return _KeepsAbsent(algorithm.lr, algorithm.steps, algorithm.solver, algorithm.averaging)


def one_client_more(law):
    """One client more is drawn each round."""
    return Uniform(law.m + 1, law.steps, law.noise, law.batch) if type(law) is Uniform else None


def not_the_union(covered):
    """Only the clients common to all sets count as covered."""
    return lambda sets: set.intersection(*map(set, sets))


one_client_more.of, not_the_union.of = "law", "covered"


def no_extra_move(first_step):
    """The server does not move before the first round."""
    return lambda X, eta, grad: X


def server_row_pulled(assign):
    """The server's row is overwritten by the mean of the participants' rows."""
    def wrong(present):
        R = assign(present)
        R[0] = matrices.average(present)[0]
        return R
    return wrong


def one_move_fewer(moves):
    """The last local move of the round is not counted."""
    return lambda tau: tau - 1


no_extra_move.of, server_row_pulled.of, one_move_fewer.of = "first_step", "assign", "moves"


def right_vector(weights_of):
    """The limit is weighted by the column averages of R instead of its left Perron vector."""
    return lambda R: R.sum(0) / len(R)


def first_row_counts(weights_of):
    """The first row counts twice in the average."""
    def wrong(R):
        w = weights_of(R) * len(R)
        w[0] = w[0] + 1
        return w / w.sum()
    return wrong


def rows_instead_of_columns(transpose):
    """Row sums instead of column sums are 1: the transposed matrices are applied."""
    return lambda C: C.T


def gathers_everything(mixing):
    """All nodes average with one server after every step, which is exact gradient descent."""
    return lambda W: [[Fraction(1, len(W))] * len(W) for _ in W]


def sends_more(algorithm):
    """A method that declares one more vector each way."""
    made = object.__new__(type("Chatty", (type(algorithm),), {
        "uplink": algorithm.uplink + 1, "downlink": algorithm.downlink + 1}))
    for f in fields(algorithm):
        object.__setattr__(made, f.name, getattr(algorithm, f.name))
    return made


@dataclass(frozen=True, init=False)
class _PushesGradient(Focus):
    def round(self, problem, s, draw):
        new = super().round(problem, s, draw)
        fresh = (draw.present[..., None] * take(new.g, draw.who)).sum(-2)
        return new._replace(x=new.x - self.lr * fresh / 2)


def pushes_its_gradient_too(algorithm):
    """Clients push their new gradient besides its change, and the server moves along both; one vector is declared."""
    return _as(_PushesGradient, algorithm) if type(algorithm) is Focus and algorithm.steps != 1 else None


right_vector.of = first_row_counts.of = "weights_of"
rows_instead_of_columns.of, gathers_everything.of = "transpose", "mixing"


def one_step_only(algorithm):
    """Clients make a single local step whatever is asked for."""
    return None if algorithm.steps == 1 else replace(algorithm, steps=1)


@dataclass(frozen=True)
class _Uncorrected(Scaffold):
    def round(self, problem, s, draw):
        return s._replace(x=super().round(problem, s, draw).x)


def variates_never_updated(algorithm):
    """SCAFFOLD's control variates stay at zero: plain FedAvg."""
    return _as(_Uncorrected, algorithm) if type(algorithm) is Scaffold else None
