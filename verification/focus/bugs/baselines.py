"""Wrong variants of the baselines of Table 1: FedAU's counters, FedAWE's echo, local SGD's absent clients, MIFA's server."""
from fltheory.algorithms.fedau import FedAu
from fltheory.algorithms.fedawe import FedAwe
from fltheory.algorithms.localsgd import LocalSgd
from fltheory.algorithms.mifa import Mifa
from fltheory.core.numbers.arrays import put, spread
from fltheory.mutants.base import changed
from fltheory.mutants.memories import INTERVALS, counts_one_round_more

current_interval_counts, weights_normalised, weights_never_used = (
    INTERVALS[name] for name in ("current_interval_counts", "weights_normalised", "weights_never_used"))


@changed(FedAwe, "_age")
def no_echo(self, right, s, draw):
    """Changes are not amplified by the rounds of absence."""
    return 1


@changed(FedAwe, "round")
def starts_from_the_server(self, right, problem, s, draw):
    """Clients pull the server model before their local steps instead of continuing from their own."""
    return right(problem, s._replace(w=spread(s.x) + 0 * s.w), draw)


@changed(LocalSgd, "round")
def absent_wait(self, right, problem, s, draw):
    """Absent clients make no local steps."""
    new = right(problem, s, draw)
    return new._replace(w=put(s.w, draw.who, new.w, draw.present))


@changed(LocalSgd, "round")
def everybody_pulls(self, right, problem, s, draw):
    """Every client starts the round from the last average: FedAvg."""
    return right(problem, s._replace(w=spread(s.x) + 0 * s.w), draw)


@changed(Mifa, "round", of="mifa")
def server_uses_old_updates(self, right, problem, s, draw):
    """MIFA's server moves by the updates it had before this round's arrived."""
    return right(problem, s, draw)._replace(x=s.x - self.lr * (problem.p[..., None] * s.G).sum(-2))


@changed(FedAu, "round", of="fedau")
def fedau_half_a_step(self, right, problem, s, draw):
    """FedAU's server makes half of its step."""
    new = right(problem, s, draw)
    return new._replace(x=s.x + (new.x - s.x) / 2)


__all__ = ["absent_wait", "counts_one_round_more", "current_interval_counts", "everybody_pulls", "fedau_half_a_step", "no_echo",
           "server_uses_old_updates", "starts_from_the_server", "weights_never_used", "weights_normalised"]
