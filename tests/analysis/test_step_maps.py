"""Maps of step sizes by rounds: equal to stepping the coded round and to operators, by either route."""
from dataclasses import replace

import numpy as np
import pytest

import fltheory as ft
from fltheory.analysis import step_maps
from fltheory.core.laws.draw import everyone
from fltheory.core.optima import float_optimum

RNG = np.random.default_rng(3)


def problem(n=6, d=4, scale=1.0, weights=None):
    A = RNG.standard_normal((n, d, d))
    H = scale * (A @ A.swapaxes(1, 2) / d + np.eye(d) / 10)
    return ft.Quadratic.from_linear((H + H.swapaxes(1, 2)) / 2, RNG.standard_normal((n, d)), weights)


def stepped(algorithm, prob, lr, rounds, steps, x0=None):
    """|x_t - x*|^2 of the coded round itself."""
    algorithm, floats, best = replace(algorithm, lr=lr).to(ft.FLOAT), prob.to(ft.FLOAT), float_optimum(prob)
    state = algorithm.init(floats, np.zeros(prob.d) if x0 is None else np.array(x0, dtype=float))
    out = [((algorithm.model(state) - best) ** 2).sum()]
    for _ in range(rounds):
        state = algorithm.round(floats, state, everyone(prob.n, steps))
        out.append(((algorithm.model(state) - best) ** 2).sum())
    return np.array(out)


UNEQUAL = np.array([1, 2, 3, 5, 8, 40])


@pytest.mark.parametrize("algorithm, steps", [
    (ft.FedAvg(1, 3), 3), (ft.FedAvg(1), UNEQUAL), (ft.FedNova(1), UNEQUAL), (ft.FedProx(1, 4, mu="1/2"), 4),
    (ft.FedAvg(1, 3, averaging="plain"), 3), (ft.FedAvg(1, 3, ft.Momentum("1/2")), 3),
    (ft.FedNova(1, solver=ft.Momentum("9/10")), UNEQUAL),
    (ft.FedSgd(1), 1), (ft.FedAvg(1, 300), 300),
])
@pytest.mark.parametrize("weights", [None, [0.5, 0.1, 0.1, 0.1, 0.1, 0.1]])
def test_eigenbases_are_the_coded_rounds(algorithm, steps, weights):
    prob = problem(weights=weights)
    grid = np.array([1e-6, 0.01, 0.1, 0.4])
    found = ft.step_map(algorithm, prob, ft.Full(steps=None if algorithm.steps else steps), grid, rounds=30, x0=[1, -1, 2, 0])
    assert found.route == "eigenbases" and found.distance.shape == (4, 31) and found.rounds == 30
    for lr, row in zip(grid, found.distance, strict=True):
        with np.errstate(all="ignore"):
            expected = stepped(algorithm, prob, lr, 30, steps, [1, -1, 2, 0])
        assert row == pytest.approx(np.where(np.isfinite(expected), expected, np.inf), rel=1e-8, abs=1e-20)
        law = ft.Full(steps=None if algorithm.steps else steps)
        assert found.rate[list(grid).index(lr)] == pytest.approx(ft.derive(replace(algorithm, lr=lr), prob, law).rate(), rel=1e-9)


@pytest.mark.parametrize("n, d", [(1, 1), (1, 5), (40, 2), (3, 7)])
def test_ends_of_sizes(n, d):
    prob = problem(n, d, scale=1e3)
    found = ft.step_map(ft.FedAvg(1, 2), prob, ft.Full(), [1e-4], rounds=5)
    assert found.route == "eigenbases" and found.distance[0] == pytest.approx(stepped(ft.FedAvg(1, 2), prob, 1e-4, 5, 2), rel=1e-9)


def test_singular_and_concave_clients_have_maps():
    H = np.stack([np.diag([1.0, 0.0]), np.diag([-0.2, 2.0])])
    prob = ft.Quadratic.from_linear(H, [[1.0, 1.0], [0.0, 1.0]])
    found = ft.step_map(ft.FedAvg(1, 3), prob, ft.Full(), [0.1, 0.5], rounds=8)
    assert found.route == "eigenbases" and found.distance[1] == pytest.approx(stepped(ft.FedAvg(1, 3), prob, 0.5, 8, 3), rel=1e-9)


