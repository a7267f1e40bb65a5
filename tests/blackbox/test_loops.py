"""The training codes of `loops` against fltheory's algorithms on the same quadratics, every bug against its cure."""

import dataclasses
import inspect
from fractions import Fraction as Q

import numpy as np
import pytest

pytest.importorskip("torch")
import torch

import fltheory as ft
from fltheory.core.laws.draw import everyone
from fltheory.core.problems.plain import Rows
from tests.blackbox.loops import NAMED, SPECIMENS
from verification import bugs as catalogue

SIZES, D, LR, STEPS = (8, 4, 12), 2, "1/5", 3
UNEQUAL = (2, 3, 5)
FULL = [[0, 1, 2]] * 4
SAMPLED = [[0, 2], [2, 1], [1, 0, 2], [1], [0]]
X0 = np.array([1.5, -1.0])
FLOAT32 = 1e-5
IDS = [s.name for s in SPECIMENS]
BUGS = [(s, bug) for s in SPECIMENS for bug in s.bugs]

specimens = pytest.mark.parametrize("specimen", SPECIMENS, ids=IDS)
bugs = pytest.mark.parametrize(("specimen", "bug"), BUGS, ids=[f"{s.name}-{bug}" for s, bug in BUGS])


class Client:
    """The data of one client as training code sees it."""

    def __init__(self, X, y, weight):
        self.X, self.y, self.size, self.weight = X, y, len(y), weight

    def loss(self, w):
        X, y = (torch.as_tensor(v, dtype=w.dtype) if torch.is_tensor(w) else v for v in (self.X, self.y))
        return ((X @ w - y) ** 2).sum() / (2 * self.size)

    def grad(self, w):
        return self.X.T @ (self.X @ w - self.y) / self.size


def clients(spread=1.0):
    """Three clients of different sizes; spread: size of their answers."""
    rng = np.random.default_rng(7)
    data = [(rng.uniform(-1, 1, (m, D)), spread * rng.uniform(-1, 1, m)) for m in SIZES]
    return [Client(X, y, len(y) / sum(SIZES)) for X, y in data]


def schedule_of(loop):
    return SAMPLED if loop.needs_cohort else FULL


def rounds(loop, x0, data, schedule):
    """Models after each round, from a new start, and their types."""
    loop.restart()
    value = x0.copy() if loop.state is None else loop.state(len(data), D) | {"x": x0.copy()}
    out, kinds = [], set()
    for cohort in schedule:
        value = loop.round_fn(value, data, cohort=cohort) if loop.needs_cohort else loop.round_fn(value, data)
        x = value if loop.state is None else value["x"]
        kinds.add(str(x.dtype))
        value = np.asarray(value, dtype=float) if loop.state is None else value
        out.append(np.array(x, dtype=float))
    return np.stack(out), kinds


def algorithm(claim):
    """The fltheory algorithm of a claim."""
    name, arguments = claim
    return getattr(ft, name)(**{k: algorithm(v) if k == "solver" else v for k, v in arguments.items()})


def batches(size, data):
    """Slot k -> rows of the k-th mini-batch, unshuffled."""
    def rows(k):
        return Rows(np.array([[(size * k + j) % c.size for j in range(size)] for c in data]))
    return rows


def reference(loop, x0, data, schedule, batch=None, mutate=lambda a: a):
    """Models of the claimed algorithm in numpy, or of a mutant of it."""
    plain = loop.objective.get("weights") == "plain"
    weights = None if plain else [Q(c.size, sum(SIZES)) for c in data]
    problem = ft.Ridge([c.X for c in data], [c.y for c in data], loop.objective.get("reg", 0), weights).to(ft.FLOAT)
    method = mutate(algorithm(loop.claim)).to(ft.FLOAT)
    state, out = method.init(problem, x0), []
    for cohort in schedule:
        present = np.array([int(i in cohort) for i in range(len(data))])
        draw = everyone(len(data), loop.steps(data), present)
        draw = draw._replace(xi=None if batch is None else batches(batch, data))
        state = method.round(problem, state, draw)
        out.append(method.model(state))
    return np.stack(out)


def agree(ours, theirs, single):
    assert np.abs(ours - theirs).max() <= (FLOAT32 if single else 1e-10) * max(1, np.abs(theirs).max())


def far(a, b):
    """Largest difference relative to the first argument."""
    return np.abs(a - b).max() / np.abs(a).max()


