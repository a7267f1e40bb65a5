"""FedNova's folder: the ledger's numbers, and what `verify` says of a bug in the engine (see also test_papers)."""

import subprocess
import sys
from fractions import Fraction as Q
from pathlib import Path

import pytest

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.solvers import Vanilla
from fltheory.core.numbers.scalars import fraction
from fltheory.verdicts.deciding.check import check_instance
from fltheory.verdicts.papers.discover import load
from fltheory.verdicts.report import terminal
from fltheory.verdicts.verify import verify

FOLDER = Path(__file__).parents[2] / "verification" / "fednova"
PAPER = load(FOLDER)


# ---- witnesses --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("stem", "before", "after"),
    [("e1", "Q(1, 7), []", "Q(1, 8), []"), ("e8b", "T, B, C, root, eta = 100", "T, B, C, root, eta = 101")],
)
def test_a_witness_notices_when_its_numbers_are_changed(stem, before, after, tmp_path):
    source = (FOLDER / "witnesses" / f"{stem}.py").read_text()
    assert before in source
    changed = tmp_path / "changed.py"
    changed.write_text(source.replace(before, after))
    done = subprocess.run([sys.executable, "-I", "-S", str(changed)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "[False]" in done.stdout


# ---- numbers ----------------------------------------------------------------------------------------------
def instance(claim, name):
    return next(i for i in PAPER.claims[claim].on if i.name == name)


def test_theorem_1_as_printed_fails_by_one_49th_against_8_441ths():
    claim = PAPER.claims["thm1-explicit-as-printed"]
    here = check_instance(claim, instance(claim.id, "prox-alpha1"))
    (left,) = here.comparisons
    assert all(h.holds for h in here.hypotheses)
    assert (here.status, here.evidence) == ("FALSIFIED", "exact")
    assert (fraction(left.lhs), fraction(left.rhs.total)) == (Q(1, 49), Q(8, 441))
    (limit,) = check_instance(claim, instance(claim.id, "prox-alpha1, T to infinity")).comparisons
    assert (fraction(limit.lhs), fraction(limit.rhs.total)) == (Q(1, 49), 0)
    corrected = PAPER.claims["thm1-explicit-corrected"]
    assert check_instance(corrected, instance(corrected.id, "prox-alpha1")).status == "HOLDS"


def test_corollary_3_as_printed_is_exceeded_more_and_more():
    claim = PAPER.claims["cor3-o-as-printed"]
    seen = {i.name: check_instance(claim, i) for i in claim.on}
    assert {n: v.status for n, v in seen.items()} == {
        "tau=10": "HOLDS",
        "tau=100": "FALSIFIED",
        "tau=1000": "FALSIFIED",
    }
    ratios = [1 / float(v.comparisons[0].looseness) for v in seen.values()]
    assert ratios[1] / ratios[0] == pytest.approx(10, rel=0.3)
    assert ratios[2] / ratios[1] == pytest.approx(10, rel=0.1)


def test_fednova_diverges_where_fedavg_contracts():
    i = instance("r2-stability", "tau=(1,100), eta=0.0695")
    plain = i.but(algorithm=FedAvg(i.algorithm.lr, i.algorithm.steps))
    assert fraction(i.op.mean_map()[0][0, 0]) < -1
    assert float(fraction(plain.op.mean_map()[0][0, 0])) == pytest.approx(0.466, abs=2e-3)


# ---- bugs -------------------------------------------------------------------------------------------------
def longer_server_step(monkeypatch):
    server = FedAvg.server
    monkeypatch.setattr(FedAvg, "server", lambda self, x, *rest: server(self, x, *rest) * 3 / 2 - x / 2)


def shorter_local_step(monkeypatch):
    step = Vanilla.step
    monkeypatch.setattr(
        Vanilla, "step", lambda self, y, anchor, buffer, g, lr, on: step(self, y, anchor, buffer, g, lr * 4 / 5, on)
    )


@pytest.fixture
def fresh():
    """Instances without the operators and runs that other tests have computed, before and after."""

    def clear():
        for claim in PAPER.claims.values():
            for i in claim.on:
                i.__dict__.pop("op", None), i.__dict__.pop("run", None)

    clear()
    yield
    clear()


@pytest.mark.parametrize(
    ("bug", "named", "harmless"),
    [
        (
            longer_server_step,
            ["eq26-28"],
            ["lem1", "appb-momentum"],
        ),  # a longer step leaves the fixed point where it is
        (shorter_local_step, ["eq26-28", "lem1", "r2-stability"], ["appb-momentum"]),
    ],
)
def test_verify_names_the_claims_that_a_bug_in_the_engine_breaks(monkeypatch, fresh, bug, named, harmless):
    bug(monkeypatch)
    records, code = verify([FOLDER], only=[*named, *harmless], quick=True, on_record=lambda r: None)
    wrong = terminal.summary(records).split("not as expected")[1]
    assert code == 1
    assert [n for n in [*named, *harmless] if f"fednova/{n}:" in wrong] == named


def test_every_catalogued_bug_is_rejected_by_some_claim():
    from verification import bugs

    catalogue = set(bugs.__all__)
    rejected = {b.__name__ for c in PAPER.claims.values() for b in c.rejects}
    assert rejected <= catalogue
    assert catalogue - rejected <= {"normaliser_counts_steps"}  # no written claim uses FedNova with another solver yet
