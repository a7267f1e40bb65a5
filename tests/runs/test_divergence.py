"""A run that diverges is a result: its numbers become inf or nan, without a warning, an error or a false audit."""
import math

import numpy as np
import pytest

import fltheory as ft
from fltheory.runs import audit
from tests.algorithms.instances import quadratic
from tests.runs.test_checkpoints import first
from tests.runs.traces import CHANCES

LAWS = {"full": ft.Full(), "uniform": ft.Uniform(2), "skip": ft.Bernoulli(CHANCES, empty="skip"),
        "cyclic": ft.Cyclic([(0, 1), (2,)])}


def go(algorithm=None, law=None, rounds=2000, replicates=300, **options):
    return ft.run(algorithm or ft.FedAvg(5, 3), quadratic()[0], law or ft.Full(), rounds, replicates, x0=[3, -2],
                  metrics={"norm": lambda x: (x * x).sum(-1)}, **options)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("algorithm", [ft.FedAvg(5, 3), ft.Scaffold(5, 2), ft.FedNova(9, (1, 2, 3))],
                         ids=lambda a: type(a).__name__)
def test_divergence_is_a_trace(algorithm, law):
    t = go(algorithm, LAWS[law], rounds=260, noise=1)
    assert t.mean()[0] < t.mean()[5] < math.inf and not np.isfinite(t.mean()[-1]) and not np.isfinite(t.final).any()
    assert t.audit is None or t.audit <= 1e-12
    for found in (t.interval(), t.floor(), t.interval(metric="norm"), t.floor("norm")):
        assert math.isinf(found.half_width) and found.undecided and str(found) and not math.isfinite(found.value)
    early = t.interval(3)
    assert math.isfinite(early.half_width) and early.contains(early.value)
    assert not math.isfinite(t.rate()) and t.rate(window=(0, 5)) > 1
    assert "<table>" in t._repr_html_()


def test_long_divergence_is_audited_where_it_can_be():
    t = go(ft.FedAvg("3/2", 1), replicates=3, noise=1)
    assert not np.isfinite(t.mean()[-1]) and t.audit <= 1e-12 and 0 < t.audited < audit.AUDITED


def test_diverging_runs_resume_and_are_saved(tmp_path):
    t = go(rounds=300, checkpoint=tmp_path / "c.npz", every=0.0)
    back = ft.Trace.load(t.save(tmp_path / "t"))
    assert np.array_equal(back.mean(), t.mean(), equal_nan=True) and np.array_equal(back.final, t.final, equal_nan=True)


def test_a_round_that_overflows_in_torch_alone_deviates():
    from fltheory.core.numbers.arrays import is_torch

    class Overflows(ft.FedAvg):
        def server(self, x, cohort, draw, change, mass):
            new = super().server(x, cohort, draw, change, mass)
            return new / 0 if is_torch(new) else new
    t = ft.run(Overflows("1/20", 1), quadratic()[0], ft.Full(), 1, 2, x0=[3, -2], metrics={"first": first})
    assert t.audited == 1 and t.audit == math.inf
