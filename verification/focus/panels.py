"""What FOCUS's figures share: picking rows and columns of a table, rows with and without a run."""
import numpy as np

from fltheory.pictures import runs

NO_RUN = {"run": float("nan"), "half_width": float("nan")}


def pick(rows, **wanted):
    return [r for r in rows if all(r[k] == v for k, v in wanted.items())]


def columns(rows, *keys):
    return [np.array([r[k] for r in rows]) for k in keys]


def run_row(interval):
    return {"run": interval.value, "half_width": interval.half_width}


def ran(ax, rows, x, colour):
    """Markers with intervals at those rows of a table that hold a run."""
    at, seen, half = columns([r for r in rows if r["run"] == r["run"]], x, "run", "half_width")
    runs(ax, at, seen, half, colour)
