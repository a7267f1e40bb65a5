"""The rows of the gallery: a framework's own code through its adapter, what it should be, and what it does in plain numpy."""
from __future__ import annotations

import copy
import dataclasses
import sys
import types
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import torch

import fltheory as ft
from fltheory.blackbox import adapters
from verification.frameworks import hand, reconstructed

LR, EQUAL = "1/20", ("1/3",) * 3
MATCHES, DIFFERS, OTHER = "matches", "differs", "not affine"
ALL = [[0, 1, 2]] * 3
SOME = [[0, 1, 2], [0, 2], [1, 2], [0, 1, 2], [1]]


@dataclasses.dataclass(frozen=True)
class Case:
    """One row.

    package: the distribution whose code runs, "" for a reconstruction of `source`. algorithm: the name. call: the exact call.
    build() -> (round_fn, reset). reference: what it is compared with. verdict: the word expected. published: the algorithm in
    numpy. does: in numpy, what the one sentence `fault` says, where it differs; where: in the code. reading: the nearest one
    under which it is meant.
    weights: of the clients, None for different ones. full: whether all clients take part in every round.
    """

    package: str
    algorithm: str
    call: str
    build: Callable
    reference: object
    published: Callable
    verdict: str = MATCHES
    does: Callable | None = None
    fault: str = ""
    reading: str = ""
    weights: tuple | None = None
    full: bool = False
    source: str = ""
    where: str = ""

    @property
    def name(self):
        return f"{self.package or 'reconstruction of ' + self.source}: {self.algorithm}"

    @property
    def cohorts(self):
        return ALL if self.full else SOME

    def version(self):
        """The version installed; None where the package is not."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


# ---- Flower ------------------------------------------------------------------------------------------------------------
def flower_client(index, model, loader):
    """A NumPyClient in the manner of Flower's tutorial for torch, with the proximal term of its tutorial on FedProx."""
    from flwr.client import NumPyClient

    class Client(NumPyClient):
        def fit(self, parameters, config):
            model.load_state_dict({k: torch.tensor(v) for k, v in zip(model.state_dict(), parameters, strict=True)})
            start = [p.detach().clone() for p in model.parameters()]
            optimiser, mu = torch.optim.SGD(model.parameters(), lr=1 / 20), config.get("proximal_mu", config.get("proximal-mu", 0))
            for _ in range(3):
                for X, y in loader:
                    optimiser.zero_grad()
                    pull = sum(((p - q) ** 2).sum() for p, q in zip(model.parameters(), start, strict=True))
                    (torch.nn.CrossEntropyLoss()(model(X), y) + mu / 2 * pull).backward()
                    optimiser.step()
            return [v.numpy() for v in model.state_dict().values()], len(loader.dataset), {}

    return Client()


def older(make):
    def build():
        from flwr.common import ndarrays_to_parameters
        from flwr.server import strategy
        return adapters.flower(lambda x0: make(strategy, ndarrays_to_parameters(x0)), flower_client)
    return build


def messages(make):
    def build():
        from flwr.serverapp import strategy
        return adapters.flower(lambda: make(strategy), flower_client)
    return build


ROBUST = "No fault: the server takes no mean of the models, which is the point of this strategy, and no affine map can match it."
FLOWER = [
    ("FedAvg", "FedAvg({})", lambda s, p: s.FedAvg(), lambda s: s.FedAvg(), ft.FedAvg(LR, 3), hand.fedavg(), {}),
    ("FedProx", "FedProx({}proximal_mu=0.5)", lambda s, p: s.FedProx(proximal_mu=0.5), lambda s: s.FedProx(proximal_mu=0.5),
     ft.FedProx(LR, 3, mu="1/2"), hand.fedavg(mu=0.5), {}),
    ("FedAvgM", "FedAvgM({}server_momentum=0.5)", lambda s, p: s.FedAvgM(initial_parameters=p, server_momentum=0.5),
     lambda s: s.FedAvgM(server_momentum=0.5), ft.ServerMomentum(LR, 3, beta="1/2"), hand.fedavgm(0.5), {}),
    ("FedMedian", "FedMedian({})", lambda s, p: s.FedMedian(), lambda s: s.FedMedian(), ft.FedAvg(LR, 3), hand.median(),
     {"verdict": OTHER, "reading": ROBUST}),
    ("FedTrimmedAvg", "FedTrimmedAvg({}beta=0.34)", lambda s, p: s.FedTrimmedAvg(beta=0.34), lambda s: s.FedTrimmedAvg(beta=0.34),
     ft.FedAvg(LR, 3), hand.trimmed(0.34), {"verdict": OTHER, "reading": ROBUST}),
    ("FedAdagrad", "FedAdagrad({})", lambda s, p: s.FedAdagrad(initial_parameters=p), lambda s: s.FedAdagrad(), ft.FedAvg(LR, 3),
     hand.adagrad(), {"verdict": OTHER, "reading": "No fault: the server's step is adaptive by design."}),
]
NEWER = {"FedAdagrad": hand.adagrad(tau=1e-3)}  # where the API of messages has other defaults


