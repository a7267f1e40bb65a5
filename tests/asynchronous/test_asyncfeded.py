"""AsyncFedED, one arrival a round, against the event queue of its twin."""
from fractions import Fraction as Q

import numpy as np
import pytest

from fltheory.asynchronous.asyncfeded import AsyncFedED
from fltheory.asynchronous.event_clock import EventClock
from fltheory.core.errors import BadInput
from fltheory.core.laws.base import minibatch_slots
from fltheory.core.laws.draw import Slots, to_device
from fltheory.core.numbers.arrays import to_numpy
from fltheory.core.numbers.scalars import FLOAT, Torch, have
from fltheory.core.problems.plain import Rows
from fltheory.core.problems.quadratic import Quadratic
from fltheory.runs.streams import Stream
from tests.naive import asyncfeded
from tests.naive.vectors import QuadraticClients

DOMAINS = [FLOAT] + ([Torch()] if have("torch") else [])
ARRIVALS = 250


def instance(n, d, seed):
    """Clients with dyadic random data: (Quadratic, twin)."""
    rng = np.random.default_rng(seed)
    R = rng.integers(-4, 5, (n, d, d)) / 8
    H = R @ R.swapaxes(1, 2) + np.eye(d) / 4
    b = rng.integers(-16, 17, (n, d)) / 8
    return Quadratic.from_linear(H, b), QuadraticClients(H.tolist(), b.tolist(), [1 / n] * n)


# name, (n, d, seed), paces, K0, lr, (lam, eps, gbar, kappa)
CASES = [
    ("constant K", (3, 2, 1), [1, 2, 3], 5, 0.05, (1.0, 1.0, 3.0, 0.0)),
    ("everybody ties", (4, 3, 2), [1, 1, 1, 1], 4, 0.05, (1.0, 1.0, 3.0, 0.0)),
    ("ties now and then", (4, 2, 3), [2, 3, 4, 6], 3, 0.05, (0.5, 1.0, 3.0, 0.0)),
    ("adaptive", (4, 3, 4), [1, 2, 2, 5], 10, 0.02, (1.0, 1.0, 2.0, 1.0)),
    ("adaptive and clamped", (5, 2, 5), [1, 1, 2, 3, 7], 3, 0.04, (2.0, 2.0, 2.0, 4.0)),
    ("slowly adaptive", (3, 4, 6), [3, 5, 4], 10, 0.03, (1.0, 1.0, 2.0, 0.5)),
    ("one client", (1, 2, 7), [3], 2, 0.02, (0.5, 2.0, 3.0, 0.5)),
]


def one(domain, law, n, slots=None):
    """The law's draw of a round, as `run` makes it."""
    draw, _ = law.sample(Stream(1), n, 1)
    draw = draw._replace(xi=slots)
    return to_device(draw, "cpu") if isinstance(domain, Torch) else draw


def events(problem, domain, case, x0):
    """Per arrival (time, client, K of the run that ended, x), batched over the rows of x0."""
    _, _, paces, K0, lr, (lam, eps, gbar, kappa) = case
    law = EventClock(tuple(paces), steps=K0)
    a = AsyncFedED(lr, lam=lam, eps=eps, gbar=gbar, kappa=kappa).to(domain)
    p, draw = problem.to(domain), one(domain, law, problem.n)
    state = a.init(p, domain.array(x0), draw)
    for _ in range(ARRIVALS):
        finish, K = to_numpy(state.finish), to_numpy(state.K)
        state = a.round(p, state, draw)
        who = finish.argmin(-1)
        yield finish.min(-1), who, np.take_along_axis(K, who[..., None], -1)[..., 0], to_numpy(state.x)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].replace(" ", "-"))
