"""FedNova's proofs: every step holds, and a smaller constant in a formula of the paper breaks the proof that speaks of it."""
import pytest

import fltheory as ft
from verification.fednova import formulas as f
from verification.fednova.claims.client_sampling_round import descent as rounds
from verification.fednova.formulas import appendix_c, client_sampling, constants, true_objective
from verification.fednova.formulas import theorem3 as t3
from verification.fednova.proofs import descent, local_run, numbers, sampling, smaller, theorems

pytest.importorskip("flint")
OURS = {
    "drift": local_run.drift, "restricted": local_run.restricted, "bias": local_run.bias, "one round": descent.one_round,
    "theorem 1": theorems.theorem1, "theorem 1 printed": lambda: theorems.theorem1(printed=True), "eq 8": theorems.theorem1_rate,
    "theorem 2": theorems.theorem2, "theorem 3": theorems.theorem3, "theorem 3 printed": lambda: theorems.theorem3(printed=True),
    "theorem 3 constant": theorems.theorem3_constant, "lemma 5": sampling.lemma5, "eq 163": sampling.second_moment,
    "eq 175": sampling.descent, "eq 180": sampling.norms, "corollary 3": sampling.corollary3,
    "corollary 1": theorems.corollary1, "headline": theorems.headline, "speed-up": theorems.speedup,
        "smaller drift": smaller.drift, "smaller": smaller.theorem1,
    "corollary 3 printed": lambda: sampling.corollary3(printed=True),
}


@pytest.mark.parametrize("name", OURS)
def test_every_step_of_a_proof_holds(name):
    proof = OURS[name]()
    assert [s.name for s in proof.steps if s.status != "HOLDS"] == []
    assert proof.status == "HOLDS"


@pytest.mark.parametrize(("module", "formula", "terms", "names"), [
    (appendix_c, "eq85_terms", ("noise", "gradient"), ("drift", "restricted")),
    (appendix_c, "eq61_terms", ("noise", "mean"), ("one round",)),
    (appendix_c, "eq64_terms", ("noise", "drift"), ("one round",)),
    (f, "thm1", ("start", "noise", "drift_noise", "drift"), ("theorem 1", "theorem 1 printed", "theorem 2")),
    (f, "thm1_smaller", ("start", "noise", "drift_noise", "drift"), ("smaller",)),
    (constants, "corollary1_terms", ("start", "noise", "drift_noise", "drift"), ("corollary 1",)),
    (appendix_c, "eq8", ("start", "noise", "drift_noise", "drift"), ("eq 8",)),
    (true_objective, "thm2", ("start", "noise", "drift_noise", "drift", "mismatch"), ("theorem 2",)),
    (t3, "thm3", ("start", "noise", "drift_noise", "drift"), ("theorem 3", "theorem 3 constant")),
    (client_sampling, "lem5_terms", ("drift", "gradient", "sampling"), ("lemma 5",)),
    (client_sampling, "eq163", ("noise", "mean"), ("eq 163",)),
    (client_sampling, "eq175", ("noise", "sampling"), ("eq 175",)),
    (client_sampling, "cor3", ("start", "sampling"), ("corollary 3", "corollary 3 printed")),
])
def test_a_smaller_constant_breaks_the_proof(module, formula, terms, names, monkeypatch):
    right = getattr(module, formula)
    for term in terms:
        monkeypatch.setattr(module, formula,
                            lambda *a, term=term, **k: (found := right(*a, **k)) | {term: found[term] * ft.fraction("9/10")})
        for name in names:
            assert OURS[name]().status != "HOLDS", (formula, term, name)


def failing(i, *proofs):
    """Names of the facts that are wrong at what the coded rounds of an instance are."""
    return {fact.name for known, points in numbers.draws(i, {}, True) for proof in proofs
            for fact, value in proof.tested(known, points) if value < 0 or (fact.equality and value != 0)}


@pytest.mark.parametrize(("law", "wrong"), [
    (None, set()),
    (ft.WithReplacement(2, ["1/10", "1/10", "4/5"]), {"gradients of the draws", "noise of the draws", "unbiased draws"}),
    (ft.Uniform(2), {"noise of the draws", "unbiased draws"}),
])
def test_what_the_proofs_say_of_the_draws_is_read_off_the_coded_rounds(law, wrong):
    i = rounds[0] if law is None else rounds[0].but(law=law)
    found = failing(i, sampling.lemma5(), sampling.second_moment(), sampling.descent())
    assert wrong <= found if wrong else found == set()
