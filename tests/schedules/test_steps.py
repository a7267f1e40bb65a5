"""Step limits over all schedules: closed forms, the published limits, and special steps where a client stops to move."""

from fractions import Fraction as Q

import pytest

import fltheory as ft
from fltheory.core.errors import BadInput, MissingLibrary
from fltheory.schedules import steps

pytest.importorskip("cvxpy")
LINE = ft.Quadratic([[[1]], [[2]], [[4]]], [[1], [-1], [0]])
ONE = ft.Quadratic([[[2]]], [[2]])


def test_one_client_may_rest_but_its_limit_stays():
    """Gradient descent on h = 2: stable below 2/h = 1, however often it rests."""
    found = ft.schedule_steps(ft.FedAvg("1/4", 1), ONE, ft.Sliding(2))
    assert found.stable < 1 <= found.unstable
    assert found.unstable - found.stable <= Q(1, 500)


@pytest.mark.parametrize("algorithm", [ft.Focus("1/10", 1), ft.Scaffold("1/10", 2)])
def test_with_everybody_always_it_is_the_limit_of_full_participation(algorithm):
    found = ft.schedule_steps(algorithm, LINE, ft.Sliding(1))
    first = ft.stable_steps(algorithm, LINE, ft.Full()).first
    assert float(found.stable) <= first <= float(found.unstable) * (1 + 1e-9)
    assert found.unstable - found.stable <= found.unstable / 400


def test_the_walk_and_the_certificate_belong_to_the_steps():
    found = ft.schedule_steps(ft.Focus("1/10", 1), LINE, ft.Sliding(2), accuracy=Q(1, 20))
    assert found.walk.low >= 1
    rate = ft.derive(ft.Focus(found.unstable, 1), LINE, ft.Replay(found.walk.schedule)).rate()
    assert rate >= 1 - 1e-9
    at = ft.worst_schedule(ft.Focus(found.stable, 1), LINE, ft.Sliding(2), accuracy=Q(1, 20))
    assert at.lower < 1
    assert found.certificate.rate < 1
    assert dict(found.tried)[found.stable] == "STABLE"
    assert {w for lr, w in found.tried if lr < found.stable} == {"STABLE"}
    assert not [lr for lr, w in found.tried if w == "UNSTABLE" and found.stable < lr < found.unstable]


def published(algorithm, below, above):
    found = ft.schedule_steps(algorithm, LINE, ft.Sliding(3))
    assert abs(found.stable / Q(below) - 1) <= Q(2, 100)
    assert abs(found.unstable / Q(above) - 1) <= Q(2, 100)
    assert found.stable < found.unstable <= Q(above)  # a destabilising schedule from a smaller step is only better
    return found


def test_the_published_limits_of_focus_with_one_step():
    assert sorted(published(ft.Focus("1/20", 1), ".0952", ".0968").walk.sets) == [(), (), (0, 1, 2)]


@pytest.mark.slow
def test_the_published_limits_of_focus_with_two_steps():
    """At lr = 1/4 client 3 never moves: the rate is exactly 1 there, which is no contraction."""
    found = published(ft.Focus("1/20", 2), ".24990", ".25010")
    assert found.stable < Q(1, 4) <= found.unstable
    assert dict(found.tried).get(Q(1, 4)) != "STABLE"


@pytest.mark.slow
def test_the_published_limits_of_scaffold():
    published(ft.Scaffold("1/10", 3), ".41875", ".41985")


def test_a_client_that_stops_to_move_is_not_taken_for_contraction():
    found = ft.schedule_steps(ft.Focus("1/20", 2), ONE, ft.Sliding(1), up_to=Q(1, 2))  # lr h = 1 at the end of the scan
    assert found.stable < Q(1, 2) == found.unstable
    assert found.walk.low == 1
    found = ft.schedule_steps(ft.Focus("1/20", 2), ONE, ft.Sliding(1), up_to=Q(1, 4))
    assert (found.stable, found.unstable) == (Q(1, 4), None)
    assert "no destabilising schedule was found" in str(found)


def test_text():
    found = ft.schedule_steps(ft.FedAvg("1/4", 1), ONE, ft.Sliding(2), accuracy=Q(1, 10))
    assert str(found).startswith("FedAvg, every client at least once in any 2 consecutive rounds")
    assert "certified for every schedule at lr = 0." in str(found)
    assert "INCONCLUSIVE in between" in str(found)


@pytest.mark.parametrize("options", [{"accuracy": 0}, {"accuracy": 1}, {"up_to": 0}, {"up_to": -1}, {"longest": 0}])
def test_bad_options_are_refused(options):
    with pytest.raises(BadInput):
        ft.schedule_steps(ft.FedAvg("1/4", 1), ONE, ft.Sliding(2), **options)


def test_no_scale_no_scan():
    flat = ft.Quadratic([[[0]], [[0]]], [[0], [0]])
    with pytest.raises(BadInput, match="largest curvature"):
        ft.schedule_steps(ft.FedAvg("1/4", 1), flat, ft.Sliding(2))
    with pytest.raises(BadInput, match="no class of schedules"):
        ft.schedule_steps(ft.FedAvg("1/4", 1), ONE, 3)


def test_without_cvxpy_it_says_so(monkeypatch):
    def missing(library, purpose):
        raise MissingLibrary(f"{library} is not installed")
    monkeypatch.setattr(steps, "need", missing)
    with pytest.raises(MissingLibrary, match="cvxpy"):
        ft.schedule_steps(ft.FedAvg("1/4", 1), ONE, ft.Sliding(2))
