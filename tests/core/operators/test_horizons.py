"""Many rounds at once, against closed forms and recursions written here."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput, CertificateFailed, TooLarge

H, C = (1, 2), (0, 1)   # curvatures and minimisers of two clients
ETA = Q(1, 10)


def problem():
    return ft.Quadratic([[[h]] for h in H], [[c] for c in C])


def operator(law, **options):
    return ft.derive(ft.FedAvg("1/10", 2), problem(), law, **options)


def step(clients):
    """(a, b) of the round x -> a x + b of the mean of these clients, two local steps each."""
    own = [(1 - ETA * H[i])**2 for i in clients]
    return sum(own) / len(own), sum((1 - a) * C[i] for i, a in zip(clients, own, strict=True)) / len(own)


@pytest.mark.parametrize("rounds", [0, 1, 63, 64, 65, 500, 5000, 10**6, 10**9, 10**400],
                         ids=lambda k: f"{len(str(k))} digits: {k % 1000}")
def test_one_mode(rounds):
    a, b = step((0, 1))
    limit = b / (1 - a)
    expected = float(limit) + (1 - float(limit)) * float(a)**min(rounds, 10**5)
    assert operator(ft.Full()).after([1], rounds)[0] == pytest.approx(expected, rel=1e-12)
    assert operator(ft.Full()).in_domain(ft.Balls(128)).after([1], rounds)[0].overlaps(
        ft.Balls(128).scalar(limit) + (1 - ft.Balls(128).scalar(limit)) * ft.Balls(128).scalar(a)**min(rounds, 10**5))
    if rounds <= 5000:
        assert operator(ft.Full()).exact().after([1], rounds)[0] == limit + (1 - limit) * a**rounds


@pytest.mark.parametrize("rounds", [64, 65, 66, 67, 500, 10**9, 10**9 + 1, 10**9 + 2])
def test_modes_in_turn(rounds):
    groups, x = [(0,), (1,), (0, 1)], Q(1)
    op = operator(ft.Cyclic([list(g) for g in groups]))
    near = rounds if rounds <= 500 else 600 + rounds % 3
    for t in range(near):
        a, b = step(groups[t % 3])
        x = a * x + b
    assert op.after([1], rounds)[0] == pytest.approx(float(x), rel=1e-12)
    if rounds <= 500:
        assert op.exact().after([1], rounds)[0] == x


@pytest.mark.parametrize("rounds", [64, 65, 300, 10**9, 10**30])
def test_modes_of_a_chain(rounds):
    """Rounding of chances that sum to 1 would be 1e-7 after a billion rounds."""
    sets, P = [[0], [1]], [[Q(1, 3), Q(2, 3)], [Q(3, 4), Q(1, 4)]]
    op = operator(ft.Chain(sets=sets, matrix=P, initial=[1, 0]))
    pi, m = list(op.law.start()), list(op.law.start())   # chances of the mode last in force, and the mean there
    for _ in range(min(rounds, 600)):
        pi, m = ([sum(P[k][j] * v[k] for k in range(2)) for j in range(2)] for v in (pi, m))
        pairs = [step(s) for s in sets]
        m = [a * v + b * q for (a, b), v, q in zip(pairs, m, pi, strict=True)]
    assert op.after([1], rounds)[0] == pytest.approx(float(sum(m)), rel=1e-13)
    if rounds <= 300:
        assert op.exact().after([1], rounds)[0] == sum(m)


def test_exact_trajectories_are_fractions():
    """`flint.fmpq == Fraction` is silently False."""
    a, b = step((0, 1))
    op = operator(ft.Full(), noise="1/2").exact()
    x, square = Q(3), Q(9)
    spread = Q(1, 4) * ETA**2 * sum(1 + (1 - ETA * h)**2 for h in H) / 4   # of the mean of two clients with two noises each
    for mean, second in op.trajectory(4, [3]):
        assert {type(v) for v in (*mean, *second.reshape(-1))} == {Q}
        assert (mean[0], second[0, 0]) == (x, square)
        square, x = a * a * square + 2 * a * b * x + b * b + spread, a * x + b
    assert list(op.trajectory(0, [3])) == [] and next(operator(ft.Full()).trajectory(1, [3]))[0].dtype == np.float64


def test_symbols():
    field = ft.Field("h")
    (h,) = field.symbols
    op = ft.derive(ft.FedAvg("1/4", 1), ft.Quadratic([[[h]]], [[1]]), ft.Full(), domain=field)
    for rounds in (64, 65, 200):
        assert op.after([2], rounds)[0] == 1 + (1 - h / 4)**rounds
    with pytest.raises(TooLarge, match=r"rational functions .* digits"):
        op.after([2], 10**9)


def test_exact_numbers_that_would_be_too_long_are_refused_at_once():
    laws = ft.Full(), ft.Cyclic([[0], [1]]), ft.Markov("1/2", "1/3", 2)
    more = (ft.FedAvg(3, 2), ft.Full()), (ft.Scaffold("1/10", 2), ft.Uniform(1))
    for op in (*map(operator, laws), *(ft.derive(algorithm, problem(), law) for algorithm, law in more)):
        op = op.exact()
        for rounds in (10**6, 10**9, 10**100):
            with pytest.raises(TooLarge, match=r"digits .* after .* rounds.*ft.FLOAT"):
                op.after([1], rounds)
        with pytest.raises(TooLarge, match="digits"):
            op.round_matrix(10**9)
    assert operator(ft.Full()).exact().after([1], 5000)[0].denominator > 10**5000   # what can be written is


def test_sums_and_forms_over_a_billion_rounds_are_refused():
    form = [[1, 0], [0, 0]]
    for op in (operator(ft.Full()), operator(ft.Full()).exact(), operator(ft.Cyclic([[0], [1]]))):
        with pytest.raises(TooLarge, match="rounds=None"):
            op.mean_gradient_square(problem(), 10**9, [1])
        with pytest.raises((BadInput, TooLarge), match="rounds"):
            op.carried(form, 10**9)
    exact = operator(ft.Full()).exact()
    for call in (lambda: exact.mean_gradient_square(problem(), 10**6, [1]), lambda: exact.carried(form, 10**6)):
        with pytest.raises(TooLarge, match="digits"):
            call()
    with pytest.raises(TooLarge, match="modes"):
        operator(ft.Cyclic([[k % 2] for k in range(40)])).carried(form, 10**5)


def test_exact_numbers_that_stay_short_go_through():
    exact = operator(ft.Full()).exact()
    x = exact.fixed_point().x
    assert list(exact.after(x, 10**12)) == list(x)
    flat = ft.derive(ft.FedAvg("1/10", 1), ft.Quadratic.from_linear([[[0]]], [[3]]), ft.Full(), domain=ft.RATIONAL)
    assert flat.after([1], 10**9)[0] == 1 + Q(3, 10) * 10**9     # x moves by 3/10 every round
    once = ft.derive(ft.FedAvg(1, 1), ft.Quadratic([[[1]]], [[5]]), ft.Full(), domain=ft.RATIONAL)
    assert once.after([1], 10**9)[0] == 5                         # there after one round
    turning = ft.derive(ft.FedAvg(2, 1), ft.Quadratic([[[1]]], [[5]]), ft.Full(), domain=ft.RATIONAL)
    assert [turning.after([1], k)[0] for k in (10**9, 10**9 + 1)] == [1, 9]


def test_powers_beyond_floats():
    growing = ft.derive(ft.FedAvg(3, 2), problem(), ft.Full())
    assert growing.after([1], 65)[0] > 1e60 and growing.after([1], 10**9)[0] == np.inf
    two = ft.Quadratic([np.diag([1, 100])], [[1, 0]])
    op = ft.derive(ft.FedAvg("1/10", 1), two, ft.Full())
    assert op.after([0, 0], 10**9) == pytest.approx([1, 0])       # the start has nothing of the direction that grows
    with pytest.raises(CertificateFailed, match="range of float64"):
        op.after([0, 1], 10**9)
    cycle = ft.derive(ft.FedAvg("1/10", 1), ft.Quadratic([np.diag([1, 100])] * 2, [[1, 0]] * 2), ft.Cyclic([[0], [1]]))
    assert cycle.after([0, 0], 10**9) == pytest.approx([1, 0])
    with pytest.raises(CertificateFailed, match="range of float64"):
        cycle.after([0, 1], 10**9)


def test_methods_with_memories_and_float_data():
    data = ft.Quadratic([[[1.25, 0.5], [0.5, 2.0]], [[2.0, 0.0], [0.0, 0.75]]], [[0.1, 1.0], [2.0, -1.0]])
    for algorithm, law in ((ft.Scaffold(0.1, 2), ft.Uniform(1)), (ft.FedAvg(0.1, 3), ft.Bernoulli([0.5, 0.25])),
                           (ft.FedAvg(0.1, 1), ft.Full())):
        op = ft.derive(algorithm, data, law)
        M, c = op.round_matrix(200)
        slow = np.array([5.0, -3.0])
        *_, (mean, _) = op.trajectory(201, slow)
        assert op.after(slow, 200) == pytest.approx(mean, rel=1e-9) and M @ slow + c == pytest.approx(mean, rel=1e-9)
        assert op.after(slow, 10**9) == pytest.approx(op.fixed_point().x, rel=1e-9)


def test_long_schedules_take_their_period_once():
    groups = [[k % 2] for k in range(300)]
    op = operator(ft.Cyclic(groups))
    a, b = step((0,))
    x = 1.0
    for t in range(100):
        a, b = step(groups[t])
        x = float(a) * x + float(b)
    assert op.after([1], 100)[0] == pytest.approx(x)
    assert op.after([1], 300 * 10**6)[0] == pytest.approx(op.after([1], 300)[0])


@pytest.mark.parametrize("rounds", [-1, 1.0, float("nan"), float("inf"), True, "3", None, [1]])
def test_no_number_of_rounds(rounds):
    op = operator(ft.Full())
    for call in (op.after, lambda x, r: op.round_matrix(r), op.exact().after, lambda x, r: op.trajectory(r, x),
                 lambda x, r: op.mean_gradient_square(problem(), 0 if r is None else r, x)):
        with pytest.raises(BadInput, match="rounds = "):
            call([1], rounds)
