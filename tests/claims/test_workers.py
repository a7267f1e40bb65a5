"""Worker processes: results in whatever order, errors raised here, deaths survived once."""

import os
import pickle
import signal
import time
from functools import partial
from types import SimpleNamespace

import pytest

from fltheory.claims import workers
from fltheory.claims.workers import Lost, decided
from fltheory.errors import BadInput

posix = pytest.mark.skipif(os.name != "posix", reason="sends signals")


def square(task):
    return task * task


def environment(task):
    return os.environ.get("OMP_NUM_THREADS"), os.getpid()


def refuse(task):
    raise BadInput(f"no {task}")


class Odd(Exception):
    """Cannot be rebuilt from its message."""

    def __init__(self, one, two):
        super().__init__(one)


def odd(task):
    raise Odd(1, 2)


def unsendable(task):
    return lambda: task


def killed(task, folder, times, how="kill"):
    """Dies `times` times where the task is "die", and says how often it was begun."""
    with open(folder / task, "a") as handle:
        handle.write("x")
    if task == "die" and len((folder / task).read_text()) <= times:
        if how == "exit":
            os._exit(7)
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def test_every_task_is_done_once_in_any_number_of_processes():
    assert sorted(decided(square, list(range(7)), 3)) == [(k, k * k) for k in range(7)]
    assert sorted(decided(square, [2], 8)) == [(2, 4)]
    assert list(decided(square, [], 2)) == []


def test_a_worker_has_one_thread_unless_told_otherwise(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS")
    found = dict(decided(environment, [1, 2], 2))
    assert {threads for threads, _ in found.values()} == {"1"}
    assert os.getpid() not in {pid for _, pid in found.values()}
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert next(decided(environment, [1], 1))[1][0] == "3"


def test_an_error_of_the_work_is_raised_here():
    with pytest.raises(BadInput, match="no 1"):
        list(decided(refuse, [1], 1))
    with pytest.raises(RuntimeError, match="Odd: 1"):
        list(decided(odd, [1], 1))
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError), match="pickle"):
        list(decided(unsendable, [1], 1))


@posix
@pytest.mark.parametrize(("how", "said"), [("kill", "killed by SIGKILL"), ("exit", "ended with status 7")])
def test_a_worker_that_dies_once_is_replaced(tmp_path, how, said):
    tasks = ["a", "die", "b", "c"]
    assert sorted(decided(partial(killed, folder=tmp_path, times=1, how=how), tasks, 2)) == [(t, t) for t in sorted(tasks)]
    assert {t: (tmp_path / t).read_text() for t in tasks} == {"a": "x", "b": "x", "c": "x", "die": "xx"}


@posix
@pytest.mark.parametrize(("how", "said"), [("kill", "killed by SIGKILL"), ("exit", "ended with status 7")])
def test_a_task_whose_worker_dies_twice_is_lost_and_no_other(tmp_path, how, said):
    tasks = ["die", "a", "b", "c"]
    found = dict(decided(partial(killed, folder=tmp_path, times=9, how=how), tasks, 2))
    assert isinstance(found["die"], Lost) and said in found.pop("die").how
    assert found == {t: t for t in "abc"}
    assert {t: (tmp_path / t).read_text() for t in tasks} == {"a": "x", "b": "x", "c": "x", "die": "xx"}


@posix
def test_where_no_worker_lives_every_task_is_lost_at_once(monkeypatch):
    started = []

    class Stillborn(workers._Worker):
        def __init__(self, work):
            super().__init__(work)
            started.append(self)
            self.process.kill()

    monkeypatch.setattr(workers, "_Worker", Stillborn)
    found = dict(decided(square, list(range(20)), 2))
    assert set(found) == set(range(20))
    assert all("killed by SIGKILL" in lost.how for lost in found.values())
    assert len(started) <= 2 + workers.STILLBORN


def slow(task):
    if task == "slow":
        time.sleep(60)
    return task


@posix
@pytest.mark.parametrize("ending", ["close", "interrupt"])
def test_whatever_ends_the_run_ends_the_workers(monkeypatch, ending):
    made = []

    class Seen(workers._Worker):
        def __init__(self, work):
            super().__init__(work)
            made.append(self)

    monkeypatch.setattr(workers, "_Worker", Seen)
    results = decided(slow, ["slow", "a", "b"], 2)
    assert next(results)[0] == "a"
    if ending == "interrupt":  # what has been finished by then is handed out first
        def interrupted(pipes, timeout):
            while not any(w.pipe.poll() for w in made):
                time.sleep(0.01)
            raise KeyboardInterrupt

        monkeypatch.setattr(workers, "connection", SimpleNamespace(wait=interrupted))
        assert next(results) == ("b", "b")
        with pytest.raises(KeyboardInterrupt):
            next(results)
    else:
        results.close()
    assert [w.process.is_alive() for w in made] == [False, False]
