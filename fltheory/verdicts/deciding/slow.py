"""What takes long: `slow.csv` beside a ledger lists instances (columns claim, instance, seconds) that a quick run leaves out."""
from __future__ import annotations

import csv
import io

from fltheory.core.errors import refuse
from fltheory.runs.trace import write_atomically

FILE = "slow.csv"
COLUMNS = ("claim", "instance", "seconds")


def read(folder) -> dict:
    """{id of a claim: names of its slow instances} of a paper folder; {} without the file. Raises BadInput for other columns."""
    path = folder / FILE
    if not path.is_file():
        return {}
    with open(path, newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    out: dict[str, set] = {}
    for row in rows:
        if set(row) != set(COLUMNS) or None in row.values():
            refuse(FILE, row, f"has the columns {COLUMNS}", "Restore the file.")
        out.setdefault(row["claim"], set()).add(row["instance"])
    return {claim: frozenset(names) for claim, names in out.items()}


def write(folder, instances, seconds, spared=()):
    """List of a full run's `records.Instance` of this paper those that took longer than `seconds`, but for the pairs
    (claim, instance) that are spared, on which a word or a sentence rests."""
    slow = sorted((i.claim, i.instance, i.seconds) for i in instances if i.seconds > seconds)
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows((claim, name, f"{took:.1f}") for claim, name, took in slow if (claim, name) not in spared)
    write_atomically(folder / FILE, lambda f: f.write(out.getvalue().encode()))


def without(instances, names) -> list:
    """The instances but for those named; all of them where none would be left."""
    return [i for i in instances if i.name not in names] or list(instances)
