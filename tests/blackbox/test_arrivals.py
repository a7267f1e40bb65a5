"""Asynchronous servers as black boxes: right ones match, wrong ones are told apart and named."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.blackbox.engine import identify
from fltheory.core.errors import BadInput
from fltheory.core.numbers.scalars import FLOAT
from fltheory.mutants import arrivals as wrong
from fltheory.mutants import local
from fltheory.mutants.base import clause
from tests.blackbox.adapters import problem_of

LR, STEPS = "1/20", (3, 2, 4)
ED = ft.AsyncFedED(LR, STEPS, lam=2, eps=1, gbar=3, kappa="3/2")
FIXED = ft.AsyncFedED(LR, STEPS, lam="1/2", eps="3/4")
ASYNC = [ft.FedAsync(LR, STEPS, alpha="1/2"), ft.FedAsync(LR, STEPS, alpha="1/2", staleness="hinge", a=2, b=1),
         ft.FedAsync(LR, STEPS, alpha="3/5", staleness="polynomial", a="1/2")]
BUFF = ft.FedBuff(LR, STEPS, buffer=2, server_lr="4/5")
HEAVY = ft.AsyncFedED(LR, STEPS, lam="1/2", eps=1, discard="3/2", solver=ft.Momentum("1/2"))
METHODS = [ED, FIXED, HEAVY, *ASYNC, BUFF]


def server(algorithm, dtype=np.float64):
    """(round_fn, reset): an asynchronous server that keeps everything but its model to itself."""
    record, kept = algorithm.to(FLOAT), {}

    def run(x, clients, cohort):
        problem, draw = problem_of(clients), ft.everyone(len(clients), algorithm.steps)
        state = kept.get("state") or record.init(problem, np.asarray(x, dtype=float), draw)
        here = np.arange(len(clients)) == cohort[0]
        state = record.round(problem, state._replace(finish=np.where(here, 0, 1.0)), draw)
        kept["state"] = state
        return np.asarray(state.x).astype(dtype)
    return run, kept.clear


def by_hand(lam=2.0, eps=1.0, gbar=3.0, kappa=1.5, send_old=False):
    """(round_fn, state): AsyncFedED in plain numpy, its whole state going in and out."""
    def run(state, clients, cohort):
        (i,) = cohort
        x, base, K = state["x"], state["base"].copy(), state["K"].copy()
        y = base[i]
        for _ in range(int(K[i])):
            y = y - clients[i].grad(y) / 20
        delta = y - base[i]
        gamma = np.linalg.norm(x - base[i]) / np.linalg.norm(delta)
        new = x + lam / (gamma + eps) * delta
        K[i] = max(1, K[i] + np.floor((gbar - gamma) * kappa))
        base[i] = x if send_old else new
        return {"x": new, "base": base, "K": K}
    return run, {"x": np.zeros(2), "base": np.zeros((3, 2)), "K": np.array(STEPS, dtype=float)}


@pytest.mark.parametrize("algorithm", METHODS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_right_server_matches(algorithm, dtype):
    run, reset = server(algorithm, dtype)
    found = identify(run, 3, 2, algorithm, reset=reset)
    assert found.matches, str(found)
    assert found.deviation < (1e-12 if dtype is np.float64 else 1e-3)


@pytest.mark.parametrize("algorithm", METHODS, ids=repr)
def test_no_other_server_matches(algorithm):
    run, reset = server(algorithm)
    for other in METHODS:
        if type(other) is not type(algorithm) or other == METHODS[METHODS.index(algorithm) - 1]:
            found = identify(run, 3, 2, other, reset=reset)
            assert found.verdict == "differs" and found.faults, (other, str(found))


def test_plain_numpy_with_its_state():
    run, state = by_hand()
    assert identify(run, 3, 2, ED, state=state).matches
    run, state = by_hand(send_old=True)
    found = identify(run, 3, 2, ED, state=state)
    assert "starts again from the model before its own update" in found.faults[0].sentence, str(found)


EVERY = [(mutant, right) for mutant in (*wrong.ARRIVALS.values(), *wrong.OTHERS.values(), local.one_step_more, local.one_step_less)
         for right in METHODS if mutant not in (wrong.lag_in_time, wrong.lag_in_changes)   # a round is not told the time
         and mutant(right) is not None and mutant(right).arrivals]


@pytest.mark.parametrize(("mutant", "right"), EVERY, ids=lambda v: getattr(v, "__name__", type(v).__name__))
def test_a_wrong_server_is_named(mutant, right):
    run, reset = server(mutant(right))
    found = identify(run, 3, 2, right, reset=reset)
    if found.matches:   # what these numbers never show is said
        assert any(clause(mutant) in note for note in found.notes), str(found)
        return
    said = [fault.sentence for fault in found.faults]
    assert clause(mutant) in said[:2], str(found)


def test_most_wrong_servers_are_told_apart():
    seen = 0
    for mutant, right in EVERY:
        run, reset = server(mutant(right))
        seen += not identify(run, 3, 2, right, reset=reset).matches
    assert seen >= 0.9 * len(EVERY)


@pytest.mark.parametrize(("right", "change", "words"), [
    (ED, {"lam": 1}, "lam is 1 where 2 is stated"), (FIXED, {"eps": "3/8"}, "eps is 0.375"),
    (FIXED, {"lr": "1/10"}, "the step size is 0.1"), (ASYNC[0], {"alpha": "1/4"}, "alpha is 0.25"),
    (ASYNC[1], {"a": 1}, "a is 1"), (BUFF, {"server_lr": "2/5"}, "server_lr is 0.4"),
])
def test_a_wrong_number_is_fitted(right, change, words):
    from dataclasses import replace
    run, reset = server(replace(right, **change))
    found = identify(run, 3, 2, right, reset=reset)
    assert any(words in fault.sentence for fault in found.faults), str(found)


def test_another_method_is_named():
    run, reset = server(ft.FedAsync(LR, STEPS, alpha="1/3"))
    found = identify(run, 3, 2, FIXED, reset=reset)
    assert "FedAsync with the constant weight 1/3" in found.faults[0].sentence, str(found)


def test_what_is_refused():
    run, reset = server(ED)
    for words, make in (
            ("cohort", lambda: identify(lambda x, clients: x, 3, 2, ED, reset=reset)),
            ("base", lambda: identify(run, 3, 2, ED)), ("law", lambda: identify(run, 3, 2, ED, ft.EventClock(), reset=reset)),
            ("time", lambda: identify(run, 3, 2, ft.FedAsync(LR, STEPS, unit="time", staleness="hinge"), reset=reset))):
        with pytest.raises(BadInput, match=words):
            make()


def test_a_server_that_draws_is_not_deterministic():
    run, reset = server(ED)
    rng = np.random.default_rng(0)
    found = identify(lambda x, clients, cohort: run(x, clients, cohort) + 1e-3 * rng.normal(size=2), 3, 2, ED, reset=reset)
    assert found.verdict == "not deterministic"


def test_a_buffer_that_is_never_filled_decides_nothing():
    right = ft.FedBuff(LR, STEPS, buffer=13, server_lr="4/5")
    still = {"x": np.zeros(2), "base": np.zeros((3, 2))}
    found = identify(lambda state, clients, cohort: state, 3, 2, right, state=still)
    assert found.verdict == "differs", str(found)
    run, reset = server(right)
    assert identify(run, 3, 2, right, reset=reset).matches
    found = identify(lambda state, clients, cohort: state, 3, 2, ft.FedBuff(LR, STEPS, buffer=10**6), state=still)
    assert found.verdict == "inconclusive" and "does not move" in found.reason


def test_an_unstable_reference_is_refused_in_words():
    run, reset = server(ED)
    with pytest.raises(BadInput, match=r"stays finite|not finite"):
        identify(run, 3, 2, ft.AsyncFedED(5, 200, lam="1/2"), reset=reset)


def test_the_reading_of_the_floor_is_named():
    from dataclasses import replace
    right = ft.AsyncFedED(LR, STEPS, lam=2, eps=1, gbar=3, kappa=1)
    run, reset = server(replace(right, rounding="strict"))
    found = identify(run, 3, 2, right, reset=reset)
    assert any("largest integer below" in text for text in (*found.notes, *(f.sentence for f in found.faults[:1]))), str(found)


def stale(mixing, weight, seen=None, lr=0.05, old=False):
    """(round_fn, state): one update of client cohort[0], plainly; old: the client is sent the model before its own update."""
    def run(state, clients, cohort):
        if seen is not None:
            seen.append(cohort)
        (i,) = cohort
        x, base, y = state["x"], state["base"].copy(), state["base"][i]
        for _ in range(3):
            y = y - lr * clients[i].grad(y)
        new = x + weight * (y - base[i] if mixing == "update" else y - x)
        base[i] = x if old else new
        return {"x": new, "base": base}
    return run, {"x": np.zeros(2), "base": np.zeros((3, 2))}


@pytest.mark.parametrize("mixing", ["update", "model"])
def test_arrivals_that_a_law_draws_come_one_at_a_time(mixing):
    seen = []
    run, state = stale(mixing, 0.5, seen)
    assert identify(run, 3, 2, ft.StaleSteps(LR, 3, server_lr="1/2", mixing=mixing), state=state).matches
    assert {len(cohort) for cohort in seen} == {1}


@pytest.mark.parametrize(("made", "stated", "words"), [
    (("model", 0.5), {}, "the server mixes models instead of adding updates"),
    (("update", 0.5), {"mixing": "model"}, "the server adds updates instead of mixing models"),
    (("update", 0.7), {}, "server_lr is 0.7 where 0.5 is stated"),
    (("model", 0.7), {"mixing": "model"}, "server_lr is 0.7 where 0.5 is stated"),
    (("model", 0.7), {}, "FedAsync with the constant weight 0.7"),
    (("update", 1.5), {"mixing": "model"}, "an asynchronous server with the constant step 1.5"),
    (("update", 0.5, None, 0.1), {}, "the step size is 0.1 where 0.05 is stated (2 times)"),
])
def test_a_wrong_mixing_or_number_of_stale_steps_is_named(made, stated, words):
    run, state = stale(*made)
    result = identify(run, 3, 2, ft.StaleSteps(LR, 3, **{"server_lr": "1/2"} | stated), state=state)
    assert result.verdict == "differs" and words in result.faults[0].sentence, result


def test_a_client_of_stale_steps_that_starts_from_the_model_before_its_update_is_named():
    run, state = stale("update", 0.5, old=True)
    result = identify(run, 3, 2, ft.StaleSteps(LR, 3, server_lr="1/2"), state=state)
    assert "before its own update" in result.faults[0].sentence, result
