"""Certificates: they enclose what floats say, and they reject what is wrong by a little."""
import sys
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import MissingLibrary
from fltheory.core.numbers.scalars import FLOAT, have
from fltheory.core.operators import moments, spectrum
from tests.core.operators.brute import scalars, three
from verification.named_problems import extreme_steps, scaffold_awkward, table1_focus

needs_flint = pytest.mark.skipif(not have("flint"), reason="mean rates are certified by python-flint")
CHANCES = ("9/10", "1/2", "1/5")
LR = Q(1, 20)


def encloses(op, width=1e-2):
    found = op.certify(width)
    low, high = found.mean_square
    rate = op.mean_square_rate()
    assert isinstance(low, Q) and isinstance(high, Q)
    assert low <= rate * (1 + 1e-9) and rate * (1 - 1e-9) <= high
    assert high - low <= Q(width) * high * Q(101, 100)
    if found.mean is not None:
        low, high = found.mean
        assert low * (1 - Q(1, 10**9)) <= op.rate() <= high * (1 + Q(1, 10**9)) and high - low <= Q(1, 10**12)
    return found


CASES = {
    "FedAvg": lambda: ft.derive(ft.FedAvg(LR, (1, 2, 5)), three()[0], ft.Uniform(2)),
    "Scaffold": lambda: ft.derive(ft.Scaffold(LR, 2), table1_focus(), ft.Uniform(1)),
    "Focus": lambda: ft.derive(ft.Focus(LR, 4), table1_focus(), ft.Bernoulli(CHANCES, empty="redraw")),
    "Focus, skipped": lambda: ft.derive(ft.Focus(LR, 2), table1_focus(), ft.Bernoulli(CHANCES, empty="skip")),
    "unstable": lambda: ft.derive(ft.Focus("1/100", 1), ft.Quadratic([[[1]], [[3]], [[10]]], [[1], [0], [-1]]),
                                  ft.Bernoulli((".9", ".5", ".05"))),
    "awkward": lambda: ft.derive(ft.Scaffold(scaffold_awkward()[2], 3), scaffold_awkward()[0], ft.Full()),
    "extreme steps": lambda: ft.derive(ft.FedAvg(LR, extreme_steps()[1]), extreme_steps()[0], ft.Full()),
    "Markov": lambda: ft.derive(ft.Focus(LR, 1), scalars(2)[0], ft.Markov(("1/2", "1/3"), "1/4", 2)),
    "cyclic": lambda: ft.derive(ft.FedAvg(LR, 2), three()[0], ft.Cyclic([(0, 1), (2,)])),
}


# their Perron matrices are singular, so the lower bound comes from the exact characteristic polynomial
SINGULAR = ("awkward", "extreme steps", "Markov", "cyclic")


@pytest.mark.parametrize("case", [pytest.param(c, marks=needs_flint) if c in SINGULAR else c for c in CASES])
def test_enclosures_contain_the_float_rates(case):
    found = encloses(CASES[case]())
    assert found.stable is (case != "unstable")


def test_narrow_enclosures():
    op = CASES["Focus"]()
    low, high = encloses(op, 1e-4).mean_square
    assert (high - low) / high <= Q(101, 10**6)


def problem16():
    H = [[[Q(k % 3 + 2, 2), Q(1, 4)], [Q(1, 4), Q(k % 5 + 2, 3)]] for k in range(16)]
    return ft.Quadratic.from_linear(H, [[Q(k % 4 - 1), Q(k % 3)] for k in range(16)])


def sixteen(empty):
    return ft.derive(ft.Focus("1/200", 2), problem16(), ft.Bernoulli([f"{k}/20" for k in range(2, 18)], empty=empty))


def test_sixteen_unequal_clients_are_certified():
    op = sixteen("move")
    low, high = encloses_square(op)
    assert high < 1 and (high - low) / high <= Q(101, 10**4)


def encloses_square(op):
    low, high = spectrum.mean_square(op.exact().moments, op.moments, 1e-2)
    assert low <= op.mean_square_rate() <= high
    return low, high


@pytest.mark.slow
@pytest.mark.parametrize("empty", ["move", "skip", "redraw"])
def test_sixteen_unequal_clients_are_certified_under_each_convention(empty):
    assert encloses(sixteen(empty)).stable is True


# ---- the checks themselves -----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def small():
    """A Focus operator: (exact moments, float moments, rate, Lyapunov matrix, Perron matrix)."""
    op = CASES["Focus"]()
    exact, floats = op.exact().moments, op.moments
    rate, perron = floats.perron()
    return exact, floats, rate, spectrum._resolvent(floats, rate * 1.01), perron