@specimens
@pytest.mark.parametrize("steps", [1, STEPS, UNEQUAL], ids=["one", "equal", "unequal"])
def test_a_correct_code_is_the_algorithm_it_claims_to_be(specimen, steps):
    # large enough a clipping threshold never acts; a staircase and momentum over unequal steps have no counterpart
    changes = {"max_norm": 10} if specimen.name == "fedavg_clipped" else {}
    loop = specimen.make(LR, steps, **changes)
    if loop.claim is None:
        assert specimen.name == "fedavg_staircase" or (specimen.name, steps) == ("fedavgm", UNEQUAL)
        return
    data, schedule = clients(), schedule_of(loop)
    ours, kinds = rounds(loop, X0, data, schedule)
    agree(ours, reference(loop, X0, data, schedule, 4 if specimen.name == "fedavg_batches" else None), loop.single)
    assert kinds == {"float32" if loop.single else "float64"}


@specimens
def test_a_restarted_code_repeats_itself_and_leaves_the_data_alone(specimen):
    loop, data, before = specimen.make(LR, UNEQUAL), clients(), clients()
    schedule = schedule_of(loop)
    start = X0.copy()
    one, two = rounds(loop, start, data, schedule)[0], rounds(loop, start, data, schedule)[0]
    assert (one == two).all() and (start == X0).all()
    assert all((a.X == b.X).all() and (a.y == b.y).all() for a, b in zip(data, before, strict=True))


@specimens
def test_only_codes_with_a_reset_or_a_state_remember(specimen):
    loop, data = specimen.make(LR, UNEQUAL), clients()
    schedule = schedule_of(loop)
    new = rounds(loop, X0, data, schedule)[0]
    if loop.state is None:  # the last model again, without a restart
        extra = {"cohort": schedule[-1]} if loop.needs_cohort else {}
        loop.round_fn(new[-1].copy(), data, **({"cohort": schedule[1]} if loop.needs_cohort else {}))  # others meanwhile
        again = np.array(loop.round_fn(new[-2].copy(), data, **extra), dtype=float)
        assert (loop.reset is not None) == (np.abs(again - new[-1]).max() > 1e-9)


@specimens
def test_the_declared_form_is_the_form_of_the_round(specimen):
    loop = specimen.make(LR, STEPS)
    names = list(inspect.signature(loop.round_fn).parameters)
    assert names[1:] == (["clients", "cohort"] if specimen.needs_cohort else ["clients"])
    assert loop.needs_cohort == specimen.needs_cohort and set(specimen.diverging) <= set(specimen.bugs)
    assert loop.state is None or {k: v.shape for k, v in loop.state(4, 3).items()}["x"] == (3,)
    assert all(text and not text.endswith(".") for text in specimen.bugs.values())
    with pytest.raises(KeyError, match="no_such_bug"):
        specimen.make(LR, STEPS, bug="no_such_bug")


def test_names_are_different_and_bugs_are_many():
    assert len(set(IDS)) == len(IDS) and set(NAMED) == set(IDS)
    assert len({bug for _, bug in BUGS}) > 60


@bugs
def test_a_bug_shows_within_three_rounds(specimen, bug):
    right, wrong = specimen.make(LR, UNEQUAL), specimen.make(LR, UNEQUAL, bug=bug)
    data, schedule = clients(), schedule_of(right)[:3]
    good, bad = rounds(right, X0, data, schedule)[0], rounds(wrong, X0, data, schedule)[0]
    assert np.isfinite(bad).all()
    assert far(good, bad) > (100 * FLOAT32 if right.single else 1e-6)


@pytest.mark.parametrize(("specimen", "bug"), [
    pytest.param(s, bug, id=f"{s.name}-{bug}", marks=[] if bug in s.diverging else pytest.mark.slow)
    for s, bug in BUGS if bug in s.diverging or s.name not in ("fedavg_plain", "fedavg_single")])
def test_the_bugs_listed_as_diverging_are_the_ones_that_do(specimen, bug):
    loop, data = specimen.make(LR, UNEQUAL, bug=bug), clients()
    schedule = (schedule_of(loop) * 15)[:60]
    assert (np.abs(rounds(loop, X0, data, schedule)[0][-1]).max() > 30) == (bug in specimen.diverging)


REMEMBERING = {"optimiser_kept", "scheduler_kept", "lr_decay_over_rounds", "stale_clients_averaged", "momentum_kept"}


@bugs
def test_a_code_that_says_it_has_no_memory_has_one_only_through_these_bugs(specimen, bug):
    loop, data = specimen.make(LR, UNEQUAL, bug=bug), clients()
    if loop.reset is not None or loop.state is not None:
        return
    second = rounds(loop, X0, data, [[1]])[0]
    loop.restart()
    for cohort in ([0, 2], [1]):
        again = loop.round_fn(X0.copy(), data, **({"cohort": cohort} if loop.needs_cohort else {}))
    assert (np.abs(second - again).max() > 1e-9) == (bug in REMEMBERING)


