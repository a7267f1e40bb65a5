"""What residual methods and their problems cannot mean, refused in words at the public entry."""
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput

BLOCKS = {"A": [[[2]]] * 2, "B": [[[1]]] * 2, "C": [[[2]]] * 2, "bw": [[1], [0]], "btheta": [[1], [2]]}
RESIDUAL, PERSONAL = ft.Residual(**BLOCKS), ft.Personal(ft.Quadratic([[[1, 0], [0, 1]]] * 2, [[0, 1]] * 2), 1)
METHODS = [ft.FedResAvg(1, 1, personal_lr=1), ft.FedResSgd(1, 1, personal_lr=1), ft.FedResNaive(1, 1, personal_lr=1)]


def refused(words, make, *given, **options):
    with pytest.raises(BadInput) as error:
        make(*given, **options)
    assert words in str(error.value), str(error.value)


@pytest.mark.parametrize("change,words", [
    ({"B": [[[]]] * 2, "C": [[]] * 2, "btheta": [[]] * 2}, "each at least 1"),       # personal dimension 0, of all or of one
    ({"B": [[[1]], [[]]], "C": [[[1]], []], "btheta": [[1], []]}, "C[1].shape"),
    ({"B": [[[1, 2]]] * 2}, "B[0].shape"), ({"B": [[[1], [2]]] * 2}, "B[0].shape"), ({"B": [[[1]]] * 3}, "len(B)"),
    ({"C": [[[1, 2]]] * 2}, "C[0].shape"), ({"btheta": [[1, 2], [1]]}, "btheta[0].shape"), ({"bw": [[1]]}, "bw.shape"),
    ({"A": [[[1, 2], [3, 4]]] * 2}, "bw.shape"), ({"B": None}, "B = None"), ({"A": []}, "A.shape"),
    ({"C": [[[float("nan")]]] * 2}, "finite"), ({"weights": [1, 1]}, "sum to 1"),
])
def test_blocks(change, words):
    refused(words, ft.Residual, **BLOCKS | change)


@pytest.mark.parametrize("value,words", [(0, "must be positive"), (-1, "must be positive"), ("-1/2", "must be positive"),
                                         (float("nan"), "finite"), (float("inf"), "finite"), ("fast", "no rational")])
@pytest.mark.parametrize("kind", [ft.FedResAvg, ft.FedResSgd, ft.FedResNaive])
def test_step_sizes(kind, value, words):
    refused(words, kind, value, 1, personal_lr=1)
    refused(words, kind, 1, 1, personal_lr=value)
    refused("the personal phase needs a step size", kind, 1, 1)
    refused(words, ft.FedResAvg, 1, 1, personal_lr=1, alpha=value)
    for other in (ft.FedSgd, ft.LocalProx):
        refused(words, other, value, 1)


@pytest.mark.parametrize("make,options,words", [
    (ft.FedResAvg, {"option": 3}, "is 1 or 2"), (ft.FedResAvg, {"option": "2"}, "is 1 or 2"),
    (ft.FedResAvg, {"option": True}, "is 1 or 2"), (ft.FedResAvg, {"start": "cold"}, "zero, warm"),
    (ft.FedResAvg, {"over": None}, "all, present"),
    (ft.FedResNaive, {"order": "both"}, "seq, sim"), (ft.FedResSgd, {"steps": 0}, "integers >= 1"),
    (ft.FedResNaive, {"steps": [1, 0]}, "integers >= 1"), (ft.FedResSgd, {"steps": []}, "one int or one per client"),
])
def test_options(make, options, words):
    refused(words, make, **{"lr": 1, "steps": 1, "personal_lr": 1} | options)


@pytest.mark.parametrize("mu", [-1, "-1/9", float("nan"), None, "much"])
def test_the_weight_of_a_proximal_term(mu):
    with pytest.raises(BadInput, match="mu"):
        ft.LocalProx(1, 1, mu=mu)


@pytest.mark.parametrize("method", METHODS, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("ask", [lambda a, p: ft.derive(a, p, ft.Full()), lambda a, p: ft.compare([a], p, ft.Full(), measure=False),
                                 lambda a, p: ft.linearise(a, p, ft.Full()),
                                 lambda a, p: a.to(ft.FLOAT).init(p.to(ft.FLOAT), ft.FLOAT.array([0]))])
def test_methods_with_personal_parameters_need_such_a_problem(method, ask):
    for problem in (ft.Quadratic([[[1]]], [[0]]), ft.Logistic([[[1], [2]]], [[0, 1]], 1)):
        try:
            shown = str(ask(method, problem))
        except (BadInput, ft.NotAffine) as error:
            shown = str(error)
        assert "has no personal parameters" in shown or "not affine" in shown, shown


@pytest.mark.parametrize("method", [ft.FedSgd(1, 1), ft.LocalProx(1, 1), ft.FedAvg(1, 1)], ids=lambda a: type(a).__name__)
def test_other_methods_need_the_problem_in_w_alone(method):
    refused("problem.shared()", ft.derive, method, RESIDUAL, ft.Full())
    refused("problem.alone()", ft.derive, method, PERSONAL, ft.Full())
    assert ft.derive(method, RESIDUAL.shared(), ft.Full()) and ft.derive(method, PERSONAL.alone(), ft.Full())


@pytest.mark.parametrize("labels", [[0, 3], [0, -1], [0, 0.5]])
def test_labels_outside_the_classes(labels):
    refused("labels are 0..1", ft.Logistic, [[[1, 2], [2, 1]]], [labels], 0, classes=2)


@pytest.mark.parametrize("make", [
    lambda: ft.HuberLoss([[[1, 2]], []], [[1], []]), lambda: ft.Logistic([[[1, 2]], []], [[0], []], 0),
    lambda: ft.Ridge([[[1, 2]], []], [[0], []], 0)])
def test_a_client_without_rows(make):
    refused("at least one row", make)


@pytest.mark.parametrize("problem", [RESIDUAL, PERSONAL], ids=["blocks", "split"])
def test_points_of_other_sizes(problem):
    at = problem.to(ft.RATIONAL).joint_value(ft.RATIONAL.array([1]), ft.RATIONAL.array([[1], [0]]))
    assert problem.joint_value([1], [[1], [0]]) == ft.fraction(at)
    refused("theta.shape", problem.joint_value, [1], [[1, 2], [1, 2]])
    refused("w.shape", problem.joint_value, [1, 2], [[1], [1]])
    refused("has 3 coordinates", problem.split, [1])
    assert [list(map(float, v.reshape(-1))) for v in problem.split([1, 2, 3])] == [[1], [2, 3]]
    refused("come in pairs", problem.grad, [[1], [1]])
    refused("come in pairs", problem.value, [1])
    with pytest.raises(NotImplementedError, match=r"problem.joint\(\)"):
        ft.optimum(problem)


@pytest.mark.parametrize("method", METHODS, ids=lambda a: type(a).__name__)
def test_what_is_defined_without_personal_parameters_alone(method):
    refused("methods whose state is the model", ft.surrogate_weights, method, ft.Full(), 2)
    refused("covered without them", ft.exchangeable, method, RESIDUAL, ft.Full())


@pytest.mark.parametrize("gamma", [0, -1, "-1/2"])
def test_a_class_of_functions_of_both_parts_names_its_own_constant(gamma):
    refused("gamma", ft.SmoothBlocks, gamma)
    assert str(ft.SmoothBlocks("1/2", False)) == "SmoothBlocks(gamma=1/2, convex=False)"
