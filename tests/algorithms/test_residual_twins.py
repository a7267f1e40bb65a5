"""Residual methods and their baselines, unchanged, in every arithmetic against loop-only twins."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.laws.draw import Slots
from fltheory.core.numbers.scalars import RATIONAL
from tests.algorithms.instances import DOMAINS, draw, named, quadratic, residual, same
from tests.algorithms.test_twins import LR, PARTIAL, REPEATED, THETA0, X0, agree, cohorts, follow, padded
from tests.naive import fedresavg, fedresnaive, fedressgd, fedsgd, localprox

LAM, K = Q(1, 5), 3
EVERYBODY = [[(i, K) for i in range(3)]] * 3
domains = pytest.mark.parametrize("domain", DOMAINS, ids=named)
forms = pytest.mark.parametrize("form", ["mask", "who"])


def shown(history):
    return [(w, padded(theta), *rest) for w, theta, *rest in history]


@domains
@forms
@pytest.mark.parametrize("option", [1, 2])
def test_fedresavg(domain, form, option):
    problem, clients = residual()
    twin = fedresavg.rounds(clients, X0, THETA0, LR, LAM, K, Q(3, 2), 3, option=option)
    algorithm = ft.FedResAvg(LR, personal_lr=LAM, alpha="3/2", option=option)
    agree(domain, follow(algorithm, problem, domain, EVERYBODY, form, theta=padded(THETA0)),
          [(w, padded(theta), c, ci) for w, theta, ci, c in twin])


@domains
@pytest.mark.parametrize("option", [1, 2])
def test_a_warm_start_of_fedresavg(domain, option):
    """The variates start as the gradients at the first parameters, theta = 0."""
    problem, clients = residual()
    zero = [[Q(0)] * k for k in problem.dims]
    twin = fedresavg.rounds(clients, X0, zero, LR, LAM, K, 1, 3, "warm", option)
    agree(domain, follow(ft.FedResAvg(LR, personal_lr=LAM, start="warm", option=option), problem, domain, EVERYBODY, "mask"),
          [(w, padded(theta), c, ci) for w, theta, ci, c in twin])


@domains
@forms
def test_fedressgd(domain, form):
    problem, clients = residual()
    agree(domain, follow(ft.FedResSgd(LR, personal_lr=LAM), problem, domain, EVERYBODY, form, theta=padded(THETA0)),
          shown(fedressgd.rounds(clients, X0, THETA0, LR, LAM, K, 3)))


@domains
@forms
@pytest.mark.parametrize("order", ["seq", "sim"])
def test_fedresnaive(domain, form, order):
    problem, clients = residual()
    states = follow(ft.FedResNaive(LR, personal_lr=LAM, order=order), problem, domain, EVERYBODY, form, theta=padded(THETA0))
    agree(domain, states, shown(fedresnaive.rounds(clients, X0, THETA0, LR, LAM, K, 3, order == "sim")))


@domains
@cohorts
def test_fedsgd(domain, schedule, form):
    problem, clients = quadratic()
    agree(domain, follow(ft.FedSgd(LR), problem, domain, schedule, form), [(x,) for x in fedsgd.rounds(clients, X0, LR, schedule)])


@domains
@pytest.mark.parametrize(("schedule", "form"), [([sorted(c) for c in PARTIAL], "mask"), (REPEATED, "who")],
                         ids=["partial", "repeated"])
def test_fedsgd_takes_the_mini_batches_that_local_steps_would(domain, schedule, form):
    def noise(r, place, k):
        return [Q(r + 1, 1 + k), Q(place - k, 5)]
    problem, clients = quadratic()
    agree(domain, follow(ft.FedSgd(LR), problem, domain, schedule, form, noise),
          [(x,) for x in fedsgd.rounds(clients, X0, LR, schedule, noise)])


@domains
@cohorts
@pytest.mark.parametrize("mu", [0, Q(3, 2)])
def test_localprox(domain, schedule, form, mu):
    problem, clients = quadratic()
    agree(domain, follow(ft.LocalProx(LR, mu=mu), problem, domain, schedule, form), localprox.rounds(clients, X0, LR, mu, schedule))


def test_without_personal_parameters_residual_methods_are_their_relatives():
    """B = 0: FedResSGD moves w as FedSGD, FedResNaive as FedAvg, FedResAvg I as FedAvg, II as SCAFFOLD with equal steps."""
    data = residual()[0]
    problem = ft.Residual(data.A, [0 * data.B[i, :, :k] for i, k in enumerate(data.dims)],
                          [data.C[i, :k, :k] for i, k in enumerate(data.dims)], data.bw,
                          [data.btheta[i, :k] for i, k in enumerate(data.dims)])
    alone = problem.shared()
    for mine, theirs in [(ft.FedResSgd(LR, K, personal_lr=LAM), ft.FedSgd(LR, K)),
                         (ft.FedResNaive(LR, K, personal_lr=LAM), ft.FedAvg(LR, K)),
                         (ft.FedResAvg(LR, K, personal_lr=LAM, option=1), ft.FedAvg(LR, K)),
                         (ft.FedResAvg(LR, K, personal_lr=LAM), ft.Scaffold(LR, K))]:
        one = list(follow(mine, problem, RATIONAL, EVERYBODY, "mask"))
        other = list(follow(theirs, alone, RATIONAL, EVERYBODY, "mask"))
        assert all((a.x == b.x).all() for a, b in zip(one, other, strict=True)), theirs


@pytest.mark.parametrize("algorithm,count,shared,own", [
    (ft.FedResSgd(LR, personal_lr=LAM), 4, (2, 3), (0, 1)), (ft.FedResNaive(LR, personal_lr=LAM, order="sim"), 2, (0, 1), (0, 1)),
    (ft.FedResNaive(LR, personal_lr=LAM), 2, (0, 1), (0, 1))], ids=["FedResSgd", "sim", "seq"])
def test_noise_enters_by_the_slots_of_its_phase(algorithm, count, shared, own):
    """Noise of one slot on w alone, or on theta alone: which of them move anything."""
    problem = residual()[0].to(RATIONAL)
    record = algorithm.to(RATIONAL)
    start = record.init(problem, RATIONAL.array(np.array(X0)))

    def after(loud, part):
        sample = np.zeros((3, 4), dtype=int)
        sample[:, part] = 1
        slots = Slots(lambda k: RATIONAL.array(sample * int(k == loud)))
        state = record.round(problem, start, draw([(i, 2) for i in range(3)], 3, "mask", slots))
        assert slots.count == count
        return state
    quiet = after(None, 0)
    for k in range(count):
        assert (after(k, slice(0, 2)).x == quiet.x).all() == (k not in shared)
        assert (after(k, slice(2, 4)).theta == quiet.theta).all() == (k not in own)


def test_the_variates_of_the_participants_alone_are_averaged():
    problem = residual([Q(1, 2), Q(1, 3), Q(1, 6)])[0].to(RATIONAL)
    for over in ("all", "present"):
        algorithm = ft.FedResAvg(LR, 2, personal_lr=LAM, over=over).to(RATIONAL)
        state = algorithm.init(problem, RATIONAL.array(np.array(X0)))
        state = algorithm.round(problem, state, draw([(0, 2), (2, 2)], 3, "mask"))
        p = [Q(1, 2), 0, Q(1, 6)] if over == "all" else [Q(3, 4), 0, Q(1, 4)]
        same(RATIONAL, state.c, [sum(q * Q(str(state.ci[i, j])) for i, q in enumerate(p)) for j in range(2)])
        after = algorithm.round(problem, state, draw([], 3, "mask"))
        assert (after.c == state.c).all() and (after.x == state.x).all()
