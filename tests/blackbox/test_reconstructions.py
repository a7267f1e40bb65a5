"""Published rounds written anew (reconstructions, no verdict on any package): six faults are named, the right rounds match.

Between a code and `identify` stand at most ten lines, those of one function below.
"""
import inspect

import numpy as np
import pytest

pytest.importorskip("torch")

import fltheory as ft
from tests.blackbox import reconstructions as codes

LR, STEPS = "1/20", (1, 3, 5)
EQUAL = ["1/3"] * 3
SCAFFOLD, NOVA = ft.Scaffold(LR, STEPS), ft.FedNova(LR, STEPS)


# ---- user code: from a published shape to a round ----------------------------------------------------------
def pfl_scaffold(**options):
    code = codes.PflScaffold(STEPS, **options)
    return ft.identify(code.train_cohort, 3, 2, SCAFFOLD, reset=code.reset)


def fedlab_scaffold(**options):
    code = codes.FedLabScaffold(STEPS, **options)

    def round_fn(x, clients, cohort):
        code.c_global = codes.torch.zeros(2) if code.c_global is None else code.c_global
        return code.global_update(x, [code.train(x, i, clients[i]) for i in cohort], len(clients))
    return ft.identify(round_fn, 3, 2, SCAFFOLD, reset=code.reset)


def fl_bench_scaffold(**options):
    code = codes.FLBenchScaffold(STEPS, 3, 2, **options)
    return ft.identify(code.train_one_round, 3, 2, SCAFFOLD, reset=code.reset)


def niid_bench_scaffold(weights=None, law=None):
    code = codes.NIIDBenchScaffold(STEPS, 3, 2)

    def round_fn(x, clients, selected):
        nets, sizes = code.local_train_net_scaffold(x, selected, clients), [len(c.y) for c in clients]
        return sum(sizes[i] * net for i, net in nets.items()) / sum(sizes[i] for i in nets)
    return ft.identify(round_fn, 3, 2, SCAFFOLD, weights=weights, law=law, reset=code.reset)


def fedlab_fednova(**options):
    return ft.identify(lambda x, clients, cohort: codes.fedlab_fednova(x, clients, cohort, STEPS, **options), 3, 2, NOVA)


def flower_fednova(weights=EQUAL):
    def round_fn(x, clients):
        results = [codes.flower_fednova_fit(x, c, k) for c, k in zip(clients, STEPS, strict=True)]
        return x + codes.flower_fednova_aggregate(results)
    return ft.identify(round_fn, 3, 2, NOVA, weights=weights)


def niid_fednova(rho, algorithm):
    return ft.identify(lambda x, clients: codes.niid_fednova(x, clients, STEPS, rho), 3, 2, algorithm)


def flower(kind, algorithm, mu=0.0, alike=False):
    code, n = codes.Strategy(kind), 5 if kind in ("FedMedian", "FedTrimmedAvg") else 3

    def round_fn(x, clients):
        results = [codes.fit(x, c, 3, mu) for c in clients]
        return code.aggregate_fit(x, [(y, 1) for y, _ in results] if alike else results)
    return ft.identify(round_fn, n, 2, algorithm, reset=None if kind == "FedAvg" else code.reset)


USER_CODE = (pfl_scaffold, fedlab_scaffold, fl_bench_scaffold, niid_bench_scaffold, fedlab_fednova, flower_fednova, niid_fednova,
             flower)


def test_user_code_has_at_most_ten_lines():
    assert max(len(inspect.getsource(f).splitlines()) for f in USER_CODE) <= 10
    assert "reconstruction" in codes.__doc__ and "gives no verdict" in codes.__doc__


# ---- six faults ---------------------------------------------------------------------------------------------
def first_two(found):
    assert found.verdict == "differs", str(found)
    return " || ".join(f.sentence for f in found.faults[:2])


