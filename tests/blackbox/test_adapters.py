"""Research code in two functions put before `identify`: right rounds match, published slips are named, nothing is left changed."""
import json
import logging
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

import fltheory as ft
from fltheory.blackbox import adapters
from fltheory.blackbox.clients import Problems
from fltheory.core.errors import BadInput
from verification.frameworks import reconstructed

LR, STEPS = "1/20", (1, 3, 5)
EQUAL = ["1/3"] * 3


def decided(pair, algorithm, **named):
    round_fn, reset = adapters.functions(*pair)
    return ft.identify(round_fn, 3, 2, algorithm, reset=reset, **named), round_fn


@pytest.mark.parametrize(("pair", "algorithm", "named"), [
    (reconstructed.fedavg(), ft.FedAvg(LR, 3), {}),
    (reconstructed.fedavg(STEPS), ft.FedAvg(LR, STEPS), {}),
    (reconstructed.scaffold(), ft.Scaffold(LR, 3), {"weights": EQUAL}),
    (reconstructed.scaffold(variate="rows", model_weights="rows"), ft.Scaffold(LR, 3), {}),
    (reconstructed.fednova(), ft.FedNova(LR, STEPS), {}),
    (reconstructed.fednova_by_optimiser(), ft.FedNova(LR, STEPS), {}),
], ids=["FedAvg", "FedAvg, steps of its own", "SCAFFOLD", "SCAFFOLD by rows", "FedNova", "FedNova's optimiser"])
def test_right_rounds_match(pair, algorithm, named):
    result, round_fn = decided(pair, algorithm, **named)
    assert result.matches, result
    assert sum(round_fn.replaced.values()) > 0


@pytest.mark.parametrize(("pair", "algorithm", "named"), [
    (reconstructed.scaffold(stored=False), ft.Scaffold(LR, 3), {"weights": EQUAL}),
    (reconstructed.scaffold(model_weights="rows"), ft.Scaffold(LR, 3), {}),
    (reconstructed.fednova(divided=True), ft.FedNova(LR, STEPS), {}),
], ids=["variates never stored", "variate by a plain mean", "effective steps cancelled"])
def test_published_slips_differ(pair, algorithm, named):
    result, _ = decided(pair, algorithm, **named)
    assert result.verdict == "differs", result


def test_the_cancelled_weights_are_those_of_the_hand_computation():
    """Steps (1, 3, 5), equal sizes: scales tau_eff p_i/tau_i are (1, 1/3, 1/5), divided by their sum 23/15 (15, 5, 3)/23."""
    round_fn, _ = adapters.functions(*reconstructed.fednova(divided=True))
    weights = np.array([15, 5, 3]) / 23
    clients, x = Problems(3, 2, EQUAL).generic().clients, np.array([0.3, -1.0])
    changes = []
    for client, steps in zip(clients, STEPS, strict=True):
        y = x.copy()
        for _ in range(steps):
            y = y - client.grad(y) / 20
        changes.append(x - y)
    assert np.allclose(round_fn(x, clients), x - weights @ changes, atol=1e-13)


def clients_of(n=2):
    return Problems(n, 2).generic().clients


def test_a_round_sees_its_participants_and_its_number():
    seen = []

    def train(model, client):
        client.memory["rounds"] = client.memory.get("rounds", 0) + 1
        client.server.setdefault("order", []).append(client.index)
        ((X, y),) = client.loader
        seen.append((client.index, client.round, client.memory["rounds"], len(X), X.dtype, tuple(y.shape),
                     len(client.loader.dataset)))

    round_fn, reset = adapters.functions(train, lambda model, updates, clients: updates[0])
    clients, x = clients_of(), np.zeros(2)
    round_fn(x, clients)
    round_fn(x, clients, cohort=[1])
    reset()
    round_fn(x, clients, cohort=[1])
    sizes = [c.size for c in clients]
    f8 = torch.float64
    assert seen == [(0, 1, 1, sizes[0], f8, (sizes[0], 1), sizes[0]), (1, 1, 1, sizes[1], f8, (sizes[1], 1), sizes[1]),
                    (1, 2, 2, sizes[1], f8, (sizes[1], 1), sizes[1]), (1, 1, 1, sizes[1], f8, (sizes[1], 1), sizes[1])]


