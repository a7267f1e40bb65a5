"""Progress on stderr, the version, and the log that `-v` shows."""

import io
import logging
import time
from pathlib import Path

import pytest

from fltheory.cli import main
from fltheory.cli import progress as module
from fltheory.cli.progress import Progress, logged
from tests.verdicts.claims.folders import paper
from tests.verifying import FEDNOVA

FIGURES = """
from fltheory.verdicts.report.figures import Figure
from fltheory.pictures import canvas

FIGURES = {name: Figure(lambda: [{"x": 1.0}], lambda rows: canvas(1)[0], "A line.") for name in ("one", "two")}
"""


class Screen(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_one_line_that_gives_way_and_goes(monkeypatch):
    screen = Screen()
    with Progress("deciding", stream=screen) as progress:
        progress.update(3, 70, ["own/a\x1b[2J", "own/b"])
        line = screen.getvalue().rpartition("\r\x1b[K")[2]
        assert line == "[3/70] deciding own/a [2J (0 s), own/b (0 s)"
        with progress.aside():
            assert screen.getvalue().endswith("\r\x1b[K")
        assert screen.getvalue().endswith(line)
        progress.update(4, 70, ["own/b"])
        assert screen.getvalue().endswith("[4/70] deciding own/b (0 s)")
    assert screen.getvalue().endswith("\r\x1b[K") and "\n" not in screen.getvalue()


def test_the_line_is_rewritten_while_nothing_else_happens(monkeypatch):
    monkeypatch.setattr(module, "EVERY", 0.01)
    screen = Screen()
    with Progress("searching", stream=screen) as progress:
        progress.update(0, 0, ["own/a"])
        deadline = time.monotonic() + 10
        while screen.getvalue().count("searching own/a (") < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert screen.getvalue().count("searching own/a (") >= 3
    assert not progress.thread.is_alive()


def test_a_line_is_never_longer_than_the_terminal(monkeypatch):
    monkeypatch.setattr(module, "_columns", lambda stream: 30)
    screen = Screen()
    with Progress("deciding", stream=screen) as progress:
        progress.update(0, 2, ["own/" + "long" * 20])
        assert len(screen.getvalue().rpartition("\r\x1b[K")[2]) == 29


@pytest.mark.parametrize("wanted", [False, True])
def test_a_pipe_gets_whole_lines_if_asked_and_nothing_else(monkeypatch, wanted):
    monkeypatch.setattr(module, "STILL", 0.01)
    pipe = io.StringIO()
    with Progress("deciding", wanted, pipe) as progress:
        progress.update(0, 2, ["own/a"])
        progress.update(0, 2, ["own/a", "own/b"])
        deadline = time.monotonic() + 10
        while wanted and "still" not in pipe.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        with progress.aside():
            pass
        progress.update(2, 2, [])
    lines = pipe.getvalue().splitlines()
    assert [line for line in lines if "still" not in line] == (
        ["fltheory: [0/2] deciding own/a", "fltheory: [0/2] deciding own/b"] if wanted else [])
    assert wanted == any(line == "fltheory: still [0/2] deciding own/a (0 s), own/b (0 s)" for line in lines)


def test_a_terminal_that_is_gone_ends_nothing():
    class Gone(Screen):
        def write(self, text):
            raise OSError("gone")

    with Progress("deciding", stream=Gone()) as progress:
        progress.update(0, 1, ["own/a"])
        with progress.aside():
            pass


def test_the_log_takes_the_place_of_the_line():
    with logged(1):
        assert not Progress("deciding", stream=Screen()).on
        assert Progress("deciding", True, stream=Screen()).on
    assert Progress("deciding", stream=Screen()).on


# ---- commands ---------------------------------------------------------------------------------------------
def test_the_version(capsys):
    with pytest.raises(SystemExit) as done:
        main(["--version"])
    assert done.value.code == 0
    assert capsys.readouterr().out == "fltheory 0.1.0\n"


@pytest.mark.parametrize("argv", [["-v", "verify"], ["verify", "-v"], ["-vv", "verify"], ["--verbose", "verify"]], ids=" ".join)
def test_the_log_is_quiet_unless_asked_for(tmp_path, capsys, argv):
    folder = str(paper(tmp_path / "quietly"))
    logger = logging.getLogger("fltheory")
    before = list(logger.handlers), logger.level
    assert main(["verify", folder, "--only", "half"]) == 0
    quiet = capsys.readouterr()
    assert quiet.err == ""
    assert main([*argv, folder, "--only", "half"]) == 0
    heard = capsys.readouterr()
    assert heard.out == quiet.out
    assert "deciding own/half" in heard.err
    assert ("own/half on two: HOLDS" in heard.err) == ("-vv" in argv)
    assert (list(logger.handlers), logger.level) == before


def test_the_log_cannot_drive_the_terminal(capsys):
    with logged(1):
        logging.getLogger("fltheory.verdicts.claims").info("named \x1b]0;%s\x07", "owned")
    assert "\\x1b]0;owned" in capsys.readouterr().err


def test_a_search_says_what_it_does_if_asked(capsys):
    pytest.importorskip("hypothesis")
    search = ["search", "eq26-28", str(FEDNOVA), "--tries", "3"]
    assert main([*search, "--progress"]) == 0
    assert capsys.readouterr().err == "fltheory: searching fednova/eq26-28\n"
    assert main(search) == 0
    assert capsys.readouterr().err == ""


def test_figures_say_which_is_drawn(tmp_path, capsys):
    folder = paper(tmp_path / "drawing")
    (folder / "figures.py").write_text(FIGURES)
    assert main(["figures", str(folder), "--out", str(tmp_path / "out"), "--progress"]) == 0
    printed = capsys.readouterr()
    assert printed.err == "".join(f"fltheory: [{k}/2] regenerating own/{name}\n" for k, name in enumerate(("one", "two")))
    assert printed.out.splitlines()[0].endswith("one.csv") and "own-two.png" in printed.out


@pytest.mark.parametrize("name", ["two", "own/two", "own-two"])
def test_a_figure_is_named_alone_or_with_its_paper(tmp_path, capsys, name):
    folder = paper(tmp_path / "drawing")
    (folder / "figures.py").write_text(FIGURES)
    assert main(["figures", str(folder), "--out", str(tmp_path / "out"), "--only", name]) == 0
    assert [Path(line).name for line in capsys.readouterr().out.splitlines()] == ["two.csv", "own-two.png", "own-two.svg"]


def test_why_a_claim_could_not_be_decided_stands_under_it(tmp_path, capsys):
    folder = paper(tmp_path / "failing", total="1 / (i.k - i.k)")
    assert main(["verify", str(folder), "--only", "half"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("own/half") and " ERROR " in lines[0]
    assert lines[1].startswith("    two: ERROR, ZeroDivisionError: ") and "line" in lines[1]
