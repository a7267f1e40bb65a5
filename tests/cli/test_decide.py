"""The command line: every command, every refusal, exit codes, and what `--help` may import."""

import contextlib
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from fltheory.cli import decide, main
from fltheory.core.errors import CertificateFailed
from fltheory.verdicts import verify
from tests.verdicts.lines import filled

ROOT = Path(__file__).parents[2]
FEDNOVA, FOCUS = (str(ROOT / "verification" / slug) for slug in ("fednova", "focus"))
HEAVY = ("torch", "cvxpy", "sympy", "matplotlib.pyplot", "scipy.stats")


def refused(capsys, *argv):
    """The message of a refused command: exit 2, one line on stderr, no traceback."""
    try:
        code = main([str(a) for a in argv])
    except SystemExit as stop:  # argparse
        code = stop.code
    captured = capsys.readouterr()
    assert code == 2
    assert "Traceback" not in captured.err
    return captured.err


# ---- commands ---------------------------------------------------------------------------------------------
def test_list_shows_what_is_stated_and_what_is_written(capsys):
    assert main(["list", FEDNOVA]) == 0
    out = capsys.readouterr().out
    assert "fednova/eq26-28" in out
    waiting = [line.split()[0] for line in out.splitlines() if "not yet written" in line]
    assert waiting == ["fednova/susp-eq13-psd", "fednova/fig6", "fednova/fig7", "fednova/fig8"]
    assert out.count("nothing to check") == 2
    rows = {line.split()[0] for line in out.splitlines()}
    from fltheory.verdicts.papers.discover import read_ledger

    assert rows == {f"fednova/{name}" for name in read_ledger(Path(FEDNOVA) / "ledger.csv")}
    assert main(["list", FEDNOVA, "--paper", "fednova"]) == 0


def test_show_a_claim(capsys):
    assert main(["show", "appb-momentum", FEDNOVA]) == 0
    out = capsys.readouterr().out
    assert "PROVED" in out
    assert "Local momentum" in out
    assert "tau=8: HOLDS symbolic" in out


def test_show_prints_hypotheses_mutants_search_witness_and_correction(capsys):
    assert main(["show", "thm1-explicit-as-printed", FEDNOVA]) == 0
    out = capsys.readouterr().out
    assert "needs step cap (101), drift: 1 against 561/128, margin 433/128: holds" in out
    assert "mutant uniform_weights: killed by drift dominates" in out
    assert "1/49 at most 0, margin" in out
    assert "witness: witnesses/e1.py (`fltheory witness fednova/e1` prints it)" in out
    assert "corrected statement: thm1-explicit-corrected: With noise independent across clients, for every linear" in out
    assert "finding: e1" in out


