"""Cohorts drawn inside the code: a mildly wrong sampler is detected, a right one is not, at the stated level."""
import numpy as np
import pytest

import fltheory as ft
from fltheory.blackbox.sampling import LEVEL, Sampled, participation
from fltheory.core.statistics import chi_square
from fltheory.mutants.laws import rivals
from tests.blackbox.adapters import problem_of

TRIALS = 2000  # 20 % more of a third are six standard deviations of a count
STEPS = 2
ALGORITHM = ft.FedAvg("1/20", STEPS, averaging="plain")


def drawing(cohorts, chances, seed):
    """A round whose cohort is one of `cohorts`, with these chances."""
    rng = np.random.default_rng(seed)

    def run(x, clients):
        chosen = cohorts[rng.choice(len(cohorts), p=chances)]
        problem, models = problem_of(clients), []
        for i in chosen:
            y = np.asarray(x, dtype=float)
            for _ in range(STEPS):
                y = y - 0.05 * (problem._H[i] @ y - problem._b[i])
            models.append(y)
        return np.mean(models, axis=0) if models else np.asarray(x, dtype=float)
    return run


ONE = [(0,), (1,), (2,)]
TWO = [(0, 1), (0, 2), (1, 2)]
INDEPENDENT = [tuple(i for i in range(3) if k >> i & 1) for k in range(8)]


def alone(more):
    """Each client alone, client 0 by this factor too often."""
    return [more / 3, (1 - more / 3) / 2, (1 - more / 3) / 2]


def together(more):
    """Pairs, that of clients 1 and 2 by this factor too often."""
    return [(1 - more / 3) / 2, (1 - more / 3) / 2, more / 3]


def coins(more):
    """Everybody with probability 1/2, client 0 by this factor too often."""
    p = (more / 2, 1 / 2, 1 / 2)
    return [np.prod([p[i] if k >> i & 1 else 1 - p[i] for i in range(3)]) for k in range(8)]


CASES = [(ft.Uniform(1), ONE, alone, 1), (ft.Uniform(2), TWO, together, 3), (ft.Bernoulli("1/2"), INDEPENDENT, coins, 3)]


@pytest.mark.parametrize("law, cohorts, chances, d", CASES, ids=["one", "pairs", "coins"])
def test_a_mildly_wrong_sampler_is_detected_and_a_right_one_is_not(law, cohorts, chances, d):
    right = ft.identify(drawing(cohorts, chances(1), 1), 3, d, ALGORITHM, law=law, trials=TRIALS)
    assert right.matches, right
    assert "level 0.0001" in " ".join(right.notes)
    for more in (1.2, 0.8):
        wrong = ft.identify(drawing(cohorts, chances(more), 2), 3, d, ALGORITHM, law=law, trials=TRIALS)
        assert wrong.verdict == "differs", (more, str(wrong))


def test_the_named_fault_is_the_client_drawn_too_often():
    text = str(ft.identify(drawing(ONE, alone(1.2), 5), 3, 3, ALGORITHM, law=ft.Uniform(1), trials=TRIALS))
    assert "client 0 took part in" in text and "the law expects 667" in text


def test_p_values_of_right_counts_are_below_the_level_as_often_as_it_says():
    """20,000 multinomial samples: at level 1e-2 about 200 alarms, so that levels mean what they say; at 1e-4 few."""
    rng = np.random.default_rng(8)
    p = np.array([0.5, 0.3, 0.15, 0.05])
    values = np.array([chi_square(rng.multinomial(1000, p), p) for _ in range(20_000)])
    assert 130 < (values < 1e-2).sum() < 280 and (values < LEVEL).sum() <= 12
    wrong = p * [1.3, 1, 1, 1] / (p * [1.3, 1, 1, 1]).sum()
    assert np.mean([chi_square(rng.multinomial(TRIALS, wrong), p) < LEVEL for _ in range(200)]) > 0.7


@pytest.mark.parametrize("many", [240, 270, 330, 360])
def test_two_outcomes_are_tested_in_both_directions(many):
    """Of 1,000 rounds 300 are expected: too many of the rarer outcome count as much as too few."""
    from scipy.stats import binom
    tail = binom.cdf(many, 1000, 0.3) if many < 300 else binom.sf(many - 1, 1000, 0.3)
    for order in ([0, 1], [1, 0]):
        value = chi_square(np.array([many, 1000 - many])[order], np.array([0.3, 0.7])[order])
        assert value == pytest.approx(2 * tail) and (value < LEVEL) == (abs(many - 300) == 60)


@pytest.mark.parametrize(("first", "faults"), [(118, 0), (124, 1)])
def test_the_level_is_that_of_all_frequencies_together(first, faults):
    """Six tests of three clients at 0.05: one p-value of 0.03 is no news, one of 0.004 is."""
    from scipy.stats import binomtest
    who = np.repeat(np.eye(3, dtype=bool), [first, (300 - first) // 2, (300 - first) // 2], axis=0)
    value = binomtest(first, 300, 1 / 3).pvalue
    assert value < 0.05 and (value < 0.05 / 6) == bool(faults)
    found = participation(Sampled(np.zeros((300, 3)), who), ft.Uniform(1), 3, 0.05)
    assert [f.sentence.split(" took")[0] for f in found] == ["client 0"] * faults


@pytest.mark.parametrize(("m", "others"), [(1, {2}), (2, {1, 3}), (3, {2})])
def test_one_client_fewer_and_one_more_are_suspected_up_to_all(m, others):
    found = [law.m for says, law in rivals(ft.Uniform(m), 3, ["1/2", "1/4", "1/4"]) if "take part each round instead" in says]
    assert set(found) == others and len(found) == len(others)
