"""The perturbed step on a similarity graph as a black box: the right round matches, every wrong one is reported and named."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.blackbox.engine import identify
from fltheory.core.errors import BadInput
from fltheory.mutants import local
from fltheory.mutants.neighbour_averages import NEIGHBOURS
from tests.blackbox.adapters import hidden, joint

GRAPH = [["0", "1/4", "1/8"], ["1/4", "0", "1/12"], ["1/8", "1/12", "1/12"]]
P = [str(sum(Q(v) for v in row)) for row in GRAPH]
RIGHT = ft.NeighbourAveraging("1/20", (3, 2, 4), beta="2/5", graph=GRAPH)
PARTIAL = ft.NeighbourAveraging("1/20", 2, beta="2/5", graph=GRAPH, average="renormalised")


def box(algorithm, form):
    if form == "hidden":
        run, reset = hidden(algorithm)
        return run, {"reset": reset}
    run, state = joint(algorithm, 3, 2, weights=P)
    return run, {"state": state}


def found(code, reference, form="hidden", **more):
    run, given = box(code, form)
    return identify(run, 3, 2, reference, weights=P, **given, **more)


forms = pytest.mark.parametrize("form", ["hidden", "joint"])


@forms
@pytest.mark.parametrize("algorithm", [RIGHT, PARTIAL], ids=["full", "partial"])
def test_the_right_round_matches(algorithm, form):
    result = found(algorithm, algorithm, form, law=ft.Uniform(2) if algorithm is PARTIAL else None)
    assert result.matches and result.deviation < 1e-12, str(result)


@forms
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_a_wrong_round_is_named(name, form):
    right = PARTIAL if name == "absent_models_forgotten" else RIGHT
    result = found(NEIGHBOURS[name](right), right, form, law=ft.Uniform(2) if right is PARTIAL else None)
    assert result.verdict == "differs", str(result)
    words = " ".join(NEIGHBOURS[name].__doc__.split()).removesuffix(".")[1:]
    assert any(words in fault.sentence for fault in result.faults), str(result)


@pytest.mark.parametrize("beta", ["3/5", "9/10"])
def test_a_wrong_beta_is_fitted(beta):
    result = found(ft.NeighbourAveraging("1/20", (3, 2, 4), beta=beta, graph=GRAPH), RIGHT)
    said = [fault.sentence for fault in result.faults]
    fitted = any("beta is" in s and "0.4 is stated" in s for s in said)
    assert result.verdict == "differs" and (fitted or "swapped" in said[0]), said


def test_steps_and_sums_are_named():
    result = found(local.one_step_more(RIGHT), RIGHT)
    assert "one local step too many" in str(result)
    printed = ft.NeighbourAveraging("1/20", 2, beta="2/5", graph=GRAPH, average="printed")
    result = found(printed, PARTIAL, law=ft.Uniform(2))
    assert result.verdict == "differs" and "not divided by their weight" in str(result), str(result)


def test_another_graph_differs():
    other = ft.SimilarityGraph.mean(P).edges
    result = found(ft.NeighbourAveraging("1/20", (3, 2, 4), beta="2/5", graph=other), RIGHT)
    assert result.verdict == "differs" and "the graph is not used" in str(result), str(result)


def test_a_graph_whose_row_sums_are_not_the_weights_is_refused():
    run, reset = hidden(RIGHT)
    with pytest.raises(BadInput, match="row sums must be the weights"):
        identify(run, 3, 2, RIGHT, weights=["1/3", "1/3", "1/3"], reset=reset)


def test_an_engineers_loop():
    graph, p, last = np.array([[float(Q(v)) for v in row] for row in GRAPH]), [float(Q(v)) for v in P], {}

    def loop(x, clients, beta=0.4):
        u = graph @ last.get("w", np.tile(x, (3, 1))) / np.array(p)[:, None]
        models = []
        for i, client in enumerate(clients):
            w = x.copy()
            for _ in range(3):
                w = w - 0.05 * client.grad(beta * w + (1 - beta) * u[i])
            models.append(w)
        last["w"] = np.array(models)
        return np.array(p) @ last["w"]

    result = identify(loop, 3, 2, ft.NeighbourAveraging("1/20", 3, beta="2/5", graph=GRAPH), weights=P, reset=last.clear)
    assert result.matches, str(result)
