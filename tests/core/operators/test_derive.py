"""`derive` against reference numbers, what it refuses, and how it presents itself."""
from dataclasses import dataclass, replace
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.numbers import linalg
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Balls, fraction, have
from fltheory.core.operators.operator import Operator
from tests.core.operators.brute import P3, scalars, three
from tests.core.operators.rounds import LR, fractions, scalar
from tests.naive import focus
from verification.named_problems import scaffold_awkward, table1_focus, two_clients


# ---- reference numbers ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("law", "focus_rate", "scaffold_rate"), [
    (ft.Full(), ".4422", ".4360"),
    (ft.Uniform(1), ".8405", ".7757"),
    (ft.Bernoulli((".9", ".5", ".1"), empty="redraw"), ".9143", ".9309"),
    (ft.Bernoulli((".9", ".5", ".01"), empty="redraw"), ".9902", ".9942"),
], ids=["full", "uniform", "bernoulli-.1", "bernoulli-.01"])
def test_mean_square_rates_of_the_reference_table(law, focus_rate, scaffold_rate):
    for algorithm, expected in ((ft.Focus(LR, 4), focus_rate), (ft.Scaffold(LR, 4), scaffold_rate)):
        rate = ft.derive(algorithm, table1_focus(), law).mean_square_rate()
        assert f"{rate:.4f}" == "0" + expected


def test_scaffold_with_awkward_weights_keeps_one_invariant():
    problem, steps, lr = scaffold_awkward()
    op = ft.derive(ft.Scaffold(lr, steps), problem, ft.Full())
    assert (op.reachable, op.dimension) == (6, 7)
    assert op.invariants() == ["c[0] = 7/10 ci[0][0] + 1/5 ci[1][0] + 899/10000 ci[2][0] + 1/100 ci[3][0] "
                               "+ 1/10000 ci[4][0]"]
    assert op.rate() == pytest.approx(0.979919217251, abs=5e-13)
    anywhere = ft.derive(ft.Scaffold(lr, steps), problem, ft.Full(), start="any")
    assert anywhere.reachable == 7 and anywhere.rate() == pytest.approx(1, abs=1e-12)


def test_fixed_point_with_unequal_steps_is_an_exact_fraction():
    op = ft.derive(ft.FedAvg(LR, (1, 10)), scalar([1, 1], [0, 1]), ft.Full()).exact()
    assert fractions(op.fixed_point().x) == [Q(4108933742199, 4620933742199)]
    start = RATIONAL.array(op.fixed_point().x)
    assert fractions(op.algorithm.to(RATIONAL).round(op.problem.to(RATIONAL), type(op.algorithm.init(None, 0))(start),
                                                     op.law.typical(2)).x) == fractions(start)


def test_convergence_in_mean_beside_divergence_in_mean_square():
    op = ft.derive(ft.Focus("1/100", 1), scalar([1, 3, 10], [1, 0, -1]), ft.Bernoulli((".9", ".5", ".05")))
    assert f"{op.rate():.4f} {op.mean_square_rate():.4f}" == "0.9545 1.0063"
    assert not op.stable and op.floor() == np.inf and op.exact().floor() == np.inf
    assert op.fixed_point().x == pytest.approx((1 - 10) / 14)
    for each in (op, op.exact()):
        with pytest.raises(ft.NoFixedPoint, match=r"mean-square rate 1\.0062\d+ >= 1"):
            each.stationary()


def test_longer_local_work_damps_the_unstable_instance():
    problem, law = scalar([1, 3, 10], [1, 0, -1]), ft.Bernoulli((".9", ".5", ".05"))
    rates = [ft.derive(ft.Focus("1/100", tau), problem, law).mean_square_rate() for tau in (1, 2, 5, 20)]
    assert [f"{r:.4f}" for r in rates] == ["1.0063", "0.9988", "0.9838", "0.9674"]


@pytest.mark.parametrize("p", ["1/2", "1/5", "9/10"])
def test_threshold_of_focus_with_one_client_is_met_exactly(p):
    p = Q(p)
    edge = 2 * p / (2 - p)                                       # of eta h

    def op(eta):
        return ft.derive(ft.Focus(eta, 1), scalar([1], [0]), ft.Bernoulli((p,)))
    T = op(edge).exact().moments.second_matrix()
    assert linalg.determinant(linalg.identity(len(T), T) - T) == 0
    assert op(edge).mean_square_rate() == pytest.approx(1, abs=1e-9)
    if have("flint"):
        below, above = op(edge * Q(999, 1000)).certify(1e-4), op(edge * Q(1001, 1000)).certify(1e-4)
        assert below.stable is True and above.stable is False
        low, high = op(edge).certify(1e-4).mean_square
        assert low < 1 <= high and op(edge).certify(1e-4).stable is False  # the enclosure leaves it open, the exact map does not


