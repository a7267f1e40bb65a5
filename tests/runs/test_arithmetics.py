"""A run is the same in numpy and in torch, in placed arrays and in plain ones: with every algorithm, and every wrong one.

Where a run is made in numpy its audit shares numpy with it: that torch, which shares none of its operations, agrees is held here.
"""
import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import fltheory as ft
import fltheory.mutants
from fltheory.algorithms.catalogue import discover
from fltheory.core.laws.draw import Draw
from fltheory.core.numbers.scalars import Torch
from fltheory.runs import batched, preparation
from fltheory.runs import client_major as placed
from fltheory.runs import lazy_rows as deferred
from tests.algorithms import rules as built
from tests.algorithms.instances import quadratic, residual
from tests.runs.traces import CHANCES, LR, NORM, same

ALGORITHMS = [a for cls in discover() for a in built.variants(cls) if not a.arrivals]
ALGORITHMS += [ft.FedAvg("1/10", averaging="plain"), ft.FedAvg("1/10", averaging="unbiased"), ft.Focus("1/10", init="warm"),
               ft.Scaffold("1/10", option=1), ft.Scaffnew("1/10", update="late"), ft.VRLSGD("1/10", divisor="mean"),
               ft.FedAvg("1/10", solver=ft.Decay(("1/2", "1/3", 1))), ft.FedNova("1/10", solver=ft.Momentum("1/2")),
               ft.LocalSgd("1/10", report="mean"), ft.FedAu("1/10", cutoff=2), ft.FedAwe("1/10", cap=2)]
STEPS = {"own": (1, 3, 2), "drawn": ft.RandomSteps([("1/2", 1), ("1/2", 3)])}
LAWS = {"uniform": ft.Uniform(2, steps=2), "repeats": ft.WithReplacement(3, ("1/2", "3/10", "1/5"), steps=2),
        "move": ft.Bernoulli(CHANCES, steps=2), "skip": ft.Bernoulli("1/4", "skip", steps=STEPS["own"]),
        "redraw": ft.Bernoulli(CHANCES, "redraw", steps=STEPS["drawn"]), "own steps": ft.Uniform(2, steps=STEPS["own"]),
        "drawn steps": ft.Uniform(1, steps=STEPS["drawn"]), "markov": ft.Markov(CHANCES, "1/10", 3, steps=2),
        "cyclic": ft.Cyclic([(0, 1), (2,), ()], empty="skip", steps=STEPS["own"]), "full": ft.Full(steps=STEPS["own"])}


def name(a):
    solver = getattr(a, "solver", None)
    return type(a).__name__ + ("" if solver is None else "-" + type(solver).__name__)


def three(algorithm, problem, law, rounds=4, replicates=13, noise=1, **options):
    """The run as it is made, whether placed arrays made it, and the same in plain arrays and in torch; None where it is refused.

    Placed arithmetic is deferred, and done in tiles of three rows, as if there were many."""
    seen = set()

    def go(**patches):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(deferred, "FEWEST", 0)
            patch.setattr(deferred, "TILE", 3 * problem.d)
            patch.setattr(deferred, "GROUPED", 3 * problem.d)
            for what, value in patches.items():
                patch.setattr(batched, what, value)
            return ft.run(algorithm, problem, law, rounds, replicates, seed=3, noise=noise, x0=[3] + [-2] * (problem.d - 1),
                          metrics=NORM, tail=1, **options)

    class Layout(batched._Layout):
        def answered(self, alg, prob, state, draw):
            made = super().answered(alg, prob, state, draw)
            seen.add(made is not None and not isinstance(draw.who, slice))
            return made
    try:
        usual = go(_Layout=Layout)
    except ft.BadInput:
        return None
    plain = go(_placeable=lambda *a: False)
    torch = go(_arithmetic=lambda algorithms, problem, device: Torch("cpu"))
    return usual, seen, plain, torch


def agree(usual, plain, torch, tolerance=1e-13):
    size = max(1, np.abs(usual.mean("norm")).max())
    for other, within in ((plain, tolerance), (torch, 10 * tolerance)):
        same(usual, other, within * size)
    assert usual.audit is None or usual.audit <= 1e-12


QUICK = ("own steps", "move")


