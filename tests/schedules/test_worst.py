"""Both sides together: closed forms, the sandwich on random instances, the two published brackets, and refusals."""

from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput, CertificateFailed, MissingLibrary, TooLarge
from fltheory.schedules import worst
from fltheory.schedules.lyapunov_nodes import holds
from fltheory.schedules.rounds import round_maps

LINE = ft.Quadratic([[[1]], [[2]], [[4]]], [[1], [-1], [0]])
ONE = ft.Quadratic([[[1]]], [[2]])
FOCUS, SCAFFOLD = ft.Focus("1/20", 2), ft.Scaffold("1/10", 3)


def lower(algorithm, problem, windows, **options):
    return ft.worst_schedule(algorithm, problem, windows, certify=False, **options)


# ---- closed forms -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("windows", [ft.Sliding(1), ft.Sliding(4), ft.Blocks(3), ft.Blocks(2, "skip")], ids=str)
def test_one_client_comes_as_rarely_as_it_may(windows):
    """h = 1, lr = 1/4, one local step: rate (3/4)^(1/D), and FedAvg with one client has the minimiser as fixed point."""
    pytest.importorskip("cvxpy")
    found = ft.worst_schedule(ft.FedAvg("1/4", 1), ONE, windows)
    assert found.lower**windows.length <= Q(3, 4) <= found.upper**windows.length
    assert found.upper < found.lower * (1 + Q(1, 5000))
    assert (found.verdict, found.exact, list(found.fixed_point)) == ("STABLE", True, [2])


def test_a_client_that_may_not_stay_away_makes_one_product():
    for algorithm in (FOCUS, SCAFFOLD):
        found = lower(algorithm, LINE, ft.Sliding(1))
        assert float(found.lower) == pytest.approx(ft.derive(algorithm, LINE, ft.Full()).rate(), rel=1e-9)
        assert (found.nodes, found.edges, found.walk.sets) == (1, 1, ((0, 1, 2),))


def test_nothing_moves_nothing_contracts():
    flat = ft.Quadratic([[[0]], [[0]]], [[0], [0]])
    found = lower(ft.FedAvg("1/4", 1), flat, ft.Sliding(2))
    assert (found.lower, found.verdict, found.fixed_point) == (1, "UNSTABLE", None)


# ---- what must be ordered ---------------------------------------------------------------------------------
def test_more_freedom_never_helps():
    at = [lower(FOCUS, LINE, w).lower for w in (ft.Sliding(1), ft.Sliding(2, "never"), ft.Sliding(2), ft.Blocks(2), ft.Sliding(3))]
    assert at == sorted(at)  # sliding windows of 2 are blocks of 2 are sliding windows of 3
    assert at[0] < at[-1]


@pytest.mark.parametrize("seed", range(5))
def test_the_sandwich_on_random_instances(seed):
    pytest.importorskip("cvxpy")
    g = np.random.default_rng(seed)
    n, d = (2, 2) if seed == 0 else (2, 1)
    H = [[[int(g.integers(1, 5)) * (j == k) for k in range(d)] for j in range(d)] for _ in range(n)]
    problem = ft.Quadratic(H, [[int(v) for v in g.integers(-3, 4, d)] for _ in range(n)])
    algorithm = [FOCUS, ft.Scaffold("1/10", 2), ft.Mifa("1/10", 2), ft.FedAvg("1/10", 2), ft.Focus("1/10", 3)][seed]
    windows = [ft.Sliding(2), ft.Blocks(2), ft.Sliding(3, "never"), ft.Sliding(2, "skip"), ft.Blocks(3)][seed]
    found = ft.worst_schedule(algorithm, problem, windows, accuracy="1/1000")
    assert found.walk.high is None or found.lower <= found.walk.high
    assert found.lower <= found.upper
    rounds = round_maps(algorithm, problem, windows, windows.automaton(n))
    assert holds(rounds, found.certificate)
    assert rounds.automaton.closes(found.walk.sets)


# ---- the published instances (feasibility study) ----------------------------------------------------------
@pytest.mark.parametrize(("algorithm", "low", "walk_of_five", "high"), [
    (FOCUS, "0.76429", 3, "0.7788"),
    (SCAFFOLD, "0.80610", 5, "0.8176"),
], ids=["FOCUS", "SCAFFOLD"])
def test_the_two_brackets_are_reproduced(algorithm, low, walk_of_five, high):
    pytest.importorskip("cvxpy")
    short = lower(algorithm, LINE, ft.Sliding(3), longest=5)
    assert abs(short.lower - Q(low)) <= Q(1, 2 * 10**5)
    assert short.walk.length == walk_of_five
    found = ft.worst_schedule(algorithm, LINE, ft.Sliding(3))
    assert short.lower < found.lower <= found.upper <= Q(high) + Q(1, 2 * 10**4)  # longer walks close part of the gap
    assert (found.nodes, found.edges, found.dimension, found.verdict, found.exact) == (27, 125, 4, "STABLE", True)
    rounds = round_maps(algorithm, LINE, found.windows, found.windows.automaton(3))
    assert holds(rounds, found.certificate)


def test_one_rate_can_be_asked_for():
    pytest.importorskip("cvxpy")
    yes, no, slower = (ft.worst_schedule(FOCUS, LINE, ft.Sliding(3), rate=r) for r in (".7788", ".7727", ".76"))
    assert yes.lower < Q(".7788") * (1 - Q(1, 10**5)) < yes.upper <= Q(".7788")
    assert len(yes.tried) == 1
    assert (no.upper, no.verdict) == (None, "INCONCLUSIVE")
    assert no.tried
    assert (slower.upper, slower.tried) == (None, ())  # the walk decides
    with pytest.raises(CertificateFailed, match=r"contracts no faster than 0\.76848"):
        _ = no.enclosure