def flower_cases():
    for name, call, old, new, reference, published, more in FLOWER:
        first = "initial_parameters=.., " if name in ("FedAvgM", "FedAdagrad") else ""
        yield Case("flwr", f"{name}, aggregate_fit", "flwr.server.strategy." + call.format(first).replace(", )", ")"), older(old),
                   reference, published, **more)
        yield Case("flwr", f"{name}, aggregate_train", "flwr.serverapp.strategy." + call.format(""), messages(new), reference,
                   NEWER.get(name, published), **more)


# ---- pfl ---------------------------------------------------------------------------------------------------------------
NUMBERS = {"central_num_iterations": 1, "evaluation_frequency": 1, "train_cohort_size": 1, "val_cohort_size": None}


def pfl_params(epochs=3, lr=1 / 20):
    from pfl.hyperparam import NNTrainHyperParams
    return NNTrainHyperParams(local_batch_size=None, local_num_epochs=epochs, local_learning_rate=lr)


def pfl_average():
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    return adapters.pfl(FederatedAveraging, lambda n: NNAlgorithmParams(**NUMBERS), pfl_params())


def pfl_proximal():
    from pfl.algorithm.fedprox import FedProx, FedProxParams
    return adapters.pfl(FedProx, lambda n: FedProxParams(mu=0.5, **NUMBERS), pfl_params())


def pfl_scaffold(option_one, copies=False, **numbers):
    """copies: the storage is told to keep a copy of what it is given."""
    from pfl.algorithm.scaffold import SCAFFOLD, SCAFFOLDParams
    from pfl.data.user_state import InMemoryUserStateStorage

    class Copying(InMemoryUserStateStorage):
        def save_state(self, state, user_id, key=None):
            super().save_state(state.apply_elementwise(lambda w: w.clone()), user_id, key)

    kind = Copying if copies else InMemoryUserStateStorage
    return adapters.pfl(SCAFFOLD, lambda n: SCAFFOLDParams(
        population=n, use_gradient_as_control_variate=option_one, user_state_storage=kind(), **NUMBERS),
        pfl_params(**numbers), by_rows=False)


SIGN = ("`PyTorchModel.get_model_difference` returns y_i - x, and `SCAFFOLD.train_one_user` puts it where the new variate needs "
        "x - y_i{}; the local step adds c - c_i as published.")
FIRST, ONE_STEP = "The new variate is minus the gradient", SIGN.format(", here after one step of size 1")
APART = ", so that the variates push the clients apart."
MEANT = ("If c_i is read as minus the gradient, the step would have to add c_i - c; `_control_variate_train_step` adds server_c - "
         "local_c. No reading of the documentation was found under which both lines are meant.")
BUFFER = (" The variate kept by InMemoryUserStateStorage is the model's one buffer `_model_diff`, which the next client's "
          "difference overwrites (`clone` is asked for the change of the model, not for the variate): a client that returns reads "
          "its new variate, and its change is 0.")
