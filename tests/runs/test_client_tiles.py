"""Local steps of many replicates of one quadratic client each, against the steps written out and against other layouts."""
import numpy as np
import pytest
import torch

import fltheory as ft
from fltheory.asynchronous import arrivals
from fltheory.core.numbers.scalars import Torch
from fltheory.runs import client_tiles as tiles
from fltheory.runs.client_tiles import descended, together


def quadratic(n, d, seed=0):
    rng = np.random.default_rng(seed)
    H = [a @ a.T / d + np.eye(d) for a in rng.standard_normal((n, d, d))]
    return ft.Quadratic([(h + h.T) / 2 for h in H], rng.standard_normal((n, d)))


def drawn(problem, batch, longest, seed=1):
    rng = np.random.default_rng(seed)
    who = torch.from_numpy(rng.integers(0, problem.n, (batch, 1)))
    base = torch.from_numpy(rng.standard_normal((batch, 1, problem.d)))
    return who, base, torch.from_numpy(rng.integers(0, longest + 1, (batch, 1)))


@pytest.mark.parametrize(("n", "d", "batch", "longest"), [
    (1, 1, 1, 1), (3, 2, 5, 4), (2, 7, 700, 9), (5, 50, 300, 3), (40, 3, 90, 30)])
@pytest.mark.parametrize("noisy", [False, True])
def test_local_steps_are_those_written_out(n, d, batch, longest, noisy):
    problem = quadratic(n, d)
    who, base, steps = drawn(problem, batch, longest)
    noise = torch.from_numpy(np.random.default_rng(2).standard_normal((longest, batch, 1, d)))
    sample = (lambda k: noise[k]) if noisy else None
    found = descended(problem.to(Torch("cpu")), who, base, steps, 0.05, sample).numpy()
    H, b = (np.asarray(v, dtype=float) for v in (problem.H, problem.b))
    for r in range(batch):
        i, y = int(who[r, 0]), base[r, 0].numpy()
        for k in range(int(steps[r, 0])):
            y = y - 0.05 * (H[i] @ y - b[i] + (noise[k, r, 0].numpy() if noisy else 0))
        assert found[r, 0] == pytest.approx(y - base[r, 0].numpy(), rel=1e-13, abs=1e-13)
        assert steps[r, 0] > 0 or (found[r] == 0).all()


def test_who_has_finished_stays_where_others_diverge():
    problem = quadratic(2, 3).to(Torch("cpu"))
    base, who = torch.ones(300, 1, 3, dtype=torch.float64), torch.zeros(300, 1, dtype=torch.int64)
    steps = torch.tensor([[2000] if r % 2 else [3] for r in range(300)])
    found = descended(problem, who, base, steps, 1e3)
    assert not found[1::2].isfinite().any()
    assert torch.equal(found[::2], descended(problem, who[::2], base[::2], 0 * steps[::2] + 3, 1e3)) and found[::2].isfinite().all()


@pytest.mark.parametrize("solver", [ft.Vanilla(), ft.Proximal("1/2"), ft.Momentum("1/2")])
@pytest.mark.parametrize("noise", [0, 1])
def test_runs_are_the_same_in_every_layout(monkeypatch, solver, noise):
    """The fused steps of plain SGD are taken where they pay, by that solver alone; every layout gives the same run."""
    problem, asked = quadratic(3, 5), []
    law = ft.EventClock((1, 2, 3), suspension="1/3")
    method = ft.AsyncFedED("1/20", 3, kappa="1/2", solver=solver)

    def final(fused, tiled):
        monkeypatch.setattr(arrivals, "together", lambda problem, who: fused and together(problem, who))
        monkeypatch.setattr(arrivals, "descended", lambda *a: asked.append(len(a[1])) or descended(*a))
        monkeypatch.setattr(tiles, "ENTRIES", 1)
        monkeypatch.setattr(tiles, "FEWEST", 4 if tiled else 10**6)
        return ft.record(method, problem, law, 30, 200, seed=3, noise=noise)
    one, two, three = final(True, True), final(False, True), final(False, False)
    assert bool(asked) == isinstance(solver, ft.Vanilla)
    for other in (two, three):
        assert (one.K == other.K).all() and (one.client == other.client).all() and one.K.max() > one.K.min()
        assert np.abs(one.final - other.final).max() <= 1e-12


def test_where_it_pays():
    problem = quadratic(3, 5).to(Torch("cpu"))
    assert not together(problem, torch.zeros(11, 1, dtype=torch.int64))
    assert not together(problem, torch.zeros(tiles.ENTRIES * 3 // 5 - 1, 1, dtype=torch.int64))
    assert together(problem, torch.zeros(tiles.ENTRIES * 3 // 5, 1, dtype=torch.int64))