def test_upper_and_lower_accept_what_is_true(small):
    exact, floats, rate, X, V = small
    assert spectrum.upper(exact, X, Q(rate * 1.02)) and spectrum.upper(exact, 1000 * X, Q(rate * 1.02))
    assert spectrum.lower(exact, spectrum._resolvent(floats, rate * 1.0005), Q(rate * 0.99)) \
        or spectrum.lower(exact, V, Q(rate * 0.99))


def test_upper_rejects_rates_that_are_too_small(small):
    exact, floats, rate, X, V = small
    for factor in (0.9, 0.999, 1 - 1e-6):
        for matrix in (X, V, np.stack([np.eye(exact.size)]), spectrum._resolvent(floats, rate * 1.0001)):
            assert not spectrum.upper(exact, matrix, Q(rate * factor))


def test_lower_rejects_rates_that_are_too_large(small):
    exact, floats, rate, X, V = small
    for factor in (1.1, 1.001, 1 + 1e-6):
        for matrix in (X, V, np.stack([np.eye(exact.size)]), spectrum._resolvent(floats, rate * 1.0001)):
            assert not spectrum.lower(exact, matrix, Q(rate * factor))


def test_matrices_outside_the_cone_prove_nothing(small):
    exact, _, _, X, V = small
    size = exact.size
    indefinite = np.stack([np.diag([1.0] * (size - 1) + [-1e-6])])
    for wrong in (-X, indefinite, 0 * X):
        assert not spectrum.upper(exact, wrong, Q(10**6))        # the slack alone is satisfied by any large rate
    for wrong in (-V, 0 * V, indefinite):
        assert not spectrum.lower(exact, wrong, Q(0))            # so is the gain by rate 0
    semidefinite = X.copy()
    semidefinite[0, 0], semidefinite[0, :, 0] = 0, 0
    assert not spectrum.upper(exact, semidefinite, Q(10**6))


def test_every_block_of_a_chain_is_checked():
    op = CASES["Markov"]()
    exact, floats = op.exact().moments, op.moments
    rate, _ = floats.perron()
    X = spectrum._resolvent(floats, rate * 1.01)
    assert len(X) == 4 and spectrum.upper(exact, X, Q(rate * 1.02))
    for k in range(4):
        wrong = X.copy()
        wrong[k] = -wrong[k]
        assert not spectrum.upper(exact, wrong, Q(rate * 1.02))
        assert not spectrum.lower(exact, wrong, Q(0))
        small = X.copy()
        small[k] = small[k] / 2**20  # inside the cone; what the other modes send into mode k is larger
        assert not spectrum.upper(exact, small, Q(rate * 1.02))


class Liar(moments.Moments):
    """Moments in floats whose rate is off by a factor."""

    def perron(self):
        rate, V = super().perron()
        return rate * self.factor, V


def lying(floats, factor):
    made = Liar(floats.mixtures, floats.chain, floats.variance)
    object.__setattr__(made, "factor", factor)
    return made


SURE = ft.Quadratic([[[1]]], [[0]])


@pytest.mark.parametrize("roots", [True, False])
@pytest.mark.parametrize("factor", [0.0, 1e-6, .5, .92, .999, 1.004, 1.08, 2.0, 1e6, np.inf, np.nan])
@pytest.mark.parametrize("case", ["Focus", "FedAvg", "sure"])
def test_certificates_survive_a_lying_float(case, factor, roots, monkeypatch):
    """A wrong guess costs time and never gives a wrong enclosure, with the mean rate's enclosure and without."""
    op = ft.derive(ft.FedAvg("1/10", 1), SURE, ft.Full()) if case == "sure" else CASES[case]()  # sure: the rate is .81
    exact, floats = op.exact().moments, op.moments
    true = floats.perron()[0]
    mean = spectrum.certify(exact, floats, 1e-2).mean
    if not roots:
        monkeypatch.setattr(spectrum, "CHARPOLY", 0)
    for given in (mean, None):
        low, high = spectrum.mean_square(exact, lying(floats, factor), 1e-2, given)
        assert low <= Q(true) * (1 + Q(1, 10**9)) and Q(true) * (1 - Q(1, 10**9)) <= high
        assert high - low <= high / 50


def test_a_mean_rate_that_is_too_large_for_the_guess_proves_nothing():
    op = ft.derive(ft.FedAvg("1/10", 1), SURE, ft.Full())
    found = spectrum._around(op.exact().moments, lying(op.moments, 1.0), .81 / 1.08, None, 1e-2, (Q(9, 10), Q(9, 10)))
    assert found is None


def test_tiny_rates_keep_their_digits():
    op = ft.derive(ft.FedAvg(1 - Q(1, 10**9), 1), SURE, ft.Full())     # the mean-square rate is 1e-18
    low, high = op.certify().mean_square
    assert 0 < low <= Q(1, 10**18) <= high <= low * Q(102, 100)


