"""The committed notebooks hold what they show when they are run."""
import copy
import json
import re

import pytest

from tests.notebook_outputs import LARGEST, NOTEBOOKS, alike, differences, shown

DRAWS = re.compile(r"\.plot\(\)|\bcanvas\(|\bpyplot\b")
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)


def code(path):
    """The code cells, each with its source as one text."""
    cells = json.loads(path.read_text())["cells"]
    return [c | {"source": "".join(c["source"])} for c in cells if c["cell_type"] == "code"]


@each
def test_a_notebook_that_draws_shows_its_pictures(path):
    """Without the magic a kernel shows `<Figure ...>` instead of the picture."""
    cells = code(path)
    if any(DRAWS.search(c["source"]) for c in cells):
        assert cells[0]["source"].startswith("%matplotlib inline\n")
        assert any(kind == "image/png" for c in cells for kind, _ in shown(c))


def test_some_notebooks_draw():
    assert sum(any(DRAWS.search(c["source"]) for c in code(p)) for p in NOTEBOOKS) >= 3


@each
def test_notebooks_are_committed_with_their_outputs(path):
    assert path.stat().st_size < LARGEST
    cells = code(path)
    assert [c["execution_count"] for c in cells] == list(range(1, len(cells) + 1))
    assert any(c["outputs"] for c in cells)
    kinds = {o["output_type"] for c in cells for o in c["outputs"]}
    assert kinds <= {"stream", "execute_result", "display_data"}     # no error
    assert str(path.parents[1]) not in path.read_text()


@each
def test_running_a_notebook_shows_what_is_committed(path):
    """If this fails: `python -m tests.notebook_outputs` writes the outputs anew; read what changed before committing it."""
    for library in ("nbclient", "ipykernel", "torch", "matplotlib", "flint", "cvxpy"):
        pytest.importorskip(library)
    from tests.notebook_outputs import execute
    assert differences(json.loads(path.read_text()), execute(path)) == []


def test_texts_are_compared_by_words_and_printed_digits():
    assert alike("rate 0.5734  at 0x7f00aa00bb in 3.1 s", "rate  0.5735 at 0x7f00cc00dd in 12 s")
    assert alike("<td>-4.4e-16</td>", "<td>1.9e-31</td>") and alike("1/3 of 12", "1/3 of 12")
    assert alike("|x_inf - x*|  ~0", "|x_inf - x*|  0")
    assert not alike("rate 0.5734", "rate 0.5754")
    assert alike("12 tries", "13 tries", loose=True) and not alike("12 tries", "13 tries")
    assert not alike("SUPPORTED", "FALSE") and not alike("SUPPORTED", "FALSE", loose=True)


def test_a_stale_notebook_is_noticed():
    with_picture = next(json.loads(p.read_text()) for p in NOTEBOOKS if p.stem == "fednova")
    assert differences(with_picture, with_picture) == []
    k = next(k for k, c in enumerate(with_picture["cells"]) if c.get("outputs") and shown(c)[0][0] == "image/png")
    stale = copy.deepcopy(with_picture)
    stale["cells"][k]["outputs"] = []
    assert [d[0] for d in differences(stale, with_picture)] == [k]
    other = copy.deepcopy(with_picture)
    other["cells"][k]["outputs"][0]["data"]["image/png"] = "other bytes"
    assert differences(other, with_picture) == []
    text = next(c for c in stale["cells"] if c.get("outputs") and shown(c)[0][0] == "text")
    text["outputs"][0]["text"] = ["something else"]
    assert len(differences(stale, with_picture)) == 2
