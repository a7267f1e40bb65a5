"""Every algorithm, unchanged, in every arithmetic against its loop-only twin."""
from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest

from fltheory.algorithms.fednova import FedNova
from fltheory.algorithms.fedresavg import FedResAvg
from fltheory.algorithms.focus import Focus
from fltheory.algorithms.neighbour import NeighbourAveraging
from fltheory.algorithms.residual_problem import Residual
from fltheory.algorithms.scaffold import Scaffold
from fltheory.core.algorithms.fedavg import FedAvg, FedProx
from fltheory.core.algorithms.solvers import Decay, Momentum, MomentumProximal, Proximal, Vanilla
from fltheory.core.errors import BadInput
from fltheory.core.laws.draw import Slots
from fltheory.core.numbers.arrays import to_numpy
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Field, fraction
from fltheory.core.problems.quadratic import Quadratic
from tests.algorithms.instances import (
    DOMAINS,
    GRAPH,
    draw,
    named,
    noise_slots,
    on,
    quadratic,
    quadratic_data,
    residual,
    residual_data,
    same,
)
from tests.naive import fedavg, fednova, fedresavg, focus, neighbour, scaffold

X0, LR = [Q(3), Q(-2)], Q(1, 10)
FULL = [[(0, 2), (1, 3), (2, 1)]] * 3
PARTIAL = [[(0, 2), (1, 5), (2, 3)], [(2, 1)], [], [(1, 4), (0, 1)], [(2, 2), (1, 3)]]
REPEATED = [[(0, 2), (0, 3), (2, 1)], [(1, 1), (1, 1)], [], [(2, 4), (2, 1), (2, 4)]]
COHORTS = [(FULL, "mask"), (FULL, "who"), (PARTIAL, "mask"), (PARTIAL, "who")]
COHORT_NAMES = ["full-mask", "full-who", "partial-mask", "partial-who"]
SOLVERS = [
    (Vanilla(), ("vanilla",)),
    (Proximal(mu=Q(3, 2)), ("proximal", Q(3, 2))),
    (Proximal(alpha=Q(1, 4)), ("proximal", Q(1, 4) / LR)),
    (Momentum(Q(1, 3)), ("momentum", Q(1, 3))),
    (MomentumProximal(Q(1, 3), Q(1, 4)), ("momentum, proximal", Q(1, 3), Q(1, 4) / LR)),
    (Decay(Q(2, 3)), ("decay", Q(2, 3))),
    (Decay([Q(2, 3), "1/5", 1]), ("decay", [Q(2, 3), Q(1, 5), Q(1)])),
]
SOLVER_NAMES = ["vanilla", "proximal-mu", "proximal-alpha", "momentum", "momentum-proximal", "decay", "decays"]

domains = pytest.mark.parametrize("domain", DOMAINS, ids=named)
solvers = pytest.mark.parametrize(("solver", "naive"), SOLVERS, ids=SOLVER_NAMES)
cohorts = pytest.mark.parametrize(("schedule", "form"), COHORTS, ids=COHORT_NAMES)


def follow(algorithm, problem, domain, schedule, form, noise=None, **start):
    """States after each round; `start` replaces leaves of the initial state."""
    a, p = algorithm.to(domain), problem.to(domain)
    state = a.init(p, domain.array(np.array(X0)))
    state = state._replace(**{k: domain.array(np.array(v, dtype=object)) for k, v in start.items()})
    for r, cohort in enumerate(schedule):
        slots = noise and noise_slots(domain, noise, r, cohort, p.n, form, p.d)
        state = a.round(p, state, on(domain, draw(cohort, p.n, form, slots)))
        for name, leaf in zip(state._fields, state, strict=True):
            domain.check(leaf, name)
        yield state


def agree(domain, states, history):
    """history: per round a tuple of the leaves of the state."""
    states = list(states)
    assert len(states) == len(history)
    for r, (state, expected) in enumerate(zip(states, history, strict=True)):
        for name, leaf, value in zip(state._fields, state, expected, strict=True):
            same(domain, leaf, value, f"{name} after round {r}")