@pytest.mark.parametrize("law", [k if k in QUICK else pytest.param(k, marks=pytest.mark.slow) for k in LAWS])
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=name)
def test_every_algorithm_in_every_arithmetic(algorithm, law):
    found = three(algorithm, (residual() if algorithm.personal else quadratic())[0], LAWS[law])
    if found is None:
        assert algorithm.stateful or not algorithm.partial or law in ("repeats", "own steps", "drawn steps")
        return
    usual, seen, plain, torch = found
    agree(usual, plain, torch)
    shared = law in ("full", "cyclic") or algorithm.personal or algorithm.absent_act or not algorithm.partial
    if not shared:
        assert seen == {True}                                     # and placed arrays answered
    if algorithm.affine and not algorithm.personal:
        assert usual.audited >= 3


def mutants():
    """Every function of an algorithm in the catalogue of wrong ones, by name: in its tables, and on its own."""
    found = {}
    for entry in pkgutil.iter_modules(fltheory.mutants.__path__):
        module = importlib.import_module(f"fltheory.mutants.{entry.name}")
        for what, value in vars(module).items():
            table = value if what.isupper() and isinstance(value, dict) else {what: value}
            found |= {m.__name__: m for m in table.values() if callable(m) and not isinstance(m, type)
                      and m.__module__.startswith("fltheory.mutants.") and (table is value or hasattr(m, "of"))
                      and getattr(m, "of", "algorithm") != "law" and len(inspect.signature(m).parameters) == 1}
    return found


MUTANTS = mutants()


@pytest.mark.slow
@pytest.mark.parametrize("law", ["uniform", "skip", "own steps"])
@pytest.mark.parametrize("mutant", MUTANTS)
def test_wrong_rounds_are_as_wrong_in_every_arithmetic(mutant, law):
    """Those that forget who is absent, too: a layout without the absent must not mend them."""
    tried = 0
    for algorithm in ALGORITHMS:
        wrong = None if mutant == "one_step_fewer" else MUTANTS[mutant](algorithm)   # which needs steps that are not the law's
        if wrong is None or tried > 3:
            continue
        found = three(wrong, (residual() if algorithm.personal else quadratic())[0], LAWS[law], rounds=3, audit=False)
        if found is not None and np.isfinite(found[0].mean("norm")).all():
            agree(found[0], *found[2:])
            tried += 1


A = [[[1, 2], [0, 1], [3, -1]], [[2, 0], [1, 1]], [[1, 1]]]
ROWS = {"ridge": ft.Ridge(A, [[1, 0, 2], [-1, 3], [1]], "1/10"), "logistic": ft.Logistic(A, [[1, -1, 1], [-1, 1], [1]], "1/10"),
        "softmax": ft.Logistic(A, [[0, 1, 2], [1, 0], [2]], "1/10", classes=3),
        "huber": ft.HuberLoss(A, [[1, 0, 2], [-1, 3], [1]])}


@pytest.mark.parametrize("law", ["uniform", "move", "drawn steps"])
@pytest.mark.parametrize("problem", ROWS)
@pytest.mark.parametrize("algorithm", [ft.FedAvg(LR), ft.Scaffold(LR, option=1), ft.Focus(LR)], ids=lambda a: type(a).__name__)
def test_losses_of_rows(algorithm, problem, law):
    usual, seen, plain, torch = three(algorithm, ROWS[problem], LAWS[law])
    agree(usual, plain, torch)
    assert seen == {True}


@pytest.mark.parametrize("problem", ["ridge", "logistic"])
def test_mini_batches_are_the_same_rows(problem):
    usual, _, plain, torch = three(ft.Scaffold(LR), ROWS[problem], ft.Uniform(2, steps=3, batch=2), noise=None)
    agree(usual, plain, torch)


def test_steps_with_more_outcomes_than_can_be_listed_have_runs():
    many = ft.Quadratic([[[1]]] * 18, [[k] for k in range(18)])
    assert ft.run(ft.FedAvg(LR), many, ft.Full(steps=STEPS["drawn"]), 3, 8).audit <= 1e-12


def test_deferred_arithmetic_is_the_same_to_the_bit(monkeypatch):
    def go(fewest):
        monkeypatch.setattr(deferred, "FEWEST", fewest)
        return [ft.run(a, quadratic()[0], law, 5, 40, noise=1, metrics=NORM) for law in (LAWS["own steps"], LAWS["move"])
                for a in (ft.Scaffold(LR), ft.Focus(LR), ft.FedNova(LR, solver=ft.Momentum("1/2")))]
    at_once = go(10**9)
    for grouped, deepest in ((1, 24), (100, 1), (10**9, 10**9)):
        monkeypatch.setattr(deferred, "GROUPED", grouped)
        monkeypatch.setattr(deferred, "DEEPEST", deepest)
        for now, later in zip(at_once, go(0), strict=True):
            same(now, later)


