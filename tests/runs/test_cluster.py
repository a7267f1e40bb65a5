"""Sweeps on a Dask cluster of real processes: killed workers, a killed driver and late ones change nothing."""
import os
import subprocess
import sys
import threading

import pytest

import fltheory as ft
from fltheory.runs.executors import completed
from fltheory.verdicts.report.figures import regenerated
from tests.cluster import ROOT, Cluster, wait
from tests.verdicts.report.test_figures import TINY

pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="sends signals")]

DRIVER = """
import sys
from tests.runs.test_cluster import large
found = large(executor=sys.argv[1], store=sys.argv[2])
print(found.digest, found.computed, found.reused)
"""
RUNS = 240


def large(**options):
    """A sweep of 240 runs."""
    problem = ft.Quadratic([[[1, 0], [0, 3]], [[2, 1], [1, 2]]] * 5, [[k, 1 - k] for k in range(10)])
    methods = [ft.FedAvg("1/20", 5), ft.Scaffold("1/20", 5)]
    return ft.sweep(problem, methods, [ft.Uniform(3), ft.Full()], rounds=20, replicates=3 * 256, seeds=[0, 1], chunk=256, noise=1,
                    grid={"lr": [f"1/{k}" for k in range(20, 30)]}, **options)


@pytest.fixture(scope="module")
def serial():
    found = large()
    assert found.computed == RUNS
    return found.digest


@pytest.mark.parametrize("jobs", [1, 2, 8])
def test_any_number_of_processes_gives_the_same_digest(serial, jobs):
    assert large(executor=jobs).digest == serial


def test_three_killed_workers_and_a_killed_driver_lose_nothing(tmp_path, serial):
    store = tmp_path / "store"
    done = lambda: len(list(store.glob("*.chunk"))) if store.is_dir() else 0  # noqa: E731

    def start(cluster):
        return subprocess.Popen([sys.executable, "-c", DRIVER, cluster.address, str(store)], cwd=ROOT, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    with Cluster(tmp_path, workers=2) as cluster:
        driver = start(cluster)
        try:
            for victim in range(3):  # the third is a worker that joined late
                wait(lambda least=15 * (victim + 1): done() >= least, 120)
                cluster.kill(cluster.workers[victim])
                cluster.add()
            wait(lambda: done() >= 70, 120)
            assert driver.poll() is None
            driver.kill()
            driver.communicate()
            kept = done()
            assert 70 <= kept < RUNS
            driver = start(cluster)
            out, err = driver.communicate(timeout=240)
            assert driver.returncode == 0, err
        finally:
            driver.kill()
            driver.wait()
    digest, computed, reused = out.split()
    assert digest == serial
    assert (int(computed), int(reused)) == (RUNS - kept, kept)


def odd(task):
    if task == 7:
        raise ft.BadInput("no 7")
    return task % 2


def deadly(task):
    if task == 1:
        os._exit(9)
    return task


def test_errors_and_ends_of_a_cluster_are_said(tmp_path):
    with Cluster(tmp_path, workers=1) as cluster:
        assert dict(completed(odd, range(5), cluster.address)) == {k: k % 2 for k in range(5)}
        assert list(completed(lambda task: -task, [3], cluster.address)) == [(3, -3)]  # by value: no module holds it
        with pytest.raises(ft.BadInput, match="no 7"):
            list(completed(odd, [7], cluster.address))
        for _ in range(4):
            cluster.add()
        with pytest.raises(ft.WorkersLost, match="died again and again"):
            list(completed(deadly, range(3), cluster.address))
        cluster.add()
        results = completed(odd, range(3), cluster.address)
        next(results)
        results.close()
    with pytest.raises(ft.BadInput, match="no Dask scheduler answers there within"):
        list(completed(odd, [1], cluster.address))


def test_a_scheduler_that_dies_ends_the_sweep(tmp_path):
    store = tmp_path / "store"
    with Cluster(tmp_path, workers=1) as cluster:
        def kill():
            wait(lambda: store.is_dir() and len(list(store.iterdir())) > 5, 60)
            cluster.kill(cluster.scheduler)
        threading.Thread(target=kill, daemon=True).start()
        with pytest.raises(ft.WorkersLost, match=r"chunks are in .*run it again"):
            large(executor=cluster.address, store=store)


def test_figures_are_computed_by_the_cluster(tmp_path):
    folder = tmp_path / "papers_on_a_cluster" / "tiny"
    folder.mkdir(parents=True)
    (folder / "figures.py").write_text(TINY)
    with Cluster(tmp_path, workers=1) as cluster:
        found = dict(regenerated([(folder, "one"), (folder, "two")], tmp_path / "out", executor=cluster.address))
    assert len(found) == 2 and (folder / "data" / "two.csv").read_text() == f"x\n{1 / 3!r}\n"
    assert (tmp_path / "out" / "tiny-one.png").is_file()