@pytest.mark.parametrize("decided,words", [
    (pfl_scaffold, "the option-II update has the wrong sign: it adds y_i - x where it has x - y_i"),
    (fedlab_scaffold, "the corrections are never used in the local steps: this is FedAvg"),
    (fl_bench_scaffold, "never stored: every c_i stays 0"),
    (niid_bench_scaffold, "the server variate c moves by the plain mean of the clients' changes, not weighted by p_i"),
    (fedlab_fednova, "the aggregated change is multiplied by n/|S|"),
    (flower_fednova, "tau_eff cancels: the weights p_i/|a_i| are renormalised to sum 1"),
], ids=lambda v: getattr(v, "__name__", None))
def test_a_published_fault_is_named(decided, words):
    found = decided()
    assert words in first_two(found), str(found)
    assert not any("unexplained" in note for note in found.notes), str(found)


def test_the_cancelled_weights_of_flowers_fednova_are_measured():
    """Unequal sizes (1/2, 1/3, 1/6) and steps (1, 3, 5): 45/58, 5/29, 3/58 where FedNova has 7/6, 7/27, 7/90."""
    found = flower_fednova(weights=None)
    assert [p["weight"] for p in found.parameters] == pytest.approx([45 / 58, 5 / 29, 3 / 58], rel=1e-9)
    assert "(45/58, 5/29, 3/58)" in str(found) and "(7/6, 7/27, 7/90)" in str(found)
    assert "tau_eff cancels" in found.faults[0].sentence, str(found)


def test_the_reversed_update_of_pfl_diverges_where_scaffold_converges():
    """Two scalar quadratics with curvatures 1 and 3 and minimisers 0 and 1, whose sum is least at 3/4."""
    class Client:
        def __init__(self, h, m):
            self.X, self.y = np.array([[h**0.5]]), np.array([h**0.5 * m])
    clients, reached = [Client(1.0, 0.0), Client(3.0, 1.0)], {}
    for difference in ("trained minus central", "central minus trained"):
        code, x = codes.PflScaffold((5, 5), difference), np.zeros(1)
        for _ in range(60):
            x = code.train_cohort(x, clients, [0, 1]).numpy()
        reached[difference] = float(x[0])
    assert reached["central minus trained"] == pytest.approx(3 / 4, abs=1e-4)
    assert abs(reached["trained minus central"]) > 10


# ---- what is right ------------------------------------------------------------------------------------------
RIGHT = {
    "Flower FedAvg": lambda: flower("FedAvg", ft.FedAvg(LR, 3)),
    "Flower FedAvg, proximal client": lambda: flower("FedAvg", ft.FedProx(LR, 3, mu="1/2"), mu=0.5),
    "Flower FedAvgM": lambda: flower("FedAvgM", ft.ServerMomentum(LR, 3, beta="1/2")),
    "pfl SCAFFOLD with the published sign": lambda: pfl_scaffold(difference="central minus trained"),
    "FedLab SCAFFOLD over parameters": lambda: fedlab_scaffold(loop="parameters"),
    "FL-bench SCAFFOLD, written back": lambda: fl_bench_scaffold(write_back=True),
    "NIID-Bench SCAFFOLD, equal weights": lambda: niid_bench_scaffold(EQUAL),
    "NIID-Bench SCAFFOLD, equal weights, two at a time": lambda: niid_bench_scaffold(EQUAL, ft.Uniform(2)),
    "FedLab FedNova without the scale": lambda: fedlab_fednova(weighted_scale=False),
    "NIID-Bench FedNova": lambda: niid_fednova(0.0, NOVA),
    "NIID-Bench FedNova, rho 1/2": lambda: niid_fednova(0.5, ft.FedNova(LR, STEPS, ft.Momentum("1/2"))),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_round_matches(name):
    found = RIGHT[name]()
    assert found.matches, str(found)


def test_default_weights_of_none_drop_the_data_weights():
    found = flower("FedAvg", ft.FedAvg(LR, 3), alike=True)
    assert "data weights p_i are dropped" in first_two(found), str(found)


@pytest.mark.parametrize("kind,words", [("FedMedian", ""), ("FedTrimmedAvg", ""), ("FedAdagrad", "the server's step is adaptive")])
def test_strategies_that_are_not_affine_are_called_that_and_no_more(kind, words):
    found = flower(kind, ft.FedAvg(LR, 3))
    assert found.verdict == "not affine" and words in found.faults[0].sentence, str(found)
    assert "not squared" not in str(found) and ("adaptive" in str(found)) == (kind == "FedAdagrad"), str(found)
