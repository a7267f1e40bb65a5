"""Properties with a budget: each becomes a fast test and one marked fuzz, and each test counts the cases that really ran."""
from __future__ import annotations

import os

import pytest

hypothesis = pytest.importorskip("hypothesis")

SEED = os.environ.get("FLTHEORY_FUZZ_SEED")  # an int explores other cases; without it every run sees the same ones
DECLARED: dict = {}                          # property -> (fast, slow) cases


def cases(fast, slow, names=(None,), **strategies):
    """A property as a test of `fast` cases and one marked fuzz of `slow` cases, for each of `names`.

    The property takes the drawn values by keyword, `folder` (a fresh path) and `name`; what it asserts must hold.
    """
    def wrap(check):
        wants = check.__code__.co_varnames[:check.__code__.co_argcount]
        DECLARED[check.__module__, check.__name__] = (fast * len(names), slow * len(names))

        @pytest.mark.parametrize("budget", [pytest.param(fast, id="fast"),
                                            pytest.param(slow, id="slow", marks=pytest.mark.fuzz)])
        @pytest.mark.parametrize("name", names)
        def test(name, budget, tmp_path):
            ran, fixed = 0, {"folder": tmp_path, "name": name}
            fixed = {k: v for k, v in fixed.items() if k in wants}

            def one(**drawn):
                nonlocal ran
                check(**fixed, **drawn)
                ran += 1
            run = hypothesis.settings(max_examples=budget, deadline=None, database=None, derandomize=SEED is None,
                                      suppress_health_check=list(hypothesis.HealthCheck))(
                                          hypothesis.given(**strategies)(one))
            (run if SEED is None else hypothesis.seed(f"{SEED} {name}")(run))()
            assert ran >= budget, f"only {ran} of {budget} cases ran"
        test.__doc__ = check.__doc__
        return test
    return wrap
