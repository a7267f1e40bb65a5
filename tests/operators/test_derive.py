"""`derive` against reference numbers, against brute force, and against its own symmetries."""
import itertools
from dataclasses import dataclass, replace
from fractions import Fraction as Q

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fltheory as ft
from fltheory import linalg
from fltheory.operators import outcomes
from fltheory.operators.operator import Operator
from fltheory.problems.instances import scaffold_awkward, table1_focus, two_clients
from fltheory.scalars import FLOAT, RATIONAL, Balls, fraction, have
from tests.naive import fedavg, focus
from tests.operators import brute
from tests.operators.brute import P3, bernoulli, kron_rate, kron_stationary, maps, scalars, three, uniform

quick = settings(derandomize=True, deadline=None, max_examples=12)
LR = Q(1, 20)


def scalar(h, minimisers, weights=None):
    return ft.Quadratic([[[v]] for v in h], [[v] for v in minimisers], weights)


def fractions(array):
    return [fraction(v) for v in np.asarray(array).reshape(-1)]


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
        assert op(edge).certify(1e-4).stable is None


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


# ---- two routes ----------------------------------------------------------------------------------------------
TAU = (2, 1, 3)
CHANCES = [Q(9, 10), Q(1, 2), Q(1, 5)]
LAWS = [(ft.Full(), [(Q(1), [0, 1, 2])]), (ft.Uniform(2), uniform(3, 2)), (ft.Bernoulli(CHANCES), bernoulli(CHANCES)),
        (ft.Bernoulli(CHANCES, empty="redraw"), bernoulli(CHANCES, "redraw")),
        (ft.Bernoulli((1, *CHANCES[1:]), empty="redraw"), bernoulli([Q(1), *CHANCES[1:]], "redraw"))]
NAMES = ["full", "uniform", "bernoulli", "redraw", "certain client"]
ROUNDS = {ft.FedAvg: brute.fedavg_round, ft.Scaffold: brute.scaffold_round, ft.Focus: brute.focus_round}


def cohort(members):
    return [(i, TAU[i]) for i in members]


def test_the_focus_loop_with_a_free_start_is_the_twin():
    _, clients = three()
    schedule = [cohort(s) for s in ([0, 2], [], [1], [0, 1, 2])]
    z = [Q(3), Q(-2)] + [Q(0)] * 6
    for history, group in zip(focus.rounds(clients, z[:2], LR, schedule), schedule, strict=True):
        z = brute.focus_round(clients, LR, group)(z)
        x, _, g = history
        assert z == [v for part in (x, *g) for v in part]


@pytest.mark.parametrize(("law", "chances"), LAWS, ids=NAMES)
@pytest.mark.parametrize("kind", ROUNDS, ids=lambda k: k.__name__)
def test_rates_and_stationary_laws_agree_with_listed_cohorts(kind, law, chances):
    problem, clients = three(None if kind is ft.Focus else P3)
    clients = brute.in_floats(clients)
    D = 2 if kind is ft.FedAvg else 8
    q, made = maps(chances, lambda members: ROUNDS[kind](clients, 0.05, cohort(members)), D)
    op = ft.derive(kind(LR, TAU), problem, law)
    assert op.reachable == D
    mean = sum(w * A for w, A in zip(q, made, strict=True))
    assert op.rate() == pytest.approx(np.abs(np.linalg.eigvals(mean[:, :D])).max(), rel=1e-12)
    assert op.mean_square_rate() == pytest.approx(kron_rate(q, made), rel=1e-10)
    x, covariance = kron_stationary(q, made)
    law = op.stationary()
    assert law.mean == pytest.approx(x[:2], rel=1e-10) and op.fixed_point().x == pytest.approx(x[:2], rel=1e-10)
    assert np.abs(law.covariance - covariance[:2, :2]).max() <= 1e-12 * max(1, np.abs(covariance).max())


