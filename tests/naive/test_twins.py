"""The twins against facts that can be worked out by hand, exactly wherever no limit is involved."""

from fractions import Fraction as Q
from itertools import pairwise

import pytest

from tests.naive import asyncfeded, fedavg, fednova, fedresavg, focus, neighbour, scaffold
from tests.naive.fedresavg import ResidualClients
from tests.naive.vectors import QuadraticClients, add, dot, exact, matvec, mix, scale, sub


def three_clients():
    H = exact([[[2, 1], [1, 2]], [[1, 0], [0, "1/2"]], [["3/5", "1/5"], ["1/5", "4/5"]]])
    b = exact([[1, 0], [0, 2], [-1, -1]])
    return QuadraticClients(H, b, exact(["1/2", "3/10", "1/5"]))


def scalar_clients(h, minimisers, p):
    H, c = exact(h), exact(minimisers)
    return QuadraticClients([[[s]] for s in H], [[s * t] for s, t in zip(H, c, strict=True)], exact(p))


def in_floats(clients):
    return QuadraticClients(
        [[[float(s) for s in row] for row in H] for H in clients.H],
        [[float(s) for s in b] for b in clients.b],
        [float(s) for s in clients.p],
    )


def solve(M, v):
    """M^-1 v for a 2x2 matrix."""
    (a, b), (c, d) = M
    return scale(1 / (a * d - b * c), [d * v[0] - b * v[1], a * v[1] - c * v[0]])


def optimum(clients, weights):
    H = [mix(weights, [H[row] for H in clients.H]) for row in (0, 1)]
    return solve(H, mix(weights, clients.b))


X0 = exact([3, -2])
LR = Q(1, 10)
COHORTS = [
    [(0, 2), (1, 5), (2, 3)],
    [(2, 1)],
    [],
    [(1, 4), (0, 1)],
    [(2, 2), (1, 3), (0, 3)],
]


# FedAvg


def test_fedavg_with_one_client_and_one_step_is_gradient_descent():
    clients = three_clients()
    history = fedavg.rounds(clients, X0, LR, [[(1, 1)]] * 4)
    x = X0
    for after in history:
        x = sub(x, scale(LR, clients.grad(1, x)))
        assert after == x


def test_fedavg_takes_the_mean_over_the_cohort_and_keeps_x_without_one():
    clients = three_clients()
    alone = [fedavg.rounds(clients, X0, LR, [[(i, 3)]])[0] for i in range(3)]
    pair, empty = fedavg.rounds(clients, X0, LR, [[(0, 3), (2, 3)], []])
    assert pair == mix([Q(5, 7), Q(2, 7)], [alone[0], alone[2]])
    assert empty == pair
    (twice,) = fedavg.rounds(clients, X0, LR, [[(0, 3), (2, 3), (2, 3)]])
    assert twice == mix([Q(5, 9), Q(4, 9)], [alone[0], alone[2]])


def test_fedavg_fixed_point_with_unequal_steps():
    # unit curvature, minimisers 0 and 1, tau = (1, 10), lr 0.05: 0.8892 instead of 10/11 = 0.9091
    clients = scalar_clients([1, 1], [0, 1], ["1/2", "1/2"])
    s = [1 - Q(19, 20) ** tau for tau in (1, 10)]
    limit = s[1] / (s[0] + s[1])
    assert round(float(limit), 4) == 0.8892
    assert fedavg.rounds(clients, [limit], Q(1, 20), [[(0, 1), (1, 10)]]) == [[limit]]


def test_noise_is_added_to_the_gradient_of_its_round_place_and_step():
    flat = QuadraticClients(exact([[[0]], [[0]]]), exact([[0], [0]]), exact(["1/4", "3/4"]))

    def noise(r, place, k):
        return [100 * r + 10 * place + k]

    first, second = fedavg.rounds(flat, [Q(0)], Q(1), [[(1, 2), (1, 1)], [(0, 3)]], noise=noise)
    assert first == [-Q(0 + 1 + 10, 2)]
    assert sub(second, first) == [-(100 + 101 + 102)]


# FedNova


SOLVERS = [("vanilla",), ("proximal", Q(3)), ("momentum", Q(9, 10)), ("decay", Q(4, 5))]


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_normalisers_of_the_four_solvers(steps):
    alpha, rho, gamma = LR * 3, Q(9, 10), Q(4, 5)
    expected = [
        steps,
        (1 - (1 - alpha) ** steps) / alpha,
        (steps - rho * (1 - rho**steps) / (1 - rho)) / (1 - rho),
        (1 - gamma**steps) / (1 - gamma),
    ]
    assert [fednova.norm1(steps, LR, solver) for solver in SOLVERS] == expected


