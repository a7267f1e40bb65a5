"""Rules of the house: which part may import which, what stays light, what no file may contain."""

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fltheory
from fltheory.algorithms.catalogue import discover

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "fltheory"
FILES = sorted(PACKAGE.rglob("*.py"))

ROOMS = ("verdicts", "blackbox", "workbench")   # which do not know each other

# One direction: a part imports itself and those on earlier lines, also inside functions.
LAYERS = [
    {"core.kinds", "core.digests", "core.errors", "core.libraries", "core.numbers", "core.records", "core.tables",
     "core.statistics", "core.evidence", "core.relations"},
    {"core.problems"},
    {"core.laws"},
    {"core.algorithms"},
    {"core.operators", "core.optima"},  # here the core ends
    {"algorithms", "large", "runs", "worstcase", "proofs", "pictures"},
    {"derivation", "asynchronous"},
    {"analysis", "schedules", "mutants"},
    {"verdicts.comparison_text", "verdicts.folders", "verdicts.gallery", "verdicts.parts", "verdicts.records", "verdicts.typed"},
    {"verdicts.report"},
    {"verdicts.claims", "verdicts.search", "verdicts.deciding", "verdicts.papers", "verdicts.verdict_text"},
    {"blackbox", "workbench.conformance", "workbench.comparison", "workbench.table"},
    {"verdicts.verify", "verdicts.calibration", "verdicts.assertions", "workbench.assertions"},
    {"skeletons", "doctor"},
    {"cli", "pytest_plugin", "__main__"},
]
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
LIMIT = 450


def part_of(module):
    """The part of a dotted module name without `fltheory.`: a folder of the core or of a room, or what lies beside them."""
    names = module.split(".")
    return ".".join(names[:2]) if names[0] in ("core", "verdicts", "workbench") else names[0]


