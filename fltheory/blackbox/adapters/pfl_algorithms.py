"""pfl: an algorithm of `pfl.algorithm` on pfl's own SimulatedBackend, one central iteration a round."""
from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any

from fltheory.blackbox.adapters.protocol import linear, need_functions, protocol, rows
from fltheory.blackbox.adapters.replaced import half_squared_error


def pfl(algorithm: Callable, params: Callable, train_params: Any, model: Callable | None = None, dtype: str = "float32",
        by_rows: bool = True) -> tuple[Callable, Callable]:
    """(round_fn, reset) of an algorithm of pfl with a PyTorch model.

    algorithm() -> the algorithm, such as FederatedAveraging itself; params(n) -> its parameters, a NNAlgorithmParams, whose numbers
    of participants and of iterations the adapter sets; train_params: a NNTrainHyperParams. Local and central optimisers are
    torch.optim.SGD, the central one with step size 1, so that the averaged change is added. by_rows: participants are weighted by
    their rows through pfl's own WeightByDatapoints; False leaves them alike. dtype: "float32", since pfl takes the differences of
    models in float32 whatever the type of the model is. model: as in `functions`.
    """
    need_functions(algorithm=algorithm, params=params, **({} if model is None else {"model": model}))

    def start(x, clients):
        import torch
        from pfl.data.dataset import Dataset
        from pfl.model.pytorch import PyTorchModel

        module = linear(x, dtype, model)
        module.loss = lambda X, y: half_squared_error(module(X), y)  # the two methods that pfl asks of a torch module
        module.metrics = lambda X, y: {}
        wrapped = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(module.parameters(), lr=1.0))
        data = [Dataset([v.numpy() for v in rows(c, dtype)], user_id=str(i)) for i, c in enumerate(clients)]
        return algorithm(), params(len(clients)), wrapped, data

    def advance(session, x, clients, cohort, number):
        import torch
        from pfl.aggregate.simulate import SimulatedBackend
        from pfl.aggregate.weighting import WeightByDatapoints

        method, defaults, wrapped, data = session
        torch.nn.utils.vector_to_parameters(torch.tensor(x, dtype=getattr(torch, dtype)), wrapped.pytorch_model.parameters())
        settings = dataclasses.replace(defaults, train_cohort_size=len(cohort), central_num_iterations=number + 1,
                                       evaluation_frequency=10**9, val_cohort_size=None)
        backend = SimulatedBackend(_Users([data[i] for i in cohort]), None, [WeightByDatapoints()] if by_rows else [])
        contexts, wrapped, _ = method.get_next_central_contexts(wrapped, number - 1, settings, train_params)
        contexts = tuple(dataclasses.replace(c, do_evaluation=False) for c in contexts)
        gathered = [asyncio.run(backend.async_gather_results(wrapped, method, central_context=c)) for c in contexts]
        pairs = tuple((c, statistics) for c, (statistics, _) in zip(contexts, gathered, strict=True))
        wrapped, _ = method.process_aggregated_statistics_from_all_contexts(pairs, gathered[0][1], wrapped)
        return wrapped.pytorch_model

    return protocol(start, advance, dtype)


class _Users:
    """A federated data set whose cohort is the participants given."""

    def __init__(self, present):
        self._present = present

    def get_cohort(self, cohort_size):
        return [(user, 0) for user in self._present]
