"""The catalogue of bugs: a claim rejects every one, and the numbers reported of public code come out of it."""
from fractions import Fraction as Q
from pathlib import Path

import numpy as np
import pytest

from fltheory.algorithms.fedavg import FedAvg
from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.scaffold import Scaffold
from fltheory.algorithms.solvers import Momentum, MomentumProximal, Proximal, descend
from fltheory.claims.check import apply_bug, check_instance
from fltheory.claims.claim import Instance
from fltheory.claims.discover import load
from fltheory.errors import BadInput
from fltheory.laws.draw import everyone
from fltheory.laws.memoryless import Full, Uniform
from fltheory.problems.quadratic import Quadratic
from fltheory.scalars import FLOAT, RATIONAL, fraction
from verification import bugs
from verification.fednova.instances import plane

PAPER = load(Path(__file__).parents[2] / "verification" / "fednova")
CATALOGUE = {k: v for k, v in vars(bugs).items() if callable(v) and not isinstance(v, type) and not k.startswith("_")
             and v.__module__ == bugs.__name__}


def test_every_bug_is_rejected_by_a_claim():
    assert len(CATALOGUE) > 30
    rejected = {bug.__name__ for claim in PAPER.claims.values() for bug in claim.rejects}
    assert rejected == set(CATALOGUE)


def test_every_bug_says_what_it_does():
    assert not [name for name, bug in CATALOGUE.items() if len(bug.__doc__ or "") < 20]


@pytest.mark.parametrize(("bug", "algorithm", "law"), [
    (bugs.first_client_twice, FedAvg("1/10", (1, 3, 8)), Full()),
    (bugs.proximal_repelling, FedAvg("1/10", (1, 3, 8), Proximal(mu="1/2")), Full()),
    (bugs.weights_not_renormalised, FedAvg("1/10", (1, 3, 4)), Uniform(2)),
    (bugs.weights_not_renormalised, FedNova("1/10", (1, 3, 4)), Uniform(2)),
    (bugs.fednova_scaled_up, FedNova("1/10", (1, 3, 4)), Uniform(2)),
    (bugs.control_wrong_steps, Scaffold("1/20", (1, 3, 8)), Full()),
    (bugs.normaliser_of_public_code, FedNova("1/10", (1, 3, 4), MomentumProximal("1/2", "1/10")), Full()),
], ids=lambda v: getattr(v, "__name__", type(v).__name__))
def test_a_bug_still_converges_and_changes_the_round(bug, algorithm, law):
    true = Instance("plane", plane(), algorithm, law)
    false = apply_bug(bug, true)
    assert false.but(domain=FLOAT).op.stable
    assert any((a != b).any() for a, b in zip(true.op_anywhere.mean_map(), false.op_anywhere.mean_map(), strict=True))


@pytest.mark.parametrize(("bug", "claim", "name"), [
    (bugs.first_client_twice, "eq26-28", "plane"),
    (bugs.proximal_repelling, "eq26-28", "plane, prox"),
    (bugs.weights_not_renormalised, "footnote1-ii", "plane, q=2"),
    (bugs.fednova_scaled_up, "footnote1-ii", "plane, q=2"),
    (bugs.proximal_not_squared, "appb-prox", "listed gradients"),
], ids=lambda v: getattr(v, "__name__", ""))
def test_numbers_alone_reject_a_bug(bug, claim, name):
    here = next(i for i in PAPER.claims[claim].on if i.name == name)
    assert here.domain is RATIONAL
    assert check_instance(PAPER.claims[claim], here).status == "HOLDS"
    assert check_instance(PAPER.claims[claim], apply_bug(bug, here)).status == "FALSIFIED"


# ---- numbers of public code -------------------------------------------------------------------------------
def printed(value, text):
    """The value rounds to the printed digits."""
    return abs(fraction(value) - Q(text)) <= Q(1, 2 * 10 ** len(text.split(".")[1]))


def received(solver):
    """|a|_1 of five coded steps."""
    flat = Quadratic.from_linear([[[0]]], [[1]]).to(RATIONAL)
    x = RATIONAL.array(np.array([[0]]))
    change, mass = descend(solver, RATIONAL.scalar(1), flat.at(), x, everyone(1, 5))
    assert change[0, 0] == mass[0, 0]  # on the linear loss -x every gradient is -1
    return mass[0, 0]


def test_the_normaliser_of_the_public_fednova_code():
    true = FedNova(1, 5, MomentumProximal("9/10", "1/10"), tau_eff=1)
    false = bugs.normaliser_of_public_code(true).to(RATIONAL)
    flat, one = Quadratic.from_linear([[[0]]], [[1]]).to(RATIONAL), RATIONAL.array(np.array([[1]]))
    (share,) = false.server(RATIONAL.array(np.array([0])), flat.at(), everyone(1, 5), one, one)
    assert printed(1 / share, "14.379")  # what a change of 1 is divided by
    assert printed(received(false.solver), "10.292")
    assert printed(received(true.to(RATIONAL).solver), "11.427")


def test_the_repelling_proximal_term_of_fedscale():
    # (y - 1)^2/2 from the anchor 0, step 1/10, mu = 1/2: without proximal term 1.0, with a correct one 2/3
    def limit(algorithm):
        solver = algorithm.to(RATIONAL).solver
        zero, one = (RATIONAL.array(np.array([v])) for v in (0, 1))
        at = [solver.step(y, zero, zero, y - 1, RATIONAL.scalar("1/10"), 1)[0][0] for y in (zero, one)]
        return at[0] / (1 - (at[1] - at[0]))
    true = FedAvg("1/10", 1, Proximal(mu="1/2"))
    assert fraction(limit(true)) == Q(2, 3)
    assert printed(limit(bugs.proximal_repelling(true)), "1.909")


# ---- momentum with a proximal term ------------------------------------------------------------------------
def test_momentum_proximal_contains_both():
    def steps(solver):
        return [fraction(v) for v in Instance("", plane(), FedAvg("1/10", (1, 3, 4), solver), Full()).op.mean_map()[0]
                .reshape(-1)]
    assert steps(MomentumProximal("1/3", 0)) == steps(Momentum("1/3"))
    assert steps(MomentumProximal(0, "1/4")) == steps(Proximal(alpha="1/4"))


@pytest.mark.parametrize(("rho", "alpha"), [(1, 0), (-1, 0), (0, 2), (0, "-1/2")])
def test_momentum_proximal_refuses_what_it_does_not_mean(rho, alpha):
    with pytest.raises(BadInput):
        MomentumProximal(rho, alpha)
