"""Worker processes that may die or take too long: a task whose worker is killed is given to a new one, then counted as
lost; one that passes its time limit is stopped, and what it has told by then is kept.

Only the standard library is imported here, so that a worker can limit its threads before it loads anything else.
"""
from __future__ import annotations

import copy
import logging
import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context, resource_tracker
from multiprocessing.reduction import ForkingPickler  # what pipes write with; nothing is read but from our own workers

STILLBORN = 3  # workers in a row that die before they are ready: none lives here
_LOG = logging.getLogger("fltheory")


class Lost:
    """What a task comes to if its worker was killed twice. how: in words."""

    def __init__(self, how):
        self.how = how


class Stopped:
    """What a task comes to that ran past its limit. told: what it had told until then."""

    def __init__(self, messages):
        self.told = messages


def decided(work, tasks, jobs, limit=None, prepare=None, on_begun=None, retries=1):
    """Pairs (task, work(task)) as they finish in `jobs` processes; `Lost` stands for the result where a worker was killed,
    `Stopped` where the task took longer than `limit` seconds (None: no limit).

    A task whose worker is killed is given to a new one `retries` times (>= 0), then it is lost.
    prepare(task) comes first in the worker and takes none of the task's time; on_begun(task) is called here after it. What
    `work` gives to `tell` is kept for `Stopped`. An exception of `work` is raised here. Whatever ends this generator ends
    the workers; an interruption first hands out what had been finished.
    """
    pool = _Pool((work, prepare), tasks, jobs, retries)
    try:
        while pool.waiting or pool.busy():
            pool.hand_out()
            try:
                ready = connection.wait([w.pipe for w in pool.busy()], _next_limit(pool.workers, limit))
            except KeyboardInterrupt:
                yield from _finished(pool.workers)
                raise
            for worker in list(pool.workers):
                late = worker.remaining(limit) <= 0
                if worker.pipe not in ready and not late:
                    continue
                task = worker.task
                kind, outcome = worker.stop() if late else worker.take()
                if late or kind == "lost":
                    pool.workers.remove(worker)
                    worker.end()
                if kind == "ready":
                    pool.stillborn = 0
                elif kind == "begun" and on_begun is not None:
                    on_begun(task)
                elif kind in ("done", "stopped"):
                    yield task, outcome
                elif kind == "lost":
                    yield from pool.without(worker, task, outcome)
                    if pool.stillborn == STILLBORN:
                        return
    finally:
        for worker in pool.workers:
            worker.end()


class _Pool:
    """Workers, the tasks that wait for one, how often a task's worker died, and how many in a row died before they were ready."""

    def __init__(self, work, tasks, jobs, retries):
        self.work, self.waiting, self.jobs, self.retries = work, list(reversed(tasks)), jobs, retries
        self.workers, self.deaths, self.stillborn = [], {}, 0

    def busy(self) -> list:
        return [w for w in self.workers if w.task is not None]

    def hand_out(self):
        """A task for every worker that has none, and for new ones."""
        for worker in self.workers:
            if worker.task is None and self.waiting:
                worker.give(self.waiting.pop())
        while self.waiting and len(self.workers) < self.jobs:
            self.workers.append(_Worker(self.work))
            self.workers[-1].give(self.waiting.pop())

    def without(self, worker, task, outcome) -> list:
        """The task of a worker that was killed waits again; or pairs (task, outcome) of what is lost with it: the task itself, or
        all tasks where no worker lives."""
        self.stillborn += not worker.ready
        if self.stillborn == STILLBORN:
            return [(t, outcome) for t in [task, *(w.task for w in self.busy()), *self.waiting]]
        self.deaths[task] = self.deaths.get(task, 0) + worker.ready
        if self.deaths[task] > self.retries:
            return [(task, outcome)]
        self.waiting.append(task)
        return []


def _next_limit(workers, limit):
    """Seconds until the first task runs past its limit, None if none can."""
    seconds = [w.remaining(limit) for w in workers if w.begun is not None]
    return None if limit is None or not seconds else max(min(seconds), 0.0)


