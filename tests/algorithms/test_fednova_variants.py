"""FedNova's variants and the variance-reduced baselines, in every arithmetic, against loop-only twins."""
from fractions import Fraction as Q

import pytest

import fltheory as ft
from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.fednova_vr import FedNovaVR
from fltheory.algorithms.scaffold import Scaffold
from fltheory.algorithms.server_momentum import ServerMomentum
from fltheory.algorithms.vrlsgd import VRLSGD
from fltheory.core.algorithms.solvers import Momentum, Proximal
from fltheory.core.errors import BadInput
from fltheory.core.numbers.scalars import RATIONAL, Field, fraction
from tests.algorithms.instances import quadratic, same
from tests.algorithms.test_twins import (
    COHORT_NAMES,
    COHORTS,
    FULL,
    LR,
    PARTIAL,
    REPEATED,
    X0,
    agree,
    cohorts,
    domains,
    follow,
    solvers,
)
from tests.naive import fednova, fednova_sampled, fednova_vr, scaffold, scaffold_one, server_momentum, vrlsgd

STEPS = [k for _, k in sorted(FULL[0])]
CONTROLS = [[Q(1), Q(-1)], [Q(1, 2), Q(0)], [Q(0), Q(5)]]
repeated = pytest.mark.parametrize(("schedule", "form"), [*COHORTS, (REPEATED, "who")], ids=[*COHORT_NAMES, "repeated"])


# ---- sampling schemes


@domains
@solvers
@repeated
@pytest.mark.parametrize(("averaging", "scheme"), [("plain", "i"), ("unbiased", "ii")])
def test_fednova_sampling_schemes(domain, solver, naive, schedule, form, averaging, scheme):
    problem, clients = quadratic()
    twin = [(x,) for x in fednova_sampled.rounds(clients, X0, LR, schedule, Q(7, 3), scheme, naive)]
    algorithm = FedNova(LR, solver=solver, averaging=averaging, tau_eff=Q(7, 3))
    agree(domain, follow(algorithm, problem, domain, schedule, form), twin)


@domains
def test_draws_of_one_client_are_fresh_noisy_runs(domain):
    def noise(r, place, k):
        return [Q(r - place, 2 + k), Q(place, 3)]
    problem, clients = quadratic()
    twin = [(x,) for x in fednova_sampled.rounds(clients, X0, LR, REPEATED, Q(2), "i", ("momentum", Q(1, 3)), noise)]
    algorithm = FedNova(LR, solver=Momentum(Q(1, 3)), averaging="plain", tau_eff=2)
    agree(domain, follow(algorithm, problem, domain, REPEATED, "who", noise), twin)


# ---- variance reduction


@domains
@solvers
@pytest.mark.parametrize("variant", ["printed", "repaired"])
def test_fednova_vr(domain, solver, naive, variant):
    problem, clients = quadratic()
    twin = fednova_vr.rounds(clients, X0, LR, STEPS, 4, naive, variant == "printed")
    schedule = [FULL[0]] * 4
    agree(domain, follow(FedNovaVR(LR, solver=solver, variant=variant), problem, domain, schedule, "mask"), twin)


def test_the_two_readings_of_line_13_part_in_the_second_round():
    _, clients = quadratic()
    a, b = (fednova_vr.rounds(clients, X0, LR, STEPS, 3, printed=printed) for printed in (True, False))
    assert a[0] == b[0] and a[1][0] == b[1][0] and a[1][1] != b[1][1] and a[2][0] != b[2][0]


@pytest.mark.parametrize(("schedule", "form"), [(PARTIAL[1:2], "mask"), (FULL, "who")])
def test_fednova_vr_is_for_full_participation(schedule, form):
    problem, _ = quadratic()
    with pytest.raises(BadInput, match="full participation"):
        list(follow(FedNovaVR(LR), problem, RATIONAL, schedule, form))


@domains
@cohorts
@pytest.mark.parametrize("divisor", ["own", "mean"])
def test_vrlsgd(domain, schedule, form, divisor):
    problem, clients = quadratic()
    twin = vrlsgd.rounds(clients, X0, LR, schedule, divisor == "mean")
    agree(domain, follow(VRLSGD(LR, divisor=divisor), problem, domain, schedule, form), twin)


def test_vrlsgd_conserves_the_step_weighted_corrections():
    _, clients = quadratic()
    for _, D in vrlsgd.rounds(clients, X0, LR, [FULL[0]] * 5):
        assert [sum(p * k * v[j] for p, k, v in zip(clients.p, STEPS, D, strict=True)) for j in (0, 1)] == [0, 0]