@pytest.mark.parametrize(("law", "chances"), LAWS, ids=NAMES)
def test_noise_floors_agree_with_listed_cohorts(law, chances):
    problem, clients = three()
    clients = brute.in_floats(clients)
    sigma = Q(3, 2)
    q, made = maps(chances, lambda members: brute.fedavg_round(clients, 0.05, cohort(members)), 2)
    G = [brute.fedavg_noise(clients, 0.05, cohort(members)) for _, members in chances]
    noise = sum(w * g @ g.T for w, g in zip(q, G, strict=True)) * float(sigma) ** 2 / 2
    mean, covariance = kron_stationary(q, made, noise)
    for op in (ft.derive(ft.FedAvg(LR, TAU), problem, law, noise=sigma),
               ft.derive(ft.FedAvg(LR, TAU), problem, law.with_noise(sigma))):
        assert np.abs(op.stationary().covariance - covariance).max() <= 1e-12
        best = np.array([float(v) for v in ft.optimum(problem).x])
        assert op.floor() == pytest.approx(((mean - best) ** 2).sum() + np.trace(covariance), rel=1e-10)
        assert op.floor(reference=[0, 0]) == pytest.approx((mean**2).sum() + np.trace(covariance), rel=1e-10)


def test_noise_of_one_client_by_hand():
    # x' = (1 - a) x - eta xi, so the variance is eta^2 sigma^2 / (1 - (1 - a)^2)
    op = ft.derive(ft.FedAvg("1/10", 1), scalar([2], [3]), ft.Full(), noise="1/2").exact()
    assert fractions(op.stationary().covariance) == [Q(1, 100) * Q(1, 4) / (1 - Q(4, 5) ** 2)]
    assert fractions([op.floor()]) == fractions(op.stationary().covariance)


@pytest.mark.parametrize("empty", ["move", "skip", "redraw"])
@pytest.mark.parametrize("algorithm", [ft.Scaffold(LR, TAU), ft.Focus(LR, TAU), ft.FedAvg(LR, TAU)],
                         ids=lambda a: type(a).__name__)
def test_exact_operators_equal_float_ones(algorithm, empty):
    problem, _ = three()
    op = ft.derive(algorithm, problem, ft.Bernoulli(CHANCES, empty=empty), noise=1)
    exact = op.exact()
    assert exact.domain is RATIONAL and exact.exact() is exact and exact.reach is op.reach
    pairs = [*zip(op.mean_map(), exact.mean_map(), strict=True), (op.fixed_point().x, exact.fixed_point().x),
             (op.fixed_point().state, exact.fixed_point().state)]
    if type(algorithm) is ft.FedAvg:
        pairs += [(op.stationary().covariance, exact.stationary().covariance), ([op.floor()], [exact.floor()])]
    for ours, theirs in pairs:
        theirs = np.array([float(v) for v in np.asarray(theirs, dtype=object).reshape(-1)])
        assert np.abs(np.asarray(ours).reshape(-1) - theirs).max() <= 1e-12 * max(1, np.abs(theirs).max())
    assert exact.rate() == pytest.approx(op.rate(), rel=1e-12)
    assert exact.mean_square_rate() == op.mean_square_rate()


def test_skipped_rounds_keep_everything():
    problem, _ = three(None)
    skip, redraw = (ft.derive(ft.Focus(LR, 2), problem, ft.Bernoulli(CHANCES, empty=e)) for e in ("skip", "redraw"))
    nobody = float((1 - CHANCES[0]) * (1 - CHANCES[1]) * (1 - CHANCES[2]))
    M, R = skip.mean_map()[0], redraw.mean_map()[0]
    assert np.abs(M - nobody * np.eye(len(M)) - (1 - nobody) * R).max() <= 1e-14
    assert skip.mean_square_rate() == pytest.approx(nobody + (1 - nobody) * redraw.mean_square_rate(), rel=1e-12)


def test_twins_decide_fednova_and_solvers():
    problem, clients = three()
    for solver, twin in ((ft.Proximal(mu="1/2"), ("proximal", Q(1, 2))), (ft.Momentum("1/3"), ("momentum", Q(1, 3))),
                         (ft.Decay("4/5"), ("decay", Q(4, 5)))):
        M, c = ft.derive(ft.FedAvg(LR, TAU, solver), problem, ft.Uniform(2)).exact().mean_map()
        made = [brute.affine(brute.fedavg_round(clients, LR, cohort(s), twin), 2, Q(0), Q(1)) for _, s in uniform(3, 2)]
        expected = sum(made[1:], made[0]) / 3
        assert fractions(np.concatenate([M, c[:, None]], axis=1)) == list(expected.reshape(-1))


