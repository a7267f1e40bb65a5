"""Reports made from the records of a run: a terminal summary, a Markdown page and an HTML page.

The three writers read the same list of records (one dictionary per line of ``verdicts.jsonl``) and
never decide anything themselves.  They are imported on first use, so that ``import fltheory.verdicts.report``
stays cheap and the formula renderer is loaded only when a page with formulas is written.
"""

from importlib import import_module

__all__ = ["html", "markdown", "records", "richtext", "terminal"]


def __getattr__(name):
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
