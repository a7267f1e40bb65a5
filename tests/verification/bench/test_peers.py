"""The benchmark beside frameworks: what is not installed is said, and a round that is another is noticed."""
import pytest

from verification.engine.bench import peers

SMALL = {"repeats": 1, "clients": 3, "d": 2, "steps": 2}


def test_rounds_are_those_of_the_operator_and_missing_frameworks_are_named(monkeypatch):
    monkeypatch.setattr(peers, "PEERS", (peers.PEERS[0], ("no-such-framework", "{} x", None, 0)))
    rows = peers.peers(**SMALL)
    assert [what for what, _ in rows[-2:]] == ["a torch module and SGD, client by client", "no-such-framework is not installed"]
    assert rows[-1][1] is None and all(seconds > 0 for _, seconds in rows[:-1])
    monkeypatch.setattr(peers, "peers", lambda repeats: rows)
    text = peers.table(1)
    assert "x the loop" in text and all(what in text for what, _ in rows)


def test_a_peer_that_makes_another_round_is_noticed(monkeypatch):
    def one_step_more(steps, lr):
        return peers.research(steps + 1, lr)
    monkeypatch.setattr(peers, "PEERS", (("torch", "another", one_step_more, peers.EXACT),))
    with pytest.raises(AssertionError, match="another: its round is"):
        peers.peers(**SMALL)


@pytest.mark.frameworks
@pytest.mark.parametrize("package", [p[0] for p in peers.PEERS[1:]])
def test_each_framework_makes_the_round(monkeypatch, package):
    pytest.importorskip(package)
    monkeypatch.setattr(peers, "PEERS", tuple(p for p in peers.PEERS if p[0] == package))
    (*_, (what, seconds)) = peers.peers(**SMALL)
    assert seconds is not None and package in what
