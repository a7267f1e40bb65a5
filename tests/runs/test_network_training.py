"""FedAvg's round, as written for quadratics, trains a network: the same numbers as modules and SGD in plain torch."""
import numpy as np
import pytest

torch = pytest.importorskip("torch")
network = pytest.importorskip("fltheory.runs.network", exc_type=ModuleNotFoundError)

from fltheory.core.algorithms.fedavg import FedAvg, FedProx  # noqa: E402
from fltheory.core.algorithms.solvers import Momentum  # noqa: E402
from fltheory.core.laws.draw import Draw, Slots  # noqa: E402
from fltheory.core.numbers.arrays import EVERYONE  # noqa: E402
from fltheory.core.numbers.scalars import Torch  # noqa: E402
from fltheory.core.problems.plain import Rows  # noqa: E402

LR, WEIGHTS = 0.1, [0.5, 0.25, 0.25]


def module():
    return torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))


def data():
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((m, 3)) for m in (4, 7, 6)]
    return inputs, [rng.integers(0, 2, len(a)) for a in inputs]


def plain_round(x, inputs, targets, cohort, rows=None, mu=0.0, momentum=0.0):
    """One round of FedAvg over cohort [(client, steps), ...]; rows(client, k) are the rows of a mini-batch."""
    def load(vector):
        model = module().double()
        torch.nn.utils.vector_to_parameters(vector.clone(), model.parameters())
        return model
    total = sum(WEIGHTS[i] for i, _ in cohort)
    move = torch.zeros_like(x)
    for i, steps in cohort:
        model, anchor = load(x), list(load(x).parameters())
        optimiser = torch.optim.SGD(model.parameters(), lr=LR, momentum=momentum)
        for k in range(steps):
            chosen = slice(None) if rows is None else rows(i, k)
            optimiser.zero_grad()
            outputs = model(torch.as_tensor(inputs[i])[chosen])
            loss = torch.nn.functional.cross_entropy(outputs, torch.as_tensor(targets[i])[chosen])
            for p, a in zip(model.parameters(), anchor, strict=True):
                loss = loss + mu / 2 * ((p - a.detach()) ** 2).sum()
            loss.backward()
            optimiser.step()
        move = move + WEIGHTS[i] / total * (torch.nn.utils.parameters_to_vector(model.parameters()).detach() - x)
    return x + move


def start(problem):
    return torch.as_tensor(problem.initial(seed=1))


@pytest.mark.parametrize(("algorithm", "options"), [
    (FedAvg(LR), {}), (FedProx(LR, mu=0.5), {"mu": 0.5}), (FedAvg(LR, solver=Momentum(0.75)), {"momentum": 0.75}),
], ids=["sgd", "proximal", "momentum"])
@pytest.mark.parametrize("cohort", [[(0, 3), (1, 1), (2, 2)], [(2, 4), (0, 1)]], ids=["full", "partial"])
@pytest.mark.parametrize("batches", [False, True], ids=["full-gradients", "mini-batches"])
def test_one_round_equals_modules_and_sgd(algorithm, options, cohort, batches):
    inputs, targets = data()
    problem = network.Network(module, inputs, targets, weights=WEIGHTS).to(Torch())
    indices = np.random.default_rng(2).integers(0, 4, (5, 3, 6))                        # (slot, client, row)
    who = torch.tensor([i for i, _ in cohort])
    slots = Slots(lambda k: Rows(torch.as_tensor(indices[k])[who])) if batches else None
    steps = torch.tensor([k for _, k in cohort])
    a, x = algorithm.to(Torch()), start(problem)
    out = a.round(problem, a.init(problem, x), Draw(who, torch.ones(len(cohort), dtype=torch.int64), steps, slots)).x
    plain = plain_round(x, inputs, targets, cohort, (lambda i, k: indices[k, i]) if batches else None, **options)
    assert out.dtype == torch.float64 and not torch.equal(out, x)
    assert (out - plain).abs().max() <= 1e-12 * plain.abs().max()


