"""The logger `fltheory` says what takes long, and is quiet by default."""

import logging

import fltheory as ft


def test_quiet_by_default():
    logger = logging.getLogger("fltheory")
    assert logger.level == logging.NOTSET
    assert [type(h) for h in logger.handlers] == [logging.NullHandler]


def test_derive_says_what_it_begins(caplog):
    problem = ft.Quadratic(H=[[[1]], [[3]]], c=[[0], [1]])
    with caplog.at_level(logging.INFO, "fltheory"):
        ft.derive(ft.FedAvg("1/20", 2), problem, ft.Full())
    assert caplog.messages == ["deriving FedAvg, n = 2, d = 1, Full, in float64"]
