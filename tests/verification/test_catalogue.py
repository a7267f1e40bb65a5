"""The catalogue of bugs: a claim rejects every one, and the numbers reported of public code come out of it."""
from fractions import Fraction as Q
from pathlib import Path

import numpy as np
import pytest

from fltheory.algorithms.fedau import FedAu
from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.mifa import Mifa
from fltheory.algorithms.scaffold import Scaffold
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.algorithms.solvers import Momentum, MomentumProximal, Proximal, descend
from fltheory.core.errors import BadInput
from fltheory.core.laws.draw import everyone
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.core.laws.modes import Markov
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, fraction
from fltheory.core.optima import optimum
from fltheory.core.problems.quadratic import Quadratic
from fltheory.verdicts.claims.claim import Instance
from fltheory.verdicts.deciding.check import apply_bug, check_instance
from fltheory.verdicts.papers.discover import load
from verification import bugs
from verification.fednova.instances import plane
from verification.focus.bugs import at, baselines, figures, repository

PAPER = load(Path(__file__).parents[2] / "verification" / "fednova")
CATALOGUE = {name: getattr(bugs, name) for name in bugs.__all__}


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


# ---- defects of public code around FOCUS ------------------------------------------------------------------
FOCUS = load(Path(__file__).parents[2] / "verification" / "focus")
OF_FOCUS = [  # defect, claim that rejects it by numbers alone, instance
    (repository.shared_storage, "table1-fedavg", "plane, full, tau=3"),
    (repository.shared_storage, "table1-mifa", "plane, full, tau=3"),
    (at(repository.mifa_ascent, "mifa"), "fedavg-fedau-mifa", "N=2, tau=2, plain"),
    (at(figures.mifa_previous_local_model, "mifa"), "fedavg-fedau-mifa", "N=2, tau=2, plain"),
    (figures.fedau_counter_stuck, "fedau-weights", "counters, cut-off None"),
    (baselines.weights_normalised, "table1-fedau", "arbitrary, d=2, tau=3, cut-off None"),
    (baselines.current_interval_counts, "fedau-weights", "weights in use, N=2, tau=1"),
    (repository.fixed_divisor, "table1-reference-rates", None),
    (repository.variate_drifts, "table1-reference-rates", None),
    (repository.equal_rows, "conj-markov-restricted", None),
]


@pytest.mark.parametrize(("bug", "claim", "name"), OF_FOCUS, ids=lambda v: getattr(v, "__name__", v))
def test_a_claim_rejects_every_defect_of_the_public_code(bug, claim, name):
    assert bug.__name__ in {b.__name__ for b in FOCUS.claims[claim].rejects}
    on = [i for i in FOCUS.claims[claim].on if name in (None, i.name)]
    killers = [i for i in on if (wrong := apply_bug(bug, i)) and check_instance(FOCUS.claims[claim], wrong).status == "FALSIFIED"]
    assert killers and check_instance(FOCUS.claims[claim], killers[0]).status == "HOLDS"


def under(bug, algorithm, law, problem=None):
    """Exact operators with and without a defect."""
    right = Instance("", problem or plane(), algorithm, law)
    return right.op, apply_bug(bug, right).op


THREE = Quadratic([[[1]], [[2]], [[4]]], [[1], [-1], [0]])
FOUR = Quadratic([[[1]], [[2]], [[4]], [[3]]], [[1], [-1], [0], [2]])


def test_a_fixed_divisor_keeps_the_fixed_point_and_changes_the_rate():
    law = Bernoulli(("9/10", "1/2", "1/10"), "redraw")
    true, false = under(repository.fixed_divisor, Scaffold("1/20", 3), law, THREE)
    best = optimum(THREE).x
    assert true.floor(best) == false.floor(best) == 0 and (false.fixed_point().x == best).all()
    assert abs(true.mean_square_rate() - false.mean_square_rate()) > 1e-3


def test_a_drifting_server_variate_leaves_an_error_where_scaffold_has_none():
    true, false = under(repository.variate_drifts, Scaffold("1/20", 3), Uniform(1), THREE)
    best = optimum(THREE).x
    assert true.floor(best) == 0 < Q(1, 100) < false.floor(best) and false.stable
    true, false = under(repository.variate_drifts, Scaffold("1/20", 3), Full(), THREE)
    assert true.mean_square_rate() == pytest.approx(false.mean_square_rate(), abs=1e-12)  # only absence shows it


def test_mifas_reference_and_sign_make_it_diverge_where_mifa_converges():
    assert [op.stable for op in under(figures.mifa_previous_local_model, Mifa("1/20", 3), Uniform(2), FOUR)] == [True, False]
    assert [op.stable for op in under(repository.mifa_ascent, Mifa("1/20", 3), Full(), FOUR)] == [True, False]
    true, false = under(figures.mifa_previous_local_model, Mifa("1/20", 3), Full(), FOUR)
    assert (true.fixed_point().x == false.fixed_point().x).all()   # with everybody there it telescopes to FedAvg


@pytest.mark.parametrize("make", [FedAvg, FedAu, Mifa], ids=lambda v: v.__name__)
def test_with_shared_storage_a_round_is_one_pass_over_the_participants(make):
    problem, x0, expected = THREE.to(RATIONAL), RATIONAL.array(np.array([[5]]))[0], Q(5)
    wrong = repository.shared_storage(make("1/10", 2)).to(RATIONAL)
    for h, c in ((1, 1), (4, 0)):
        expected = c + (1 - Q(h, 10)) ** 2 * (expected - c)
    new = wrong.round(problem, wrong.init(problem, x0), everyone(3, 2, np.array([1, 0, 1])))
    assert fraction(wrong.model(new)[0]) == expected


def test_the_stuck_counter_grows_with_the_round_and_the_weights_cancel():
    wrong, true = figures.fedau_counter_stuck(FedAu("1/10", 2)).to(FLOAT), FedAu("1/10", 2).to(FLOAT)
    problem, x0 = THREE.to(FLOAT), np.array([5.0])
    s, t = wrong.init(problem, x0), true.init(problem, x0)
    for r in range(1, 31):   # client 0 in every third round, the others in every one
        draw = everyone(3, 2, np.array([int(r % 3 == 0), 1, 1]))
        plain = FedAvg("1/10", 2, averaging="plain").to(FLOAT).round(problem, FedAvg("1/10", 2).to(FLOAT).init(problem, s.x), draw)
        s, t = wrong.round(problem, s, draw), true.round(problem, t, draw)
        assert s.x == pytest.approx(plain.x, abs=1e-12)
    assert (s.waited[0], t.weight[0]) == (30, 3)


def test_equal_rows_leave_a_chain_without_memory():
    law = Markov("2/5", "3/5", 2)
    wrong = repository.equal_rows(law)
    assert len({tuple(r) for r in wrong.matrix}) == 1 < len({tuple(r) for r in law.matrix})
    assert list(law.inclusion(2)) == [Q(2, 5)] * 2 and list(wrong.inclusion(2)) == [Q(2, 5) * Q(2, 5)] * 2   # p (1 - c)
    assert repository.equal_rows(Full()) is None
