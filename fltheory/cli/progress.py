"""What is being done now, on stderr: for a reader who waits, never in what a program reads."""
from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time

from fltheory.core.tables import plain
from fltheory.verdicts.report.words import flat

EVERY = 1.0  # seconds between two looks of a terminal's line
STILL = 60.0  # seconds between two lines elsewhere


def with_progress(sub):
    """--progress: also where stderr is no terminal."""
    sub.add_argument("--progress", action="store_true", help="say on stderr what is being done (default: on a terminal)")


class Progress:
    """The names of what is being done, since when, and how much of it is done.

    On a terminal one line that is rewritten every second; elsewhere, if `wanted`, a line when something begins and one a
    minute while it lasts. With `fltheory -v` the log takes the terminal's place. Used as a context; `update` may be given
    to `verify` as on_progress.
    """

    def __init__(self, doing, wanted=False, stream=None):
        self.doing, self.stream = doing, stream or sys.stderr
        logged = logging.getLogger("fltheory").isEnabledFor(logging.INFO)
        self.live = self.stream.isatty() and not logged
        self.on = self.live or wanted
        self.done, self.total, self.since = 0, 0, {}
        self.lock, self.end = threading.RLock(), threading.Event()
        self.thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self):
        if self.on:
            self.thread.start()
        return self

    def __exit__(self, *error):
        if self.on:
            self.end.set()
            self.thread.join()
            self._erase()

    def update(self, done, total, now):
        """done of total are done; now: the names of what is being done."""
        if not self.on:
            return
        with self.lock:
            new = [name for name in now if name not in self.since]
            self.done, self.total = done, total
            self.since = {name: self.since.get(name, time.monotonic()) for name in now}
            if self.live:
                self._draw()
            else:
                for name in new:
                    self._say(f"{self._count()}{self.doing} {name}")

    @contextlib.contextmanager
    def aside(self):
        """While something else is printed: the line is not in its way."""
        with self.lock:
            self._erase()
            yield
            self._draw()

    def line(self) -> str:
        """What the terminal's line says: "[3/70] deciding fednova/thm1 (34 s)"."""
        now = time.monotonic()
        names = ", ".join(f"{name} ({now - begun:.0f} s)" for name, begun in self.since.items())
        return f"{self._count()}{self.doing} {names}" if names else ""

    def _count(self) -> str:
        return f"[{self.done}/{self.total}] " if self.total else ""

    def _draw(self):
        if self.live:
            room = _columns(self.stream) - 1
            self._write("\r\x1b[K" + flat(self.line())[:room])

    def _erase(self):
        if self.live:
            self._write("\r\x1b[K")

    def _say(self, text):
        self._write(f"fltheory: {flat(text)}\n")

    def _write(self, text):
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone: no reason to lose the work
            self.stream.write(text)
            self.stream.flush()

    def _tick(self):
        if hasattr(signal, "pthread_sigmask"):  # Ctrl-C is for the main thread
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        while not self.end.wait(EVERY if self.live else STILL):
            with self.lock:
                if self.live:
                    self._draw()
                elif self.since:
                    self._say(f"still {self.line()}")


def _columns(stream) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80


@contextlib.contextmanager
def logged(verbose):
    """What the package logs, on stderr while this lasts: nothing for 0, INFO for 1, DEBUG from 2."""
    if not verbose:
        yield
        return
    logger, before = logging.getLogger("fltheory"), logging.getLogger("fltheory").level
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Plain("fltheory: %(asctime)s %(message)s", "%H:%M:%S"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if verbose == 1 else logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


class _Plain(logging.Formatter):
    def format(self, record):
        return plain(super().format(record))
