"""Every catalogued bug of an algorithm or a law, as a black box: reported, and named in the right words."""
from dataclasses import replace

import numpy as np
import pytest

import fltheory as ft
from fltheory.blackbox.engine import identify
from fltheory.mutants.memories import Control, ServerBuffer
from tests.blackbox.adapters import hidden, joint, plain, remembering, sampled
from verification import bugs
from verification.focus.bugs import baselines, figures, repository, stability
from verification.focus.bugs import structure as focus_bugs

LR, STEPS = "1/20", (3, 2, 5)
AVG = ft.FedAvg(LR, STEPS)
NOVA = ft.FedNova(LR, STEPS, ft.Momentum("1/2"))

# bug -> (algorithms it is swapped into, words of the likeliest explanations without `bugs=`)
CASES = [
    (bugs.one_step_more, [AVG, NOVA, ft.Scaffold(LR, STEPS), ft.FedProx(LR, STEPS, mu="1/5")], "local step too many"),
    (bugs.uniform_weights, [AVG], "data weights p_i are dropped"),
    (bugs.server_step_two, [AVG], "averaged change 2 times"),
    (bugs.first_client_twice, [AVG], "first participant's change is added twice"),
    (bugs.weights_not_renormalised, [AVG, ft.FedAvg(LR, 4)], "not renormalised"),
    (bugs.weights_not_renormalised, [NOVA], "p_S^2"),
    (bugs.hidden_proximal, [AVG, ft.FedAvg(LR, 2)], "hidden proximal term"),
    (bugs.proximal_missing, [ft.FedProx(LR, STEPS, mu="1/5"), ft.FedProx(LR, 2, mu="1/5")], "proximal term is missing"),
    (bugs.proximal_repelling, [ft.FedProx(LR, STEPS, mu="1/5"), ft.FedProx(LR, STEPS, alpha="1/5")], "wrong sign"),
    (bugs.proximal_squared, [ft.FedProx(LR, STEPS, alpha="1/5")], "squared"),
    (bugs.unscaled_proximal, [ft.FedProx(LR, STEPS, mu="1/5")], "mu is not multiplied by the step size"),
    (bugs.dampened_momentum, [ft.FedAvg(LR, STEPS, ft.Momentum("1/2")), NOVA], "averages gradients"),
    (bugs.nesterov_momentum, [ft.FedAvg(LR, STEPS, ft.Momentum("1/2")), NOVA], "Nesterov"),
    (bugs.decayed_step, [AVG, ft.FedAvg(LR, 3)], "decays by the factor 0.9"),
    (bugs.early_decay, [ft.FedAvg(LR, STEPS, ft.Decay("1/2"))], "before the first local step"),
    (bugs.normaliser_counts_steps, [NOVA], "normaliser counts local steps"),
    (bugs.normaliser_missing, [NOVA], "p_i / p_S"),
    (bugs.normaliser_missing, [ft.FedNova(LR, STEPS)], "the code is FedAvg"),
    (bugs.fednova_scaled_up, [NOVA], r"n/|S|"),
    (bugs.normaliser_of_public_code, [ft.FedNova(LR, STEPS, ft.MomentumProximal("1/2", "1/10"))], "leaks into the momentum"),
    (bugs.tau_eff_halved, [ft.FedNova(LR, STEPS, tau_eff=3)], "0.5 times"),
    (bugs.renormalised_weights, [ft.FedAvg(LR, STEPS, averaging="plain"), ft.FedAvg(LR, STEPS, averaging="unbiased")],
     "p_i / p_S"),
    (bugs.shares_not_renormalised, [NOVA], "p_S"),
    (bugs.corrections_kept, [ft.FedNovaVR(LR, STEPS)], "'printed'"),
    (bugs.mean_divisor, [ft.VRLSGD(LR, STEPS)], "'mean'"),
    (bugs.own_divisor, [ft.VRLSGD(LR, STEPS, divisor="mean")], "'own'"),
    (bugs.control_unweighted, [ft.Scaffold(LR, STEPS), ft.Scaffold(LR, STEPS, option=1)], "plain mean"),
    (bugs.control_wrong_steps, [ft.Scaffold(LR, STEPS)], "one local step too many"),
    (focus_bugs.pushes_averaged, [ft.Focus(LR, STEPS)], "averages the pushed changes"),
    (focus_bugs.stores_first_gradient, [ft.Focus(LR, STEPS)], "stores its first gradient"),
    (focus_bugs.tracking_reset, [ft.Focus(LR, STEPS)], "nothing is tracked"),
    (focus_bugs.server_moves_first, [ft.Focus(LR, STEPS), ft.Focus(LR, STEPS, "warm")],
     "before the pushes arrived"),
    (focus_bugs.divides_by_all, [AVG], "1/n"),
    (repository.shared_storage, [AVG, ft.Mifa(LR, STEPS), ft.FedAu(LR, STEPS)], "one after the other on one model object"),
    (repository.mifa_ascent, [ft.Mifa(LR, STEPS)], "wrong sign"),
    (repository.fixed_divisor, [ft.Scaffold(LR, STEPS), ft.Scaffold(LR, 3, option=1)], "fixed cohort size, 1.5 of 3 clients"),
    (repository.variate_drifts, [ft.Scaffold(LR, STEPS), ft.Scaffold(LR, STEPS, option=1)], "c_i_new - c instead of c_i_new - c_i"),
    (figures.mifa_previous_local_model, [ft.Mifa(LR, STEPS)], "own previous local model"),
    (figures.fedau_counter_stuck, [ft.FedAu(LR, STEPS), ft.FedAu(LR, 3, cutoff=4)], "no interval ever ends"),
    (baselines.weights_normalised, [ft.FedAu(LR, STEPS), ft.FedAu(LR, 3, weights=(2, 3, 5))], "divided by the sum of the weights"),
    (baselines.current_interval_counts, [ft.FedAu(LR, STEPS), ft.FedAu(LR, STEPS, cutoff=2)], "the current interval"),
    (baselines.weights_never_used, [ft.FedAu(LR, STEPS)], "weights are not used"),
]
FLAT = [(bug, a, words) for bug, many, words in CASES for a in many]


