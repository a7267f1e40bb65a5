"""`identify` on torch training codes: correct ones match, every bug is seen, most are named in the right words."""
from fractions import Fraction
from functools import cache

import pytest

pytest.importorskip("torch")

import fltheory as ft
from tests.blackbox.loops import NAMED, SPECIMENS
from verification.focus.bugs.repository import equal_rows

LR = "1/5"
# not what a comparison of maps can decide: an objective with a term of its own, steps that follow from the data
ELSEWHERE = ("fedavg_weight_decay", "fedavg_clipped", "fedavg_batches", "fedavg_staircase")
CODES = [s for s in SPECIMENS if s.name not in ELSEWHERE]
PAIRS = [(s, bug) for s in CODES for bug in s.bugs]
WORDS = {  # words of the first two explanations, the same for a bug wherever it sits; alternatives between bars
    "one_step_more": "too many", "mse_without_half": "MSELoss", "server_lr_two": "averaged change 2 times",
    "weight_decay_left_on": "weight decay 0.05", "first_client_twice": "models sum to 1.5|models sum to 4/3",
    "lr_decay_left_on": "decays by the factor 0.9", "prox_missing": "proximal term is missing",
    "prox_overwritten": "proximal term is missing", "prox_repelling": "wrong sign", "prox_unscaled": "proximal term is applied",
    "prox_not_squared": "not squared", "nesterov": "Nesterov", "momentum_dropped": "momentum is missing",
    "never_decayed": "decay is missing", "first_change_twice": "first participant's change is added twice",
    "divisor_one_more": "one local step too many", "wrong_sign": "wrong sign", "random_variates": "do not start at 0",
    "divisor_is_batches": "divided by 1 step instead of all local steps (the clients make 2, 3, 5)",
    "divisor_without_lr": "not divided by the step size", "variate_sent_whole": "where the server adds the change",
    "variate_never_stored": "never stored", "server_variate_missing": "-c_i alone", "server_variate_summed": "without averaging",
    "delta_after_overwriting": "never updated", "variate_unweighted": "plain mean", "divided_by_sample": "participants",
    "server_variate_early": "moves after each client", "weights_dropped": "data weights p_i are dropped",
    "scaled_up": "n/|S|", "scaled_down": "|S|/n", "aliased_buffer": "leaks into the momentum",
    "cohort_ignored": "outside the cohort", "public_normaliser": "leaks into the momentum",
    "gradient_at_the_end": "local model instead of the server model", "ascent": "wrong sign",
    "lr_halved": "0.5 times|averages gradients", "one_step_only": "makes 1 local steps",
    "clipping_left_on": "every gradient is clipped to norm 0.25",
    "sequential_pass": "one after the other on one model object", "server_model_trained": "average is of that one object",
    "aliased_state_dicts": "only the last participant's model counts",
    "effective_steps_unweighted": "plain mean of the |a_i|", "first_clients_normaliser": "first participant's normaliser",
    "normaliser_counts_steps": "normaliser counts local steps", "prox_not_in_normaliser": "ignores the proximal term",
    "momentum_on_the_clients": "in the clients' local steps instead of at the server", "buffer_reset": "momentum is missing",
    "dampening": "dampened", "averaged_gradients": "averages gradients",
    "pushes_averaged": "averages the pushed changes", "gradient_not_kept": "forget their stored gradient",
    "tracker_kept": "tracker is not reset", "stored_at_start": "stores its first gradient",
    "server_does_not_move": "mean of the clients' models", "shared_storage": "one after the other on one model object",
    "counter_indented": "no interval ever ends", "weights_normalised": "divided by the sum of the weights",
    "current_interval": "the current interval", "as_in_the_notebook": "the current interval), and the sum is divided by the sum",
    "as_in_the_script": "plain FedAvg", "previous_local_model": "own previous local model",
    "fixed_divisor": "fixed cohort size, 2 of 3 clients",
    "variate_drifts": "c_i_new - c instead of c_i_new - c_i",
}
KEPT = {  # bugs that are a memory: visible only to a comparison that can start afresh
    ("fedavg_momentum", "optimiser_kept"): "buffers are kept between rounds",
    ("fednova_momentum", "momentum_kept"): "buffers are kept between rounds",
    ("fednova_optimiser", "momentum_kept"): "buffers are kept between rounds",
    ("fedavg_decay", "scheduler_kept"): "goes on decaying in later rounds",
    ("fedavg_weighted", "lr_decay_over_rounds"): "multiplied by 0.9 after every round",
}


