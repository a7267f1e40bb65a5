"""The tables of the documentation are those printed; in a user's test file they are all that is shown."""
import doctest
import os
import re
import subprocess
import sys

import pytest

import fltheory as ft
from tests.test_pytest_plugin import pytest_in
from tests.workbench.assertions.subjects import ROOT

ALL = ["assert_bias", "assert_claim", "assert_conforms", "assert_fixed_point", "assert_floor", "assert_linear_rate"]


@pytest.mark.parametrize("name", ALL)
def test_the_table_in_the_documentation_is_the_one_that_is_printed(name, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("flint")
    monkeypatch.chdir(ROOT)
    function = getattr(ft, name)
    example, = doctest.DocTestFinder(recurse=False).find(function, name, globs={})
    assert any("to read" in (e.exc_msg or "") or "repair" in (e.exc_msg or "") for e in example.examples)
    shown = []
    assert doctest.DocTestRunner(verbose=False).run(example, out=shown.append).failed == 0, "".join(shown)


def test_a_changed_table_in_the_documentation_would_be_noticed():
    text = ft.assert_bias.__doc__.replace("0.1 ", "0.2 ")
    assert text != ft.assert_bias.__doc__
    example = doctest.DocTestParser().get_doctest(text, {}, "changed", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(example, out=lambda s: None).failed == 1


TESTS = '''
import fltheory as ft

LINE = ft.Quadratic(H=[[[1]], [[1]]], c=[[0], [1]])


def op(algorithm):
    return ft.derive(algorithm, LINE, ft.Full())


def test_point():
    ft.assert_fixed_point(op(ft.{method}("1/2", [1, 2])).exact(), ["1/2"])


def test_bias():
    ft.assert_bias(op(ft.{method}("1/2", [1, 2])), 0)


def test_rate():
    ft.assert_linear_rate(op(ft.FedAvg("1/2", [1, 2])), at_most="{rate}")


def test_floor():
    ft.assert_floor(op(ft.{method}("1/2", [1, 2])), at_most="1/1000")


def test_rules():
    class Own(ft.FedAvg):
        def model(self, state):
            return state.x * {factor}
    ft.assert_conforms(Own("1/2"))


def test_claim():
    ft.assert_claim("{claim}", paths="asserted_papers")
'''


def test_a_passing_file_passes_and_a_failing_one_shows_tables_and_no_frame_of_ours(own):
    (own.parent / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    file = own.parent / "test_own.py"
    good = {"method": "Scaffold", "rate": "1/2", "factor": "2", "claim": "half"}
    file.write_text(TESTS.format(**good))
    code, out = pytest_in(own.parent, "test_own.py")
    assert code == 0, out
    assert "6 passed" in out
    formulas = own / "own" / "formulas.py"
    formulas.write_text(formulas.read_text().replace("Fraction(1, k)", "Fraction(1, k + 1)"))
    file.write_text(TESTS.format(method="FedAvg", rate="1/4", factor="state.x", claim="half"))
    code, out = pytest_in(own.parent, "test_own.py")
    assert code == 1, out
    assert "6 failed" in out
    failures = out.split("= FAILURES =")[1].split("short test summary")[0]
    shown = [line.removeprefix("E").split() for line in failures.splitlines()]
    for row in (["x[0]", "1/2", "3/5", "1/10", "<-", "differs"], ["distance", "0", "0.1", "0.1", "<-", "differs"],
                ["rate", "<=", "1/4", "0.375", "0.125", "<-"], ["floor", "<=", "0.001", "0.01", "0.009", "<-"],
                ["failed", "affine", "in", "the", "state"], ["word", "CERTIFIED", "FALSE"]):
        assert row in shown, (row, failures)
    places = set(re.findall(r"^(\S+\.py):\d+:", failures, re.M))
    assert places == {"test_own.py"}, places
    assert "def decided" not in failures


def test_importing_the_names_is_all_that_is_light():
    code = "import fltheory, sys; dir(fltheory); assert not [m for m in sys.modules if m.startswith('fltheory.assert')]"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
