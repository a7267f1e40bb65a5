"""Runs that were stopped or killed resume to the same bits; checkpoints of other runs are refused."""
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import fltheory as ft
from fltheory.runs import batched, preparation
from fltheory.runs.checkpoint import Totals
from fltheory.runs.streams import Stream
from fltheory.runs.trace import Trace
from tests.algorithms.instances import quadratic
from tests.runs.traces import CHANCES, LR, same

SCRIPT = """
import sys
import fltheory as ft
from fractions import Fraction as Q
from fltheory.runs import preparation
from tests.algorithms.instances import quadratic
preparation.BLOCK = 256
a = ft.Scaffold(Q(1, 20), 2)
t = ft.run([(a, 40), (ft.Scaffold(Q(1, 100), 2), 60)], quadratic()[0], ft.Markov(("9/10", "1/2", "1/5"), "1/10", 3),
           replicates=700, seed=5, noise=1, chunk=1, metrics={"norm": lambda x: (x * x).sum(-1)},
           checkpoint=sys.argv[1], every=0.0)
t.save(sys.argv[2])
"""


def position(path):
    """(chunk, round) of a checkpoint; (-1, -1) while there is none."""
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as data:
            return int(data["chunk"]), int(data["round"])
    except OSError:
        return -1, -1


@pytest.mark.slow
def test_killed_runs_resume_to_the_same_bits(tmp_path):
    root, checkpoint = Path(__file__).resolve().parents[2], tmp_path / "checkpoint.npz"
    command = [sys.executable, "-c", SCRIPT]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, tmp_path / "other", tmp_path / "whole"], cwd=root, env=environment, timeout=120,
                   check=True)
    goals, killed = sorted(Stream(9, "kill").generator().integers(300, size=5).tolist()), []
    for goal in goals:
        child = subprocess.Popen([*command, checkpoint, tmp_path / "resumed"], cwd=root, env=environment)
        try:
            while child.poll() is None and position(checkpoint) < divmod(goal, 100):
                time.sleep(0.001)
        finally:
            child.kill()
            child.wait()
        killed.append(position(checkpoint))
        assert killed[-1] >= divmod(goal, 100) and not (tmp_path / "resumed.npz").exists()
    subprocess.run([*command, checkpoint, tmp_path / "resumed"], cwd=root, env=environment, timeout=120, check=True)
    assert not checkpoint.exists() and len(set(killed)) == 5
    whole, resumed = Trace.load(tmp_path / "whole"), Trace.load(tmp_path / "resumed")
    same(whole, resumed)
    assert whole.audit == resumed.audit and whole.audited == resumed.audited >= 8


class Stop(Exception):
    pass


def interrupted(path, at, algorithm=None, law=None, **options):
    """A run stopped just before round `at` of the second chunk is recorded; the checkpoint stays."""
    calls, record = itertools.count(), batched._record

    def stops(*arguments):
        if next(calls) == at + 21:
            raise Stop
        record(*arguments)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stop):
        patch.setattr(batched, "_record", stops)
        go(path, algorithm, law, **options)


def first(x):
    return x[:, 0]


def go(path, algorithm=None, law=None, metric=first, **options):
    options = {"rounds": 20, "replicates": 300, "seed": 1, "noise": 1, "x0": [3, -2], "every": 0.0, "chunk": 1,
               **options}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparation, "BLOCK", 256)   # so that few replicates make several chunks
        return ft.run(algorithm or ft.Focus(LR, 2), quadratic()[0], law or ft.Bernoulli(CHANCES), checkpoint=path,
                      metrics={"first": metric}, **options)


@pytest.mark.parametrize("at", [0, 1, 7, 20])
@pytest.mark.parametrize("every", [0.0, 1e9])
def test_stopped_runs_resume_to_the_same_bits(tmp_path, at, every):
    path = tmp_path / "c.npz"
    interrupted(path, at, every=every)
    assert path.exists() and position(path) == (1, max(0, at - 1) if every == 0 else 0)
    same(go(path), go(None))
    assert not path.exists() and not list(tmp_path.iterdir())


@pytest.mark.parametrize("change", [
    {"seed": 2}, {"rounds": 21}, {"replicates": 301}, {"chunk": 2}, {"noise": 2}, {"x0": [3, -1]},
    {"x0": [3, -2 + 1e-15]}, {"tail": 0.5}, {"algorithm": ft.Focus(LR, 3)}, {"algorithm": ft.Focus("1/21", 2)},
    {"algorithm": ft.Scaffold(LR, 2)},
    {"law": ft.Bernoulli("1/2")}, {"law": ft.Bernoulli(CHANCES, empty="skip")},
], ids=str)
def test_checkpoints_of_other_runs_are_refused(tmp_path, change):
    interrupted(tmp_path / "c.npz", 5)
    with pytest.raises(ft.BadInput, match="other arguments"):
        go(tmp_path / "c.npz", **change)
    assert (tmp_path / "c.npz").exists()                         # and kept


def test_checkpoints_of_other_problems_are_refused(tmp_path):
    path = tmp_path / "c.npz"
    interrupted(path, 5)
    H, b, p = quadratic()[0].H, quadratic()[0].b, quadratic()[0].weights
    for problem in (ft.Quadratic.from_linear(H, 2 * b, p), ft.Quadratic.from_linear(2 * H, b, p),
                    ft.Quadratic.from_linear(H, b)):
        with pytest.raises(ft.BadInput, match="other arguments"):
            ft.run(ft.Focus(LR, 2), problem, ft.Bernoulli(CHANCES), 20, 300, 1, noise=1, x0=[3, -2], chunk=1,
                   metrics={"first": first}, checkpoint=path)


def test_damaged_checkpoints_are_refused(tmp_path):
    path = tmp_path / "c.npz"
    interrupted(path, 5)
    whole = path.read_bytes()
    for damaged in (b"", b"junk", b"PK\x03\x04 junk", whole[:len(whole) // 2], whole[:-30], json.dumps({}).encode()):
        path.write_bytes(damaged)
        with pytest.raises(ft.BadInput, match="no snapshot of a run"):
            go(path)
    for at in range(0, len(whole), 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
        try:
            resumed = go(path)
        except ft.BadInput:
            continue
        same(resumed, go(None))                                  # the byte did not matter
    path.write_bytes(whole)
    with open(path, "rb") as handle, np.load(handle) as data:
        content = {k: data[k] for k in data.files}
    for missing in ("key", "chunk", "final", "state/0", "stats/first/m2", "sums/error", "mode"):
        np.savez(path, **{k: v for k, v in content.items() if k != missing})
        with pytest.raises(ft.BadInput):
            go(path)


def test_a_deviation_of_nothing_is_kept_apart_from_no_audit():
    totals = Totals({}, {}, np.zeros(2), [0.0, None, 1e-16])
    assert Totals.read(totals.arrays(), ()).audits == [0.0, None, 1e-16]
