"""Similarity graphs: messages, misalignment, edge weights, and what they refuse."""
from fractions import Fraction as Q

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fltheory as ft
from fltheory.core.errors import BadInput


def circle(*angles):
    return np.array([[np.cos(a), np.sin(a)] for a in angles])


I4 = circle(0.1, 0.5, 1.9, 2.8)


def test_the_weights_of_four_clients_on_a_circle():
    graph = ft.SimilarityGraph.of(I4)
    assert graph.weights == pytest.approx([0.29012845, 0.33048937, 0.23341054, 0.14597164], abs=5e-9)
    assert np.abs(graph.weights @ graph.neighbours - graph.weights).max() < 1e-15
    assert graph.neighbours.sum(1) == pytest.approx(1, abs=1e-15) and graph.edges.sum() == pytest.approx(1, abs=1e-15)
    assert (graph.edges == graph.edges.T).all() and (np.diag(graph.edges) == 0).all()


@given(st.lists(st.floats(0, 6.28), min_size=3, max_size=8, unique=True), st.floats(0.01, 3))
def test_turning_all_messages_changes_nothing(angles, turn):
    graphs = [ft.SimilarityGraph.of(circle(*(a + t for a in angles)), clip=1e-6) for t in (0, turn)]
    assert graphs[0].adjacency == pytest.approx(graphs[1].adjacency, abs=1e-6)


def test_misalignment_is_exact_for_rationals():
    mis = ft.misalignment([["3/5", "4/5"], [1, 0], [-1, 0]])
    assert mis.tolist() == [[0, Q(1, 5), Q(4, 5)], [Q(1, 5), 0, 1], [Q(4, 5), 1, 0]]
    flipped = ft.misalignment([["3/5", "4/5"], [-1, 0], [1, 0]])
    assert flipped[0].tolist() == [0, 1 - mis[0, 1], 1 - mis[0, 2]]


def test_the_laplacian_and_its_parts():
    graph = ft.SimilarityGraph([[0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, "1/2"], [0, 0, "1/2", 0]])
    assert graph.parts() == [[0, 1], [2, 3]] and graph.n == 4
    assert (graph.laplacian @ np.ones(4, dtype=int) == 0).all()
    assert graph.spectrum() == pytest.approx([0, 0, 1, 4], abs=1e-12)
    assert graph.weights.tolist() == [Q(2, 5), Q(2, 5), Q(1, 10), Q(1, 10)]


def test_the_rank_one_graph_is_the_global_mean():
    p = [Q(1, 6), Q(1, 3), Q(1, 2)]
    graph = ft.SimilarityGraph.mean(p)
    assert graph.weights.tolist() == p and graph.neighbours.tolist() == [p] * 3


def test_a_threshold_keeps_both_sides_and_every_client():
    graph = ft.SimilarityGraph([[0, 3, 1], [3, 0, 2], [1, 2, 0]])
    assert graph.above(2).adjacency.tolist() == [[0, 3, 0], [3, 0, 2], [0, 2, 0]]
    with pytest.raises(BadInput, match=r"isolated, here \[2\]"):
        graph.above(3)
    with pytest.raises(BadInput, match="threshold = -1"):
        graph.above(-1)


def test_of_exact_rows_a_mean_however_small_has_a_direction():
    rows = [[[1, "1e-15"], [-1, "1e-15"]], [["1e-400", 1], ["1e-400", -1]], [["1/3", "2e-30"], ["-1/3", "1e-30"]]]
    assert ft.messages(rows, kind="mean") == pytest.approx(np.array([[0, 1], [1, 0], [0, 1]]))
    with pytest.raises(BadInput, match="mean has norm 0"):
        ft.messages([[["1/3", 1], ["-1/3", -1]]], kind="mean")
    with pytest.raises(BadInput, match=r"within rounding of 0.*exact numbers"):
        ft.messages([[[0.1], [0.1], [0.1], [-0.3]]], kind="mean")
    assert ft.messages([[[1.0], [1.0], [-2.0], [1e-10]]], kind="mean").tolist() == [[1.0]]