OPTION = "SCAFFOLD(), SCAFFOLDParams(use_gradient_as_control_variate={}, user_state_storage={}, ..)"
KEPT = "InMemoryUserStateStorage()"
PFL = [
    Case("pfl", "FedAvg", "FederatedAveraging()", pfl_average, ft.FedAvg(LR, 3), hand.fedavg()),
    Case("pfl", "FedProx", "FedProx(), FedProxParams(mu=0.5, ..)", pfl_proximal, ft.FedProx(LR, 3, mu="1/2"),
         hand.fedavg(mu=0.5)),
    Case("pfl", "SCAFFOLD, option II", OPTION.format(False, KEPT), lambda: pfl_scaffold(False), ft.Scaffold(LR, 3),
         hand.scaffold(), DIFFERS, hand.scaffold(sign=-1),
         "The option-II update of c_i has the wrong sign" + APART, MEANT, EQUAL, where=SIGN.format(" over K lr")),
    Case("pfl", "SCAFFOLD, option I", OPTION.format(True, KEPT), lambda: pfl_scaffold(True), ft.Scaffold(LR, 3, option=1),
         hand.scaffold(option=1), DIFFERS, hand.scaffold(option=1, sign=-1, shared=True),
         FIRST + ", and a client that returns reads its new variate in the place of the one it stored.", MEANT, EQUAL,
         where=ONE_STEP + BUFFER),
    Case("pfl", "SCAFFOLD, option I, variates copied", OPTION.format(True, "a storage that copies"),
         lambda: pfl_scaffold(True, True), ft.Scaffold(LR, 3, option=1), hand.scaffold(option=1), DIFFERS,
         hand.scaffold(option=1, sign=-1), FIRST + APART,
         MEANT + " The copying storage is ours, to tell the two faults apart.", EQUAL, where=ONE_STEP),
]


# ---- FedLab ------------------------------------------------------------------------------------------------------------
def without_torchvision():
    """FedLab imports torchvision for its data sets; an empty module stands for it, and none of these data sets is used."""
    if "torchvision" not in sys.modules:
        whole, transforms = types.ModuleType("torchvision"), types.ModuleType("torchvision.transforms")
        whole.transforms = transforms
        sys.modules.update({"torchvision": whole, "torchvision.transforms": transforms})


def lab(handler, trainer, server=(), local=()):
    """FedLab's classes by their names, with what their setup_optim takes besides epochs, batch size and step size."""
    def build():
        without_torchvision()
        from fedlab.contrib.algorithm import basic_client, basic_server, fednova, fedprox, scaffold
        classes = {k: v for m in (basic_client, basic_server, fednova, fedprox, scaffold) for k, v in vars(m).items()}

        def make_handler(model, n):
            made = classes[handler](model, 10**9, 1.0)
            if server:
                made.setup_optim(*server)
            return made

        def make_trainer(model, n):
            made = classes[trainer](model, n)
            made.setup_optim(3, 10**9, 1 / 20, *local)
            return made

        return adapters.fedlab(make_handler, make_trainer)
    return build


SYNC, SGD = "SyncServerHandler", "SGDSerialClientTrainer"
NOVA = 'FedNovaServerHandler, setup_optim("{}"), FedNovaSerialClientTrainer'
FEDLAB = [
    Case("fedlab", "FedAvg, clients alike", f"{SYNC}, {SGD}", lab(SYNC, SGD), ft.FedAvg(LR, 3), hand.fedavg(),
         weights=EQUAL),
    Case("fedlab", "FedAvg, clients of different sizes", f"{SYNC}, {SGD}", lab(SYNC, SGD), ft.FedAvg(LR, 3), hand.fedavg(), DIFFERS,
         hand.fedavg(by_rows=False), "Every participant counts alike: `Aggregators.fedavg_aggregate` is called without weights.",
         "`weights` is optional there, and `SyncServerHandler` leaves it out; with clients of one size the round is FedAvg."),
    Case("fedlab", "FedProx, clients alike", f"{SYNC}, FedProxSerialClientTrainer, mu=0.5",
         lab(SYNC, "FedProxSerialClientTrainer", (), (0.5,)), ft.FedProx(LR, 3, mu="1/2"), hand.fedavg(mu=0.5), weights=EQUAL),
    Case("fedlab", "SCAFFOLD, clients alike", "ScaffoldServerHandler, lr=1, ScaffoldSerialClientTrainer",
         lab("ScaffoldServerHandler", "ScaffoldSerialClientTrainer", (1.0,)), ft.Scaffold(LR, 3), hand.scaffold(), weights=EQUAL),
    Case("fedlab", "FedNova, default weighted_scale", NOVA.format("weighted_scale"),
         lab("FedNovaServerHandler", "FedNovaSerialClientTrainer", ("weighted_scale",)), ft.FedNova(LR, 3), hand.fednova(), DIFFERS,
         hand.fednova(scaled=True),
         "When |S| of n clients take part, the step is n/|S| times too long: the weights are already 1/|S|.",
         "The code's comment sets p to 1/m; for weights 1/n among all clients n/|S| is right. With all taking part it is 1.",
         EQUAL),
    Case("fedlab", "FedNova, weighted_com", NOVA.format("weighted_com"),
         lab("FedNovaServerHandler", "FedNovaSerialClientTrainer", ("weighted_com",)), ft.FedNova(LR, 3), hand.fednova(),
         weights=EQUAL),
]