@domains
@solvers
@cohorts
def test_fedavg(domain, solver, naive, schedule, form):
    problem, clients = quadratic()
    twin = [(x,) for x in fedavg.rounds(clients, X0, LR, schedule, naive)]
    agree(domain, follow(FedAvg(LR, solver=solver), problem, domain, schedule, form), twin)


@domains
@solvers
@pytest.mark.parametrize("tau_eff", [None, Q(7, 3)], ids=["default", "fixed"])
@cohorts
def test_fednova(domain, solver, naive, tau_eff, schedule, form):
    problem, clients = quadratic()
    twin = [(x,) for x in fednova.rounds(clients, X0, LR, schedule, naive, tau_eff=tau_eff)]
    agree(domain, follow(FedNova(LR, solver=solver, tau_eff=tau_eff), problem, domain, schedule, form), twin)


@domains
@solvers
@pytest.mark.parametrize(("cls", "module"), [(FedAvg, fedavg), (FedNova, fednova)])
def test_repeated_clients_make_fresh_runs(domain, solver, naive, cls, module):
    def noise(r, place, k):
        return [Q(r - place, 2 + k), Q(place, 3)]
    problem, clients = quadratic()
    twin = [(x,) for x in module.rounds(clients, X0, LR, REPEATED, naive, noise)]
    agree(domain, follow(cls(LR, solver=solver), problem, domain, REPEATED, "who", noise), twin)


@domains
@pytest.mark.parametrize("form", ["mask", "who"])
def test_noise_reaches_the_same_steps(domain, form):
    def noise(r, place, k):
        return [Q(r + 1, 1 + k), Q(place - k, 5)]
    problem, clients = quadratic()
    ordered = [sorted(cohort) for cohort in PARTIAL]
    for algorithm, twin in [(FedProx(LR, mu=2), fedavg.rounds(clients, X0, LR, ordered, ("proximal", 2), noise)),
                            (FedNova(LR, solver=Momentum("1/2")),
                             fednova.rounds(clients, X0, LR, ordered, ("momentum", Q(1, 2)), noise))]:
        agree(domain, follow(algorithm, problem, domain, ordered, form, noise), [(x,) for x in twin])


@domains
def test_plain_averaging_is_equal_weights(domain):
    problem, clients = quadratic()
    clients.p = [Q(1, 3)] * 3
    twin = [(x,) for x in fedavg.rounds(clients, X0, LR, REPEATED)]
    agree(domain, follow(FedAvg(LR, averaging="plain"), problem, domain, REPEATED, "who"), twin)


@domains
@cohorts
def test_scaffold(domain, schedule, form):
    problem, clients = quadratic()
    agree(domain, follow(Scaffold(LR), problem, domain, schedule, form), scaffold.rounds(clients, X0, LR, schedule))
    controls = [[Q(1), Q(-1)], [Q(1, 2), Q(0)], [Q(0), Q(5)]]
    c = [sum(p * v[j] for p, v in zip(clients.p, controls, strict=True)) for j in (0, 1)]
    agree(domain, follow(Scaffold(LR), problem, domain, schedule, form, c=c, ci=controls),
          scaffold.rounds(clients, X0, LR, schedule, controls))


@domains
@pytest.mark.parametrize("server_lr", [Q(1, 2), Q(3)])
def test_scaffold_with_a_server_step(domain, server_lr):
    problem, clients = quadratic()
    agree(domain, follow(Scaffold(LR, server_lr=server_lr), problem, domain, PARTIAL, "mask"),
          scaffold.rounds(clients, X0, LR, PARTIAL, server_lr=server_lr))


@domains
@pytest.mark.parametrize("init", ["zero", "warm"])
@cohorts
def test_focus(domain, init, schedule, form):
    problem, clients = quadratic()
    agree(domain, follow(Focus(LR, init=init), problem, domain, schedule, form),
          focus.rounds(clients, X0, LR, schedule, init))


THETA0 = [[Q(1)], [Q(2), Q(-1)], [Q(0)]]


