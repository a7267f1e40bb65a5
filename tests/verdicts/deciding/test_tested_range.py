"""A search goes to the ends: variables are read off what was decided, corners are visited for certain, missed ends are told."""

import math
from fractions import Fraction as Q

import pytest

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.errors import BadInput
from fltheory.core.laws.base import RandomSteps
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform
from fltheory.core.laws.modes import Replay
from fltheory.core.numbers.scalars import Field
from fltheory.core.problems.huber import HuberLoss
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.relations import at_most
from fltheory.verdicts import records
from fltheory.verdicts.claims.claim import Hypothesis, Instance, claim
from fltheory.verdicts.claims.variables import CAP, CATALOGUE, Variable, check_ends, span
from fltheory.verdicts.deciding.check import check
from fltheory.verdicts.report import range_ends
from fltheory.verdicts.search.search import Family, Search, corners
from tests.verdicts.claims.examples import made

st = pytest.importorskip("hypothesis.strategies")
LAW = Bernoulli((Q(1, 2), Q(1, 4)))


def line(h=(1, 4), c=(1, -1), law=None, steps=2, **options):
    """Clients on the line under FedAvg."""
    problem = Quadratic([[[v]] for v in h], [[v] for v in c], options.pop("weights", None))
    return Instance("line", problem, FedAvg(Q(1, 10), steps), law or Full(), **options)


@pytest.mark.parametrize(("name", "instance", "found"), [
    ("clients", line(), (2, 2)), ("clients", Instance("setting", n=3), (3, 3)), ("dimension", line(), (1, 1)),
    ("local steps", line(steps=3), (3, 3)), ("local steps", line(steps=(1, 7)), (1, 7)),
    ("local steps", line(steps=None, law=Full(steps=RandomSteps([(Q(1, 2), 1), (Q(1, 2), 9)]))), (1, 9)),
    ("local steps", line(steps=None, law=Replay([((0,), (2, 2)), ((1,), (5, 5))])), (2, 5)),
    ("rounds", line(rounds=7), (7, 7)), ("rounds", line(rounds=None), (math.inf,) * 2), ("rounds", line(T=range(3)), (0, 2)),
    ("rounds", line(), None),
    ("participation", line(law=LAW), (Q(1, 4), Q(1, 2))), ("participation", line((1,) * 4, (0,) * 4, Uniform(1)), (Q(1, 4),) * 2),
    ("averaging weight", line((1,) * 4, (0,) * 4, Uniform(2)), (Q(1, 4),) * 2),
    ("condition number", line(), (4, 4)), ("condition number", line((1, -1)), None), ("curvature", line((2, -1)), (Q(-1, 2),) * 2),
    ("noise", line(noise=3), (3, 3)), ("noise against drift", line(), (0, 0)),
    ("noise against drift", line((1, 1), (1, -1), noise=1), (Q(1, 2),) * 2),
    ("noise against drift", line((1, 1), (1, 1), noise=1, x0=[4]), (1, 1)),
    ("weight", line(weights=(Q(1, 8), Q(7, 8))), (Q(1, 8), Q(7, 8))),
])
def test_variables_are_read_off_the_instance(name, instance, found):
    assert span(name, instance) == found


def test_the_steps_of_a_bent_problem_and_of_symbols():
    huber = Instance("Huber", HuberLoss([[[1]], [[2]]], [[0], [1]]), FedAvg("1/4", (1, 3)), Full())
    assert span("local steps", huber) == (1, 3)
    eta, h = Field("eta h").symbols
    assert span("condition number", Instance("symbols", Quadratic([[[h]]], [[0]]), FedAvg(eta, 1), Full())) is None


def test_what_has_no_such_part_has_no_such_variable():
    found = {name: span(name, Instance("nothing")) for name in CATALOGUE}
    assert found == dict.fromkeys(CATALOGUE) | {"noise": (0, 0)}


@pytest.mark.parametrize(("ends", "says"), [
    ({"client": (1, 2)}, "'clients'"), (["clients"], "dictionary"), ({"clients": 3}, "two numbers"),
    ({"clients": (1, 2, 3)}, "two numbers"),
    ({"clients": (2, 1)}, "ordered"), ({"clients": (1, True)}, "two numbers"), ({"clients": (1, math.nan)}, "two numbers"),
])
def test_wrong_ends_are_refused(ends, says):
    with pytest.raises(BadInput, match=says):
        claim("wrong", on=[Instance("one", n=1)], ends=ends)


def test_good_ends_are_kept():
    own = Variable("beta", lambda i: i.beta)
    declared = {"clients": (1, 64), own: (0, math.inf), "rounds": (1, "too slow")}
    assert check_ends(declared, "good") == declared


def integers(low=0, high=9, ends=(), name="integers"):
    def build(draw, k=None):
        k = draw(st.integers(low, high)) if k is None else k
        return Instance("drawn", k=k, n=k)

    return Family(name, build, ends)


