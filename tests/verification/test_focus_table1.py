"""Table 1 as computed: what its cells say, and second routes to some."""
from pathlib import Path

import pytest

import fltheory as ft
from fltheory.verdicts.report.figures import from_csv
from verification.focus import table1 as T

ROWS = from_csv(Path(T.__file__).parent / "data" / "table1.csv")


def cell(method, name, eta=0.05):
    (row,) = [r for r in ROWS if (r["method"], r["participation"], r["eta"]) == (method, name, eta)]
    return row


def test_exact_are_scaffold_focus_and_proxskip_where_sets_of_two_link_everybody():
    exact = {(r["method"], r["participation"]) for r in ROWS if r["verdict"] == "exact"}
    every = {(m, c) for m in ("SCAFFOLD, I", "SCAFFOLD, II", "FOCUS") for c in (*T.LAWS, T.EVERY)}
    linked = {("ProxSkip, immediate", c) for c in T.LAWS if c != "one uniform"} | {("ProxSkip, late", "full")}
    assert exact == every | linked
    assert all(r["bias"] == r["floor"] == 0 for r in ROWS if r["verdict"] == "exact")
    alone, fedavg = cell("ProxSkip, immediate", "one uniform"), cell("FedAvg", "one uniform")
    assert all(alone[k] == pytest.approx(fedavg[k], rel=1e-12) for k in ("rate", "bias", "floor"))


@pytest.mark.parametrize("name,rates", [("full", (.4422, .4360, .4578)), ("one uniform", (.8405, .7757, .8229)),
                                        ("Bernoulli (.9, .5, .1)", (.9143, .9309, .9619)),
                                        ("Bernoulli (.9, .5, .01)", (.9902, .9942, 1.0004))])
def test_rates_are_the_tabulated_ones(name, rates):
    for method, rate in zip(("FOCUS", "SCAFFOLD, II", "MIFA"), rates, strict=True):
        assert cell(method, name)["rate"] == pytest.approx(rate, abs=5e-5)


def test_one_client_walking_alone_has_the_rate_of_longer_and_longer_cut_ages():
    p, q = 1 / 3, 1 - 0.8**4
    problem, law = ft.Quadratic([[[4]]], [[0]]), ft.Bernoulli("1/3")
    cut = [ft.derive(ft.FedAwe("1/20", 4, cap=k), problem, law).mean_square_rate() for k in (6, 12, 40)]
    whole = T.walk_rate(p, q)
    assert cut[0] < cut[1] < cut[2] <= whole + 1e-9 and cut[2] == pytest.approx(whole, abs=1e-4)
    assert whole > 1 and q > 2 * p / (2 - p)          # the echo's threshold
    assert T.walk_rate(p, 0.99 * 2 * p / (2 - p)) < 1


def test_bias_under_a_law_is_that_of_fedavg_with_everybody_for_methods_that_correct_for_absence():
    for method in ("known probabilities", "FedAU", "FedVARP", "MIFA"):
        for name in ("full", "one uniform", "two uniform", "Bernoulli (.9, .5, .1)"):
            assert cell(method, name)["bias"] == pytest.approx(cell("FedAvg", "full")["bias"], rel=1e-9)
    for method in ("known probabilities", "FedAU"):     # not where rounds depend on one another
        assert cell(method, "chain of pairs")["bias"] > 1.4 * cell("FedAvg", "full")["bias"]


def test_what_diverges_at_the_larger_step_converges_at_the_smaller_one_except_proxskip_late():
    for r in (r for r in ROWS if r["verdict"] in ("divergent", "no single limit") and r["eta"] == 0.05):
        small = cell(r["method"], r["participation"], 0.005)
        assert (small["verdict"] == "divergent") == (r["method"] == "ProxSkip, late")


def test_no_schedule_is_slower_than_certified_and_the_named_one_is_as_slow_as_reached():
    for r in (r for r in ROWS if r["participation"] == T.EVERY and r["upper"] == r["upper"]):
        assert r["rate"] <= r["upper"] < 1
        sets = [([int(i) - 1 for i in s.strip("{}").split(",")], None) for s in r["schedule"].split(" ")]
        op = ft.derive(T.METHODS[r["method"]](T.STEP, None), T.plane(), ft.Replay(sets))
        assert op.mean_square_rate() == pytest.approx(r["rate"], rel=1e-6)


def test_printed_entries_belong_to_rows():
    assert set(T.PRINTED) == set(T.METHODS) - {"known probabilities", "FedVARP"}
