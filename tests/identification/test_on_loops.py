"""`identify` on torch training codes: correct ones match, every bug is seen, most are named in the right words."""
import pytest

pytest.importorskip("torch")

import fltheory as ft
from tests.identification.loops import SPECIMENS

LR = "1/5"
# not what a comparison of maps can decide: an objective with a term of its own, steps that follow from the data
ELSEWHERE = ("fedavg_weight_decay", "fedavg_clipped", "fedavg_batches", "fedavg_staircase")
CODES = [s for s in SPECIMENS if s.name not in ELSEWHERE]
PAIRS = [(s, bug) for s in CODES for bug in s.bugs]
WORDS = {  # the same words for a bug wherever it sits
    "one_step_more": "one local step more|too many", "mse_without_half": "MSELoss", "server_lr_two": "averaged change 2 times",
    "weight_decay_left_on": "weight decay 0.05", "first_client_twice": "models sum to 1.5|models sum to 4/3",
    "lr_decay_left_on": "decays by the factor 0.9", "prox_missing": "proximal term is missing",
    "prox_overwritten": "proximal term is missing", "prox_repelling": "wrong sign", "prox_unscaled": "proximal term is applied",
    "prox_not_squared": "not squared", "nesterov": "Nesterov|multiplied by 1.5", "momentum_dropped": "momentum is missing",
    "never_decayed": "decay is missing", "first_change_twice": "first participant's change is added twice",
    "divisor_one_more": "one local step too many", "wrong_sign": "wrong sign", "random_variates": "do not start at 0",
    "divisor_is_batches": "one step instead of all", "divisor_without_lr": "not divided by the step size",
    "variate_never_stored": "never stored", "server_variate_missing": "-c_i alone", "server_variate_summed": "without averaging",
    "delta_after_overwriting": "never updated", "variate_unweighted": "plain mean", "divided_by_sample": "participants",
    "scaled_up": "n/|S|", "scaled_down": "|S|/n", "aliased_buffer": "leaks into the momentum",
    "cohort_ignored": "outside the cohort",
    "gradient_at_the_end": "local model instead of the server model", "ascent": "wrong sign",
    "lr_halved": "half the stated|0.5 times the stated", "one_step_only": "makes 1 local steps",
    "clipping_left_on": "every gradient is clipped to norm 0.25",
}


def made(claim):
    """The algorithm of a claim: its name and plain data, solvers alike."""
    name, given = claim
    return getattr(ft, name)(**{k: made(v) if isinstance(v, tuple) and len(v) == 2 and isinstance(v[1], dict) else v
                                for k, v in given.items()})


def identified(specimen, bug=None):
    steps = 4 if specimen.name == "fedavgm" else (2, 3, 5)
    right, loop = specimen.make(LR, steps), specimen.make(LR, steps, bug)
    weights = ["1/3"] * 3 if right.objective.get("weights") == "plain" else None
    return ft.identify(loop.round_fn, 3, 2, made(right.claim), weights=weights, reset=loop.reset,
                       state=loop.state(3, 2) if loop.state else None)


@pytest.mark.parametrize("specimen", CODES, ids=lambda s: s.name)
def test_correct_code_matches(specimen):
    found = identified(specimen)
    assert found.matches, str(found)


@pytest.mark.slow
@pytest.mark.parametrize("specimen,bug", PAIRS, ids=[f"{s.name}-{bug}" for s, bug in PAIRS])
def test_every_bug_is_seen_and_most_are_named(specimen, bug):
    found = identified(specimen, bug)
    assert not found.matches, str(found)
    words = WORDS.get(bug)
    if words is not None and specimen.name != "focus_warm":
        text = " ".join(f.sentence for f in found.faults)
        assert any(w in text for w in words.split("|") if w) or words in text, str(found)


FAST = [(s, bug) for s, bug in PAIRS if s.name in ("scaffold_joint", "fedprox", "fedavg_single")]


@pytest.mark.parametrize("specimen,bug", FAST, ids=[f"{s.name}-{bug}" for s, bug in FAST])
def test_bugs_of_three_codes(specimen, bug):
    test_every_bug_is_seen_and_most_are_named(specimen, bug)