@pytest.mark.parametrize("domain", DOMAINS, ids=str)
@pytest.mark.parametrize("batched", [False, True], ids=["single", "batched"])
def test_equals_the_twin_event_for_event(domain, case, batched):
    _, size, paces, K0, lr, parameters = case
    problem, clients = instance(*size)
    starts = np.array([[1.0, -2.0, 0.5, 3.0], [4.0, 4.0, -1.0, 0.0], [-3.0, 0.25, 9.0, 1.0]])[:, :size[1]]
    starts = starts if batched else starts[0]
    ours = list(events(problem, domain, case, starts))
    for r, x0 in enumerate(np.atleast_2d(starts)):
        twin = asyncfeded.events(clients, x0.tolist(), lr, *parameters, K0, paces, ARRIVALS)
        for (time, who, K, x), event in zip(ours, twin, strict=True):
            time, who, K, x = (v[r] for v in (time, who, K, x)) if batched else (time, who, K, x)
            assert (time, who, K) == (event["time"], event["client"], event["K"])
            assert np.abs(x - event["x"]).max() <= 1e-12 * max(1.0, np.abs(x).max())


def test_the_instances_reach_what_they_are_named_for():
    seen = {}
    for case in CASES:
        name, size, paces, K0, lr, parameters = case
        _, clients = instance(*size)
        history = asyncfeded.events(clients, [1.0, -2.0, 0.5, 3.0][:size[1]], lr, *parameters, K0, paces, ARRIVALS)
        times = [event["time"] for event in history]
        seen[name] = (min(e["K"] for e in history), max(e["K"] for e in history), len(set(times)) < len(times))
    assert seen["constant K"][:2] == (5, 5)
    assert seen["everybody ties"][2] and seen["ties now and then"][2] and seen["adaptive"][2]
    assert seen["adaptive"][0] < 10 < seen["adaptive"][1]
    assert seen["adaptive and clamped"][0] == 1 and seen["adaptive and clamped"][1] > 3
    assert seen["slowly adaptive"][0] < 10 < seen["slowly adaptive"][1]
    assert seen["one client"][1] > 2


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
@pytest.mark.parametrize("kappa", [0, 1])
def test_zero_updates(domain, kappa):
    # client 1 has gradient zero: never stale until the server moves, then infinitely stale
    problem = Quadratic.from_linear([[[0.0]], [[0.0]]], [[1.0], [0.0]])
    clients = QuadraticClients([[[0.0]], [[0.0]]], [[1.0], [0.0]], [0.5, 0.5])
    twin = asyncfeded.events(clients, [0.0], 1.0, 1.0, 1.0, 3.0, kappa, 2, [2, 1], 30)
    law = EventClock((2, 1), steps=2)
    a, p, draw = AsyncFedED(1, gbar=3, kappa=kappa).to(domain), problem.to(domain), one(domain, law, 2)
    state = a.init(p, domain.array(np.zeros(1)), draw)
    for event in twin:
        who = int(state.finish.argmin())
        assert (float(state.finish.min()), who, float(state.K[who])) == (event["time"], event["client"], event["K"])
        state = a.round(p, state, draw)
        assert float(state.x[0]) == event["x"][0]
    assert {event["gamma"] for event in twin} >= {0, float("inf")}


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_state_is_untouched_and_keeps_its_shape(domain):
    problem, _ = instance(3, 2, 1)
    a, p, draw = AsyncFedED("1/20", 3, kappa=1).to(domain), problem.to(domain), one(domain, EventClock((1, 2, 3), 3), 3)
    state = a.init(p, domain.array(np.ones((5, 2))), draw)
    copies = [to_numpy(leaf).copy() for leaf in state]
    new = a.round(p, state, draw)
    assert all((to_numpy(leaf) == copy).all() for leaf, copy in zip(state, copies, strict=True))
    for leaf, other in zip(state, new, strict=True):
        assert leaf.shape == other.shape and leaf.dtype == other.dtype
    assert (to_numpy(new.base)[:, 1:] == to_numpy(state.base)[:, 1:]).all()           # client 0 arrived
    assert (to_numpy(new.base)[:, 0] == to_numpy(new.x)).all()


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_the_arrival_takes_its_own_clients_noise(domain):
    problem, clients = instance(3, 2, 1)
    law = EventClock((3, 1, 2), steps=2)
    a, p = AsyncFedED("1/20").to(domain), problem.to(domain)
    slots = Slots(lambda k: domain.array(Stream(3).child("noise", k).standard_normal((4, 3, 2))))
    state = a.init(p, domain.array(np.ones((4, 2))), one(domain, law, 3))
    new = a.round(p, state, one(domain, law, 3, slots))
    for r in range(4):
        y = np.ones(2)
        for k in range(2):
            y = y - (np.array(clients.grad(1, y)) + to_numpy(slots(k))[r, 1]) / 20
        assert np.abs(to_numpy(new.x)[r] - y).max() < 1e-12            # gamma = 0, lam = eps = 1
    rows = minibatch_slots(Stream(4), [5, 9, 7], slice(None), (4, 3), 6, lambda v: v)
    chosen = one(FLOAT, law, 3, rows).choose(np.array([[2], [0], [1], [2]]), np.ones((4, 1)))
    assert isinstance(chosen.xi_at(0), Rows) and chosen.xi_at(0).index.shape == (4, 1, 6)
    assert all((chosen.xi_at(0).index[r, 0] == rows(0).index[r, i]).all() for r, i in enumerate([2, 0, 1, 2]))
    assert chosen.xi_at(1).index.max() < 9 and one(FLOAT, law, 3).choose(np.array([0]), np.ones(1)).xi_at(0) is None


