"""Loads the package's pytest plugin in a bare checkout, and skips files whose optional library is absent."""

import re
import sys
from importlib.util import find_spec

import pytest

# an installed package has registered its plugin already
pytest_plugins = [] if "fltheory.pytest_plugin" in sys.modules else ["fltheory.pytest_plugin"]

OPTIONAL = re.compile(r"(?:ModuleNotFoundError: No module named '|MissingLibrary: )(hypothesis|flint|cvxpy|sklearn|torch)\b")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A test file that imports an absent optional library is skipped with that reason, like `pytest.importorskip`."""
    report = yield
    missing = OPTIONAL.search(str(report.longrepr)) if report.failed else None
    if missing:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: {missing[1]} is not installed")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A test of exact work, or of other work that an absent optional library does, is skipped with the reason it gives."""
    report = yield
    missing = OPTIONAL.search(str(report.longrepr)) if report.failed else None
    if missing and find_spec(missing[1]) is None:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"Skipped: {missing[1]} is not installed")
    return report
