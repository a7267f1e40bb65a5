"""Operators through features of the cohort, with equal and weighted shares: against enumeration."""
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.algorithms.base import Algorithm
from fltheory.core.algorithms.fedavg import shares
from fltheory.core.operators import round_maps

LAWS = {"uniform": ft.Uniform(4), "bernoulli": ft.Bernoulli(.3), "skip": ft.Bernoulli(.3, empty="skip"),
        "redraw": ft.Bernoulli(.3, empty="redraw"), "sure": ft.Bernoulli([1.] + [.3] * 7)}
METHODS = [ft.Scaffold(.03, 3), ft.Scaffold(.03, 2, option=1), ft.Focus(.01, 3), ft.Mifa(.03, 3), ft.FedAvg(.03, 3),
           ft.FedVarp(.03, 2)]


def problem(n, d, seed=0, weights=None):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, d, d))
    return ft.Quadratic(H @ H.swapaxes(1, 2) + np.eye(d), rng.normal(size=(n, d)),
                        rng.dirichlet(np.ones(n)) if weights is None else weights)


@pytest.fixture
def route(monkeypatch):
    def take(few):
        monkeypatch.setattr(round_maps, "FEW", few)
    return take


@pytest.mark.parametrize("noise", [None, 1])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("algorithm", METHODS, ids=lambda a: type(a).__name__)
def test_two_routes_to_one_operator(algorithm, law, noise, route):
    if noise and law not in ("uniform", "skip"):
        pytest.skip("noise has its own columns, whatever the law")
    given = problem(8, 2)
    route(10**9)
    listed = ft.derive(algorithm, given, LAWS[law], noise=noise)
    route(2)
    featured = ft.derive(algorithm, given, LAWS[law], noise=noise)
    (mix,) = featured.moments.mixtures
    assert mix.featured and not listed.moments.mixtures[0].featured
    assert featured.reachable == listed.reachable and featured.rate() == pytest.approx(listed.rate(), rel=1e-12)
    assert featured.fixed_point().x == pytest.approx(listed.fixed_point().x, rel=1e-10)
    X = np.random.default_rng(1).normal(size=(1, mix.size, mix.size))
    X = X @ X.swapaxes(1, 2)
    assert featured.moments.second(X) == pytest.approx(listed.moments.second(X), rel=1e-9, abs=1e-12)
    assert mix.noise_square() == pytest.approx(listed.moments.mixtures[0].noise_square(), rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("weights", [[0, .1, .2, .3, .4, 0, 0, 0], [0, .1, .2, .7], [.5, 0, .5, 0, 0], [0, 1, 0, 0]], ids=str)
@pytest.mark.parametrize("law", [ft.Uniform(2), ft.Bernoulli(.3), ft.Bernoulli(.3, empty="skip"), ft.Bernoulli(.3, empty="redraw")],
                         ids=str)
@pytest.mark.parametrize("algorithm", METHODS, ids=lambda a: type(a).__name__)
def test_clients_of_weight_zero(algorithm, law, weights, route):
    """A cohort of them alone shares out nothing: as enumerated, or enumerated itself where fewer than three have weight."""
    given = problem(len(weights), 2, weights=[Fraction(str(w)) for w in weights])
    route(10**9)
    listed = ft.derive(algorithm, given, law)
    route(2)
    featured = ft.derive(algorithm, given, law)
    assert featured.rate() == pytest.approx(listed.rate(), rel=1e-9)
    assert featured.floor(reference=[0, 0]) == pytest.approx(listed.floor(reference=[0, 0]), rel=1e-8)


@pytest.mark.parametrize("law", [ft.Uniform(7), ft.Bernoulli(.3)], ids=str)
def test_one_client_of_weight_zero_among_sixty(law):
    weights = np.random.default_rng(3).dirichlet(np.ones(60))
    near, weights[11] = weights.copy(), 0
    near[11] = 1e-13
    a, b = (ft.derive(ft.FedAvg(.01, 2), problem(60, 2, weights=w / w.sum()), law) for w in (weights, near))
    assert a.fixed_point().x == pytest.approx(b.fixed_point().x, rel=1e-9)
    assert a.rate() == pytest.approx(b.rate(), rel=1e-9)


def test_a_round_of_another_form_is_enumerated(route):
    """VRL-SGD hands participants the average of the others: pairs of clients, which no share expresses."""
    given = problem(6, 1)
    route(2)
    (mix,) = ft.derive(ft.VRLSGD(.03, 2), given, ft.Uniform(3)).moments.mixtures
    assert not mix.featured and len(mix.first) == 20


def test_a_quantity_that_is_conserved_at_a_value_of_its_own(route):
    """Without curvature along an axis a memory keeps the slope that a warm start gave it: a subspace beside 0."""
    H, b = np.zeros((6, 2, 2)), np.random.default_rng(4).normal(size=(6, 2))
    H[:, 0, 0] = np.arange(1, 7)
    route(2)
    op = ft.derive(ft.Focus(.01, 3, init="warm"), ft.Quadratic.from_linear(H, b), ft.Uniform(3))
    assert op.moments.mixtures[0].featured
    assert np.abs(op.reach.W.astype(float) @ op.origin).max() > .1
    kept = dict(line.split(" = ") for line in op.invariants() if "[1] = " in line and line.count("=") == 1)
    assert [float(Fraction(kept[f"g[{i}][1]"])) for i in range(6)] == pytest.approx(-b[:, 1], abs=0)


def test_a_subspace_is_checked_at_rare_cohorts_too(route, monkeypatch):
    """A conserved quantity that only a cohort of probability 1e-9 breaks is none."""
    from fltheory.core.operators import reachable as reach
    given, law = problem(5, 1, weights=[.2] * 5), ft.Bernoulli([1e-9] + [.5] * 4)
    true = ft.derive(ft.Mifa(.03, 2), given, law)
    assert true.reachable == 6
    never = list(true.reach.names).index("G[0][0]")
    rows = [k for k in range(6) if k != never]
    lie = reach._reach(type("Lay", (), {"size": 6, "names": lambda self: true.reach.names})(), tuple(rows),
                       np.full((1, 5), 0, dtype=object))
    monkeypatch.setattr("fltheory.core.operators.operator.reachable", lambda *args, **options: lie)
    route(2)
    with pytest.raises(ft.CertificateFailed, match="do not keep"):
        ft.derive(ft.Mifa(.03, 2), given, law)


def test_many_clients_at_unequal_float_probabilities():
    # FedAvg under Bernoulli: one local step makes the mean round x - lr sum_i E[s_i] grad f_i(x)
    given = problem(60, 2)
    p = np.random.default_rng(2).uniform(.1, .9, 60)
    op = ft.derive(ft.FedAvg(.02, 1), given, ft.Bernoulli(p))
    trials = np.random.default_rng(3).random((20_000, 60)) < p
    shares = trials * np.asarray(given.weights)
    shares = (shares / np.maximum(shares.sum(1, keepdims=True), 1e-300)).mean(0)
    H = np.einsum("i,ijk->jk", shares, given.H)
    assert op.mean_map()[0] == pytest.approx(np.eye(2) - .02 * H, abs=2e-4)


def test_tiny_steps_leave_no_part_out(route):
    """At lr = 1e-13 every part of a client is of that size: none may pass for rounding."""
    route(2)
    given = problem(8, 1, weights=[1 / 8] * 8)
    M, _ = ft.derive(ft.FedAvg(1e-13, 1), given, ft.Bernoulli(.5)).mean_map()
    H = float(np.mean(given.H))
    assert (1 - M[0, 0]) / (1e-13 * H * (1 - .5**8)) == pytest.approx(1, abs=2e-2)


class Left(NamedTuple):
    """The server's model, and what the shares of all rounds left of 1."""

    x: Any
    left: Any


@dataclass(frozen=True)
class Remainder(Algorithm):
    """FedAvg that adds up what the shares of a round leave of 1: nothing, unless nobody takes part."""

    stateful: ClassVar[bool] = True

    def init(self, problem, x0, draw=None):
        return Left(x0, 0 * x0)

    def round(self, problem, s, draw):
        cohort = problem.at(draw.who)
        step = self.lr * cohort.grad(s.x[..., None, :] + 0 * cohort.p[..., None], draw.xi_at(0))
        share = shares(cohort, draw.present, "weighted")[..., None]
        return Left(s.x - (share * step).sum(-2), s.left + 1 - share.sum(-2))


@pytest.mark.parametrize(("empty", "reachable"), [("move", 3), ("skip", 2), ("redraw", 2)])
def test_only_cohorts_that_are_drawn_say_what_is_reachable(empty, reachable, route):
    """An empty cohort moves what all others keep: it speaks for a law that runs empty rounds, not for one that draws again."""
    given, law = problem(8, 2), ft.Bernoulli(.3, empty=empty)
    for few in (10**9, 2):
        route(few)
        assert ft.derive(Remainder(.03, 1), given, law).reachable == reachable
