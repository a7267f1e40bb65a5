"""Research code in the usual shape: a client trains a torch model on its loader, a server aggregates what the clients send."""
from __future__ import annotations

import copy
from collections.abc import Callable

from fltheory.blackbox.adapters.protocol import Participant, linear, loader, need_functions, protocol


def functions(local_train: Callable, aggregate: Callable, model: Callable | None = None,
              dtype: str = "float64") -> tuple[Callable, Callable]:
    """(round_fn, reset) of research code in two functions on torch modules and state dicts.

    local_train(model, client) -> update trains `model`, a copy of the server's, on `client.loader`; client: a Participant with
    index, size, weight, loader, population, round, and the dicts memory and server. The update is whatever the server reads; None
    sends the trained model itself. aggregate(model, updates, clients) -> the server's new model as a module, a state dict or an
    array, or None where it has written into `model`; updates and clients (the participants) are lists in one order. model: a
    function d -> module with d parameters that predicts X w, by default one linear layer without bias. dtype: "float64" or
    "float32".
    """
    need_functions(local_train=local_train, aggregate=aggregate, **({} if model is None else {"model": model}))

    def start(x, clients):
        server = {}
        return [Participant(i, c.size, c.weight, loader(c, dtype), len(clients), {}, server) for i, c in enumerate(clients)]

    def advance(session, x, clients, cohort, number):
        shared, updates, present = linear(x, dtype, model), [], [session[i] for i in cohort]
        for client in present:
            client.round, module = number, copy.deepcopy(shared)
            sent = local_train(module, client)
            updates.append(module if sent is None else sent)
        new = aggregate(shared, updates, present)
        return shared if new is None else new

    return protocol(start, advance, dtype)
