"""What a verdict rests on besides its options: the files of the engine and of its paper, by content.

Python imports a file once, so a process goes on using what it has read. A `Stamp` is therefore taken before a process
first loads a paper, and says later whether anything has been written since: only then is it known which content the
verdicts of this process belong to.
"""
from __future__ import annotations

import os
import sys
from pathlib import Path

import fltheory
from fltheory.core.digests import digest_of

ENGINE = Path(__file__).parents[2]
_ASIDE = (".pyc", ".md", ".png", ".pdf", ".tmp", "paper.toml")  # bytecode and what is for readers alone


def _walk(root):
    """(path, its stat) of the files below a folder, hidden ones and bytecode left out, in a fixed order."""
    with os.scandir(root) as entries:
        found = sorted(entries, key=lambda e: e.name)
    for entry in found:
        if entry.name.startswith(".") or entry.name == "__pycache__":
            continue
        if entry.is_dir():
            yield from _walk(entry.path)
        elif entry.is_file() and not entry.name.endswith(_ASIDE):
            yield entry.path, entry.stat()


def _beside(folder):
    """Modules beside the paper folders, such as bugs.py."""
    for path in sorted(folder.parent.glob("*.py")):
        yield str(path), path.stat()


def _files(folder) -> dict:
    """{path: what changes whenever the file is written} of all inputs of a paper."""
    found = [*_walk(ENGINE), *_walk(folder), *_beside(folder)]
    return {path: (s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for path, s in found}


class Stamp:
    """The inputs of a paper at one moment: `digest` of all contents, and whether anything has been written since."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.files = _files(self.folder)  # before the contents: what is written in between counts as changed
        self.digest = digest_of((self._name(Path(path)), _content(path)) for path in self.files)
        self.unsure = _read_before(self.folder, self.files)

    def _name(self, path):
        """A file's name in the digest; the folder's own is no input: a copy elsewhere gives the same verdicts."""
        if path.is_relative_to(ENGINE):
            return f"engine/{path.relative_to(ENGINE).as_posix()}"
        return f"papers/{path.relative_to(self.folder.parent).as_posix()}".replace(f"papers/{self.folder.name}/", "paper/", 1)

    def changed(self) -> str:
        """A file that is not surely the one this process has read, "" if there is none."""
        if self.unsure:
            return self.unsure
        try:
            now = _files(self.folder)
        except OSError as error:
            return str(error.filename or self.folder)
        return next((p for p in {**self.files, **now} if self.files.get(p) != now.get(p)), "")


def _content(path):
    try:
        return Path(path).read_bytes()
    except OSError as error:  # nor can a claim read it
        return f"unreadable: {error.strerror}".encode()


def _read_before(folder, files) -> str:
    """A file that this process may have imported before the stamp, and that was written after the process began."""
    loaded = {getattr(m, "__file__", None) for m in list(sys.modules.values())}
    return next((p for p, (_, _, written, _) in files.items() if written > fltheory._BEGAN and p in loaded), "")


_STAMPS: dict[Path, Stamp] = {}


def stamp(folder) -> Stamp:
    """The stamp of a paper folder in this process: the first call, before anything of it is imported, takes it."""
    folder = Path(folder).resolve()
    if folder not in _STAMPS:
        _STAMPS[folder] = Stamp(folder)
    return _STAMPS[folder]