@pytest.mark.parametrize("algorithm, law, noise", [
    (ft.Scaffold(1, 2), ft.Full(), None), (ft.FedAvg(1, 2), ft.Uniform(1), None), (ft.FedAvg(1, 2), ft.Full(), 1),
    (ft.Focus(1, 2), ft.Bernoulli(["1/2", "1/3", "1"]), "1/2"),
])
def test_operators_where_rounds_are_no_sum_or_not_all_alike(algorithm, law, noise):
    prob = problem(3, 2)
    found = ft.step_map(algorithm, prob, law, [0.01, 0.05], rounds=6, noise=noise)
    assert found.route == "operators"
    best = float_optimum(prob)
    for lr, row in zip(found.steps, found.distance, strict=True):
        op = ft.derive(replace(algorithm, lr=lr), prob, law, noise=noise)
        expected = [np.trace(X) - 2 * best @ m + best @ best for m, X in op.trajectory(7, np.zeros(2))]
        assert row == pytest.approx(expected, rel=1e-9)


def test_a_round_that_is_no_sum_of_its_clients_goes_by_operators(monkeypatch):
    """The guess is checked on the coded round of all clients: a server that weighs coordinates differently is no such sum."""
    honest = ft.FedAvg.server

    def uneven(self, x, cohort, draw, change, mass):
        out = honest(self, x, cohort, draw, change, mass)
        return out + (out - x) * np.arange(x.shape[-1])
    monkeypatch.setattr(ft.FedAvg, "server", uneven)
    prob = problem()
    found = ft.step_map(ft.FedAvg(1, 2), prob, ft.Full(), [0.05], rounds=4)
    assert found.route == "operators"
    assert found.distance[0] == pytest.approx(stepped(ft.FedAvg(1, 2), prob, 0.05, 4, 2), rel=1e-9)


def test_many_rounds_in_blocks_are_rounds_one_at_a_time():
    prob, rounds = problem(3, 2), 3000
    grid = [1e-5, 0.01, 0.3, 5]
    found = ft.step_map(ft.FedAvg(1, 2), prob, ft.Full(), grid, rounds=rounds, x0=[3, -1])
    best = float_optimum(prob)
    for lr, row in zip(grid, found.distance, strict=True):
        op = ft.derive(ft.FedAvg(lr, 2), prob, ft.Full())
        (M, c), x, expected = op.mean_map(), np.array([3.0, -1.0]), []
        with np.errstate(all="ignore"):
            for _ in range(rounds + 1):
                expected.append(((x - best)**2).sum())
                x = M @ x + c
        expected = np.where(np.isfinite(expected), expected, np.inf)
        assert row == pytest.approx(expected, rel=1e-8, abs=1e-20)
    long = ft.step_map(ft.FedAvg(1, 2), prob, ft.Full(), [1e-5, 0.01], rounds=10**6)
    assert long.distance.shape == (2, 10**6 + 1)
    there = ft.derive(ft.FedAvg(0.01, 2), prob, ft.Full()).fixed_point().x
    assert long.distance[1, 10**6] == pytest.approx(((there - best)**2).sum())
    slow = ft.derive(ft.FedAvg(1e-5, 2), prob, ft.Full()).after([0, 0], 10**6) - best
    assert long.distance[0, 10**6] == pytest.approx(slow @ slow, rel=1e-6)


def test_a_direction_that_grows_and_is_not_entered():
    prob = ft.Quadratic([np.diag([1.0, 100.0])] * 2, [[1.0, 0.0]] * 2)
    found = ft.step_map(ft.FedAvg(1, 1), prob, ft.Full(), [0.1], rounds=5000)
    assert found.rate[0] == pytest.approx(9) and found.distance[0, 5000] < 1e-30 and found.distance[0, 0] == 1


def test_what_would_take_minutes_is_refused_before_it_begins():
    wide = ft.Quadratic([np.eye(60)] * 2, np.ones((2, 60)))
    for call in (lambda: ft.step_map(ft.FedAvg(1, 1), wide, ft.Full(), [0.1] * 20, rounds=10**6),
                 lambda: ft.step_map(ft.FedAvg(1, 1), problem(2, 2), ft.Uniform(1), [0.1, 0.2], rounds=10**6),
                 lambda: ft.step_map(ft.Scaffold(1, 1), problem(2, 2), ft.Full(), [0.1] * 100, rounds=10**5)):
        with pytest.raises(ft.TooLarge, match=r"rounds .*seconds.*fewer rounds.*op.floor"):
            call()


