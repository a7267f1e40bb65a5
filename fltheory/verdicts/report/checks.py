"""How sure our own checks are: the calibration records, counted once for all writers.

A check that should alarm falsely with probability `level` was repeated where nothing is wrong; `low` and `high` are
the interval of its true false-alarm rate, `power` is how often it noticed the planted error `shift`.
"""

from typing import NamedTuple

from . import records as rec

HEAD = (
    *("Check", "Level", "Repetitions", "False alarms", "Rate", "Interval of the rate"),
    *("Power", "Planted error", "Verdict"),
)
LEAD = (
    "Each statistical check was repeated where nothing is wrong, and its false alarms were counted; then a known error "
    "was planted, and the power is the share of repetitions in which the check noticed it."
)


class Row(NamedTuple):
    """One calibrated check as text; `excess`: even the lower end of its interval lies above its level."""

    cells: tuple
    note: str
    excess: bool


def _rate(value) -> str:
    number = rec.as_float(value)
    return "" if number is None else f"{number:.2g}".replace("-", "−")


def _percent(value) -> str:
    number = rec.as_float(value)
    return "" if number is None else f"{100 * number:.3g} %".replace("-", "−")


def _row(raw) -> Row:
    level, low, high = (rec.as_float(raw.get(key)) for key in ("level", "low", "high"))
    alarms, repetitions = rec.as_float(raw.get("alarms")), rec.as_float(raw.get("repetitions"))
    rate = alarms / repetitions if alarms is not None and repetitions and repetitions > 0 else None
    excess = low is not None and level is not None and low > level
    judged = "alarms too often" if excess else "not judged" if None in (level, low, high) else "as announced"
    interval = f"{_rate(low)} to {_rate(high)}" if None not in (low, high) else ""
    cells = (
        rec.text(raw, "check"),
        _rate(level),
        rec.show(raw.get("repetitions")),
        rec.show(raw.get("alarms")),
        _rate(rate),
        interval,
        _percent(raw.get("power")),
        rec.text(raw, "shift"),
        judged,
    )
    return Row(cells, rec.text(raw, "note"), excess)


def rows(record) -> list:
    """The calibrated checks of one record."""
    return [_row(raw) for raw in rec.items(record, "rows")]


def family(record) -> str:
    """All statistical comparisons together, in one sentence; empty if the record does not say."""
    found = record.get("family")
    if not isinstance(found, dict) or rec.as_float(found.get("bound")) is None:
        return ""
    number, level = rec.as_float(found.get("comparisons")), _rate(found.get("level"))
    if number == 0:
        return "No verdict of this report rests on a statistical comparison."
    made = "The statistical comparisons" if number is None else f"The {number:.0f} statistical comparisons"
    each = f", each at level {level} or lower," if level else ""
    return f"{made}{each} together raise a false alarm with probability at most {_percent(found['bound'])}."


def summary(record) -> str:
    """How many checks were calibrated and how many alarm more often than announced, in one sentence."""
    every = rows(record)
    if not every:
        return "No check was calibrated."
    bad = sum(row.excess for row in every)
    state = "none alarms" if not bad else "1 alarms" if bad == 1 else f"{bad} alarm"
    return f"{rec.plural(len(every), 'check')} calibrated, {state} more often than announced."


def alarm(record) -> str:
    """What forbids relying on the table: the recorded numbers are not reproduced, or belong to older code."""
    made = record.get("provenance")
    state = rec.text(made, "state") if isinstance(made, dict) else ""
    stale = state if state.startswith("STALE") else ""
    return "A repetition of a share of it gave other results." if record.get("failed") is True else stale


def provenance(record) -> str:
    """Where and with what the calibration was made, as one line."""
    found = record.get("provenance")
    return ", ".join(f"{k} {rec.show(v)}" for k, v in found.items()) if isinstance(found, dict) else ""