def executed(node):
    """Iterate over a tree without what stands below `if TYPE_CHECKING`, which type checkers alone read."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            yield from (inner for branch in child.orelse for inner in executed(branch))
        else:
            yield from executed(child)


def modules_imported(path):
    """Modules of fltheory that a file imports, anywhere in it, without `fltheory.`."""
    package = ["fltheory", *path.relative_to(PACKAGE).parent.parts]
    for node in executed(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [a.name.split(".") for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = base + (node.module or "").split(".") if node.module else base
            names = [[*base, a.name] for a in node.names]
        else:
            continue
        yield from (".".join(name[1:]) for name in names if name[0] == "fltheory" and len(name) > 1)


def parts_imported(path):
    """The parts that a file imports; public names of fltheory itself are none."""
    return {part for part in map(part_of, modules_imported(path)) if part in LEVEL}


def module_of(path):
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def test_dependencies_point_one_way():
    wrong = []
    for path in FILES:
        here = part_of(module_of(path))
        if here == "__init__" or (here in ("core", *ROOMS) and here not in LEVEL):
            wrong += [(path, p) for p in parts_imported(path)]
            continue
        assert here in LEVEL, f"give {here} a place in LAYERS"
        wrong += [(here, p) for p in parts_imported(path) if LEVEL[p] > LEVEL[here]]
    assert not wrong


def test_the_core_imports_nothing_else_of_the_package():
    core = [path for path in FILES if module_of(path).startswith("core.")]
    assert len(core) > 50 and not {(path, m) for path in core for m in modules_imported(path) if not m.startswith("core")}


def test_a_copy_of_the_core_alone_derives_fedavg(tmp_path):
    shutil.copytree(PACKAGE / "core", tmp_path / "fltheory" / "core")
    (tmp_path / "fltheory" / "__init__.py").touch()
    code = ("import fltheory\n"
            "from fltheory.core.algorithms.fedavg import FedAvg\nfrom fltheory.core.laws.memoryless import Uniform\n"
            "from fltheory.core.numbers.scalars import RATIONAL\nfrom fltheory.core.operators.operator import listed\n"
            "from fltheory.core.operators.setting import prepare\nfrom fltheory.core.problems.quadratic import Quadratic\n"
            "args = FedAvg('1/10', 2), Quadratic([[[1]], [[3]]], [[1], [-1]])\n"
            "print(fltheory.__file__, listed(*args, prepare(*args, Uniform(1), None), domain=RATIONAL).fixed_point().x)")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)},
                          capture_output=True, text=True, check=True)
    # the fixed point of the mean of x -> (81 x + 19)/100 and x -> (49 x - 51)/100
    assert done.stdout.split(maxsplit=1) == [str(tmp_path / "fltheory" / "__init__.py"), "[Fraction(-16, 35)]\n"]


def test_rooms_stand_on_the_core_and_not_on_each_other():
    wrong = set()
    for path in FILES:
        here = part_of(module_of(path))
        room = here.split(".")[0]
        if room in ROOMS:
            wrong |= {(here, p) for p in parts_imported(path) if p.split(".")[0] in {*ROOMS} - {room}}
    assert not wrong


def circles(imports):
    """Groups of modules that import each other, of {module: modules it imports}: what is left where leaves are taken away."""
    left = {m: {k for k in names if k in imports and k != m} for m, names in imports.items()}
    while leaves := {m for m, names in left.items() if not names} | (set(left) - set().union(*left.values())):
        left = {m: names - leaves for m, names in left.items() if m not in leaves}
    return sorted(left)


def test_no_modules_import_each_other_in_a_circle():
    known = {module_of(path): path for path in FILES}
    imports = {m: {n if n in known else n.rpartition(".")[0] for n in modules_imported(path)} for m, path in known.items()}
    assert circles(imports) == []


def test_the_scan_for_circles_can_find_one():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == ["b", "c"]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_the_scan_sees_imports_inside_functions():
    assert {"runs", "derivation", "core.problems"} <= parts_imported(PACKAGE / "verdicts" / "claims" / "instance.py")
    assert parts_imported(PACKAGE / "verdicts" / "report" / "html.py") == {"verdicts.records", "verdicts.report"}


def test_importing_the_package_is_light():
    code = "import fltheory, json, sys; dir(fltheory); print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert not loaded & {
        "torch",
        "cvxpy",
        "sympy",
        "matplotlib",
        "matplotlib.pyplot",
        "scipy",
        "scipy.stats",
        "flint",
        "hypothesis",
        "pytest",
    }


def test_a_small_run_loads_neither_torch_nor_sympy():
    code = ("import fltheory as ft, sys; problem = ft.Quadratic.from_linear([[[2]], [[1]]], [[1], [0]]);"
            "ft.run(ft.Scaffold('1/10', 2), problem, ft.Uniform(1), 3, 4, noise=1); print({'torch', 'sympy'} & set(sys.modules))")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_plugin_imports_only_the_standard_library_and_pytest():
    for node in ast.parse((PACKAGE / "pytest_plugin.py").read_text()).body:
        names = (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        assert {n.split(".")[0] for n in names} <= sys.stdlib_module_names | {"pytest"}


# ---- files ------------------------------------------------------------------------------------------------
def test_no_file_is_long():
    assert not [p for p in (*FILES, *(ROOT / "verification").rglob("*.py")) if len(p.read_text().splitlines()) > LIMIT]


def test_no_module_is_a_drawer():
    assert not [p for p in FILES if p.stem in ("utils", "util", "helpers", "common", "misc", "tools")]


def text_files():
    """What version control would track: everything but ignored folders and binary files."""
    ignored = {line.rstrip("/") for line in (ROOT / ".gitignore").read_text().split()} | {
        ".git",
        ".hypothesis",
        "shared",
    }
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        if (
            path.is_file()
            and not ignored & set(parts)
            and not any(p.endswith(".egg-info") for p in parts)
            and path.suffix
            in (
                ".py",
                ".md",
                ".toml",
                ".txt",
                ".csv",
                ".cfg",
                ".yml",
                ".yaml",
                ".ipynb",
                ".json",
                ".jsonl",
                "",
                ".html",
            )
        ):
            yield path


MACHINE = re.compile(r"(?<![\w.~-])/(?:home|work|root|Users|tmp|mnt|data|scratch|opt)/\w[\w./-]*")
HOSTS = re.compile(
    r"(?:index-url|extra-index|find-links|https?://[^\s/]*(?:pypi|mirror|artifactory|nexus|jfrog|proxy)[^\s/]*|://(?:10|127|192\.168)\.)"
)


def test_no_machine_leaves_its_mark():
    for path in text_files():
        text = path.read_text(encoding="utf-8", errors="replace")
        if path != Path(__file__):
            assert not MACHINE.findall(text) + HOSTS.findall(text), path


def test_the_scan_for_machines_can_find_something():
    assert MACHINE.findall("see /home/someone/project/file.py")
    assert HOSTS.findall("--" + "index-url https://example.org")
    assert not MACHINE.findall("a/tmp/b https://host/data/x eta/tau")


# ---- algorithms and public names --------------------------------------------------------------------------
def test_algorithms_define_no_operator():
    forbidden = {"fixed_point", "matrix", "operator", "rate", "floor", "stationary", "mean_map"}
    assert not [cls for cls in discover() if forbidden & {*vars(cls)}]
    assert discover()


@pytest.mark.parametrize("name", fltheory.__all__)
def test_every_public_name_resolves_and_says_what_it_is(name):
    if name in ("Torch", "Network", "run"):
        pytest.importorskip("torch")
    value = getattr(fltheory, name)
    assert (value.__doc__ or "").strip()
    assert not (value.__doc__ or "").startswith(f"{name}("), "a generated docstring"
    assert name in dir(fltheory)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'FedNothing'"):
        _ = fltheory.FedNothing


def test_every_module_says_what_it_is_for():
    for path in FILES:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        assert ast.get_docstring(ast.parse(path.read_text())) or path.name == "__main__.py", name


def test_the_version_is_that_of_the_project_file():
    import tomllib

    assert (
        tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
        == importlib.import_module("fltheory").__version__
    )
