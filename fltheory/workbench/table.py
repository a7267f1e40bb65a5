"""A user's CSV file as federated ridge regressions: one client per value, or quantile band, of a column."""

from __future__ import annotations

import csv
import math
import os
import shlex
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fltheory.algorithms.residual_problem import Residual
from fltheory.core.errors import BadInput, listed, refuse, shortened, shown
from fltheory.core.kinds import Array
from fltheory.core.numbers.scalars import FLOAT
from fltheory.core.numbers.text import digits
from fltheory.core.problems.ridge import Ridge
from fltheory.core.records import count, flag, one_of

STANDARDISE = ("features", "all", "short", "none")
LARGEST = 1e100  # of a cell; its reciprocal counts as 0
LISTED = 10  # bad cells that are listed
CONSTANT = "1"  # the name of a column of ones
MANY = 1000  # clients beyond which a column of numbers, or one without repeats, is more likely a measurement than a label
LABELS = 100_000  # clients at most: whole numbers or names, of two rows each on average


@dataclass(frozen=True)
class Reading:
    """How a table became a problem: `reading` of what `read_ridge` and `read_residual` return.

    features: names of the columns of A, in order; local: those of the personal part; labels: one text per client; rows:
    rows per client (n,); scaling: {column: (shift, scale)}, the numbers used are (value - shift)/scale; notes: what a user
    should know before reading results. No row is ever dropped.
    """

    target: str
    client: str
    features: tuple
    labels: tuple
    rows: tuple
    standardise: str
    scaling: dict
    notes: tuple
    local: tuple = ()


def read_ridge(path: str | os.PathLike, client: str, target: str, features: Sequence[str] | None = None, reg: Array = "1/10",
               standardise: str = "features", weights: Array = "rows", convention: str = "half-mean", intercept: bool = True,
               bands: int | None = None, delimiter: str = ",") -> Ridge:
    """Ridge regression clients from a CSV file with a header row; lines that start with # are comments.

    client: the column that says whose row it is: texts or numbers, one client per value (numbers in ascending order);
    with `bands` (an int >= 2) a numeric column is cut at its quantiles instead. target: the column to predict.
    features: columns to predict from, default all others. reg >= 0 acts on every coefficient, the intercept too.
    intercept: append a column of ones (named "1"). weights: "rows" (n_i/n), "uniform", or (n,) numbers.
    convention: that of `Ridge`. delimiter: the one character between cells.

    standardise: "features" (minus the mean, divided by the standard deviation over all rows), "all" (the target too),
    "short" (features by rationals of few digits, which keeps exact arithmetic cheap), "none". The first two make a
    problem of floats, the others one of exact rationals. The numbers used are in `problem.reading.scaling`.

    Raises BadInput naming file, lines and columns: missing file or column, empty or non-numeric cells (all of them, in
    one message), rows of another length, another delimiter, repeated headers, a constant feature that is to be
    standardised, the client column among the features.
    """
    table = _table(path, client, target, features, standardise, bands, delimiter)
    columns = [table.columns[name] for name in table.features] + [[Fraction(1)] * len(table.group)] * flag(intercept, "intercept")
    names = (*table.features, CONSTANT) if intercept else table.features
    if not columns:
        refuse("features", list(table.features), "a model has at least one coefficient", "Name a feature or keep the intercept.")
    return table.ridge(columns, names, reg, weights, convention)


def read_residual(path: str | os.PathLike, client: str, target: str, shared: Sequence[str], local: Sequence[str],
                  reg: Array = "1/10", standardise: str = "features", weights: Array = "rows", bands: int | None = None,
                  delimiter: str = ",") -> Residual:
    """Clients with shared and personal coefficients from a CSV file: Federated Residual Learning of least squares.

    The loss of a client with m rows is |A w + Z theta - y|^2/(2 m) + reg/2 (|w|^2 + |theta|^2), less what is constant: A holds
    the `shared` columns, Z the `local` ones, which may be equal, overlap or be disjoint; "1" among them is a column of ones.
    reg = 0 leaves the joint optimum undetermined where a column is in both. The other arguments are those of `read_ridge`.

    Raises BadInput as `read_ridge` does, and for a list without a column: without a shared one nothing is federated, without
    a local one it is a ridge regression.
    """
    remedies = {"shared": "Without a shared column each client learns alone: name one.",
            "local": "Without a local column nothing is personal: use read_ridge."}
    lists = {what: listed(names, what, "is a list of column names", 'For example ["age", "dose"].')
             for what, names in (("shared", shared), ("local", local))}
    for what, names in lists.items():
        if not names:
            refuse(what, names, "has at least one column", remedies[what])
        for name in names:
            if not isinstance(name, str) or names.count(name) > 1:
                refuse(what, name, "a column is named by a text, and once", "Name columns of the file.")
    both = [*lists["shared"], *lists["local"]]
    table = _table(path, client, target, [name for name in dict.fromkeys(both) if name != CONSTANT], standardise, bands, delimiter)
    ones = {CONSTANT: [Fraction(1)] * len(table.group)}
    joint = table.ridge([(ones | table.columns)[name] for name in both], both, reg, weights, "half-mean")
    d, H, b = len(lists["shared"]), joint.H, joint.b
    problem: Any = Residual(H[:, :d, :d], H[:, :d, d:], H[:, d:, d:], b[:, :d], b[:, d:], joint.weights, joint.name)
    problem.reading = replace(joint.reading, features=tuple(lists["shared"]), local=tuple(lists["local"]))
    return problem


