"""Laws: exact distributions against brute force, samples against the exact distributions, refusals.

Samples have fixed seeds. A chi-square test rejects at level 1e-6, so with fresh seeds this file would raise a false
alarm less than once in twenty thousand times.
"""
import itertools
from fractions import Fraction as Q

import numpy as np
import pytest
from scipy import stats

from fltheory.asynchronous.event_clock import EventClock
from fltheory.core.algorithms.base import advance
from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.errors import BadInput, TooLarge
from fltheory.core.laws.base import RandomSteps, minibatch_slots
from fltheory.core.laws.memoryless import Bernoulli, Full, Uniform, WithReplacement
from fltheory.core.laws.modes import Chain, Cyclic, Markov, Replay
from fltheory.core.laws.periodic import Periodic
from fltheory.core.laws.weighted import Weighted
from fltheory.core.numbers.scalars import RATIONAL
from fltheory.core.problems.quadratic import Quadratic
from fltheory.runs.streams import Stream

LEVEL, REPLICATES = 1e-6, 40_000
PS = ("1/2", "1/3", "9/10", 1)
CHAIN = {"sets": ((0, 1), (2,), (), (0, 2, 3)), "steps": 1,
         "matrix": (("1/2", "1/4", 0, "1/4"), ("1/3", 0, "2/3", 0), (0, "1/2", "1/4", "1/4"), (1, 0, 0, 0))}
LAWS = {  # all for four clients
    "full": Full(1),
    "uniform 1": Uniform(1, 1),
    "uniform 2": Uniform(2, 1),
    "uniform 4": Uniform(4, 1),
    "with replacement": WithReplacement(3, steps=1),
    "with replacement, weighted": WithReplacement(2, ("1/2", "1/4", "1/4", 0), steps=1),
    "bernoulli": Bernoulli(PS, steps=1),
    "bernoulli, equal": Bernoulli("1/3", steps=1),
    "bernoulli, skip": Bernoulli("1/4", "skip", steps=1),
    "bernoulli, redraw": Bernoulli(("1/2", "1/3", "1/10", "1/4"), "redraw", steps=1),
    "chain": Chain(**CHAIN),
    "cyclic": Cyclic(((0, 1), (2,), (3,)), steps=1),
    "markov": Markov(("1/2", "1/3", "1/4", "2/3"), "1/4", 4, steps=1),
    "events": EventClock((1, 2, 1, 3), steps=1),
    "weighted": Weighted(2, (5, 1, 2, 1), steps=1),
    "weighted, all": Weighted(4, (5, 1, 2, 1), steps=1),
    "periodic": Periodic([Bernoulli(PS), Uniform(2), Full(), Weighted(1, (1, 2, 3, 4))], steps=1),
}
laws = pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))


def counts(who, present, n):
    members = np.arange(n)[who] if isinstance(who, slice) else np.asarray(who)
    return tuple(np.bincount(members[np.asarray(present) > 0], minlength=n).tolist())


def distribution(law, n, mode):
    """{number of places of each client: probability} of one mode, from the listed cohorts."""
    found = {}
    for p, who, present in law.cohorts(n, mode):
        key = counts(who, present, n)
        found[key] = found.get(key, 0) + p
    return found


def long_run(law, n):
    pi, total = law.stationary(), {}
    for mode, q in enumerate(pi):
        for key, p in distribution(law, n, mode).items():
            total[key] = total.get(key, 0) + q * p
    return total


def chi_square(observed, expected):
    """p-value of counts against probabilities, {outcome: number} and {outcome: probability}."""
    assert set(observed) <= {k for k, p in expected.items() if p}, "an impossible outcome was drawn"
    total = sum(observed.values())
    keys = [k for k, p in expected.items() if p]
    if len(keys) == 1:
        return 1.0
    return stats.chisquare([observed.get(k, 0) for k in keys], [float(expected[k]) * total for k in keys]).pvalue


# ---- exact distributions ---------------------------------------------------------------------------------


