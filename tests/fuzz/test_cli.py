"""The command line under hostile arguments and paper folders: an exit status, one line of error, never a traceback."""
import contextlib
import gc
import io
import re

import pytest

pytest.importorskip("hypothesis")
pytest.importorskip("torch")

from hypothesis import strategies as st

from fltheory.cli import main, parser
from fltheory.verdicts.verify import verify
from tests.fuzz.budget import cases

LONG = {"bench", "calibrate", "doctor"}  # look at this machine or run for minutes: their arguments alone are fuzzed


def commands():
    (table,) = (a for a in parser()._actions if hasattr(a, "choices") and isinstance(a.choices, dict))
    return table.choices


def called(argv):
    """(exit status, stdout, stderr) of one call in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(argv)
        except SystemExit as stop:
            code = stop.code
    return code, out.getvalue(), err.getvalue()


def acceptable(argv):
    code, out, err = called(argv)
    assert code in (0, 1, 2, 3), (argv, code)
    assert "Traceback" not in out + err
    if code == 2:
        assert re.match(r"(usage: |fltheory: error: )", err), err
        lines = err.strip().split("\n")
        assert lines[0].startswith("usage: ") or len(lines) == 1, err
    return code, out, err


TEXTS = st.one_of(st.sampled_from([
    "", " ", "-", "--", "-1", "0", "1", "2", "1.5", "nan", "1/0", "1e999", "²", "١", "½", "--help", "-h", "--version",
    "x" * 5000,
    "../x", "/", ".", "..", "\0", "\udcff", "<script>", "é\n\n", "full", "uniform:1", "uniform:²",
    "uniform:99999999999999999999",
    "bernoulli:1/0", "bernoulli:2", "a,b,,", ",", "%s", "{}", "$(id)", "cuda", "cpu",
    "none", "rows", "1e400", "9" * 5000, "nowhere"]),
    st.text(max_size=6), st.integers(-3, 3).map(str), st.sampled_from(["FILE", "BINARY", "FOLDER", "DATA", "PAPER"]))


def places(folder):
    """Paths of every kind inside a folder."""
    (folder / "file.txt").write_text("text")
    (folder / "binary.bin").write_bytes(bytes(range(256)) * 8)
    (folder / "empty").mkdir(exist_ok=True)
    (folder / "data.csv").write_text("c,t,f\na,1,2\na,2,1\nb,3,5\nb,1,1\n")
    (folder / "paper").mkdir(exist_ok=True)
    (folder / "paper" / "ledger.csv").write_bytes(b"\xff\xfe\x00")
    return {"FILE": "file.txt", "BINARY": "binary.bin", "FOLDER": "empty", "DATA": "data.csv", "PAPER": "paper"}


@st.composite
def vectors(draw, name):
    """Arguments of one command: its own options, abbreviated, repeated or unknown, with hostile values."""
    options = [o for a in commands()[name]._actions for o in a.option_strings] + ["--nothing"]
    argv = [name]
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["text", "text", "option", "pair", "short", "joined"]))
        option = draw(st.sampled_from(options))
        if kind == "text":
            argv.append(draw(TEXTS))
        elif kind == "option":
            argv.append(option)
        elif kind == "short":
            argv.append(option[:draw(st.integers(2, len(option)))])
        else:
            value = draw(TEXTS)
            argv += [option, value] if kind == "pair" else [f"{option}={value}"]
    return argv


NAMES = tuple(sorted(commands()))


@cases(fast=8, slow=150, names=NAMES, data=st.data())
def test_arguments(name, data, folder):
    """Any argument vector ends in a status, with one line or a usage message on stderr."""
    argv = data.draw(vectors(name), label="argv")
    if name in LONG:
        argv = [*argv, "--surely-unknown"]
    known = places(folder)
    with contextlib.chdir(folder):
        argv = [re.sub("|".join(known), lambda m: known[m[0]], a) for a in argv]
        acceptable(argv)


@cases(fast=10, slow=60, argv=st.lists(TEXTS, max_size=3))
def test_no_command(argv):
    """Without a known command it is a usage message."""
    if argv[:1] not in [[n] for n in NAMES]:
        acceptable(argv)


HEAD = "id,place,type,kind,expected,evidence,corrected_by,says\n"
IDS = ["../x", "<script>alert(1)</script>", "a b", "&amp;", "'\"", "é", "x" * 3000, "$x$", "|", "-h", "a/b", "%00", "{{7*7}}"]
BODIES = {
    "syntax": "def (",
    "recursion": "def f():\n    f()\nf()", "raise": "raise RuntimeError('<b>')",

    "print": "print('<script>')", "binary": "\0", "import": "import surely_not_there",
    "empty": "",
    "claim": "import fltheory as ft\n@ft.claim({id!r}, on=[ft.Instance('<i>')])\ndef c(i):\n"
             "    '''<script>x</script> $<$'''\n    return {out}\n",
}
RETURNS = ["ft.equal(1, 1, label='<script>y</script>')", "None", "1/0", "ft.equal([1], [1, 2])",
           "ft.at_most(2, 1, label='<img src=x>')",
           "c(i)", "print('<script>')", "i.nothing", "[[]]", "float('nan')"]


@cases(fast=20, slow=120, id=st.sampled_from(IDS),
       body=st.sampled_from(sorted(BODIES) + ["claim"] * 8), out=st.sampled_from(RETURNS),
       ledger=st.sampled_from([HEAD + "{row}\n"] * 6 + [HEAD, "", "\n", "id,id\n{row}\n",
                                                        HEAD + "{row}\n{row}\n", HEAD + "{row},\n",
                                                        HEAD + "{row}" + "z" * 10**5 + "\n",
                                                        "a" * 10**6, '"' + HEAD, HEAD + '"{row}']))
def test_hostile_paper_folders(folder, id, body, out, ledger):
    """A folder that breaks is refused or its claims end in a verdict; nothing that it says becomes markup."""
    import csv
    import itertools
    number = next(k for k in itertools.count() if not (folder / f"papers{k}").exists())
    paper = folder / f"papers{number}" / "p"
    (paper / "claims").mkdir(parents=True)
    row = io.StringIO()
    csv.writer(row).writerow([id, "Theorem <1>", "claim", "identity", "CERTIFIED", "", "", "says <script>alert(1)</script>"])
    (paper / "ledger.csv").write_text(ledger.replace("{row}", row.getvalue().strip()))
    (paper / "claims" / "main.py").write_text(BODIES[body].replace("{id!r}", repr(id)).replace("{out}", out))
    report = folder / f"report{number}"
    code, _, err = acceptable(["verify", str(paper), "--quick", "--report", str(report)])
    assert code == 2 or (report / "index.html").exists() or body in ("empty", "print"), err
    for file in report.glob("*.html"):
        page = file.read_text(encoding="utf-8")
        assert "<script>alert" not in page and "<script>x" not in page and "<script>y" not in page and "<img src=x" not in page
    for command in (["list", str(paper)], ["show", id, str(paper)] if id != "-h" else ["show", "none", str(paper)]):
        acceptable(command)


def leaving(body, folder):
    paper = folder / "leaving" / "p"
    (paper / "claims").mkdir(parents=True)
    (paper / "ledger.csv").write_text(HEAD + "a,Theorem 1,claim,identity,CERTIFIED,,,says\n")
    (paper / "claims" / "main.py").write_text(body)
    return main(["verify", str(paper)])


@pytest.mark.parametrize("body", ["import sys\nsys.exit(0)", "raise SystemExit", "raise GeneratorExit",
                                  "raise BaseException('odd')"])
def test_a_paper_that_asks_to_leave_is_refused(body, tmp_path, capsys):
    assert leaving(body, tmp_path) == 2
    assert "p/claims/main.py cannot be imported" in capsys.readouterr().err


def test_a_user_can_interrupt_the_import_of_a_paper(tmp_path, capsys):
    assert leaving("raise KeyboardInterrupt", tmp_path) == 130
    assert "interrupted" in capsys.readouterr().err


def test_a_folder_of_papers_that_asks_to_leave_is_refused(tmp_path, capsys):
    (tmp_path / "leaving").mkdir()
    (tmp_path / "leaving" / "__init__.py").write_text("raise SystemExit(0)")
    assert leaving("", tmp_path) == 2
    assert "leaving/__init__.py cannot be imported" in capsys.readouterr().err


def test_a_claim_that_asks_to_leave_is_an_error_and_the_others_are_decided(tmp_path):
    """A status 0 would have read as success, and the journal stayed open."""
    claims = ["import fltheory as ft"] + [
        f"@ft.claim('{name}', on=[ft.Instance('i')])\ndef {name}(i):\n    'x'\n    {body}"
        for name, body in (("a", "raise SystemExit(0)"), ("b", "return ft.equal(1, 1)"))]
    paper = tmp_path / "asking" / "p"
    (paper / "claims").mkdir(parents=True)
    (paper / "ledger.csv").write_text(HEAD + "".join(f"{k},Eq. 1,claim,identity,SUPPORTED,,,says\n" for k in "ab"))
    (paper / "claims" / "main.py").write_text("\n".join(claims))
    records, code = verify([paper], report=tmp_path / "report", on_record=lambda r: None)
    assert code == 1
    assert {r["id"]: r["word"] for r in records if r["type"] == "claim"} == {"a": "ERROR", "b": "SUPPORTED"}
    assert "SystemExit" in (tmp_path / "report" / "verdicts.md").read_text(encoding="utf-8")


def test_an_interrupted_run_closes_its_journal(tmp_path):
    def stop(records):
        raise KeyboardInterrupt
    assert leaving(BODIES["claim"].replace("{id!r}", "'a'").replace("{out}", "ft.equal(1, 1)"), tmp_path) in (0, 1)
    with pytest.raises(KeyboardInterrupt):
        verify([tmp_path / "leaving"], report=tmp_path / "report", on_record=stop)
    gc.collect()  # an open file would warn here, and warnings are errors


@pytest.mark.parametrize("law", ["uniform:²", "uniform:0", "uniform:-1", "uniform:" + "9" * 5000, "uniform:", "bernoulli:²"])
def test_participation_is_read_or_refused(law, tmp_path):
    table = tmp_path / places(tmp_path)["DATA"]
    code, _, _ = acceptable(["predict", str(table), "--client", "c", "--target", "t", "--participation", law])
    assert code == 2


@pytest.mark.parametrize("count", ["²", "١x", "-1", "0", "9" * 5000, "", "1.0"])
@pytest.mark.parametrize("option", ["--bands", "--rounds", "--steps"])
def test_counts_are_read_or_refused(option, count, tmp_path):
    table = tmp_path / places(tmp_path)["DATA"]
    code, _, err = acceptable(["predict", str(table), "--client", "c", "--target", "t", f"{option}={count}"])
    assert code == 2 and "not an integer >= 1" in err