class _Table(NamedTuple):
    """What was read: names and scaled columns, the group of each row, and what `Reading` holds of it."""

    path: object
    features: tuple
    columns: dict
    answers: list
    group: list
    read: tuple

    def ridge(self, columns, names, reg, weights, convention):
        """The ridge regression of these columns, with its `reading`."""
        target, client, labels, standardise, scaling = self.read
        A, y, rows = by_client(columns, self.answers, self.group)
        if standardise in ("features", "all"):
            A, y = ([FLOAT.array(np.array(part, dtype=object)) for part in parts] for parts in (A, y))
        problem = Ridge(A, y, reg, by_rows(weights, rows), convention, name=Path(self.path).name)
        few, notes = [label for label, k in zip(labels, rows, strict=True) if k < len(columns)], []
        if few:
            notes.append(f"{len(few)} of {len(labels)} clients have fewer rows than the {len(columns)} coefficients: {_some(few)}")
        if len(labels) == 1:
            notes.append("there is one client only: nothing is federated here")
        problem.reading = Reading(target, client, tuple(names), tuple(labels), tuple(rows), standardise,
                                  {k: (float(a), float(b)) for k, (a, b) in scaling.items()}, tuple(notes))
        return problem


def _table(path, client, target, features, standardise, bands, delimiter):
    """The table with these features (None: all other columns), scaled, and its rows grouped into clients."""
    file = read_cells(path, delimiter)
    features = _chosen(file, client, target, features)
    one_of(*STANDARDISE, remedy="Say how columns are scaled.")(standardise, "standardise")
    if bands is not None:
        count(2, rule="at least two bands, an int", remedy="Leave it out for one client per value.")(bands, "bands")
    table = numbers(file, features, target, *([] if bands is None else [client]))
    labels, group = _groups(file, client, bands, table.get(client))
    scaling = _scaling(file, table, features, target, standardise)
    table |= {name: [(v - shift) / scale for v in table[name]] for name, (shift, scale) in scaling.items()}
    return _Table(path, tuple(features), table, table[target], group, (target, client, labels, standardise, scaling))


# ---- cells -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Cells:
    """A CSV file as texts: the names of its columns, and (line number, cells) of each row."""

    path: object
    names: list
    lines: list

    def column(self, name):
        """[(line number, cell)]"""
        at = self.names.index(name)
        return [(k, cells[at]) for k, cells in self.lines]

    def refuse(self, faults, remedy, what=None):
        """Refuse the file for these faults, of which the first ten are listed where they are of some sort `what`."""
        text = faults if what is None else "; ".join(faults[:LISTED]) + (
            f"; .. {len(faults)} such {what} in all" if len(faults) > LISTED else "")
        raise BadInput(f"data file {str(self.path)!r}, {text}. {remedy}")