@bugs
def test_clients_without_slope_and_a_start_at_the_optimum_are_no_trouble(specimen, bug):
    idle = [Client(0 * c.X, 0 * c.y, c.weight) for c in clients()[1:]]
    active = Client(clients()[0].X, 0 * clients()[0].y, 1 / 3)
    loop = specimen.make(LR, UNEQUAL, bug=bug)
    for x0 in (X0, 0 * X0):
        assert np.isfinite(rounds(loop, x0, [active, *idle], schedule_of(loop)[:2])[0]).all()


@specimens
def test_one_client_in_one_dimension(specimen):
    if specimen.name == "fedavg_staircase":
        return
    loop = specimen.make(LR, 1, **({"max_norm": 10} if specimen.name == "fedavg_clipped" else {}))
    data = [Client(np.array([[1.0], [2.0], [0.5], [-1.0]]), np.array([0.1, 0.2, 0.3, 0.4]), 1.0)]
    value = np.array([0.7]) if loop.state is None else loop.state(1, 1) | {"x": np.array([0.7])}
    new = loop.round_fn(value, data, **({"cohort": [0]} if loop.needs_cohort else {}))
    problem = ft.Ridge([data[0].X], [data[0].y], loop.objective.get("reg", 0)).to(ft.FLOAT)
    method = algorithm(loop.claim).to(ft.FLOAT)
    state = method.init(problem, np.array([0.7]))
    expected = method.model(method.round(problem, state, everyone(1, loop.steps(data))))
    agree(new if loop.state is None else new["x"], expected, loop.single)


# ---- codes without a counterpart in the catalogue, and bugs whose effect can be said in numpy ------------------
def mean_of(models, data):
    return sum(c.weight * y for c, y in zip(data, models, strict=True))


def descend(c, x, steps, rate):
    """Gradient steps y <- y - rate(k, y, g) from x."""
    y = x
    for k in range(steps):
        y = y - rate(k, y, c.grad(y))
    return y


def clip(g, bound=0.25):
    return g * min(1, bound / (np.linalg.norm(g) + 1e-6))  # torch adds 1e-6