@pytest.mark.parametrize(("n", "values"), [(2, "2 1.9604 1.2 .43902 .20994"), (4, "2 2.1758 2 .85714 .41758")])
def test_threshold_of_focus_with_equal_clients(n, values):
    for p, printed in zip(map(Q, ("1", ".9", ".5", ".2", ".1")), values.split(), strict=True):
        edge = 2 * n * p * (2 - p) / (n * p * p - 4 * p + 4)     # of eta n h
        assert float(edge) == pytest.approx(float(printed), abs=6e-5)
        op = ft.derive(ft.Focus(edge / n, 1), scalar([1] * n, [0] * n), ft.Bernoulli((p,) * n))
        assert op.mean_square_rate() == pytest.approx(1, abs=1e-7)


@pytest.mark.parametrize(("p", "correlation"), [("1/2", "1/2"), ("1/4", "1/3"), ("3/5", "-1/5"), ("1/3", 0)])
def test_markov_threshold_of_focus_with_one_client(p, correlation):
    p, lam = Q(p), Q(correlation)
    edge = 2 * p * (1 - lam) / (2 - p * (1 + lam))               # eta h

    def rate(eta):
        return ft.derive(ft.Focus(eta, 1), scalar([1], [0]), ft.Markov(p, lam, 1)).mean_square_rate()
    assert rate(edge * Q(999, 1000)) < 1 < rate(edge * Q(1001, 1000))
    assert rate(edge) == pytest.approx(1, abs=1e-9)


# ---- what is refused -----------------------------------------------------------------------------------------
def test_no_fixed_point_names_what_is_conserved():
    problem, _ = three(None)
    everywhere = ft.derive(ft.Scaffold(LR, 2), problem, ft.Full(), start="any")
    for op in (everywhere, everywhere.exact()):
        with pytest.raises(ft.NoFixedPoint, match="eigenvalue 1 on the 10-dimensional"):
            op.fixed_point()
    flat = ft.Quadratic.from_linear([[[0]], [[0]]], [[1], [-1]])
    for op in (ft.derive(ft.FedAvg(LR, 2), flat, ft.Full()), ft.derive(ft.FedAvg(LR, 2), flat, ft.Full()).exact()):
        assert op.rate() == 1
        with pytest.raises(ft.NoFixedPoint, match="not unique or does not exist"):
            op.fixed_point()


class Norms(ft.FedAvg):
    """Normalises its change: not affine, and does not say so."""

    def server(self, x, cohort, draw, change, mass):
        total = change.sum(-2)
        return x + total * total


@pytest.mark.parametrize("domain", [FLOAT, RATIONAL, Balls()], ids=str)
@pytest.mark.parametrize("algorithm", [ft.AsyncFedED("1/20", 2), Norms("1/20", 2)], ids=lambda a: type(a).__name__)
def test_rounds_that_are_not_affine_are_refused_with_advice(algorithm, domain):
    law = ft.EventClock((1, 2, 2)) if isinstance(algorithm, ft.AsyncFedED) else ft.Full()
    if isinstance(domain, Balls):
        pytest.importorskip("flint")
    if isinstance(domain, Balls) and isinstance(algorithm, Norms):
        pytest.skip("balls cannot decide that a number is zero")
    with pytest.raises(ft.NotAffine, match=f"{type(algorithm).__name__}.*linearise"):
        ft.derive(algorithm, three()[0], law, domain=domain)


def test_too_many_outcomes_are_counted():
    problem = scalars(18, [Q(k + 1, 171) for k in range(18)])[0]
    with pytest.raises(ft.TooLarge, match=str(2**18)):
        ft.derive(ft.FedAvg(LR, 1), problem, ft.Bernoulli("1/2"), domain=ft.RATIONAL)  # floats integrate: tests of stars
    with pytest.raises(ft.TooLarge, match=str(18**4)):
        ft.derive(ft.FedAvg(LR, 1), problem, ft.WithReplacement(4))
    with pytest.raises(ft.TooLarge, match=r"2\^18"):
        ft.derive(ft.FedAvg(LR), problem, ft.Full(steps=ft.RandomSteps([("1/2", 1), ("1/2", 2)])))


