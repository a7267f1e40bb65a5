"""Asynchronous methods on the event clock: batched rounds against one heap per replicate, event for event."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput, TooLarge
from fltheory.core.laws.draw import to_device
from fltheory.core.numbers.arrays import to_numpy
from fltheory.core.numbers.scalars import FLOAT, Torch, have
from fltheory.runs import client_tiles as tiles
from fltheory.runs.streams import Stream
from tests.naive import arrivals, asyncfeded
from tests.naive.vectors import QuadraticClients

DOMAINS = [FLOAT] + ([Torch()] if have("torch") else [])
ROUNDS, EACH = 25, 25


def switches(rng):
    """Ways to descend, as options of an algorithm and of its twin: with a penalty or momentum, kept or not, and a decaying step."""
    rho, mu, decay = rng.uniform(0.1, 0.9), rng.uniform(0.1, 2), rng.uniform(0.9, 1)
    yield {}, {}
    yield {"solver": ft.Proximal(mu=mu)}, {"mu": mu}
    yield {"decay": decay, "solver": ft.Momentum(rho)}, {"decay": decay, "rho": rho}
    yield {"momentum": "kept", "solver": ft.Momentum(rho)}, {"kept": True, "rho": rho}
    yield {"momentum": "kept", "solver": ft.Momentum(rho), "decay": decay}, {"kept": True, "rho": rho, "decay": decay}


def twins(rng, lr, own, theirs):
    """(algorithm, events of its twin) with numbers of their own."""
    lam, eps, gbar, kappa, limit = rng.uniform(0.5, 2, 5)
    alpha, a, b = rng.uniform(0.1, 1), rng.uniform(0.5, 3), int(rng.integers(0, 4))
    size, server_lr = int(rng.integers(1, 4)), rng.uniform(0.5, 1)
    ed = {"lam": lam, "eps": eps, "gbar": gbar, "kappa": kappa}

    def adaptive(discard=None, **rule):
        extra = {} if discard is None else {"discard": discard}
        return ft.AsyncFedED(lr, **ed, **extra, **rule, **own), lambda *at, **k: asyncfeded.events(
            *at, **ed, **extra, rule=rule, **theirs, **k)
    yield from (adaptive(), adaptive(limit), adaptive(rounding="strict"), adaptive(real=True), adaptive(limit, clamp=False))
    yield ft.FedBuff(lr, buffer=size, server_lr=server_lr, **own), lambda *at, **k: arrivals.events(
        *at, server=arrivals.fedbuff(size, server_lr), **theirs, **k)
    for kind in ("constant", "hinge", "polynomial"):
        for unit in ("arrivals", "time"):
            rule = alpha, kind, a, b, "lag" if unit == "arrivals" else unit
            yield ft.FedAsync(lr, alpha=alpha, staleness=kind, a=a, b=b, unit=unit, **own), lambda *at, rule=rule, **k: (
                arrivals.events(*at, server=arrivals.fedasync(*rule), **theirs, **k))


CLOCKS = [{}, {"suspension": "1/3", "hang": "5/2"}, {"suspension": "9/10", "hang": "5/2"}, {"spread": "3/4"},
          {"suspension": "1/3", "hang_law": "exponential", "spread": "1/2", "spread_law": "lognormal"},
          {"suspension": "1/2", "hang": 2, "hang_law": "fixed"},   # whole numbers: events tie
          {"suspension": "1/3", "hang": 1, "hang_of": "slowest", "spread": 1, "spread_law": "exponential"}]


def drawn(draws, r):
    """What the twin is told of replicate r: its hangs and waits, event 0 for the first runs."""
    def of(names):
        def one(event, i):
            extra, name = draws[max(event - 1, 0)].extra, names[event == 0]
            return float(extra[name][r, i]) if name in extra else 0
        return one
    return {"hang": of(("hang", "first")), "wait": of(("wait", "first wait"))}


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
@pytest.mark.parametrize("seed", range(60))
def test_the_batched_clock_is_the_heap_event_for_event(domain, seed, monkeypatch):
    """60 problems of 25 replicates, each with starts, hangs and an order of events of its own, in tiles and client by client."""
    monkeypatch.setattr(tiles, "ENTRIES", 0 if seed % 2 else 10**9)
    rng = np.random.default_rng(seed)
    n, d, K, lr = int(rng.integers(1, 6)), int(rng.integers(1, 4)), int(rng.integers(1, 4)), 0.1
    R = rng.normal(size=(n, d, d)) / 2
    H, b = R @ R.swapaxes(1, 2) + np.eye(d) / 4, rng.normal(size=(n, d))
    pace, sent = rng.integers(1, 4, n).tolist(), rng.integers(0, 3, n).tolist()
    law = ft.EventClock(pace, steps=K, transmission=sent, **CLOCKS[seed % len(CLOCKS)])
    every = list(twins(rng, lr, *list(switches(rng))[seed % 5]))
    algorithm, twin = every[seed % len(every)]
    problem, clients = ft.Quadratic.from_linear(H, b).to(domain), QuadraticClients(H.tolist(), b.tolist(), [1 / n] * n)
    alg, x0 = algorithm.to(domain), rng.normal(size=(EACH, d))
    draws = [law.sample(Stream(seed, r), n, EACH)[0] for r in range(ROUNDS)]
    mine = [to_device(v, "cpu") if isinstance(domain, Torch) else v for v in draws]
    state, seen = alg.init(problem, domain.array(x0), mine[0]), []
    for draw in mine:
        finish, K_before, lag = (to_numpy(v) for v in (state.finish, state.K, state.lag))
        state = alg.round(problem, state, draw)
        seen.append((finish.min(-1), finish.argmin(-1), np.floor(K_before), lag, to_numpy(state.x)))
    for r in range(EACH):
        events = twin(clients, x0[r].tolist(), lr, K0=K, c=pace, arrivals=ROUNDS, r=sent, **drawn(draws, r))
        for (time, who, steps, lag, x), event in zip(seen, events, strict=False):   # who has gone does not come again
            i = who[r]
            assert (i, steps[r, i], lag[r, i]) == (event["client"], event["K"], event["lag"])
            assert time[r] == pytest.approx(event["time"], rel=1e-13)
            assert np.abs(x[r] - event["x"]).max() <= 1e-11 * max(1, np.abs(x[r]).max())
        assert len(events) == ROUNDS or (not algorithm.clamp and (seen[-1][-1][r] == seen[len(events) - 1][-1][r]).all())


def test_all_switches_meet_all_clocks_and_methods():
    rng = np.random.default_rng(0)
    methods, ways = len(list(twins(rng, 0.1, {}, {}))), len(list(switches(rng)))
    met = {(k % len(CLOCKS), k % ways) for k in range(60)}
    assert len(met) == len(CLOCKS) * ways and {k % methods for k in range(60)} == set(range(methods))


def test_hangs_have_their_law_and_first_runs_draws_of_their_own():
    draw, _ = ft.EventClock(2, steps=1, suspension="1/4", hang=3).sample(Stream(5), 4, 50_000)
    for name in ("hang", "first"):
        share, size = (draw.extra[name] > 0).mean(), draw.extra[name][draw.extra[name] > 0]
        assert abs(share - 0.25) < 0.004 and size.max() < 3 and abs(size.mean() - 1.5) < 0.02
    assert abs(np.corrcoef(draw.extra["hang"].ravel(), draw.extra["first"].ravel())[0, 1]) < 0.01


@pytest.mark.parametrize(("options", "mean", "second"), [
    ({"spread": "1/2"}, 0, 1 / 12), ({"spread": "1/2", "spread_law": "exponential"}, 0, 1 / 4),
    ({"spread": "1/2", "spread_law": "lognormal"}, 0, np.exp(0.25) - 1),
    ({"suspension": "1/4", "hang_law": "exponential"}, 3 / 4, 9 / 2), ({"suspension": "1/4", "hang_law": "fixed"}, 3 / 4, 9 / 4),
    ({"suspension": "1/4", "hang": 2, "spread": "1/2"}, 1 / 4, 1 / 3 + 1 / 12),
], ids=["uniform", "exponential", "lognormal", "exponential hangs", "fixed hangs", "both"])
def test_compute_times_and_hangs_have_their_laws(options, mean, second):
    draw, _ = ft.EventClock(2, steps=1, **options).sample(Stream(7), 4, 50_000)
    for name in ("hang", "first"):
        drawn = draw.extra[name]
        assert drawn.min() > -1 and abs(drawn.mean() - mean) < 0.01
        assert (drawn**2).mean() == pytest.approx(second, rel=0.05)
    assert abs(np.corrcoef(draw.extra["hang"].ravel(), draw.extra["first"].ravel())[0, 1]) < 0.01


def test_hangs_in_units_of_the_slowest_first_run():
    draw, _ = ft.EventClock((1, 5), steps=(4, 2), suspension="1/2", hang=3, hang_of="slowest").sample(Stream(8), 2, 20_000)
    for name in ("wait", "first wait"):
        drawn = draw.extra[name]
        assert drawn.max() < 30 and drawn.max() > 29.9 and abs(drawn.mean() - 7.5) < 0.15
    assert (draw.extra["hang"] == 0).all() and (draw.extra["first"] == 0).all()


def test_paces_by_numbers_of_rows():
    clock = ft.EventClock.proportional([60, 100, 80], pace=2, base=5, steps=3, transmission=1)
    assert clock == ft.EventClock((125, 205, 165), steps=3, transmission=1)
    assert (ft.EventClock.proportional(np.array([3, 1])).pace) == (3, 1)


def test_a_client_that_hangs_makes_no_change_of_the_server():
    problem = ft.Quadratic([[[1]], [[1]]], [[0], [4]])
    calm, torn = (ft.run(ft.FedAsync("1/10", 2, alpha="1/2"), problem, ft.EventClock((1, 3), suspension=P), 60, 200)
                  for P in (0, "9/10"))
    assert calm.mean("error")[-1] != torn.mean("error")[-1] and np.isfinite(torn.mean("error")).all()


def test_k_without_a_clamp_ends_a_clients_part():
    problem = ft.Quadratic([[[1.0]], [[1.0]]], [[5.0], [5.0]])
    alg = ft.AsyncFedED("1/10", gbar=0, kappa=10, clamp=False).to(FLOAT)
    prob, (draw, _) = problem.to(FLOAT), ft.EventClock(1, steps=1).sample(Stream(0), 2, 1)
    state = alg.init(prob, FLOAT.array(np.zeros((1, 1))), draw)
    for _ in range(8):
        state = alg.round(prob, state, draw)
    assert state.K.min() < 1 and (state.finish[state.K < 1] > 1e18).all()


def test_who_has_gone_stays_away():
    problem = ft.Quadratic.from_linear([[[1]], [[1]]], [[1], [3]])
    alg = ft.AsyncFedED("1/10", gbar=0, kappa=1, clamp=False).to(FLOAT)
    prob, (draw, _) = problem.to(FLOAT), ft.EventClock([1, 2], steps=1).sample(Stream(0), 2, 1)
    state, models = alg.init(prob, FLOAT.array(np.zeros((1, 1))), draw), []
    for _ in range(12):
        state = alg.round(prob, state, draw)
        models.append(float(state.x[0, 0]))
    assert (state.K < 1).all() and len(set(models[4:])) == 1


def test_real_k_is_clamped_to_one_exactly_and_rounded_down_on_the_clock():
    alg = ft.AsyncFedED("1/10", gbar=1, kappa="1/2", real=True).to(FLOAT)
    for K in np.linspace(1, 9, 400):
        assert alg.next_steps(np.array([K]), np.array([30.0]), np.array([0]))[0] == 1
    problem = ft.Quadratic.from_linear([[[1]], [[1]]], [[1], [3]])
    prob, (draw, _) = problem.to(FLOAT), ft.EventClock([2, 2], steps=3).sample(Stream(0), 2, 1)
    alg = ft.AsyncFedED("1/10", gbar="1/2", kappa=1, real=True).to(FLOAT)
    state = alg.round(prob, alg.init(prob, FLOAT.array(np.zeros((1, 1))), draw), draw)
    assert state.K[0, 0] == 3.5 and state.finish[0, 0] == 2 * 3 + 2 * 3


@pytest.mark.parametrize(("rounding", "change"), [("down", 0), ("strict", -1)])
def test_the_two_readings_of_rounding_differ_at_whole_numbers(rounding, change):
    alg = ft.AsyncFedED("1/10", gbar=3, kappa=1, rounding=rounding)
    assert alg.next_steps(np.array([10.0]), np.array([3.0]), np.array([0]))[0] == 10 + change
    assert alg.next_steps(np.array([10.0]), np.array([2.5]), np.array([0]))[0] == 10
    real = ft.AsyncFedED("1/10", gbar=3, kappa=1, real=True)
    assert real.next_steps(np.array([10.0]), np.array([2.5]), np.array([0]))[0] == 10.5


@pytest.mark.parametrize("mixing", ["update", "model"])
def test_memoryless_arrivals_rest_where_the_weights_say(mixing):
    """sum_i W_i (x - b_i) = 0, W_i = p_i Q_i (I + g Q_i)^-1, or p_i Q_i ((1 - g) I + g Q_i)^-1."""
    p, h, b, K, eta, g = [Q(1, 6), Q(1, 2), Q(1, 3)], [Q(1), Q(1, 5), Q(2)], [0, 1, -3], 3, Q(1, 10), Q(1, 2)
    problem = ft.Quadratic([[[v]] for v in h], [[v] for v in b])
    op = ft.derive(ft.StaleSteps(eta, K, server_lr=g, mixing=mixing), problem, ft.Weighted(1, p), domain=ft.RATIONAL)
    q = [1 - (1 - eta * v) ** K for v in h]
    w = [u * v / ((1 if mixing == "update" else 1 - g) + g * v) for u, v in zip(p, q, strict=True)]
    assert op.fixed_point().x[0] == sum(u * v for u, v in zip(w, b, strict=True)) / sum(w)


def test_a_fixed_pattern_is_the_events_of_equal_paces():
    problem, n = ft.Quadratic([[[1]], [["1/2"]], [[2]]], [[0], [1], [-1]]), 3
    pattern = ft.derive(ft.StaleSteps("1/10", 2, server_lr="1/3"), problem, ft.Cyclic([[0], [1], [2]]))
    means = [x[0] for x, _ in pattern.trajectory(3 * n + 1, [2.0])][1:]
    clients = QuadraticClients([[[1.0]], [[0.5]], [[2.0]]], [[0.0], [0.5], [-2.0]], [1 / 3] * 3)
    events = arrivals.events(clients, [2.0], 0.1, 2, [1] * n, 3 * n,
                             lambda x, base, delta, event: [u + v / 3 for u, v in zip(x, delta, strict=True)])
    assert means == pytest.approx([e["x"][0] for e in events], abs=1e-12)


@pytest.mark.parametrize(("make", "words"), [
    (lambda: ft.EventClock(suspension=1), "suspension.*nobody would ever arrive"),
    (lambda: ft.EventClock(suspension=-1), "suspension"),
    (lambda: ft.EventClock(suspension=float("nan")), "finite"),
    (lambda: ft.EventClock(transmission=-1), "transmission"),
    (lambda: ft.EventClock(transmission=(1, 2), steps=1).cohort_count(3), "transmission.*one per client"),
    (lambda: ft.EventClock(hang=0), "hang"),
    (lambda: ft.EventClock(spread=-1), "spread"),
    (lambda: ft.EventClock(spread=float("nan")), "finite"),
    (lambda: ft.EventClock(spread=1), "spread = 1: no run lasts a time <= 0"),
    (lambda: ft.EventClock(spread=2, spread_law="exponential"), "exponential spreads are <= 1"),
    (lambda: ft.EventClock(spread_law="normal"), "uniform, exponential, lognormal"),
    (lambda: ft.EventClock(hang_law="normal"), "uniform, exponential, fixed"),
    (lambda: ft.EventClock(hang_of="first"), "run, slowest"),
    (lambda: ft.EventClock(suspension="1/2", hang_of="slowest", steps=ft.RandomSteps([(1, 2)])), "hang_of"),
    (lambda: ft.EventClock.proportional([3, 0]), "sizes"),
    (lambda: ft.EventClock.proportional([3, 4], pace="1/2"), "pace, base"),
    (lambda: ft.EventClock(pace=0.5), "pace.*integers"),
    (lambda: ft.EventClock(pace=[2**41, 1]), "from 1 to 1099511627776"),
    (lambda: ft.run(ft.FedAsync("1/9", 1000), ft.Quadratic([[[1]]] * 2, [[0], [1]]), ft.EventClock([2**40, 1]), 3),
     "one run of a client lasts 1.1e.15"),
    (lambda: ft.EventClock(transmission=float("nan")), "transmission"),
    (lambda: ft.EventClock(steps=0), "steps"),
    (lambda: ft.AsyncFedED("1/10", decay=0), "decay"),
    (lambda: ft.FedBuff("1/10", decay="3/2"), "decay"),
    (lambda: ft.FedAsync("1/10", momentum="on"), "reset, kept"),
    (lambda: ft.AsyncFedED("1/10", eps=float("nan")), "finite"),
    (lambda: ft.FedAsync("1/10", alpha=0), "alpha"),
    (lambda: ft.FedAsync("1/10", staleness="linear"), "constant, hinge, polynomial"),
    (lambda: ft.FedAsync("1/10", b=-1), "b"),
    (lambda: ft.FedBuff("1/10", buffer=0), "buffer"),
    (lambda: ft.StaleSteps("1/10", mixing="mean"), "update, model"),
    (lambda: ft.AsyncFedED("1/10", discard=0), "discard"),
    (lambda: ft.AsyncFedED("1/10", rounding="up"), "down, strict"),
    (lambda: ft.AsyncFedED("1/10", 0), "steps"),
])
def test_refused(make, words):
    with pytest.raises(BadInput, match=words):
        make()


def test_hang_times_cannot_be_listed():
    for drawn in ({"suspension": "1/2"}, {"spread": "1/2"}):
        with pytest.raises(TooLarge, match=r"use ft\.run"):
            ft.EventClock(steps=1, **drawn).support(2)


# ---- laws for exact analysis ------------------------------------------------------------------------------
STALE = ft.Quadratic([[[1, 0], [0, 2]], [["1/2", "1/4"], ["1/4", 1]], [[2, 1], [1, 1]]], [[0, 1], [1, 2], [-1, 0]])
PATTERN = [[0], [1], [0], [2]]


@pytest.mark.parametrize("mixing", ["update", "model"])
@pytest.mark.parametrize("law", [ft.Weighted(1, ["1/2", "1/4", "1/4"]), ft.Cyclic(PATTERN)], ids=["memoryless", "pattern"])
def test_moments_of_stale_steps_are_those_of_runs(law, mixing):
    pytest.importorskip("torch")
    algorithm, rounds = ft.StaleSteps("1/10", 2, server_lr="1/3", mixing=mixing), 120
    op = ft.derive(algorithm, STALE, law, noise="1/2")
    trace = ft.run(algorithm, STALE, law, rounds, 2000, seed=11, noise="1/2", x0=[2, -1], tail=0.5)
    best = np.array(ft.optimum(STALE).x, dtype=float)
    exact = [np.trace(second) - 2 * best @ mean + best @ best for mean, second in op.trajectory(1001, [2, -1])]
    for t in (1, 4, 13, 40, 120):
        seen = trace.interval(t, level=0.9999)
        assert seen.low - 1e-12 <= exact[t] <= seen.high + 1e-12, t
    seen = trace.floor(level=0.9999)
    assert seen.low <= np.mean(exact[61:121]) <= seen.high
    assert op.floor() == pytest.approx(np.mean(exact[-4:]), rel=1e-8)
    assert op.stable and np.linalg.eigvalsh(op.stationary().covariance).min() > 0
    assert op.rate() ** 2 <= op.mean_square_rate() + 1e-9


@pytest.mark.parametrize("mixing", ["update", "model"])
def test_a_pattern_has_an_orbit_of_its_period(mixing):
    """The exact trajectory settles on four points, one for each place of the pattern, whose mean is the stationary one; the rate
    is that of the map of one period, found here from its columns."""
    algorithm = ft.StaleSteps("1/10", 2, server_lr="1/3", mixing=mixing)
    op = ft.derive(algorithm, STALE, ft.Cyclic(PATTERN))
    late = [x for x, _ in op.trajectory(1204, [2, -1])][-8:]
    assert np.allclose(late[:4], late[4:], atol=1e-12) and np.ptp(late, axis=0).min() > 1e-3
    assert np.allclose(np.mean(late[:4], axis=0), op.stationary().mean, atol=1e-9)
    clients = QuadraticClients(STALE.to(FLOAT)._H.tolist(), STALE.to(FLOAT)._b.tolist(), [1 / 3] * 3)

    def period(z):
        x, base = list(z[:2]), [list(z[2 + 2 * i:4 + 2 * i]) for i in range(3)]
        for (i,) in PATTERN:
            delta, _ = arrivals.run(clients, i, base[i], 0.1, 2)
            start = x if mixing == "update" else [u + (v - u) / 3 for u, v in zip(x, base[i], strict=True)]
            x = [u + v / 3 for u, v in zip(start, delta, strict=True)]
            base[i] = x
        return np.array([*x, *(v for b in base for v in b)])
    zero = period([0.0] * 8)
    M = np.array([period(e) - zero for e in np.eye(8).tolist()]).T
    assert np.abs(np.linalg.eigvals(M)).max() ** 0.25 == pytest.approx(op.rate(), rel=1e-9)
    orbit = np.linalg.solve(np.eye(8) - M, zero)[:2]
    assert np.abs(np.array(late) - orbit).max(1).min() < 1e-9


@pytest.mark.parametrize("kappa", [0, 1])
def test_a_run_that_diverges_goes_on(kappa):
    problem = ft.Quadratic([[[1.0]], [[2.0]]], [[0.0], [1.0]])
    far = ft.record(ft.AsyncFedED(0.1, 2, kappa=kappa), problem, ft.EventClock(), 5, replicates=3, x0=[[0.0], [1.0], [1e200]])
    calm = ft.record(ft.AsyncFedED(0.1, 2, kappa=kappa), problem, ft.EventClock(), 5, replicates=2, x0=[[0.0], [1.0]])
    assert (far.final[:2] == calm.final).all() and (far.K[:, :2] == calm.K).all()
    blown = ft.record(ft.AsyncFedED(3, 5, kappa=kappa), problem, ft.EventClock(), 400)
    assert (blown.client >= 0).all() and not np.isfinite(blown.final).all()


def test_a_single_clients_arrivals_count_like_those_of_several():
    one = ft.record(ft.AsyncFedED(0.5, 2), ft.Quadratic([[[1.0]]], [[0.0]]), ft.EventClock(), 6)
    two = ft.record(ft.AsyncFedED(0.5, 2), ft.Quadratic([[[1.0]], [[1.0]]], [[0.0], [0.0]]), ft.EventClock(), 6)
    assert one.step[:, 0].tolist() == two.step[:, 0].tolist() == [1, 2, 3, 4, 5, 6]


def test_records_of_synchronous_methods_have_no_order_to_replay():
    problem = ft.Quadratic([[[1.0]], [[2.0]]], [[0.0], [1.0]])
    events = ft.record(ft.FedAvg(0.1, 2), problem, ft.EventClock(), 4)
    with pytest.raises(BadInput, match="no order of arrivals"):
        ft.replay(events, ft.AsyncFedED(0.1, 2), problem)


def test_a_weight_of_models_is_at_most_one():
    with pytest.raises(BadInput, match="server_lr"):
        ft.StaleSteps("1/10", mixing="model", server_lr=3)