def padded(theta):
    return [[*t, Q(0)][:2] for t in theta]


@domains
@pytest.mark.parametrize("alpha", [Q(1), Q(3, 2)])
@pytest.mark.parametrize("form", ["mask", "who"])
def test_fedresavg(domain, alpha, form):
    problem, clients = residual()
    lam, K = Q(1, 5), 3
    twin = fedresavg.rounds(clients, X0, THETA0, LR, lam, K, alpha, 3)
    schedule = [[(i, K) for i in range(3)]] * 3
    states = follow(FedResAvg(LR, personal_lr=lam, alpha=alpha), problem, domain, schedule, form, theta=padded(THETA0))
    agree(domain, states, [(w, padded(theta), c, ci) for w, theta, ci, c in twin])


@domains
def test_neighbour_averaging(domain):
    problem, clients = quadratic()
    beta = Q(2, 5)
    twin = neighbour.rounds(clients, X0, LR, beta, GRAPH, FULL)
    agree(domain, follow(NeighbourAveraging(LR, beta=beta, graph=GRAPH), problem, domain, FULL, "mask"), twin)


@domains
@pytest.mark.parametrize("average", ["printed", "renormalised"])
@pytest.mark.parametrize("absent", ["stale", "reset"])
@cohorts
def test_neighbour_averaging_with_cohorts(domain, average, absent, schedule, form):
    problem, clients = quadratic()
    algorithm = NeighbourAveraging(LR, beta=Q(2, 5), graph=GRAPH, average=average, absent=absent)
    twin = neighbour.rounds(clients, X0, LR, Q(2, 5), GRAPH, schedule, average, absent)
    agree(domain, follow(algorithm, problem, domain, schedule, form), twin)


@pytest.mark.parametrize("average", ["full", "renormalised"])
def test_neighbour_averaging_with_beta_one_is_fedavg_bit_for_bit(average):
    problem, _ = quadratic()
    for schedule in [FULL] if average == "full" else [FULL, PARTIAL]:
        mine = follow(NeighbourAveraging(LR, beta=1, graph=GRAPH, average=average), problem, FLOAT, schedule, "mask")
        theirs = follow(FedAvg(LR), problem, FLOAT, schedule, "mask")
        assert all((a.x == b.x).all() for a, b in zip(mine, theirs, strict=True))


def test_a_symbolic_step_size_evaluates_to_the_twin():
    problem, clients = quadratic()
    domain = Field("eta")
    (eta,) = domain.symbols
    momentum = fednova.rounds(clients, X0, LR, PARTIAL[:2], ("momentum", Q(1, 3)))
    cases = [(FedNova(eta, solver=Momentum(Q(1, 3))), momentum),
             (Scaffold(eta), [x for x, _, _ in scaffold.rounds(clients, X0, LR, PARTIAL[:2])]),
             (Focus(eta), [x for x, _, _ in focus.rounds(clients, X0, LR, PARTIAL[:2])])]
    for algorithm, twin in cases:
        states = follow(algorithm, problem, domain, PARTIAL[:2], "mask")
        assert [[v.substitute(eta=LR) for v in s.x] for s in states] == twin


# ---- FedResAvg's problem and state


def test_fedresavg_fixed_point_is_the_joint_optimum():
    problem, clients = residual()
    w, theta = problem.joint_optimum()
    gradients = [clients.grad(i, w, theta[i][:k])[0] for i, k in enumerate(problem.dims)]
    algorithm = FedResAvg(LR, personal_lr="1/5")
    state = next(follow(algorithm, problem, RATIONAL, FULL, "mask", x=w, theta=theta, ci=gradients))
    same(RATIONAL, state.x, w)
    same(RATIONAL, state.theta, theta)
    assert (state.c == 0).all()
    same(RATIONAL, state.ci, gradients)