def test_a_staircase_halves_the_step_size_every_second_step():
    data = clients()
    ours = NAMED["fedavg_staircase"].make(LR, 5).round_fn(X0, data)
    agree(ours, mean_of([descend(c, X0, 5, lambda k, y, g: 0.2 * 0.5 ** (k // 2) * g) for c in data], data), False)


def test_clipping_shortens_long_gradients_only():
    data, specimen = clients(), NAMED["fedavg_clipped"]
    assert max(np.linalg.norm(c.grad(X0)) for c in data) > 0.25
    expected = mean_of([descend(c, X0, 3, lambda k, y, g: 0.2 * clip(g)) for c in data], data)
    agree(specimen.make(LR, 3).round_fn(X0, data), expected, False)
    agree(NAMED["fedavg_weighted"].make(LR, 3, bug="clipping_left_on").round_fn(X0, data), expected, False)
    near, loop = clients(0.01), specimen.make(LR, 3)
    agree(rounds(loop, X0 / 100, near, FULL)[0], reference(loop, X0 / 100, near, FULL), False)


def test_server_momentum_over_unequal_steps_is_not_normalised():
    data, x, v = clients(), X0, 0 * X0
    ours = rounds(NAMED["fedavgm"].make(LR, UNEQUAL), X0, data, FULL)[0]
    for now in ours:
        steps = zip(data, UNEQUAL, strict=True)
        v = v / 2 + x - mean_of([descend(c, x, k, lambda _, y, g: 0.2 * g) for c, k in steps], data)
        x = x - v
        agree(now, x, False)


def test_shared_storage_is_a_sequential_pass():
    data, sequence = clients(), [X0]
    for c in data:
        sequence.append(descend(c, sequence[-1], 3, lambda k, y, g: 0.2 * g))
    make = NAMED["fedavg_weighted"].make
    agree(make(LR, 3, bug="server_model_trained").round_fn(X0, data), sequence[-1], False)
    agree(make(LR, 3, bug="sequential_pass").round_fn(X0, data), mean_of(sequence[1:], data), False)
    agree(make(LR, 3, bug="aliased_state_dicts").round_fn(X0, data),
          descend(data[-1], X0, 3, lambda k, y, g: 0.2 * g), False)


@pytest.mark.parametrize(("name", "bug", "claim"), [
    ("fedprox", "prox_missing", ("FedAvg", {"lr": LR, "steps": UNEQUAL})),
    ("fedprox", "prox_overwritten", ("FedAvg", {"lr": LR, "steps": UNEQUAL})),
    ("fedprox", "prox_anchor_moves", ("FedAvg", {"lr": LR, "steps": UNEQUAL})),
    ("fedprox", "prox_without_half", ("FedProx", {"lr": LR, "steps": UNEQUAL, "mu": 1})),
    ("fednova", "normaliser_missing", ("FedAvg", {"lr": LR, "steps": UNEQUAL})),
    ("fedavgm", "buffer_reset", ("FedAvg", {"lr": LR, "steps": UNEQUAL})),
    ("mifa", "only_participants", ("FedAvg", {"lr": LR, "steps": UNEQUAL})),
    ("fedavg_weighted", "weights_dropped", ("FedAvg", {"lr": LR, "steps": UNEQUAL, "averaging": "plain"})),
    ("fedavg_weighted", "mse_without_half", ("FedAvg", {"lr": "2/5", "steps": UNEQUAL})),
    ("fedavg_weighted", "lr_halved", ("FedAvg", {"lr": "1/10", "steps": UNEQUAL})),
    ("fedavg_weighted", "lr_decay_left_on", ("FedAvg", {"lr": LR, "steps": UNEQUAL,
                                                        "solver": ("Decay", {"gamma": "9/10"})})),
])
def test_a_bug_that_makes_another_algorithm(name, bug, claim):
    loop, data = NAMED[name].make(LR, UNEQUAL, bug=bug), clients()
    schedule, other = schedule_of(loop), dataclasses.replace(loop, claim=claim)
    agree(rounds(loop, X0, data, schedule)[0], reference(other, X0, data, schedule), False)


MUTANTS = [
    ("fedavg_weighted", "one_step_more", "one_step_more"),
    ("fedavg_weighted", "server_lr_two", "server_step_two"),
    ("fedavg_sampled", "weights_dropped", "uniform_weights"),
    ("fedavg_sampled", "server_lr_two", "server_step_two"),
    ("fedavg_sampled", "first_change_twice", "first_client_twice"),
    ("fedavg_sampled", "all_clients_averaged", "weights_not_renormalised"),
    ("fedprox", "prox_repelling", "proximal_repelling"),
    ("fedavg_momentum", "averaged_gradients", "dampened_momentum"),
    ("fedavg_momentum", "nesterov", "nesterov_momentum"),
    ("fednova_momentum", "normaliser_counts_steps", "normaliser_counts_steps"),
    ("fednova_sampled", "scaled_up", "fednova_scaled_up"),
    ("fednova_sampled", "shares_not_renormalised", "weights_not_renormalised"),
    ("fednova_optimiser", "public_normaliser", "normaliser_of_public_code"),
    ("scaffold", "divisor_one_more", "control_wrong_steps"),
    ("scaffold", "variate_unweighted", "control_unweighted"),
    ("scaffold_sampled", "variate_unweighted", "control_unweighted"),
]


@pytest.mark.parametrize(("name", "bug", "mutant"), MUTANTS, ids=[f"{n}-{b}" for n, b, _ in MUTANTS])
def test_a_bug_is_the_mutant_that_papers_are_verified_with(name, bug, mutant):
    loop, data = NAMED[name].make(LR, UNEQUAL, bug=bug), clients()
    loop = dataclasses.replace(loop, steps=(lambda _: (3, 4, 6)) if bug == "one_step_more" else loop.steps)
    schedule = [sorted(cohort) for cohort in schedule_of(loop)]  # the catalogue's first participant is the lowest one
    expected = reference(loop, X0, data, schedule, mutate=getattr(catalogue, mutant))
    agree(rounds(loop, X0, data, schedule)[0], expected, False)


def test_batches_of_repeated_rows_are_exact_gradients():
    rng = np.random.default_rng(3)
    rows = [(rng.uniform(-1, 1, (D, D)), rng.uniform(-1, 1, D)) for _ in SIZES]
    data = [Client(np.tile(X, (m // D, 1)), np.tile(y, m // D), m / sum(SIZES))
            for (X, y), m in zip(rows, SIZES, strict=True)]
    loop = NAMED["fedavg_batches"].make(LR, None, epochs=3, batch_size=D)
    assert loop.steps(data) == (12, 6, 18)
    agree(rounds(loop, X0, data, FULL)[0], reference(loop, X0, data, FULL), False)
    shuffled = NAMED["fedavg_batches"].make(LR, None, epochs=3, batch_size=3, shuffle=True)
    with torch.random.fork_rng():
        assert far(rounds(shuffled, X0, data, FULL)[0], rounds(shuffled, X0, data, FULL)[0]) > 1e-6