def read_cells(path, delimiter=",") -> Cells:
    """The cells of a CSV file: header row first, `#` and empty lines skipped, cells stripped.

    Raises BadInput naming the file, and the lines, if it cannot be read.
    """
    if not isinstance(path, (str, os.PathLike)):
        refuse("path", path, "a data file is named by a text or a Path", 'For example "measurements.csv".')
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"#':
        refuse("delimiter", delimiter, "is one character that separates cells", "Usually ',' or ';' or a tab.")
    try:
        if stat.S_ISCHR(os.stat(path).st_mode):
            raise OSError("it is a device, which may never end")
        text = Path(path).read_text(encoding="utf-8-sig")
        lines = [(k, [c.strip() for c in next(csv.reader([v], delimiter=delimiter, skipinitialspace=True))])
                 for k, v in enumerate(text.split("\n") if delimiter == "\t" else text.splitlines(), 1)
                 if v.strip() and not v.lstrip().startswith("#")]
    except (OSError, UnicodeDecodeError, ValueError, csv.Error) as error:
        raise BadInput(f"data file {shown(str(path))} cannot be read ({shortened(error)}): a CSV table in UTF-8 is expected there. "
                       "Check the path, or restore the file.") from None
    if len(lines) < 2:
        raise BadInput(f"data file {str(path)!r} is empty: a header and a row are expected. Restore the file.")
    file = Cells(path, lines[0][1], lines[1:])
    _check_delimiter(path, file.names, delimiter)
    for name in file.names:
        if file.names.count(name) > 1:
            refuse(f"header of {str(path)!r}", name, "column names are unique", "Rename one of them.")
    wrong = [f"line {k}: {len(cells)} entries, but {len(file.names)} columns" for k, cells in file.lines
             if len(cells) != len(file.names)]
    if wrong:
        file.refuse(wrong, f"Quote cells that hold a {delimiter!r}, or restore the file.", "rows")
    return file


DELIMITERS = {",": ",", ";": ";", "\t": "tab", "|": "|"}  # and how the command line writes them


def _check_delimiter(path, names, delimiter):
    """Say which other delimiter a header that holds a single name is separated by."""
    other = [d for d in DELIMITERS if d != delimiter and len(names) == 1 and d in names[0].strip("\"'")]
    if other:
        mark = max(other, key=names[0].count)
        raise BadInput(f"data file {str(path)!r}: its header {names[0]!r} is one column, and the file looks separated by "
                       f"{mark!r}. Give delimiter={mark!r} (on the command line --delimiter {shlex.quote(DELIMITERS[mark])}).")


def _decimal(cell):
    """The exact rational of a decimal cell, None if it is none."""
    try:
        value = float(cell)
    except ValueError:
        return None
    if not abs(value) <= LARGEST or "_" in cell:
        return None
    return Fraction(cell) if abs(value) >= 1 / LARGEST else Fraction(0)


def numbers(file, features, *others):
    """{column: exact numbers} of everything that must be numeric; all cells that are not are refused together."""
    table, empty, texts, strangers = {}, [], [], []
    for name in dict.fromkeys((*features, *others)):
        cells = file.column(name)
        values = table[name] = [_decimal(cell) for _, cell in cells]
        wrong = [place for place, v in zip(cells, values, strict=True) if v is None]
        nor = ""
        if len(wrong) == len(cells) > 1 and any(cell for _, cell in wrong):
            strangers.append(name)
            wrong, nor = wrong[:1], f" (nor is any of its {len(cells)} cells)"
        for k, cell in wrong:
            where = f"line {k}, column {name!r}"
            if cell:
                texts.append(f"{where}: {shown(cell)} is no decimal number of size up to {LARGEST:g}{nor}")
            else:
                empty.append(f"{where}: the cell is empty; missing values are not guessed")
    if not empty and not texts:
        return table
    remedies = []
    if set(strangers) & set(others[1:]):
        remedies.append("A client column of texts cannot be cut into bands: leave bands (--bands) out for one client per value.")
    rest = [n for n in features if n not in strangers]
    if len(rest) < len(features):
        remedies.append(f"Name the numeric columns only: features={rest} (on the command line --features {','.join(rest)})."
                        if rest else "No feature is numeric: encode these texts as numbers.")
    if empty or len(texts) > len(strangers):
        remedies.append("Correct the cells, remove their rows, or leave their columns out with features (--features).")
    if any("," in t for t in texts):
        remedies.append("Decimals are written with a point.")
    return file.refuse(texts + empty, " ".join(remedies), "cells")


def _chosen(file, client, target, features):
    names = file.names
    for what, name in (("client", client), ("target", target)):
        if not isinstance(name, str):
            refuse(what, name, "a column is named by a text", f"Of {shortened(', '.join(names))}.")
    chosen = [n for n in names if n not in (client, target)] if features is None else listed(
        features, "features", "is a list of column names", 'For example ["age", "dose"].')
    known = one_of(*names, rule=f"is no column of {Path(file.path).name}, which has {', '.join(names)}",
                   remedy="Name one of these.")
    for what, name in (("client", client), ("target", target), *(("features", f) for f in chosen)):
        known(name, what)
    if client == target:
        refuse("target", target, "is the client column as well", "Predict another column.")
    for name, says in ((client, "says who owns a row"), (target, "is what is predicted")):
        if name in chosen:
            refuse("features", name, f"this column {says}", "Leave it out of the features.")
    if len(set(chosen)) < len(chosen):
        refuse("features", chosen, "each feature is named once", "Remove the repetition.")
    return chosen


