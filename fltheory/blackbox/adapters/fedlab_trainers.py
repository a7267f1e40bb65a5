"""FedLab: a server handler and a serial trainer, driven as its StandalonePipeline drives them."""
from __future__ import annotations

from collections.abc import Callable

from fltheory.blackbox.adapters.protocol import linear, loader, need_functions, protocol


class _Dataset:
    """FedLab's data set of all clients: one batch with all rows for each."""

    def __init__(self, clients, dtype):
        self._loaders = [loader(c, dtype) for c in clients]

    def get_dataloader(self, id, batch_size=None):
        return self._loaders[id]


def fedlab(handler: Callable, trainer: Callable, model: Callable | None = None,
           dtype: str = "float64") -> tuple[Callable, Callable]:
    """(round_fn, reset) of a FedLab server handler and a serial client trainer.

    handler(model, n) -> the server handler, with its optimiser set up, such as one made by FedNovaServerHandler(model, 10**9, 1.0)
    with setup_optim(); trainer(model, n) -> the serial trainer, likewise. The adapter gives the trainer its data set (one batch a
    client; the trainer's batch size is not used), tells the handler how many clients there are and how many take part, and runs
    the lines of StandalonePipeline.main. model: as in `functions`.
    """
    need_functions(handler=handler, trainer=trainer, **({} if model is None else {"model": model}))

    def start(x, clients):
        shared, n = linear(x, dtype, model), len(clients)
        server, local = handler(shared, n), trainer(shared, n)
        server.num_clients = n
        local.setup_dataset(_Dataset(clients, dtype))
        return server, local

    def advance(session, x, clients, cohort, number):
        import torch

        server, local = session
        server.sample_ratio = (len(cohort) + 0.5) / len(clients)  # FedLab rounds down
        server.set_model(torch.as_tensor(x, dtype=getattr(torch, dtype)))
        local.local_process(server.downlink_package, cohort)
        for pack in local.uplink_package:
            server.load(pack)
        return server.model_parameters

    return protocol(start, advance, dtype)
