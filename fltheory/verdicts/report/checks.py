"""How sure our own checks are: the calibration records, counted once for all writers.

A check that should alarm falsely with probability `level` was repeated where nothing is wrong; `low` and `high` are
the interval of its true false-alarm rate, `power` is how often it noticed the planted error `shift`.
"""

from typing import NamedTuple

from fltheory.verdicts.report.words import plural, show

HEAD = (*("Check", "Level", "Repetitions", "False alarms", "Rate", "Interval of the rate"),
        *("Power", "Planted error", "Verdict"))
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
    return show(value, 2)


def _percent(value) -> str:
    return "" if value is None else f"{show(100 * value, 3)} %"


def _row(check) -> Row:
    level, low, high = check.level, check.low, check.high
    rate = check.alarms / check.repetitions if check.repetitions > 0 else None
    excess = low is not None and level is not None and low > level
    judged = "alarms too often" if excess else "not judged" if None in (level, low, high) else "as announced"
    interval = f"{_rate(low)} to {_rate(high)}" if None not in (low, high) else ""
    cells = (check.check, _rate(level), show(check.repetitions), show(check.alarms), _rate(rate), interval, _percent(check.power),
             check.shift, judged)
    return Row(cells, check.note, excess)


def rows(calibration) -> list:
    """The calibrated checks of one record."""
    return list(map(_row, calibration.rows))


def family(calibration) -> str:
    """All statistical comparisons together, in one sentence; empty if the record does not say."""
    total = calibration.family
    if total is None or total.bound is None:
        return ""
    if total.comparisons == 0:
        return "No verdict of this report rests on a statistical comparison."
    subject = "The statistical comparisons" if total.comparisons is None else f"The {total.comparisons:.0f} statistical comparisons"
    each = f", each at level {_rate(total.level)} or lower," if total.level is not None else ""
    return f"{subject}{each} together raise a false alarm with probability at most {_percent(total.bound)}."


def summary(calibration) -> str:
    """How many checks were calibrated and how many alarm more often than announced, in one sentence."""
    every = rows(calibration)
    if not every:
        return "No check was calibrated."
    bad = sum(row.excess for row in every)
    state = "none alarms" if not bad else "1 alarms" if bad == 1 else f"{bad} alarm"
    return f"{plural(len(every), 'check')} calibrated, {state} more often than announced."


def alarm(calibration) -> str:
    """What forbids relying on the table: the recorded numbers are not reproduced, or belong to older code."""
    state = str(calibration.provenance.get("state") or "")
    stale = state if state.startswith("STALE") else ""
    return "A repetition of a share of it gave other results." if calibration.failed else stale


def provenance(calibration) -> str:
    """Where and with what the calibration was made, as one line."""
    return ", ".join(f"{k} {show(v)}" for k, v in calibration.provenance.items())
