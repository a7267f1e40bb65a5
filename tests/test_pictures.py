"""The signs of the pictures: keys, intervals, captions, and files that are the same every day."""
import io

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from fltheory import pictures as p


def test_the_signs_of_the_convention_differ():
    lines = [p.PREDICTION, p.FLOOR, p.PRINTED]
    assert len({str(sign["linestyle"]) for sign in lines}) == len(lines)
    markers = [p.RUN, p.FIXED_POINT, p.OPTIMUM, p.CROSSING]
    assert len({sign["marker"] for sign in markers}) == len(markers)
    assert all(sign["linestyle"] == "none" for sign in markers)


def test_runs_are_markers_with_intervals_cut_above_zero():
    _, axes = p.canvas()
    made = p.runs(axes[0][0], [1, 2, 3], [1.0, 2.0, -1.0], np.array([0.5, 5.0, 3.0]), p.COLOURS[0])
    line, _, (bars,) = made.lines
    assert line.get_marker() == "o" and line.get_linestyle() == "None"
    low = [segment[0][1] for segment in bars.get_segments()]
    assert low == pytest.approx([0.5, 0.002, -4.0])
    single = p.runs(axes[0][0], [1, 2], [3, 4], marker="s")
    assert single.get_marker() == "s" and single.get_linestyle() == "None"


def test_a_key_says_every_sign_once_above_the_panels():
    figure, axes = p.canvas(2)
    made = p.key(figure, {"prediction": p.PREDICTION, "run": p.RUN | {"color": p.COLOURS[1]}, "no limit": {"facecolor": "white"}})
    assert [t.get_text() for t in made.get_texts()] == ["prediction", "run", "no limit"]
    assert [h.get_color() for h in made.legend_handles[:2]] == [p.GREY, p.COLOURS[1]]
    figure.draw_without_rendering()
    frame = made.get_window_extent()
    assert frame.y0 >= max(ax.get_window_extent().y1 for ax in axes[0]) and frame.x0 >= 0
    inside = p.key(axes[0][0], {"floor": p.FLOOR}, loc="lower left")
    assert inside is axes[0][0].get_legend()


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_keys_and_captions_fit_the_width(columns):
    figure, _ = p.canvas(columns, height=6)
    made = p.key(figure, {f"a method with a long name, number {k}": p.RUN for k in range(7)})
    p.caption(figure, "One sentence with $x_\\infty - x^\\star$ in it. " * 6)
    figure.draw_without_rendering()
    for box in (made.get_window_extent(), figure._supxlabel.get_window_extent()):
        assert box.x0 >= 0 and box.x1 <= figure.bbox.width
    assert figure._supxlabel.get_text().count("$") == 12
    assert all(line.count("$") % 2 == 0 for line in figure._supxlabel.get_text().splitlines())


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_equal_figures_give_equal_files(kind):
    def made():
        figure, axes = p.canvas()
        axes[0][0].plot([1, 2], [3, 4])
        held = io.BytesIO()
        p.save(figure, held, kind, "two points")
        return held.getvalue()
    assert made() == made()
    assert kind == "pdf" or b"two points" in made()


def test_pictures_have_200_dots_per_inch():
    from PIL import Image
    figure, _ = p.canvas(width=3, height=2)
    held = io.BytesIO()
    p.save(figure, held, "png")
    assert Image.open(held).size == (600, 400)
