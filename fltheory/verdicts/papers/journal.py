"""Finished verdicts, one line each, written at once; a damaged line is left out and counted, and loses no other."""
from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from pathlib import Path

from fltheory.core.errors import BadInput

FILE = "verdicts.partial.jsonl"
LONGEST = 1 << 26  # bytes of a line: the longest of a real run has a few hundred thousand


class _Damaged(Exception):
    """Why a line is no finished verdict."""


def _digest(key, records) -> str:
    return hashlib.sha256(json.dumps([list(key), records]).encode()).hexdigest()


def line(key, records) -> str:
    """One finished verdict. key: (fingerprint, paper, "claim" or "finding", id)."""
    return json.dumps({"key": list(key), "records": records, "digest": _digest(key, records)}) + "\n"


def read_line(raw: bytes) -> tuple:
    """(key, records) of a line; raises _Damaged with the reason."""
    try:
        entry = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise _Damaged("not UTF-8") from None
    except (ValueError, RecursionError):
        raise _Damaged("cut short or no JSON") from None
    if not isinstance(entry, dict) or not isinstance(entry.get("records"), list) or not isinstance(entry.get("key"), list):
        raise _Damaged("no record of a verdict")
    key, records = tuple(entry["key"]), entry["records"]
    if not isinstance(entry.get("digest"), str) or _altered(entry):
        raise _Damaged("altered: it does not give its own digest")
    if len(key) != 4 or not all(isinstance(k, str) for k in key) or not _of(key, records):
        raise _Damaged("of another claim than its key says")
    return key, records


def _altered(entry) -> bool:
    try:
        return entry["digest"] != _digest(entry["key"], entry["records"])
    except (ValueError, RecursionError):
        return True


def _of(key, records) -> bool:
    """Whether the records are those of the claim or finding that the key names."""
    _, paper, kind, name = key
    if not records or not all(isinstance(r, dict) and r.get("paper") == paper for r in records):
        return False
    first, *rest = records
    return (first.get("type"), first.get("id")) == (kind, name) and kind in ("claim", "finding") and all(
        (r.get("type"), r.get("claim")) == ("instance", name) for r in rest)


class Journal:
    """Append-only file of finished verdicts in a report folder; `finished` are those that an earlier run left there.

    report: the folder, or None (nothing is kept). resume: whether to read and continue what is there, otherwise it is
    begun anew. damaged: [(line number, reason)] of lines that were left out.
    """

    def __init__(self, report, resume):
        self.path, self.finished, self.damaged, self.handle = None, {}, [], None
        if report is None:
            return
        folder = Path(report)
        self.path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if resume and self.path.exists():
                self.finished, self.damaged = _read(self.path)
            self.handle = open(self.path, "a" if resume else "w", encoding="utf-8")  # noqa: SIM115 (kept open)
            if resume:
                self.handle.write("\n")  # close a torn line, if any
        except OSError as error:
            raise BadInput(f"report folder {str(folder)!r} cannot be written ({error.strerror}). "
                           "Choose another with --report.") from None

    def complaint(self) -> str:
        """One sentence on the lines that were left out, "" if there are none."""
        if not self.damaged:
            return ""
        reasons = Counter(why for _, why in self.damaged)
        first = ", ".join(str(number) for number, _ in self.damaged[:5]) + (", ..." if len(self.damaged) > 5 else "")
        return (f"{len(self.damaged)} damaged line{'s' * (len(self.damaged) > 1)} of {self.path} left out "
                f"(line {first}: {'; '.join(f'{n} {why}' for why, n in reasons.items())}); "
                "what they held is decided again, the other lines are kept")

    def append(self, key, records):
        if self.handle is not None:
            self.handle.write(line(key, records))
            self.handle.flush()
            os.fsync(self.handle.fileno())

    def close(self):
        if self.handle is not None:
            self.handle.close()


def kept(report) -> dict:
    """{key: records} of what a report folder keeps; {} if there is none. Nothing is written."""
    try:
        return _read(Path(report) / FILE)[0]
    except (OSError, ValueError):  # no such folder, or no name of one
        return {}


def _read(path) -> tuple:
    """({key: records}, [(line number, reason)] of the lines that are left out)."""
    finished, damaged = {}, []
    with open(path, "rb") as handle:
        for number, raw in enumerate(_lines(handle), start=1):
            try:
                if raw is None:
                    raise _Damaged(f"longer than {LONGEST} bytes")
                if raw.strip():
                    key, records = read_line(raw)
                    finished[key] = records
            except _Damaged as why:
                damaged.append((number, str(why)))
    return finished, damaged


def _lines(handle):
    """The lines of a file, None for each that is longer than any verdict."""
    while raw := handle.readline(LONGEST + 1):
        if len(raw) <= LONGEST:
            yield raw
            continue
        while raw and not raw.endswith(b"\n"):
            raw = handle.readline(LONGEST)
        yield None
