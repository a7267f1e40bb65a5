"""Independent tasks, here or anywhere: one seam for whatever runs in parallel.

Four places: this process, worker processes of this machine, any `concurrent.futures.Executor` (of joblib's loky, MPI, a notebook),
or the workers of a Dask scheduler on other machines. Where a task runs must not change what it gives.
"""
from __future__ import annotations

import functools
import logging
import re
import sys
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ProcessPoolExecutor, as_completed
from contextlib import closing, contextmanager
from multiprocessing.reduction import ForkingPickler  # as in `workers`: nothing is read but from our own processes

from fltheory.core.errors import WorkersLost, refuse, shortened
from fltheory.core.libraries import need
from fltheory.core.numbers.scalars import is_count
from fltheory.runs.workers import Lost, decided

RETRIES = 3      # as often is a task given to another worker whose worker died; Dask's own default is the same
PATIENCE = 10    # seconds to find a scheduler
MOST_JOBS = 512
_LOG = logging.getLogger("fltheory")


def check_executor(executor):
    """The executor, or a refusal of what is none; nothing is started."""
    if executor is None or isinstance(executor, Executor) or (is_count(executor) and executor <= MOST_JOBS):
        return executor
    if isinstance(executor, str) and re.fullmatch(r"tcp://[\w.\-\[\]:]+:\d{1,5}", executor):
        need("distributed", "work on the machines of a Dask cluster")
        return executor
    refuse("executor", executor, "is no place to work",
           f'Give None, a number of processes from 1 to {MOST_JOBS}, a concurrent.futures.Executor, or "tcp://host:port" of a Dask '
           "scheduler.")


def completed(work, tasks, executor=None):
    """Pairs (task, work(task)) as they finish, in no particular order except here (None).

    work: a picklable function; tasks: hashable, picklable values, each different. executor: None for this process, a number of
    processes (spawned, one thread each), a `concurrent.futures.Executor`, or "tcp://host:port" of a Dask scheduler.
    An exception of `work` is raised here. A task whose worker is killed is given to another one, 3 times; then, and where an
    executor is broken as a whole, `WorkersLost` is raised: what was handed out before stays done. Whatever ends this generator
    gives up the tasks that have not begun, and ends the processes that it started.
    """
    tasks = list(tasks)
    executor = check_executor(executor)
    if executor is None or not tasks:
        yield from ((task, work(task)) for task in tasks)
    elif isinstance(executor, Executor):
        if isinstance(executor, ProcessPoolExecutor):  # others may have a pickling of their own, or none
            check_sendable(work, "work")
        yield from _submitted(functools.partial(executor.submit, work), tasks)
    elif isinstance(executor, str):
        with _dask(executor, work) as submit:
            yield from _submitted(submit, tasks)
    else:
        check_sendable(work, "work")
        with closing(decided(work, tasks, int(executor), retries=RETRIES)) as results:
            for task, outcome in results:
                if isinstance(outcome, Lost):
                    raise WorkersLost(f"task {shortened(task, 100)}: {outcome.how}, {RETRIES + 1} times. Was memory short? "
                                      "Use fewer processes, or smaller tasks.")
                yield task, outcome


def _submitted(submit, tasks):
    futures = {submit(task): task for task in tasks}
    try:
        for future in as_completed(list(futures)):
            try:
                result = future.result()
            except (BrokenExecutor, CancelledError) as error:
                raise WorkersLost(f"the executor broke with {len(futures)} of {len(tasks)} tasks to do ({type(error).__name__}: "
                                  f"{shortened(error)}). Start it again.") from error
            yield futures.pop(future), result
    finally:
        for future in futures:
            future.cancel()


def check_sendable(value, what):
    """Refuse what no worker process of this machine could make again: lambdas, functions within functions, and whatever a prompt
    or a notebook defines, which workers do not run."""
    try:
        sent = bytes(ForkingPickler.dumps(value))
    except Exception as error:  # a foreign object's own pickling may raise anything
        refuse(what, value, f"cannot be sent to another process ({shortened(error)})",
               "Define functions and classes at the top of a module, by def and class, or work in this process (executor=None).")
    if b"__main__" in sent and not hasattr(sys.modules["__main__"], "__file__"):
        refuse(what, value, "is defined in a notebook or at a prompt, which worker processes do not run",
               "Define functions and classes in a file and import them from it, or work in this process (executor=None).")


# ---- Dask ------------------------------------------------------------------------------------------------------
@contextmanager
def _dask(address, work):
    """submit(task) -> future. What all tasks share goes out once, as bytes: each worker makes it again from them, so that its
    arrays are aligned and its own (those that Dask scatters are not aligned, and read-only buffers). It is the result of a task
    and no scattered value, because the scheduler makes such a one again when all workers that held it have died."""
    distributed = need("distributed", "work on the machines of a Dask cluster")
    try:
        whole = distributed.protocol.pickle.dumps(work)
    except Exception as error:
        refuse("work", work, f"cannot be sent to another machine ({shortened(error)})", "Leave out what holds files or threads.")
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:  # a timeout is an OSError
        refuse("executor", address, f"no Dask scheduler answers there within {PATIENCE} s ({type(error).__name__})",
               "Start one (dask scheduler), and workers (dask worker).")
    try:
        if not client.scheduler_info()["workers"]:
            _LOG.warning("%s has no workers yet: waiting for the first", address)
        shared = client.submit(_same, whole, pure=False)
        pool = client.get_executor(pure=False)

        def submit(task):
            return pool.submit(_apply, shared, task)
        try:
            yield submit
        except distributed.scheduler.KilledWorker as error:
            raise WorkersLost(f"the workers of one task died again and again ({shortened(error)}). Was memory short? Use smaller "
                              "tasks.") from error
    finally:
        client.close(timeout=PATIENCE)


def _same(whole):
    return whole


def _apply(whole, task):
    return _opened(whole)(task)


@functools.lru_cache(2)  # the last two sweeps: a worker outlives them
def _opened(whole):
    return need("distributed", "work on the machines of a Dask cluster").protocol.pickle.loads(whole)  # from our own driver
