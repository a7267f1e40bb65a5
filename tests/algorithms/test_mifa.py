"""MIFA in every arithmetic against its loop-only twin, and as FedAvg when everybody takes part."""
from fltheory.algorithms.mifa import Mifa
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.numbers.scalars import RATIONAL
from tests.algorithms.instances import quadratic
from tests.algorithms.test_twins import FULL, LR, X0, agree, cohorts, domains, follow
from tests.naive import mifa


@domains
@cohorts
def test_mifa(domain, schedule, form):
    problem, clients = quadratic()
    agree(domain, follow(Mifa(LR), problem, domain, schedule, form), mifa.rounds(clients, X0, LR, schedule))


def test_full_participation_is_fedavg():
    problem, _ = quadratic()
    ours, theirs = (follow(a, problem, RATIONAL, FULL, "mask") for a in (Mifa(LR), FedAvg(LR)))
    assert all((a.x == b.x).all() for a, b in zip(ours, theirs, strict=True))
