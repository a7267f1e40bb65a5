"""Rounds whose participants read the new server model: their mean against enumeration, closed forms and hundreds of clients."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.core.laws.base import Law
from fltheory.core.operators import operator, round_maps
from fltheory.core.operators import reachable as reach
from fltheory.large.after_average import MeanMap, ReadbackMixture
from tests.core.operators.test_features import problem

LAWS = {"uniform": ft.Uniform(4), "pair": ft.Uniform(2), "most": ft.Uniform(6), "bernoulli": ft.Bernoulli(.3),
        "skip": ft.Bernoulli(.3, empty="skip"), "redraw": ft.Bernoulli(.3, empty="redraw"),
        "sure": ft.Bernoulli([1.] + [.3] * 6 + [1.]), "rare": ft.Bernoulli([.01, .99] + [.3] * 6)}
UNEQUAL = (1, 2, 3, 1, 2, 3, 1, 2)
METHODS = {"vrlsgd": ft.VRLSGD(.03, 2), "vrlsgd-mean": ft.VRLSGD(.03, 2, divisor="mean"), "vrlsgd-unequal": ft.VRLSGD(.03, UNEQUAL),
           "scaffnew": ft.Scaffnew(.03, 2), "scaffnew-unequal": ft.Scaffnew(.03, UNEQUAL)}


@pytest.fixture
def crowded(monkeypatch):
    """As if no law's outcomes could be listed."""
    def refuse(self, n, *args, **options):
        raise ft.TooLarge("too many outcomes")

    def take():
        monkeypatch.setattr(round_maps, "FEW", 2)
        monkeypatch.setattr(Law, "support", refuse)
    return take


@pytest.mark.parametrize("weights", [None, [.125] * 8], ids=["unequal", "equal"])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("algorithm", METHODS)
def test_the_mean_is_that_of_all_outcomes(algorithm, law, weights, crowded):
    given, algorithm, law = problem(8, 2, weights=weights), METHODS[algorithm], LAWS[law]
    listed = ft.derive(algorithm, given, law, noise=1)
    crowded()
    op = ft.derive(algorithm, given, law, noise=1)
    assert isinstance(op.moments.mixtures[0], MeanMap)
    assert op.reachable == listed.reachable and op.invariants() == listed.invariants()
    for a, b in zip(op.mean_map(), listed.mean_map(), strict=True):
        assert a == pytest.approx(b, abs=1e-12)
    assert op.rate() == pytest.approx(listed.rate(), rel=1e-12)
    assert op.fixed_point().state == pytest.approx(listed.fixed_point().state, abs=1e-10)


def test_what_needs_four_clients_at_once_is_refused_in_words():
    op = ft.derive(ft.VRLSGD(.02, 3), problem(24, 1), ft.Uniform(12))
    assert op.fixed_point().x == pytest.approx(ft.optimum(problem(24, 1)).x, abs=1e-10)
    for ask in (op.mean_square_rate, op.floor, op.stationary, lambda: list(op.trajectory(2, [0])), op.certify):
        with pytest.raises(ft.TooLarge, match=r"ft\.run"):
            ask()
    assert "mean rate" in op._repr_html_() and "unknown" in op._repr_html_()


def test_against_a_closed_form_under_equal_weights():
    """Scaffnew, one step: h_i moves with probability m/n, by the average of a cohort that holds i."""
    n, m, lr, given = 30, 15, .05, problem(30, 1, weights=[1 / 30] * 30)
    op = ft.derive(ft.Scaffnew(lr, 1), given, ft.Uniform(m), start="any")
    H, p, both = given.H[:, 0, 0], m / n, m * (m - 1) / (n * (n - 1))
    y = np.concatenate([(1 - lr * H)[:, None], lr * np.eye(n)], axis=1)      # y_i = (1 - lr H_i) x + lr h_i + const
    new = y.mean(0)
    server = (both * (y.sum(0) - y) + p * y) / m                               # E 1{i in S} x_new
    M = np.concatenate([new[None], np.eye(n, n + 1, 1) + (server - p * y) / lr])
    assert op.mean_map()[0] == pytest.approx(M, abs=1e-12)


@pytest.mark.parametrize("law", [ft.Uniform(3), ft.Bernoulli(.3), ft.Bernoulli(.3, empty="skip"), ft.Bernoulli([1.] + [.3] * 7)],
                         ids=str)
