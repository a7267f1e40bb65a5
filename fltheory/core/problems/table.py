"""A user's CSV file as a federated ridge regression: one client per value, or quantile band, of a column."""

from __future__ import annotations

import csv
import math
import os
import shlex
import stat
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from fltheory.core.errors import BadInput, check_flag, is_one_of, listed, refuse, shortened, shown
from fltheory.core.problems.ridge import Ridge
from fltheory.core.scalars import FLOAT, is_count

STANDARDISE = ("features", "all", "short", "none")
LARGEST = 1e100  # of a cell; its reciprocal counts as 0
LISTED = 10  # bad cells that are listed
MANY = 1000  # clients beyond which a column is more likely a measurement than a label


@dataclass(frozen=True)
class Reading:
    """How a table became a problem: `Ridge.reading` of what `read_ridge` returns.

    features: names of the columns of A, in order; labels: one text per client; rows: rows per client (n,);
    scaling: {column: (shift, scale)}, the numbers used are (value - shift)/scale; notes: what a user should know before
    reading results. No row is ever dropped.
    """

    target: str
    client: str
    features: tuple
    labels: tuple
    rows: tuple
    standardise: str
    scaling: dict
    notes: tuple


def read_ridge(
    path,
    client,
    target,
    features=None,
    reg="1/10",
    standardise="features",
    weights="rows",
    convention="half-mean",
    intercept=True,
    bands=None,
    delimiter=",",
) -> Ridge:
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
    names, lines = read_cells(path, delimiter)
    features = _chosen(path, names, client, target, features)
    if not is_one_of(standardise, STANDARDISE):
        refuse("standardise", standardise, f"is one of {', '.join(STANDARDISE)}", "Say how columns are scaled.")
    check_flag(intercept, "intercept")
    if bands is not None and not is_count(bands, 2):
        refuse("bands", bands, "at least two bands, an int", "Leave it out for one client per value.")
    table = _columns(path, names, lines, features, target, *([] if bands is None else [client]))
    labels, group = _groups(path, names, lines, client, bands, table.get(client))
    scaling = _scaling(path, table, features, target, standardise)
    for name, (shift, scale) in scaling.items():
        table[name] = [(v - shift) / scale for v in table[name]]
    one = Fraction(1)
    X = [[table[name][j] for name in features] + ([one] if intercept else []) for j in range(len(lines))]
    if not X[0]:
        refuse(
            "features", list(features), "a model has at least one coefficient", "Name a feature or keep the intercept."
        )
    members = [[j for j, g in enumerate(group) if g == k] for k in range(len(labels))]
    A, y = [[X[j] for j in m] for m in members], [[table[target][j] for j in m] for m in members]
    if standardise in ("features", "all"):
        A, y = ([FLOAT.array(np.array(part, dtype=object)) for part in parts] for parts in (A, y))
    problem = Ridge(A, y, reg, _weights(weights, members, len(lines)), convention, name=Path(path).name)
    width = len(X[0])
    few = [label for label, m in zip(labels, members, strict=True) if len(m) < width]
    notes = (
        []
        if not few
        else [f"{len(few)} of {len(labels)} clients have fewer rows than the {width} coefficients: {_some(few)}"]
    )
    if len(labels) == 1:
        notes.append("there is one client only: nothing is federated here")
    shown = (*features, "1") if intercept else tuple(features)
    problem.reading = Reading(
        target,
        client,
        shown,
        tuple(labels),
        tuple(len(m) for m in members),
        standardise,
        {k: (float(a), float(b)) for k, (a, b) in scaling.items()},
        tuple(notes),
    )
    return problem


