"""Loads the package's pytest plugin in a bare checkout, and skips files whose optional library is absent."""

import re
import sys

import pytest

# an installed package has registered its plugin already
pytest_plugins = [] if "fltheory.pytest_plugin" in sys.modules else ["fltheory.pytest_plugin"]

OPTIONAL = re.compile(r"ModuleNotFoundError: No module named '(hypothesis|flint|cvxpy|sklearn|torch)[.']")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A test file that imports an absent optional library is skipped with that reason, like `pytest.importorskip`."""
    report = yield
    missing = OPTIONAL.search(str(report.longrepr)) if report.failed else None
    if missing:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: {missing[1]} is not installed")
    return report
