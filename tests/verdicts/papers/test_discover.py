"""Paper folders are found by path; bad ledgers are refused with value, rule and remedy."""

import sys

import pytest

from fltheory.cli import main
from fltheory.core.errors import BadInput
from fltheory.verdicts.papers.discover import find, load, papers, read_ledger
from fltheory.verdicts.verify import verify
from tests.verdicts.claims.folders import CLAIM, FINDING, FINDINGS, HEADER, WRONG, paper


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """Leave no modules or search paths of temporary folders behind."""
    from fltheory.verdicts import folders
    from fltheory.verdicts.claims import claim

    monkeypatch.setattr(claim, "REGISTRY", [])
    monkeypatch.setattr(folders, "_ASIDE", {})
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = dict(sys.modules)
    yield
    for name in [n for n in sys.modules if n not in before]:
        if n_is_temporary(name):
            del sys.modules[name]
    sys.modules.update(before)


def n_is_temporary(name):
    return name.split(".")[0] in ("mine", "yours", "in_two_places", "verification", "broken")


def ledger(tmp_path, *rows, header=HEADER):
    path = tmp_path / "ledger.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


# ---- a reader's own folder --------------------------------------------------------------------------------
def test_a_readers_own_folder_is_checked_by_the_same_command(tmp_path, capsys):
    folder = paper(tmp_path / "mine")
    assert main(["verify", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "own/half" in out
    assert "own/third" in out
    assert "every verdict is as expected" in out
    assert main(["list", str(tmp_path / "mine")]) == 0
    assert main(["witness", "f1", str(folder)]) == 0
    assert "two thirds are" in capsys.readouterr().out


def test_a_folder_and_its_parent_count_it_once(tmp_path):
    folder = paper(tmp_path / "mine")
    assert [p.folder for p in papers([folder.parent, folder, folder])] == [folder]


def test_only_folders_that_may_hold_an_id_are_imported(tmp_path, capsys):
    one, other = paper(tmp_path / "a"), paper(tmp_path / "b")
    assert one.name == other.name
    (other / "claims" / "broken.py").write_text("1 / 0")
    (other / "ledger.csv").write_text((other / "ledger.csv").read_text().replace("\nhalf,", "\nquarter,"))
    roots = [one.parent, other.parent]
    assert [p.slug for p in papers(roots, "half")] == [p.slug for p in papers(roots, f"a/{one.name}/half")] == [f"a/{one.name}"]
    for id in ("third", f"b/{one.name}/quarter", "quarter"):   # of both, and of the broken one
        with pytest.raises(BadInput, match="broken"):
            papers(roots, id)
    for id in ("nothing", f"c/{one.name}/half", "fig9", ""):   # of none: only ledgers are read, which is what close ids are from
        found = papers(roots, id)
        assert [p.slug for p in found] == [f"a/{one.name}", f"b/{one.name}"] and not any(p.claims or p.findings for p in found)
    with pytest.raises(BadInput, match="Did you mean half"):
        find(papers(roots, "haff"), "haff")
    assert main(["show", "half", *map(str, roots)]) == 0
    assert "half" in capsys.readouterr().out


def test_an_id_of_figures_alone_names_every_ledger(tmp_path):
    roots = [paper(tmp_path / k).parent for k in "ab"]
    for root in roots:
        with open(root / "own" / "ledger.csv", "a") as ledger:
            ledger.write("fig9,Fig 9,figure,curve,,,,A curve.\n")
    with pytest.raises(BadInput, match="of a/own and b/own but holds nothing to show"):
        find(papers(roots, "fig9"), "fig9")


def test_what_the_ledger_says_is_filled_in(tmp_path):
    found = load(paper(tmp_path / "mine"))
    half, third, f1 = found.claims["half"], found.claims["third"], found.findings["f1"]
    assert (half.kind, half.expect, half.place, half.paper) == ("identity", "CERTIFIED", "Sec 1", "own")
    assert (third.expect, third.instead) == ("FALSE", "half")
    assert (f1.corrected, f1.says) == ("half", "third: two thirds are no whole.")


IN_FIELDS = """
@claim("third", on=[Instance("three", k=3)], finding="f1", at=("three",), script="witnesses/f1.py", step="a third",
       reading="As printed.", survives="half")"""


def with_fields(tmp_path, fields=IN_FIELDS, **more):
    """The example with its finding as fields of the false claim."""
    folder = paper(tmp_path / "mine", **more)
    first = folder / "claims" / "first.py"
    first.write_text(first.read_text().replace('\n@claim("third", on=[Instance("three", k=3)])', fields))
    (folder / "findings.py").unlink()
    return folder


def test_a_finding_that_only_repeats_a_false_claim_is_made_from_its_fields(tmp_path):
    apart = load(paper(tmp_path / "yours")).findings["f1"]
    folder = with_fields(tmp_path)
    f1 = load(folder).findings["f1"]
    for name in ("kind", "breaks", "at", "script", "reading", "survives", "corrected", "place", "says"):
        assert getattr(f1, name) == getattr(apart, name)
    assert f1.step == "a third" and load(folder).findings == {"f1": f1}
    records, code = verify([folder], on_record=lambda r: None)
    assert code == 0 and {r["id"]: r["word"] for r in records if r["type"] == "finding"} == {"f1": "CONFIRMED"}


def test_a_finding_in_fields_stands_in_the_ledger_and_nowhere_else(tmp_path):
    with pytest.raises(BadInput, match=r"id = 'f1': is no finding of own/ledger.csv. Add it"):
        load(with_fields(tmp_path / "a", rows=[CLAIM, WRONG]))
    twice = with_fields(tmp_path / "b")
    (twice / "findings.py").write_text(FINDINGS)
    with pytest.raises(BadInput, match="id = 'f1': is declared twice in own"):
        load(twice)
    with pytest.raises(BadInput, match=r"options of claim 'third' = \['at'\]: .*no finding is named"):
        load(with_fields(tmp_path / "c", '@claim("third", on=[Instance("three", k=3)], at=("three",))'))


def test_loading_twice_and_importing_first_give_the_same_claims(tmp_path):
    folder = paper(tmp_path / "mine")
    first = load(folder)
    assert load(folder).claims == first.claims
    assert list(first.claims) == ["half", "third"]


def test_a_folder_of_papers_may_have_an_init_file(tmp_path):
    folder = paper(tmp_path / "mine")
    (tmp_path / "mine" / "__init__.py").write_text("MARK = 1\n")
    assert set(load(folder).claims) == {"half", "third"}
    assert sys.modules["mine"].MARK == 1


# ---- folders of one name ----------------------------------------------------------------------------------
def test_one_slug_under_two_parents(tmp_path):
    right, wrong = paper(tmp_path / "mine"), paper(tmp_path / "yours", total=2)
    records, code = verify([right, wrong], on_record=lambda r: None)
    words = {(r["paper"], r["id"]): r["word"] for r in records if r["type"] == "claim"}
    assert code == 1
    assert words == {
        ("mine/own", "half"): "CERTIFIED",
        ("mine/own", "third"): "FALSE",
        ("yours/own", "half"): "FALSE",
        ("yours/own", "third"): "FALSE",
    }


def test_one_slug_and_one_parent_name_in_two_places(tmp_path):
    right, wrong = paper(tmp_path / "a" / "in_two_places"), paper(tmp_path / "b" / "in_two_places", total=2)
    for _ in range(2):
        assert load(right).claims["half"].check().word == "CERTIFIED"
        assert load(wrong).claims["half"].check().word == "FALSE"
    places = [tmp_path / "a" / "in_two_places", tmp_path / "b" / "in_two_places"]
    records, _ = verify(places, on_record=lambda r: None, only=["half"])
    assert {r["paper"]: r["word"] for r in records if r["type"] == "claim"} == {
        "a/in_two_places/own": "CERTIFIED",
        "b/in_two_places/own": "FALSE",
    }


def test_a_folder_of_papers_called_like_ours(tmp_path):
    mine = paper(tmp_path / "verification")
    from verification import bugs

    assert set(load(mine).claims) == {"half", "third"}
    from verification import bugs as theirs

    assert hasattr(theirs, "one_third")
    assert not hasattr(bugs, "one_third")


def test_a_folder_called_like_a_library_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"name of the module 'json'.*Rename"):
        load(paper(tmp_path / "json"))


# ---- ids --------------------------------------------------------------------------------------------------
def test_an_id_that_the_ledger_does_not_know_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"id = 'third': is no claim of own/ledger.csv. Add it"):
        load(paper(tmp_path / "mine", rows=[CLAIM, FINDING]))