def test_messages_are_first_right_singular_vectors_and_mean_directions():
    rng = np.random.default_rng(0)
    data = [rng.normal(size=(m, 3)) + 1 for m in (5, 2, 1)]
    for rows, message in zip(data, ft.messages(data), strict=True):
        assert message @ message == pytest.approx(1) and message.sum() > 0
        largest = np.linalg.eigvalsh(rows.T @ rows)[-1]
        assert rows.T @ rows @ message == pytest.approx(largest * message)
    for rows, message in zip(data, ft.messages(data, kind="mean"), strict=True):
        assert message == pytest.approx(rows.mean(0) / np.linalg.norm(rows.mean(0)))
    computed = ft.messages(data, sign="as-computed")
    assert np.abs(computed) == pytest.approx(np.abs(ft.messages(data)))
    assert ft.messages([[[1, -1]], [[-2, 2]]])[:, 0] == pytest.approx(np.sqrt([0.5, 0.5]))  # sum 0: first entry positive


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_messages_do_not_depend_on_the_scale(scale):
    data = [[[1.0, 2.0], [2.0, 1.5]], [[1.0, 0.0], [3.0, 1.0]]]
    for kind in ("principal", "mean"):
        assert ft.messages([np.array(d) * scale for d in data], kind) == pytest.approx(ft.messages(data, kind))


@pytest.mark.parametrize(("make", "words"), [
    (lambda: ft.messages([[[0, 0]], [[1, 2]]]), "norm 0"),
    (lambda: ft.messages([[[1, 1], [-1, -1]], [[1, 2]]], kind="mean"), "mean has norm 0"),
    (lambda: ft.messages([[[1, 0], [0, 1]], [[1, 2]]]), "singular value is simple"),
    (lambda: ft.messages([[[1, 0]]], kind="median"), "principal, mean"),
    (lambda: ft.messages([[[1, 0]]], sign="up"), "positive-sum, as-computed"),
    (lambda: ft.messages([[[1, float("nan")]]]), "finite"),
    (lambda: ft.misalignment([[1, 1], [1, 0]]), "norm 1"),
    (lambda: ft.misalignment([[0, 0], [1, 0]]), "norm 0 has no direction"),
    (lambda: ft.SimilarityGraph.of([[1, 0], [1, 0]]), "identical messages have an infinite edge weight"),
    (lambda: ft.SimilarityGraph.of([[1, 0], [-1, 0]]), "all messages antipodal"),
    (lambda: ft.SimilarityGraph.of([[1, 0], [-1, 0]], clip="1/2"), r"clip = '?1/2.*\(0, 1/2\)"),
    (lambda: ft.SimilarityGraph.of([[1, 0]]), "two clients at least"),
    (lambda: ft.SimilarityGraph([[0]]), "two clients at least"),
    (lambda: ft.SimilarityGraph([[0, 1], [2, 0]]), "symmetric"),
    (lambda: ft.SimilarityGraph([[0, -1], [-1, 0]]), "not negative"),
    (lambda: ft.SimilarityGraph([[0, 0], [0, 0]]), "do not all vanish"),
    (lambda: ft.SimilarityGraph([[0, 1, 0], [1, 0, 0], [0, 0, 0]]), r"isolated, here \[2\]"),
    (lambda: ft.SimilarityGraph([[0, 1, 2], [1, 0, 0]]), "needs shape"),
])
def test_refused(make, words):
    with pytest.raises(BadInput, match=words):
        make()


def test_identical_messages_count_where_they_are_clipped():
    graph = ft.SimilarityGraph.of([[1, 0], [1, 0], [-1, 0]], clip="1e-9")
    assert graph.neighbours[0, 1] == pytest.approx(1, abs=1e-9) and graph.neighbours[2, 0] == pytest.approx(0.5)
    assert graph.weights.sum() == pytest.approx(1)