def test_stability_at_one_is_decided_exactly():
    """Enclosures that contain 1 leave it open; the exact map does not."""
    for lr, stable in ((2 - Q(1, 10**12), True), (Q(2), False), (2 + Q(1, 10**12), False)):
        assert ft.derive(ft.FedAvg(lr, 1), SURE, ft.Full()).certify().stable is stable


@needs_flint
def test_rates_beyond_matrices_are_decided_by_roots():
    # an invertible deterministic round: T has no interior Perron direction that survives rounding
    problem = ft.Quadratic([[[1, 0], [0, 3]], [[2, 0], [0, 1]]], [[1, 0], [0, 1]])
    op = ft.derive(ft.FedAvg("1/10", (1, 3)), problem, ft.Full())
    encloses(op)
    low, high = spectrum.mean_square(op.exact().moments, op.moments, 1e-2)
    assert low <= op.rate() ** 2 <= high


# ---- special cases -------------------------------------------------------------------------------------------
@needs_flint
def test_nilpotent_rounds_have_rate_zero():
    one_step = ft.derive(ft.FedAvg(1, 1), ft.Quadratic([[[1]], [[1]]], [[1], [-1]]), ft.Uniform(1))
    found = one_step.certify()
    assert found.mean_square == (0, 0) and found.mean == (0, 0) and found.stable is True
    assert one_step.rate() == 0 and one_step.stationary().covariance == pytest.approx(np.eye(1))


def test_rates_that_floats_call_zero_are_checked_exactly():
    op = ft.derive(ft.FedAvg(1, 1), ft.Quadratic([[[1]], [[1]]], [[1], [-1]]), ft.Uniform(1))
    other = ft.derive(ft.FedAvg("999/1000", 1), ft.Quadratic([[[1]], [[1]]], [[1], [-1]]), ft.Uniform(1))
    low, high = spectrum.mean_square(other.exact().moments, op.moments, 1e-2)
    assert low <= Q(1, 10**6) <= high and not spectrum._nilpotent(other.exact().moments)


@pytest.mark.parametrize("algorithm", [ft.Scaffold(1, 1), ft.Mifa(1, 1), ft.Focus("1/2", 1)], ids=lambda a: type(a).__name__)
def test_nilpotent_maps_with_memories(algorithm):
    """Everything is forgotten after a few rounds, not after one: floats see eps^(1/k) of a Jordan block of size k."""
    op = ft.derive(algorithm, ft.Quadratic([[[1]], [[1]]], [[1], [-3]]), ft.Full())
    M = op.exact().mean_map()[0]
    assert (M != 0).any() and (np.linalg.matrix_power(M, len(M)) == 0).all()
    assert op.certify().mean_square == (0, 0) and op.certify().stable is True


def test_without_flint_certificates_say_what_is_missing(monkeypatch):
    op = ft.derive(ft.FedAvg("1/20", (1, 2, 5)), three()[0], ft.Uniform(2))
    monkeypatch.setitem(sys.modules, "flint", None)
    assert 0 < op.mean_square_rate() < 1
    with pytest.raises(MissingLibrary, match="pip install python-flint"):
        op.certify()


def test_sparse_and_dense_routes_agree(monkeypatch):
    def made():
        return ft.derive(ft.Focus(LR, 4), table1_focus(), ft.Bernoulli(CHANCES), noise=1)
    op = made()
    dense = (op.mean_square_rate(), op.stationary().covariance, op.certify().mean_square)
    monkeypatch.setattr(moments, "DENSE", 0)
    again = made()
    assert again.mean_square_rate() == pytest.approx(dense[0], rel=1e-10)
    assert np.abs(again.stationary().covariance - dense[1]).max() <= 1e-9 * np.abs(dense[1]).max()
    low, high = again.certify().mean_square
    assert low <= dense[2][1] and dense[2][0] <= high


def test_stability_is_undecided_when_the_enclosure_contains_one():
    made = [spectrum.Certificate(None, (Q(a), Q(b)), "") for a, b in (("1/2", "9/10"), ("9/10", "11/10"), ("1", "2"))]
    assert [c.stable for c in made] == [True, None, False]
    assert spectrum.Certificate(None, (Q(1, 2), Q(1)), "").stable is None


def test_exact_operators_certify_themselves():
    op = CASES["FedAvg"]().exact()
    assert op.certify().mean_square == op.in_domain(FLOAT).certify().mean_square


def test_rates_beyond_the_range_of_floats_are_certified():
    pytest.importorskip("flint")
    op = ft.derive(ft.FedAvg(1e200, 1), ft.Quadratic([[[1.0]], [[3.0]]], [[0.0], [1.0]]), ft.Full(), domain=ft.RATIONAL)
    low, high = op.certify().mean_square
    rate = (1 - 2 * Q(1e200)) ** 2
    assert low <= rate <= high <= rate * (1 + Q(1, 10**9)) and op.certify().stable is False
    with pytest.raises(ft.CertificateFailed, match="certify"):
        op.mean_square_rate()