# ---- moments of features ------------------------------------------------------------------------------------
FEATURED = [(ft.Bernoulli(tuple(Q(k + 1, 8) for k in range(7)), empty=e), 7) for e in ("move", "skip", "redraw")]
FEATURED += [(ft.Uniform(3), 7), (ft.Uniform(4), 6), (ft.Bernoulli((1, *(Q(k + 1, 9) for k in range(6)))), 7)]


def pair(monkeypatch, algorithm, problem, law, domain=FLOAT, noise=None):
    """The operator through features and by enumeration, each by its own way of finding the reachable space."""
    with monkeypatch.context() as m:
        m.setattr(outcomes, "FEW", 1)
        featured = ft.derive(algorithm, problem, law, noise=noise, domain=domain)
        m.setattr(outcomes, "FEW", 10**6)
        listed = ft.derive(algorithm, problem, law, noise=noise, domain=domain)
    assert featured.moments.mixtures[0].gram.ndim == 2 and listed.moments.mixtures[0].gram.ndim == 1
    return featured, listed


@pytest.mark.parametrize(("law", "n"), FEATURED, ids=["move", "skip", "redraw", "3 of 7", "4 of 6", "certain client"])
@pytest.mark.parametrize("algorithm", [ft.Scaffold("1/20", 2), ft.Focus("1/50", 2), ft.FedAvg("1/20", 2)],
                         ids=lambda a: type(a).__name__)
def test_features_equal_enumeration(monkeypatch, algorithm, law, n):
    problem, _ = scalars(n)
    featured, listed = pair(monkeypatch, algorithm, problem, law, noise=1)
    assert featured.reach.rows == listed.reach.rows and (featured.reach.V == listed.reach.V).all()
    assert featured.rate() == pytest.approx(listed.rate(), abs=1e-10)
    assert featured.mean_square_rate() == pytest.approx(listed.mean_square_rate(), abs=1e-10)
    if listed.stable:
        assert featured.stationary().covariance == pytest.approx(listed.stationary().covariance, rel=1e-9, abs=1e-12)


def test_features_equal_enumeration_when_the_law_offers_no_moments(monkeypatch):
    problem, law = scalars(7)[0], ft.Bernoulli(tuple(Q(k + 1, 8) for k in range(7)))
    featured = ft.derive(ft.Focus("1/50", 2), problem, law)      # 128 cohorts are beyond the few that are listed
    assert featured.moments.mixtures[0].gram.ndim == 2
    monkeypatch.setattr(ft.Bernoulli, "feature_moments", lambda self, n: None)
    listed = ft.derive(ft.Focus("1/50", 2), problem, law)
    assert listed.moments.mixtures[0].gram.ndim == 1
    assert featured.mean_square_rate() == pytest.approx(listed.mean_square_rate(), abs=1e-10)


FOUR = ("3/4", "1/2", "1/3", "1/5")


@pytest.mark.parametrize("law", [*(ft.Bernoulli(FOUR, empty=e) for e in ("move", "skip", "redraw")), ft.Uniform(2)],
                         ids=["move", "skip", "redraw", "uniform"])
@pytest.mark.parametrize("algorithm", [ft.Scaffold("1/20", 2), ft.Focus("1/50", (2, 1, 3, 1))],
                         ids=lambda a: type(a).__name__)
def test_features_equal_enumeration_exactly(monkeypatch, algorithm, law):
    problem, _ = scalars(4)
    featured, listed = pair(monkeypatch, algorithm, problem, law, RATIONAL, noise=1)
    r = listed.reachable
    rng = np.random.default_rng(0)
    A = rng.integers(-3, 4, (r, r))
    X = RATIONAL.array((A + A.T).astype(object))[None]
    pi = featured.moments.stationary_modes()
    m = X[:, 0]
    for ours, theirs in ((featured.moments.second(X), listed.moments.second(X)),
                         (featured.moments.second_adjoint(X), listed.moments.second_adjoint(X)),
                         (featured.moments.step(pi, m, X)[2], listed.moments.step(pi, m, X)[2]),
                         *zip(featured.mean_map(), listed.mean_map(), strict=True)):
        assert (ours == theirs).all()