@pytest.mark.parametrize("law", ["uniform", "move", "own steps"])
def test_collapsed_noise_is_deferred_too(law):
    """With local steps of their own, a sample falls in several slots: once each client's last."""
    usual, seen, plain, torch = three(ft.Scaffold(LR), quadratic()[0], LAWS[law], collapsed=True)
    agree(usual, plain, torch)
    assert seen == {True}


# ---- the ends -------------------------------------------------------------------------------------------------
ONE = ft.Quadratic([[[2]]], [[1]])


@pytest.mark.parametrize(("problem", "law", "options"), [
    (ONE, ft.Uniform(1, steps=2), {}), (ONE, ft.Bernoulli("1/2", steps=2), {}), (quadratic()[0], ft.Uniform(3, steps=2), {}),
    (quadratic()[0], ft.Uniform(2, steps=300), {"rounds": 2}), (quadratic()[0], ft.Bernoulli("1/1000", steps=2), {}),
    (quadratic()[0], ft.Bernoulli("999/1000", steps=2), {}), (quadratic()[0], ft.Uniform(2, steps=2), {"replicates": 1}),
    (quadratic()[0], ft.Bernoulli(CHANCES, steps=2), {"replicates": 1}), (quadratic()[0], ft.Uniform(2, steps=1), {"noise": 10**6}),
    (quadratic()[0], ft.Uniform(2, steps=2), {"replicates": 3000, "chunk": 1}),
    (quadratic()[0], ft.Bernoulli(CHANCES, steps=2), {"replicates": 3000, "chunk": 3}),
], ids=str)
@pytest.mark.parametrize("algorithm", [ft.FedAvg(LR), ft.Scaffold(LR), ft.Focus(LR)], ids=lambda a: type(a).__name__)
def test_the_ends(algorithm, problem, law, options):
    usual, _, plain, torch = three(algorithm, problem, law, **options)
    agree(usual, plain, torch, 1e-12)


@pytest.mark.parametrize("law", ["uniform", "move", "skip", "full"])
def test_divergence_to_infinity(law):
    usual, _, plain, torch = three(ft.Scaffold(9), quadratic()[0], LAWS[law], rounds=300)
    for t in (usual, plain, torch):
        assert not np.isfinite(t.mean()[-1]) and np.isfinite(t.mean()[3]) and (t.audit is None or t.audit <= 1e-12)
    assert np.allclose(usual.mean()[:20], torch.mean()[:20], rtol=1e-9)