def box(algorithm, n, d, form, dtype=np.float64):
    """(round_fn, keywords) of an algorithm in one of the three forms of the contract."""
    cohorts = algorithm.partial
    if form == "plain":
        return plain(algorithm, dtype, cohorts), {}
    if form == "hidden":
        run, reset = hidden(algorithm, dtype, cohorts)
        return run, {"reset": reset}
    run, state = joint(algorithm, n, d, dtype, cohorts)
    return run, {"state": state}


def forms(algorithm):
    return ("hidden", "joint") if algorithm.stateful else ("plain",)


@pytest.mark.parametrize("bug,algorithm,words", FLAT, ids=lambda v: getattr(v, "__name__", None) or type(v).__name__)
def test_a_bug_is_reported_and_named(bug, algorithm, words):
    for form in forms(algorithm):
        run, more = box(bug(algorithm), 3, 2, form)
        named = identify(run, 3, 2, algorithm, bugs=[bugs.tau_eff_halved, bug], **more)
        assert not named.matches and named.verdict == "differs"
        assert named.faults[0].name == bug.__name__, str(named)
        assert words in " | ".join([f.sentence for f in named.faults if f.name is None][:2]), str(named)
        with pytest.raises(AssertionError, match="DIFFERS"):
            named.assert_matches()


@pytest.mark.parametrize("option", [1, 2])
@pytest.mark.parametrize("steps", [STEPS, 3])
def test_variates_that_do_not_start_at_zero_are_named(option, steps):
    """With equal steps and c = sum p_i c_i the first round of a problem without gradients stands still all the same."""
    algorithm, start = ft.Scaffold(LR, steps, option=option), np.array([[3.0, 1.0], [-4.0, 2.0], [7.0, -1.0]])

    class Late(type(algorithm)):
        def init(self, problem, x0, draw=None):
            s = super().init(problem, x0, draw)
            return s._replace(c=s.c + np.array([1 / 2, 1 / 3, 1 / 6]) @ start, ci=s.ci + start)
    run, reset = hidden(Late(LR, steps, option))
    found = identify(run, 3, 2, algorithm, reset=reset)
    assert found.verdict == "differs" and "do not start at 0" in found.faults[0].sentence, str(found)