@pytest.mark.parametrize(("threshold", "after"), [(1, 1.25), (Q(2**20 - 1, 2**20), 1.5), (Q(2**20 + 1, 2**20), 1.25)])
@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_updates_of_larger_gamma_are_discarded_and_no_others(domain, threshold, after):
    """From 1, half a step on x^2/2 gives Delta = -1/2; the server has moved by 1/2, so that gamma is 1 exactly."""
    problem = Quadratic([[[1]]] * 2, [[0]] * 2)
    draw = one(domain, EventClock((1, 2), steps=1), 2)
    a, p = AsyncFedED("1/2", lam=1, eps=1, discard=threshold).to(domain), problem.to(domain)
    state = a.init(p, domain.array([[1.0]]), draw)
    new = a.round(p, state._replace(x=0 * state.x + 1.5), draw)
    assert to_numpy(new.x).item() == after


def test_event_clock_carries_paces():
    law = EventClock((1, 2, 3), steps=4)
    ((probability, draw),) = law.support(3)
    assert probability == 1 and (draw.extra["pace"] == [1, 2, 3]).all() and (draw.steps == 4).all()
    assert (EventClock(2, 1).typical(3).extra["pace"] == [2, 2, 2]).all()
    assert law.inclusion(3) == [1, 1, 1] and law.with_noise("1/2").pace == (1, 2, 3)


@pytest.mark.parametrize(("make", "words"), [
    (lambda: EventClock(0), ["pace", "0", "from 1 to"]),
    (lambda: EventClock((1, 1.5)), ["pace", "1.5", "integers"]),
    (lambda: EventClock((1, 2), 1).cohort_count(3), ["pace", "(1, 2)", "3"]),
    (lambda: AsyncFedED("1/2", eps=0), ["eps", "0", "positive"]),
    (lambda: AsyncFedED("1/2", lam=-1), ["lam", "-1", "positive"]),
    (lambda: AsyncFedED("1/2", kappa=-1), ["kappa", "-1", ">= 0"]),
    (lambda: AsyncFedED(Q(0)), ["lr", "positive"]),
])
def test_refusals(make, words):
    with pytest.raises(BadInput) as caught:
        make()
    assert all(word in str(caught.value) for word in words), str(caught.value)
