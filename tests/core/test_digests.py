"""One hash for whatever a result depends on: no two lists of words share it."""
import hashlib

from fltheory.core.digests import Digest, digest_of


def hashed(*words):
    h = Digest()
    h.add(*words)
    return str(h)


def test_words_stand_behind_their_lengths():
    assert hashed("ab", b"c") == hashlib.sha256(b"\0" * 7 + b"\2ab" + b"\0" * 7 + b"\1c").hexdigest()


def test_no_two_lists_of_words_are_one():
    lists = [(), ("",), ("", ""), ("ab",), ("a", "b"), ("b", "a"), ("a\0b",), ("a\0", "b"), ("a", "\0b"), ("\udc80",), ("\\udc80",)]
    assert len({hashed(*words) for words in lists}) == len(lists)
    assert hashed("a", "b") == hashed(b"a", "b") and hashed(12) == hashed("12")


def test_parts_count_by_name_and_in_order():
    parts = [("a.py", b"x"), ("b.py", b"y")]
    assert digest_of(parts) == digest_of(iter(parts)) == hashed("a.py", b"x", "b.py", b"y")
    assert len({digest_of(p) for p in (parts, parts[::-1], parts[:1], [("a.py", b"y"), ("b.py", b"x")], [])}) == 5
