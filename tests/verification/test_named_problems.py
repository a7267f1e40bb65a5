from fractions import Fraction as Q
from itertools import pairwise

import numpy as np
import pytest

from fltheory.core.errors import BadInput
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import FLOAT, RATIONAL
from fltheory.core.optima import optimum
from fltheory.core.problems.quadratic import Quadratic
from fltheory.runs.streams import Stream
from tests.core.problems.helpers import rational_random
from verification import named_problems as instances


def problem_of(name):
    made = instances.ALL[name]()
    return made[0] if isinstance(made, tuple) else made


def overall(problem):
    return sum(w * H for w, H in zip(problem.weights, problem.H, strict=True))


@pytest.mark.parametrize("name", instances.ALL)
def test_every_instance_is_exact_and_has_a_certified_minimiser(name):
    problem = problem_of(name)
    assert problem.native is RATIONAL and problem.name and sum(problem.weights) == 1
    best = optimum(problem)
    assert best.certificate["exact"]
    assert (problem.to(RATIONAL).gradient(RATIONAL.array(best.x)) == 0).all()


def test_what_each_instance_is_for():
    ill = instances.ill_conditioned()
    H = overall(ill)
    assert H.tolist() == [[1, 0], [0, Q(1, 10**6)]]
    w = instances.skewed_weights().weights
    assert min(w) == Q(1, 10**4) and max(w) > Q(99, 100)
    assert optimum(instances.common_minimiser()).x.tolist() == [1, -2]
    same = instances.identical_clients()
    assert (same.H[0] == same.H).all() and (same.b == same.b[0]).all()
    assert not any(linalg.is_positive_definite(h) for h in instances.singular().H)
    assert linalg.is_positive_definite(overall(instances.singular()))
    H, b = instances.singular().H[1], instances.singular().b[1]
    assert linalg.rank(np.column_stack([H, b])) > linalg.rank(H)
    assert linalg.rank(overall(instances.flat())) == 1
    assert instances.indefinite().constants.mu < 0 and linalg.is_positive_definite(overall(instances.indefinite()))
    assert optimum(instances.two_clients()).x.tolist() == [0]
    table = instances.table1_focus()
    assert table.H[1].tolist() == [[2, Q(1, 2)], [Q(1, 2), 1]] and table.c[2].tolist() == [0, -3]


def test_instances_with_steps():
    problem, steps, lr = instances.scaffold_awkward()
    assert steps == (1, 7, 30, 3, 200) and lr == Q(1, 20) and problem.n == 5
    assert [h[0, 0] for h in problem.H] == [Q(1, 10**6), Q(1, 2), 1, 2, 5]
    assert list(problem.weights) == [Q(k, 10000) for k in (7000, 2000, 899, 100, 1)]
    assert [c[0] for c in problem.c] == [1, 0, -2, 3, Q(1, 2)]
    problem, steps, lr = instances.extreme_steps()
    assert steps == (1, 1000) and lr * problem.constants.L < 2


@pytest.mark.parametrize(("n", "d"), [(1, 1), (3, 2), (5, 4)])
def test_random_quadratics(n, d):
    p, q = rational_random(Stream(4), n, d), rational_random(Stream(4), n, d)
    assert p.H.shape == (n, d, d) and (p.H == q.H).all() and (p.c == q.c).all() and (p.weights == q.weights).all()
    assert not (p.H == rational_random(Stream(5), n, d).H).all()
    assert all(linalg.is_positive_definite(h) for h in p.H)
    assert max(v.denominator for v in p.H.reshape(-1)) <= 4 and max(v.denominator for v in p.c.reshape(-1)) <= 2
    assert set(rational_random(Stream(4), n, d, uniform=True).weights) == {Q(1, n)}
    assert isinstance(p, Quadratic) and p.native is RATIONAL


# ---- diabetes --------------------------------------------------------------------------------------------
def test_diabetes_is_scikit_learns_data():
    datasets = pytest.importorskip("sklearn.datasets")
    data = datasets.load_diabetes(scaled=False)
    names, rows = instances.read_table(instances.DIABETES)
    assert names == [*data.feature_names, "target"]
    assert np.array_equal(FLOAT.array(np.array(rows)), np.column_stack([data.data, data.target]))


def test_diabetes_clients_partition_the_patients():
    _, rows = instances.read_table(instances.DIABETES)
    problem = instances.diabetes()
    assert (problem.n, problem.d, sum(problem.sizes)) == (5, 11, 442)
    assert len(set(problem.sizes)) > 1 and min(problem.sizes) > 60
    assert list(problem.weights) == [Q(int(m), 442) for m in problem.sizes]
    ages = [[(v * 10 + Q("48.5")) for v in problem.rows[i, :m, 0]] for i, m in enumerate(problem.sizes)]
    assert sorted(a for band in ages for a in band) == sorted(row[0] for row in rows)
    assert all(max(a) < min(b) for a, b in pairwise(ages))
    assert all(problem.rows[i, j, -1] == 1 for i, m in enumerate(problem.sizes) for j in range(m))
    assert instances.diabetes(clients="sex").n == 2 and instances.diabetes(clients="bmi", bands=3).n == 3
    assert instances.diabetes(bands=1).n == 1


def test_diabetes_numbers_stay_short_and_standardised():
    problem = instances.diabetes()
    values = [v for i, m in enumerate(problem.sizes) for v in problem.rows[i, :m].reshape(-1)]
    assert max(v.denominator for v in values) <= 10**4
    X = FLOAT.array(np.concatenate([problem.rows[i, :m, :-1] for i, m in enumerate(problem.sizes)]))
    assert np.abs(X.mean(0)).max() < 0.006
    assert X.std(0).min() > 0.3 and X.std(0).max() < 3.2


def test_diabetes_pooled_is_one_ridge_problem():
    problem = instances.diabetes()
    X = FLOAT.array(np.concatenate([problem.rows[i, :m] for i, m in enumerate(problem.sizes)]))
    y = FLOAT.array(np.concatenate([problem.answers[i, :m] for i, m in enumerate(problem.sizes)]))
    pooled = np.linalg.solve(X.T @ X / 442 + np.eye(11) / 10, X.T @ y / 442)
    np.testing.assert_allclose(FLOAT.array(optimum(problem).x), pooled, rtol=1e-11)


def test_diabetes_in_floats():
    floats = instances.diabetes(exact=False)
    assert floats.native is FLOAT
    np.testing.assert_allclose(floats.H, FLOAT.array(instances.diabetes().H), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(optimum(floats).x, FLOAT.array(optimum(instances.diabetes()).x), rtol=1e-11)
    assert list(instances.diabetes(weights=None).weights) == [Q(1, 5)] * 5


@pytest.mark.parametrize(("content", "words"), [
    (None, "cannot be read"),
    (b"", "empty"),
    (b"# only a comment\n", "empty"),
    (b"age,target\n1,x\n", "line 2"),
    (b"age,target\n1,2\n1,2,3\n", "line 3"),
    (b"\xff\xfe\x00", "cannot be read"),
])
def test_unreadable_files_are_refused(tmp_path, content, words):
    path = tmp_path / "data.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput, match=words) as error:
        instances.diabetes(path=path)
    assert "data.csv" in str(error.value)


def test_bad_choices_are_refused():
    with pytest.raises(BadInput, match="is a feature: age, sex"):
        instances.diabetes(clients="height")
    with pytest.raises(BadInput, match="bands"):
        instances.diabetes(bands=0)
    with pytest.raises(BadInput, match="weights"):
        instances.diabetes(weights="equal")
