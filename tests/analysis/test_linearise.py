"""Local rates of smooth problems: against quadratics, against long runs, and where they are refused."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.core.numbers.arrays import to_numpy
from fltheory.core.numbers.scalars import Torch
from tests.core.operators.brute import P3, three


def logistic():
    rng = np.random.default_rng(3)
    A = [rng.standard_normal((m, 2)) + k for k, m in enumerate((12, 7, 9))]
    labels = [rng.integers(0, 2, len(a)) for a in A]
    return ft.Logistic(A, labels, 0.1, weights=[0.5, 0.3, 0.2])


def iterate(algorithm, problem, rounds, steps):
    """States after rounds 0, 1, ... of full participation, flattened; the loop of a user."""
    from fltheory.core.laws.draw import everyone, to_device
    domain = Torch()
    alg, prob = algorithm.to(domain), problem.to(domain)
    draw = to_device(everyone(problem.n, steps), "cpu")
    state, path = alg.init(prob, domain.array(np.zeros(problem.d))), []
    for _ in range(rounds + 1):
        path.append(np.concatenate([to_numpy(leaf).reshape(-1) for leaf in state]))
        state = alg.round(prob, state, draw)
    return np.array(path)


@pytest.mark.parametrize("algorithm", [ft.FedAvg("1/5", (1, 4, 2)), ft.FedNova("1/5", (1, 4, 2)), ft.Scaffold("1/5", 3),
                                       ft.Focus("1/10", 2), ft.FedProx("1/5", 3, mu="1/2")],
                         ids=["FedAvg", "FedNova", "Scaffold", "Focus", "FedProx"])
def test_the_tail_of_a_long_run_contracts_at_the_local_rate(algorithm):
    problem = logistic()
    found = ft.linearise(algorithm, problem, ft.Full())
    path = iterate(algorithm, problem, 2000, algorithm.steps)
    assert path[-1] == pytest.approx(found.state, abs=1e-9) and path[-1][:2] == pytest.approx(found.x, abs=1e-9)
    gaps = np.linalg.norm(path - found.state, axis=1)
    inside = np.nonzero((gaps < 1e-4 * gaps.max()) & (gaps > 1e-10))[0]
    a, b = inside[0], inside[-1]
    assert (gaps[b] / gaps[a]) ** (1 / (b - a)) == pytest.approx(found.rate, rel=0.02)
    assert found.residual <= 1e-12 and found.rate < 1


def test_scaffold_finds_the_minimiser_and_fedavg_does_not():
    problem = logistic()
    best = ft.optimum(problem).x
    assert ft.linearise(ft.Scaffold("1/5", 3), problem, ft.Full()).x == pytest.approx(best, abs=1e-9)
    assert np.abs(ft.linearise(ft.FedAvg("1/5", (1, 9, 2)), problem, ft.Full()).x - best).max() > 1e-2


@pytest.mark.parametrize("algorithm", [ft.FedAvg("1/10", (1, 4, 2)), ft.FedNova("1/10", (1, 4, 2), ft.Momentum("1/2"))],
                         ids=["FedAvg", "FedNova"])
def test_quadratics_agree_with_their_operator(algorithm):
    problem, _ = three()
    op, found = ft.derive(algorithm, problem, ft.Full()), ft.linearise(algorithm, problem, ft.Full())
    assert found.x == pytest.approx(op.fixed_point().x, abs=1e-10) and found.rate == pytest.approx(op.rate(), rel=1e-10)
    assert found.jacobian == pytest.approx(op.mean_map()[0], abs=1e-12)


@pytest.mark.parametrize("algorithm", [ft.Scaffold("1/10", 2), ft.Focus("1/10", 2)], ids=["Scaffold", "Focus"])
def test_quadratics_with_invariants_stay_on_them(algorithm):
    problem, _ = three(P3)
    op, found = ft.derive(algorithm, problem, ft.Full()), ft.linearise(algorithm, problem, ft.Full(), x0=[3, -2])
    assert found.x == pytest.approx(op.fixed_point().x, abs=1e-9)
    W, origin = op.reach.W.astype(float), op.origin
    assert np.abs(W @ (found.state - origin)).max() <= 1e-9
    assert found.rate == pytest.approx(op.rate(), rel=1e-8)  # the full Jacobian has eigenvalues 1
    assert np.abs(np.linalg.eigvals(found.jacobian)).max() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("law", [ft.Cyclic([(0,)]), ft.Cyclic([(0, 2)]), ft.Replay([((1,), (1, 2, 1))]), ft.Uniform(3)],
                         ids=["one client", "two clients", "own steps", "all of three"])
def test_the_only_cohort_of_a_law_is_the_one_that_is_used(law):
    problem, _ = three()
    algorithm = ft.FedAvg("1/10", None if getattr(law, "per_mode_steps", None) else 2)
    op, found = ft.derive(algorithm, problem, law), ft.linearise(algorithm, problem, law)
    assert found.x == pytest.approx(op.fixed_point().x, abs=1e-10) and found.rate == pytest.approx(op.rate(), rel=1e-10)


RANDOM = [ft.Uniform(1), ft.Bernoulli("1/2"), ft.Cyclic([(0,), (1,)]), ft.Markov("1/2", "1/4", 3),
          ft.WithReplacement(2), ft.Full(noise=1), ft.Full(steps=ft.RandomSteps([("1/2", 1), ("1/2", 2)]))]


@pytest.mark.parametrize("law", RANDOM, ids=["uniform", "bernoulli", "cyclic", "markov", "repeats", "noise", "steps"])
def test_random_laws_have_no_single_map(law):
    algorithm = ft.FedAvg("1/10", None if law.steps else 2)
    with pytest.raises(ft.BadInput, match="one round map"):
        ft.linearise(algorithm, three()[0], law)


def test_minibatches_have_no_single_map():
    with pytest.raises(ft.BadInput, match="one round map"):
        ft.linearise(ft.FedAvg("1/10", 2), ft.Ridge([[[1]], [[2]]], [[1], [2]], 1), ft.Full(batch=1))


def test_rounds_without_a_fixed_point_get_no_certificate():
    drift = ft.Quadratic.from_linear([[[0]], [[0]]], [[1], [1]])
    with pytest.raises(ft.CertificateFailed, match="Newton"):
        ft.linearise(ft.FedAvg("1/10", 2), drift, ft.Full())
    with pytest.raises(ft.CertificateFailed, match="after 1 steps"):
        ft.linearise(ft.FedAvg("1/5", 2), logistic(), ft.Full(), x0=[40, 40], limit=1)


def test_bad_starts_are_refused():
    for x0 in ([1, 2, 3], 1, [np.nan, 0]):
        with pytest.raises(ft.BadInput):
            ft.linearise(ft.FedAvg("1/5", 2), logistic(), ft.Full(), x0=x0)
