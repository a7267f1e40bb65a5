"""How many cases the properties of this folder promise; each test counts that it ran as many as it promised."""
import importlib
from pathlib import Path

import pytest

pytest.importorskip("hypothesis")
pytest.importorskip("torch")

from tests.fuzz.budget import DECLARED


def test_there_are_enough_cases():
    for path in Path(__file__).parent.glob("test_*.py"):
        importlib.import_module(f"tests.fuzz.{path.stem}")
    fast, slow = (sum(v[k] for v in DECLARED.values()) for k in (0, 1))
    assert fast >= 500 and slow >= 10_000, (fast, slow)
