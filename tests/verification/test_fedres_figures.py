"""Federated residual learning's figures: committed tables regenerate, say what their captions say, and draw."""
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fltheory.verdicts.report.figures import figures_of, from_csv, to_csv
from tests.verdicts.report.test_figures import same
from verification.fedres import figures
from verification.fedres.experiments import methods
from verification.fedres.formulas import figure1 as f
from verification.fedres.instances import figure1

FOLDER = Path(__file__).parents[2] / "verification" / "fedres"
FIGURES, EXPERIMENTS = figures_of(FOLDER), figures_of(FOLDER, experiments=True)


def committed(name):
    return from_csv(FOLDER / "data" / f"{name}.csv")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FIGURES])
def test_committed_tables_regenerate(name, tmp_path):
    (tmp_path / "new.csv").write_text(to_csv(FIGURES[name].data()))
    fresh = from_csv(tmp_path / "new.csv")
    assert len(fresh) == len(committed(name))
    for a, b in zip(fresh, committed(name), strict=True):
        assert a.keys() == b.keys() and all(same(a[k], b[k]) for k in a), (a, b)


@pytest.mark.parametrize("name", [*FIGURES, *EXPERIMENTS])
def test_figures_draw_from_their_tables(name, tmp_path):
    picture = tmp_path / f"{name}.png"
    (FIGURES | EXPERIMENTS)[name].draw(committed(name)).savefig(picture)
    assert picture.stat().st_size > 5_000


def test_closed_forms_and_coded_rounds_lie_on_each_other():
    seen = [r for r in committed("fig1") if np.isfinite(r["run_loss"])]
    assert len(seen) > 80
    assert all(r["run_loss"] == pytest.approx(r["loss"], rel=1e-6) for r in seen)
    known = [r for r in seen if np.isfinite(r["w"])]
    assert len(known) > 40 and all(r["run_w"] == pytest.approx(r["w"], abs=1e-9) for r in known)


TABLE = """1 0 2.22816e-4 0 0 0.998 0.997002
2 1.25502e-4 6.83154e-4 1.39539e-5 6.67556e-5 0.996004 0.994013
10 0.0102743 0.0135388 0.00114840 0.00300390 0.980179 0.970420
50 0.320909 0.338462 0.0367908 0.0817079 0.904747 0.860435
100 1.39555 1.43275 0.164776 0.329366 0.818567 0.739335"""


@pytest.mark.parametrize("row", TABLE.splitlines())
def test_the_closed_forms_have_the_known_digits(row):
    K, *known = row.split()
    rates = int(K), Fraction(1, 100), Fraction(1, 100)
    found = [f.loss(f.naive_sim(*rates)), f.loss(f.naive_seq(*rates)), f.loss(f.option1(*rates)), f.option1_drift(*rates),
             max(f.shrink(rates[2], rates[0]), f.sgd_factor(*rates))]
    found.append(np.abs(np.linalg.eigvals(np.array(f.option2_block(*rates), dtype=float))).max())
    for value, digits in zip(found, known, strict=True):
        assert float(value) == pytest.approx(float(digits), rel=6e-6, abs=1e-20)


def test_two_variants_reach_zero_and_two_stall_at_losses_that_grow_with_the_steps():
    last = {(r["method"], r["K"]): r["loss"] for r in committed("fig1") if r["round"] == figures.ROUNDS}
    assert all(last[name, K] < 1e-8 for name in ("FedResSGD", "FedResAvg, Option II") for K in figures.LOCAL)
    for name in ("FedResNaive, simultaneous", "FedResNaive, sequential", "FedResAvg, Option I"):
        assert sorted(last[name, K] for K in figures.LOCAL) == [last[name, K] for K in figures.LOCAL]
        assert last[name, 2] > 1e-5


def test_a_coded_round_is_read_off_the_unit_vectors():
    algorithm = figures.VARIANTS["FedResAvg, Option II"](0.1, 3)
    M, c = figures.one_round(algorithm, figure1())
    assert M.shape == (6, 6) and len(c) == 6
    best = np.array([2.0, -2.0, 0.0, 0.0, 10.0, -10.0])       # w, theta, c, c_i on the line of optima
    assert M @ best + c == pytest.approx(best, abs=1e-12)


def test_the_map_has_no_bias_where_variates_or_large_batches_prevent_it():
    rows = committed("map")
    assert all(r["bias"] in (0, np.inf) for r in rows if r["method"] in ("FedResSGD", "FedResAvg, Option II"))
    assert all(r["bias"] > 0 for r in rows if r["method"] == "FedResAvg, Option I" and r["K"] > 1)


def test_the_recorded_levels_are_those_known_from_a_few_seeds():
    """Four seeds of one vector and the stated ground truth, to sampling error."""
    known = {0.0: (0.2127, 0.2127, 0.2134, 0.2136, 0.2197, 0.2135, 0.2136, 0.2136, 0.2136),
             0.5: (0.5473, 0.5473, 0.3979, 0.4078, 0.4699, 0.3163, 0.3162, 0.3162, 0.3163),
             1.0: (0.6894, 0.6894, 0.3986, 0.4171, 0.5316, 0.2208, 0.2209, 0.2208, 0.2208)}
    seen = {(r["mix"], r["method"]): r["value"] for r in committed("levels") if r["truth"] == "stated" and r["quantity"] == "loss"}
    for mix, values in known.items():
        assert [seen[mix, name] for name in methods(1)] == pytest.approx(values, abs=5e-4)