def test_fedavg_with_unequal_weights_is_enumerated(monkeypatch):
    weights = [Q(k + 1, 28) for k in range(7)]
    problem, clients = scalars(7, weights)
    p = [Q(k + 1, 8) for k in range(7)]
    op = ft.derive(ft.FedAvg(LR, 2), problem, ft.Bernoulli(tuple(p)))
    assert op.moments.mixtures[0].gram.ndim == 1
    clients = brute.in_floats(clients)
    q, made = maps(bernoulli(p), lambda s: brute.fedavg_round(clients, 0.05, [(i, 2) for i in s]), 1)
    assert op.mean_square_rate() == pytest.approx(kron_rate(q, made), rel=1e-12)
    mean, covariance = kron_stationary(q, made)
    assert op.stationary().mean == pytest.approx(mean) and op.stationary().covariance == pytest.approx(covariance)


def test_the_adjoint_is_adjoint():
    problem, _ = three(None)
    for law in (ft.Bernoulli(CHANCES), ft.Markov(CHANCES, "1/10", 3)):
        moments = ft.derive(ft.Focus(LR, 2), problem, law).moments
        rng = np.random.default_rng(1)
        X, V = (a + np.swapaxes(a, 1, 2) for a in rng.standard_normal((2, moments.modes, moments.size, moments.size)))
        assert (moments.second(X) * V).sum() == pytest.approx((X * moments.second_adjoint(V)).sum(), rel=1e-12)


# ---- laws with memory ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("algorithm", [ft.FedAvg(LR, 2), ft.Scaffold(LR, 2), ft.Focus(LR, 2)],
                         ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("empty", ["move", "skip"])
def test_markov_without_correlation_is_bernoulli(algorithm, empty):
    problem, _ = three(None)
    markov = ft.derive(algorithm, problem, ft.Markov(CHANCES, 0, 3, empty=empty), noise=1)
    plain = ft.derive(algorithm, problem, ft.Bernoulli(CHANCES, empty=empty), noise=1)
    assert markov.moments.modes == 8 and plain.moments.modes == 1
    assert markov.rate() == pytest.approx(plain.rate(), rel=1e-9)
    assert markov.mean_square_rate() == pytest.approx(plain.mean_square_rate(), rel=1e-9)
    assert markov.fixed_point().x == pytest.approx(plain.fixed_point().x, rel=1e-10)
    assert markov.stationary().covariance == pytest.approx(plain.stationary().covariance, rel=1e-9)
    for (m, S), (n, T) in zip(markov.trajectory(4, [3, -2]), plain.trajectory(4, [3, -2]), strict=True):
        assert m == pytest.approx(n, rel=1e-12) and np.abs(S - T).max() <= 1e-12 * np.abs(T).max()


@pytest.mark.parametrize("kind", ROUNDS, ids=lambda k: k.__name__)
def test_cyclic_groups_are_composed_rounds(kind):
    problem, clients = three(None)
    clients, groups = brute.in_floats(clients), [(0, 1), (2,), (1,)]
    D = 2 if kind is ft.FedAvg else 8
    made = [brute.affine(ROUNDS[kind](clients, 0.05, cohort(g)), D).astype(float) for g in groups]
    op = ft.derive(kind(LR, TAU), problem, ft.Cyclic(groups))
    product = made[2][:, :D] @ made[1][:, :D] @ made[0][:, :D]
    radius = np.abs(np.linalg.eigvals(product)).max()
    assert op.rate() == pytest.approx(radius ** (1 / 3), rel=1e-9)
    assert op.mean_square_rate() == pytest.approx(radius ** (2 / 3), rel=1e-8)
    z = np.linalg.solve(np.eye(D) - product, made[2] @ np.append(made[1] @ np.append(made[0][:, D], 1), 1))
    orbit = [z]
    for A in made[:2]:
        orbit.append(A @ np.append(orbit[-1], 1))
    expected = np.mean([v[:2] for v in orbit], axis=0)
    assert op.fixed_point().x == pytest.approx(expected, rel=1e-9)
    spread = np.mean([np.outer(v[:2] - expected, v[:2] - expected) for v in orbit], axis=0)
    assert op.stationary().covariance == pytest.approx(spread, rel=1e-7, abs=1e-12)


