"""Committed tables regenerate, figures draw from them, and broken tables are refused."""
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fltheory.cli import main
from fltheory.core.errors import BadInput
from fltheory.pictures import canvas
from fltheory.verdicts.report.figures import Figure, figures_of, from_csv, regenerated, to_csv

FEDNOVA = Path(__file__).parents[3] / "verification" / "fednova"


def same(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-28)


@pytest.mark.parametrize("name", ["fig4", "map", pytest.param("fig2", marks=pytest.mark.slow)])
def test_committed_tables_regenerate(name, tmp_path):
    (tmp_path / "new.csv").write_text(to_csv(figures_of(FEDNOVA)[name].data()))
    fresh, committed = from_csv(tmp_path / "new.csv"), from_csv(FEDNOVA / "data" / f"{name}.csv")
    assert len(fresh) == len(committed)
    for a, b in zip(fresh, committed, strict=True):
        assert a.keys() == b.keys() and all(same(a[k], b[k]) for k in a), (a, b)


def test_figures_draw_from_their_tables(tmp_path):
    figures = [(FEDNOVA, name) for name in figures_of(FEDNOVA)]
    pictures = [p for _, written in regenerated(figures, tmp_path, fresh=False) for p in written if p.suffix == ".png"]
    assert {p.stem for p in pictures} == {f"fednova-{n}" for n in figures_of(FEDNOVA)}
    assert all(p.stat().st_size > 5_000 and p.with_suffix(".svg").is_file() for p in pictures)


@pytest.mark.parametrize("paper", ["fednova", "focus"])
def test_every_figure_has_a_key_and_a_caption(paper):
    folder = FEDNOVA.parent / paper
    for experiments in (False, True):
        for name, figure in figures_of(folder, experiments).items():
            drawn = figure.picture(from_csv(folder / "data" / f"{name}.csv"))
            drawn.draw_without_rendering()     # a layout is made when it is drawn
            assert drawn.legends and drawn._suptitle is None, name
            assert drawn._supxlabel.get_text().split() == figure.caption.split(), name
            texts = [*drawn.legends[0].get_texts(), drawn._supxlabel, *(ax.title for ax in drawn.axes)]
            assert all(t.get_fontsize() >= 8 for t in texts), name
            boxes = [t.get_window_extent() for t in texts if t.get_text()]
            assert all(b.x0 >= -1 and b.x1 <= drawn.bbox.width + 1 for b in boxes), name
            _labels_stand_apart(drawn, name)


def _labels_stand_apart(drawn, name):
    """A label is not longer than its axis by much, and keeps a letter's height from the panels beside its own."""
    gap = 4 * drawn.dpi / 72
    for ax in drawn.axes:
        label = ax.yaxis.label.get_window_extent()
        if not ax.get_ylabel():
            continue
        assert label.height <= 1.08 * ax.get_window_extent().height, (name, ax.get_ylabel())
        for other in (o for o in drawn.axes if o is not ax):
            box = other.get_tightbbox()
            assert (label.x0 > box.x1 + gap or label.x1 < box.x0 - gap or label.y0 > box.y1 or label.y1 < box.y0), (
                name, ax.get_ylabel())


def test_csv_keeps_every_digit(tmp_path):
    rows = [{"a": 0.1 + 0.2, "b": "x"}, {"a": float("inf"), "b": "y"}]
    (tmp_path / "t.csv").write_text(to_csv(rows))
    assert from_csv(tmp_path / "t.csv") == rows


def test_bad_tables_and_names_are_refused(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        from_csv(tmp_path / "missing.csv")
    with pytest.raises(BadInput, match="at least one row"):
        to_csv([])
    assert main(["figures", str(FEDNOVA), "--only", "nothing"]) == 2


def test_a_folder_without_figures_has_none(tmp_path):
    assert figures_of(tmp_path) == {}


def test_drawing_needs_no_display():
    figure, axes = canvas(2)
    axes[0][0].plot([1, 2], [3, 4])
    assert Figure(list, lambda rows: figure, "two axes").draw([]) is figure


TINY = """
from fltheory.verdicts.report.figures import Figure
from fltheory.pictures import canvas


def draw(rows):
    figure, axes = canvas(1)
    axes[0][0].plot([row["x"] for row in rows])
    return figure


FIGURES = {name: Figure(lambda k=k: [{"x": k / 3}], draw, f"{name}.") for k, name in enumerate(("one", "two"))}
EXPERIMENTS = FIGURES
"""


@pytest.mark.parametrize("executor", [None, 2])
def test_tables_are_the_same_wherever_they_are_computed(tmp_path, executor):
    folder = tmp_path / f"papers_on_{executor}" / "tiny"
    folder.mkdir(parents=True)
    for name in ("figures", "experiments"):
        (folder / f"{name}.py").write_text(TINY)
    found = dict(regenerated([(folder, "one"), (folder, "two")], tmp_path / "out", True, True, executor))
    assert set(found) == {(folder, "one"), (folder, "two")}
    assert (folder / "data" / "two.csv").read_text() == f"x\n{1 / 3!r}\n"
    assert '"numpy"' in (folder / "data" / "one.json").read_text() and (tmp_path / "out" / "tiny-one.png").is_file()


def test_a_worker_with_other_code_of_a_paper_is_refused(tmp_path):
    folder = tmp_path / "papers_that_differ" / "tiny"
    folder.mkdir(parents=True)
    (folder / "figures.py").write_text(TINY)
    with ThreadPoolExecutor(1) as pool:
        submit = pool.submit

        def elsewhere(work, task):
            return submit(work, (*task[:2], "of other files"))
        pool.submit = elsewhere
        with pytest.raises(BadInput, match="is not here with the code that asks for it"):
            list(regenerated([(folder, "one")], tmp_path / "out", executor=pool))
    assert not (folder / "data").exists()