def made(claim):
    """The algorithm of a claim: its name and plain data, solvers alike."""
    name, given = claim
    return getattr(ft, name)(**{k: made(v) if isinstance(v, tuple) and len(v) == 2 and isinstance(v[1], dict) else v
                                for k, v in given.items()})


@cache
def identified(name, bug=None):
    """What is found of a code, once for all tests that look at it."""
    specimen = NAMED[name]
    steps = 4 if specimen.name == "fedavgm" else (2, 3, 5)
    right, loop = specimen.make(LR, steps), specimen.make(LR, steps, bug)
    weights = ["1/3"] * 3 if right.objective.get("weights") == "plain" else None
    return ft.identify(loop.round_fn, 3, 2, made(right.claim), weights=weights, reset=loop.reset,
                       state=loop.state(3, 2) if loop.state else None)


@pytest.mark.parametrize("specimen", CODES, ids=lambda s: s.name)
def test_correct_code_matches(specimen):
    found = identified(specimen.name)
    assert found.matches, str(found)


@pytest.mark.slow
@pytest.mark.parametrize("specimen,bug", PAIRS, ids=[f"{s.name}-{bug}" for s, bug in PAIRS])
def test_every_bug_is_seen_and_most_are_named(specimen, bug):
    found = identified(specimen.name, bug)
    assert not found.matches, str(found)
    if bug in WORDS:
        text = " ".join(f.sentence for f in found.faults[:2])
        assert WORDS[bug] in text or any(w in text for w in WORDS[bug].split("|") if w), str(found)


@pytest.mark.parametrize("name,bug", KEPT)
def test_memories_are_named_where_the_code_can_start_afresh(name, bug):
    specimen = NAMED[name]
    right, loop = specimen.make(LR, (2, 3, 5)), specimen.make(LR, (2, 3, 5), bug)
    found = ft.identify(loop.round_fn, 3, 2, made(right.claim), reset=loop.restart)
    assert KEPT[name, bug] in found.faults[0].sentence and not found.matches, str(found)


@pytest.mark.parametrize("bug,words", [(None, "every gradient is clipped to norm 0.25"),
                                       ("clip_by_value", "each coordinate of every gradient is clipped to 0.25")])
def test_clipping_of_torch_codes_is_read_off(bug, words):
    loop = NAMED["fedavg_clipped"].make(LR, (2, 3, 5), bug)
    found = ft.identify(loop.round_fn, 3, 2, ft.FedAvg(LR, (2, 3, 5)))
    assert found.faults[0].sentence == words, str(found)


FAST = [(s, bug) for s, bug in PAIRS if s.name in ("scaffold_joint", "fedprox", "fedavg_single")]


@pytest.mark.parametrize("specimen,bug", FAST, ids=[f"{s.name}-{bug}" for s, bug in FAST])
def test_bugs_of_three_codes(specimen, bug):
    test_every_bug_is_seen_and_most_are_named(specimen, bug)


# ---- FOCUS's public code, what is no bug of a single round ---------------------------------------------------
@pytest.mark.parametrize("rows,good", [(("1/5", "4/5"), True), (("1/5", "1/5"), False)])
def test_a_chain_with_two_equal_rows_is_told_from_one_with_memory(rows, good):
    from tests.blackbox.loops.focus_repository import MarkovServer
    code = MarkovServer(LR, 3, [float(Fraction(v)) for v in rows])
    found = ft.identify(code.round, 3, 3, ft.FedAvg(LR, 3, averaging="plain"), law=ft.Markov("1/2", "3/5", 3), reset=code.reset,
                        weights=["1/3"] * 3, trials=1200, bugs=[equal_rows])
    assert found.matches == good, str(found)
    assert good or found.faults[0].name == "equal_rows", str(found)
    assert good or "all rows of the transition matrix are alike" in found.faults[1].sentence, str(found)


def test_a_server_that_crashes_on_clients_it_has_not_seen_is_reported_with_its_error():
    from tests.blackbox.loops.focus_repository import MIFA

    class Public(MIFA):
        def set_up(self, x, n):
            super().set_up(x, n)
            for client in self.clients:
                client.update = None if client.previous is None else client.update
    code = Public(LR, 3)
    with pytest.raises(ft.BadInput, match="TypeError: unsupported operand"):
        ft.identify(code.round, 3, 2, ft.Mifa(LR, 3), weights=["1/3"] * 3, reset=code.reset)