def test_replicates_with_cohorts_of_their_own():
    inputs, targets = data()
    problem = network.Network(module, inputs, targets, weights=WEIGHTS).to(Torch())
    a = FedAvg(LR).to(Torch())
    x = torch.stack([start(problem), start(problem) + 0.1])
    who, steps = torch.tensor([[0, 2], [1, 0]]), torch.tensor([[2, 1], [1, 3]])
    out = a.round(problem, a.init(problem, x), Draw(who, torch.ones_like(who), steps)).x
    for r in range(2):
        plain = plain_round(x[r], inputs, targets, list(zip(who[r].tolist(), steps[r].tolist(), strict=True)))
        assert (out[r] - plain).abs().max() <= 1e-12 * plain.abs().max()


def convolutional():
    return torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3, stride=2), torch.nn.GroupNorm(1, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                               torch.nn.Linear(3 * 3 * 3, 3))


def images(sizes=(5, 8, 6)):
    """Bright bars of three directions in noise, 8 x 8: client i sees direction i most often."""
    rng = np.random.default_rng(4)
    bars = np.zeros((3, 8, 8))
    bars[0, 3:5], bars[1, :, 3:5], bars[2] = 1, 1, np.eye(8)
    targets = [np.where(rng.random(m) < 0.6, i, rng.integers(0, 3, m)) for i, m in enumerate(sizes)]
    return [(bars[t] + 0.2 * rng.standard_normal((len(t), 8, 8)))[:, None] for t in targets], targets


def test_a_convolutional_network_on_images_over_clients_and_replicates(monkeypatch):
    """Every replicate is what one module and SGD would do, client by client, full gradients and mini-batches."""
    monkeypatch.setitem(globals(), "module", convolutional)
    inputs, targets = images()
    problem = network.Network(convolutional, inputs, targets, weights=WEIGHTS).to(Torch())
    a = FedAvg(LR).to(Torch())
    x = torch.stack([start(problem), start(problem) - 0.05])
    who, steps = torch.tensor([[0, 2], [1, 0]]), torch.tensor([[2, 1], [1, 3]])
    indices = np.random.default_rng(2).integers(0, 5, (3, 2, 2, 4))                     # (slot, replicate, place, row)
    for slots in (None, Slots(lambda k: Rows(torch.as_tensor(indices[k])))):
        out = a.round(problem, a.init(problem, x), Draw(who, torch.ones_like(who), steps, slots)).x
        for r in range(2):
            cohort = list(zip(who[r].tolist(), steps[r].tolist(), strict=True))
            place = {i: k for k, (i, _) in enumerate(cohort)}
            rows = None if slots is None else lambda i, k, r=r, place=place: indices[k, r, place[i]]
            plain = plain_round(x[r], inputs, targets, cohort, rows)
            assert (out[r] - plain).abs().max() <= 1e-12 * plain.abs().max()


def test_replicates_of_a_convolutional_network_learn():
    from fltheory.core.laws.memoryless import Uniform
    from fltheory.runs import run
    inputs, targets = images((30, 30, 30))
    problem = network.Network(convolutional, inputs, targets)
    value = problem.to(Torch()).value
    trace = run(FedAvg("1/4", 4), problem, Uniform(2, batch=10), 25, replicates=3, x0=problem.initial(1), metrics={"loss": value})
    assert trace.mean("loss")[-1] < 0.5 * trace.mean("loss")[0]
    assert problem.evaluate(trace.final)["accuracy"] > 0.8


def test_training_lowers_the_loss():
    inputs, targets = data()
    problem = network.Network(module, inputs, targets, weights=WEIGHTS).to(Torch())
    a = FedAvg(LR).to(Torch())
    state = a.init(problem, start(problem))
    draw = Draw(EVERYONE, torch.ones(3, dtype=torch.int64), torch.tensor([3, 3, 3]))
    before = float(problem.value(state.x))
    for _ in range(60):
        state = a.round(problem, state, draw)
    assert float(problem.value(state.x)) < 0.9 * before