@pytest.mark.parametrize("change,words", [
    ({"factor": "1/3"}, "divided by 1/3 times the local steps (the clients make 3, 2, 5)"),
    ({"divisor": 4}, "divided by 4 steps instead of all"), ({"pace": "7/10"}, "moves 0.7 times as far"),
    ({"server": "mean"}, "divided by the number |S| of participants"), ({"early": True}, "moves after each client"),
])
def test_wrong_variates_are_named_with_their_numbers(change, words):
    algorithm = ft.Scaffold(LR, STEPS)
    for form in ("hidden", "joint"):
        run, more = box(Control(LR, STEPS, **change), 3, 2, form)
        found = identify(run, 3, 2, algorithm, **more)
        assert words in found.faults[0].sentence and found.faults[0].residual < 1e-9, str(found)


@pytest.mark.parametrize("change,words", [
    ({"dampening": "1/2"}, "dampened by 0.5"), ({"dampening": "1/5"}, "dampened by 0.2"), ({"nesterov": True}, "Nesterov")])
def test_wrong_server_buffers_are_named(change, words):
    algorithm = ft.ServerMomentum(LR, 4, beta="1/2")
    run, reset = hidden(ServerBuffer(LR, 4, beta="1/2", **change))
    found = identify(run, 3, 2, algorithm, reset=reset)
    assert words in found.faults[0].sentence, str(found)
    run, reset = hidden(replace(algorithm, beta="3/10"))
    assert "beta is 0.3 where 0.5 is stated" in identify(run, 3, 2, algorithm, reset=reset).faults[0].sentence


@pytest.mark.parametrize("start", ["zero", "warm"])
def test_a_wrong_start_of_focus_is_named(start):
    run, reset = hidden(ft.Focus(LR, STEPS, start))
    found = identify(run, 3, 2, ft.Focus(LR, STEPS, "warm" if start == "zero" else "zero"), reset=reset)
    assert ("start is warm" if start == "warm" else "no warm start") in found.faults[0].sentence, str(found)


CORRECT = [AVG, NOVA, ft.FedAvg(LR, 4, averaging="unbiased"), ft.FedProx(LR, STEPS, mu="1/5"), ft.Scaffold(LR, STEPS),
           ft.FedAvg(LR, STEPS, ft.Decay("1/2")), ft.Scaffold(LR, STEPS, option=1), ft.VRLSGD(LR, STEPS), ft.Mifa(LR, STEPS),
           ft.Focus(LR, STEPS), ft.FedNovaVR(LR, STEPS), ft.ServerMomentum(LR, STEPS, beta="1/2"), ft.FedVarp(LR, STEPS),
           ft.FedAu(LR, STEPS), ft.FedAu(LR, STEPS, cutoff=2), ft.FedAu(LR, STEPS, weights=(2, 3, 5))]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("algorithm", CORRECT, ids=lambda a: type(a).__name__)
def test_correct_code_matches(algorithm, dtype):
    memory = algorithm.stateful or isinstance(algorithm, ft.ServerMomentum)
    for d in (1, 3):
        for form in ("hidden", "joint") if memory else ("plain", "hidden", "joint"):
            run, more = box(algorithm, 3, d, form, dtype)
            found = identify(run, 3, d, algorithm, **more)
            assert found.matches, str(found)
            assert found.tolerance == (1e-9 if dtype is np.float64 else 1e-4)
            assert found.assert_matches() is found


def test_ages_are_counted_too():
    """Ages in the state: models along a schedule are affine, one round of the whole state is not."""
    for algorithm, matches in ((ft.FedAwe(LR, STEPS), True), (ft.FedAwe(LR, STEPS, cap=1), False)):
        run, reset = hidden(algorithm)
        found = identify(run, 3, 2, ft.FedAwe(LR, STEPS), reset=reset)
        assert found.matches == matches, str(found)


@pytest.mark.parametrize("n,d", [(1, 1), (2, 5), (6, 2)])
def test_other_sizes(n, d):
    steps = tuple(2 + (3 * i) % 4 for i in range(n))
    for algorithm in (ft.FedAvg(LR, steps), ft.Scaffold("1/3", steps)):
        wrong = replace(algorithm, steps=(steps[0] + 1, *steps[1:]))
        for form in forms(algorithm):
            run, more = box(algorithm, n, d, form)
            assert identify(run, n, d, algorithm, **more).matches
            run, more = box(wrong, n, d, form)
            found = identify(run, n, d, algorithm, **more)
            assert "client 0 makes 3 local steps" in found.faults[0].sentence or "too many" in found.faults[0].sentence


