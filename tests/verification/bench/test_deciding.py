"""What `verify` costs, measured on the example paper; no time is asserted."""
import pytest

from verification.engine.bench import deciding


@pytest.mark.slow
def test_the_example_paper_is_decided_by_every_route_and_again():
    for _ in range(2):    # papers of one name from two folders
        baseline, rows = deciding.deciding(1)
        assert [what for what, *_ in rows] == list(deciding.WHAT) and "12 claims" in baseline
        assert all(seconds > 0 and plain > 0 for _, seconds, plain in rows)


@pytest.mark.slow
def test_a_paper_that_is_not_decided_as_written_is_noticed(monkeypatch):
    honest = deciding.verify
    monkeypatch.setattr(deciding, "verify", lambda *args, **options: (honest(*args, **options)[0], 1))
    with pytest.raises(AssertionError, match="exit status 1"):
        deciding.deciding(0)


@pytest.mark.slow
def test_code_that_is_written_meanwhile_is_noticed(monkeypatch):
    honest = deciding.verify

    def noted(*args, on_note, **options):
        on_note("x.py was written")
        return honest(*args, on_note=on_note, **options)
    monkeypatch.setattr(deciding, "verify", noted)
    with pytest.raises(AssertionError, match=r"x\.py was written"):
        deciding.deciding(0)


@pytest.mark.slow
def test_a_body_that_decides_nothing_is_noticed(monkeypatch):
    honest = deciding.check_instance

    def nothing(claim, instance):
        verdict = honest(claim, instance)
        verdict.status = "ERROR"
        return verdict
    monkeypatch.setattr(deciding, "check_instance", nothing)
    with pytest.raises(AssertionError, match="ERROR"):
        deciding.deciding(0)


def test_lines_are_ratios_to_the_bodies(monkeypatch):
    monkeypatch.setattr(deciding, "deciding", lambda repeats: ("the bodies", [("verify", 0.6, 0.2)]))
    head, line = deciding.lines(1)
    assert "the bodies" in head and "600.0000 ms" in line and "3.00 x the bodies' time" in line


def test_each_row_has_its_own_seconds(monkeypatch):
    monkeypatch.setattr(deciding, "_times", lambda where, k: (12, 30, [9.0] * 4 if k == 0 else [1.0, 2.0, 3.0, 4.0]))
    assert deciding.deciding(3)[1] == [(what, s, 1.0) for what, s in zip(deciding.WHAT, (2.0, 3.0, 4.0), strict=True)]
