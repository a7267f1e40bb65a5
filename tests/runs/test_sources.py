"""A checkpoint belongs to the code that wrote it: metrics, the user's classes and fltheory itself."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fltheory as ft
from fltheory.runs import checkpoint, sources
from fltheory.runs.sources import digest
from tests.algorithms.instances import quadratic
from tests.runs.test_checkpoints import go, interrupted, same
from tests.runs.traces import LR

ROOT = Path(__file__).resolve().parents[2]


def made(text, name="f", **names):
    """What a cell of a notebook defines under a name: without a file, so without a source."""
    names = {"__name__": "__main__", "np": np, "ft": ft, **names}
    exec(compile(text, "<cell>", "exec"), names)
    return names[name]


def test_one_text_has_one_digest():
    for text in ("f = lambda x: x[:, 0] * 2", "def f(x, k=3):\n    return [x * i for i in range(k)]"):
        assert digest(made(text)) == digest(made("\n\n" + text))   # wherever it stands


PAIRS = {
    "a lambda's body": ("f = lambda x: x[:, 0]", "f = lambda x: x[:, 1]"),
    "an operation": ("f = lambda x: x + 1", "f = lambda x: x - 1"),
    "a method's name": ("f = lambda x: x.sum(-1)", "f = lambda x: x.prod(-1)"),
    "a default": ("def f(x, k=1): return x * k", "def f(x, k=2): return x * k"),
    "a keyword default": ("def f(x, *, k=1): return x * k", "def f(x, *, k=2): return x * k"),
    "a closure": ("def g(k):\n return lambda x: x * k\nf = g(1)", "def g(k):\n return lambda x: x * k\nf = g(2)"),
    "an array in a closure": ("def g(k):\n return lambda x: x * k\nf = g(np.ones(3))",
                              "def g(k):\n return lambda x: x * k\nf = g(np.array([1., 1., 2.]))"),
    "an inner function": ("def f(x):\n h = lambda y: y + 1\n return h(x)", "def f(x):\n h = lambda y: y + 2\n return h(x)"),
    "a helper": ("def h(x): return x\ndef f(x): return h(x)", "def h(x): return 2 * x\ndef f(x): return h(x)"),
    "a constant of the module": ("K = 1\ndef f(x): return x * K", "K = 2\ndef f(x): return x * K"),
    "a bound argument": ("import functools\nf = functools.partial(max, 1)", "import functools\nf = functools.partial(max, 2)"),
    "an object": ("class A:\n def __call__(self, x): return self.k\nf = A()\nf.k = 1",
                  "class A:\n def __call__(self, x): return self.k\nf = A()\nf.k = 2"),
    "an object's class": ("class A:\n def __call__(self, x): return 1\nf = A()",
                          "class A:\n def __call__(self, x): return 2\nf = A()"),
    "a method's object": ("class A:\n def m(self, x): return self.k\na = A()\na.k = 1\nf = a.m",
                          "class A:\n def m(self, x): return self.k\na = A()\na.k = 2\nf = a.m"),
    "an object with slots": ("class A:\n __slots__ = ('k',)\nf = A()\nf.k = 1", "class A:\n __slots__ = ('k',)\nf = A()\nf.k = 2"),
    "a range": ("f = lambda x, r=range(3): x", "f = lambda x, r=range(4): x"),
    "a class attribute": ("class A:\n k = 1\nf = A", "class A:\n k = 2\nf = A"),
    "a base class": ("class B:\n def m(self): return 1\nclass A(B): pass\nf = A",
                     "class B:\n def m(self): return 2\nclass A(B): pass\nf = A"),
    "a property": ("class A:\n m = property(lambda self: 1)\nf = A", "class A:\n m = property(lambda self: 2)\nf = A"),
    "a builtin": ("def f(x): return max(x)", "def f(x): return min(x)"),
    "an unpacked set": ("f = lambda x: x in {1, 2}", "f = lambda x: x in {1, 3}"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_two_functions_under_one_name_are_told_apart(name):
    one, other = PAIRS[name]
    assert digest(made(one)) == digest(made(one)) != digest(made(other))


def test_cycles_end_and_memory_addresses_do_not_count():
    text = "def f(x, n=3):\n return x if n == 0 else f(x, n - 1)\nf.me = f\nf.thing = object()"
    assert digest(made(text)) == digest(made(text))
    assert digest(object()) == digest(object()) and digest([1, [2]]) != digest([1, 2])
    assert digest(ft.optimum) == digest(ft.optimum)


def test_what_a_law_remembers_does_not_count():
    law, problem = ft.Bernoulli(("1/2", "1/3", 1), steps=1), quadratic()[0]
    before = digest(law, problem)
    ft.run(ft.FedAvg(LR), problem, law, 2)
    assert digest(law, problem) == before != digest(ft.Bernoulli(("1/2", "1/4", 1), steps=1), problem)


def test_a_fresh_process_finds_the_same_digests():
    code = ("import numpy as np\nimport fltheory as ft\nfrom fltheory.runs.sources import digest\n"
            "k = frozenset('abcdefgh')\nclass A(ft.FedAvg):\n    def server(self, *a):\n        return super().server(*a)\n"
            "print(digest(lambda x: x in {'a', 'b', 'c', 'd'} and k, A, A('1/2', 1), np.eye(2), ft.Quadratic([[[1]]], [[0]])))")
    found = {subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
                            capture_output=True, text=True, timeout=60).stdout for seed in ("0", "1", "2")}
    assert len(found) == 1 and len(found.pop()) == 65


# ---- checkpoints ---------------------------------------------------------------------------------------------
def test_another_function_under_the_same_name_is_refused(tmp_path):
    path = tmp_path / "c.npz"
    interrupted(path, 5)
    with pytest.raises(ft.BadInput, match=r"other functions as metrics\. Delete it"):
        go(path, metric=lambda x: x[:, 1])
    assert path.exists()
    same(go(path), go(None))


def test_lambdas_of_notebooks_resume(tmp_path):
    path, text = tmp_path / "c.npz", "def g(k):\n    return lambda x: x[:, 0] * k\nf = g(np.float64(2))"
    interrupted(path, 5, metric=made(text))
    with pytest.raises(ft.BadInput, match="metrics"):
        go(path, metric=made(text.replace("2", "3")))
    same(go(path, metric=made(text)), go(None, metric=made(text)))


MINE = ("from dataclasses import dataclass\nclass Base(ft.FedAvg):\n    def server(self, x, cohort, draw, change, mass):\n"
        "        return x + change.sum(-2) / 3\n@dataclass(frozen=True)\nclass Mine(Base):\n    k: object = 1\n")


def test_code_of_the_users_classes_counts(tmp_path):
    path = tmp_path / "c.npz"
    interrupted(path, 5, algorithm=made(MINE, "Mine")(LR, 2))
    with pytest.raises(ft.BadInput, match="other code of algorithm"):
        go(path, algorithm=made(MINE.replace("/ 3", "/ 4"), "Mine")(LR, 2))       # of a base class
    with pytest.raises(ft.BadInput, match="other arguments"):
        go(path, algorithm=made(MINE, "Mine")(LR, 2, k=2))
    same(go(path, algorithm=made(MINE, "Mine")(LR, 2)), go(None, algorithm=made(MINE, "Mine")(LR, 2)))


def test_code_of_the_users_solvers_laws_and_problems_counts():
    keys = [digest(made(f"class A(ft.{base}):\n    def {name}(self, *a):\n        return {k}", "A"))
            for base, name in (("Vanilla", "step"), ("Full", "sample"), ("Quadratic", "_gradient")) for k in (1, 2)]
    assert len(set(keys)) == 6


def test_another_version_of_fltheory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "c.npz"
    interrupted(path, 5)
    monkeypatch.setattr(checkpoint, "engine", lambda: "of another text")
    with pytest.raises(ft.BadInput, match="other version of fltheory"):
        go(path)


def test_the_engine_is_every_file_of_the_package(monkeypatch):
    before, read = sources.engine.__wrapped__(), Path.read_bytes
    assert before == sources.engine.__wrapped__()
    for name in ("core/laws/base.py", "core/numbers/arrays.py", "runs/batched.py"):
        changed = Path(ft.__file__).parent / name
        monkeypatch.setattr(Path, "read_bytes", lambda p, changed=changed: read(p) + b"#" * (p == changed))
        assert sources.engine.__wrapped__() != before


# ---- what is no file -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", ["/dev/full", "/dev/null", "/dev/zero", "/proc/self/mem", "folder", "pipe", "", b"bytes", 3,
                                  "a\0b"], ids=repr)
def test_what_is_no_regular_file_is_refused_at_once(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(Path, "read_bytes", lambda p: pytest.fail(f"{p} was read"))
    with pytest.raises(ft.BadInput, match="checkpoint = "):
        go(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "pipe"]


@pytest.mark.parametrize("name", ["n" * 300, "no/such/folder/c.npz", "file/c.npz", "/proc/none"], ids=lambda n: n[:20])
def test_what_cannot_be_made_is_refused_before_the_work(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ft.BadInput, match="checkpoint = "):
        go(name, metric=lambda x: pytest.fail("rounds were run"))
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
