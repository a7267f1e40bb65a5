"""Worker processes that may die: a task whose worker is killed is given to a new one once, then counted as lost.

Only the standard library is imported here, so that a worker can limit its threads before it loads anything else.
"""
from __future__ import annotations

import copy
import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context, resource_tracker
from multiprocessing.reduction import ForkingPickler  # what pipes write with; nothing is read but from our own workers

STILLBORN = 3  # workers in a row that die before they are ready: none lives here


class Lost:
    """What a task comes to if its worker was killed twice. how: in words."""

    def __init__(self, how):
        self.how = how


def decided(work, tasks, jobs):
    """Pairs (task, work(task)) as they finish in `jobs` processes; `Lost` stands for the result where a worker was killed.

    An exception of `work` is raised here. Whatever ends this generator ends the workers; an interruption first hands out
    what had been finished.
    """
    waiting, again, workers, stillborn = list(reversed(tasks)), set(), [], 0
    try:
        for _ in range(min(jobs, len(tasks))):
            workers.append(_Worker(work))
        while waiting or any(w.task is not None for w in workers):
            for worker in workers:
                if worker.task is None and waiting:
                    worker.give(waiting.pop())
            try:
                ready = connection.wait([w.pipe for w in workers if w.task is not None])
            except KeyboardInterrupt:
                yield from _finished(workers)
                raise
            for k, worker in enumerate(workers):
                if worker.pipe not in ready:
                    continue
                task, outcome = worker.take()
                if outcome is _READY:
                    stillborn = 0
                    continue
                if not isinstance(outcome, Lost):
                    yield task, outcome
                    continue
                workers[k] = _Worker(work)
                stillborn += not worker.ready
                if stillborn == STILLBORN:
                    yield from ((t, outcome) for t in [task, *(w.task for w in workers if w.task is not None), *waiting])
                    return
                if worker.ready and task in again:
                    yield task, outcome
                    continue
                if worker.ready:
                    again.add(task)
                waiting.append(task)
    finally:
        for worker in workers:
            worker.end()


def _finished(workers):
    """What lies ready in the pipes."""
    for worker in workers:
        while worker.task is not None and worker.pipe.poll():
            task, outcome = worker.take()
            if outcome is not _READY and not isinstance(outcome, Lost):
                yield task, outcome


_READY = object()


class _Worker:
    """One process with one task at a time."""

    def __init__(self, work):
        self.task, self.ready = None, False
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, os.getpid()))
        with _uninterrupted():  # inherited: Ctrl-C is for the parent, which ends its workers
            self.process.start()
        theirs.close()
        self._send(work)

    def give(self, task):
        self.task = task
        self._send(task)

    def _send(self, value):
        with suppress(OSError):  # it is dead already, which `take` will find
            self.pipe.send(value)

    def take(self) -> tuple:
        """(task, what it came to), after which the worker is free; (task, _READY) if it has only now begun."""
        task = self.task
        try:
            result, error = self.pipe.recv()
        except (EOFError, OSError):
            self.task = None
            self.process.join()
            return task, Lost(_ending(self.process.exitcode))
        if not self.ready:
            self.ready = True
            return task, _READY
        self.task = None
        if error is not None:
            raise error
        return task, result

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


def _serve(pipe, parent):
    """The worker: one thread for the libraries, gone when its parent is gone, so that a killed run leaves no orphans."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    try:
        work = pipe.recv()
        pipe.send((None, None))  # ready
        while True:
            task = pipe.recv()
            try:
                outcome = work(task), None
                ForkingPickler.dumps(outcome)
            except BaseException as error:
                outcome = None, _sendable(error)
            pipe.send(outcome)
    except (EOFError, OSError):  # the parent is gone
        return


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