# ---- cells -----------------------------------------------------------------------------------------------
def read_cells(path, delimiter=","):
    """(names, [(line number, cells)]) of a CSV file: header row first, `#` and empty lines skipped, cells stripped.

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
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise BadInput(
            f"data file {shown(str(path))} cannot be read ({shortened(error)}): a CSV table in UTF-8 is expected there. "
            "Check the path, or restore the file."
        ) from None
    try:
        lines = [
            (k, [c.strip() for c in next(csv.reader([v], delimiter=delimiter, skipinitialspace=True))])
            for k, v in enumerate(text.split("\n") if delimiter == "\t" else text.splitlines(), 1)
            if v.strip() and not v.lstrip().startswith("#")
        ]
    except csv.Error as error:
        raise BadInput(
            f"data file {str(path)!r} cannot be read ({error}): it is no CSV table. Restore the file."
        ) from None
    if len(lines) < 2:
        raise BadInput(f"data file {str(path)!r} is empty: a header and a row are expected. Restore the file.")
    names = lines[0][1]
    _check_delimiter(path, names, delimiter)
    for name in names:
        if names.count(name) > 1:
            refuse(f"header of {str(path)!r}", name, "column names are unique", "Rename one of them.")
    wrong = [f"line {k}: {len(cells)} entries, but {len(names)} columns" for k, cells in lines[1:] if len(cells) != len(names)]
    if wrong:
        raise BadInput(f"data file {str(path)!r}, {_first(wrong, 'rows')}. Quote cells that hold a {delimiter!r}, or restore "
                       "the file.")
    return names, lines[1:]


DELIMITERS = {",": ",", ";": ";", "\t": "tab", "|": "|"}  # and how the command line writes them


def _check_delimiter(path, names, delimiter):
    """Say which other delimiter a header that holds a single name is separated by."""
    other = [d for d in DELIMITERS if d != delimiter and len(names) == 1 and d in names[0].strip("\"'")]
    if other:
        found = max(other, key=names[0].count)
        raise BadInput(
            f"data file {str(path)!r}: its header {names[0]!r} is one column, and the file looks separated by {found!r}. "
            f"Give delimiter={found!r} (on the command line --delimiter {shlex.quote(DELIMITERS[found])})."
        )


def _first(texts, what):
    """The first ten of some faults, and how many there are."""
    return "; ".join(texts[:LISTED]) + (f"; .. {len(texts)} such {what} in all" if len(texts) > LISTED else "")


def _decimal(cell):
    """The exact rational of a decimal cell, None if it is none."""
    try:
        value = float(cell)
    except ValueError:
        return None
    if not abs(value) <= LARGEST or "_" in cell:
        return None
    return Fraction(cell) if abs(value) >= 1 / LARGEST else Fraction(0)


def _columns(path, names, lines, features, target, *clients):
    """{column: exact numbers} of everything that must be numeric; all cells that are not are refused together."""
    table, empty, texts, strangers = {}, [], [], []
    for name in dict.fromkeys((*features, target, *clients)):
        at = names.index(name)
        values = table[name] = [_decimal(cells[at]) for _, cells in lines]
        wrong = [(k, cells[at]) for (k, cells), v in zip(lines, values, strict=True) if v is None]
        if len(wrong) == len(lines) > 1 and any(cell for _, cell in wrong):
            strangers.append(name)
            wrong = wrong[:1]
        for k, cell in wrong:
            where = f"line {k}, column {name!r}"
            if cell:
                texts.append(f"{where}: {shown(cell)} is no decimal number of size up to {LARGEST:g}"
                             + (f" (nor is any of its {len(lines)} cells)" if name in strangers else ""))
            else:
                empty.append(f"{where}: the cell is empty; missing values are not guessed")
    if not empty and not texts:
        return table
    remedies = []
    if set(strangers) & set(clients):
        remedies.append("a client column of texts cannot be cut into bands: leave bands (--bands) out for one client per value")
    rest = [n for n in features if n not in strangers]
    if len(rest) < len(features):
        remedies.append(f"name the numeric columns only: features={rest} (on the command line --features {','.join(rest)})"
                        if rest else "no feature is numeric: encode these texts as numbers")
    if empty or len(texts) > len(strangers):
        remedies.append("correct the cells, remove their rows, or leave their columns out with features (--features)")
    if any("," in t for t in texts):
        remedies.append("decimals are written with a point")
    raise BadInput(f"data file {str(path)!r}, {_first(texts + empty, 'cells')}. "
                   + ". ".join(r[0].upper() + r[1:] for r in remedies) + ".")


def _chosen(path, names, client, target, features):
    for what, name in (("client", client), ("target", target)):
        if not isinstance(name, str):
            refuse(what, name, "a column is named by a text", f"Of {shortened(', '.join(names))}.")
    given = [n for n in names if n not in (client, target)] if features is None else listed(
        features, "features", "is a list of column names", 'For example ["age", "dose"].')
    for what, name in (("client", client), ("target", target), *(("features", f) for f in given)):
        if not is_one_of(name, names):
            refuse(what, name, f"is no column of {Path(path).name}, which has {', '.join(names)}", "Name one of these.")
    if client == target:
        refuse("target", target, "is the client column as well", "Predict another column.")
    for name, says in ((client, "says who owns a row"), (target, "is what is predicted")):
        if name in given:
            refuse("features", name, f"this column {says}", "Leave it out of the features.")
    if len(set(given)) < len(given):
        refuse("features", given, "each feature is named once", "Remove the repetition.")
    return given


# ---- clients ---------------------------------------------------------------------------------------------
def quantiles(values, bands):
    """Cuts of numbers into `bands` groups at their quantiles, one group per value if there are no more values.

    Group of v: the number of cuts <= v.
    """
    distinct = sorted(set(values))
    if len(distinct) <= bands:
        return distinct[1:]
    return [sorted(values)[k * len(values) // bands] for k in range(1, bands)]


def _groups(path, names, lines, client, bands, values):
    """(labels, group of each row); values: the client column as numbers, where it is cut into bands."""
    cells = [(k, row[names.index(client)]) for k, row in lines]
    ownerless = [f"line {k}, column {client!r}: the row has no owner" for k, cell in cells if not cell]
    if ownerless:
        raise BadInput(f"data file {str(path)!r}, {_first(ownerless, 'rows')}. Name the client or remove the row.")
    if bands is not None:
        cuts = quantiles(values, bands)
        group = [sum(v >= c for c in cuts) for v in values]
        used = sorted(set(group))  # heavy ties can leave a band empty
        labels = []
        for g in used:
            own = [v for v, h in zip(values, group, strict=True) if h == g]
            labels.append(f"{_short(min(own))}..{_short(max(own))}" if min(own) < max(own) else _short(min(own)))
        return labels, [used.index(g) for g in group]
    keys, text = [_decimal(cell) for _, cell in cells], _short
    if any(v is None for v in keys):
        keys, text = [cell for _, cell in cells], str
    order = sorted(set(keys))
    if len(order) > MANY:
        refuse(
            "client",
            client,
            f"has {len(order)} different values, which would be as many clients",
            "Cut a numeric column with bands, for example bands=5 (--bands 5).",
        )
    index = {v: k for k, v in enumerate(order)}
    return [text(v) for v in order], [index[v] for v in keys]


def _short(value):
    return f"{float(value):g}"


def _some(texts):
    return ", ".join(texts[:5]) + (", .." if len(texts) > 5 else "")


def _weights(weights, members, total):
    if isinstance(weights, str):
        if weights not in ("rows", "uniform"):
            refuse("weights", weights, 'is "rows", "uniform", or one weight per client', "Choose one of these.")
        return None if weights == "uniform" else [Fraction(len(m), total) for m in members]
    return weights


# ---- scales ----------------------------------------------------------------------------------------------
def _scaling(path, table, features, target, standardise):
    if standardise == "none":
        return {}
    scaling = {}
    for name in (*features, *([target] if standardise == "all" else [])):
        column = table[name]
        if min(column) == max(column):
            raise BadInput(
                f"data file {str(path)!r}, column {name!r}: it is constant ({_short(column[0])}), so it cannot "
                'be standardised. Leave it out of the features (--features), or use standardise="none".'
            )
        scaling[name] = short_scale(column) if standardise == "short" else _moments(column)
    return scaling


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


__all__ = ["Reading", "quantiles", "read_cells", "read_ridge", "short_scale"]
