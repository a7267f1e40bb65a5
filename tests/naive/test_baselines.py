"""The twins of the baselines against facts that can be worked out by hand."""

from fractions import Fraction as Q

from tests.naive import fedau, fedavg, fedawe, fedvarp, localsgd, reweighted
from tests.naive.test_twins import COHORTS, LR, X0, scalar_clients, three_clients
from tests.naive.vectors import mix, scale, sub


def test_fedau_counts_intervals():
    clients = scalar_clients([1], [0], [1])
    present = [[(0, 1)], [], [], [(0, 1)], [(0, 1)]]             # intervals 1, 3, 1
    history = fedau.rounds(clients, [Q(1)], Q(1, 2), present)
    assert [w for _, (w,), _, _ in history] == [1, 1, 1, 2, Q(5, 3)]
    assert [x for (x,), *_ in history] == [Q(1, 2), Q(1, 2), Q(1, 2), Q(1, 4), 0]  # the last round uses weight 2
    cut = fedau.rounds(clients, [Q(1)], Q(1, 2), present, K=2)   # intervals 1, 2 (cut), 1, 1
    assert [w for _, (w,), _, _ in cut] == [1, 1, Q(3, 2), Q(4, 3), Q(5, 4)]
    assert [x for (x,), *_ in cut] == [Q(1, 2), Q(1, 2), Q(1, 2), Q(1, 8), Q(1, 8) * (1 - Q(2, 3))]


def test_fedawe_echoes_the_rounds_of_absence():
    clients = scalar_clients([1], [0], [1])
    history = fedawe.rounds(clients, [Q(1)], Q(1, 4), [[(0, 1)], [], [], [(0, 1)]])
    assert [x for (x,), *_ in history] == [Q(3, 4)] * 3 + [Q(3, 4) * (1 - Q(3, 4))]
    assert [age for *_, (age,) in history] == [1, 2, 3, 1]
    *_, ((x,), _, _) = fedawe.rounds(clients, [Q(1)], Q(1, 4), [[(0, 1)], [], [], [(0, 1)]], cap=2)
    assert x == Q(3, 4) * (1 - Q(2, 4))


def test_one_participant_a_round_never_mixes():
    clients = scalar_clients([1, 1], [0, 1], ["1/2", "1/2"])
    alone = [[(k % 2, 1)] for k in range(6)]
    *_, (_, own, _) = fedawe.rounds(clients, [Q(1)], Q(1, 2), alone)
    assert own[0][0] < Q(1, 10) and own[1] == [1]
    *_, (_, own) = localsgd.rounds(clients, [Q(1)], Q(1, 2), [([1, 1], [k % 2]) for k in range(6)])
    assert own == [[Q(1, 64)], [1]]


def test_localsgd_lets_absent_clients_step():
    clients = three_clients()
    (average, own), (kept, later) = localsgd.rounds(clients, X0, LR, [([1, 1, 1], [0, 1]), ([1, 1, 1], [])])
    steps = [sub(X0, scale(LR, clients.grad(i, X0))) for i in range(3)]
    assert own == [average, average, steps[2]] and average == mix([Q(5, 8), Q(3, 8)], steps[:2])
    assert kept == average and later == [sub(y, scale(LR, clients.grad(i, y))) for i, y in enumerate(own)]


def test_probabilities_one_are_fedavg_with_everybody():
    clients = three_clients()
    full = [[(0, 2), (1, 5), (2, 3)]] * 3
    expected = fedavg.rounds(clients, X0, LR, full)
    assert reweighted.rounds(clients, X0, LR, full, [1, 1, 1]) == expected
    assert [x for x, _ in fedvarp.rounds(clients, X0, LR, full)] == expected
    half = reweighted.rounds(clients, X0, LR, [[(1, 2)]], [Q(1, 2)] * 3)[0]
    move = sub(fedavg.rounds(clients, X0, LR, [[(1, 2)]])[0], X0)
    assert sub(half, X0) == scale(Q(3, 10) * 2, move)


def test_fedvarp_remembers_the_absent():
    clients = three_clients()
    history = fedvarp.rounds(clients, X0, LR, COHORTS)
    (x, y), (after, kept) = history[1], history[2]               # the third cohort is empty
    assert after == sub(x, mix(clients.p, y)) and kept == y