@pytest.mark.parametrize("algorithm, noise", [(ft.Scaffold(1, 1), None), (ft.FedAvg(1, 50), 1)])
def test_too_many_clients_are_sent_to_what_has_them(algorithm, noise):
    many = ft.Quadratic(np.ones((5000, 1, 1)), np.zeros((5000, 1)))
    with pytest.raises(ft.TooLarge, match=r"^a step map lists second moments of every round: .*ft.run, or fewer clients|clients or "
                       r"coordinates, or ft.run") as refused:
        ft.step_map(algorithm, many, ft.Uniform(10), [0.1], rounds=3, noise=noise)
    assert str(refused.value).count("structured") == 1
    assert str(refused.value).endswith("Ask ft.derive(.., method='structured') for one step size at a time: it has fixed point "
                                       "and rate")


def test_a_map_is_written_on_one_line():
    found = ft.step_map(ft.FedAvg(1, 2), problem(2, 2), ft.Full(), np.geomspace(1e-3, 0.3, 500), rounds=20)
    lr, distance = found.best()
    for text in (str(found), repr(found)):
        assert len(text) < 200 and "\n" not in text
        assert "500 step sizes from 0.001 to 0.3, 20 rounds" in text and f"{lr:.6g}" in text and f"{distance:.6g}" in text


def test_divergence_is_infinite_not_nan():
    found = ft.step_map(ft.FedAvg(1, 5), problem(scale=10), ft.Full(), [0.01, 50], rounds=200)
    assert np.isinf(found.distance[1, -1]) and found.rate[1] > 1 and not np.isnan(found.distance).any()
    assert found.best()[0] == 0.01


def test_what_a_map_tells():
    found = ft.step_map(ft.FedAvg(1, 1), ft.Quadratic([[[1]]], [[1]]), ft.Full(), ["1/2", "1"], rounds=3)
    assert found.distance == pytest.approx(np.array([[1, 0.25, 0.0625, 0.015625], [1, 0, 0, 0]]), abs=1e-15)
    assert found.rate == pytest.approx([0.5, 0], abs=1e-15)
    assert found.best() == (1.0, pytest.approx(0, abs=1e-30)) and found.best(0) == (0.5, 1.0)
    assert found.rounds_to("1/10").tolist() == [2, 1] and found.rounds_to(1e-20).tolist() == [-1, 1]


@pytest.mark.parametrize("change, match", [
    ({"steps": []}, "step sizes > 0"), ({"steps": [0]}, "step sizes > 0"), ({"steps": [-1, 1]}, "step sizes > 0"),
    ({"steps": 1}, "step sizes"),
    ({"steps": [float("nan")]}, "nan"), ({"rounds": 0}, "rounds"), ({"rounds": 10**6, "steps": [0.1] * 100}, "table"),
    ({"x0": [1, 2, 3]}, "x0"), ({"algorithm": ft.Vanilla()}, "is no algorithm"), ({"steps": ["a"]}, "steps = 'a'"),
    ({"steps": [ft.Field("a").symbols[0]]}, "steps = a"), ({"steps": [None]}, "steps = None"), ({"rounds": 2.0}, "rounds = 2.0"),
    ({"rounds": float("nan")}, "rounds = nan"), ({"rounds": 10**9}, "rounds = 1000000000"), ({"steps": [float("inf")]}, "inf"),
])
def test_refusals(change, match):
    with pytest.raises(ft.BadInput, match=match):
        ft.step_map(**({"algorithm": ft.FedAvg(1, 2), "problem": problem(2, 2), "law": ft.Full(), "steps": [0.1]} | change))


def test_weights_are_fitted_on_some_states_and_checked_on_others():
    own = RNG.standard_normal((3, 3, 2))
    assert step_maps._weights(own, np.tensordot([0.2, 0.3, 0.5], own, 1), 2) == pytest.approx([0.2, 0.3, 0.5])
    wrong = np.tensordot([0.2, 0.3, 0.5], own, 1)
    wrong[2] += 1e-6
    assert step_maps._weights(own, wrong, 2) is None
