"""What the committed notebooks contain; `make test` also executes them."""
import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
DRAWS = re.compile(r"\.plot\(\)|\bFigure\(|\bpyplot\b")


def cells(path):
    """The sources of the code cells."""
    return ["".join(c["source"]) for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_that_draws_shows_its_pictures(path):
    """Without the magic a kernel shows `<Figure ...>` instead of the picture."""
    code = cells(path)
    if any(DRAWS.search(c) for c in code):
        assert code[0].startswith("%matplotlib inline\n")


def test_some_notebooks_draw():
    assert sum(any(DRAWS.search(c) for c in cells(p)) for p in NOTEBOOKS) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_are_committed_without_outputs(path):
    for c in json.loads(path.read_text())["cells"]:
        assert not c.get("outputs") and c.get("execution_count") is None