def test_replayed_steps_vary_by_round():
    problem, clients = three()
    schedule = [((0, 1), (2, 3, 1)), ((2,), 4), ((0, 1, 2), (1, 1, 2))]
    op = ft.derive(ft.FedAvg(LR), problem, ft.Replay(schedule)).exact()
    rounds = [[(i, s if isinstance(s, int) else s[i]) for i in who] for who, s in schedule] * 2
    history = fedavg.rounds(clients, [Q(3), Q(-2)], LR, rounds)
    path = list(op.trajectory(7, [3, -2]))
    for (mean, second), x in zip(path, [[Q(3), Q(-2)], *history], strict=True):
        assert fractions(mean) == x and fractions(second) == [a * b for a in x for b in x]
    made = [brute.affine(brute.fedavg_round(clients, LR, r), 2, Q(0), Q(1))[:, :2].astype(float) for r in rounds[:3]]
    radius = np.abs(np.linalg.eigvals(made[2] @ made[1] @ made[0])).max()
    assert op.rate() == pytest.approx(radius ** (1 / 3), rel=1e-9)


def test_random_steps_are_enumerated():
    problem, clients = three()
    law = ft.Uniform(2, steps=ft.RandomSteps([("1/4", 1), ("3/4", 3)]))
    M, c = ft.derive(ft.FedAvg(LR), problem, law).exact().mean_map()
    total = 0
    for (q, members), taus in itertools.product(uniform(3, 2), itertools.product((1, 3), repeat=3)):
        weight = q * np.prod([Q(1, 4) if t == 1 else Q(3, 4) for t in taus])
        step = brute.fedavg_round(clients, LR, [(i, taus[i]) for i in members])
        total = total + weight * brute.affine(step, 2, Q(0), Q(1))
    assert fractions(np.concatenate([M, c[:, None]], axis=1)) == list(total.reshape(-1))


def test_repeated_clients_make_fresh_runs():
    # on flat losses client i's change has variance sigma^2 lr^2 steps_i: p = (.5, .3, .2), v = (1, 2, 5), three draws
    p, v = [Q(1, 2), Q(3, 10), Q(1, 5)], [1, 2, 5]
    problem = ft.Quadratic.from_linear([[[0]]] * 3, [[0]] * 3, p)
    op = ft.derive(ft.FedAvg(1, tuple(v), averaging="plain"), problem, ft.WithReplacement(3, p), noise=1)
    (_, _), (first, second) = op.exact().trajectory(2, [0])
    assert fractions(first) == [0] and fractions(second) == [Q(7, 10)]
    shared = sum(p[a] * p[b] * p[c] * sum(Q([a, b, c].count(i), 3) ** 2 * v[i] for i in {a, b, c})
                 for a, b, c in itertools.product(range(3), repeat=3))
    assert shared == Q(112, 100)                                 # what one shared run per client would give