@domains
@cohorts
def test_scaffold_option_one(domain, schedule, form):
    problem, clients = quadratic()
    algorithm = Scaffold(LR, option=1)
    agree(domain, follow(algorithm, problem, domain, schedule, form), scaffold_one.rounds(clients, X0, LR, schedule))
    c = [sum(p * v[j] for p, v in zip(clients.p, CONTROLS, strict=True)) for j in (0, 1)]
    agree(domain, follow(algorithm, problem, domain, schedule, form, c=c, ci=CONTROLS),
          scaffold_one.rounds(clients, X0, LR, schedule, CONTROLS))


def test_scaffold_option_one_takes_a_fresh_sample_after_the_local_steps():
    problem, clients = quadratic()
    steps = max(k for _, k in FULL[0])

    def noise(r, place, k):  # silent during the local steps
        return [Q(r + 1, place + 2), Q(3)] if k == steps else [Q(0), Q(0)]

    def fresh(r, i):
        place = [client for client, _ in FULL[r]].index(i)
        return noise(r, place, steps)
    twin = scaffold_one.rounds(clients, X0, LR, FULL, fresh=fresh)
    agree(RATIONAL, follow(Scaffold(LR, option=1), problem, RATIONAL, FULL, "mask", noise), twin)


def test_the_options_of_scaffold_agree_with_one_local_step():
    _, clients = quadratic()
    one = [[(i, 1) for i in range(3)]] * 3
    first, second = scaffold_one.rounds(clients, X0, LR, one), scaffold.rounds(clients, X0, LR, one)
    assert first == second


# ---- server momentum


@domains
@solvers
@cohorts
@pytest.mark.parametrize("tau_eff", [None, Q(7, 3)], ids=["default", "fixed"])
def test_server_momentum(domain, solver, naive, schedule, form, tau_eff):
    problem, clients = quadratic()
    twin = server_momentum.rounds(clients, X0, LR, schedule, Q(3, 5), naive, tau_eff)
    algorithm = ServerMomentum(LR, solver=solver, beta=Q(3, 5), tau_eff=tau_eff)
    agree(domain, follow(algorithm, problem, domain, schedule, form), twin)


def test_server_momentum_without_momentum_is_fednova():
    _, clients = quadratic()
    twin = server_momentum.rounds(clients, X0, LR, PARTIAL, 0, ("momentum", Q(1, 3)))
    assert [x for x, _ in twin] == fednova.rounds(clients, X0, LR, PARTIAL, ("momentum", Q(1, 3)))


# ---- symbols and refusals


def test_a_symbolic_step_size_evaluates_to_the_twins():
    problem, clients = quadratic()
    domain = Field("eta")
    (eta,) = domain.symbols
    cases = [(FedNovaVR(eta, variant="printed"), fednova_vr.rounds(clients, X0, LR, STEPS, 2, printed=True)),
             (VRLSGD(eta), vrlsgd.rounds(clients, X0, LR, FULL[:2])),
             (Scaffold(eta, option=1), scaffold_one.rounds(clients, X0, LR, FULL[:2])),
             (ServerMomentum(eta, beta=Q(1, 2)), server_momentum.rounds(clients, X0, LR, FULL[:2], Q(1, 2)))]
    for algorithm, twin in cases:
        for state, (x, *_) in zip(follow(algorithm, problem, domain, FULL[:2], "mask"), twin, strict=True):
            same(RATIONAL, [fraction(str(v.substitute(eta=LR))) for v in state.x], x, type(algorithm).__name__)


@pytest.mark.parametrize(("make", "word"), [
    (lambda: FedNova(LR, averaging="mean"), "averaging"),
    (lambda: FedNova(LR, tau_eff=0), "tau_eff"),
    (lambda: FedNovaVR(LR, variant="raw"), "variant"),
    (lambda: VRLSGD(LR, divisor="tau"), "divisor"),
    (lambda: Scaffold(LR, option=3), "option"),
    (lambda: Scaffold(LR, option=True), "option"),
    (lambda: ServerMomentum(LR, beta=1), "beta"),
])
def test_variants_refuse_what_they_cannot_mean(make, word):
    with pytest.raises(BadInput, match=word):
        make()


@pytest.mark.parametrize("method", [lambda lr, mu: ft.FedNova(lr, 2, solver=Proximal(mu=mu)),
                                    lambda lr, mu: ft.GeneralRule(lr, 2, solver=Proximal(mu=mu))])
def test_coefficients_that_alternate_in_sign_are_refused(method):
    """a_k = (1 - lr mu)^(tau - 1 - k) is negative somewhere beyond lr mu = 1: its sum is no norm any more."""
    for use in (lambda a: ft.derive(a, quadratic()[0], ft.Full()), lambda a: ft.run(a, quadratic()[0], ft.Full(), 2, 1),
                lambda a: ft.surrogate_weights(a, ft.Full(), 3)):
        with pytest.raises(ft.BadInput, match="alternate in sign"):
            use(method(".5", "2.001"))
        use(method(".5", 2))
    ft.derive(ft.FedProx(".5", 2, mu="2.001"), quadratic()[0], ft.Full())  # plain averages divide by nothing
