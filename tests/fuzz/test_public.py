"""Every public constructor and function with one spoiled argument: refused in the project's words, or a sound result."""
import pytest

pytest.importorskip("hypothesis")
pytest.importorskip("torch")

import numpy as np
from hypothesis import strategies as st

import fltheory as ft
from fltheory.analysis.algebra import remainders
from fltheory.core.evidence import POWERS
from tests.fuzz import calls
from tests.fuzz.budget import cases
from tests.fuzz.hostile import made, values

pytestmark = pytest.mark.usefixtures("alone")
LARGE = {("Markov", "n"), ("surrogate_weights", "n")}


@pytest.fixture
def alone():
    """What a symbol stood for in an earlier test, it does not in this one."""
    with remainders():
        POWERS.clear()
        yield


@pytest.mark.parametrize("name", calls.public())
def test_the_unspoiled_call_is_accepted(name):
    kwargs = calls.valid(name)
    if name == "agrees":
        with pytest.raises(ft.FLTheoryError):
            calls.target(name)(**kwargs)
    else:
        result = calls.target(name)(**kwargs)
        calls.check(result(calls.comparison) if name == "claim" else result)


@cases(fast=6, slow=110, names=calls.public(), data=st.data(), value=values)
def test_one_spoiled_argument(name, data, value):
    """One argument becomes hostile; everything else stays valid."""
    kwargs = calls.valid(name)
    spoiled = data.draw(st.sampled_from(sorted(kwargs) or ["surplus"]), label="argument")
    if spoiled == "surplus":
        return
    value = made(value)
    if (name, spoiled) in LARGE and isinstance(value, (int, np.integer)) and value > 6 and not (
            name == "Markov" and value > 10):
        return  # accepted, and as large as it says
    try:
        result = calls.target(name)(**kwargs | {spoiled: value})
    except ft.FLTheoryError as error:
        calls.refusal(error)
        return
    except NotImplementedError as error:
        assert "no certified minimiser" in str(error) or "no convex programme" in str(error)
        return
    except AssertionError as error:
        if not name.startswith("assert_"):
            raise
        calls.assertion(error, name)
        return
    if name not in ("claim", "finding", "limit", "FLOAT.array"):  # the last two move numbers as they are
        calls.check(result)
