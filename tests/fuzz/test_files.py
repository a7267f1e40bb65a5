"""Files of every kind where a trace, a checkpoint or a table is expected."""
import json
import os
import shutil

import pytest

pytest.importorskip("hypothesis")
pytest.importorskip("torch")

import numpy as np
from hypothesis import strategies as st

import fltheory as ft
from tests.fuzz import calls
from tests.fuzz.budget import cases
from tests.fuzz.hostile import STRINGS, made

REFUSED = (ft.BadInput,)


def damaged(content, data):
    """The bytes cut, with bytes changed, doubled, or replaced by noise."""
    kind = data.draw(st.sampled_from(["cut", "flip", "twice", "noise", "nothing"]), label="damage")
    if kind == "cut":
        return content[:data.draw(st.integers(0, len(content) - 1))]
    if kind == "flip":
        at = data.draw(st.integers(0, len(content) - 1))
        return content[:at] + bytes([content[at] ^ data.draw(st.integers(1, 255))]) + content[at + 1:]
    return {"twice": content * 2, "noise": data.draw(st.binary(max_size=200)), "nothing": b""}[kind]


@cases(fast=15, slow=250, data=st.data(), suffix=st.sampled_from([".npz", ".json"]))
def test_damaged_traces(folder, data, suffix):
    """A damaged trace is refused; one that is read again equals the one that was saved."""
    trace = ft.run(calls.fedavg(), calls.problem(), ft.Full(), 2, 2)
    stem = trace.save(folder / "trace")
    path = folder / f"trace{suffix}"
    path.write_bytes(damaged(path.read_bytes(), data))
    try:
        again = ft.Trace.load(stem)
    except REFUSED as error:
        calls.refusal(error)
    else:
        assert np.array_equal(again.mean(), trace.mean())


fields = st.sampled_from(["rounds", "replicates", "seed", "device", "tail_rounds", "audit", "audited", "provenance",
                          "sha256", "new"])
jsons = st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
                     lambda s: st.lists(s, max_size=2) | st.dictionaries(st.text(max_size=3), s, max_size=2), max_leaves=4)


@cases(fast=15, slow=250, field=fields, value=jsons)
def test_forged_metadata(folder, field, value):
    """Metadata of the wrong kind are refused, or do not break what a trace says about itself."""
    trace = ft.run(calls.fedavg(), calls.problem(), ft.Full(), 2, 2)
    stem = trace.save(folder / "trace")
    meta = json.loads((folder / "trace.json").read_text())
    (folder / "trace.json").write_text(json.dumps(meta | {field: value}))
    try:
        again = ft.Trace.load(stem)
    except REFUSED as error:
        calls.refusal(error)
    else:
        assert again.mean().shape == (3,) and repr(again)
        calls.declared(lambda: str(again.floor()))


@cases(fast=10, slow=100, path=st.sampled_from(STRINGS), before=st.sampled_from(["", "./", "sub/", "/surely/not/there/"]))
def test_paths_that_lead_nowhere(folder, path, before):
    """Traces, checkpoints and tables at impossible places."""
    path = made(path)
    if not isinstance(path, str):
        return
    path = before + path
    here = os.getcwd()
    os.chdir(folder)
    try:
        for use in (lambda: ft.Trace.load(path), lambda: ft.read_ridge(path, "c", "t"),
                    lambda: ft.run(calls.fedavg(), calls.problem(), ft.Full(), 2, checkpoint=path)):
            calls.declared(use)
    finally:
        os.chdir(here)


@cases(fast=15, slow=250, data=st.data())
def test_checkpoints_of_any_kind(folder, data):
    """A file that is no snapshot of this run is refused and left alone."""
    path = folder / "checkpoint"
    content = damaged(b"PK\x03\x04" + os.urandom(0) + b"snapshot" * 20, data)
    shutil.rmtree(path, ignore_errors=True)
    path.write_bytes(content)
    with pytest.raises(ft.BadInput, match="cannot be read"):
        ft.run(calls.fedavg(), calls.problem(), ft.Full(), 2, checkpoint=path)
    assert path.read_bytes() == content


CELLS = st.one_of(st.sampled_from(["", "1", "2.5", "nan", "inf", "1e400", "½", "١", "1_0", "x", "<b>", '"', "'", "\0",
                                   "#", "=1+1", "1e-320"]),
                  st.text(max_size=3))


@cases(fast=20, slow=300, table=st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=6), head=st.lists(CELLS, max_size=4),
       separator=st.sampled_from([",", ";", "\t", ",,"]), encoding=st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]),
       standardise=st.sampled_from(["features", "short", "none", "all", "x"]))
def test_tables_of_any_kind(folder, table, head, separator, encoding, standardise):
    """A table is refused with its place, or becomes a problem without NaN."""
    lines = [head, ["c", "t", "f"], *table] if head else [["c", "t", "f"], *table]
    (folder / "t.csv").write_bytes("\n".join(separator.join(row) for row in lines).encode(encoding, "surrogatepass"))
    path = folder / "t.csv"
    for problem in (calls.declared(ft.read_ridge, path, "c", "t", standardise=standardise),
                    calls.declared(ft.read_residual, path, "c", "t", ["f"], ["f", "1"], standardise=standardise)):
        if problem is not None:
            calls.check(problem)