@pytest.mark.parametrize(("build", "message"), [
    (lambda p: ft.derive(ft.Scaffold(LR, 1), p, ft.WithReplacement(2)), "keep memories"),
    (lambda p: ft.derive(ft.Focus(LR, 1), p, ft.WithReplacement(2)), "keep memories"),
    (lambda p: ft.derive(ft.FedAvg(LR, 2), p, ft.Full(steps=3)), "already fixes steps=3"),
    (lambda p: ft.derive(ft.FedAvg(LR, 2), p, ft.Replay([((0,), 2)])), "already fixes the steps"),
    (lambda p: ft.derive(ft.FedAvg(LR), p, ft.Full()), "needs local steps"),
    (lambda p: ft.derive(ft.FedAvg(LR, (1, 2)), p, ft.Full()), "one per client, so 3"),
    (lambda p: ft.derive(ft.FedAvg(LR, 1), p, ft.Full(noise=1), noise=2), "already has noise=1"),
    (lambda p: ft.derive(ft.FedAvg(LR, 1), p, ft.Full(), noise=-1), "standard deviation is >= 0"),
    (lambda p: ft.derive(ft.FedAvg(LR, 1), p, ft.Full(batch=2)), "no rows"),
    (lambda p: ft.derive(ft.FedAvg(LR, 1), ft.Ridge([[[1]]], [[1]], 1), ft.Full(batch=1)), "additive noise"),
    (lambda p: ft.derive(ft.FedAvg(LR, 1), p, ft.Bernoulli((0, 1, 1))), r"lie in \(0, 1\]"),
    (lambda p: ft.derive(ft.FedAvg(LR, 1), p, ft.Bernoulli((1, 1))), "one probability per client"),
    (lambda p: ft.derive(ft.FedAvg(LR, 1), p, ft.Uniform(4)), "only 3 clients"),
    (lambda p: ft.derive(ft.FedAvg(LR, 1), p, ft.Full), "no law of participation"),
    (lambda p: ft.derive(ft.FedAvg(LR, 1), p, "full"), "no law of participation"),
    (lambda p: ft.derive(ft.FedAvg(LR, 1), p, ft.Full(), start="here"), '"init" or "any"'),
    (lambda p: ft.derive(ft.FedAvg(LR, 1), p, ft.Full()).mean_gradient_square(p, 0, [0, 0]), "at least one round"),
    (lambda p: list(ft.derive(ft.FedAvg(LR, 1), p, ft.Full()).trajectory(2, [0, 0, 0])), "x0"),
    (lambda p: list(ft.derive(ft.FedAvg(LR, 1), p, ft.Full()).trajectory(2, 1)), "x0"),
    (lambda p: ft.surrogate_weights(ft.Scaffold(LR, 1), ft.Full(), 3), "state is the model"),
])
def test_combinations_without_a_meaning_are_refused(build, message):
    with pytest.raises(ft.BadInput, match=message):
        build(three()[0])


def test_equal_noise_given_twice_is_no_contradiction():
    op = ft.derive(ft.FedAvg(LR, 1), three()[0], ft.Full(noise="1/2"), noise=Q(1, 2))
    assert op.stationary().covariance.trace() > 0