@laws
def test_probabilities_sum_to_one(law):
    for mode in range(law.modes):
        cohorts = list(law.cohorts(4, mode))
        assert len(cohorts) <= law.cohort_count(4, mode)
        assert sum(p for p, _, _ in cohorts) == 1 and all(isinstance(p, Q) and p > 0 for p, _, _ in cohorts)
        assert sum(p for p, _ in law.support(4, mode)) == 1
    assert all(sum(row) == 1 for row in law.chain())
    assert sum(law.start()) == 1 and sum(law.stationary()) == 1


@laws
def test_the_stationary_law_is_stationary(law):
    pi, P = law.stationary(), law.chain()
    assert [sum(pi[k] * P[k][j] for k in range(law.modes)) for j in range(law.modes)] == pi


@laws
def test_features_against_brute_force(law):
    n = 4
    regimes = [(None, long_run(law, n))] + [(k, distribution(law, n, k)) for k in range(law.modes)]
    for mode, exact in regimes:
        inclusion, q, pairs = law.inclusion(n, mode), law.averaging_weights(n, mode), law.pairs(n, mode)
        for i in range(n):
            assert inclusion[i] == sum(p for key, p in exact.items() if key[i])
            assert q[i] == sum(p * Q(key[i], sum(key)) for key, p in exact.items() if sum(key))
            assert pairs[i, i] == inclusion[i]
            for j in range(n):
                assert pairs[i, j] == sum(p for key, p in exact.items() if key[i] and key[j])


@pytest.mark.parametrize(("law", "inclusion", "q"), [
    (Full(), [1] * 4, [Q(1, 4)] * 4),
    (Uniform(3), [Q(3, 4)] * 4, [Q(1, 4)] * 4),
    (WithReplacement(3), [1 - Q(3, 4)**3] * 4, [Q(1, 4)] * 4),
    (WithReplacement(2, ("1/2", "1/4", "1/4", 0)), [Q(3, 4), Q(7, 16), Q(7, 16), 0], [Q(1, 2), Q(1, 4), Q(1, 4), 0]),
    (Bernoulli(PS), [Q(1, 2), Q(1, 3), Q(9, 10), 1], None),
    (Cyclic(((0, 1), (2,), (3,))), [Q(1, 3)] * 4, [Q(1, 6), Q(1, 6), Q(1, 3), Q(1, 3)]),
], ids=lambda v: type(v).__name__)
def test_closed_forms(law, inclusion, q):
    assert law.inclusion(4) == inclusion
    assert q is None or law.averaging_weights(4) == q


def test_empty_conventions_of_bernoulli():
    p = (Q(1, 2), Q(1, 3))
    move, skip, redraw = (Bernoulli(p, empty) for empty in ("move", "skip", "redraw"))
    assert distribution(move, 2, 0)[0, 0] == distribution(skip, 2, 0)[0, 0] == Q(1, 3)
    assert (0, 0) not in distribution(redraw, 2, 0)
    assert distribution(redraw, 2, 0) == {k: v / Q(2, 3) for k, v in distribution(move, 2, 0).items() if any(k)}
    assert redraw.inclusion(2) == [Q(3, 4), Q(1, 2)] and move.inclusion(2) == [Q(1, 2), Q(1, 3)]
    assert sum(move.averaging_weights(2)) == Q(2, 3) and sum(redraw.averaging_weights(2)) == 1
    steps = {"steps": 1}
    happens = [draw.extra["happens"] for _, draw in Bernoulli(p, "skip", **steps).support(2)]
    assert [int(v) for v in happens] == [0, 1, 1, 1]
    assert all(draw.extra is None for law in ("move", "redraw") for _, draw in Bernoulli(p, law, **steps).support(2))
    assert Bernoulli((1, "1/2")).cohort_count(2) == 2