@pytest.mark.parametrize("weights", [None, [.125] * 8], ids=["unequal", "equal"])
def test_a_subspace_that_rounds_leave_is_refused(law, weights, crowded, monkeypatch):
    crowded()
    given, algorithm = problem(8, 1, weights=weights), ft.VRLSGD(.03, 2)
    true = ft.derive(algorithm, given, law).reach
    assert len(true.W) == 1
    wrong = np.array(true.V[[k for k in range(9) if k not in true.rows]], dtype=object)
    wrong[0, 3] = wrong[0, 3] * 1001 / 1000
    lie = reach._reach(type("Lay", (), {"size": 9, "names": lambda self: true.names})(), true.rows, wrong)
    monkeypatch.setattr(operator, "reachable", lambda *args, **options: lie)
    with pytest.raises(ft.CertificateFailed, match="do not keep"):
        ft.derive(algorithm, given, law)


def test_coefficients_vanish_where_the_form_does():
    """On cohorts of one size some forms are 0 that are not 0 elsewhere; no form that is not 0 passes."""
    from fltheory.core.laws.shares import FixedSize, Independent
    from fltheory.large.after_average import _coefficients
    rng, n, m = np.random.default_rng(0), 7, 3
    a = rng.normal(size=(n, 1, 1))
    both, alone = a[:, None] + a[None], -(m - 1) * a
    both[np.arange(n), np.arange(n)] = rng.normal(size=(n, 1, 1))            # the diagonal says nothing

    def values(both, alone, cohorts):
        return [alone[S].sum() + sum(both[i, j, 0, 0] for i in S for j in S if i < j) for S in cohorts]
    threes = [list(S) for S in rng.permuted(np.tile(np.arange(n), (40, 1)), axis=1)[:, :m]]
    assert np.abs(values(both, alone, threes)).max() < 1e-12
    assert max(np.abs(g).max() for g in _coefficients(FixedSize(n, m), both, alone)) < 1e-12
    changed = both.copy()
    changed[2, 5] += 1e-3
    changed[5, 2] += 1e-3
    assert max(np.abs(g).max() for g in _coefficients(FixedSize(n, m), changed, alone)) > 1e-4
    assert max(np.abs(g).max() for g in _coefficients(FixedSize(n, m), both, alone + 1e-3)) > 1e-4
    assert max(np.abs(g).max() for g in _coefficients(Independent([.5] * n, True), both, alone)) > 1e-2
    sure = Independent([1.] * 2 + [.5] * 5, False)
    alone = np.zeros((n, 1, 1))
    both = 0 * both
    both[0, 1] = both[1, 0] = 1
    alone[0] = -1                                                             # both are always there: -1 + 1
    assert max(np.abs(g).max() for g in _coefficients(sure, both, alone)) == 0


def test_a_round_of_neither_form_is_too_large():
    """The mean number of steps over the cohort divides: no share and no pair."""
    with pytest.raises(ft.TooLarge, match="outcomes"):
        ft.derive(ft.VRLSGD(.02, tuple(1 + k % 3 for k in range(24)), divisor="mean"), problem(24, 1), ft.Uniform(12))


def test_a_cohort_that_shares_out_nothing_is_not_guessed():
    weights = np.r_[np.zeros(1), np.ones(23) / 23]
    with pytest.raises(ft.TooLarge):
        ft.derive(ft.Scaffnew(.02, 2), problem(24, 1, weights=weights), ft.Bernoulli(.3))
    op = ft.derive(ft.Scaffnew(.02, 2), problem(24, 1, weights=weights), ft.Uniform(12))
    assert op.fixed_point().x == pytest.approx(ft.optimum(problem(24, 1, weights=weights)).x, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [1, .1])
@pytest.mark.parametrize("algorithm", [ft.VRLSGD(.005, 5), ft.Scaffnew(.005, 5)], ids=lambda a: type(a).__name__)
def test_200_clients_of_which_20_take_part(algorithm, spread):
    given = problem(200, 2, weights=np.random.default_rng(0).dirichlet(np.full(200, spread)))
    op = ft.derive(algorithm, given, ft.Uniform(20))
    assert (op.reachable, op.dimension) == (400, 402) and not op.assumed
    assert op.fixed_point().x == pytest.approx(ft.optimum(given).x, abs=1e-10) and op.rate() < 1


def test_mixtures_have_one_interface():
    for kind in (ReadbackMixture, MeanMap):
        assert kind.featured and not kind.single