def below(limit, *families, tries=20, ends=None, on=None, **options):
    def body(i):
        """k stays below a limit."""
        return at_most(i.k, limit)

    return made(body, on=on or [Instance("one", k=1, n=1)], kind="inequality", search=Search(families, tries), ends=ends or {},
                powerless="no algorithm", expect="SUPPORTED", **options)


def test_corners_are_all_combinations_of_ends():
    assert corners(n=(1, 64), steps=(1, 2)) == tuple({"n": n, "steps": s} for n in (1, 64) for s in (1, 2))


def test_a_search_visits_its_corners_first_and_counts_them():
    verdict = check(below(1000, integers(ends=corners(k=(1, 64))), ends={"clients": (1, 64)}))
    assert verdict.word == "SUPPORTED"
    assert verdict.as_expected
    assert verdict.search.families["integers at its ends"] >= 2
    record = verdict.describe()
    assert (record.reached[0].low, record.reached[0].high, record.reached[0].tested) == ("1", "64", "0 to 64")
    assert record.tightest.ratio == 64 / 1000
    assert record.tightest.at == {"clients": "64"}
    assert "integers at its ends" in record.tightest.instance


def test_a_violation_at_a_corner_is_found():
    verdict = check(below(50, integers(ends=corners(k=(1, 64)))))
    assert verdict.word == "FALSE"
    assert verdict.search.families == {"integers at its ends": verdict.search.tries}


def test_what_a_corner_leaves_free_is_drawn_a_second_time_at_random():
    """The simplest draw alone meets no violation that needs more than one number."""
    drawn = []

    def build(draw, k=1):
        drawn.append((k, draw(st.integers(0, 10**6))))
        return Instance("pair", k=k, n=k)
    check(below(1000, Family("pairs", build, corners(k=(1, 64))), tries=10))
    free = {k: [v for end, v in drawn[:4] if end == k] for k in (1, 64)}
    assert all(values[0] == 0 < values[1] for values in free.values()), drawn[:5]


def test_an_end_that_nothing_reached_is_told():
    verdict = check(below(1000, integers(), ends={"clients": (1, 64)}))
    assert verdict.surprises() == ["clients 64 was not reached: tested 0 to 9"]
    assert not verdict.as_expected
    verdict = check(below(1000, integers(5, 9), ends={"clients": (5, 9), "rounds": (0, 1)}, on=[Instance("nine", k=9, n=9)]))
    assert verdict.surprises() == ["rounds 0 was not reached: tested nowhere", "rounds 1 was not reached: tested nowhere"]


def test_only_what_lies_inside_the_hypotheses_reaches_an_end():
    small = Hypothesis("small", r"$k\le10$", lambda i: (i.k, 10))
    verdict = check(below(1000, integers(ends=corners(k=(1, 64))), ends={"clients": (1, 64)}, needs=[small]))
    assert verdict.surprises() == ["clients 64 was not reached: tested 0 to 9"]


def test_an_end_out_of_reach_has_its_reason_on_the_page():
    record = check(below(1000, integers(), ends={"clients": (0, "a round of 64 takes minutes")})).describe()
    assert record.surprises == []
    assert range_ends.sentences(record) == ["clients 0 to 9 (declared end 0); beyond: a round of 64 takes minutes"]


def test_quick_searches_and_those_on_other_instances_owe_no_ends():
    asked = below(1000, integers(), ends={"clients": (1, 64)})
    assert check(asked, quick=True).surprises() == []
    assert check(asked, search=False).surprises() == []
    assert asked.check(on=[Instance("two", k=2, n=2)]).surprises() == []


def test_the_share_of_a_cap_is_read_off_the_hypotheses():
    cap = Hypothesis("cap", r"$k^2\le100$", lambda i: (i.k**2, 100), cap=2)
    other = Hypothesis("other", r"$k\le20$", lambda i: (i.k, 20), cap=1)
    plain = Hypothesis("positive", r"$0\le k$", lambda i: (0, i.k))
    verdict = check(below(1000, integers(ends=corners(k=(1, 10))), ends={CAP: (Q(1, 10), 1)}, needs=[plain, cap, other]))
    assert verdict.surprises() == []
    assert verdict.instances[0].hypotheses[1].share == pytest.approx(0.1)
    assert verdict.describe().reached[0].tested == "0 to 1"


def test_the_claim_s_own_variables():
    beta = Variable("beta", lambda i: [i.k, i.k + 2])
    assert check(below(1000, integers(ends=corners(k=(0, 9))), ends={beta: (0, 11)})).surprises() == []


def test_a_page_says_how_tight_a_bound_was():
    far, near = check(below(1000, integers())).describe(), check(below(10, integers(ends=corners(k=(9,))))).describe()
    assert range_ends.tightest(far).startswith("never tested within a factor 2: worst ratio 0.009 on drawn, drawn by the search")
    assert range_ends.tightest(near).startswith("worst ratio left/right 0.9 on drawn")
    assert range_ends.tightest(records.Claim(word="FALSE", tightest=near.tightest)) == ""
    assert range_ends.tightest(records.Claim()) == ""
    assert records.Claim.of(near.to_json()) == near
