"""The reachable subspace: against a float closure on benign data, its invariants along exact runs, its lift."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.numbers.residues import word_prime
from fltheory.core.numbers.scalars import RATIONAL, fraction, have
from fltheory.core.operators import reachable as reach
from tests.algorithms.instances import GRAPH, quadratic, residual
from tests.core.operators import brute
from tests.naive import fedresavg, focus, scaffold
from verification.named_problems import scaffold_awkward

LR = Q(1, 20)
LAWS = [ft.Full(), ft.Uniform(2), ft.Bernoulli(("1/2", "1/3", "3/4")), ft.Cyclic([(0, 1), (2,)]),
        ft.Bernoulli(("1/2", "1/3", "3/4"), empty="skip")]


def closure(op, noisy=False):
    """Orthonormal basis of the reachable subspace of an operator derived with start="any", in floats."""
    J, z0 = op.initial
    maps = np.concatenate([mix.parts for mix in op.moments.mixtures])
    D = op.dimension
    vectors = [*J.T, *((A[:, :D] @ z0 + A[:, D] - z0) for A in maps)]
    if noisy:
        vectors += [g for A in maps for g in A[:, D + 1:].T]
    Q_, rank = np.zeros((D, 0)), -1
    while Q_.shape[1] != rank:
        rank = Q_.shape[1]
        stacked = np.column_stack([*vectors, *(A[:, :D] @ Q_ for A in maps)])
        U, s, _ = np.linalg.svd(stacked)
        Q_ = U[:, :int((s > 1e-8 * s[0]).sum())]
        vectors = [Q_]
    return Q_


@pytest.mark.parametrize("noise", [None, 1])
@pytest.mark.parametrize("law", LAWS, ids=["full", "uniform", "bernoulli", "cyclic", "skip"])
@pytest.mark.parametrize("algorithm", [ft.Scaffold(LR, (2, 1, 3)), ft.Focus(LR, (2, 1, 3)),
                                       ft.Focus(LR, 2, init="warm")], ids=["Scaffold", "Focus", "warm Focus"])
def test_the_subspace_is_the_float_closure(algorithm, law, noise):
    problem, _ = quadratic()
    op = ft.derive(algorithm, problem, law, noise=noise)
    basis = closure(ft.derive(algorithm, problem, law, noise=noise, start="any"), noise is not None)
    assert basis.shape[1] == op.reachable
    V = op.reach.V.astype(float)
    assert np.abs(V - basis @ (basis.T @ V)).max() <= 1e-8 * np.abs(V).max()
    assert (op.reach.W @ op.reach.V == 0).all() and (op.reach.V[list(op.reach.rows)] == np.eye(op.reachable)).all()
    assert len(op.reach.W) == op.dimension - op.reachable == len(op.invariants())


def test_any_start_is_the_whole_space():
    problem, _ = quadratic()
    op = ft.derive(ft.Scaffold(LR, 2), problem, ft.Full(), start="any")
    assert (op.reachable, op.dimension, op.invariants()) == (10, 10, [])
    assert op.rate() == pytest.approx(1, abs=1e-12)              # the conserved direction moves nowhere
    inside = ft.derive(ft.Scaffold(LR, 2), problem, ft.Full())
    assert inside.reachable == 8 and inside.rate() < 1
    full, small = (np.sort(np.abs(np.linalg.eigvals(o.mean_map()[0]))) for o in (op, inside))
    assert full[-2:] == pytest.approx(1, abs=1e-12) and full[:-2] == pytest.approx(small, abs=1e-9)


@pytest.mark.parametrize("algorithm", [ft.FedAvg(LR, 2), ft.FedNova(LR, (1, 2, 3)),
                                       ft.FedAvg(LR, 2, ft.Momentum("1/2"))], ids=["FedAvg", "FedNova", "Momentum"])
def test_algorithms_without_memory_reach_everything(algorithm):
    problem, _ = quadratic()
    for start in ("init", "any"):
        op = ft.derive(algorithm, problem, ft.Uniform(2), start=start)
        assert op.reachable == op.dimension == 2 and op.invariants() == [] and op.reach.names == ("x[0]", "x[1]")
    assert reach.reachable(algorithm, problem, ft.Uniform(2, steps=algorithm.steps)).dimension == 2


def test_neighbour_averaging_conserves_the_weighted_mean():
    problem, _ = quadratic()
    op = ft.derive(ft.NeighbourAveraging(LR, 2, beta="1/2", graph=GRAPH), problem, ft.Full())
    assert (op.reachable, op.dimension) == (6, 8)
    for k, line in enumerate(op.invariants()):
        assert line == f"x[{k}] = 3/8 w[0][{k}] + 1/3 w[1][{k}] + 7/24 w[2][{k}]"


@pytest.mark.parametrize("noise", [None, 1])
def test_padded_personal_coordinates_are_dropped(noise):
    A, B = [[[2, "1/2"], ["1/2", 1]], [[1, 0], [0, 3]]], [[["1/2"], [0]], [["1/4", 0, "1/5"], ["1/3", "1/2", 0]]]
    C = [[[1]], [[1, "1/4", 0], ["1/4", 2, 0], [0, 0, 1]]]
    problem = ft.Residual(A, B, C, [[1, 2], [0, -1]], [[3], [1, -2, 1]])
    assert problem.dims == (1, 3)
    op = ft.derive(ft.FedResAvg(LR, 2, personal_lr="1/10"), problem, ft.Full(), noise=noise)
    assert (op.reachable, op.dimension) == (10, 14)
    assert op.invariants() == ["theta[0][1] = 0", "theta[0][2] = 0", "c[0] = 1/2 ci[0][0] + 1/2 ci[1][0]",
                               "c[1] = 1/2 ci[0][1] + 1/2 ci[1][1]"]
    w, theta = problem.joint_optimum()
    fixed = op.exact().fixed_point()
    assert [fraction(v) for v in fixed.x] == [fraction(v) for v in w]
    where = [fixed.names.index(f"theta[{i}][{k}]") for i in range(2) for k in range(3)]
    assert [fraction(fixed.state[k]) for k in where] == [fraction(v) for v in theta.reshape(-1)]


def flat(*parts):
    """One exact vector of vectors and lists of vectors."""
    rows = [row for part in parts for row in (part if isinstance(part[0], list) else [part])]
    return np.array([v for row in rows for v in row], dtype=object)


def check_along(op, states):
    """Every state of an exact run lies in origin + span V, with W (z - origin) = 0."""
    origin = np.array([fraction(v) for v in op.exact().origin], dtype=object)
    for z in states:
        gap = z - origin
        assert (op.reach.W @ gap == 0).all()
        assert (op.reach.V @ gap[list(op.reach.rows)] == gap).all()


def test_invariants_hold_along_exact_runs_of_the_twins():
    problem, clients = quadratic()
    x0 = [Q(3), Q(-2)]
    schedule = [[(0, 2), (2, 2)], [(1, 2)], [(0, 2), (1, 2), (2, 2)], [(2, 2)]]
    op = ft.derive(ft.Scaffold(LR, 2), problem, ft.Bernoulli("1/2"))
    check_along(op, [flat(x, c, ci) for x, c, ci in scaffold.rounds(clients, x0, LR, schedule)])
    for init in ("zero", "warm"):
        op = ft.derive(ft.Focus(LR, 2, init=init), problem, ft.Bernoulli("1/2"))
        check_along(op, [flat(x, y, g) for x, y, g in focus.rounds(clients, x0, LR, [*schedule, []], init)])
    problem, clients = residual()
    op = ft.derive(ft.FedResAvg(LR, 2, personal_lr="1/10"), problem, ft.Full())
    history = fedresavg.rounds(clients, x0, [[Q(0)], [Q(0), Q(0)], [Q(0)]], LR, Q(1, 10), 2, 1, 3)
    check_along(op, [flat(w, [[*t, Q(0)][:2] for t in theta], c, ci) for w, theta, ci, c in history])


def test_invariants_are_about_the_start():
    # the warm start has y = sum g_i from the beginning, whatever x0 is; a wrong start violates it
    problem, _ = quadratic()
    op = ft.derive(ft.Focus(LR, 2, init="warm"), problem, ft.Full()).exact()
    assert op.invariants() == [f"y[{k}] = " + " + ".join(f"g[{i}][{k}]" for i in range(3)) for k in (0, 1)]
    z = np.array([fraction(v) for v in op.origin], dtype=object)
    z[2] += 1
    assert (op.reach.W @ (z - np.array([fraction(v) for v in op.origin])) != 0).any()


def test_the_constant_of_an_invariant_is_that_of_the_equation_printed():
    # kept is b - a/2, which starts at 5 - 3/2; solved for a, as it is printed, the constant is -2 times that
    lay = type("Lay", (), {"size": 2, "names": lambda self: ("a", "b")})()
    found = reach._reach(lay, (0,), np.array([[Q(1, 2)]], dtype=object))
    assert found.invariants([Q(3), Q(5)]) == ["a = 2 b - 7"] and found.invariants() == ["a = 2 b"]


def test_float_problems_are_decided_too():
    exact, _ = quadratic()
    floats = ft.Quadratic.from_linear(exact.H.astype(float), exact.b.astype(float), [0.375, 0.375, 0.25])
    op = ft.derive(ft.Scaffold(0.0625, 2), floats, ft.Uniform(2))
    assert op.reachable == 8 and op.invariants()[0] == "c[0] = 3/8 ci[0][0] + 3/8 ci[1][0] + 1/4 ci[2][0]"


# ---- lifted from residues, verified in the arithmetic of the operator --------------------------------------
BINARY = ft.Quadratic([[[1]], [[2]]], [[0], [1]], [.7, .3])  # .7 and .3 are long binary fractions that do not sum to 1


def weights_of(problem):
    return [fraction(p) for p in problem.to(RATIONAL).p]


@pytest.mark.parametrize("algorithm", [ft.Scaffold(.1, 2), ft.VRLSGD(.1, 2), ft.Scaffnew(.1, 2)], ids=lambda a: type(a).__name__)
def test_float_weights_are_taken_at_their_binary_values(algorithm):
    p = weights_of(BINARY)
    best = 2 * p[1] / (p[0] + 2 * p[1])
    assert sum(p) == 1 and p[0] != Q(7, 10) and 0 < abs(best - Q(6, 13)) < Q(1, 10**16)
    op = ft.derive(algorithm, BINARY, ft.Full(), domain=RATIONAL)
    assert op.fixed_point().x[0] == best == ft.optimum(BINARY.surrogate(p)).x[0]
    assert round(op.rate(), 6) == .756341
    if have("flint"):
        low, high = op.certify().mean
        assert low <= high and abs(float(low) - op.rate()) < 1e-14
    assert ft.derive(algorithm, BINARY, ft.Full()).fixed_point().x[0] == pytest.approx(6 / 13, abs=1e-14)


def test_focus_and_mifa_at_binary_weights():
    # FOCUS sums gradients, whatever the weights; MIFA averages 1 - (1 - lr h)^2 times the distance to every minimiser
    assert ft.derive(ft.Focus(.1, 2), BINARY, ft.Full(), domain=RATIONAL).fixed_point().x[0] == Q(2, 3)
    a = [1 - (1 - h * fraction(.1)) ** 2 for h in (1, 2)]
    p = weights_of(BINARY)
    fixed = ft.derive(ft.Mifa(.1, 2), BINARY, ft.Full(), domain=RATIONAL).fixed_point().x[0]
    assert fixed == p[1] * a[1] / (p[0] * a[0] + p[1] * a[1])


@pytest.mark.parametrize("weights", [[.5, .3, .2], [.7, .2, .1], [.6, .1, .3], [.1, .8, .1]])
def test_scaffold_keeps_the_weighted_mean_of_any_float_weights(weights):
    problem = ft.Quadratic([[[1]], [[2]], [[3]]], [[0], [1], [2]], weights)
    op = ft.derive(ft.Scaffold("1/10", 2), problem, ft.Uniform(2), domain=RATIONAL)
    p = weights_of(problem)
    assert op.invariants() == ["c[0] = " + " + ".join(f"{v} ci[{i}][0]" for i, v in enumerate(p))]
    assert op.fixed_point().x[0] == sum(v * h * c for v, h, c in zip(p, (1, 2, 3), (0, 1, 2), strict=True)) / sum(
        v * h for v, h in zip(p, (1, 2, 3), strict=True))
    assert op.certify().stable


def random_problem(n, d, weights=None, seed=0):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, d, d))
    H = H @ H.swapaxes(1, 2) + np.eye(d)
    return ft.Quadratic(H, rng.normal(size=(n, d)), rng.dirichlet(np.ones(n)) if weights is None else weights)


def test_random_hessians_and_extreme_weights():
    problem = random_problem(5, 3, (.7, .2, .0899, .01, .0001))
    op = ft.derive(ft.Scaffold(.03, (1, 4, 9, 2, 6)), problem, ft.Full())
    assert op.reachable == 18 and op.reach.assumed == "" and op.rate() < 1
    assert np.abs(op.fixed_point().x - ft.optimum(problem).x).max() < 1e-6
    exact = op.exact().fixed_point().x
    assert np.abs(exact.astype(float) - op.fixed_point().x).max() < 1e-9


@pytest.mark.parametrize("law", [ft.Full(), ft.Uniform(1), ft.Uniform(2), ft.Bernoulli(.3), ft.Bernoulli(.3, empty="skip"),
                                 ft.Markov(.5, .25, 3), ft.Cyclic([[0], [1, 2]])], ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("algorithm", [ft.Scaffold(.03, (1, 4, 2)), ft.Scaffold(.03, 2, option=1), ft.VRLSGD(.03, (1, 4, 2)),
                                       ft.VRLSGD(.03, (1, 4, 2), divisor="mean"), ft.Scaffnew(.03, (1, 4, 2)),
                                       ft.Focus(.03, (1, 4, 2)), ft.Mifa(.03, (1, 4, 2)),
                                       ft.Focus(.03, 2, init="warm"), ft.FedVarp(.03, 2)], ids=lambda a: type(a).__name__)
def test_every_method_is_derived_on_float_data(algorithm, law):
    problem = random_problem(3, 2, seed=1)
    op = ft.derive(algorithm, problem, law)
    exact = op.exact()
    assert op.reach.assumed == "" and (op.reach.W @ op.reach.V == 0).all()
    assert np.abs(exact.fixed_point().x.astype(float) - op.fixed_point().x).max() < 1e-8
    basis = closure(ft.derive(algorithm, problem, law, start="any"))
    assert basis.shape[1] <= op.reachable  # floats may miss a direction, never find one too many


@pytest.mark.slow
def test_200_clients_are_derived():
    for algorithm in (ft.Scaffold(.01, 5), ft.Focus(.0005, 5)):
        op = ft.derive(algorithm, random_problem(200, 2), ft.Full())
        assert (op.reachable, op.dimension, op.reach.assumed) == (402, 404, "")


def test_long_entries_are_lifted_and_longer_ones_are_said_to_be_assumed(monkeypatch):
    big = 10**25 + 13
    problem = brute.three([Q(big, 4 * big + 1), Q(big, 4 * big + 1), Q(2 * big + 1, 4 * big + 1)])[0]
    op = ft.derive(ft.Scaffold(LR, 2), problem, ft.Full())
    assert op.reachable == 8 and op.invariants()[0].startswith(f"c[0] = {Q(big, 4 * big + 1)} ci[0][0]")
    monkeypatch.setattr(reach, "MOST_PRIMES", 3)
    op = ft.derive(ft.Scaffold(LR, 2), problem, ft.Full())
    assert op.reachable == op.dimension == 10 and op.assumed.startswith("every state")
    assert op.rate() == pytest.approx(1, abs=1e-12)


def test_equal_hessians_with_float_minimisers():
    # every client's memory moves along its own float direction; the subspace has long entries, and is lifted all the same
    problem = ft.Quadratic([np.eye(2)] * 4, np.random.default_rng(3).normal(size=(4, 2)), [.1, .2, .3, .4])
    op = ft.derive(ft.Scaffold(.25, 2), problem, ft.Full())
    assert op.reachable < 10 and op.assumed == ""
    assert np.abs(op.fixed_point().x - ft.optimum(problem).x).max() < 1e-9


def test_freed_linear_terms_keep_structural_invariants(monkeypatch):
    problem = ft.Quadratic([np.eye(2)] * 4, np.random.default_rng(3).normal(size=(4, 2)), ["1/10", "1/5", "3/10", "2/5"])
    monkeypatch.setattr(reach, "MOST_PRIMES", 4)
    for algorithm, dimension in ((ft.Scaffold("1/4", 2), 10), (ft.VRLSGD("1/4", 2), 8), (ft.Mifa("1/4", 2), 10)):
        op = ft.derive(algorithm, problem, ft.Full())
        assert op.assumed.startswith("linear terms free") and op.reachable == dimension
        assert op.rate() == pytest.approx(9 / 16) and "assumed" in op._repr_html_()
        assert op.fixed_point().x == pytest.approx(ft.optimum(problem).x)  # equal Hessians: no bias


@pytest.mark.parametrize("fault", [0, 3])
def test_a_subspace_that_rounds_leave_is_never_believed(fault, monkeypatch):
    """Whatever the search for it returns: the operator verifies it, in every arithmetic."""
    true = reach.reachable

    def wrong(*args, **options):
        found = true(*args, **options)
        V, W = found.V.copy(), found.W.copy()
        V[found.free[0], fault] += Q(1, 1000)
        W[0, found.rows[fault]] -= Q(1, 1000)
        return reach.Reach(found.rows, V, W, found.names)
    monkeypatch.setattr("fltheory.core.operators.operator.reachable", wrong)
    problem, _ = quadratic()
    for domain in (ft.FLOAT, ft.RATIONAL, ft.Modular(), *([ft.Balls(128)] if have("flint") else [])):
        for law in (ft.Full(), ft.Uniform(2), ft.Bernoulli("1/2")):
            with pytest.raises(ft.CertificateFailed, match="do not keep"):
                ft.derive(ft.Scaffold(LR, 2), problem, law, domain=domain)


def test_primes_are_of_no_special_form():
    from sympy import isprime
    primes = [word_prime(k) for k in range(50)]
    assert len(set(primes)) == 50 and all(isprime(p) and 2**30 < p < 2**31 for p in primes)
    for p in primes:  # binary fractions must not have short residues: far from powers of two, also as small multiples
        assert min(abs(k * p - 2**e) for k in range(1, 8) for e in range(28, 36)) > 1000


def test_chance_is_not_taken_for_a_short_fraction():
    rng, modulus = np.random.default_rng(0), word_prime(0) * word_prime(1)
    values = np.array([int(v) % modulus for v in rng.integers(0, 2**62, 300)], dtype=object)
    assert sum(reach._short(values[k:k + 1], modulus) is not None for k in range(300)) == 0
    short = Q(-7, 12)
    assert reach._short(np.array([short.numerator * pow(12, -1, modulus) % modulus], dtype=object), modulus)[0] == short


def test_one_prime_alone_is_not_believed(monkeypatch):
    """A prime at which the data look more special than they are: the others overrule it."""
    problem, _ = quadratic()
    true = reach._Explorer.closure

    def unlucky(self, expected=None):
        pivots, free, B = true(self, expected)
        return (pivots[:-1], sorted([*free, pivots[-1]]), 0 * B[:-1, :1]) if self.prime == word_prime(0) else (pivots, free, B)
    monkeypatch.setattr(reach._Explorer, "closure", unlucky)
    assert ft.derive(ft.Scaffold(LR, 2), problem, ft.Full()).reachable == 8


def test_the_awkward_instance_is_quick_and_exact():
    problem, steps, lr = scaffold_awkward()
    found = reach.reachable(ft.Scaffold(lr, steps), problem, ft.Full(steps=steps))
    assert found.dimension == 6
    assert found.invariants() == ft.derive(ft.Scaffold(lr, steps), problem, ft.Full()).invariants()


def test_noise_may_open_directions_that_the_start_cannot():
    # equal clients at a common minimiser: no client ever differs from another unless noise makes it
    problem = ft.Quadratic([[[1]], [[1]]], [[0], [0]])
    silent = ft.derive(ft.Focus(LR, 2), problem, ft.Full())
    noisy = ft.derive(ft.Focus(LR, 2), problem, ft.Full(), noise=1)
    assert silent.reachable == 2 and noisy.reachable == 3
    assert silent.invariants() == ["y[0] = 2 g[0][0]", "y[0] = 2 g[1][0]"]
    assert noisy.invariants() == ["y[0] = g[0][0] + g[1][0]"]
