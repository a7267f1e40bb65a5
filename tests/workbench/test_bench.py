"""The benchmark runs and its routes agree; no time is asserted."""
import pytest

from fltheory.workbench import bench


@pytest.mark.slow
def test_the_benchmark_measures_every_route(monkeypatch):
    import torch
    threads = torch.get_num_threads()
    rows = bench.measure(repeats=1)
    torch.set_num_threads(threads)
    assert len(rows) >= 6 and len({what for what, *_ in rows}) == len(rows)
    assert rows[0][2] == 1 and all(seconds > 0 for _, seconds, _ in rows)
    monkeypatch.setattr(bench, "measure", lambda repeats: rows)
    text = bench.table(1)
    assert all(what in text for what, *_ in rows) and "x the loop" in text


def test_disagreeing_routes_are_noticed(monkeypatch):
    honest = bench.FedAvg
    monkeypatch.setattr(bench, "FedAvg", lambda lr, steps: honest(lr, steps + 1))
    with pytest.raises(AssertionError, match="disagree"):
        bench.measure(repeats=1)


def test_random_quadratics_are_reproducible_and_convex():
    a, b, c = bench.random_quadratic(4, 3), bench.random_quadratic(4, 3), bench.random_quadratic(4, 3, seed=1)
    assert (a.H == b.H).all() and (a.b == b.b).all() and (a.H != c.H).any()
    assert a.constants.mu >= 1


def test_shortened_problems_are_exact_and_close():
    long = bench.random_quadratic(3, 2)
    short = bench._short(long)
    assert all(v.denominator <= 2**20 for v in short.H.reshape(-1))
    assert abs(short.H.astype(float) - long.H).max() <= 2**-21
