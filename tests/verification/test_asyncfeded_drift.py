"""Local steps of one arrival over every outcome of their noise, against plain loops; Griewank functions; proofs that fail."""
import itertools
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from verification.asyncfeded import drift_at_cap as cap
from verification.asyncfeded import noise_paths as paths
from verification.asyncfeded.claims.drift_constants import numbers_listed
from verification.asyncfeded.formulas import drift as f
from verification.asyncfeded.griewank import Griewank
from verification.asyncfeded.instances import at_cap
from verification.asyncfeded.local_families import clients, concave

BENT = clients([[-1, 1, -1], [-1, Q(1, 2), -1]], [[0, 1], [-1, 2]], [1, -2])


def slope(y):
    """f_1' of BENT by its pieces: -y, then y, then -y + 2, and 1 more."""
    return 1 + (-y if y <= 0 else y if y <= 1 else 2 - y)


def loop(eta, base, laws):
    """[(chance, [y_0, .., y_K])] by plain recursion; laws(y): [(chance, value)]."""
    runs = [(Q(1), [base])]
    for e in eta:
        runs = [(p * q, [*y, y[-1] - e * (slope(y[-1]) + v)]) for p, y in runs for q, v in laws(y[-1])]
    return runs


@pytest.mark.parametrize(("law", "laws"), [
    (paths.skewed(1), lambda y: [(Q(1, 2), Q(1)), (Q(1, 2), Q(-1))]),
    (paths.skewed(2, 3), lambda y: [(Q(1, 10), Q(6)), (Q(9, 10), Q(-2, 3))]),
    (paths.ByState(paths.skewed(1), paths.skewed(1, 2)),
     lambda y: [(Q(1, 2), Q(1)), (Q(1, 2), Q(-1))] if y <= 0 else [(Q(1, 5), Q(2)), (Q(4, 5), Q(-1, 2))])])
def test_paths_are_those_of_a_plain_loop(law, laws):
    eta = at_cap(4, digits=3)
    run = paths.path(paths.local("bent", BENT, eta, Q(1, 4), law, sigma=2))
    found = {(p, tuple(v[row, 0] for v in run.y)) for row, p in enumerate(run.chance)}
    assert found == {(p, tuple(y)) for p, y in loop(eta, Q(1, 4), laws)}
    assert sum(run.chance) == 1 and (run.delta[:, 0] == run.y[-1][:, 0] - Q(1, 4)).all()


def test_one_batch_is_the_same_noise_in_every_step():
    run = paths.path(paths.local("one", BENT, at_cap(3), 0, paths.OneBatch(paths.skewed(1)), L=1))
    assert len(run.chance) == 2 and all((n == run.noise[0]).all() for n in run.noise)
    assert [h.check(paths.local("one", BENT, at_cap(3), 0, paths.OneBatch(paths.skewed(1)))).holds for h in paths.NEEDS] == [
        True, False, True, True, True]


def test_only_some_steps_are_loud():
    run = paths.path(paths.local("some", BENT, at_cap(20, digits=4), 0, paths.skewed(1), loud=[0, 19]))
    assert len(run.chance) == 4 and not any(n.any() for n in run.noise[1:19])


@pytest.mark.parametrize(("make", "word"), [
    (lambda: paths.path(paths.local("many", BENT, at_cap(13), 0, paths.skewed(1))), "outcomes"),
    (lambda: paths.local("irrational", BENT, at_cap(1), 0, paths.Points(((Q(1, 2), Q(1)), (Q(1, 2), Q(0))))), "variance"),
    (lambda: Griewank([[1], [1]]), "sum 0")])
def test_bad_input_is_refused(make, word):
    with pytest.raises(ft.BadInput, match=word):
        make()


@pytest.mark.parametrize("problem", [BENT, clients([[0, 1, 0], [0, -1, 0], [0, 2, 0]], [[-1, 1], [0, 3], [-2, 2]], [1, 0, 5])])
def test_heterogeneity_is_the_largest_on_a_grid(problem):
    grid = [Q(k, 4) for k in range(-40, 41)]
    largest = max(paths.square(g - mean) for x in grid for own, mean in [paths.gradients(problem, [x])] for g in own)
    assert paths.heterogeneity(problem) == largest
    assert paths.heterogeneity(clients([[1, 1], [1, 2]], [[0], [0]], [0, 0])) is None


def test_moments_of_quadratics_by_enumeration():
    i = paths.local("plane", ft.Quadratic([[[1, "1/2"], ["1/2", 0]]] * 2, [[0, 1], [2, 0]]), at_cap(4), [1, 2],
                    paths.skewed(1, 2, ("3/5", "4/5")), L=2)
    H, b = [[Q(1), Q(1, 2)], [Q(1, 2), Q(0)]], [Q(1, 2), Q(0)]
    C = [[Q(9, 25), Q(12, 25)], [Q(12, 25), Q(16, 25)]]
    assert f.moments(H, b, i.base, i.eta, C) == paths.path(i).drift


@pytest.mark.parametrize("x", [(0.3, -1.2), (20.0, 7.5)])
def test_griewank_gradient_is_the_slope_of_its_value(x):
    problem, h = Griewank([[1, 2], [-1, -2]]).to(ft.FLOAT), 1e-6
    for i, axis in itertools.product(range(2), range(2)):
        step = h * np.eye(2)[axis]
        slope = (problem._values(np.array(x) + step)[i] - problem._values(np.array(x) - step)[i]) / (2 * h)
        assert slope == pytest.approx(problem.grad(np.array([x, x]))[i, axis], abs=1e-7)


def test_griewank_is_the_same_in_torch_and_balls():
    torch = pytest.importorskip("torch")
    problem = Griewank([[1, "1/3"], [-1, "-1/3"]])
    there = problem.to(ft.FLOAT).grad(np.array([[0.5, 2.0]] * 2))
    tensor = problem.to(ft.Torch()).grad(torch.tensor([[0.5, 2.0]] * 2, dtype=torch.float64))
    balls = problem.to(ft.Balls(128)).grad(ft.Balls(128).array(np.array([[Q(1, 2), Q(2)]] * 2, dtype=object)))
    assert np.allclose(tensor.numpy(), there) and np.allclose([[float(v) for v in row] for row in balls], there)


def test_steps_at_the_cap_in_balls_are_those_of_the_closed_form():
    y = cap.models(paths.local("concave", concave([1], 4), at_cap(6, 4)))
    expected = 1.0
    for k in range(1, 7):
        expected *= 1 + (6 * k * (2 * k + 1)) ** -0.5
        assert abs(float(y[k][0])) == pytest.approx(expected - 1)


def test_listed_numbers_are_close_to_each_other():
    """The weights are the best ones: both numbers of a pair agree, so that no other weights give less."""
    for k in (2, 3, 12, 30):
        first, second = numbers_listed(k)
        assert abs(first - second) < Q(1, 10**4)
