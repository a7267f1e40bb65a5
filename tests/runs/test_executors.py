"""One seam for whatever runs in parallel: the same pairs from every executor, deaths survived, refusals in words."""
import importlib
import os
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import pytest

import fltheory as ft
from fltheory.runs.executors import RETRIES, check_executor, completed

posix = pytest.mark.skipif(os.name != "posix", reason="sends signals")


def square(task):
    return task * task


def refuse(task):
    raise ft.BadInput(f"no {task}")


def killed(folder, times, task):
    """Dies `times` times where the task is 3."""
    with open(folder / str(task), "a") as handle:
        handle.write("x")
    if task == 3 and len((folder / "3").read_text()) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


@pytest.fixture(params=[None, 1, 2, "threads"])
def executor(request):
    if request.param != "threads":
        yield request.param
        return
    with ThreadPoolExecutor(3) as pool:
        yield pool


def test_every_task_is_done_once_wherever_it_runs(executor):
    assert sorted(completed(square, range(5), executor)) == [(k, k * k) for k in range(5)]
    assert list(completed(square, [], executor)) == []


def test_an_error_of_the_work_is_raised_here(executor):
    with pytest.raises(ft.BadInput, match="no 1"):
        list(completed(refuse, [1], executor))


def test_what_is_given_up_is_not_begun(tmp_path):
    with ThreadPoolExecutor(1) as pool:
        results = completed(partial(killed, tmp_path, 0), range(200), pool)
        next(results)
        results.close()
    assert len(list(tmp_path.iterdir())) < 200


@posix
def test_a_task_outlives_its_workers_and_a_deadly_one_ends_the_work(tmp_path):
    assert sorted(completed(partial(killed, tmp_path, RETRIES), range(5), 2)) == [(k, k) for k in range(5)]
    assert len((tmp_path / "3").read_text()) == RETRIES + 1
    (tmp_path / "3").unlink()
    with pytest.raises(ft.WorkersLost, match=f"task 3: its worker was killed by SIGKILL, {RETRIES + 1} times"):
        list(completed(partial(killed, tmp_path, RETRIES + 1), range(5), 1))


@posix
def test_a_broken_pool_is_said_and_what_it_gave_is_kept(tmp_path):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = []
        with pytest.raises(ft.WorkersLost, match=r"2 of 5 tasks to do .*Start it again"):
            for task, _ in completed(partial(killed, tmp_path, 9), range(5), pool):
                found.append(task)
        assert found == [0, 1, 2]


@pytest.mark.parametrize("value", [
    0, -1, 10**9, True, 1.5, "", "localhost", "tcp://", "tcp://host", "tcp://a b:1", "tls://h:1", [2], object()])
def test_what_is_no_executor_is_refused(value):
    with pytest.raises(ft.BadInput, match="is no place to work"):
        check_executor(value)


def test_without_distributed_the_line_that_installs_it_is_said(monkeypatch):
    def absent(name, *rest):
        raise ModuleNotFoundError(name)
    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ImportError, match=r"distributed is not installed.*pip install 'fltheory\[cluster\]'"):
        check_executor("tcp://localhost:8786")


def test_work_that_cannot_be_sent_is_refused_before_a_process_is_started():
    with pytest.raises(ft.BadInput, match="cannot be sent to another process"):
        next(completed(lambda task: task, [1], 2))
