import itertools

import numpy as np
import pytest

from fltheory.core.algorithms.fedavg import FedAvg
from fltheory.core.errors import BadInput
from fltheory.core.laws.draw import Draw, everyone, to_device
from fltheory.core.numbers.arrays import EVERYONE
from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.problems.logistic import Logistic
from fltheory.core.problems.plain import Rows
from fltheory.runs.network import Network
from tests.core.problems.helpers import TORCH, cohort_agrees, differences, point

torch = pytest.importorskip("torch")
SIZES = (2, 4, 3)
X = [point(3 * m, m).reshape(m, 3) for m in SIZES]
LABELS = [np.arange(m) % 3 for m in SIZES]
WEIGHTS = ["1/2", "1/3", "1/6"]


def mlp():
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))


def linear():
    return torch.nn.Linear(3, 3, bias=False)


NET = Network(mlp, X, LABELS, weights=WEIGHTS)


def by_autograd(net, i, x, rows=None):
    """(loss, gradient) of client i at numpy x through an ordinary module and backward()."""
    module = mlp().double()
    at = 0
    for parameter in module.parameters():
        size = parameter.numel()
        parameter.data = torch.as_tensor(x[at:at + size]).reshape(parameter.shape).clone()
        at += size
    rows = range(len(X[i])) if rows is None else rows
    loss = torch.nn.functional.cross_entropy(module(torch.as_tensor(X[i][rows])), torch.as_tensor(LABELS[i][rows]))
    loss.backward()
    return float(loss.detach()), np.concatenate([p.grad.numpy().reshape(-1) for p in module.parameters()])


