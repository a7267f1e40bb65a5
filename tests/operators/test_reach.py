"""The reachable subspace: against a float closure on benign data, its invariants along exact runs, its lift."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory import linalg
from fltheory.elements import Residue
from fltheory.operators import reach
from fltheory.operators.probe import Layout
from fltheory.problems.instances import scaffold_awkward
from fltheory.scalars import LARGE_PRIME, WORD_PRIME, fraction
from tests.algorithms.instances import GRAPH, quadratic, residual
from tests.naive import fedresavg, focus, scaffold
from tests.operators import brute

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


def test_float_problems_are_decided_too():
    exact, _ = quadratic()
    floats = ft.Quadratic.from_linear(exact.H.astype(float), exact.b.astype(float), [0.375, 0.375, 0.25])
    op = ft.derive(ft.Scaffold(0.0625, 2), floats, ft.Uniform(2))
    assert op.reachable == 8 and op.invariants()[0] == "c[0] = 3/8 ci[0][0] + 3/8 ci[1][0] + 1/4 ci[2][0]"


def test_long_rationals_need_the_large_prime(monkeypatch):
    weights = [Q(10**7 + 19, 3 * 10**7), Q(10**7 - 10, 3 * 10**7), Q(10**7 - 9, 3 * 10**7)]
    problem = brute.three(weights)[0]
    op = ft.derive(ft.Scaffold(LR, 2), problem, ft.Full())
    assert op.invariants()[0] == "c[0] = " + " + ".join(f"{w} ci[{i}][0]" for i, w in enumerate(weights))
    tried = []
    lift = reach._lift
    monkeypatch.setattr(reach, "_lift", lambda reduced, prime, lay: tried.append(prime) or lift(reduced, prime, lay))
    reach.reachable(ft.Scaffold(LR, 2), problem, ft.Full(steps=2))
    assert tried == [WORD_PRIME, LARGE_PRIME]


def test_data_beyond_both_primes_are_refused():
    big = 10**25 + 13
    problem = brute.three([Q(big, 4 * big + 1), Q(big, 4 * big + 1), Q(2 * big + 1, 4 * big + 1)])[0]
    with pytest.raises(ft.CertificateFailed, match="shorter rationals"):
        ft.derive(ft.Scaffold(LR, 2), problem, ft.Full())
    assert ft.derive(ft.Scaffold(LR, 2), problem, ft.Full(), start="any").reachable == 10


@pytest.mark.parametrize("prime", [WORD_PRIME, LARGE_PRIME])
def test_random_residues_are_not_taken_for_short_rationals(prime):
    """Every residue has some fraction within the bound of the reconstruction; only far shorter ones are evidence."""
    rng = np.random.default_rng(0)
    lay = Layout(ft.FedAvg(LR, 1).init(None, np.zeros(2)).__class__, ((2,),))
    found = reconstructed = 0
    for _ in range(300):
        value = int.from_bytes(rng.bytes(16), "big") % prime
        reconstructed += linalg.rational_reconstruct(value, prime) is not None
        row = np.array([1, value], dtype=object)
        found += reach._lift(([0], [row]), prime, lay) is not None
    assert found == 0 and reconstructed > 30
    short = Residue(-7, prime) / Residue(12, prime)
    lifted = reach._lift(([0], [np.array([1, short.value], dtype=object)]), prime, lay)
    assert lifted.V[1, 0] == Q(-7, 12) and lifted.invariants() == ["x[0] = -12/7 x[1]"]


def test_a_basis_grows_only_by_new_directions():
    basis = reach._Echelon(3, WORD_PRIME)
    assert basis.add(np.array([0, 2, 4], dtype=object)) and not basis.add(np.array([0, 3, 6], dtype=object))
    assert basis.add(np.array([5, 1, 2], dtype=object)) and not basis.add(np.array([5, 3, 6], dtype=object))
    pivots, rows = basis.reduced()
    assert pivots == [0, 1] and [list(r) for r in rows] == [[1, 0, 0], [0, 1, 2]]


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
