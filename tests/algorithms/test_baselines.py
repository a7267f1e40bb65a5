"""Local SGD, FedAU, FedAWE, known probabilities and FedVARP against their loop-only twins, and what follows."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.algorithms.base import advance
from fltheory.core.laws.masks import Masks
from fltheory.core.numbers.arrays import to_numpy
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, fraction
from fltheory.runs.streams import Stream
from fltheory.workbench.conformance import RULES
from fltheory.workbench.conformance.cases import Case
from fltheory.workbench.conformance.report import NOT_APPLICABLE, PASSED, examine
from tests.algorithms.instances import draw, on, quadratic, same
from tests.algorithms.test_twins import FULL, LR, PARTIAL, X0, agree, cohorts, domains, follow
from tests.naive import fedau, fedavg, fedawe, fedvarp, localsgd, reweighted

CHANCES = (Q(9, 10), Q(1, 2), Q(1, 4))
WEIGHTS = (Q(1), Q(5, 2), Q(4, 3))
LAWS = [ft.Full(), ft.Uniform(1), ft.Uniform(2), ft.Weighted(2, (7, 2, 1)), ft.Bernoulli(CHANCES), ft.Bernoulli(CHANCES, "redraw"),
        ft.Bernoulli(CHANCES, "skip"), ft.Markov("1/2", "1/3", 3), ft.Cyclic([[0], [1, 2], []]),
        ft.Periodic([ft.Uniform(1), ft.Bernoulli("1/2")])]
LAW_NAMES = [f"{k}-{type(law).__name__}" for k, law in enumerate(LAWS)]
laws = pytest.mark.parametrize("law", LAWS, ids=LAW_NAMES)


def flat(v):
    return [fraction(u) for u in to_numpy(v).reshape(-1)]


# ---- twins -------------------------------------------------------------------------------------------------------
@domains
@cohorts
@pytest.mark.parametrize("options", [{}, {"cutoff": 2}, {"cutoff": 1, "server_lr": Q(3, 2)}, {"weights": WEIGHTS}],
                         ids=["no-cut-off", "cut-off-2", "cut-off-1", "constant"])
def test_fedau(domain, schedule, form, options):
    problem, clients = quadratic()
    twin = fedau.rounds(clients, X0, LR, schedule, options.get("server_lr", 1), options.get("cutoff"), options.get("weights"))
    width = 1 if "weights" in options else 4
    agree(domain, follow(ft.FedAu(LR, **options), problem, domain, schedule, form), [row[:width] for row in twin])


@domains
@cohorts
@pytest.mark.parametrize("eta_g", [Q(1), Q(2, 3)])
def test_fedawe(domain, schedule, form, eta_g):
    problem, clients = quadratic()
    agree(domain, follow(ft.FedAwe(LR, server_lr=eta_g), problem, domain, schedule, form),
          fedawe.rounds(clients, X0, LR, schedule, eta_g))


@domains
@pytest.mark.parametrize("cap", [1, 2, 9])
def test_fedawe_with_ages_from_the_law(domain, cap):
    problem, clients = quadratic()
    a, p = ft.FedAwe(LR, cap=cap).to(domain), problem.to(domain)
    state, age = a.init(p, domain.array(np.array(X0))), [1, 1, 1]
    for cohort, (x, own, later) in zip(PARTIAL, fedawe.rounds(clients, X0, LR, PARTIAL, cap=cap), strict=True):
        given = draw(cohort, 3, "mask")._replace(extra={"age": np.array([min(v, cap) for v in age])})
        state, age = a.round(p, state, on(domain, given)), later
        same(domain, state.x, x)
        same(domain, state.w, own)


@domains
@pytest.mark.parametrize("report", ["average", "mean"])
def test_localsgd(domain, report):
    problem, clients = quadratic()
    schedule = [([2, 1, 3], [0, 2]), ([1, 4, 1], []), ([3, 1, 2], [1]), ([1, 1, 1], [0, 1, 2]), ([2, 2, 1], [2])]
    a, p = ft.LocalSgd(LR, report=report).to(domain), problem.to(domain)
    state = a.init(p, domain.array(np.array(X0)))
    for (steps, present), (average, own) in zip(schedule, localsgd.rounds(clients, X0, LR, schedule), strict=True):
        mask = draw([(i, steps[i]) for i in present], 3, "mask")
        state = a.round(p, state, on(domain, mask._replace(steps=np.array(steps))))
        same(domain, state.x, average)
        same(domain, state.w, own)
        mean = [sum(row[j] for row in own) / 3 for j in (0, 1)]
        same(domain, a.model(state), average if report == "average" else mean)


@domains
@cohorts
def test_reweighted(domain, schedule, form):
    problem, clients = quadratic()
    twin = reweighted.rounds(clients, X0, LR, schedule, CHANCES, Q(5, 4))
    agree(domain, follow(ft.Reweighted(LR, inclusion=CHANCES, server_lr="5/4"), problem, domain, schedule, form),
          [(x,) for x in twin])


@domains
@cohorts
@pytest.mark.parametrize("eta_g", [Q(1), Q(2, 3)])
def test_fedvarp(domain, schedule, form, eta_g):
    problem, clients = quadratic()
    agree(domain, follow(ft.FedVarp(LR, server_lr=eta_g), problem, domain, schedule, form),
          fedvarp.rounds(clients, X0, LR, schedule, eta_g))


# ---- what follows ------------------------------------------------------------------------------------------------
METHODS = [ft.FedAu(LR), ft.FedAu(LR, cutoff=3), ft.FedAu(LR, weights=(1, 1, 1)), ft.FedAwe(LR), ft.FedAwe(LR, cap=3),
           ft.LocalSgd(LR), ft.LocalSgd(LR, report="mean"), ft.Reweighted(LR, inclusion=(1, 1, 1)), ft.FedVarp(LR)]
METHOD_NAMES = [f"{k}-{type(a).__name__}" for k, a in enumerate(METHODS)]


@pytest.mark.parametrize("method", [a for a in METHODS if getattr(a, "report", "") != "mean"], ids=str)
def test_full_participation_is_fedavg(method):
    problem, clients = quadratic()
    for state, x in zip(follow(method, problem, RATIONAL, FULL, "mask"), fedavg.rounds(clients, X0, LR, FULL), strict=True):
        assert flat(state.x) == x


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.__name__)
@pytest.mark.parametrize("method", METHODS, ids=METHOD_NAMES)
def test_rules(method, rule):
    result = examine(rule, Case.of(method))
    assert result.status in (PASSED, NOT_APPLICABLE), (result.found, result.where)


def test_what_clients_count_does_not_excuse_their_memories():
    class Forgets(ft.FedAwe):
        def round(self, problem, s, draw):
            new = super().round(problem, s, draw)
            return new._replace(w=new.w + 1)
    rule = next(r for r in RULES if r.__name__ == "absent_clients_remember")
    assert examine(rule, Case.of(Forgets(LR))).status not in (PASSED, NOT_APPLICABLE)


# ---- laws with ages and masks ------------------------------------------------------------------------------------
@laws
@pytest.mark.parametrize("cap", [1, 3])
def test_ages_are_a_chain_of_the_same_participation(law, cap):
    ages = ft.Ages(law.with_steps(2), cap, 3)
    chain, pi = np.array(ages.chain(), dtype=object), np.array(ages.stationary(), dtype=object)
    assert (chain.sum(1) == 1).all() and (pi @ chain == pi).all() and pi.sum() == 1 == sum(ages.start())
    met = [sum((q * ages.support(3, k)[0][1].present[i] for k, q in enumerate(pi)), Q(0)) for i in range(3)]
    assert met == ages.inclusion(3) == law.inclusion(3)
    assert ages.pairs(3).tolist() == law.pairs(3).tolist()


@laws
def test_the_first_rounds_have_the_joint_law_of_cohorts_and_ages(law):
    """All schedules of three rounds, from the base law and from the chain with ages."""
    cap = 2
    ages = ft.Ages(law.with_steps(2), cap, 3)

    def paths(law, n_rounds):
        chain, out = law.chain(), [(q, k, ()) for k, q in enumerate(law.start()) if q]
        for _ in range(n_rounds):
            out = [(q * move * chance, j, (*path, d)) for q, k, path in out for j, move in enumerate(chain[k]) if move
                   for chance, d in law.support(3, j)]
        total = {}
        for q, _, path in out:
            key = tuple((tuple(mask(d)), None if d.extra is None else tuple(d.extra.get("age", ()))) for d in path)
            total[key] = total.get(key, Q(0)) + q
        return total

    def mask(d):
        present = np.zeros(3, dtype=int)
        present[np.arange(3)[d.who]] = d.present
        return present.tolist()

    base = {}
    for key, q in paths(law.with_steps(2), 3).items():
        age, rows = [1, 1, 1], []
        for present, _ in key:
            rows.append((present, tuple(a * on for a, on in zip(age, present, strict=True))))
            if any(present) or law.empty != "skip":
                age = [1 if on else min(a + 1, cap) for a, on in zip(age, present, strict=True)]
        base[tuple(rows)] = base.get(tuple(rows), Q(0)) + q
    assert paths(ages, 3) == base


def test_full_participation_needs_one_mode():
    assert ft.Ages(ft.Full(2), 5, 3).modes == 1 and ft.Ages(ft.Uniform(1, 2), 1, 3).modes == 4
    problem = ft.Logistic([[[1], [2]], [[1], [-1]]], [[0, 1], [1, 0]], 1)
    rates = [ft.linearise(a, problem, ft.Full()).rate for a in (ft.FedAvg("1/20", 2), ft.FedAwe("1/20", 2, cap=3),
                                                               ft.LocalSgd("1/20", 2))]
    assert np.allclose(rates, rates[0], rtol=1e-6)


def test_tail_is_the_chance_of_absence_in_a_row():
    law = ft.Bernoulli(CHANCES)
    assert ft.Ages(law, 4, 3).tail() == sum((1 - p) ** 4 for p in CHANCES)
    nobody = Q(1, 10) * Q(1, 2) * Q(3, 4)
    for empty in ("redraw", "skip"):
        absent = [(1 - p - nobody) / (1 - nobody) for p in CHANCES]
        assert ft.Ages(ft.Bernoulli(CHANCES, empty), 4, 3).tail() == sum(a**4 for a in absent)
    assert ft.Ages(ft.Full(), 1, 3).tail() == 0 and ft.Ages(ft.Cyclic([[0], [1], [2]]), 2, 3).tail() == 1
    assert ft.Ages(ft.Cyclic([[0], [1], [2]]), 3, 3).tail() == 0
    stay = Q(1, 2) + Q(1, 3) * Q(1, 2)                        # P(out | out)
    assert ft.Ages(ft.Markov("1/2", "1/3", 1), 5, 1).tail() == Q(1, 2) * stay**4


@laws
@pytest.mark.parametrize("method", [ft.FedAwe("1/20", 2, cap=2), ft.LocalSgd("1/20", 2), ft.LocalSgd("1/20", 2, report="mean"),
                                    ft.FedVarp("1/20", 2), ft.FedAu("1/20", 2, weights=WEIGHTS),
                                    ft.Reweighted("1/20", 2, inclusion=CHANCES)], ids=lambda a: type(a).__name__)
def test_operators_exist_under_every_law(law, method):
    """The exact mean and second moment of two rounds are those of all schedules, run one by one."""
    problem = ft.Quadratic([[[1]], [[2]], [[3]]], [[1], [-1], [0]])
    op = ft.derive(method, problem, law, domain=RATIONAL)
    a, p = method.to(RATIONAL), problem.to(RATIONAL)
    prepared = method.law_for(law.with_steps(2), 3)
    chain, paths = prepared.chain(), [(q, k, a.init(p, RATIONAL.array(np.array([2])))) for k, q in enumerate(prepared.start()) if q]
    for _ in range(2):
        paths = [(q * m * chance, j, advance(a, p, s, d)) for q, k, s in paths
                 for j, m in enumerate(chain[k]) if m for chance, d in prepared.support(3, j)]
    mean = sum(q * fraction(a.model(s)[0]) for q, _, s in paths)
    square = sum(q * fraction(a.model(s)[0]) ** 2 for q, _, s in paths)
    *_, (m, S) = op.trajectory(3, [2])
    assert (fraction(m[0]), fraction(S[0, 0])) == (mean, square)


# ---- runs --------------------------------------------------------------------------------------------------------
@laws
@pytest.mark.parametrize("method", [ft.FedAu("1/20", 2), ft.FedAu("1/20", 2, cutoff=2), ft.FedAwe("1/20", 2),
                                    ft.FedAwe("1/20", 2, cap=2), ft.LocalSgd("1/20", 2), ft.FedVarp("1/20", 2),
                                    ft.Reweighted("1/20", 2, inclusion=CHANCES)], ids=lambda a: type(a).__name__)
def test_runs_under_every_law(law, method):
    pytest.importorskip("torch")
    problem = ft.Quadratic([[[1]], [[2]], [[3]]], [[1], [-1], [0]])
    trace = ft.run(method, problem, law, rounds=12, replicates=3, noise="1/10")
    assert np.isfinite(trace.final).all()
    if method.affine:
        assert trace.audited and trace.audit < 1e-12


@pytest.mark.parametrize("law", [ft.Uniform(2, ft.RandomSteps([("1/2", 1), ("1/2", 4)])), ft.Uniform(2, (1, 2, 3)),
                                 ft.Weighted(2, (7, 2, 1), steps=3), ft.Replay([([0, 2], (1, 2, 3)), ([], 2)])], ids=str)
def test_masks_draw_the_same_cohorts_and_steps(law):
    base, _ = law.sample(Stream(7), 3, 50)
    for wrapped in (Masks(law), ft.Ages(law, 2, 3)):
        draw, _ = wrapped.sample(Stream(7), 3, 50)
        present, steps = np.broadcast_to(draw.present, (50, 3)), np.broadcast_to(draw.steps, (50, 3))
        who = np.broadcast_to(np.arange(3)[base.who], (50, np.shape(base.present)[-1]))
        there = np.broadcast_to(base.present, who.shape) > 0
        for r in range(50):
            assert list(np.flatnonzero(present[r])) == sorted(who[r][there[r]])
            assert list(steps[r][who[r]]) == list(np.broadcast_to(base.steps, who.shape)[r])


@pytest.mark.parametrize("law", [ft.Bernoulli(CHANCES), ft.Uniform(1), ft.Markov("1/2", "1/3", 3)], ids=str)
def test_a_cap_beyond_the_horizon_changes_nothing(law):
    """Ages kept in the state and ages carried by the law, on the same random numbers."""
    pytest.importorskip("torch")
    problem = ft.Quadratic([[[1]], [[2]], [[3]]], [[1], [-1], [0]])
    free, capped = (ft.run(ft.FedAwe("1/20", 2, cap=cap), problem, law, rounds=4, replicates=40, seed=3) for cap in (None, 4))
    assert np.allclose(free.final, capped.final, rtol=1e-13)
    assert np.allclose(free.metrics["error"]["mean"], capped.metrics["error"]["mean"], rtol=1e-12)


def test_monte_carlo_agrees_with_the_exact_floor_of_fedawe():
    pytest.importorskip("torch")
    problem, law = ft.Quadratic([[[1]], [[2]]], [[1], [-1]]), ft.Bernoulli(("1/2", "3/4"))
    method = ft.FedAwe("1/20", 2, cap=4)
    op = ft.derive(method, problem, law)
    trace = ft.run(method, problem, law, rounds=400, replicates=512, seed=1)
    assert trace.floor("error").contains(op.floor())


# ---- refusals ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("make", "words"), [
    (lambda: ft.FedAu("1/20", cutoff=0), ["cutoff", "0", "at least one round"]),
    (lambda: ft.FedAu("1/20", cutoff=2, weights=(1, 1)), ["cutoff", "2", "constant"]),
    (lambda: ft.FedAu("1/20", weights=(1, 0)), ["weights", "0", "positive"]),
    (lambda: ft.FedAu("1/20", weights=2), ["weights", "one number per client"]),
    (lambda: ft.FedAu("1/20", server_lr=0), ["server_lr", "positive"]),
    (lambda: ft.derive(ft.FedAu("1/20", 2, weights=(1, 1)), quadratic()[0], ft.Full()), ["weights", "(2,)", "3"]),
    (lambda: ft.Reweighted("1/20"), ["inclusion", "probabilities"]),
    (lambda: ft.Reweighted("1/20", inclusion=("1/2", "3/2")), ["inclusion", "3/2", "(0, 1]"]),
    (lambda: ft.derive(ft.Reweighted("1/20", 2, inclusion=(1, 1)), quadratic()[0], ft.Full()), ["inclusion", "(2,)", "3"]),
    (lambda: ft.FedAwe("1/20", cap=0), ["cap", "0", "start at 1"]),
    (lambda: ft.FedAwe("1/20", server_lr=-1), ["server_lr", "-1", "positive"]),
    (lambda: ft.FedVarp("1/20", server_lr=0), ["server_lr", "positive"]),
    (lambda: ft.LocalSgd("1/20", report="median"), ["report", "median"]),
    (lambda: ft.Ages(ft.Full(), 0, 2), ["cap", "0", ">= 1"]),
    (lambda: ft.Ages(ft.Full(), 2, 0), ["n = 0", ">= 1"]),
    (lambda: ft.Ages(3, 2, 2), ["law", "no law"]),
    (lambda: ft.Ages(ft.WithReplacement(2), 2, 2), ["WithReplacement", "twice"]),
    (lambda: ft.Ages(ft.Ages(ft.Full(), 2, 2), 2, 2), ["already carries ages"]),
    (lambda: ft.Ages(ft.Full(2), 2, 2).cohorts(3), ["n = 3", "2 clients"]),
    (lambda: ft.derive(ft.LocalSgd("1/20", 2), quadratic()[0], ft.WithReplacement(2)), ["WithReplacement", "twice"]),
    (lambda: ft.run(ft.FedAu("1/20", 2), quadratic()[0], ft.WithReplacement(2), 2), ["WithReplacement", "twice"]),
])
def test_refusals(make, words):
    with pytest.raises(ft.BadInput) as caught:
        make()
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_too_many_ages_and_rounds_that_are_not_affine_are_refused_in_words():
    problem, _ = quadratic()
    with pytest.raises(ft.TooLarge, match="smaller cap"):
        ft.derive(ft.FedAwe("1/20", 2, cap=9), problem, ft.Bernoulli("1/2"))
    for method in (ft.FedAwe("1/20", 2), ft.FedAu("1/20", 2)):
        with pytest.raises(ft.NotAffine):
            ft.derive(method, problem, ft.Full())
    a, p = ft.LocalSgd("1/20").to(FLOAT), problem.to(FLOAT)
    with pytest.raises(ft.BadInput, match="masks over all"):
        a.round(p, a.init(p, np.zeros(2)), draw([(0, 1)], 3, "who"))
