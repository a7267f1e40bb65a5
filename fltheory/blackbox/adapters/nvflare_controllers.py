"""NVFlare: a controller's own `run` in a thread of its own, whose tasks are answered by the clients of the present round."""
from __future__ import annotations

import queue
import threading
from collections.abc import Callable

import numpy as np

from fltheory.blackbox.adapters.protocol import linear, loader, need_functions, protocol

PATIENCE = 60  # seconds for one round


def nvflare(controller: Callable, train: Callable, model: Callable | None = None,
            dtype: str = "float64") -> tuple[Callable, Callable]:
    """(round_fn, reset) of an NVFlare controller on models, such as FedAvg or Scaffold of nvflare.app_common.workflows.

    controller(num_rounds) makes the controller; the adapter passes 10**9, so that it never ends by itself. train(model, loader,
    task, memory) -> FLModel is the client: model, a torch module with the parameters of task.params; task: the FLModel received;
    memory: a dict of the client's own until reset. The controller's own `run` is executed; what stands for the NVFlare engine
    are sampling (answered with the participants given), sending (train is called), loading and saving (the model of the first
    round, nothing), events and logs. model: as in `functions`.
    """
    need_functions(controller=controller, train=train, **({} if model is None else {"model": model}))

    def start(x, clients):
        return _Run(controller(10**9), _params(linear(x, dtype, model)), [loader(c, dtype) for c in clients],
                    lambda task: linear(np.concatenate([np.ravel(v) for v in task.params.values()]), dtype, model), train)

    def advance(session, x, clients, cohort, number):
        return session.round(cohort)

    return protocol(start, advance, dtype)


def _params(module):
    return {k: v.detach().numpy().copy() for k, v in module.state_dict().items()}


class _Ended(BaseException):
    """Raised in the controller's thread when nobody asks for further rounds."""


class _Run:
    """A controller's `run`, halted at each sampling of clients until the next round is asked for."""

    def __init__(self, controller, params, loaders, rebuild, train):
        self._controller, self._loaders, self._rebuild, self._train = controller, loaders, rebuild, train
        self._memories = [{} for _ in loaders]
        self._requests, self._replies = queue.Queue(), queue.Queue()
        self._model = None
        self._connect(params)
        self._thread = threading.Thread(target=self._main, daemon=True)
        self._thread.start()
        self._await()  # until the first sampling

    def _connect(self, params):
        """Puts answers in the place of the engine's."""
        from nvflare.apis.fl_context import FLContext
        from nvflare.app_common.abstract.fl_model import FLModel

        c = self._controller
        c.fl_ctx, c.engine, c.persistor = FLContext(), None, None
        c.abort_signal = type("Signal", (), {"triggered": False})()
        c.load_model = lambda *a, **k: FLModel(params_type="FULL", params={k: v.copy() for k, v in params.items()}, meta={})
        c.sample_clients = self._sample
        c.save_model = self._save
        c.send_model_and_wait = lambda *a, **k: [self._answer(name, k["data"]) for name in k["targets"]]
        c.send_model = self._send
        c.get_num_standing_tasks = lambda: 0
        for quiet in ("event", "fire_event_with_data", "info", "debug", "warning", "error"):
            setattr(c, quiet, lambda *a, **k: None)
        c.panic = c.exception = self._panic

    def _main(self):
        try:
            if hasattr(self._controller, "initialize"):  # Scaffold's sets its control terms to 0 there
                self._controller.initialize(self._controller.fl_ctx)
            self._controller.run()
            self._replies.put(RuntimeError("the controller ended by itself"))
        except _Ended:
            pass
        except BaseException as error:  # handed over to the caller's thread
            self._replies.put(error)

    def _await(self):
        reply = self._replies.get(timeout=PATIENCE)
        if isinstance(reply, BaseException):
            raise reply
        return reply

    def round(self, cohort):
        """The model after one round with these participants."""
        self._requests.put(cohort)
        self._await()
        return list(self._model.params.values())

    def _sample(self, *_, **__):
        self._replies.put("sampling")
        cohort = self._requests.get()
        if cohort is None:
            raise _Ended
        return [str(i) for i in cohort]

    def _save(self, model, *_, **__):
        self._model = model

    def _answer(self, name, data):
        i = int(name)
        result = self._train(self._rebuild(data), self._loaders[i], data, self._memories[i])
        result.current_round, result.meta = data.current_round, {**(result.meta or {}), "client_name": name}
        return result

    def _send(self, *_, targets=None, data=None, callback=None, **__):
        for name in targets:
            callback(self._answer(name, data))

    def _panic(self, reason, *_, **__):
        raise RuntimeError(reason)

    def close(self):
        """Ends the controller's thread."""
        self._requests.put(None)
        self._thread.join(PATIENCE)
