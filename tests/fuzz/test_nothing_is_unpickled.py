"""No file can make fltheory run code: not a single call that unpickles or evaluates, and payloads that stay asleep."""
import ast
import io
import pickle
from pathlib import Path

import numpy as np
import pytest

import fltheory as ft
from tests.fuzz import calls

FILES = sorted(Path(ft.__file__).parent.rglob("*.py"))
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml", "jsonpickle"}
CALLS = {"eval", "exec", "compile", "torch.load", "yaml.load", "numpy.fromfile", "read_pickle"}
PLACES = {"re.compile", "compile"}  # `re.compile` is a pattern


def spelled(node):
    return f"{spelled(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def dangers(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [a.name for a in node.names] + [getattr(node, "module", None) or ""]
            yield from (n for n in names if n.split(".")[0] in MODULES)
        if isinstance(node, ast.Call):
            name = spelled(node.func)
            if name in CALLS or name.endswith((".read_pickle", "torch.load")):
                yield name
            if name in ("np.load", "numpy.load") and not any(
                    k.arg == "allow_pickle" and getattr(k.value, "value", True) is False for k in node.keywords):
                yield "np.load without allow_pickle=False"
            if any(k.arg == "allow_pickle" and getattr(k.value, "value", True) is not False for k in node.keywords):
                yield "allow_pickle"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(FILES[0].parent)))
def test_no_module_can_unpickle_or_evaluate(path):
    assert not list(dangers(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("source", ["import pickle", "from joblib import load", "eval('1')", "torch.load(p)", "exec(s)",
                                    "np.load(p)", "np.load(p, allow_pickle=True)", "import yaml"])
def test_the_scan_can_find_something(source):
    assert list(dangers(source))


class Payload:
    """Unpickling it makes a file."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (open, (self.path, "w"))


def npz(**arrays):
    made = io.BytesIO()
    np.savez(made, **arrays)
    return made.getvalue()


def poisoned(mark):
    """Contents of files that hold a payload, in every form numpy could be talked into reading."""
    array = np.array([Payload(mark)], dtype=object)
    plain = io.BytesIO()
    np.save(plain, array, allow_pickle=True)
    return {"pickle": pickle.dumps(Payload(mark)), "npy": plain.getvalue(), "npz": npz(final=array, key=array, chunk=array)}


def test_the_payload_works(tmp_path):
    pickle.loads(poisoned(tmp_path / "mark")["pickle"]).close()
    assert (tmp_path / "mark").exists()


@pytest.mark.parametrize("form", ["pickle", "npy", "npz"])
def test_payloads_stay_asleep(form, tmp_path):
    pytest.importorskip("torch")
    import hashlib
    import json
    mark, content = tmp_path / "mark", poisoned(tmp_path / "mark")[form]
    digest = hashlib.sha256(content)
    (tmp_path / "t.npz").write_bytes(content)
    meta = {"sha256": digest.hexdigest(), "rounds": 1, "replicates": 1, "seed": 0, "device": "cpu", "tail_rounds": 1,
            "audit": None, "audited": 0, "provenance": {}}
    (tmp_path / "t.json").write_text(json.dumps(meta))
    with pytest.raises(ft.BadInput, match="cannot be read"):
        ft.Trace.load(tmp_path / "t")
    (tmp_path / "c").write_bytes(content + digest.digest())
    with pytest.raises(ft.BadInput, match="cannot be read"):
        ft.run(calls.fedavg(), calls.problem(), ft.Full(), 2, checkpoint=tmp_path / "c")
    (tmp_path / "d.csv").write_bytes(content)
    with pytest.raises(ft.BadInput):
        ft.read_ridge(tmp_path / "d.csv", "a", "b")
    assert not mark.exists()
