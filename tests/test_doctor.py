"""What the doctor finds, on this machine and on machines where something is missing."""

import re
from importlib import metadata
from pathlib import Path

import pytest

from fltheory import doctor

ROOT = Path(__file__).parents[1]


@pytest.fixture
def without(monkeypatch):
    """A machine on which some libraries are not installed; torch is not asked."""

    def miss(*names):
        modules = {doctor.MODULES.get(n, n) for n in names}
        versions, have = doctor.version_of, doctor.have
        monkeypatch.setattr(doctor, "version_of", lambda n: None if n in names else versions(n))
        monkeypatch.setattr(doctor, "have", lambda m: m not in modules and have(m))
        monkeypatch.setattr(doctor, "accelerator", dict)
        return doctor.diagnose(ROOT)

    return miss


def row(found, name):
    return next(r for r in found["libraries"] if r["name"] == name)


def test_every_declared_dependency_has_a_row_and_a_purpose(without):
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"], *project["optional-dependencies"]["cluster"]]
    found = without()
    assert {r["name"] for r in found["libraries"]} == {re.match(r"[\w-]+", d)[0] for d in declared}
    assert all(r["needed_for"] for r in found["libraries"])
    assert {doctor.MODULES.get(r["name"], r["name"]) for r in found["libraries"]} >= set(doctor.needs())


def test_purposes_are_read_from_where_a_library_is_asked_for():
    found = doctor.needs()
    assert "counter-example search" in found["hypothesis"]
    assert "ball arithmetic" in found["flint"]


def test_a_missing_optional_library_is_named_with_what_is_skipped(without):
    found = without("hypothesis", "python-flint", "matplotlib")
    assert found["ok"]
    assert {s["missing"] for s in found["skipped"]} == {"hypothesis", "python-flint"}
    text = doctor.text(found)
    assert re.search(r"hypothesis +MISSING +counter-example search -> SKIPPED", text)
    assert "will be SKIPPED without python-flint: " in text and "ball arithmetic" in text
    assert "will be SKIPPED without hypothesis: that\n" in text
    assert "without matplotlib" not in text and "-> less is shown" in text
    assert text.endswith("ready")


def test_every_purpose_is_said_once(without):
    for found in (without(), without("python-flint", "cvxpy", "distributed")):
        text = doctor.text(found)
        assert all(text.count(r["purpose"]) == 1 for r in found["libraries"])
        assert all(len(line) < 120 for line in text.splitlines() if line.startswith("  "))
        for missing in found["skipped"]:
            line = next(v for v in text.splitlines() if v.startswith(f"will be SKIPPED without {missing['missing']}:"))
            parts = line.partition(": ")[2].split("; ")
            assert len(set(parts)) == len(parts)


def test_a_missing_required_library_is_not_ready(without):
    found = without("numpy")
    assert not found["ok"]
    assert doctor.text(found).endswith("not ready: numpy")


def test_an_old_library_is_no_present_one(without, monkeypatch):
    versions = doctor.version_of
    monkeypatch.setattr(doctor, "version_of", lambda n: "1.0" if n in ("scipy", "torch") else versions(n))
    found = without()
    assert not found["ok"] and not row(found, "scipy")["ok"] and not row(found, "torch")["ok"]
    assert "1.0, needs >= " in doctor.text(found)
    assert doctor.text(found).endswith("not ready: scipy")


@pytest.mark.parametrize(
    ("version", "minimum", "enough"),
    [("2.13.0+cpu", "2.4", True), ("2.4", "2.4.0", True), ("2.3.9", "2.4", False), ("1.10", "1.9", True),
     ("3.0rc1", "3", True), ("0.7", "1", False)],
)
def test_versions_are_compared_by_their_numbers(version, minimum, enough):
    assert doctor.at_least(version, minimum) == enough


def test_constraints_accept_any_build_of_the_pinned_version(tmp_path, monkeypatch):
    (tmp_path / "constraints.txt").write_text("torch==2.13.0\nnumpy==2.4.6\nabsent==1.0\n# a comment\n")
    installed = {"torch": "2.13.0+cu126", "numpy": "2.0.0"}
    monkeypatch.setattr(doctor, "version_of", installed.get)
    found = doctor.constraints(tmp_path)
    assert found == {"found": True, "violated": [{"name": "numpy", "version": "2.0.0", "pin": "2.4.6"}]}
    monkeypatch.setattr(doctor, "PACKAGE", tmp_path / "nowhere" / "fltheory")
    assert doctor.constraints(tmp_path / "nowhere") == {"found": False, "violated": []}


def test_papers_and_threads(without, monkeypatch, tmp_path):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    found = without()
    assert "fednova" in found["papers"] and found["cores"] >= 1
    assert "OMP_NUM_THREADS=3" in doctor.text(found)
    for name in doctor.THREADS:
        monkeypatch.delenv(name, raising=False)
    nothing = doctor.diagnose(tmp_path)
    assert "no thread variable is set" in doctor.text(nothing)
    assert "verification     not found here" in doctor.text(nothing)


def test_the_torch_build_is_named():
    torch = pytest.importorskip("torch")
    found = doctor.accelerator()
    assert found["build"] == torch.__version__
    assert bool(found["gpus"]) == torch.cuda.is_available()
    assert torch.__version__ in doctor._torch(found)
    assert doctor._torch({}) == "torch      not installed"
    assert "cannot be imported: no libc" in doctor._torch({"broken": "no libc"})
    assert "devices: cpu, H200" in doctor._torch({"build": "2", "cuda": "12.6", "gpus": ["H200"], "threads": 4})


def test_without_an_installed_package_the_list_still_stands(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    names = doctor.declared()
    assert {"numpy", "torch", "python-flint", "cvxpy", "hypothesis"} <= set(names)
    assert "flint" not in names


def test_without_the_cluster_extra_nothing_is_skipped(without):
    found = without("distributed")
    assert found["ok"] and not found["skipped"]
    assert re.search(r"distributed +MISSING .*-> this machine alone works", doctor.text(found))
