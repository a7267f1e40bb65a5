"""Laws with memory, steps that vary by round, repeated clients: composed and enumerated by hand."""
import itertools
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from tests.core.operators import brute
from tests.core.operators.brute import kron_stationary, three, uniform
from tests.core.operators.rounds import CHANCES, LR, ROUNDS, TAU, cohort, fractions
from tests.naive import fedavg


@pytest.mark.parametrize("algorithm", [ft.FedAvg(LR, 2), ft.Scaffold(LR, 2), ft.Focus(LR, 2)],
                         ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("empty", ["move", "skip"])
def test_markov_without_correlation_is_bernoulli(algorithm, empty):
    problem, _ = three(None)
    markov = ft.derive(algorithm, problem, ft.Markov(CHANCES, 0, 3, empty=empty), noise=1)
    plain = ft.derive(algorithm, problem, ft.Bernoulli(CHANCES, empty=empty), noise=1)
    assert markov.moments.modes == 8 and plain.moments.modes == 1
    assert markov.rate() == pytest.approx(plain.rate(), rel=1e-9)
    assert markov.mean_square_rate() == pytest.approx(plain.mean_square_rate(), rel=1e-9)
    assert markov.fixed_point().x == pytest.approx(plain.fixed_point().x, rel=1e-10)
    assert markov.stationary().covariance == pytest.approx(plain.stationary().covariance, rel=1e-9)
    for (m, S), (n, T) in zip(markov.trajectory(4, [3, -2]), plain.trajectory(4, [3, -2]), strict=True):
        assert m == pytest.approx(n, rel=1e-12) and np.abs(S - T).max() <= 1e-12 * np.abs(T).max()


@pytest.mark.parametrize("kind", ROUNDS, ids=lambda k: k.__name__)
def test_cyclic_groups_are_composed_rounds(kind):
    problem, clients = three(None)
    clients, groups = brute.in_floats(clients), [(0, 1), (2,), (1,)]
    D = 2 if kind is ft.FedAvg else 8
    made = [brute.affine(ROUNDS[kind](clients, 0.05, cohort(g)), D).astype(float) for g in groups]
    op = ft.derive(kind(LR, TAU), problem, ft.Cyclic(groups))
    product = made[2][:, :D] @ made[1][:, :D] @ made[0][:, :D]
    radius = np.abs(np.linalg.eigvals(product)).max()
    assert op.rate() == pytest.approx(radius ** (1 / 3), rel=1e-9)
    assert op.mean_square_rate() == pytest.approx(radius ** (2 / 3), rel=1e-8)
    z = np.linalg.solve(np.eye(D) - product, made[2] @ np.append(made[1] @ np.append(made[0][:, D], 1), 1))
    orbit = [z]
    for A in made[:2]:
        orbit.append(A @ np.append(orbit[-1], 1))
    expected = np.mean([v[:2] for v in orbit], axis=0)
    assert op.fixed_point().x == pytest.approx(expected, rel=1e-9)
    spread = np.mean([np.outer(v[:2] - expected, v[:2] - expected) for v in orbit], axis=0)
    assert op.stationary().covariance == pytest.approx(spread, rel=1e-7, abs=1e-12)


def test_replayed_steps_vary_by_round():
    problem, clients = three()
    schedule = [((0, 1), (2, 3, 1)), ((2,), 4), ((0, 1, 2), (1, 1, 2))]
    op = ft.derive(ft.FedAvg(LR), problem, ft.Replay(schedule)).exact()
    rounds = [[(i, s if isinstance(s, int) else s[i]) for i in who] for who, s in schedule] * 2
    history = fedavg.rounds(clients, [Q(3), Q(-2)], LR, rounds)
    path = list(op.trajectory(7, [3, -2]))
    for (mean, second), x in zip(path, [[Q(3), Q(-2)], *history], strict=True):
        assert fractions(mean) == x and fractions(second) == [a * b for a in x for b in x]
    made = [brute.affine(brute.fedavg_round(clients, LR, r), 2, Q(0), Q(1))[:, :2].astype(float) for r in rounds[:3]]
    radius = np.abs(np.linalg.eigvals(made[2] @ made[1] @ made[0])).max()
    assert op.rate() == pytest.approx(radius ** (1 / 3), rel=1e-9)


def test_random_steps_are_enumerated():
    problem, clients = three()
    law = ft.Uniform(2, steps=ft.RandomSteps([("1/4", 1), ("3/4", 3)]))
    M, c = ft.derive(ft.FedAvg(LR), problem, law).exact().mean_map()
    total = 0
    for (q, members), taus in itertools.product(uniform(3, 2), itertools.product((1, 3), repeat=3)):
        weight = q * np.prod([Q(1, 4) if t == 1 else Q(3, 4) for t in taus])
        step = brute.fedavg_round(clients, LR, [(i, taus[i]) for i in members])
        total = total + weight * brute.affine(step, 2, Q(0), Q(1))
    assert fractions(np.concatenate([M, c[:, None]], axis=1)) == list(total.reshape(-1))


def test_repeated_clients_make_fresh_runs():
    # on flat losses client i's change has variance sigma^2 lr^2 steps_i: p = (.5, .3, .2), v = (1, 2, 5), three draws
    p, v = [Q(1, 2), Q(3, 10), Q(1, 5)], [1, 2, 5]
    problem = ft.Quadratic.from_linear([[[0]]] * 3, [[0]] * 3, p)
    op = ft.derive(ft.FedAvg(1, tuple(v), averaging="plain"), problem, ft.WithReplacement(3, p), noise=1)
    (_, _), (first, second) = op.exact().trajectory(2, [0])
    assert fractions(first) == [0] and fractions(second) == [Q(7, 10)]
    shared = sum(p[a] * p[b] * p[c] * sum(Q([a, b, c].count(i), 3) ** 2 * v[i] for i in {a, b, c})
                 for a, b, c in itertools.product(range(3), repeat=3))
    assert shared == Q(112, 100)                                 # what one shared run per client would give


def test_noise_of_rounds_with_unequal_numbers_of_slots(monkeypatch):
    from fltheory.core.operators import probe
    problem, clients = three()
    law = ft.Uniform(2, steps=ft.RandomSteps([("1/2", 1), ("1/2", 3)]), noise=1)
    whole = ft.derive(ft.FedAvg(LR), problem, law)
    monkeypatch.setattr(probe, "CHUNK", 1)                       # one mask at a time, each with its own slots
    pieces = ft.derive(ft.FedAvg(LR), problem, law)
    assert whole.stationary().covariance == pytest.approx(pieces.stationary().covariance, rel=1e-12)
    clients = brute.in_floats(clients)
    chances = [(q / 8, [(i, taus[i]) for i in s]) for q, s in uniform(3, 2)
               for taus in itertools.product((1, 3), repeat=3)]
    made = [brute.affine(brute.fedavg_round(clients, 0.05, c), 2).astype(float) for _, c in chances]
    G = [brute.fedavg_noise(clients, 0.05, c) for _, c in chances]
    q = [float(v) for v, _ in chances]
    _, covariance = kron_stationary(q, made, sum(w * g @ g.T for w, g in zip(q, G, strict=True)) / 2)
    assert whole.stationary().covariance == pytest.approx(covariance, rel=1e-10)
    schedule = ft.Replay([((0, 1), 1), ((2,), 3), ((0, 1, 2), 2)])
    op = ft.derive(ft.Scaffold(LR), problem, schedule, noise=1)  # modes of unequal slots decide one subspace
    assert op.reachable == 8 and op.stationary().covariance.trace() > 0


# ---- long schedules -----------------------------------------------------------------------------------------
def long_schedule(n, rounds, seed=0):
    rng = np.random.default_rng(seed)
    return [(sorted(rng.choice(n, rng.integers(1, n + 1), replace=False).tolist()), None) for _ in range(rounds)]


@pytest.mark.parametrize("domain", [ft.FLOAT, ft.RATIONAL])
@pytest.mark.parametrize("algorithm", [ft.FedAvg("1/20", 2), ft.Scaffold("1/20", 2), ft.Focus("1/20", 2)],
                         ids=lambda a: type(a).__name__)
def test_one_period_and_a_matrix_over_all_modes_agree(algorithm, domain):
    problem = three()[0]
    op = ft.derive(algorithm, problem, ft.Replay(long_schedule(3, 4)), noise="1/2", domain=domain)
    listed = op.moments.listed()
    assert op.moments.cycle == (0, 1, 2, 3) and listed.cycle is None
    pi, m = op.moments.stationary_mean()
    other = listed.stationary_mean()
    X, Y = op.moments.stationary_second(pi, m), listed.stationary_second(*other)
    if domain is ft.RATIONAL:
        assert (pi == other[0]).all() and (m == other[1]).all() and (X == Y).all()
    else:
        assert m == pytest.approx(other[1], abs=1e-14) and pytest.approx(Y, abs=1e-14) == X
        assert op.mean_square_rate() == pytest.approx(listed.mean_square_rate(), rel=1e-10)
        assert op.rate() == pytest.approx(np.abs(np.linalg.eigvals(listed.mean_matrix())).max(), rel=1e-10)


@pytest.mark.parametrize("steps", [1, 6])
def test_a_schedule_of_a_thousand_rounds(steps):
    """Sure rounds: the mean-square rate is the square of the mean rate, also where a period's product leaves floats."""
    problem = ft.Quadratic([[[2]], [[3]]], [[0], [1]])
    op = ft.derive(ft.Focus("1/10", steps), problem, ft.Replay(long_schedule(2, 1000)))
    assert op.mean_square_rate() == pytest.approx(op.rate() ** 2, rel=1e-9) and op.rate() < .99
    assert op.fixed_point().x == pytest.approx([.6]) and op.floor() < 1e-20
    last = list(op.trajectory(1001, [5]))[-1]
    assert last[0] == pytest.approx([.6])
    with pytest.raises(ft.TooLarge, match="schedule of 1000 rounds"):
        op.certify()


def test_work_of_a_trajectory_does_not_grow_with_the_schedule(monkeypatch):
    from fltheory.core.operators.random_map import Mixture
    problem = three()[0]
    counted = {}
    push = Mixture.push
    for rounds in (10, 400):
        calls = []
        monkeypatch.setattr(Mixture, "push", lambda self, *args, calls=calls: calls.append(1) or push(self, *args))
        op = ft.derive(ft.FedAvg("1/20", 2), problem, ft.Replay(long_schedule(3, rounds)))
        list(op.trajectory(20, [1, 1]))
        counted[rounds] = len(calls)
    assert counted[10] == counted[400] == 19  # none after the last round asked for