# ---- surrogate weights ---------------------------------------------------------------------------------------
def test_surrogate_weights():
    p = ["1/2", "3/10", "1/5"]
    exact = [fraction(v) for v in p]
    expected = [Q(5, 37), Q(12, 37), Q(20, 37)]
    assert fractions(ft.surrogate_weights(ft.FedAvg(LR, (1, 4, 10)), ft.Full(), 3, p)) == expected
    for solver in (ft.Vanilla(), ft.Momentum("9/10"), ft.Proximal(mu="1/2"), ft.Decay("1/2")):
        assert fractions(ft.surrogate_weights(ft.FedNova(LR, (1, 4, 10), solver), ft.Full(), 3, p)) == exact
    nova = ft.surrogate_weights(ft.FedNova(LR, (1, 2, 10)), ft.Uniform(2), 3)
    assert fractions(nova) == [Q(14, 52), Q(15, 52), Q(23, 52)]
    fixed = ft.surrogate_weights(ft.FedNova(LR, (1, 2, 10), tau_eff=3), ft.Uniform(2), 3)
    assert fractions(fixed) == [Q(1, 3)] * 3
    unequal = [ft.surrogate_weights(a, ft.Uniform(2), 3, (Q(7, 10), Q(1, 5), Q(1, 10)))
               for a in (ft.FedNova(LR, 4), ft.FedAvg(LR, 4))]
    for w in unequal:
        assert [f"{float(v):.3f}" for v in w] == ["0.551", "0.296", "0.153"] and sum(fractions(w)) == 1
    plain = ft.surrogate_weights(ft.FedAvg(LR, 4, averaging="plain"), ft.WithReplacement(2, p), 3, p)
    assert fractions(plain) == exact
    assert ft.surrogate_weights(ft.FedAvg(LR, (1, 4, 10)), ft.Full(), 3, p, FLOAT) == pytest.approx(
        [float(v) for v in expected])


@pytest.mark.parametrize("n", [2, 16])
def test_surrogate_weights_of_a_proximal_term_are_the_limit(n):
    """mu held: lr mu vanishes with lr, so the local steps count as plain ones; at a given lr they do not."""
    steps, mu, lr = (1, *[10] * (n - 1)), 5, Q(1, 20)
    algorithm = ft.FedAvg(lr, steps, ft.Proximal(mu=mu))
    w = ft.surrogate_weights(algorithm, ft.Full(), n)
    assert list(w) == [Q(tau, sum(steps)) for tau in steps] and all(type(v) is Q for v in w)
    mass = [(1 - (1 - lr * mu) ** tau) / (lr * mu) for tau in steps]
    assert list(ft.step_weights(algorithm, ft.Full(), n)) == [v / sum(mass) for v in mass]
    tiny = ft.step_weights(replace(algorithm, lr=Q(1, 10**12)), ft.Full(), n)
    assert max(abs(a - b) for a, b in zip(w, tiny, strict=True)) < Q(1, 10**9)
    held = replace(algorithm, solver=ft.Proximal(alpha=lr * mu))   # alpha held: the limit is the value
    assert list(ft.surrogate_weights(held, ft.Full(), n)) == list(ft.step_weights(algorithm, ft.Full(), n))
    floats = ft.surrogate_weights(algorithm, ft.Full(), n, domain=FLOAT)
    assert floats.dtype == float and floats == pytest.approx(w.astype(float))


def test_a_limit_of_many_clients_is_refused_with_the_remedy():
    with pytest.raises(ft.TooLarge, match="step_weights"):
        ft.surrogate_weights(ft.FedAvg(LR, tuple(range(1, 18)), ft.Proximal(mu=1)), ft.Full(), 17)


def test_surrogate_weights_over_modes():
    cyclic = ft.surrogate_weights(ft.FedAvg(LR, (1, 2, 3)), ft.Cyclic([(0, 1), (2,)]), 3)
    assert fractions(cyclic) == [Q(1, 9), Q(2, 9), Q(6, 9)]      # steps/|S|: 1/2, 1, 3
    markov = ft.surrogate_weights(ft.FedAvg(LR, 2), ft.Markov(("1/2", "1/3"), "1/5", 2), 2)
    plain = ft.surrogate_weights(ft.FedAvg(LR, 2), ft.Bernoulli(("1/2", "1/3")), 2)
    assert fractions(markov) == fractions(plain)


def test_small_steps_reach_the_surrogate_minimiser():
    problem, _ = three()
    w = ft.surrogate_weights(ft.FedAvg(LR, (1, 4, 10)), ft.Full(), 3, P3)
    best = np.array([float(v) for v in ft.surrogate_optimum(problem, fractions(w)).x])
    gaps = [np.abs(ft.derive(ft.FedAvg(lr, (1, 4, 10)), problem, ft.Full()).fixed_point().x - best).max()
            for lr in ("1/100", "1/1000", "1/10000")]
    assert gaps[0] > 5 * gaps[1] > 25 * gaps[2]


# ---- how it presents itself ----------------------------------------------------------------------------------
def test_only_derive_makes_operators_and_they_show_what_they_are():
    op = ft.derive(ft.Scaffold(LR, 2), three(None)[0], ft.Uniform(2))
    assert isinstance(op, Operator) and "8 of 10" in op._repr_html_() and "Scaffold" in op._repr_html_()
    with pytest.raises(AttributeError):
        op.law = ft.Full()


