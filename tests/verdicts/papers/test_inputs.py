"""Which content the verdicts of a process belong to: stamps of a paper's inputs, and whether they still hold."""

import os
import shutil
import sys
import types

import pytest

import fltheory
from fltheory.verdicts.papers import inputs
from fltheory.verdicts.papers.discover import load
from fltheory.verdicts.papers.inputs import Stamp
from tests.verdicts.claims.folders import paper


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A paper beside a small engine of its own, so that nobody else's edits are seen."""
    engine = tmp_path / "engine"
    (engine / "laws").mkdir(parents=True)
    (engine / "laws" / "base.py").write_text("x = 1\n")
    monkeypatch.setattr(inputs, "ENGINE", engine)
    monkeypatch.setattr(inputs, "_STAMPS", {})
    return paper(tmp_path / "papers")


CHANGES = {
    "an edit": lambda f: (f / "formulas.py").write_text("x = 2\n"),
    "data": lambda f: (f / "data.bin").write_bytes(b"\0"),
    "a file that goes": lambda f: (f / "witnesses" / "f1.py").unlink(),
    "a name": lambda f: (f / "witnesses" / "f1.py").rename(f / "witnesses" / "f2.py"),
    "a place": lambda f: (f / "witnesses" / "f1.py").rename(f / "f1.py"),
    "the ledger": lambda f: (f / "ledger.csv").write_text((f / "ledger.csv").read_text() + "\n"),
    "the bugs": lambda f: (f.parent / "bugs.py").write_text("x = 2\n"),
    "a module beside the papers": lambda f: (f.parent / "shared.py").write_text("x = 2\n"),
    "the engine": lambda f: (inputs.ENGINE / "laws" / "base.py").write_text("x = 22\n"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_is_written_changes_the_stamp(folder, name):
    stamp = Stamp(folder)
    assert stamp.changed() == "" and Stamp(folder).digest == stamp.digest
    CHANGES[name](folder)
    assert stamp.changed()
    assert Stamp(folder).digest != stamp.digest and Stamp(folder).changed() == ""


def test_an_edit_that_is_taken_back_was_an_edit(folder):
    stamp, text = Stamp(folder), (folder / "formulas.py").read_text()
    times = os.stat(folder / "formulas.py")
    while os.stat(folder / "formulas.py").st_ctime_ns == times.st_ctime_ns:  # file systems count in milliseconds
        (folder / "formulas.py").write_text(text.upper())
        (folder / "formulas.py").write_text(text)
        os.utime(folder / "formulas.py", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert stamp.changed().endswith("formulas.py")  # something may have been imported in between
    assert Stamp(folder).digest == stamp.digest


def test_what_is_for_readers_and_for_python_alone_is_no_input(folder):
    stamp = Stamp(folder)
    (folder / "__pycache__").mkdir()
    for name in ("answer.md", "figure.png", "__pycache__/formulas.cpython-311.pyc", ".formulas.py.swp"):
        (folder / name).write_bytes(b"x")
    (folder / "gone").symlink_to(folder / "nowhere")
    assert stamp.changed() == "" and Stamp(folder).digest == stamp.digest


def test_a_copy_elsewhere_and_of_another_name_has_the_same_content(folder, tmp_path):
    copy = tmp_path / "elsewhere" / "other"
    shutil.copytree(folder, copy)
    shutil.copy(folder.parent / "bugs.py", copy.parent)
    assert Stamp(copy).digest == Stamp(folder).digest


def test_a_process_stamps_a_paper_before_it_reads_anything_of_it(folder, monkeypatch):
    read = []
    true = Stamp.__init__

    def early(self, path):
        read.append(("stamp", f"papers.{folder.name}.formulas" in sys.modules))
        true(self, path)

    monkeypatch.setattr(Stamp, "__init__", early)
    load(folder)
    load(folder)
    assert read == [("stamp", False)]
    assert inputs.stamp(folder) is inputs.stamp(folder / "claims" / "..")


def test_a_file_that_may_have_been_read_before_the_stamp_and_written_since_is_no_basis(folder, monkeypatch):
    module = types.ModuleType("read_before")
    module.__file__ = str(folder / "formulas.py")
    monkeypatch.setitem(sys.modules, "read_before", module)
    assert Stamp(folder).changed().endswith("formulas.py")
    monkeypatch.setattr(fltheory, "_BEGAN", os.stat(folder / "formulas.py").st_ctime_ns + 10**12)
    assert Stamp(folder).changed() == ""  # it was as it is before the process began


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_no_crash(folder):
    (folder / "data.csv").write_text("1")
    before = Stamp(folder).digest
    (folder / "data.csv").chmod(0)
    assert Stamp(folder).digest != before
