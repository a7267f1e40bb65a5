"""What an instance states is read where it stands, and no bug changes it."""
from dataclasses import replace
from fractions import Fraction as Q

import pytest

import fltheory as ft
from fltheory.core.errors import BadInput
from fltheory.verdicts.claims.claim import Instance
from fltheory.verdicts.deciding.check import apply_bug, check
from tests.verdicts.claims.examples import made

PROBLEM = ft.Quadratic([[[1]], [[3]]], [[0], [1]], ["1/4", "3/4"])


def one(**options):
    return Instance("one", PROBLEM, ft.FedAvg("1/20", (1, 10), ft.Momentum("9/10")), ft.Full(), noise="1/2", **options)


def more_steps(algorithm):
    """Every client makes ten steps."""
    return replace(algorithm, steps=10, lr="1/40")


def everybody_alone(law):
    """One client a round."""
    return ft.Uniform(1)


everybody_alone.of = "law"


def test_numbers_go_by_the_names_of_the_field():
    s = one().stated
    assert (s.n, s.d, s.p, s.L, s.mu) == (2, 1, [Q(1, 4), Q(3, 4)], 3, 1)
    assert (s.eta, s.tau, s.taus, s.sigma, s.rho) == (Q(1, 20), (1, 10), (1, 10), Q(1, 2), Q(9, 10))
    assert Instance("b", PROBLEM, ft.Scaffold("1/9", 4, server_lr="1/2"), ft.Full()).stated.server_lr == Q(1, 2)
    assert Instance("c", PROBLEM, ft.FedAvg("1/9"), ft.Full(steps=3)).stated.taus == (3, 3)
    eta, = ft.Field("eta").symbols
    assert Instance("d", PROBLEM, ft.FedAvg(eta, 1), ft.Full()).stated.eta is eta


@pytest.mark.parametrize("bug", [more_steps, everybody_alone])
def test_a_bug_changes_nothing_that_is_stated(bug):
    wrong = apply_bug(bug, one())
    assert (wrong.algorithm, wrong.law) != (one().algorithm, one().law)
    assert wrong.stated == one().stated == wrong.but(name="other").stated
    quiet = wrong.but(noise=0)
    assert (quiet.stated.sigma, quiet.stated.eta, quiet.stated.taus) == (0, Q(1, 20), (1, 10))


def test_a_claim_notices_a_bug_without_a_number_of_its_own():
    pytest.importorskip("flint")
    def body(i):
        return ft.equal(i.op.fixed_point().x[0], sum(w * (1 - (1 - i.stated.eta * h) ** t) * c for w, h, t, c in zip(
            i.stated.p, (1, 3), i.stated.taus, (0, 1), strict=True)) / sum(
                w * (1 - (1 - i.stated.eta * h) ** t) for w, h, t in zip(i.stated.p, (1, 3), i.stated.taus, strict=True)))
    plain = Instance("plain", PROBLEM, ft.FedAvg("1/20", (1, 10)), ft.Full())
    verdict = check(made(body, on=[plain], rejects=(more_steps,), domain="here"))
    assert (verdict.word, verdict.mutants[0].status) == ("CERTIFIED", "killed")


def test_another_situation_states_its_own():
    other = one().but(algorithm=ft.FedAvg("1/7", 2), problem=ft.Quadratic([[[5]]], [[0]]))
    assert (other.stated.eta, other.stated.taus, other.stated.L) == (Q(1, 7), (2,), 5)
    assert Instance("r", PROBLEM, ft.FedAvg("1/20", 2), ft.Full()).rescaled(3, 1).stated.eta == Q(1, 60)


def test_what_is_not_stated_is_told():
    with pytest.raises(AttributeError, match="nothing called 'alpha' is stated by FedAvg or its solver"):
        _ = one().stated.alpha
    with pytest.raises(BadInput, match="local steps"):
        _ = Instance("c", PROBLEM, ft.FedAvg("1/9"), ft.Full()).stated.taus


def test_stated_numbers_go_by_their_short_names():
    i = one(mu=7)
    assert (i.eta, i.taus, i.p, i.L, i.n) == (Q(1, 20), (1, 10), [Q(1, 4), Q(3, 4)], 3, 2)
    assert i.mu == 7 and i.stated.mu == 1                      # what the instance says itself comes first
    wrong = apply_bug(more_steps, i)
    assert (wrong.eta, wrong.taus) == (Q(1, 20), (1, 10)) and wrong.algorithm.steps == 10
    with pytest.raises(AttributeError, match="has no 'rho'"):
        _ = i.rho                                              # of the solver: `i.stated.rho`