def test_a_finding_of_another_kind_than_the_ledger_says_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"the ledger says remark for f1"):
        load(paper(tmp_path / "mine", rows=[CLAIM, WRONG, FINDING.replace("counterexample", "remark")]))


def test_an_id_declared_twice_is_refused(tmp_path):
    folder = paper(tmp_path / "mine")
    (folder / "claims" / "second.py").write_text((folder / "claims" / "first.py").read_text())
    with pytest.raises(BadInput, match="id = 'half': is declared twice in own"):
        load(folder)


def test_an_id_declared_twice_in_one_file_is_refused(tmp_path):
    folder = paper(tmp_path / "mine")
    first = folder / "claims" / "first.py"
    first.write_text(first.read_text() + first.read_text().split("@dataclass")[1].split("part: int = 0")[1])
    with pytest.raises(BadInput, match="id = 'half': is declared twice in own"):
        load(folder)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def broken(:\n", r"claims/broken.py cannot be imported: SyntaxError: .*line 1"),
        ("\nint('one')\n", r"claims/broken.py cannot be imported: ValueError: .*line 2"),
        ("import not_there\n", r"ModuleNotFoundError: No module named 'not_there' \(line 1\)"),
        ("\n\nundefined\n", r"NameError: name 'undefined' is not defined \(line 3\)"),
    ],
)
def test_a_claims_file_that_cannot_be_imported_is_named(tmp_path, capsys, text, says):
    folder = paper(tmp_path / "broken")
    (folder / "claims" / "broken.py").write_text(text)
    with pytest.raises(BadInput, match=says):
        load(folder)
    assert main(["list", str(folder)]) == 2
    assert "Traceback" not in capsys.readouterr().err