def test_coefficients_entry_by_entry():
    alpha, rho, gamma = LR * 3, Q(9, 10), Q(4, 5)
    assert fednova.coefficients(3, LR, SOLVERS[1]) == [(1 - alpha) ** 2, 1 - alpha, 1]
    assert fednova.coefficients(3, LR, SOLVERS[2]) == [1 + rho + rho**2, 1 + rho, 1]
    assert fednova.coefficients(3, LR, SOLVERS[3]) == [1, gamma, gamma**2]


@pytest.mark.parametrize("solver", SOLVERS)
def test_fednova_with_equal_steps_is_fedavg(solver):
    clients = three_clients()
    schedule = [[(0, 4), (1, 4), (2, 4)], [(2, 2), (0, 2)], [], [(1, 3)]]
    assert fednova.rounds(clients, X0, LR, schedule, solver) == fedavg.rounds(
        clients, X0, LR, schedule, solver
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_fednova_round_on_linear_losses(solver):
    # constant gradients -b_i: Delta_i / |a_i|_1 = lr b_i whatever the solver and the number of steps
    clients = three_clients()
    flat = QuadraticClients([[[0, 0], [0, 0]]] * 3, clients.b, clients.p)
    (x,) = fednova.rounds(flat, X0, LR, [[(0, 2), (1, 5), (2, 3)]], solver, tau_eff=Q(7))
    assert sub(x, X0) == scale(7 * LR, mix(clients.p, clients.b))


def test_fednova_is_not_consistent_under_sampling():
    # a pair drawn uniformly out of tau = (1, 2, 10), p_i = 1/3: the effective weights are (14, 15, 23)/52
    flat = QuadraticClients(
        exact([[[0] * 3] * 3] * 3), exact([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), exact(["1/3"] * 3)
    )
    tau, total = (1, 2, 10), [0, 0, 0]
    for pair in [(0, 1), (0, 2), (1, 2)]:
        (x,) = fednova.rounds(flat, exact([0, 0, 0]), LR, [[(i, tau[i]) for i in pair]])
        total = add(total, x)
    assert scale(1 / sum(total), total) == [Q(14, 52), Q(15, 52), Q(23, 52)]


def test_fixed_points_of_fedavg_and_fednova():
    # minimisers 1 and -1, tau = (1, 9), full participation: FedAvg's limit is (s1 - s2)/(s1 + s2) with
    # s_i = 1 - (1 - lr)^tau_i, FedNova's the same with s_i / tau_i
    clients = scalar_clients([1, 1], [1, -1], ["1/2", "1/2"])
    schedule = [[(0, 1), (1, 9)]]
    s = [1 - (1 - LR) ** tau for tau in (1, 9)]
    for twin, weights in [(fedavg, s), (fednova, [s[0], s[1] / 9])]:
        limit = (weights[0] - weights[1]) / sum(weights)
        assert twin.rounds(clients, [limit], LR, schedule) == [[limit]]


# SCAFFOLD


def test_scaffold_server_control_is_the_weighted_mean_of_the_client_controls():
    clients = three_clients()
    for x, c, c_i in scaffold.rounds(clients, X0, LR, COHORTS):
        assert len(x) == 2
        assert c == mix(clients.p, c_i)


def test_scaffold_first_round_is_fedavg_and_stores_the_mean_gradient():
    clients = three_clients()
    ((x, _, c_i),) = scaffold.rounds(clients, X0, LR, [[(0, 1), (1, 2)]])
    assert [x] == fedavg.rounds(clients, X0, LR, [[(0, 1), (1, 2)]])
    second_point = sub(X0, scale(LR, clients.grad(1, X0)))
    assert c_i[0] == clients.grad(0, X0)
    assert c_i[1] == scale(Q(1, 2), add(clients.grad(1, X0), clients.grad(1, second_point)))
    assert c_i[2] == [0, 0]


def test_scaffold_optimum_is_fixed_and_attracts_with_unequal_steps():
    clients = three_clients()
    best = optimum(clients, clients.p)
    controls = [clients.grad(i, best) for i in range(3)]
    for x, c, c_i in scaffold.rounds(clients, best, LR, COHORTS, controls):
        assert (x, c, c_i) == (best, [0, 0], controls)
    x, _, _ = scaffold.rounds(in_floats(clients), [3.0, -2.0], 0.1, [COHORTS[0]] * 300)[-1]
    assert x == pytest.approx([float(s) for s in best], abs=1e-9)


# FOCUS


@pytest.mark.parametrize("init", ["zero", "warm"])
def test_focus_server_tracks_the_sum_of_the_stored_gradients(init):
    clients = three_clients()
    x_before = X0
    for x, y, g in focus.rounds(clients, X0, LR, COHORTS, init):
        assert y == mix([1, 1, 1], g)
        assert x == sub(x_before, scale(LR, y))  # the third cohort is empty, the server moves all the same
        x_before = x


def test_focus_with_everybody_making_one_step_is_gradient_descent_on_the_sum():
    clients = three_clients()
    x = X0
    for after, _, _ in focus.rounds(clients, X0, LR, [[(0, 1), (1, 1), (2, 1)]] * 4):
        x = sub(x, scale(LR, mix([1, 1, 1], [clients.grad(i, x) for i in range(3)])))
        assert after == x


def test_focus_stored_gradient_has_made_one_effective_step_less_than_tau():
    # g_i' = grad f_i at z = P x + (I - P) z_old, P = (I - lr h)^(tau-1), z_old the point of the old gradient
    h, lr, tau = Q(2), Q(1, 5), 4
    clients = scalar_clients([h, 1], [3, -1], ["1/2", "1/2"])
    history = focus.rounds(clients, [Q(7)], lr, [[(0, tau)], [(1, 1)], [(0, tau)]], "warm")
    z, x = Q(7), [Q(7), history[0][0][0], history[1][0][0]]
    P = (1 - lr * h) ** (tau - 1)
    for r in (0, 2):
        z = P * x[r] + (1 - P) * z
        assert history[r][2][0] == [h * (z - 3)]


def test_focus_optimum_is_fixed_and_attracts():
    clients = three_clients()
    best = optimum(clients, [1, 1, 1])
    for x, y, _ in focus.rounds(clients, best, LR, COHORTS, "warm"):
        assert (x, y) == (best, [0, 0])
    x, _, _ = focus.rounds(in_floats(clients), [3.0, -2.0], 0.05, COHORTS * 400)[-1]
    assert x == pytest.approx([float(s) for s in best], abs=1e-9)


# FedResAvg


def residual_clients():
    """Two clients with one and two personal parameters."""
    A = exact([[[2, "1/2"], ["1/2", 1]], [[1, 0], [0, 3]]])
    B = exact([[["1/2"], [0]], [["1/4", 0], ["1/3", "1/2"]]])
    C = exact([[[1]], [[1, "1/4"], ["1/4", 2]]])
    return ResidualClients(A, B, C, exact([[1, 2], [0, -1]]), exact([[3], [1, -2]]))


def residual_optimum(clients):
    """w from the Schur complements S_i = A_i - B_i C_i^-1 B_i', s_i = bw_i - B_i C_i^-1 bt_i."""

    def personal_solve(i, v):
        return [v[0] / clients.C[i][0][0]] if len(v) == 1 else solve(clients.C[i], v)

    S, s = [0, 0, 0, 0], [0, 0]
    for i in range(2):
        s = add(s, sub(clients.bw[i], matvec(clients.B[i], personal_solve(i, clients.bt[i]))))
        for row in (0, 1):
            for column in (0, 1):
                eliminated = dot(clients.B[i][row], personal_solve(i, clients.B[i][column]))
                S[2 * row + column] += clients.A[i][row][column] - eliminated
    w = solve([S[:2], S[2:]], s)
    B_w = [[dot(column, w) for column in zip(*B, strict=True)] for B in clients.B]
    return w, [personal_solve(i, sub(clients.bt[i], B_w[i])) for i in range(2)]


def test_fedresavg_joint_optimum_is_fixed():
    clients = residual_clients()
    w, theta = residual_optimum(clients)
    controls = [clients.grad(i, w, theta[i])[0] for i in range(2)]
    assert mix([1, 1], controls) == [0, 0]
    for state in fedresavg.rounds(clients, w, theta, LR, Q(1, 5), 4, Q(3, 2), 3, controls):
        assert state == (w, theta, controls, [0, 0])
    # zero controls do no harm with one step: the uncorrected gradients cancel in the mean
    for state in fedresavg.rounds(clients, w, theta, LR, Q(1, 5), 1, Q(3, 2), 3):
        assert state == (w, theta, controls, [0, 0])


def test_fedresavg_reaches_the_joint_optimum_from_zero_controls():
    exact_clients = residual_clients()
    blocks = [exact_clients.A, exact_clients.B, exact_clients.C, exact_clients.bw, exact_clients.bt]

    def floats(part):
        return [floats(entry) for entry in part] if isinstance(part, list) else float(part)

    history = fedresavg.rounds(
        ResidualClients(*map(floats, blocks)), [3.0, -2.0], [[1.0], [0.0, 5.0]], 0.1, 0.1, 4, 1, 400
    )
    w, theta = map(floats, residual_optimum(exact_clients))
    assert history[-1][0] == pytest.approx(w, abs=1e-9)
    for i in range(2):
        assert history[-1][1][i] == pytest.approx(theta[i], abs=1e-9)


def test_fedresavg_without_coupling_is_scaffold_with_uniform_weights():
    plain = three_clients()
    plain.p = exact(["1/3"] * 3)
    nothing = exact([[[0], [0]]] * 3)
    clients = ResidualClients(plain.H, nothing, exact([[[1]]] * 3), plain.b, exact([[0]] * 3))
    ours = fedresavg.rounds(clients, X0, exact([[1], [2], [3]]), LR, Q(1, 2), 3, 1, 4)
    theirs = scaffold.rounds(plain, X0, LR, [[(0, 3), (1, 3), (2, 3)]] * 4)
    for (w, _, c_i, c), (x, server_c, client_c) in zip(ours, theirs, strict=True):
        assert (w, c_i, c) == (x, client_c, server_c)
    assert ours[-1][1] == exact([["1/4096"], ["2/4096"], ["3/4096"]])


def test_fedresavg_linear_recursion_of_the_papers_first_experiment():
    # L_1 = 0.1 (w + theta_1)^2 + 10 w, L_2 = 0.1 theta_2^2 - 10 w: from round 2 on, u = w + theta_1 and
    # f = 10 - (c_1 - c_2)/2 obey a 2x2 recursion
    clients = ResidualClients(
        exact([[["1/5"]], [[0]]]),
        exact([[["1/5"]], [[0]]]),
        exact([[["1/5"]]] * 2),
        exact([[-10], [10]]),
        exact([[0]] * 2),
    )
    eta, lam, K, alpha = Q(1, 50), Q(1, 20), 3, Q(3, 2)
    history = fedresavg.rounds(clients, [Q(1)], exact([[2], [3]]), eta, lam, K, alpha, 4)
    m, q = (1 - (1 - eta / 5) ** K) / (eta / 5), (1 - lam / 5) ** K
    states = [(w[0] + theta[0][0], 10 - (c_i[0][0] - c_i[1][0]) / 2) for w, theta, c_i, _ in history]
    for (u, f), after in pairwise(states):
        assert after == (
            q * (1 - alpha * eta * m / 10) * u + alpha * eta * (K - m) * f / 2,
            -q * m * u / (10 * K) + (K - m) * f / (2 * K),
        )


# the neighbour method


P_IN = exact([[0, "1/4", "1/8"], ["1/4", 0, "1/8"], ["1/8", "1/8", 0]])


def test_neighbour_with_beta_one_is_fedavg():
    clients = three_clients()
    clients.p = [sum(row) for row in P_IN]
    everyone = [[(0, 3), (1, 3), (2, 3)]] * 4
    ours = neighbour.rounds(clients, X0, LR, 1, P_IN, everyone)
    assert [wbar for wbar, _ in ours] == fedavg.rounds(clients, X0, LR, everyone)


def test_neighbour_mean_is_autonomous_with_one_common_hessian():
    # per round, wbar - w* shrinks by 1 - (1 - (1 - lr beta h)^E)/beta
    h, beta, E = Q(3, 2), Q(2, 5), 4
    clients = scalar_clients([h] * 3, [1, 5, -2], ["1/3"] * 3)
    best = dot([sum(row) for row in P_IN], exact([1, 5, -2]))
    factor = 1 - (1 - (1 - LR * beta * h) ** E) / beta
    error = 3 - best
    for wbar, w_E in neighbour.rounds(clients, [Q(3)], LR, beta, P_IN, [[(i, E) for i in range(3)]] * 4):
        error = factor * error
        assert wbar == [best + error]
        assert wbar == mix([sum(row) for row in P_IN], w_E)


@pytest.mark.parametrize(("beta", "limit"), [(0.9, 0.161017), (0.5, 3 / 22)])
def test_neighbour_is_biased_with_one_step_and_two_hessians(beta, limit):
    clients = in_floats(scalar_clients([1, "1/5"], [0, 1], ["1/2", "1/2"]))
    wbar, _ = neighbour.rounds(clients, [3.0], 0.5, beta, [[0, 0.5], [0.5, 0]], [[(0, 1), (1, 1)]] * 200)[-1]
    assert wbar[0] == pytest.approx(limit, abs=5e-7)  # w* = 1/6


def test_the_printed_sum_shrinks_the_model_where_somebody_is_missing():
    # identical losses (w - 1)^2/2, one of three equal clients: the factor is (9/10)^2/3 and not (9/10)^2
    clients = scalar_clients([1] * 3, [1] * 3, ["1/3"] * 3)
    graph = [[Q(i != j) / 6 for j in range(3)] for i in range(3)]
    one = [[(0, 2)], [(1, 2)]]
    printed = [wbar for wbar, _ in neighbour.rounds(clients, [Q(2)], LR, 1, graph, one, "printed")]
    assert printed == [[(1 + Q(81, 100)) / 3], [(1 + Q(81, 100) * ((1 + Q(81, 100)) / 3 - 1)) / 3]]
    divided = [wbar for wbar, _ in neighbour.rounds(clients, [Q(2)], LR, 1, graph, one, "renormalised")]
    assert divided == fedavg.rounds(clients, [Q(2)], LR, one)


# AsyncFedED


def test_asyncfeded_with_one_client_is_never_stale():
    clients = in_floats(scalar_clients([1], [0], [1]))
    history = asyncfeded.events(clients, [1.0], 0.1, 0.5, 2.0, 3.0, 1.0, 2, [3], 4)
    assert [event["gamma"] for event in history] == [0, 0, 0, 0]
    assert [event["K"] for event in history] == [2, 5, 8, 11]
    assert [event["time"] for event in history] == [6, 21, 45, 78]
    x = 1.0
    for event in history:
        x = x + 0.25 * (0.9 ** event["K"] - 1) * x
        assert event["x"][0] == pytest.approx(x, rel=1e-14)


def test_asyncfeded_order_of_arrivals_and_staleness():
    # constant gradients -1 and 2, one step of size 1 per run, durations 1 and 2: Delta = 1 and -2
    flat = QuadraticClients([[[0.0]], [[0.0]]], [[1.0], [-2.0]], [0.5, 0.5])
    history = asyncfeded.events(flat, [0.0], 1.0, 1.0, 1.0, 3.0, 0, 1, [1, 2], 4)
    assert [(event["time"], event["client"]) for event in history] == [(1, 0), (2, 0), (2, 1), (3, 0)]
    # x = 1, 2, then client 1 from its base 0: gamma = 2/2, x = 2 - 2/2; client 0 from 2: gamma = 1/1
    assert [event["gamma"] for event in history] == [0, 0, 1, 1]
    assert [event["x"] for event in history] == [[1], [2], [1], [1.5]]


def test_asyncfeded_number_of_steps():
    assert asyncfeded.next_steps(10, 3.2, 3, 1) == 9  # floor(-0.2) = -1
    assert asyncfeded.next_steps(10, 1.0, 3, 1) == 12
    assert asyncfeded.next_steps(10, 0.0, 3, 0.05) == 10
    assert asyncfeded.next_steps(2, 50.0, 3, 1) == 1
    assert asyncfeded.next_steps(7, float("inf"), 3, 1) == 1
    assert asyncfeded.next_steps(7, float("inf"), 3, 0) == 7


def test_asyncfeded_zero_update():
    # client 1 has gradient zero everywhere: not stale as long as nobody else has moved the server
    flat = QuadraticClients([[[0.0]], [[0.0]]], [[1.0], [0.0]], [0.5, 0.5])
    first, second, third = asyncfeded.events(flat, [0.0], 1.0, 1.0, 1.0, 3.0, 1, 2, [2, 1], 3)
    assert (first["client"], first["gamma"], first["x"]) == (1, 0, [0.0])
    assert (second["client"], second["x"]) == (0, [2.0])
    assert (third["client"], third["K"], third["gamma"], third["x"]) == (1, 5, float("inf"), [2.0])


def test_asyncfeded_ends_in_an_orbit_beside_the_optimum():
    clients = in_floats(scalar_clients([1, "1/4"], [1, -2], ["1/2", "1/2"]))
    history = asyncfeded.events(clients, [3.0], 0.1, 1.0, 1.0, 3.0, 0, 5, [1, 1], 2000)
    ends = sorted(event["x"][0] for event in history[-2:])
    assert ends == pytest.approx([0.199664, 0.361311], abs=1e-6)  # x* = 0.4