# ---- NVFlare -----------------------------------------------------------------------------------------------------------
def flare_train(mu=0.0, controls=False):
    """A client in the manner of NVFlare's examples: FLModel in, FLModel out; SCAFFOLD's terms by its PTScaffoldHelper."""
    def train(model, loader, task, memory):
        from nvflare.app_common.abstract.fl_model import FLModel
        from nvflare.app_opt.pt.fedproxloss import PTFedProxLoss
        from nvflare.app_opt.pt.scaffold import PTScaffoldHelper

        start, optimiser = copy.deepcopy(model), torch.optim.SGD(model.parameters(), lr=1 / 20)
        meta, proximal = {"NUM_STEPS_CURRENT_ROUND": len(loader.dataset)}, PTFedProxLoss(mu) if mu else lambda a, b: 0
        if controls:
            helper = memory.setdefault("helper", PTScaffoldHelper())
            helper.init(model) if helper.c_global is None else helper._prepare_model(model)
            helper.load_global_controls(task.meta["scaffold_c_global"])
            c, own = helper.get_params()
        for _ in range(3):
            for X, y in loader:
                optimiser.zero_grad()
                (torch.nn.CrossEntropyLoss()(model(X), y) + proximal(model, start)).backward()
                optimiser.step()
                if controls:
                    helper.model_update(model, 1 / 20, c, own)
        if controls:
            helper.terms_update(model, 1 / 20, c, own, start)
            meta = {"NUM_STEPS_CURRENT_ROUND": 3, "scaffold_c_diff": helper.get_delta_controls()}
        return FLModel(params={k: v.numpy().copy() for k, v in model.state_dict().items()}, params_type="FULL", meta=meta)
    return train


def flare(kind, full=False, **options):
    def build():
        from nvflare.app_common.workflows.fedavg import FedAvg
        from nvflare.app_common.workflows.scaffold import Scaffold
        made = {"FedAvg": FedAvg, "Scaffold": Scaffold}[kind]
        round_fn, reset = adapters.nvflare(lambda rounds: made(num_clients=3, num_rounds=rounds), flare_train(**options))
        return (everyone(round_fn), reset) if full else (round_fn, reset)
    return build


def everyone(round_fn):
    """The same round without a parameter for participants: all clients take part."""
    def run(x, clients):
        return round_fn(x, clients)
    run.replaced = round_fn.replaced
    return run


NVFLARE = [
    Case("nvflare", "FedAvg", "FedAvg(num_clients=3, ..)", flare("FedAvg"), ft.FedAvg(LR, 3), hand.fedavg()),
    Case("nvflare", "FedProx", "FedAvg(num_clients=3, ..), PTFedProxLoss(0.5)", flare("FedAvg", mu=0.5),
         ft.FedProx(LR, 3, mu="1/2"), hand.fedavg(mu=0.5)),
    Case("nvflare", "SCAFFOLD, all clients in every round", "Scaffold(num_clients=3, ..), PTScaffoldHelper()",
         flare("Scaffold", True, controls=True), ft.Scaffold(LR, 3), hand.scaffold(), weights=EQUAL, full=True),
    Case("nvflare", "SCAFFOLD, some clients", "Scaffold(num_clients=k, ..), PTScaffoldHelper(), k < n",
         flare("Scaffold", controls=True), ft.Scaffold(LR, 3), hand.scaffold(), DIFFERS,
         hand.scaffold(among="participants"),
         "The server's variate moves by the mean change of the participants, without the published factor |S|/n.",
         "With all clients in every round the factor is 1; `num_clients` is documented as the number of clients.", EQUAL),
]