def _finished(workers):
    """What lies ready in the pipes."""
    for worker in workers:
        while worker.task is not None and worker.pipe.poll():
            task, (kind, outcome) = worker.task, worker.take()
            if kind == "done":
                yield task, outcome


def tell(value):
    """Said by `work` while it goes on: kept for `Stopped`. Without effect outside a worker."""
    if _SEND is not None:
        _SEND("told", value)


_SEND = None  # in a worker: how it speaks to its parent


class _Worker:
    """One process with one task at a time."""

    def __init__(self, work):
        self.task, self.ready, self.begun, self.messages = None, False, None, []
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, os.getpid(), _LOG.getEffectiveLevel()))
        with _uninterrupted():  # inherited: Ctrl-C is for the parent, which ends its workers
            self.process.start()
        theirs.close()
        self._send(work)

    def give(self, task):
        self.task, self.begun, self.messages = task, None, []
        self._send(task)

    def _send(self, value):
        with suppress(OSError):  # it is dead already, which `take` will find
            self.pipe.send(value)

    def remaining(self, limit) -> float:
        """Seconds that its task has left."""
        return float("inf") if limit is None or self.begun is None else self.begun + limit - time.monotonic()

    def take(self) -> tuple:
        """(kind, value) of what it says next: "ready", "begun", "told" or "log" while it goes on; "done", or "lost" with a
        `Lost`, after which it has no task. Raises what the task raised."""
        try:
            kind, value = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            kind, value = "lost", Lost(_ending(self.process.exitcode))
        if kind == "ready":
            self.ready = True
        elif kind == "begun":
            self.begun = time.monotonic()
        elif kind == "told":
            self.messages.append(value)
        elif kind == "log":
            logging.getLogger(value.name).handle(value)
        else:
            self.task = self.begun = None
        if kind == "failed":
            raise value
        return kind, value

    def stop(self) -> tuple:
        """("stopped", a `Stopped`) of a task past its limit, or "done" where it had just finished; the worker is killed."""
        self.process.kill()
        self.process.join()
        kind, value = "", None
        while self.task is not None and self.pipe.poll():
            kind, value = self.take()
        return (kind, value) if kind == "done" else ("stopped", Stopped(self.messages))

    def end(self):
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _ending(code) -> str:
    if code is not None and code < 0:
        try:
            return f"its worker was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"its worker was killed by signal {-code}"
    return f"its worker ended with status {code}"


@contextmanager
def _uninterrupted():
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its first start lets signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe, parent, level):
    """The worker: one thread for the libraries, gone when its parent is gone, so that a killed run leaves no orphans."""
    global _SEND
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    _SEND = send = _sender(pipe)
    _forward(send, level)
    try:
        work, prepare = pipe.recv()
        send("ready")
        while True:
            task = pipe.recv()
            try:
                if prepare is not None:
                    prepare(task)
                send("begun")
                outcome = "done", work(task)
                ForkingPickler.dumps(outcome)
            except BaseException as error:
                outcome = "failed", _sendable(error)
            send(*outcome)
    except (EOFError, OSError):  # the parent is gone
        return


def _sender(pipe):
    """send(kind, value) of one message, from any thread."""
    lock = threading.Lock()

    def send(kind, value=None):
        with lock:
            pipe.send((kind, value))
    return send


def _forward(send, level):
    """What is logged in this worker is logged in its parent."""
    from logging.handlers import QueueHandler

    class ToParent(QueueHandler):
        def enqueue(self, record):
            with suppress(OSError):  # the parent is gone
                send("log", record)

    _LOG.setLevel(level)
    _LOG.addHandler(ToParent(None))


def _sendable(error):
    try:
        ForkingPickler.dumps(error)
        return copy.deepcopy(error)  # an exception that cannot be made again from its arguments would break the parent
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")


def _follow(parent):
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
