"""Worker processes: results in whatever order, errors raised here, deaths survived once."""

import logging
import os
import pickle
import signal
import time
from functools import partial
from types import SimpleNamespace

import pytest

from fltheory.core.errors import BadInput
from fltheory.runs import workers
from fltheory.runs.workers import Lost, Stopped, decided

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
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
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


@posix
def test_workers_that_die_at_their_start_are_counted_in_a_row(monkeypatch, tmp_path):
    """One that was ready in between shows that workers can live here."""
    started = []

    class EveryOtherStillborn(workers._Worker):
        def __init__(self, work):
            super().__init__(work)
            started.append(self)
            if len(started) % 2:
                self.process.kill()

    monkeypatch.setattr(workers, "_Worker", EveryOtherStillborn)
    monkeypatch.setattr(workers, "STILLBORN", 2)
    assert list(decided(partial(killed, folder=tmp_path, times=1), ["die"], 1)) == [("die", "die")]
    assert len(started) == 4


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


# ---- limits and what is told ---------------------------------------------------------------------------------
def tells(task):
    """Tells two things, then goes on for as many seconds as the task says."""
    workers.tell((task, "one"))
    workers.tell((task, "two"))
    time.sleep(task)
    return task


def test_a_task_past_its_limit_is_stopped_and_no_other():
    began = time.monotonic()
    found = dict(decided(tells, [60, 0, 59, 0.01], 2, limit=0.3))
    assert time.monotonic() - began < 30
    assert {k: v for k, v in found.items() if k < 1} == {0: 0, 0.01: 0.01}
    assert [isinstance(found[k], Stopped) and found[k].told for k in (60, 59)] == [
        [(k, "one"), (k, "two")] for k in (60, 59)]


def test_the_first_limit_ends_the_wait():
    def at_work(*left):
        return [SimpleNamespace(begun=v, remaining=lambda limit, v=v: v) for v in left]
    assert workers._next_limit(at_work(3.0, 1.0, None), 5) == 1.0
    assert workers._next_limit(at_work(3.0, -1.0), 5) == 0.0
    assert workers._next_limit(at_work(None), 5) is None and workers._next_limit(at_work(3.0), None) is None


def test_what_is_told_outside_a_worker_is_heard_by_nobody():
    assert tells(0) == 0


def late(task):
    time.sleep(0.5)


def test_preparing_takes_none_of_the_tasks_time():
    begun = []
    assert list(decided(square, [2, 3], 1, limit=0.4, prepare=late, on_begun=begun.append)) == [(2, 4), (3, 9)]
    assert begun == [2, 3]


def test_an_error_while_preparing_is_raised_here():
    with pytest.raises(BadInput, match="no 1"):
        list(decided(square, [1], 1, prepare=refuse))


def test_what_had_been_finished_when_the_limit_was_noticed_counts():
    """The parent may be busy with another result while the limit passes."""
    results = decided(square, [2, 3], 2, limit=0.2)
    first = next(results)
    time.sleep(0.5)
    assert sorted([first, *results]) == [(2, 4), (3, 9)]


def test_what_had_been_finished_counts_even_where_nothing_was_heard_until_the_limit():
    assert list(decided(square, [2], 1, limit=0.2, on_begun=lambda task: time.sleep(0.5))) == [(2, 4)]


def logs(task):
    logging.getLogger("fltheory.verdicts.claims").info("task %s in %s", task, os.getpid())
    return os.getpid()


def test_the_log_of_a_worker_is_that_of_its_parent(caplog):
    assert len(list(decided(logs, [1], 1))) == 1 and caplog.messages == []
    with caplog.at_level(logging.INFO, "fltheory"):
        ((_, pid),) = decided(logs, [2], 1)
    assert caplog.messages == [f"task 2 in {pid}"] and pid != os.getpid()