def test_what_is_replaced_is_counted_and_put_back():
    before = (torch.nn.CrossEntropyLoss.forward, torch.nn.functional.cross_entropy, torch.Tensor.long, torch.get_default_dtype())

    def train(model, client):
        for X, y in client.loader:
            assert torch.zeros(1).dtype == torch.float64
            torch.testing.assert_close(torch.nn.CrossEntropyLoss()(model(X), y.long()), ((model(X) - y) ** 2).mean() / 2)
            torch.testing.assert_close(torch.nn.functional.nll_loss(model(X), y, reduction="sum"), ((model(X) - y) ** 2).sum() / 2)
            assert torch.tensor([2]).long().dtype == torch.int64

    round_fn, _ = adapters.functions(train, lambda model, updates, clients: None)
    round_fn(np.ones(2), clients_of())
    assert round_fn.replaced == {"torch.nn.CrossEntropyLoss": 2, "torch.Tensor.long of float numbers": 2,
                                 "torch.nn.functional.nll_loss": 2}
    assert before == (torch.nn.CrossEntropyLoss.forward, torch.nn.functional.cross_entropy, torch.Tensor.long,
                      torch.get_default_dtype())


def test_everything_is_put_back_after_an_error():
    def train(model, client):
        raise RuntimeError("no")

    before = torch.nn.CrossEntropyLoss.forward, logging.root.manager.disable
    round_fn, _ = adapters.functions(train, lambda model, updates, clients: None)
    with pytest.raises(RuntimeError, match="no"):
        round_fn(np.ones(2), clients_of())
    assert before == (torch.nn.CrossEntropyLoss.forward, logging.root.manager.disable)


def test_rounds_are_silent(capsys, caplog):
    def train(model, client):
        print("epoch 1")
        logging.getLogger("client").critical("loss")
        warnings.warn("deprecated", stacklevel=1)

    round_fn, _ = adapters.functions(train, lambda model, updates, clients: None)
    round_fn(np.ones(2), clients_of())
    assert capsys.readouterr() == ("", "")
    assert not caplog.records


def test_single_precision_is_declared():
    round_fn, reset = adapters.functions(*reconstructed.fedavg(), dtype="float32")
    assert round_fn(np.ones(2), clients_of()).dtype == np.float32
    assert ft.identify(round_fn, 3, 2, ft.FedAvg(LR, 3), reset=reset).matches


def test_a_model_of_the_codes_own():
    class Split(torch.nn.Module):
        def __init__(self, d):
            super().__init__()
            self.first, self.rest = torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(d - 1, 1, bias=False)

        def forward(self, X):
            return self.first(X[:, :1]) + self.rest(X[:, 1:])

    round_fn, reset = adapters.functions(*reconstructed.fedavg(), model=Split)
    assert ft.identify(round_fn, 3, 3, ft.FedAvg(LR, 3), reset=reset).matches
    with pytest.raises(BadInput, match="3 parameters"):
        adapters.linear(np.zeros(2), make=lambda d: torch.nn.Linear(d, 1))


@pytest.mark.parametrize("model", [
    [np.array([[1.0, 2.0]]), np.array([3.0])], {"a": torch.tensor([[1.0, 2.0]]), "b": torch.tensor([3.0])}, np.array([1.0, 2, 3]),
    torch.tensor([1.0, 2, 3]), [1.0, 2.0, 3.0]], ids=["arrays", "state dict", "array", "tensor", "numbers"])
def test_models_come_in_every_shape(model):
    assert adapters.vector(model).tolist() == [1, 2, 3]


def test_a_module_is_its_parameters():
    module = torch.nn.Linear(2, 1)
    assert adapters.vector(module).tolist() == [*module.weight[0].tolist(), *module.bias.tolist()]


@pytest.mark.parametrize("spoilt", [
    lambda: adapters.functions(1, len), lambda: adapters.functions(len, None), lambda: adapters.functions(len, len, model=3),
    lambda: adapters.flower(len, "client"), lambda: adapters.flower(None, len), lambda: adapters.fedlab(len, 2),
    lambda: adapters.pfl(3, len, None), lambda: adapters.nvflare(len, {}), lambda: adapters.nvflare(len, len, model="linear"),
    lambda: adapters.functions(len, len, dtype="float16"), lambda: adapters.protocol(None, len)])
def test_bad_arguments_are_refused(spoilt):
    with pytest.raises(BadInput):
        spoilt()


def test_a_model_with_several_outputs_is_refused_by_the_loss():
    round_fn, reset = adapters.functions(*reconstructed.fedavg(), model=lambda d: torch.nn.Linear(1, d, bias=False))
    with pytest.raises(BadInput, match="round_fn"):
        ft.identify(round_fn, 3, 2, ft.FedAvg(LR, 3), reset=reset)


def test_no_framework_is_imported_with_the_adapters():
    code = "import json, sys; from fltheory.blackbox import adapters; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(json.loads(done.stdout)) & {"torch", "flwr", "pfl", "fedlab", "nvflare"}