def test_gradients_and_values_equal_ordinary_autograd():
    p = NET.to(TORCH)
    x = NET.initial(3)
    assert x.shape == (NET.d,) == (3 * 4 + 4 + 4 * 3 + 3,)
    values, gradients = zip(*[by_autograd(NET, i, x) for i in range(3)], strict=True)
    t = torch.as_tensor(x)
    np.testing.assert_allclose(p._values(t).numpy(), values, rtol=1e-13)
    np.testing.assert_allclose(p.grad(t.expand(3, -1)).numpy(), gradients, rtol=1e-12, atol=1e-14)
    mean = np.array([1 / 2, 1 / 3, 1 / 6]) @ gradients
    np.testing.assert_allclose(p.gradient(t).numpy(), mean, rtol=1e-12, atol=1e-14)
    numeric = differences(lambda v: p.value(torch.as_tensor(v)).numpy(), x)
    np.testing.assert_allclose(p.gradient(t).numpy(), numeric, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("who", [np.array([1, 1, 0]), np.array([[2, 2], [0, 1]])], ids=["fixed", "varying"])
def test_cohorts(who):
    y = torch.as_tensor(point(2 * who.shape[-1] * NET.d).reshape(2, -1, NET.d))
    cohort_agrees(NET, TORCH, who, y)
    cohort_agrees(NET, TORCH, who, y[:, :1])


@pytest.mark.parametrize("size", [1, 2])
def test_minibatch_gradients_are_unbiased(size):
    p = NET.to(TORCH)
    y = torch.as_tensor(point(3 * NET.d).reshape(3, -1) / 3)
    full = p.grad(y)
    for i, m in enumerate(SIZES):
        draws = list(itertools.product(range(m), repeat=size))
        index = torch.zeros((len(draws), 3, size), dtype=torch.long)
        index[:, i] = torch.tensor(draws)
        g = p.grad(y, Rows(index))
        np.testing.assert_allclose(g.mean(0)[i].numpy(), full[i].numpy(), rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(g[0, i].numpy(), by_autograd(NET, i, y[i].numpy(), list(draws[0]))[1], rtol=1e-11,
                                   atol=1e-14)
        who = torch.tensor([i, i])
        pair = p.at(who).grad(y[i][None], Rows(index[:, [i, i]]))
        np.testing.assert_allclose(pair[:, 1].numpy(), g[:, i].numpy(), rtol=1e-11, atol=1e-14)


def test_a_linear_network_is_softmax_regression():
    net, soft = Network(linear, X, LABELS), Logistic(X, LABELS, 0, classes=3)
    x = point(9, 5)
    t = torch.as_tensor(x).expand(3, -1)
    np.testing.assert_allclose(net.to(TORCH).grad(t).numpy(), soft.to(FLOAT).grad(np.stack([x] * 3)), rtol=1e-12)
    np.testing.assert_allclose(net.to(TORCH).value(t[0]).numpy(), soft.to(FLOAT).value(x), rtol=1e-13)


@pytest.mark.parametrize("batched", [False, True])
def test_fedavg_runs_unchanged(batched):
    p, alg = NET.to(TORCH), FedAvg("1/5", 2).to(TORCH)
    start = np.stack([NET.initial(s) for s in range(2)])
    if batched:
        members = np.array([[0, 2], [1, 1]])
        draw = Draw(members, np.ones((2, 2), dtype=int), np.array([[1, 2], [2, 2]]))
    else:
        members, draw = np.array([[0, 1, 2]] * 2), everyone(3, (1, 2, 2))
    state = alg.round(p, alg.init(p, torch.as_tensor(start)), to_device(draw, "cpu"))
    weights = np.array([1 / 2, 1 / 3, 1 / 6])
    for r in range(2):
        steps = np.broadcast_to(draw.steps, members.shape)[r]
        total = 0
        for i, k in zip(members[r], steps, strict=True):
            y = start[r]
            for _ in range(k):
                y = y - 0.2 * by_autograd(NET, i, y)[1]
            total = total + weights[i] / weights[members[r]].sum() * (y - start[r])
        np.testing.assert_allclose(state.x[r].numpy(), start[r] + total, rtol=1e-11, atol=1e-13)


def test_a_round_can_be_differentiated():
    p, alg, draw = NET.to(TORCH), FedAvg("1/5", 2).to(TORCH), to_device(everyone(3, (1, 2, 2)), "cpu")
    x = NET.initial(0)

    def one_round(v):
        return alg.round(p, alg.init(p, v), draw).x

    J = torch.func.jacrev(one_round)(torch.as_tensor(x)).numpy()
    numeric = differences(lambda v: one_round(torch.as_tensor(v)).numpy(), x)
    np.testing.assert_allclose(J, numeric, rtol=1e-5, atol=1e-8)


def test_training_reduces_the_loss_and_evaluate_agrees():
    p, alg, draw = NET.to(TORCH), FedAvg("1/2", 5).to(TORCH), to_device(everyone(3, 5), "cpu")
    state = alg.init(p, torch.as_tensor(NET.initial(1)))
    before = NET.evaluate(state.x)
    for _ in range(60):
        state = alg.round(p, state, draw)
    after = NET.evaluate(state.x)
    assert after["loss"] < before["loss"] / 2
    assert after["loss"] == pytest.approx(float(p.value(state.x)), rel=1e-13)
    right = [np.mean([p.outputs(state.x, torch.as_tensor(X[i])).argmax(-1).numpy() == LABELS[i]]) for i in range(3)]
    assert after["accuracy"] == pytest.approx(np.dot([1 / 2, 1 / 3, 1 / 6], right), abs=1e-14)
    assert NET.evaluate(np.stack([NET.initial(k) for k in range(4)]))["loss"].shape == (4,)


def test_seeds():
    state = torch.get_rng_state()
    assert (NET.initial(1) == NET.initial(1)).all() and not (NET.initial(1) == NET.initial(2)).all()
    assert (torch.get_rng_state() == state).all()


def test_squares_and_losses_of_ones_own():
    targets = [point(2 * m, m).reshape(m, 2) for m in SIZES]
    net = Network(lambda: torch.nn.Linear(3, 2, bias=False), X, targets, "half-squares").to(TORCH)
    own = Network(lambda: torch.nn.Linear(3, 2, bias=False), X, targets,
                  lambda out, t: ((out - t) ** 2).sum(-1) / 2).to(TORCH)
    x = point(6)
    by_hand = np.mean([((a @ x.reshape(2, 3).T - t) ** 2).sum(1).mean() / 2 for a, t in zip(X, targets, strict=True)])
    assert float(net.value(torch.as_tensor(x))) == pytest.approx(by_hand, rel=1e-13)
    assert torch.equal(net.at(EVERYONE).grad(torch.as_tensor(x)[None]), own.grad(torch.as_tensor(x)[None]))
    assert net.evaluate(x)["accuracy"] is None


@pytest.mark.parametrize(("arguments", "words"), [
    ((mlp, X, LABELS, "hinge"), ["loss", "cross-entropy"]),
    ((mlp, X, LABELS[:2]), ["len(targets)"]),
    ((mlp, X, [LABELS[0] + 5, *LABELS[1:]]), ["targets[0]", "0..2"]),
    ((mlp, [X[0] * np.nan, *X[1:]], LABELS), ["inputs[0]", "finite"]),
    ((mlp, [X[0][:0], *X[1:]], LABELS), ["inputs[0].shape"]),
    ((mlp, [["a"]], [[0]]), ["inputs[0]"]),
    ((lambda: torch.nn.Sequential(torch.nn.BatchNorm1d(3)), X, LABELS), ["buffers"]),
    ((torch.nn.ReLU, X, LABELS), ["no parameters"]),
    ((mlp, X, LABELS, "cross-entropy", [1, 1, 1]), ["weights"]),
])
def test_bad_networks_are_refused(arguments, words):
    with pytest.raises(BadInput) as error:
        Network(*arguments)
    assert all(w in str(error.value) for w in words)


def test_networks_live_in_torch_only():
    with pytest.raises(BadInput, match="torch only"):
        NET.to(FLOAT)
