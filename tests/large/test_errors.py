"""E|x_t - x*|^2 round by round: structured operators beside listed ones, and equal clients beside both."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.large import equal_clients, structured
from tests.large.cases import CHANCES, EQUAL, LAWS, METHODS, WEIGHED, random_problem
from tests.large.cases import structured as derived

START, ROUNDS = np.array([2.0, -1.0, 0.5]), 25
LIKE = random_problem(6, 2, same=True)
ALIKE = {"FedAvg": ft.FedAvg("1/20", 3), "Scaffold": ft.Scaffold("1/20", 3), "Focus": ft.Focus("1/200", 3)}


def listed(op, x0, at, rounds=ROUNDS):
    """E|x - at|^2 from the second moments of a listed operator."""
    return np.array([np.trace(S) - 2 * m @ at + at @ at for m, S in op.trajectory(rounds + 1, x0)])


def as_equals(*args):
    """A structured operator that takes the moments of equal clients although its state is small."""
    op = derived(*args)
    vars(op)["_second"] = op._equal_moments
    assert isinstance(op._equal_moments, equal_clients.EqualMoments), op._equal_moments
    return op


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("method", [name if name in ("FedAvg", "Scaffold", "Focus", "unequal steps")
                                    else pytest.param(name, marks=pytest.mark.slow) for name in METHODS])
def test_paths_are_those_of_listed_operators(method, law):
    problem, noise = (WEIGHED, 1) if len(method) % 2 else (EQUAL, 0)
    args = METHODS[method], problem, LAWS[law], noise
    best = ft.optimum(problem).x
    errors = derived(*args).errors(START, ROUNDS)
    assert errors == pytest.approx(listed(ft.derive(*args, method="dense"), START, best), rel=1e-9, abs=1e-14)
    assert errors[0] == pytest.approx(((START - best) ** 2).sum(), rel=1e-14) and len(errors) == ROUNDS + 1


@pytest.mark.parametrize("broken", ["again", "pushed", "noise"])
def test_a_wrong_line_in_the_path_is_seen(broken, monkeypatch):
    args = METHODS["Scaffold"], WEIGHED, ft.Bernoulli(CHANCES), 1
    op, right = derived(*args), listed(ft.derive(*args, method="dense"), START, ft.optimum(WEIGHED).x)
    second = op._second
    if broken == "noise":
        second.noise = second.noise * 1.001
    else:
        honest = getattr(second, broken)
        setattr(second, broken, lambda X: 1.001 * honest(X))
    assert op.errors(START, ROUNDS) != pytest.approx(right, rel=1e-6)


def test_the_path_ends_at_the_floor_and_starts_anywhere():
    op = derived(METHODS["Focus"], WEIGHED, ft.Uniform(3), 1)
    assert op.errors(START, 700)[-1] == pytest.approx(op.floor(), rel=1e-8)
    assert op.errors(START, 0) == pytest.approx([((START - ft.optimum(WEIGHED).x) ** 2).sum()])
    assert op.errors(START, 5, reference=START)[0] == 0
    for wrong, words in (((START[:2], 3), "x0.shape"), ((START, -1), "rounds"), ((START, 3, [0, 0]), "reference.shape")):
        with pytest.raises(ft.BadInput, match=words):
            op.errors(*wrong)


def test_rounds_without_randomness_need_no_second_moments(monkeypatch):
    monkeypatch.setattr(structured.second_moments, "LARGEST", 0)
    args = METHODS["Scaffold"], WEIGHED, ft.Full()
    op = derived(*args)
    assert op.errors(START, ROUNDS) == pytest.approx(listed(ft.derive(*args), START, ft.optimum(WEIGHED).x), rel=1e-9, abs=1e-14)
    with pytest.raises(ft.TooLarge, match=r"Nor are there moments of equal clients: the clients are not equal"):
        derived(*args[:2], ft.Uniform(3)).errors(START, 3)


def test_paths_that_would_take_minutes_are_refused_at_once(monkeypatch):
    op = derived(METHODS["Scaffold"], WEIGHED, ft.Uniform(3))
    monkeypatch.setattr(structured, "CALL", 0)
    monkeypatch.setattr(structured, "MOST_NUMBERS", 20 * op.dimension**2)
    assert len(op.errors(START, 20)) == 21
    with pytest.raises(ft.TooLarge, match=r"21 rounds of the second moments of 30 numbers .* at most 20 are\. op\.floor\(\)"):
        op.errors(START, 21)


# ---- equal clients -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("law", [ft.Uniform(2), ft.Bernoulli("1/4"), ft.Bernoulli("1/4", empty="redraw"), ft.Full()])
@pytest.mark.parametrize("method", ALIKE)
def test_equal_clients_are_what_listed_operators_say(method, law):
    args, x0 = (ALIKE[method], LIKE, law, "1/2"), [3.0, -1.0]
    mine, dense = as_equals(*args), ft.derive(*args, method="dense")
    assert mine.mean_square_rate() == pytest.approx(dense.mean_square_rate(), rel=1e-9)
    assert mine.floor() == pytest.approx(dense.floor(), rel=1e-9)
    assert mine.stationary().covariance == pytest.approx(dense.stationary().covariance, rel=1e-9, abs=1e-15)
    assert mine.errors(x0, ROUNDS) == pytest.approx(listed(dense, x0, ft.optimum(LIKE).x), rel=1e-9)
    known = mine.known
    assert known["mean_square_rate"].kind == "bound"
    assert equal_clients.HOW in known["floor"].label and equal_clients.HOW in known["mean_square_rate"].check


def test_equal_clients_are_taken_where_the_matrix_is_large_and_only_there(monkeypatch):
    args = ALIKE["Scaffold"], LIKE, ft.Uniform(2), 1
    assert isinstance(derived(*args)._second, structured.second_moments.SecondMoments)
    monkeypatch.setattr(structured, "FEW", 10)
    assert isinstance(derived(*args)._second, equal_clients.EqualMoments) and derived(*args).quick
    unequal = derived(METHODS["Scaffold"], EQUAL, ft.Uniform(3), 1)
    assert isinstance(unequal._second, structured.second_moments.SecondMoments) and not unequal.quick


def test_one_unequal_client_is_told_from_the_rest():
    H, b = np.array(LIKE.H, dtype=float), np.array(LIKE.b, dtype=float)
    assert equal_clients.equal(LIKE)
    for other in (H, b):
        entry = other[-1].copy()
        other[-1] = np.nextafter(other[-1], 9)
        assert not equal_clients.equal(ft.Quadratic.from_linear(H, b))
        other[-1] = entry
    assert equal_clients.equal(ft.Quadratic.from_linear(H, b))
    assert not equal_clients.equal(ft.Quadratic(H, b, weights=["1/2"] + ["1/10"] * 5))
    assert not equal_clients.equal(ft.Quadratic(H[:1], b[:1]))


@pytest.mark.parametrize("law, method, words", [
    (ft.Bernoulli([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), ALIKE["Scaffold"], "treat all clients alike"),
    (ft.Uniform(2), ft.FedAvg("1/20", (1, 2, 3, 1, 2, 3)), "exchangeable"),
])
def test_laws_and_steps_that_tell_equal_clients_apart_say_so(law, method, words):
    assert words in derived(method, LIKE, law)._equal_moments


def test_moments_of_equal_clients_have_their_limits(monkeypatch):
    wide = random_problem(4, 5, same=True)
    assert "151 moments of equal clients are above 120" in derived(ft.Scaffold("1/20", 3), wide, ft.Uniform(2))._equal_moments
    monkeypatch.setattr(equal_clients, "MOST", 10)
    assert "above 10" in derived(ALIKE["Scaffold"], LIKE, ft.Uniform(2))._equal_moments


def test_growing_second_moments_of_equal_clients_have_no_floor():
    op = as_equals(ft.FedAvg("9/10", 3), ft.Quadratic([[[3]]] * 4, [[1]] * 4), ft.Uniform(2), 1)
    assert op.mean_square_rate() > 1 and op.floor() == np.inf
    with pytest.raises(ft.NoFixedPoint):
        op.stationary()


def test_listing_that_turns_out_too_long_leaves_the_rest_to_structured_operators(monkeypatch):
    """500 clients with memories: the state could be listed, the cohorts of a round cannot."""
    from fltheory import derivation
    args = METHODS["Scaffold"], EQUAL, ft.Uniform(3)

    def long(*given):
        raise ft.TooLarge("outcomes in one round exceed 70000")
    monkeypatch.setattr(derivation, "listed", long)
    assert ft.derive(*args).method == "structured"
    for given in ({"method": "dense"}, {"domain": ft.RATIONAL}, {"start": "any"}):
        with pytest.raises(ft.TooLarge, match="outcomes"):
            ft.derive(*args, **given)


@pytest.mark.slow
def test_ten_thousand_equal_clients():
    """Beyond every list: a state of 20,004 numbers. Beside runs, whose rounds know nothing of the moments."""
    n = 10_000
    problem = ft.Quadratic(np.broadcast_to(np.diag([1.0, 2.0]), (n, 2, 2)).copy(), np.ones((n, 2)))
    args = ft.Scaffold(0.05, 3), problem, ft.Uniform(n // 10)
    op = ft.derive(*args, noise=1)
    assert op.method == "structured" and op.dimension == 20_004
    errors = op.errors([1.0, -1.0], 40)
    trace = ft.run(*args, rounds=40, replicates=200, noise=1, x0=[1.0, -1.0])
    for t in (5, 20, 40):
        interval = trace.interval(t, level=1 - 1e-5)
        assert interval.low <= errors[t] <= interval.high
        assert not interval.low <= errors[t] * 1.5 <= interval.high
