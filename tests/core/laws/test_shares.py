"""Moments of shares by integrals, against enumeration: any weights, probabilities near 0 and 1, hundreds of clients."""
import itertools
import math

import numpy as np
import pytest

from fltheory.core.laws.shares import FixedSize, Independent, Shares

RNG = np.random.default_rng(0)
WEIGHTS = {"dirichlet": RNG.dirichlet(np.ones(8)), "equal": np.full(8, 1 / 8),
           "extreme": np.array([1e-7] * 7 + [1 - 7e-7]), "zeros": np.array([0, .5, 0, .3, .1, 0, .1, 0])}


def listed(cohorts, v):
    """The five moments by summing over (probability, cohort)."""
    n = len(v)
    out = [np.zeros(n), np.zeros(n), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))]
    for q, members in cohorts:
        one = np.zeros(n)
        one[list(members)] = 1
        share = one * v / max(one @ v, 1e-300)  # of clients of weight 0 alone: nobody's
        for into, value in zip(out, (one, share, np.outer(one, one), np.outer(one, share), np.outer(share, share)), strict=True):
            into += q * value
    return out


def compare(found, cohorts, v):
    ones, shares, _ = found.means()
    for mine, theirs in zip((ones, shares, *found.seconds()), listed(cohorts, v), strict=True):
        assert mine == pytest.approx(theirs, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("m", [1, 2, 4, 7, 8])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_cohorts_of_a_fixed_size(m, weights):
    cohorts = [(1 / math.comb(8, m), S) for S in itertools.combinations(range(8), m)]
    compare(Shares(FixedSize(8, m), WEIGHTS[weights]), cohorts, WEIGHTS[weights])


@pytest.mark.parametrize(("m", "v"), [(3, [1e-10] + [1.] * 7), (4, [1e-14, 1e-7, 1e-3, 1., 1.5, 1., 2., 3.])])
def test_tiny_shares_keep_their_digits(m, v):
    """The contour through the saddle point: through another one, what is lost is small beside 1 and not beside a share."""
    v = np.array(v)
    cohorts = [(1 / math.comb(8, m), S) for S in itertools.combinations(range(8), m)]
    found = Shares(FixedSize(8, m), v)
    for mine, theirs in zip((found.means()[1], *found.seconds()), listed(cohorts, v)[1:], strict=True):
        assert mine == pytest.approx(theirs, rel=1e-11, abs=0)


@pytest.mark.parametrize("redraw", [False, True])
@pytest.mark.parametrize("p", [[.5] * 6, [.9, .1, .3, 1, .7, .2], [1e-6] * 6, [1 - 1e-9] * 6, [1e-9, .5, 1, 1, .5, 1e-9]])
def test_independent_clients(p, redraw):
    v = WEIGHTS["dirichlet"][:6] / WEIGHTS["dirichlet"][:6].sum()
    some = -math.expm1(sum(math.log1p(-q) if q < 1 else -math.inf for q in p)) if redraw else 1
    cohorts = [(math.prod(p[i] if i in S else 1 - p[i] for i in range(6)) / some, S)
               for k in range(1, 7) for S in itertools.combinations(range(6), k)]
    compare(Shares(Independent(p, redraw), v), cohorts, v)
    empty = math.prod(1 - q for q in p)
    assert Independent(p, redraw).nobody == pytest.approx(0 if redraw else empty, rel=1e-9)


@pytest.mark.parametrize("model", [FixedSize(300, 37), FixedSize(300, 299), Independent([.02] * 300, True)],
                         ids=["37 of 300", "299 of 300", "2 % of 300"])
def test_shares_of_hundreds_of_clients_add_up(model):
    v = np.random.default_rng(1).dirichlet(np.ones(300))
    ones, shares, _ = Shares(model, v).means()
    assert shares.sum() == pytest.approx(1, abs=1e-12) and (shares > 0).all() and (shares <= ones).all()


def test_a_term_dropped_from_the_rule_is_noticed(monkeypatch):
    """The trapezoidal step is chosen for rounding: one twice and four times as long is not accurate any more."""
    v, m = WEIGHTS["dirichlet"], 3
    cohorts = [(1 / math.comb(8, m), S) for S in itertools.combinations(range(8), m)]
    monkeypatch.setattr("fltheory.core.laws.shares.STEP", 1.0)
    assert np.abs(Shares(FixedSize(8, m), v).means()[1] - listed(cohorts, v)[1]).max() > 1e-6