def test_float32_still_sees_a_bug():
    found = identify(plain(bugs.one_step_more(AVG), np.float32), 3, 2, AVG)
    assert not found.matches and "too many" in found.faults[0].sentence


def test_the_unsquared_penalty_is_no_affine_map():
    wrong = bugs.proximal_not_squared(ft.FedProx(LR, 4, mu="1/5"))
    found = identify(plain(wrong), 3, 1, ft.FedProx(LR, 4, mu="1/5"))
    assert found.verdict == "not affine" and "not squared" in found.faults[0].sentence, str(found)


def test_a_bug_that_changes_nothing_matches():
    equal = ft.FedNova(LR, 4)   # with equal steps normalised averaging is plain averaging
    assert identify(plain(bugs.normaliser_missing(equal), cohorts=False), 3, 2, equal).matches


W = ("1/2", "1/3", "1/6")
LAWS = [
    (bugs.without_replacement, ft.WithReplacement(2, W), "without replacement"),
    (bugs.one_draw_less, ft.WithReplacement(2, W), "1 clients are drawn"),
    (bugs.shared_steps, ft.Full(steps=ft.RandomSteps((("1/2", 2), ("1/2", 5)))), "for all clients instead of one each"),
    (focus_bugs.one_client_more, ft.Uniform(1), "2 clients take part"),
]


@pytest.mark.parametrize("bug,law,words", LAWS, ids=lambda v: getattr(v, "__name__", None))
@pytest.mark.parametrize("d", [1, 4])
def test_laws_drawn_inside_the_code(bug, law, words, d):
    algorithm = ft.FedAvg(LR, None if law.steps else 3, averaging="plain")
    full = law if law.steps else law.with_steps(3)
    good = identify(sampled(algorithm, full), 3, d, algorithm, law=law, trials=1500)
    assert good.matches, str(good)
    wrong = identify(sampled(algorithm, bug(full)), 3, d, algorithm, law=law, trials=1500, bugs=[bug])
    assert not wrong.matches and wrong.faults[0].name == bug.__name__
    assert words in " | ".join(f.sentence for f in wrong.faults if f.name is None), str(wrong)


# ---- cohorts with memory ----------------------------------------------------------------------------------
STICKY = ft.Markov(("1/2", "1/5"), "3/5", 2)
THIRDS = (("4/5", "1/10", "1/10"), ("1/10", "4/5", "1/10"), ("1/5", "1/5", "3/5"))
CHAINS = {"two clients": (STICKY, 2), "one at a time": (ft.Chain(sets=((0,), (1,), (2,)), matrix=THIRDS), 3),
          "cycle": (ft.Cyclic([[0], [1, 2], []]), 3)}


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_drawn_inside_the_code(name):
    (law, n), algorithm, known = CHAINS[name], ft.FedAvg(LR, 3), [repository.equal_rows, stability.forgets_the_chain]
    for seed in (0, 1, 2):
        run, reset = remembering(algorithm, law, seed)
        good = identify(run, n, 3, algorithm, law=law, reset=reset, trials=800, bugs=known)
        assert good.matches, str(good)
    for bug in known:
        run, reset = remembering(algorithm, bug(law))
        wrong = identify(run, n, 3, algorithm, law=law, reset=reset, trials=800, bugs=known)
        assert [f.name for f in wrong.faults if f.name] == [bug.__name__], str(wrong)
        text = " | ".join(f.sentence for f in wrong.faults if f.name is None)
        assert "does not depend on the one before" in text or bug(law).matrix[0] == (0, 1, 0), str(wrong)


def test_a_chain_with_the_right_cohorts_and_the_wrong_rounds_is_reported():
    algorithm = ft.FedAvg(LR, 3)
    run, reset = remembering(bugs.one_step_more(algorithm), STICKY)
    found = identify(run, 2, 2, algorithm, law=STICKY, reset=reset, trials=300)
    assert found.verdict == "differs" and "not the algorithm's" in found.faults[0].sentence, str(found)
    for algorithm, d in ((ft.Mifa(LR, 3), 2), (ft.FedAvg(LR, 3), 1)):
        with pytest.raises(ft.BadInput):
            identify(run, 2, d, algorithm, law=STICKY, reset=reset, trials=300)
    with pytest.raises(ft.BadInput, match="one mode"):
        identify(run, 2, 2, ft.FedAvg(LR, 3), law=ft.Cyclic([[0], [1], [0]]), reset=reset)