def test_show_prints_the_search(tmp_path, capsys):
    from tests.verdicts.claims.folders import paper

    folder = paper(tmp_path / "own")
    assert main(["show", "third", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "three: FALSIFIED exact" in out
    assert "2/3 equal 1" in out
    assert "witness: witnesses/f1.py" in out


def test_show_as_records(capsys):
    assert main(["show", "fednova/appb-momentum", FEDNOVA, "--json"]) == 0
    claim, *instances = map(json.loads, capsys.readouterr().out.splitlines())
    assert (claim["type"], claim["id"]) == ("claim", "appb-momentum")
    assert (claim["paper"], claim["word"]) == ("fednova", "PROVED")
    assert instances and {i["type"] for i in instances} == {"instance"}
    assert main(["show", "e2", FEDNOVA, "--json"]) == 0
    (finding,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (finding["type"], finding["word"]) == ("finding", "CONFIRMED")


def test_show_as_citation(capsys):
    from datetime import UTC, datetime

    from fltheory import __version__

    assert main(["show", "appb-momentum", FEDNOVA, "--cite"]) == 0
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert f"{datetime.now(UTC):%Y}" in line and f"fltheory {__version__}" in line
    assert line.rstrip().endswith("fednova.html#fednova/appb-momentum")
    assert main(["show", "appb-momentum", FEDNOVA, "--bibtex"]) == 0
    entry = capsys.readouterr().out
    assert entry.startswith("@misc{fltheory:fednova/appb-momentum,")
    assert "author  = {{fltheory project}}" in entry and "PROVED" in entry


def test_ids_that_several_papers_use_are_told_apart(tmp_path, capsys):
    from tests.verdicts.claims.folders import paper

    for slug in ("one", "two"):
        paper(tmp_path / "both", slug)
    folder = str(tmp_path / "both")
    message = refused(capsys, "show", "half", folder)
    assert "is used by 2 papers" in message and "one/half or two/half" in message
    assert main(["show", "two/half", folder]) == 0
    assert capsys.readouterr().out.startswith("two/half")
    assert main(["show", "two/half", folder, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["paper"] == "two"


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("eq26", "Did you mean eq26-28 or"),
        ("EQ26-28", "Did you mean eq26-28"),
        ("fednova/eq26", "Did you mean fednova/eq26-28 or"),
        ("eq26-27", "eq26-28"),
        ("thm1", "Did you mean thm1-"),
        ("explicit-as-printed", "thm1-explicit-as-printed"),
    ],
)
def test_close_ids_are_suggested(capsys, wrong, meant):
    assert meant in refused(capsys, "show", wrong, FEDNOVA)


def test_nothing_is_suggested_where_nothing_is_close(capsys):
    assert "Did you mean" not in refused(capsys, "show", "xyzzy", FEDNOVA)


def test_an_id_of_the_ledger_that_holds_no_claim_is_named_as_such(capsys):
    assert "stands in the ledger of fednova" in refused(capsys, "show", "fig6", FEDNOVA)


# ---- what stands on the terminal --------------------------------------------------------------------------------
HOSTILE = "\x1b]0;owned\x07\u202e"
HOSTILE_CLAIMS = """
from fltheory.verdicts.claims.claim import Instance, Hypothesis, claim, finding
from fltheory.core.relations import equal
from fltheory.verdicts.search.search import Family, Search

EVIL = {evil!r}


def build(draw):
    return Instance("drawn" + EVIL, k=2, says=EVIL)


@claim("half", on=[Instance("one" + EVIL, k=1), Instance("two", k=1, says=EVIL)], reading=EVIL, powerless=EVIL,
       domain=EVIL, needs=[Hypothesis("h" + EVIL, EVIL, lambda i: (0, 1))],
       search=Search((Family("family" + EVIL, build),), tries=10))
def half(i):
    return equal(i.k, 1, EVIL)


half.body.__doc__ = "A statement. " + EVIL


@claim("third", on=[Instance("one" + EVIL)])
def third(i):
    "Raises."
    raise ValueError(EVIL)


finding("f1", kind="gap", says=EVIL, check=lambda: equal(1, 1, EVIL))
"""


@pytest.fixture
def hostile(tmp_path):
    """A paper folder with control characters and direction marks wherever text may stand."""
    from fltheory.verdicts.papers.discover import COLUMNS

    folder = tmp_path / "papers" / f"hostile{abs(hash(tmp_path)) % 10**8}"
    (folder / "claims").mkdir(parents=True)
    (folder / "claims" / "all.py").write_text(HOSTILE_CLAIMS.format(evil=HOSTILE))
    rows = [f"half,{HOSTILE},claim,identity,FALSE,exact,,{HOSTILE}", f"third,{HOSTILE},claim,identity,ERROR,exact,,x",
            f"f1,{HOSTILE},finding,gap,CONFIRMED,exact,,{HOSTILE}", f"fig{HOSTILE},Fig 1,figure,figure,,,,{HOSTILE}"]
    (folder / "ledger.csv").write_text("\n".join([",".join(COLUMNS), *rows]) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("command", [
    "verify", "list", "show half", "show third", "show f1", "show half --json", "show half --cite", "show half --bibtex",
    "search half --tries 3", "search third --tries 3", f"show fig{HOSTILE}"], ids=lambda c: c.replace(HOSTILE, "ure"))
def test_no_command_prints_what_would_drive_the_terminal(hostile, capsys, command):
    pytest.importorskip("hypothesis")
    words = command.split(" ")
    after = 1 + (words[0] in ("show", "search"))
    main([*words[:after], str(hostile), *words[after:]])
    out = "".join(capsys.readouterr())
    assert len(out) > 20
    assert not [c for c in out if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]


def test_verdicts_in_a_session_and_in_pytest_are_plain_text_too(hostile):
    from fltheory import pytest_plugin
    from fltheory.verdicts.papers.discover import load

    claims = load(hostile).claims
    third = claims["third"].check()
    shown = [str(claims["half"].check()), str(third), pytest_plugin.table(claims["third"], third.instances[0])]
    for claim in claims.values():
        item = object.__new__(pytest_plugin.WordItem)
        item.claim = claim
        with contextlib.suppress(pytest_plugin.Refuted):
            item.runtest()
    with pytest.raises(AssertionError) as failure:
        claims["third"].assert_holds()
    for text in (*shown, str(failure.value)):
        assert "owned" in text
        assert not [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]


def test_names_of_clients_are_plain_text_too(tmp_path, capsys):
    pytest.importorskip("torch")
    data = tmp_path / "data.csv"
    rows = "".join(f"{HOSTILE if k % 2 else 'a'},{k},{k * k % 7},{(3 * k + k % 3) % 11}\n" for k in range(24))
    data.write_text(f"who,x{HOSTILE},z,y\n" + rows, encoding="utf-8")
    main(["predict", str(data), "--client", "who", "--target", "y", "--algorithms", "FedAvg", "--rounds", "5"])
    out = "".join(capsys.readouterr())
    assert "owned" in out
    assert not [c for c in out if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]


# ---- search -----------------------------------------------------------------------------------------------
def test_search_finds_nothing_against_a_true_claim(capsys):
    pytest.importorskip("hypothesis")
    assert main(["search", "eq26-28", FEDNOVA, "--tries", "15"]) == 0
    out = capsys.readouterr().out
    assert "no counter-example to eq26-28 in 30 tries" in out  # 15 for each algorithm of the claim
    assert "over quadratics for FedAvg, quadratics for FedAvg with Proximal: not a proof" in out


def result(found=False, error=""):
    """A search result as `Claim.search` returns it, without the search."""
    from fltheory.verdicts.search.search import SearchResult

    class Fixed(SearchResult):
        found = False
        __str__ = lambda self: "what was found"  # noqa: E731

    Fixed.found = found
    return Fixed(None, error=error)


@pytest.mark.parametrize(
    ("name", "found", "error", "code"),
    [
        ("eq26-28", False, "", 0),
        ("eq26-28", True, "", 1),
        ("eq26-28", False, "broke off", 1),
        ("thm1-explicit-as-printed", True, "", 0),
        ("thm1-explicit-as-printed", False, "", 0),
    ],
)
def test_exit_codes_of_search(monkeypatch, capsys, name, found, error, code):
    from fltheory.verdicts.claims.claim import Claim

    monkeypatch.setattr(Claim, "search", lambda self, seconds=None, tries=None: result(found, error))
    assert main(["search", name, FEDNOVA]) == code
    assert capsys.readouterr().out == "what was found\n"


def test_budgets_of_search(monkeypatch, capsys):
    from fltheory.verdicts.claims.claim import Claim

    seen = []
    def search(self, seconds=None, tries=None):
        seen.append((seconds, tries))
        return result()

    monkeypatch.setattr(Claim, "search", search)
    for options in ([], ["--seconds", "2.5"], ["--tries", "7"], ["--tries", "7", "--seconds", "3"]):
        main(["search", "eq26-28", FEDNOVA, *options])
    assert seen == [(60, None), (2.5, None), (None, 7), (3.0, 7)]


def test_show_a_finding(capsys):
    assert main(["show", "e1", FEDNOVA]) == 0
    out = capsys.readouterr().out
    assert "CONFIRMED" in out
    assert "1/49 against 8/441" in out
    assert "[ok] witness script" in out


def test_witness_prints_a_script_that_runs(capsys):
    assert main(["witness", "e1", FEDNOVA]) == 0
    script = capsys.readouterr().out
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0
    assert "VERDICT: all hypotheses hold and (97) fails" in done.stdout


def test_ids_are_taken_as_they_are_printed(capsys):
    for name in ("eq26-28", "fednova/eq26-28"):
        assert main(["verify", FEDNOVA, "--quick", "--only", name]) == 0
        assert capsys.readouterr().out.startswith("fednova/eq26-28 ")


def test_the_default_path_is_the_folder_verification(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(["list"]) == 0
    monkeypatch.chdir(ROOT / "tests")
    assert "verification" in refused(capsys, "list")


# ---- refusals ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("argv", "value", "remedy"),
    [
        (["verify", FEDNOVA, "--only", "thm99"], "'thm99'", "`fltheory list` shows the ids"),
        (["verify", FEDNOVA, "--only", "eq26-29"], "'eq26-29'", "Did you mean eq26-28"),
        (["verify", FEDNOVA, "--only", "focus/eq26-28"], "'focus/eq26-28'", "Did you mean fednova/eq26-28"),
        (["certify", FEDNOVA, "--only", "eq26-28"], "['eq26-28']", "'fednova/eq175'"),
        (["certify", FOCUS, "--only", "eq26-28"], "['eq26-28']", "'focus/eq96'"),
        (["figures", FEDNOVA, "--only", "fig99"], "['fig99']", "'fednova/fig2'"),
        (["figures", FEDNOVA, "--scheduler", "head:8786"], "'head:8786'", "tcp://host:port"),
        (["reproduce", FEDNOVA, "--jobs", "2", "--scheduler", "tcp://head:1"], "--scheduler", "not allowed with argument --jobs"),
        (["calibrate", "--jobs", "1000"], "1000", "from 1 to 512"),
        (["verify", "no/such/folder"], "'no/such/folder'", "Give PATH, a paper folder"),
        (["verify", str(ROOT / "fltheory")], "holds no paper folder", "`fltheory list "),
        (["verify", FEDNOVA, "--mutant", "typo"], "'typo'", "Name one of them"),
        (["verify", FEDNOVA, "--mutant", "replace"], "'replace'", "uniform_weights"),
        (["verify", FEDNOVA, "--mutant", "_steps"], "'_steps'", "uniform_weights"),
        (["verify", FEDNOVA, "--mutant", "FedAvg"], "'FedAvg'", "uniform_weights"),
        (["verify", FEDNOVA, "--jobs", "0"], "'0'", "integer >= 1"),
        (["verify", FEDNOVA, "--jobs", "two"], "'two'", "integer >= 1"),
        (["verify", FEDNOVA, "--timeout", "0"], "'0'", "seconds > 0"),
        (["verify", FEDNOVA, "--timeout", "soon"], "'soon'", "seconds > 0"),
        (["show", "thm99", FEDNOVA], "'thm99'", "`fltheory list`"),
        (["witness", "thm99", FEDNOVA], "'thm99'", "`fltheory list`"),
        (["witness", "eq26-28", FEDNOVA], "'eq26-28'", "Witnesses belong to"),
        (["witness", "e2", FEDNOVA], "'e2'", "Witnesses belong to"),
        (["search", "e1", FEDNOVA], "'e1'", "Search thm1-explicit-as-printed"),
        (["search", "e12-symbols", FEDNOVA], "'e12-symbols'", "Name a claim"),
        (["search", "thm99", FEDNOVA], "'thm99'", "`fltheory list`"),
        (["search", "eq26-28", FEDNOVA, "--seconds", "0"], "'0'", "seconds > 0"),
        (["search", "eq26-28", FEDNOVA, "--seconds", "nan"], "'nan'", "seconds > 0"),
        (["search", "eq26-28", FEDNOVA, "--tries", "-3"], "'-3'", "integer >= 1"),
        (["show", "eq26-28", FEDNOVA, "--json", "--bibtex"], "--json", "not allowed"),
        (["list", FEDNOVA, "--paper", "other"], "'other'", "Name one of them"),
        (["bench", "--repeats", "-1"], "'-1'", "integer >= 1"),
        (["unknown"], "'unknown'", "choose from"),
        ([], "required", "command"),
    ],
)
def test_refusals_give_value_rule_and_remedy(capsys, argv, value, remedy):
    message = refused(capsys, *argv)
    assert value in message
    assert remedy in message


def test_a_device_that_is_not_there_is_refused(capsys):
    torch = pytest.importorskip("torch")
    assert "quantum" in refused(capsys, "verify", FEDNOVA, "--only", "lem1", "--device", "quantum")
    if not torch.cuda.is_available():
        message = refused(capsys, "verify", FEDNOVA, "--only", "lem1", "--device", "cuda")
        assert "'cuda'" in message
        assert "cpu" in message


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_report_folder_that_cannot_be_written_is_refused(tmp_path, capsys, below):
    (tmp_path / "file").write_text("kept")
    message = refused(capsys, "verify", FEDNOVA, "--only", "lem1", "--report", tmp_path / "file" / below)
    assert str(tmp_path / "file") in message
    assert "Choose another with --report" in message
    assert (tmp_path / "file").read_text() == "kept"


def test_a_mutant_without_a_catalogue_is_refused(tmp_path, capsys):
    from tests.verdicts.claims.folders import paper

    folder = paper(tmp_path / "uncatalogued", bugs=False)
    assert "has no bugs.py" in refused(capsys, "verify", folder, "--mutant", "one_third")


# ---- exit codes -------------------------------------------------------------------------------------------
def test_exit_codes_of_verify(monkeypatch, capsys):
    assert main(["verify", FEDNOVA, "--quick", "--only", "appb-momentum"]) == 0
    assert main(["verify", FEDNOVA, "--quick", "--only", "appb-momentum", "--strict"]) == 0
    assert main(["verify", FEDNOVA, "--quick", "--only", "appb-momentum", "--mutant", "dampened_momentum"]) == 1

    def undecided(claim, **options):
        raise CertificateFailed("too wide")

    monkeypatch.setattr(
        verify,
        "decide",
        lambda task, *rest: [
            filled({"type": "claim", "id": "appb-momentum", "paper": "fednova", "word": "SKIPPED", "as_expected": True})
        ],
    )
    assert main(["verify", FEDNOVA, "--only", "appb-momentum"]) == 0
    assert main(["verify", FEDNOVA, "--only", "appb-momentum", "--strict"]) == 3


def test_an_interrupt_keeps_what_is_finished(monkeypatch, capsys):
    def stop(args):
        raise KeyboardInterrupt

    monkeypatch.setattr(decide, "_list", stop)
    assert main(["list", FEDNOVA]) == 130
    assert "--resume" in capsys.readouterr().err


def test_a_reader_that_closes_early_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -m fltheory list | head -n 1; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


# ---- imports ----------------------------------------------------------------------------------------------
PROBE = """
import json, sys
from fltheory.cli import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    assert not stop.code, stop.code
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "command",
    [[], ["verify"], ["list"], ["show"], ["witness"], ["search"], ["bench"], ["doctor"]],
    ids=lambda c: " ".join(c) or "fltheory",
)
def test_help_imports_nothing_heavy(command):
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *command, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"COLUMNS": "100"},
    )
    assert done.stdout.startswith("usage: fltheory")
    assert not set(json.loads(done.stderr)) & set(HEAVY)