def test_noise_of_rounds_with_unequal_numbers_of_slots(monkeypatch):
    from fltheory.operators import probe
    problem, clients = three()
    law = ft.Uniform(2, steps=ft.RandomSteps([("1/2", 1), ("1/2", 3)]), noise=1)
    whole = ft.derive(ft.FedAvg(LR), problem, law)
    monkeypatch.setattr(probe, "CHUNK", 1)                       # one mask at a time, each with its own slots
    pieces = ft.derive(ft.FedAvg(LR), problem, law)
    assert whole.stationary().covariance == pytest.approx(pieces.stationary().covariance, rel=1e-12)
    clients = brute.in_floats(clients)
    chances = [(q / 8, [(i, taus[i]) for i in s]) for q, s in uniform(3, 2)
               for taus in itertools.product((1, 3), repeat=3)]
    made = [brute.affine(brute.fedavg_round(clients, 0.05, c), 2).astype(float) for _, c in chances]
    G = [brute.fedavg_noise(clients, 0.05, c) for _, c in chances]
    q = [float(v) for v, _ in chances]
    _, covariance = kron_stationary(q, made, sum(w * g @ g.T for w, g in zip(q, G, strict=True)) / 2)
    assert whole.stationary().covariance == pytest.approx(covariance, rel=1e-10)
    schedule = ft.Replay([((0, 1), 1), ((2,), 3), ((0, 1, 2), 2)])
    op = ft.derive(ft.Scaffold(LR), problem, schedule, noise=1)  # modes of unequal slots decide one subspace
    assert op.reachable == 8 and op.stationary().covariance.trace() > 0


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
    if isinstance(domain, Balls) and isinstance(algorithm, Norms):
        pytest.skip("balls cannot decide that a number is zero")
    with pytest.raises(ft.NotAffine, match=f"{type(algorithm).__name__}.*linearise"):
        ft.derive(algorithm, three()[0], law, domain=domain)


def test_too_many_outcomes_are_counted():
    problem = scalars(18, [Q(k + 1, 171) for k in range(18)])[0]
    with pytest.raises(ft.TooLarge, match=str(2**18)):
        ft.derive(ft.FedAvg(LR, 1), problem, ft.Bernoulli("1/2"))
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


# ---- symmetries ----------------------------------------------------------------------------------------------
def instances():
    """(Hessian entries, minimisers, weights, steps, probabilities) of three clients in the plane."""
    small = st.integers(-3, 3)
    client = st.tuples(small, st.integers(1, 4), st.integers(1, 4), small, small, st.integers(1, 5), st.integers(1, 3),
                       st.integers(1, 4))
    return st.lists(client, min_size=3, max_size=3)


def declared(rows):
    H = [[[Q(a + abs(o), 2), Q(o, 4)], [Q(o, 4), Q(b + abs(o), 2)]] for o, a, b, *_ in rows]
    c = [[Q(r[3]), Q(r[4])] for r in rows]
    total = sum(r[5] for r in rows)
    return H, c, [Q(r[5], total) for r in rows], tuple(r[6] for r in rows), tuple(Q(r[7], 4) for r in rows)


KINDS = [lambda lr, tau: ft.FedAvg(lr, tau), lambda lr, tau: ft.FedNova(lr, tau), lambda lr, tau: ft.Scaffold(lr, tau),
         lambda lr, tau: ft.Focus(lr, tau)]


def laws_of(p):
    return [ft.Full(), ft.Uniform(2), ft.Bernoulli(p), ft.Bernoulli(p, empty="redraw")]


def told(op):
    return [op.rate(), op.mean_square_rate(), op.reachable]


@quick
@given(instances(), st.permutations(range(3)), st.sampled_from(KINDS), st.integers(0, 3))
def test_numbering_the_clients_differently_changes_nothing(rows, order, kind, which):
    results = []
    for listed in (rows, [rows[k] for k in order]):
        H, c, w, tau, p = declared(listed)
        op = ft.derive(kind("1/50", tau), ft.Quadratic(H, c, w), laws_of(p)[which], noise=1)
        results.append((told(op), op.exact().fixed_point().x, op.floor()))
    (a, x, e), (b, y, f) = results
    assert a == pytest.approx(b, rel=1e-8) and fractions(x) == fractions(y) and e == pytest.approx(f, rel=1e-8)


@quick
@given(instances(), st.sampled_from(KINDS), st.integers(0, 3), st.integers(-5, 5),
       st.fractions(Q(1, 4), 4, max_denominator=4))
