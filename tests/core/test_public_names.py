"""The front door: every public name answers, and mypy reads the module that it stands in."""
import tomllib
from pathlib import Path

import pytest

import fltheory as ft

ROOT = Path(__file__).parents[2]
CHECKED = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["files"]


@pytest.mark.parametrize("module", sorted(set(ft._WHERE.values())))
def test_mypy_reads_the_modules_of_the_public_names(module):
    path = Path("fltheory", *module.split("."))
    path = path / "__init__.py" if (ROOT / path).is_dir() else path.with_suffix(".py")
    assert (ROOT / path).is_file()
    assert any(path == Path(f) or Path(f) in path.parents for f in CHECKED), f"add {path} to [tool.mypy] in pyproject.toml"
