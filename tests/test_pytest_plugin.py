"""The pytest plugin, in processes of its own: ids, selection, failures like tables, skips, silence without --claims."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.verdicts.claims.folders import CLAIM, FINDING, WRONG, paper

ROOT = Path(__file__).parents[1]


def pytest_in(folder, *args):
    """(exit code, output) of a fresh pytest that loads the plugin by name and turns warnings into errors."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-rs",
        "--strict-markers",
        *map(str, args),
    ]
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")} | {
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "fltheory.pytest_plugin",
    }
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env)
    return done.returncode, done.stdout + done.stderr


SCOPE = '''
from fltheory.verdicts.claims.claim import Hypothesis
from fltheory.core.errors import MissingLibrary


@claim("scope", on=[Instance("inside", k=1), Instance("outside", k=9), Instance("no library", k=0)],
       powerless="an example", domain="some", needs=[Hypothesis("small k", "$k\\\\le5$", lambda i: (i.k, 5))])
def scope(i):
    """Holds for small k."""
    if i.k == 0:
        raise MissingLibrary("cvxpy is not installed")
    return equal(i.k, i.k)
'''


@pytest.fixture
def own(tmp_path):
    """A folder of papers with a claim that holds, one that is rightly called FALSE, one with a scope, and a finding."""
    folder = paper(tmp_path / "mine", rows=[CLAIM, WRONG, FINDING, CLAIM.replace("half,", "scope,")])
    file = folder / "claims" / "first.py"
    file.write_text(file.read_text() + SCOPE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    return tmp_path


def test_one_item_per_claim_and_instance(own):
    code, out = pytest_in(own, "mine", "--claims", "--collect-only", "-q")
    assert code == 0, out
    assert [line for line in out.splitlines() if "::" in line] == [
        "mine/own::half[two]",
        "mine/own::half[word]",
        "mine/own::third[three]",
        "mine/own::third[word]",
        "mine/own::scope[inside]",
        "mine/own::scope[outside]",
        "mine/own::scope[no library]",
        "mine/own::scope[word]",
        "mine/own::finding[f1]",
    ]


def test_expected_verdicts_pass_and_inapplicable_ones_are_skipped_with_the_reason(own):
    code, out = pytest_in(own, "mine", "--claims")
    assert code == 0, out
    assert "7 passed, 2 skipped" in out
    assert "OUT_OF_SCOPE: small k fails: 9 against 5" in out
    assert "SKIPPED: cvxpy is not installed" in out


def test_without_the_option_nothing_happens(own):
    code, out = pytest_in(own, "mine")
    assert code == 5, out
    assert "no tests ran" in out


def test_selection_by_keyword_mark_and_id(own):
    assert "1 passed, 8 deselected" in pytest_in(own, "mine", "--claims", "-k", "half and two")[1]
    assert "1 passed, 8 deselected" in pytest_in(own, "mine", "--claims", "-m", "finding")[1]
    assert "6 passed, 2 skipped, 1 deselected" in pytest_in(own, "mine", "--claims", "-m", "claim")[1]
    code, out = pytest_in(own, "mine/own::third[three]", "mine/own::finding[f1]", "--claims", "-v")
    assert code == 0, out
    assert "mine/own::third[three] PASSED" in out
    assert "2 passed" in out


def test_a_failure_is_a_table_without_frames(own):
    (own / "mine" / "own" / "formulas.py").write_text("def share(k):\n    return 0.5 if k == 2 else 1\n")
    code, out = pytest_in(own, "mine", "--claims", "-k", "half or third")
    assert code == 1
    assert "half: SUPPORTED, expected CERTIFIED" in out  # a float slipped in: weaker evidence, another word
    (own / "mine" / "own" / "formulas.py").write_text(
        "from fractions import Fraction\n\ndef share(k):\n    return Fraction(1, k + 1)\n"
    )
    code, out = pytest_in(own, "mine", "--claims", "-k", "half")
    assert code == 1
    shown = [line.split() for line in out.splitlines()]
    assert ["comparison", "left", "relation", "right", "margin"] in shown
    assert ["statement", "2/3", "equal", "1", "-1/3", "FALSIFIED", "(exact)"] in shown
    assert "half: FALSE, expected CERTIFIED" in out
    assert "check_instance" not in out
    assert "Traceback" not in out


def test_a_table_shows_hypotheses_with_both_numbers(own):
    file = own / "mine" / "own" / "claims" / "first.py"
    file.write_text(file.read_text().replace("equal(i.k, i.k)", "equal(i.k, 2)"))
    out = pytest_in(own, "mine", "--claims", "-k", "scope and inside")[1]
    shown = [line.split() for line in out.splitlines()]
    assert ["small", "k", "1", "5", "4", "holds"] in shown
    assert ["statement", "1", "equal", "2", "-1", "FALSIFIED", "(exact)"] in shown


def test_a_false_claim_that_holds_again_fails_by_its_word_only(own):
    file = own / "mine" / "own" / "claims" / "first.py"
    file.write_text(file.read_text().replace("return equal(2 * f.share(i.k), 1)", "return equal(3 * f.share(i.k), 1)"))
    code, out = pytest_in(own, "mine", "--claims", "-v", "-k", "third or finding")
    assert code == 1
    assert "third[three] PASSED" in out
    assert "third[word] FAILED" in out
    assert "finding[f1] FAILED" in out
    assert "f1: NOT CONFIRMED, expected CONFIRMED" in out


def test_an_error_in_a_claim_fails_its_instance(own):
    file = own / "mine" / "own" / "claims" / "first.py"
    file.write_text(file.read_text().replace("equal(i.k, i.k)", "equal(i.missing, 1)"))
    code, out = pytest_in(own, "mine", "--claims", "-k", "scope and inside")
    assert code == 1
    assert "scope on inside: ERROR AttributeError" in out


def test_a_broken_folder_is_a_collection_error_in_one_line(own):
    (own / "mine" / "own" / "ledger.csv").write_text("id,place\n")
    code, out = pytest_in(own, "mine", "--claims")
    assert code == 2
    assert "needs the columns" in out
    assert "Traceback" not in out


def test_workers_collect_the_same_items(own):
    pytest.importorskip("xdist")
    code, out = pytest_in(own, "mine", "--claims", "-p", "xdist", "-n", "2")
    assert code == 0, out
    assert "7 passed, 2 skipped" in out


def test_the_fixture_checks_one_claim(own):
    (own / "test_own.py").write_text("""
import pytest
from fltheory.verdicts.claims.claim import Claim, Hypothesis, Instance
from fltheory.core.relations import equal

claim = Claim("c", lambda i: equal(i.k, 1), (), needs=(Hypothesis("small", "", lambda i: (i.k, 5)),))

def test_good(check_claim):
    check_claim(claim, Instance("one", k=1))

def test_outside(check_claim):
    check_claim(claim, Instance("nine", k=9))

def test_bad(check_claim):
    check_claim(claim, Instance("two", k=2))
""")
    code, out = pytest_in(own, "test_own.py")
    assert code == 1
    assert "1 failed, 1 passed, 1 skipped" in out
    assert "c on two: FALSIFIED" in out
    assert "pytest_plugin.py:" not in out.split("short test summary")[0].split("FAILURES")[1]


def test_the_plugin_is_registered_once_in_this_very_run(pytestconfig):
    plugins = [
        p
        for _, p in pytestconfig.pluginmanager.list_name_plugin()
        if getattr(p, "__name__", "") == "fltheory.pytest_plugin"
    ]
    assert len(plugins) == 1


def test_our_own_folder_is_collected():
    code, out = pytest_in(ROOT, "verification", "--claims", "-q", "-k", "appb-momentum or e8b]")
    assert code == 0, out
    assert "7 passed" in out


# ---- a machine without the optional libraries -----------------------------------------------------------------
BLOCKER = """
from importlib.machinery import PathFinder

BLOCKED = {"cvxpy", "flint", "hypothesis", "_hypothesis_pytestplugin", "pytest_timeout", "xdist"}


class Find:
    find = PathFinder.find_spec

    def __call__(self, name, path=None, target=None):
        return None if name.partition(".")[0] in BLOCKED else Find.find(name, path, target)


PathFinder.find_spec = Find()
"""




@pytest.mark.slow
def test_a_machine_without_the_optional_libraries_starts_passes_and_skips_with_reasons(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(BLOCKER)
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")} | {
        "PYTHONPATH": f"{tmp_path}:{ROOT}",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "OMP_NUM_THREADS": "1",
    }
    probe = subprocess.run([sys.executable, "-c", "import flint"], env=env, capture_output=True, text=True)
    assert "No module named 'flint'" in probe.stderr
    places = ["tests/core/operators/test_derive.py", "tests/core/operators/test_random_map.py", "tests/verdicts/claims",
              "tests/core/test_optima.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-m", "not slow", "-q", "-rs", "-p", "no:cacheprovider",
         *places],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    assert " passed" in done.stdout
    reasons = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert any("flint" in r for r in reasons)
    assert any("hypothesis" in r for r in reasons)