def test_joint_optimum_with_unequal_weights_has_gradient_zero_in_every_arithmetic():
    weights = [Q(1, 2), Q(1, 3), Q(1, 6)]
    problem, _ = residual(weights)
    w, theta = problem.joint_optimum()
    exact_problem = problem.to(RATIONAL)
    gw, gtheta = exact_problem.at().grad_pair(RATIONAL.array(w)[None], RATIONAL.array(theta))
    assert ((exact_problem.p[:, None] * gw).sum(0) == 0).all() and (gtheta == 0).all()
    best = exact_problem.joint_value(RATIONAL.array(w), RATIONAL.array(theta))
    step = RATIONAL.array(np.array([[Q(1, 9)] * 2] * 3)) * exact_problem._real
    assert exact_problem.joint_value(RATIONAL.array(w), RATIONAL.array(theta) + step) > best

    floats = Residual(*[[np.array(v, dtype=float) for v in part] for part in residual_data()], [0.5, 1 / 3, 1 / 6])
    fw, ftheta = floats.joint_optimum()
    assert np.abs(fw - w.astype(float)).max() < 1e-12 and np.abs(ftheta - theta.astype(float)).max() < 1e-12

    s, = Field("s").symbols
    A, B, C, bw, bt = residual_data()
    symbolic = Residual([[[s, 0], [0, 1]], *A[1:]], B, C, bw, bt, weights)
    at_two, _ = Residual([[[2, 0], [0, 1]], *A[1:]], B, C, bw, bt, weights).joint_optimum()
    ours, _ = symbolic.joint_optimum()
    assert [v.substitute(s=Q(2)) for v in ours] == [fraction(v) for v in at_two]


@domains
def test_padded_coordinates_never_move(domain):
    problem, _ = residual()
    start = [[Q(1), Q(9)], [Q(2), Q(-1)], [Q(0), Q(-7)]]                 # padding filled with rubbish on purpose
    clean = list(follow(FedResAvg(LR, personal_lr="1/5"), problem, domain, FULL, "mask", theta=padded(THETA0)))
    for state, other in zip(follow(FedResAvg(LR, personal_lr="1/5"), problem, domain, FULL, "mask", theta=start), clean,
                            strict=True):
        same(domain, state.theta[[0, 2], 1], [Q(9), Q(-7)])
        assert not any(a != b for a, b in zip(to_numpy(state.x), to_numpy(other.x), strict=True))


def test_residual_noise_on_one_or_both_gradients():
    problem = residual()[0].to(RATIONAL)
    w, theta = RATIONAL.array(np.array([X0])), RATIONAL.array(np.array(padded(THETA0)))
    gw, gtheta = problem.at().grad_pair(w, theta)
    ones = RATIONAL.array(np.ones((3, 4), dtype=np.int64))
    one = problem.at().grad_pair(w, theta, ones[:, :2])
    both = problem.at().grad_pair(w, theta, ones)
    assert (one[0] == gw + 1).all() and (one[1] == gtheta).all()
    assert (both[0] == gw + 1).all() and (both[1] == gtheta + problem._real).all()
    assert (problem._real == np.array([[1, 0], [1, 1], [1, 0]])).all()


def test_the_second_phase_has_gradient_slots_of_its_own():
    problem = residual()[0].to(RATIONAL)
    a = FedResAvg(LR, personal_lr="1/5").to(RATIONAL)
    start = a.init(problem, RATIONAL.array(np.array(X0)))
    everybody = draw([(i, 2) for i in range(3)], 3, "mask")

    def after(loud):
        slots = Slots(lambda k: RATIONAL.array(np.full((3, 4), int(k == loud))))
        state = a.round(problem, start, everybody._replace(xi=slots))
        assert slots.count == 4
        return state

    quiet = after(None)
    for k in range(4):                              # slots 0, 1 move theta first, 2 and 3 only the shared parameter
        state = after(k)
        assert (state.theta == quiet.theta).all() == (k >= 2)
        assert ((state.ci - quiet.ci) * 2 == 1).all() == (k == 3)     # the last gradient moves nothing but the mean