def test_a_graph_is_a_value_that_cannot_be_written():
    graph = ft.SimilarityGraph([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="read-only"):
        graph.adjacency[0, 1] = 2.0


def test_identical_float_messages_are_refused_whatever_their_rounding():
    rng = np.random.default_rng(0)
    for _ in range(200):
        v, w = rng.normal(size=(2, 3))
        v, w = v / np.linalg.norm(v), w / np.linalg.norm(w)
        assert ft.misalignment([v, v, w])[0, 1] == 0
        with pytest.raises(BadInput, match="identical"):
            ft.SimilarityGraph.of([v, v, w])


def test_close_messages_keep_their_digits():
    t = 1e-7
    assert ft.misalignment([[1.0, 0.0], [np.cos(t), np.sin(t)]])[0, 1] == pytest.approx(t * t / 4, rel=1e-6)


def test_single_precision_is_taken():
    graph = ft.SimilarityGraph.of(np.array([[0.6, 0.8], [1, 0], [0, 1]], dtype=np.float32))
    assert graph.weights.sum() == pytest.approx(1)


def test_the_ends_of_the_range_of_numbers():
    with pytest.raises(BadInput, match="range of floats"):
        ft.SimilarityGraph([[0, 1e308], [1e308, 0]])
    with pytest.raises(BadInput, match="range"):
        ft.SimilarityGraph([[0, 10**400], [10**400, 0]]).spectrum()
    assert ft.messages([[[5e-324, 0.0]], [[1.0, 1.0]]], kind="mean")[0].tolist() == [1, 0]
    assert ft.SimilarityGraph.mean([1e-200, 2e-200]).weights == pytest.approx([1 / 3, 2 / 3])


def test_an_ulp_between_two_halves_of_an_edge_is_rounding():
    graph = [[0, 0.1 + 0.2, 0.2], [0.3, 0, 0], [0.2, 0, 0]]
    assert ft.SimilarityGraph(graph).n == 3
    assert ft.NeighbourAveraging(0.1, 1, beta=0.5, graph=graph).graph[0][1] == pytest.approx(0.3)


def test_nearly_antipodal_messages_keep_their_digits():
    graph = ft.SimilarityGraph.of([[1.0, 0], [-1, 0], [-1, 0]], clip="1e-9")
    assert graph.adjacency[0, 1] == pytest.approx(1.0000000005e-9, rel=1e-12)
    angle = 0.3
    near = [[np.cos(a), np.sin(a)] for a in (angle, angle + np.pi - 1e-6)]
    assert ft.SimilarityGraph.of(near).adjacency[0, 1] == pytest.approx(2.5e-13, rel=1e-6)


def test_a_weight_that_vanishes_in_floats_is_an_isolated_client():
    with pytest.raises(BadInput, match="isolated"):
        ft.SimilarityGraph([[0, 1e-320, 0], [1e-320, 0, 1e10], [0, 1e10, 0]])


def test_a_float_graph_on_exact_equal_weights():
    graph = ft.SimilarityGraph([[0, 1.0, 1], [1, 0, 1], [1, 1, 0]])
    problem = ft.Quadratic([[[1.0]], [[2.0]], [[3.0]]], [[0.0], [1.0], [2.0]])
    op = ft.derive(ft.NeighbourAveraging(0.1, 2, beta=0.5, graph=graph.edges), problem, ft.Full())
    exact = ft.SimilarityGraph([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    right = ft.derive(ft.NeighbourAveraging("1/10", 2, beta="1/2", graph=exact.edges), problem, ft.Full()).exact()
    assert op.fixed_point().x[0] == pytest.approx(float(right.fixed_point().x[0]), rel=1e-12)
    assert op.exact().fixed_point().x[0] != 0
    wrong = ft.SimilarityGraph([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    with pytest.raises(BadInput, match="row sums"):
        ft.derive(ft.NeighbourAveraging("1/10", 2, beta="1/2", graph=wrong.edges), problem, ft.Full())