def test_moving_and_scaling_the_coordinates(rows, kind, which, shift, s):
    H, c, w, tau, p = declared(rows)
    law = laws_of(p)[which]
    op = ft.derive(kind("1/50", tau), ft.Quadratic(H, c, w), law, noise=1)
    moved = ft.derive(kind("1/50", tau), ft.Quadratic(H, [[v + shift for v in row] for row in c], w), law, noise=1)
    # f(x/s): Hessians shrink by s^2, so the step grows by s^2; gradients and their noise shrink by s
    small = [[[v / s**2 for v in row] for row in h] for h in H]
    wide = ft.Quadratic(small, [[s * v for v in row] for row in c], w)
    scaled = ft.derive(kind(Q(1, 50) * s**2, tau), wide, law, noise=1 / s)
    x = fractions(op.exact().fixed_point().x)
    assert fractions(moved.exact().fixed_point().x) == [v + shift for v in x]
    assert fractions(scaled.exact().fixed_point().x) == [s * v for v in x]
    assert told(op) == pytest.approx(told(moved), rel=1e-8) and told(op) == pytest.approx(told(scaled), rel=1e-8)
    assert op.floor() == pytest.approx(moved.floor(), rel=1e-8)
    assert op.floor() * float(s) ** 2 == pytest.approx(scaled.floor(), rel=1e-8)


@quick
@given(instances(), st.sampled_from(KINDS), st.integers(0, 3), st.fractions(Q(1, 5), 5, max_denominator=5))
def test_the_unit_of_the_losses_is_irrelevant(rows, kind, which, unit):
    H, c, w, tau, p = declared(rows)
    law = laws_of(p)[which]
    op = ft.derive(kind("1/50", tau), ft.Quadratic(H, c, w), law, noise=2)
    times = ft.Quadratic([[[unit * v for v in row] for row in h] for h in H], c, w)
    other = ft.derive(kind(Q(1, 50) / unit, tau), times, law, noise=2 * unit)
    assert told(op) == pytest.approx(told(other), rel=1e-8)
    assert fractions(op.exact().fixed_point().x) == fractions(other.exact().fixed_point().x)
    assert op.floor() == pytest.approx(other.floor(), rel=1e-8)


@quick
@given(instances(), st.sampled_from([ft.FedAvg, ft.Scaffold, ft.Focus]), st.integers(1, 3))
def test_trajectories_are_expectations_over_all_paths(rows, kind, which):
    H, c, w, tau, p = declared(rows)
    law = laws_of(p)[which]
    if kind is not ft.Focus and which == 2 and all(q < 1 for q in p):
        law, which = laws_of(p)[3], 3                            # the twins of the others keep x in an empty round too
    problem = ft.Quadratic(H, c, w)
    clients = brute.QuadraticClients(H, [list(v) for v in problem.b], w)
    chances = [uniform(3, 2), bernoulli(p), bernoulli(p, "redraw")][which - 1]
    x0, T = [Q(1), Q(-2)], 2
    D = 2 if kind is ft.FedAvg else 8
    made = [(q, ROUNDS[kind](clients, Q(1, 10), [(i, tau[i]) for i in members])) for q, members in chances]
    paths = [(Q(1), x0 + [Q(0)] * (D - 2))]
    for mean, second in ft.derive(kind("1/10", tau), problem, law, domain=RATIONAL).trajectory(T + 1, x0):
        assert fractions(mean) == [sum(q * z[k] for q, z in paths) for k in range(2)]
        assert fractions(second) == [sum(q * z[k] * z[j] for q, z in paths) for k in range(2) for j in range(2)]
        paths = [(q * r, step(z)) for q, z in paths for r, step in made]


@quick
@given(instances(), st.sampled_from(KINDS), st.integers(0, 3))
def test_long_averages_tend_to_the_stationary_one(rows, kind, which):
    H, c, w, tau, p = declared(rows)
    problem = ft.Quadratic(H, c, w)
    op = ft.derive(kind("1/10", tau), problem, laws_of(p)[which], noise=1)
    if op.mean_square_rate() > 0.99:
        return
    limit = op.mean_gradient_square(problem, None, [0, 0])
    averages = [op.mean_gradient_square(problem, T, [0, 0]) for T in (200, 400)]
    # the start is forgotten geometrically, so T (average - limit) settles: extrapolate it away
    assert 2 * averages[1] - averages[0] == pytest.approx(limit, rel=1e-3)
    assert abs(averages[1] - limit) <= abs(averages[0] - limit) + 1e-9 * limit


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