def test_a_skipped_round_keeps_the_state_and_a_moving_one_is_run():
    class Walk(FedAvg):
        def round(self, problem, s, draw):
            return type(s)(s.x + 1)
    problem = Quadratic([[[1]], [[1]]], [[0], [1]]).to(RATIONAL)
    a = Walk("1/2").to(RATIONAL)
    state = a.init(problem, RATIONAL.array(np.array([5])))
    for empty, after in (("skip", 5), ("move", 6)):
        draws = [d for _, d in Bernoulli("1/2", empty, steps=1).support(2)]
        results = [int(advance(a, problem, state, d).x[0]) for d in draws]
        assert results == [after, 6, 6, 6]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("make", [
    lambda n: Uniform(1), lambda n: Uniform(n), lambda n: Uniform((n + 1) // 2), lambda n: Uniform(max(1, n - 1)),
    *(lambda n, empty=empty, p=p: Bernoulli(p[:n], empty) for empty in ("move", "skip", "redraw")
      for p in (("1/2", "1/3", "9/10", "1/7", "3/4"), ("1/5",) * 5, (1, "1/2", "1/2", 1, "1/8"))),
])
def test_feature_moments_equal_enumeration(make, n):
    law = make(n)
    mean, second, nobody = law.feature_moments(n)
    exact_mean, exact_second, exact_nobody = [Q(0)] * (2 * n), np.full((2 * n, 2 * n), Q(0), dtype=object), Q(0)
    for key, p in distribution(law, n, 0).items():
        size = sum(key)
        f = np.array([Q(v) for v in key] + [Q(v, max(size, 1)) for v in key], dtype=object)
        exact_mean = exact_mean + p * f
        exact_second = exact_second + p * f[:, None] * f[None, :]
        exact_nobody += p * (size == 0)
    assert list(mean) == list(exact_mean) and (second == exact_second).all() and nobody == exact_nobody


def test_laws_without_features_say_so():
    assert all(LAWS[k].feature_moments(4) is None for k in ("with replacement", "chain", "cyclic", "full"))


# ---- chains ----------------------------------------------------------------------------------------------


def test_markov_has_its_inclusion_and_correlation():
    p, rho = (Q(1, 2), Q(1, 3), Q(4, 5)), (Q(1, 4), Q(-1, 3), Q(1, 2))
    law = Markov(p, rho, 3, steps=1)
    assert law.inclusion(3) == list(p) and law.start() == law.stationary() and law.modes == 8
    P = law.chain()
    for i in range(3):
        inside = [k for k in range(8) if i in law.sets[k]]
        both = sum(law.start()[k] * P[k][j] for k in inside for j in inside)
        assert (both - p[i]**2) / (p[i] * (1 - p[i])) == rho[i]
    assert law.pairs(3)[0, 1] == p[0] * p[1]


def test_markov_without_correlation_is_bernoulli():
    p = (Q(1, 2), Q(1, 3), 1)
    markov, bernoulli = Markov(p, 0, 3), Bernoulli(p)
    sets = [tuple(int(i in s) for i in range(3)) for s in markov.sets]
    exact = distribution(bernoulli, 3, 0)
    for row in [*markov.chain(), markov.start()]:
        assert {s: q for s, q in zip(sets, row, strict=True) if q} == exact
    assert markov.averaging_weights(3) == bernoulli.averaging_weights(3)


def walk(law, n, rounds, batch=3, seed=0):
    """[(mask (batch, n), steps, mode)] of a run."""
    edges = np.cumsum([float(v) for v in law.start()])
    mode = np.searchsorted(edges, Stream(seed, "start").generator().random(batch), side="right")
    for t in range(rounds):
        draw, mode = law.sample(Stream(seed, "round", t), n, batch, mode)
        yield np.broadcast_to(draw.present, (batch, n)), np.broadcast_to(draw.steps, (batch, n)), mode


def test_cyclic_starts_with_its_first_group_and_repeats():
    law = Cyclic(((0, 1), (2,), ()), steps=2)
    masks = [mask.tolist() for mask, _, _ in walk(law, 3, 7)]
    cycle = [[1, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert masks == [[cycle[t % 3]] * 3 for t in range(7)]


def test_replay_replays_participants_and_steps():
    law = Replay([((0,), (1, 2, 3)), ((1, 2), 4), ((0, 2), 1)])
    out = list(walk(law, 3, 6))
    assert [m[0].tolist() for m, _, _ in out] == [[1, 0, 0], [0, 1, 1], [1, 0, 1]] * 2
    assert [s[0].tolist() for _, s, _ in out] == [[1, 2, 3], [4, 4, 4], [1, 1, 1]] * 2
    ((_, draw),) = law.support(3, 1)
    assert draw.steps.tolist() == [4, 4, 4] and draw.present.tolist() == [0, 1, 1]


def test_transitions_of_a_sampled_chain():
    law = Chain(**CHAIN)
    P = law.chain()
    for k in range(4):
        _, mode = law.sample(Stream(11, k), 4, REPLICATES, np.full(REPLICATES, k))
        observed = dict(enumerate(np.bincount(mode, minlength=4).tolist()))
        observed = {j: v for j, v in observed.items() if v}
        assert chi_square(observed, dict(enumerate(P[k]))) > LEVEL


# ---- sampling --------------------------------------------------------------------------------------------


@laws
def test_samples_follow_the_exact_law(law):
    n = 4
    for start in range(min(law.modes, 3)):
        draw, mode = law.sample(Stream(5, start), n, REPLICATES, np.full(REPLICATES, start))
        present = np.broadcast_to(draw.present, (REPLICATES, draw.present.shape[-1]))
        if isinstance(draw.who, slice):
            table = present
        else:
            table = np.stack([((draw.who == i) * present).sum(-1) for i in range(n)], axis=-1)
        keys, numbers = np.unique(table, axis=0, return_counts=True)
        observed = {tuple(k): v for k, v in zip(keys.tolist(), numbers.tolist(), strict=True)}
        expected = {}
        for j, q in enumerate(law.chain()[start]):
            for key, p in distribution(law, n, j).items():
                expected[key] = expected.get(key, 0) + q * p
        assert chi_square(observed, expected) > LEVEL
        assert mode.shape == (REPLICATES,)


@laws
def test_a_replicate_does_not_depend_on_the_batch(law):
    law = law.with_noise(1)
    few, many = (law.sample(Stream(3), 4, batch, np.zeros(batch, dtype=np.int64)) for batch in (5, 64))
    for a, b in zip((few[0].who, few[0].present, few[0].steps, few[1]),
                    (many[0].who, many[0].present, many[0].steps, many[1]), strict=True):
        if not isinstance(a, slice):
            assert (a == (b if a.ndim == b.ndim == 1 and len(a) == len(b) else b[:5])).all()


def test_rows_do_not_depend_on_the_batch_or_the_order_of_slots():
    sizes = [3, 10, 1, 7]
    a, b = (minibatch_slots(Stream(3), sizes, slice(None), (batch, 4), 6, lambda v: v) for batch in (5, 64))
    later = b(3)
    assert (a(1).index == b(1).index[:5]).all() and (a(3).index == later.index[:5]).all() and b.count == 4
    assert [int(b(1).index[:, i].max()) for i in range(4)] == [2, 9, 0, 6] and b(1).index.min() == 0
    who = np.array([[3, 0], [2, 1]])
    rows = minibatch_slots(Stream(3), sizes, who, (2, 2), 500, lambda v: v)(0).index
    assert [[int(v.max()) for v in line] for line in rows] == [[6, 2], [0, 9]]


def test_random_steps():
    mixed = RandomSteps((("1/4", 1), ("3/4", 5)))
    law = Uniform(2, steps=mixed)
    support = law.support(3)
    assert len(support) == 3 * 8 and sum(p for p, _ in support) == 1
    assert sum(p * int(d.steps[0]) for p, d in support) == 4
    draw, _ = law.sample(Stream(2), 3, REPLICATES)
    assert draw.steps.shape == draw.who.shape
    observed = dict(zip(*(v.tolist() for v in np.unique(draw.steps, return_counts=True)), strict=True))
    assert chi_square(observed, {1: Q(1, 4), 5: Q(3, 4)}) > LEVEL
    together = RandomSteps((("1/3", (1, 2, 3)), ("2/3", 4)), independent=False)
    assert [(p, s.tolist()) for p, s in together.outcomes(3)] == [(Q(1, 3), [1, 2, 3]), (Q(2, 3), [4, 4, 4])]
    sampled = together.sample(Stream(1).generator().random((REPLICATES, 3)))
    observed = {tuple(k): v for k, v in zip(*(v.tolist() for v in np.unique(sampled, axis=0, return_counts=True)),
                                            strict=True)}
    assert chi_square(observed, {(1, 2, 3): Q(1, 3), (4, 4, 4): Q(2, 3)}) > LEVEL


def test_steps_go_with_the_client_and_not_with_the_place():
    law = WithReplacement(3, steps=(1, 5, 9))
    draw, _ = law.sample(Stream(1), 3, 50)
    assert (draw.steps == np.array([1, 5, 9])[draw.who]).all()
    assert all((d.steps == np.array([1, 5, 9])[d.who]).all() for _, d in law.support(3))
    assert {tuple(d.who) for _, d in law.support(3)} == set(itertools.product(range(3), repeat=3))


def test_typical_draws_carry_what_the_law_knows():
    assert Bernoulli("1/2", "skip", steps=1).typical(3).extra["happens"] == 1
    assert Bernoulli("1/2", steps=(1, 2, 3)).typical(3).present.tolist() == [1, 1, 1]


# ---- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "words"), [
    (lambda: Bernoulli(0), ["p = '0'", "(0, 1]", "Leave out"]),
    (lambda: Bernoulli(("1/2", "3/2")), ["p = '3/2'", "(0, 1]"]),
    (lambda: Bernoulli("1/2", empty="stop"), ["empty = 'stop'", "skip", "Choose"]),
    (lambda: Bernoulli(("1/2", "1/2"), steps=1).cohort_count(3), ["p = (2,)", "(3,)", "Give n"]),
    (lambda: Uniform(0), ["m = 0", "at least one", "Give"]),
    (lambda: Uniform(True), ["m = True", "Give"]),
    (lambda: Uniform(5, 1).cohort_count(4), ["m = 5", "4 clients", "m <= n"]),
    (lambda: list(Uniform(5, 1).support(4)), ["m = 5", "4 clients", "m <= n"]),
    (lambda: Uniform(5, 1).sample(Stream(0), 4, 2), ["m = 5", "4 clients", "m <= n"]),
    (lambda: WithReplacement(0), ["draws = 0", "at least one", "Give"]),
    (lambda: WithReplacement(1, ("1/2", "1/3")), ["probabilities", "1/3", "sum to 1"]),
    (lambda: WithReplacement(1, ("3/2", "-1/2")), ["probabilities", "-1/2", ">= 0"]),
    (lambda: list(WithReplacement(1, (1, 0)).cohorts(3)), ["probabilities = 2", "3", "Give n"]),
    (lambda: Full(noise="-1/2"), ["noise = '-1/2'", ">= 0", "Give sigma"]),
    (lambda: Full(noise=float("nan")), ["nan", "finite", "Remove"]),
    (lambda: Full(batch=0), ["batch = 0", "at least one row", "Give"]),
    (lambda: Full(batch=4, noise=1), ["batch = 4", "either", "Set noise=0"]),
    (lambda: Full(steps=0), ["steps = 0", ">= 1", "Leave a client out"]),
    (lambda: Full(steps=(1, -2)), ["steps = (1, -2)", ">= 1"]),
    (lambda: Full(steps=2.0), ["steps = 2.0", "integers"]),
    (lambda: Full(steps=()), ["steps = ()", "one per client", "Give"]),
    (lambda: Full(steps=((1, 2), (3, 4))), ["steps", "one per client", "flat"]),
    (lambda: Full().support(3), ["steps = None", "needs local steps", "Give steps="]),
    (lambda: Full((1, 2)).support(3), ["steps = (1, 2)", "3", "Give an int"]),
    (lambda: Full(1).with_steps(2), ["steps = 2", "steps=1", "once"]),
    (lambda: RandomSteps((("1/2", 1),)), ["choices", "sum to 1", "'1/2'"]),
    (lambda: RandomSteps((("1/2", 1), ("1/2", (1, 2)))), ["choices", "independent", "Set"]),
    (lambda: Chain(sets=((0,),), matrix=(("1/2",),)), ["matrix row", "1/2", "sum to 1", "Divide"]),
    (lambda: Chain(sets=((0,), (1,)), matrix=((1,),)), ["matrix = 1", "(2, 2)", "Check"]),
    (lambda: Chain(), ["matrix = 0", "per mode"]),
    (lambda: Chain(sets=((0, 0),), matrix=((1,),)), ["set = (0, 0)", "distinct", "once"]),
    (lambda: Chain(sets=((-1,),), matrix=((1,),)), ["set = (-1,)", ">= 0"]),
    (lambda: Chain(sets=((0,),), matrix=((1,),), initial=("1/2",)), ["initial", "1/2", "sum to 1", "Divide"]),
    (lambda: Chain(sets=((0,),), matrix=((1,),), initial=(1, 0)), ["initial", "1 modes"]),
    (lambda: Chain(sets=((0,),), matrix=((1,),), empty="redraw"), ["empty = 'redraw'", "skip", "Leave"]),
    (lambda: Chain(sets=((0,), (1,)), matrix=((1, 0), (0, 1))), ["matrix", "2 modes", "irreducible", "initial"]),
    (lambda: Chain(sets=((0,), (1,)), matrix=((1, 0), (1, 0))), ["matrix", "2 modes", "irreducible"]),
    (lambda: Chain(sets=((0,), (1,)), matrix=((1, 0), (0, 1)), initial=(1, 0)).stationary(), ["matrix", "2 closed"]),
    (lambda: Chain(sets=((3,),), matrix=((1,),), steps=1).support(3), ["set = (3,)", "0..2", "unknown client"]),
    (lambda: Cyclic(((0,), (7,)), steps=1).inclusion(3), ["set = (7,)", "0..2", "unknown client"]),
    (lambda: Replay([]), ["schedule = []", "at least one round", "List"]),
    (lambda: Replay([((0,), 1), ((1,), None)]), ["schedule = [1, None]", "every round", "Complete"]),
    (lambda: Replay([((0,), 1)]).with_steps(2), ["steps = 2", "schedule", "once"]),
    (lambda: Replay([((0,), (1, 2))]).support(3), ["steps = (1, 2)", "3", "Give an int"]),
    (lambda: Markov("1/2", 1, 2), ["correlation = '1'", "(-1, 1)", "towards 0"]),
    (lambda: Markov("9/10", "-1/2", 2), ["correlation = '-1/2'", "9/10", "27/20", "towards 0"]),
    (lambda: Markov("1/2", 0, 11), ["n = 11", "4^n", "hundred MB", "at most 10"]),
], ids=lambda v: "" if callable(v) else ", ".join(v))
def test_refusals(make, words):
    with pytest.raises(BadInput) as caught:
        make()
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_too_many_outcomes_are_counted():
    with pytest.raises(TooLarge, match="1048576"):
        Bernoulli("1/2", steps=1).support(20)
    with pytest.raises(TooLarge, match="1048576"):
        Bernoulli(("1/3", *["1/2"] * 19), steps=1).inclusion(20)
    with pytest.raises(TooLarge, match="6561"):
        WithReplacement(8, steps=1).support(3, limit=100)
