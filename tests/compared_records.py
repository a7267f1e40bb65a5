"""Compare the records of two runs of `fltheory verify`, row by row and without their times.

    python -m tests.compared_records BEFORE/verdicts.jsonl AFTER/verdicts.jsonl

Prints every field that differs. Exit status 0 if nothing differs but floats in their last digits, which are listed; 1 otherwise.
"""
import json
import math
import sys
from pathlib import Path

TIMES = {"seconds", "date", "made_by", "provenance"}
RUN = {"version", "libraries", "python", "device", "paths"}    # of the first row: where and with what it ran
DIGITS = 1e-12                                                 # relative, "the last digit or two" of a float


def rows(path) -> dict:
    """{key of a row: the row without times}; a key that stands twice is an error."""
    out = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        row = untimed(json.loads(line))
        if row["type"] == "run":
            row = {k: v for k, v in row.items() if k not in RUN}
        key = tuple(str(row.get(k, "")) for k in ("type", "paper", "claim", "id", "instance", "identifier"))
        if key in out:
            raise SystemExit(f"{path}: two rows {key}")
        out[key] = row
    return out


def untimed(value):
    """A record without its times, at any depth."""
    if isinstance(value, dict):
        return {k: untimed(v) for k, v in value.items() if k not in TIMES}
    return [untimed(v) for v in value] if isinstance(value, list) else value


def differences(before, after, place=""):
    """Iterate over (place, before, after) of the leaves that differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for k in [*before, *(k for k in after if k not in before)]:
            yield from differences(before.get(k, "(absent)"), after.get(k, "(absent)"), f"{place}.{k}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for k, (a, b) in enumerate(zip(before, after, strict=True)):
            yield from differences(a, b, f"{place}[{k}]")
    elif type(before) is not type(after) or (before != after and not (before != before and after != after)):
        yield place, before, after


def rounding(before, after) -> bool:
    """Whether two leaves are floats that agree but for their last digits."""
    return isinstance(before, float) and isinstance(after, float) and math.isclose(before, after, rel_tol=DIGITS)


def compared(before, after):
    """(what differs, floats that differ in their last digits, number of rows of the first file)."""
    old, new, wrong, digits = rows(before), rows(after), [], []
    wrong += [(key, "only before", "") for key in old if key not in new]
    wrong += [(key, "only after", "") for key in new if key not in old]
    for key in old.keys() & new.keys():
        for place, a, b in differences(old[key], new[key]):
            (digits if rounding(a, b) else wrong).append((f"{' '.join(filter(None, key))}{place}", a, b))
    return wrong, digits, len(old)


def main(before, after) -> int:
    wrong, digits, count = compared(before, after)
    for what, a, b in [*digits, *wrong]:
        print(f"{what}: {a!r} -> {b!r}")
    print(f"{count} rows: {len(wrong)} fields differ, {len(digits)} floats in their last digits")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