# ---- ledgers ----------------------------------------------------------------------------------------------
def test_a_good_ledger_is_read(tmp_path):
    assert list(read_ledger(ledger(tmp_path, CLAIM, WRONG))) == ["half", "third"]


@pytest.mark.parametrize(
    ("rows", "header", "says"),
    [
        ([CLAIM, WRONG, CLAIM], HEADER, "id = 'half': stands twice in ledger.csv"),
        ([CLAIM], HEADER.replace("kind,", ""), r"needs the columns .* Missing: \['kind'\]"),
        ([], HEADER, "every row"),
        ([CLAIM, "short,Sec 2"], HEADER, "row = 3: of ledger.csv has no id or fewer fields"),
        ([CLAIM, "," * 7], HEADER, "row = 3"),
    ],
)
def test_bad_ledgers_are_refused(tmp_path, rows, header, says):
    with pytest.raises(BadInput, match=says):
        read_ledger(ledger(tmp_path, *rows, header=header))


def test_unreadable_bytes_are_refused(tmp_path):
    path = tmp_path / "ledger.csv"
    path.write_bytes(HEADER.encode() + b"\nhalf,\xff\xfe,claim,identity,CERTIFIED,,,x\n")
    with pytest.raises(BadInput, match=r"cannot be read .* Restore the file"):
        read_ledger(path)
    with pytest.raises(BadInput, match="cannot be read"):
        read_ledger(tmp_path / "absent.csv")


def test_paths_without_papers_are_refused(tmp_path):
    with pytest.raises(BadInput, match="does not exist"):
        papers([tmp_path / "absent"])
    with pytest.raises(BadInput, match="holds no paper folder"):
        papers([tmp_path])
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="holds no paper folder"):
        papers([tmp_path / "file"])


def test_findings_are_meant_too(tmp_path):
    with pytest.raises(BadInput, match="Did you mean f1"):
        find([load(paper(tmp_path / "mine"))], "f12")