@pytest.mark.parametrize("algorithm", [ft.Scaffold(LR, option=1), ft.FedAvg(LR), ft.LocalSgd(LR)], ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("law", [ft.Uniform(1, steps=(1, 3, 2)), ft.Bernoulli(CHANCES, steps=STEPS["drawn"]), LAWS["drawn steps"]],
                         ids=str)
def test_numbers_do_not_depend_on_who_is_batched_together(algorithm, law, monkeypatch):
    """Samples behind the last local step too, which is another one where nobody of a batch makes the longest run, and samples
    of the absent where these act."""
    monkeypatch.setattr(preparation, "BLOCK", 2)
    runs = [ft.run(algorithm, quadratic()[0], law, 6, 9, seed=1, noise=1, chunk=k) for k in (1, 2, 5)]
    for t in runs:
        same(runs[0], t, 1e-12)
        assert t.audit <= 1e-12


# ---- memories that are written over -------------------------------------------------------------------------------
class Looking(ft.Scaffold):
    """Looks at the memories behind the new ones, which no algorithm of ours does: a mutant may."""

    __module__ = "fltheory.mutants.looking"

    def round(self, problem, s, draw):
        before = np.array(s.ci)
        new = super().round(problem, s, draw)
        assert np.array_equal(s.ci, before)
        return new


def test_only_our_own_rounds_write_over_memories(monkeypatch):
    seen = []

    class Layout(batched._Layout):
        def answered(self, alg, prob, state, draw):
            before = np.array(state.ci)
            made = super().answered(alg, prob, state, draw)
            assert np.array_equal(state.ci, before) != draw.who.overwritten   # and nothing else is
            seen.append(draw.who.overwritten)
            return made
    monkeypatch.setattr(batched, "_Layout", Layout)
    made = ft.run(ft.Scaffold(LR), quadratic()[0], LAWS["uniform"], 40, 30, noise=1)
    assert seen == [False] + [True] * 39 and made.audited > 3 and made.audit <= 1e-12   # of states that were kept
    seen.clear()
    ft.run(Looking(LR), quadratic()[0], LAWS["uniform"], 40, 30, noise=1, audit=False)
    assert len(seen) == 40 and not any(seen)


def looking(round_):
    """A round in which somebody looks at the memories behind the new ones."""
    def changed(self, problem, s, draw):
        new = round_(self, problem, s, draw)
        return new._replace(x=new.x - self.lr * s.ci.sum(-2) / 7)
    return changed


def test_a_round_put_in_the_place_of_ours_is_not_ours(monkeypatch):
    class Own(ft.Scaffold):
        round = looking(ft.Scaffold.round)

    def go(algorithm):
        return ft.run(algorithm, quadratic()[0], LAWS["uniform"], 20, 30, noise=1, audit=False)
    expected = go(Own(LR))
    assert batched._ours(ft.Scaffold(LR)) and not batched._ours(Own(LR))
    monkeypatch.setattr(ft.Scaffold, "round", looking(ft.Scaffold.round))
    assert not batched._ours(ft.Scaffold(LR))
    same(expected, go(ft.Scaffold(LR)), 1e-12)


def test_a_function_put_into_what_ours_are_made_from_is_not_ours(monkeypatch):
    monkeypatch.setattr(ft.Scaffold.__mro__[1], "to", lambda self, domain: self)
    assert not batched._ours(ft.Scaffold(LR))


def test_a_device_is_told_by_its_name():
    import torch
    made = ft.run(ft.FedAvg(LR, 2), quadratic()[0], ft.Full(), 3, 4, device=torch.device("cpu"))
    assert made.device == "cpu" and isinstance(made.device, str)


@pytest.mark.parametrize("kind", [k for k in discover() if not getattr(k, "arrivals", False)])
def test_every_algorithm_of_ours_is_known_as_ours(kind):
    made = object.__new__(kind)
    assert batched._ours(made)


def test_a_memory_that_is_two_parts_of_the_state_is_not_written_over(monkeypatch):
    allowed, layout, memory, other = [], batched._Layout(), np.zeros((4, 3, 2)), np.ones((4, 3, 2))
    monkeypatch.setattr(batched, "advance", lambda alg, prob, state, draw: allowed.append(draw.who.writable) or state)
    for state in ((memory, other, memory), (memory, other), (other, other), (memory.copy(), other)):
        at = batched.Places(Draw(np.zeros((4, 1), int), np.ones((4, 1), int), np.ones((4, 1), int)), 3, [4])
        layout.exclusive = [memory, other]
        assert layout.answered(ft.Scaffold(LR), None, state, Draw(at, at.present, None)) is state
    assert [[v is memory for v in own] for own in allowed] == [[False], [True, False], [], [False]]


def test_a_round_that_fails_behind_what_it_wrote_over_is_not_made_again(monkeypatch):
    real, calls = batched.advance, []

    def failing(*given):
        made = real(*given)
        calls.append(1)
        if len(calls) == 3:
            raise MemoryError("no room")
        return made
    monkeypatch.setattr(batched, "advance", failing)
    with pytest.raises(MemoryError, match="no room"):
        ft.run(ft.Scaffold(LR), quadratic()[0], LAWS["uniform"], 5, 30, noise=1, audit=False)
    calls.clear()
    assert ft.run(ft.FedAvg(LR), quadratic()[0], LAWS["uniform"], 5, 30, noise=1, audit=False).mean()[-1] > 0
    assert len(calls) == 6                                      # without memories, plain arrays make it


def test_a_round_that_returns_no_arrays_behind_what_it_wrote_over_is_not_made_again(monkeypatch):
    real, calls = batched.advance, []

    def odd(*given):
        made = real(*given)
        calls.append(1)
        return type(made)(*made[:-1], None) if len(calls) == 3 else made
    monkeypatch.setattr(batched, "advance", odd)
    with pytest.raises(placed.Unplaced, match="a state in placed arrays"):
        ft.run(ft.Scaffold(LR), quadratic()[0], LAWS["uniform"], 5, 30, noise=1, audit=False)
    calls.clear()
    assert ft.run(ft.FedAvg(LR), quadratic()[0], LAWS["uniform"], 5, 30, noise=1, audit=False).mean()[-1] > 0
    assert len(calls) == 6                                      # without memories, plain arrays make it