@pytest.mark.slow
def test_quartic_functions_close_most_of_the_gap():
    """From .7788 with quadratic ones; for SCAFFOLD with three steps likewise from .8177 to .8147, in half a minute."""
    pytest.importorskip("cvxpy")
    found = ft.worst_schedule(FOCUS, LINE, ft.Sliding(3), accuracy=Q(1, 1000), degree=4)
    assert Q(".7684") < found.lower < found.upper < Q(".7734")
    assert found.certificate.matrices.shape == (27, 10, 10)


@pytest.mark.slow
def test_windows_of_six_rounds():
    pytest.importorskip("cvxpy")
    found = ft.worst_schedule(ft.Focus("1/50", 2), LINE, ft.Sliding(6), accuracy=Q(1, 1000))
    assert (found.nodes, found.edges, found.verdict) == (216, 1331, "STABLE")
    assert Q(".858") < found.lower <= found.upper < Q(".860")


@pytest.mark.slow
def test_the_plane():
    pytest.importorskip("cvxpy")
    plane = ft.Quadratic([[[1, 0], [0, 4]], [[2, "1/2"], ["1/2", 1]], [[3, -1], [-1, 2]]], [[1, 0], [-1, 2], [0, -3]])
    found = ft.worst_schedule(ft.Focus("1/50", 2), plane, ft.Sliding(3), accuracy=Q(1, 1000))
    assert (found.dimension, found.verdict, found.exact) == (8, "STABLE", True)
    assert found.lower <= found.upper < found.lower * Q(102, 100)


def test_exactness_is_decided_in_rationals_also_for_floats():
    problem = ft.Quadratic([[[1.1]], [[2.3]]], [[0.1], [0.7]])
    for algorithm in (ft.Focus(0.05, 2), ft.Scaffold(0.05, 2)):
        found = lower(algorithm, problem, ft.Sliding(2))
        assert found.exact
        assert float(found.fixed_point[0]) == pytest.approx(ft.optimum(problem).x[0])
    assert lower(ft.Mifa("1/10", 3), LINE, ft.Sliding(2)).exact is False


# ---- what it says ------------------------------------------------------------------------------------------
def test_text():
    text = str(lower(FOCUS, LINE, ft.Sliding(3), longest=5))
    assert text.startswith("Focus, 3 clients, every client at least once in any 3 consecutive rounds (empty rounds allowed")
    assert "at least 0.76429 (schedule {" in text
    assert text.endswith("no upper bound was certified: INCONCLUSIVE; 27 nodes, 125 edges, dimension 4")
    assert "rounds share no single fixed point" in str(lower(ft.FedAvg("1/10", 2), LINE, ft.Sliding(2)))
    assert "not the minimiser" in str(lower(ft.Mifa("1/10", 3), LINE, ft.Sliding(2)))


def test_bounds_are_rounded_outward():
    assert worst._digits(Q(1234569, 10**6), worst.math.floor) == "1.23456"
    assert worst._digits(Q(1234561, 10**6), worst.math.ceil) == "1.23457"


def test_a_step_far_too_large_is_unstable():
    found = lower(ft.Focus(3, 2), LINE, ft.Sliding(2))
    assert found.verdict == "UNSTABLE"
    assert found.lower > 1


# ---- refusals ----------------------------------------------------------------------------------------------
def test_without_cvxpy_only_the_lower_bound(monkeypatch):
    def missing(library, purpose):
        raise MissingLibrary(f"{library} is not installed: it is needed for {purpose}.")
    monkeypatch.setattr(worst, "need", missing)
    with pytest.raises(MissingLibrary, match=r"cvxpy .*certify=False gives the lower bound alone"):
        ft.worst_schedule(FOCUS, LINE, ft.Sliding(2))
    assert lower(FOCUS, LINE, ft.Sliding(2)).lower > 0


@pytest.mark.parametrize(("arguments", "error"), [
    ((FOCUS, LINE, 3), BadInput),
    ((FOCUS, LINE, ft.Sliding), BadInput),
    ((FOCUS, LINE, ft.Full()), BadInput),
    ((FOCUS, 3, ft.Sliding(2)), BadInput),
    ((ft.Focus, LINE, ft.Sliding(2)), BadInput),
    ((ft.ProxSkip("1/10", p="1/2"), LINE, ft.Sliding(2)), BadInput),
    ((FOCUS, LINE, ft.Sliding(9)), TooLarge),
    ((FOCUS, ft.Quadratic([np.eye(40).astype(int).tolist()] * 2, [[0] * 40] * 2), ft.Sliding(2)), TooLarge),
    ((ft.Focus(10**20, 2), LINE, ft.Sliding(2)), CertificateFailed),
])
def test_bad_arguments_are_refused(arguments, error):
    with pytest.raises(error):
        lower(*arguments)


@pytest.mark.parametrize("options", [
    {"accuracy": 0}, {"accuracy": 2}, {"accuracy": "fine"}, {"longest": 0}, {"longest": 10**6}, {"longest": 2.5},
    {"certify": "yes"}, {"degree": 3}, {"degree": "2"}, {"rate": 0}, {"rate": "nan"},
])
def test_bad_options_are_refused(options):
    with pytest.raises(BadInput):
        ft.worst_schedule(FOCUS, LINE, ft.Sliding(2), **options)
