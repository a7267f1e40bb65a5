"""Wrong variants for Section 3 of FOCUS: matrices, weights, and tracking."""
from fractions import Fraction

from fltheory.algorithms.focus import Focus
from fltheory.core.numbers.arrays import take
from fltheory.mutants.averages import divides_by_all
from fltheory.mutants.base import alike, changed
from fltheory.mutants.laws import one_client_more
from fltheory.mutants.local import one_step_only
from fltheory.mutants.memories import (
    pushes_averaged,
    server_moves_first,
    stores_first_gradient,
    tracking_reset,
    variates_never_updated,
)
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


@changed(Focus, "round", lambda a: a.steps != 1)
def one_sample_a_round(self, right, problem, s, draw):
    """All local steps of a round see the same sample: unbiased, and the mean is right."""
    return right(problem, s, draw if draw.xi is None else draw._replace(xi=lambda k: draw.xi(0)))


def not_the_union(covered):
    """Only the clients common to all sets count as covered."""
    return lambda sets: set.intersection(*map(set, sets))


not_the_union.of = "covered"


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
    kind = type(algorithm)
    return alike(type("Chatty", (kind,), {"uplink": kind.uplink + 1, "downlink": kind.downlink + 1}), algorithm)


@changed(Focus, "round", lambda a: a.steps != 1)
def pushes_its_gradient_too(self, right, problem, s, draw):
    """Clients push their new gradient besides its change, and the server moves along both; one vector is declared."""
    new = right(problem, s, draw)
    fresh = (draw.present[..., None] * take(new.g, draw.who)).sum(-2)
    return new._replace(x=new.x - self.lr * fresh / 2)


right_vector.of = first_row_counts.of = "weights_of"
rows_instead_of_columns.of, gathers_everything.of = "transpose", "mixing"

__all__ = [
    "averaging_for_participation", "divides_by_all", "figure_mixing", "first_row_counts", "gathers_everything", "indices_swapped",
    "no_extra_move", "not_the_union", "not_transposed", "one_client_more", "one_move_fewer", "one_sample_a_round", "one_step_only",
    "pushes_averaged", "pushes_its_gradient_too", "right_vector", "rows_instead_of_columns", "sends_more", "server_moves_first",
    "server_row_pulled", "stores_first_gradient", "tracking_reset", "variates_never_updated",
]