# ---- reconstructions ---------------------------------------------------------------------------------------------------
def anew(pair):
    return lambda: adapters.functions(*pair)


TAUS = reconstructed.STEPS
LABEL = "A reconstruction: these lines were written anew, and no verdict is given on the repository."
RECONSTRUCTED = [
    Case("", "SCAFFOLD", "reconstructed.scaffold()", anew(reconstructed.scaffold()), ft.Scaffold(LR, 3), hand.scaffold(),
         weights=EQUAL, source="PFLlib at d832e76"),
    Case("", "SCAFFOLD", "reconstructed.scaffold(stored=False)", anew(reconstructed.scaffold(stored=False)), ft.Scaffold(LR, 3),
         hand.scaffold(), DIFFERS, hand.scaffold(stored=False), "The clients' variates are never written back: every c_i stays 0.",
         LABEL, EQUAL, source="FL-bench at 06e658b"),
    Case("", "SCAFFOLD", "reconstructed.scaffold(used=False)", anew(reconstructed.scaffold(used=False)), ft.Scaffold(LR, 3),
         hand.scaffold(), DIFFERS, hand.scaffold(used=False), "The correction never reaches a gradient: this is FedAvg.",
         LABEL + " FedLab's release 1.3.0 is another code, see its row.", EQUAL, source="FedLab at 92552a7"),
    Case("", "SCAFFOLD, clients alike", "reconstructed.scaffold()", anew(reconstructed.scaffold()), ft.Scaffold(LR, 3),
         hand.scaffold(), weights=EQUAL, source="NIID-Bench at 61b901a"),
    Case("", "SCAFFOLD, clients of different sizes", 'reconstructed.scaffold(model_weights="rows")',
         anew(reconstructed.scaffold(model_weights="rows")), ft.Scaffold(LR, 3),
         hand.scaffold(model_by_rows=True, variate_by_rows=True), DIFFERS, hand.scaffold(model_by_rows=True),
         "The model is averaged by rows, the server's variate by a plain mean.",
         LABEL + " With plain means for both, or clients of one size, it is SCAFFOLD.", source="NIID-Bench at 61b901a"),
    Case("", "FedNova, rho = 1/2", "reconstructed.fednova(rho=0.5)", anew(reconstructed.fednova(rho=0.5)),
         ft.FedNova(LR, TAUS, solver=ft.Momentum("1/2")), hand.fednova(TAUS, rho=0.5), source="NIID-Bench at 61b901a"),
    Case("", "FedNova", "reconstructed.fednova(divided=True)", anew(reconstructed.fednova(divided=True)), ft.FedNova(LR, TAUS),
         hand.fednova(TAUS), DIFFERS, hand.fednova(TAUS, divided=True),
         "The scales tau_eff p_i/tau_i are divided by their sum, so that tau_eff cancels.", LABEL,
         source="Flower's baseline fednova (flwr 1.9.0)"),
    Case("", "FedNova", "reconstructed.fednova_by_optimiser()", anew(reconstructed.fednova_by_optimiser()), ft.FedNova(LR, TAUS),
         hand.fednova(TAUS), source="the layout of FedNova's and FedASL's code"),
]

STANDS = {  # what the adapters put in the place of a framework's own parts, besides losses, types and loaders
    "flwr": "The client manager and the grid are answered with the participants given; least numbers of clients are set to 1.",
    "pfl": "The model is a linear layer with half the squared error as its loss, on pfl's SimulatedBackend; local and central "
           "optimiser are torch.optim.SGD, the central one with step 1; SCAFFOLD's clients count alike, the others by "
           "WeightByDatapoints.",
    "fedlab": "The data set, with one batch a client, and the sample ratio; an empty module stands for torchvision, which FedLab "
              "imports for its data sets. The lines of StandalonePipeline.main drive handler and trainer.",
    "nvflare": "The engine: sampling is answered with the participants given, tasks by calling the client's function, the first "
               "model is the one given, nothing is saved, events and logs do nothing. The controller's own run is executed.",
}

CASES = [*flower_cases(), *PFL, *FEDLAB, *NVFLARE, *RECONSTRUCTED]
