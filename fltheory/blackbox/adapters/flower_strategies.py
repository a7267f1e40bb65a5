"""Flower: a strategy's own configuration and aggregation around clients' own `fit`, in the older API and in the one of messages."""
from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fltheory.blackbox.adapters.protocol import linear, loader, need_functions, protocol


def flower(strategy: Callable, client: Callable, model: Callable | None = None,
           dtype: str = "float64") -> tuple[Callable, Callable]:
    """(round_fn, reset) of a Flower strategy, of `flwr.server.strategy` or of `flwr.serverapp.strategy`.

    strategy: a function of no argument, or of the first parameters as a list of arrays, that makes the strategy, such as
    lambda x0: FedAvgM(initial_parameters=ndarrays_to_parameters(x0), server_momentum=0.9). client(index, model, loader) makes
    a client with fit(parameters, config) -> (parameters, number of rows, metrics), such as a flwr NumPyClient: anew in every
    round. The strategy's own `configure_fit` and `aggregate_fit` (or `configure_train` and `aggregate_train`) run; its sampling
    is answered with the participants given. model: as in `functions`.
    """
    need_functions(strategy=strategy, client=client, **({} if model is None else {"model": model}))

    def start(x, clients):
        arrays = [np.array(v) for v in linear(x, dtype, model).state_dict().values()]
        built = strategy(arrays) if _wants_parameters(strategy) else strategy()
        _let_few_take_part(built)
        return built, [loader(c, dtype) for c in clients]

    def advance(session, x, clients, cohort, number):
        def fit(i, arrays, config):
            return client(i, linear(x, dtype, model), session[1][i]).fit(arrays, config)
        shared = linear(x, dtype, model).state_dict()
        step = _by_messages if hasattr(session[0], "aggregate_train") else _by_results
        return step(session[0], shared, cohort, len(clients), number, fit)

    return protocol(start, advance, dtype)


def _wants_parameters(strategy):
    """Whether a maker of strategies has a parameter without a default."""
    return any(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
               for p in inspect.signature(strategy).parameters.values())


def _let_few_take_part(strategy):
    """Who takes part is given from outside: no strategy waits for more clients than that, or samples fewer."""
    for name, value in (("min_fit_clients", 1), ("min_train_nodes", 1), ("min_available_clients", 1),
                        ("min_available_nodes", 1), ("fraction_fit", 1.0), ("fraction_train", 1.0)):
        if hasattr(strategy, name):
            setattr(strategy, name, value)


@dataclass
class _Proxy:
    """What stands for a client at the server."""

    cid: str


@dataclass
class _Manager:
    """A client manager that samples the participants given."""

    present: list
    available: int

    def num_available(self):
        return self.available

    def wait_for(self, *_, **__):
        return True

    def all(self):
        return {p.cid: p for p in self.present}

    def sample(self, *_, **__):
        return self.present


def _by_results(strategy, shared, cohort, n, number, fit):
    """One round of the older API: configure_fit, the clients' fit, aggregate_fit."""
    from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays

    def result(proxy, instructions):
        arrays, size, metrics = fit(int(proxy.cid), parameters_to_ndarrays(instructions.parameters), instructions.config)
        return proxy, FitRes(Status(Code.OK, ""), ndarrays_to_parameters(arrays), size, metrics)

    parameters = ndarrays_to_parameters([np.array(v) for v in shared.values()])
    instructions = strategy.configure_fit(number, parameters, _Manager([_Proxy(str(i)) for i in cohort], n))
    parameters, _ = strategy.aggregate_fit(number, [result(*pair) for pair in instructions], [])
    return parameters_to_ndarrays(parameters)


@dataclass
class _Grid:
    """A grid whose nodes are the participants given."""

    nodes: list[Any]

    def get_node_ids(self):
        return self.nodes


@contextlib.contextmanager
def _running():
    """Messages name the run and the node they come from, which Flower's own processes set at their start: here run 1, node 1."""
    try:
        from flwr.supercore.task_identity import TaskIdentity
    except ImportError:  # older versions fill it in later
        yield
        return
    before = TaskIdentity._task_id, TaskIdentity._run_id, TaskIdentity._node_id
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1
    try:
        yield
    finally:
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = before


def _by_messages(strategy, shared, cohort, n, number, fit):
    """One round of the API of messages: configure_train, the clients' fit, aggregate_train."""
    from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict

    def reply(message):
        records = message.content
        arrays = records.array_records[strategy.arrayrecord_key]
        config = dict(records.config_records[strategy.configrecord_key])
        new, size, metrics = fit(message.metadata.dst_node_id - 1, arrays.to_numpy_ndarrays(), config)
        trained = ArrayRecord(dict(zip(arrays, ArrayRecord(new).values(), strict=True)))
        content = RecordDict({"arrays": trained, "metrics": MetricRecord({"num-examples": size, **metrics})})
        return Message(content, reply_to=message)

    with _running():
        messages = strategy.configure_train(number, ArrayRecord(shared), ConfigRecord({}), _Grid([i + 1 for i in cohort]))
        arrays, _ = strategy.aggregate_train(number, [reply(m) for m in messages])
    return arrays.to_numpy_ndarrays()
