"""The benchmarks run and their routes agree; no time is asserted."""
import pytest

from verification.engine import bench
from verification.engine.bench import clock as event_clock
from verification.engine.bench import pepit, rounds


@pytest.mark.slow
def test_the_benchmark_measures_every_route(monkeypatch):
    import torch
    threads = torch.get_num_threads()
    rows = bench.measure(repeats=1)
    torch.set_num_threads(threads)
    assert len(rows) >= 6 and len({what for what, *_ in rows}) == len(rows)
    assert rows[0][2] == 1 and all(seconds > 0 for _, seconds, _ in rows)
    monkeypatch.setattr(bench, "measure", lambda repeats: rows)
    monkeypatch.setattr(event_clock, "REPLICATES", (256,))
    asked = []
    monkeypatch.setattr(bench, "single", lambda repeats: asked.append(repeats) or [("one round", 1.0, 4.0)])
    monkeypatch.setattr(bench, "sampled", lambda repeats: asked.append(repeats) or [("FedAvg, 256 replicates", 1.0, 5.0, 9.0)])
    monkeypatch.setattr(bench, "arrivals", lambda: [("4096 replicates", 1.0, 12.0)])
    monkeypatch.setattr(bench, "step_maps", lambda: ("a map", 8.0, 1.0))
    monkeypatch.setattr(bench, "certificates", lambda: [("a minimiser", "floats", 1.0, 2.0)])
    monkeypatch.setattr(bench, "large", lambda: [("many clients", "rate", 1.0, 2.0, 0.5, "")])
    monkeypatch.setattr(bench.deciding, "lines", lambda: ["verify beside bodies"])
    text = bench.table(1)
    assert bench.table(20) and asked == [1, 1, 11, 11]        # medians of 11 unless fewer are asked for
    assert all(what in text for what, *_ in rows) and "x the loop" in text


def test_the_loop_over_one_heap_is_the_batched_clock():
    """Without hangs: the same models from the same order of arrivals."""
    problem = bench.random_quadratic(4, 3)
    clock = event_clock.EventClock((1, 2, 3, 4), steps=event_clock.RUN_STEPS)
    models = {f"x{k}": lambda x, k=k: x[:, k] for k in range(3)}
    trace = event_clock.run(event_clock.AsyncFedED("1/100"), problem, clock, 60, metrics=models)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_clock.np.random, "default_rng", lambda seed: type("Calm", (), {"random": staticmethod(lambda: 1.0)}))
        seen = bench.heap_loop(problem, 0, 60)
    for k, x in enumerate(zip(*seen, strict=True)):
        assert trace.mean(f"x{k}")[1:] == pytest.approx(x, rel=1e-10, abs=1e-12)


def test_disagreeing_routes_are_noticed(monkeypatch):
    honest = rounds.FedAvg
    monkeypatch.setattr(rounds, "FedAvg", lambda lr, steps: honest(lr, steps + 1))
    with pytest.raises(AssertionError, match="disagree"):
        bench.measure(repeats=1)


def test_worst_cases_beside_pepit(monkeypatch):
    pytest.importorskip("PEPit")
    monkeypatch.setattr(pepit, "WORST", pepit.WORST[:1])
    ((what, here, there),) = bench.worst_cases(repeats=1)
    assert "2 clients, 3 local steps" in what and here > 0 and there > 0
    honest = pepit._pepit
    monkeypatch.setattr(pepit, "_pepit", lambda n, steps: honest(n, steps) + 1e-5)
    with pytest.raises(AssertionError, match="worst cases differ"):
        bench.worst_cases(repeats=1)


def test_without_pepit_the_table_says_so(monkeypatch):
    monkeypatch.setattr(bench, "measure", lambda repeats: [("loop", 1.0, 1.0)])
    monkeypatch.setattr(bench, "have", lambda library: False)
    monkeypatch.setattr(bench, "single", lambda repeats: [("one round", 1.0, 4.0)])
    monkeypatch.setattr(bench, "sampled", lambda repeats: [("FedAvg, 256 replicates", 1.0, 5.0, 9.0)])
    monkeypatch.setattr(bench, "arrivals", lambda: [("4096 replicates", 1.0, 12.0)])
    monkeypatch.setattr(bench, "step_maps", lambda: ("a map", 8.0, 1.0))
    monkeypatch.setattr(bench, "certificates", lambda: [("a minimiser", "floats", 1.0, 2.0)])
    monkeypatch.setattr(bench, "large", lambda: [("many clients", "rate", 1.0, 2.0, 0.5, "")])
    monkeypatch.setattr(bench.deciding, "lines", lambda: ["verify beside bodies"])
    text = bench.table(1)
    assert "pip install pepit" in text and "5.00 x the loop (9.00 x)" in text


def test_a_map_that_is_not_stepping_is_noticed(monkeypatch):
    from verification.engine.bench import maps
    monkeypatch.setattr(maps, "GRID", 2)
    what, stepping, mapped = maps.step_maps(1)
    assert "2 step sizes by 100 rounds" in what and stepping > 0 and mapped > 0
    honest = maps.step_map
    monkeypatch.setattr(maps, "step_map", lambda algorithm, *rest: honest(maps.FedAvg(1, 4), *rest))
    with pytest.raises(AssertionError, match="not what stepping gives"):
        maps.step_maps(1)


def test_random_quadratics_are_reproducible_and_convex():
    a, b, c = bench.random_quadratic(4, 3), bench.random_quadratic(4, 3), bench.random_quadratic(4, 3, seed=1)
    assert (a.H == b.H).all() and (a.b == b.b).all() and (a.H != c.H).any()
    assert a.constants.mu >= 1


def test_shortened_problems_are_exact_and_close():
    long = bench.random_quadratic(3, 2)
    short = rounds.short(long)
    assert all(v.denominator <= 2**20 for v in short.H.reshape(-1))
    assert abs(short.H.astype(float) - long.H).max() <= 2**-21


def test_speed_stands_beside_the_loop(monkeypatch):
    monkeypatch.setattr(bench, "measure", lambda repeats: [("loop", 1.0, 1.0), ("fast", .25, 4.0)])
    assert "4.00 x the loop" in bench.table(1, {"rounds": bench.SECTIONS["rounds"]})