def test_shared_problem_drops_the_personal_part():
    problem, clients = residual()
    shared = problem.shared().to(RATIONAL)
    assert isinstance(shared, Quadratic)
    g = shared.grad(RATIONAL.array(np.array([X0])))
    same(RATIONAL, g, [clients.grad(i, X0, [Q(0)] * k)[0] for i, k in enumerate(problem.dims)])


@pytest.mark.parametrize(("change", "words"), [
    ({"A": [[[1, 2], [3, 4]]] * 3}, ["A[0]", "symmetric"]),
    ({"A": [[1, 2]] * 3}, ["A.shape", "(n, d, d)"]),
    ({"bw": [[1, 2, 3]] * 3}, ["bw.shape", "(3, 2)"]),
    ({"C": [[[1]]] * 2}, ["len(C)", "2", "one C per client"]),
    ({"C": [[[1]]] * 3}, ["B[1].shape", "(2, 1)"]),
    ({"C": [[[1]], [[1, 2], [0, 1]], [[1]]]}, ["C[1]", "symmetric"]),
    ({"C": [[1], [1], [1]]}, ["C[0].shape", "(k_i, k_i)"]),
    ({"btheta": [[1, 2]] * 3}, ["btheta[0].shape", "(1,)"]),
    ({"weights": [1, 1, 1]}, ["weights", "sum to 1"]),
    ({"A": [[[1, float("nan")], [0, 1]]] * 3}, ["finite"]),
])
def test_residual_refuses(change, words):
    data = dict(zip(("A", "B", "C", "bw", "btheta"), residual_data(), strict=True))
    with pytest.raises(BadInput) as caught:
        Residual(**(data | change))
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_algorithms_refuse_what_they_cannot_mean():
    problem, _ = quadratic()
    pairs, _ = residual()
    x0 = RATIONAL.array(np.array(X0))
    neighbours = NeighbourAveraging(LR, beta="1/2", graph=GRAPH)
    for what, word in [
        (lambda: FedResAvg(LR), "personal_lr"),
        (lambda: FedResAvg(LR, personal_lr=0), "personal_lr"),
        (lambda: FedResAvg(LR, personal_lr=1).to(RATIONAL).init(problem.to(RATIONAL), x0), "Residual"),
        (lambda: list(follow(FedAvg(LR), pairs, RATIONAL, FULL, "mask")), "shared()"),
        (lambda: neighbours.to(RATIONAL).init(Quadratic.from_linear(*quadratic_data()).to(RATIONAL), x0), "row sums"),
        (lambda: list(follow(neighbours, problem, RATIONAL, PARTIAL[1:2], "mask")), "full participation"),
        (lambda: list(follow(neighbours, problem, RATIONAL, FULL, "who")), "full participation"),
        (lambda: replace(neighbours, beta=0), "(0, 1]"),
        (lambda: NeighbourAveraging(LR, beta="1/2"), "graph"),
        (lambda: replace(neighbours, average="sum"), "printed, renormalised"),
        (lambda: replace(neighbours, absent="gone"), "stale, reset"),
        (lambda: replace(neighbours, graph=[[0, 1], [0, 0]]), "symmetric"),
        (lambda: replace(neighbours, graph=[[0, 1], [1, 0]]), "sum to 1"),
        (lambda: replace(neighbours, graph=[[1, 0], [0, 0]]), "isolated"),
        (lambda: replace(neighbours, graph=[[2, "-1/2"], ["-1/2", 0]]), ">= 0"),
    ]:
        with pytest.raises(BadInput, match=word.replace("(", r"\(").replace(")", r"\)")):
            what()


@pytest.mark.parametrize("algorithm", [FedAvg(LR), FedNova(LR), Scaffold(LR), Focus(LR, init="warm"),
                                       FedResAvg(LR, personal_lr=1), NeighbourAveraging(LR, beta=1, graph=GRAPH)],
                         ids=lambda a: type(a).__name__)
def test_hyper_parameters_can_be_replaced(algorithm):
    changed = replace(algorithm, lr=Q(1, 50))
    assert changed.lr == Q(1, 50) and replace(changed, lr=LR) == algorithm and hash(algorithm) is not None