# ---- clients ---------------------------------------------------------------------------------------------
def quantiles(values, bands):
    """Cuts of numbers into `bands` groups at their quantiles, one group per value if there are no more values.

    Group of v: the number of cuts <= v.
    """
    distinct = sorted(set(values))
    if len(distinct) <= bands:
        return distinct[1:]
    return [sorted(values)[k * len(values) // bands] for k in range(1, bands)]


def banded(values, bands):
    """The group of each number, those between the same quantiles; without gaps, which heavy ties would leave."""
    cuts = quantiles(values, bands)
    group = [sum(v >= c for c in cuts) for v in values]
    used = sorted(set(group))
    return [used.index(g) for g in group]


def _groups(file, client, bands, values):
    """(labels, group of each row); values: the client column as numbers, where it is cut into bands."""
    cells = file.column(client)
    ownerless = [f"line {k}, column {client!r}: the row has no owner" for k, cell in cells if not cell]
    if ownerless:
        file.refuse(ownerless, "Name the client or remove the row.", "rows")
    if bands is not None:
        group = banded(values, bands)
        by_band = [[v for v, h in zip(values, group, strict=True) if h == g] for g in range(max(group) + 1)]
        ends = [(min(members), max(members)) for members in by_band]
        return [f"{digits(low)}..{digits(high)}" if low < high else digits(low) for low, high in ends], group
    keys, text = [_decimal(cell) for _, cell in cells], digits
    if any(v is None for v in keys):
        keys, text = [cell for _, cell in cells], str
    order = sorted(set(keys))
    whole = all(isinstance(v, str) or v == int(v) for v in order)
    if len(order) > (LABELS if whole and 2 * len(order) <= len(keys) else MANY):
        refuse("client", client, f"has {len(order)} different values, which would be as many clients",
               "Cut a numeric column with bands, for example bands=5 (--bands 5).")
    index = {v: k for k, v in enumerate(order)}
    return [text(v) for v in order], [index[v] for v in keys]


def by_client(columns, answers, group):
    """(A, y, rows): rows of the columns and answers of each group of rows, and how many they are."""
    members = [[] for _ in range(max(group) + 1)]
    for j, g in enumerate(group):
        members[g].append(j)
    A = [[[column[j] for column in columns] for j in m] for m in members]
    return A, [[answers[j] for j in m] for m in members], [len(m) for m in members]


def _some(texts):
    return ", ".join(texts[:5]) + (", .." if len(texts) > 5 else "")


def by_rows(weights, rows):
    """Weights in words, as numbers for `Ridge`: those of clients with so many rows."""
    if isinstance(weights, str):
        one_of("rows", "uniform", rule='is "rows", "uniform", or one weight per client', remedy="Choose one of these.")(
            weights, "weights")
        return None if weights == "uniform" else [Fraction(k, sum(rows)) for k in rows]
    return weights


# ---- scales ----------------------------------------------------------------------------------------------
def _scaling(file, table, features, target, standardise):
    """{column: (shift, scale)}"""
    scaled = () if standardise == "none" else (*features, target) if standardise == "all" else features
    for name in scaled:
        if min(table[name]) == max(table[name]):
            file.refuse(f"column {name!r}: it is constant ({digits(table[name][0])}), so it cannot be standardised",
                        'Leave it out of the features (--features), or use standardise="none".')
    return {name: (short_scale if standardise == "short" else _moments)(table[name]) for name in scaled}


def _moments(column):
    """(mean, standard deviation) over the rows, rounded to float64."""
    mean = sum(column) / len(column)
    variance = sum((v - mean) ** 2 for v in column) / len(column)
    return Fraction(float(mean)), Fraction(math.sqrt(variance))


def short_scale(column):
    """(shift, scale) as rationals of few digits: the standard deviation rounded to a power of ten, and the mean rounded
    to a hundredth of it; (mean, 1) of a constant column."""
    mean = sum(column) / len(column)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in column) / len(column))
    power = round(math.log10(deviation)) if deviation else 0
    scale = Fraction(10) ** power
    return round(100 * mean / scale) * scale / 100, scale