def test_warm_and_zero_starts_share_the_operator_but_not_the_path():
    problem, clients = three(None)
    for start in ("zero", "warm"):
        op = ft.derive(ft.Focus(LR, 2, init=start), problem, ft.Full(), domain=RATIONAL)
        history = focus.rounds(clients, [Q(3), Q(-2)], LR, [[(i, 2) for i in range(3)]] * 3, init=start)
        path = [fractions(mean) for mean, _ in op.trajectory(4, [3, -2])]
        assert path == [[Q(3), Q(-2)], *(x for x, _, _ in history)]
    assert replace(ft.Focus(LR, 2, init="warm"), lr=Q(1, 50)).start == "warm"


@dataclass(frozen=True)
class Straight(ft.FedAvg):
    """Identity round: every point is a fixed point."""

    def server(self, x, cohort, draw, change, mass):
        return x + 0 * change.sum(-2)


def test_a_round_that_does_nothing():
    op = ft.derive(Straight(LR, 1), two_clients(), ft.Full())
    assert op.rate() == 1 and op.mean_square_rate() == 1 and not op.stable and op.floor() == np.inf
    with pytest.raises(ft.NoFixedPoint):
        op.fixed_point()


@pytest.mark.parametrize(("n", "d", "domain"), [(200, 50, FLOAT), (301, 2, FLOAT), (130, 2, RATIONAL), (2, 2600, FLOAT)])
def test_states_beyond_reach_are_refused_before_any_work(n, d, domain, monkeypatch):
    problem = ft.Quadratic(np.broadcast_to(np.eye(d), (n, d, d)), np.zeros((n, d)))
    for step in ("mixtures", "reachable", "confirm_affine"):
        monkeypatch.setattr(f"fltheory.core.operators.operator.{step}", None)
    for algorithm in (ft.Scaffold(LR, 2), ft.Focus(LR, 2)) if n > 2 else (ft.FedAvg(LR, 2),):
        with pytest.raises(ft.TooLarge, match=r"state of \d+ numbers.*derived up to \d+.*ft\.run"):
            ft.derive(algorithm, problem, ft.Uniform(2), domain=domain, method="dense")


def test_symbols_in_the_algorithm_alone():
    eta = ft.Field("eta").symbols[0]
    op = ft.derive(ft.FedAvg(eta, 1), ft.Quadratic([[[1]], [[3]]], [[0], [1]]), ft.Full(), domain=ft.Field("eta"))
    assert op.mean_map()[0][0, 0] == 1 - 2 * eta and op.fixed_point().x[0] == Q(3, 4)


def test_enclosures_of_operators_do_not_depend_on_other_precisions():
    flint = pytest.importorskip("flint")
    before = flint.ctx.prec

    def made(bits):
        return ft.derive(ft.FedAvg("1/20", (1, 2, 5)), three()[0], ft.Uniform(2), noise=1, domain=Balls(bits))

    def widths(op):
        (_, last) = [*op.trajectory(2, [1, 1])]
        return [float(v.rad()) for v in (op.fixed_point().x[0], op.floor([0, 0]), op.mean_map()[0][0, 0], last[1][0, 0])]
    rough, fine = made(64), made(600)
    alone = widths(rough)
    assert all(1e-25 < w < 1e-10 for w in alone) and max(widths(fine)) < 1e-150
    assert widths(rough) == alone == widths(made(64)) and max(widths(fine)) < 1e-150
    assert flint.ctx.prec == before


@pytest.mark.parametrize("ask", ["floor", "stationary", "certify", "mean_square_rate"])
def test_an_operator_is_built_once_in_every_arithmetic(ask, monkeypatch):
    pytest.importorskip("flint")
    from fltheory.core.operators import operator
    op = ft.derive(ft.FedAvg("1/20", (1, 2, 5)), three()[0], ft.Uniform(2), noise=1, domain=RATIONAL)
    calls, build = [], operator.listed
    monkeypatch.setattr(operator, "listed", lambda *args: calls.append(args[5]) or build(*args))
    first, again = getattr(op, ask)(), getattr(op, ask)()
    assert len(calls) <= 1 and str(first) == str(again)
    assert op.in_domain(FLOAT).exact().reach is op.reach and op.exact() is op
