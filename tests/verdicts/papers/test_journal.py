"""The journal of finished verdicts: a damaged line is left out with a reason, and loses no other."""

import json

import pytest

from fltheory.verdicts.papers import journal as module
from fltheory.verdicts.papers.journal import FILE, Journal, line

KEY = ("f" * 64, "own", "claim", "half")


def records(name="half", paper="own", word="CERTIFIED"):
    return [{"type": "claim", "id": name, "paper": paper, "word": word, "margin": 0.1 + 0.2},
            {"type": "instance", "claim": name, "paper": paper, "instance": "two", "status": "HOLDS", "left": float("inf")}]


def finding(name="f1"):
    return [{"type": "finding", "id": name, "paper": "own", "word": "CONFIRMED"}]


def other(number):
    return ("e" * 64, "own", "claim", f"other{number}")


def resumed(folder, *lines):
    (folder / FILE).write_bytes(b"".join(lines))
    journal = Journal(folder, resume=True)
    journal.close()
    return journal


def kept(number):
    return line(other(number), records(f"other{number}")).encode()


def edited(change, key=KEY, made=None):
    entry = json.loads(line(key, records() if made is None else made))
    change(entry)
    return json.dumps(entry).encode() + b"\n"


def signed(key, made):
    """A line whose digest is right, whatever it holds."""
    return line(key, made).encode()


def test_what_was_appended_is_read_again(tmp_path):
    journal = Journal(tmp_path / "deep" / "report", resume=False)
    journal.append(KEY, records())
    journal.append(("f" * 64, "own", "finding", "f1"), finding())
    journal.close()
    again = Journal(tmp_path / "deep" / "report", resume=True)
    assert again.finished == {KEY: records(), ("f" * 64, "own", "finding", "f1"): finding()}
    assert (again.damaged, again.complaint()) == ([], "")
    again.close()
    begun = Journal(tmp_path / "deep" / "report", resume=False)
    begun.close()
    assert begun.finished == {} and (tmp_path / "deep" / "report" / FILE).read_text() == ""


DAMAGED = {
    "no records": (edited(lambda e: e.update(records=[])), "altered"),
    "records of text": (edited(lambda e: e.update(records=["a"])), "altered"),
    "records without an id": (edited(lambda e: e.update(records=[{"type": "claim"}])), "altered"),
    "an altered word": (edited(lambda e: e["records"][0].update(word="PROVED")), "altered"),
    "an altered number": (edited(lambda e: e["records"][0].update(margin=0.3)), "altered"),
    "an altered instance": (edited(lambda e: e["records"].pop()), "altered"),
    "another key": (edited(lambda e: e.update(key=[*KEY[:3], "third"])), "altered"),
    "another fingerprint": (edited(lambda e: e.update(key=["a" * 64, *KEY[1:]])), "altered"),
    "no digest": (edited(lambda e: e.pop("digest")), "altered"),
    "a digest of another kind": (edited(lambda e: e.update(digest=1)), "altered"),
    "no records, signed": (signed(KEY, []), "another claim"),
    "records of text, signed": (signed(KEY, ["a"]), "another claim"),
    "records without an id, signed": (signed(KEY, [{"type": "claim"}]), "another claim"),
    "another claim's records": (signed(KEY, records("third")), "another claim"),
    "another paper's records": (signed(KEY, records(paper="theirs")), "another claim"),
    "an instance of another claim": (signed(KEY, records()[:1] + records("third")[1:]), "another claim"),
    "two claims in one": (signed(KEY, records() + records()[:1]), "another claim"),
    "a finding under a claim's key": (signed(KEY, finding("half")), "another claim"),
    "a key that is short": (signed(KEY[:3], records()), "another claim"),
    "a key that is no text": (signed((1, *KEY[1:]), records()), "another claim"),
    "a key that is nested": (signed(([1], *KEY[1:]), records()), "another claim"),
    "a list": (b"[1]\n", "no record"),
    "null": (b"null\n", "no record"),
    "empty braces": (b"{}\n", "no record"),
    "nothing but brackets": (b"[" * 100_000 + b"\n", "no JSON"),
    "nested records": (b'{"key": [], "digest": "", "records": [' + b"[" * 900 + b"]" * 900 + b"]}\n", "altered"),
    "a long integer": (b"9" * 5000 + b"\n", "no JSON"),
    "a torn line": (line(KEY, records()).encode()[:200] + b"\n", "no JSON"),
    "a zero byte": (b"\0" * 50 + b"\n", "no JSON"),
    "a zero byte inside": (line(KEY, records()).encode().replace(b"CERT", b"CE\0T"), "no JSON"),
    "no UTF-8": (line(KEY, records()).encode().replace(b"CERT", b"CE\xffT"), "not UTF-8"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_line_is_left_out_and_loses_no_other(tmp_path, name):
    raw, reason = DAMAGED[name]
    journal = resumed(tmp_path, kept(1), raw, kept(2))
    assert set(journal.finished) == {other(1), other(2)}
    ((number, why),) = journal.damaged
    assert number == 2 and reason in why
    said = journal.complaint()
    assert said.startswith("1 damaged line of ") and "line 2: 1 " in said and reason in said


def test_lines_longer_than_any_verdict_are_not_even_read(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 1000)
    journal = resumed(tmp_path, kept(1), b'{"key": "' + b"x" * 5000 + b'"}\n', kept(2), b"y" * 2001)
    assert set(journal.finished) == {other(1), other(2)}
    assert [number for number, _ in journal.damaged] == [2, 4]


def test_many_damaged_lines_are_counted_by_reason(tmp_path):
    said = resumed(tmp_path, *[b"{\n"] * 6, b"\xff\n", kept(1), b"\n").complaint()
    assert said.startswith("7 damaged lines of ")
    assert "(line 1, 2, 3, 4, 5, ...: 6 cut short or no JSON; 1 not UTF-8)" in said


def test_a_torn_last_line_is_closed_before_the_next_is_written(tmp_path):
    (tmp_path / FILE).write_bytes(kept(1) + kept(2)[:30])
    journal = Journal(tmp_path, resume=True)
    journal.append(KEY, records())
    journal.close()
    assert set(resumed(tmp_path, (tmp_path / FILE).read_bytes()).finished) == {other(1), KEY}


def test_without_a_report_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    journal = Journal(None, resume=True)
    journal.append(KEY, records())
    journal.close()
    assert journal.finished == {} and list(tmp_path.iterdir()) == []
