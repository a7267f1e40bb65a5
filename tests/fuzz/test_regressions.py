"""Defects that fuzzing found, one line each: what used to hang, warn, crash or be accepted."""
import os
import stat
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("torch")

import fltheory as ft
from tests.fuzz import calls


class Endless:
    """Says that it can be iterated, and cannot."""

    def __iter__(self):
        raise RuntimeError("no entries")


P = calls.problem()
MASKED = np.ma.masked_array([0.5, 0.5], mask=[True, False])
SINGLE = np.longdouble("1e4000")


@pytest.mark.parametrize("call", [
    lambda: ft.FedAvg("1e999999999", 1),                             # did not end
    lambda: ft.FedAvg(1, 10**9),
    lambda: ft.FedAvg(-10**5000, 1),                                 # no decimal form: ValueError
    lambda: ft.FedAvg(1, np.timedelta64(3, "D")),                    # numpy counts durations among the integers
    lambda: ft.FedAvg(1, 1, solver=ft.Vanilla),                      # the class instead of a record
    lambda: ft.FedAvg(1, 1, solver=0.5),
    lambda: ft.FedAvg(1, 1, averaging=np.zeros(0)),
    lambda: ft.Momentum(None),
    lambda: ft.Quadratic(P.H, P.c, MASKED),                          # masks were ignored
    lambda: ft.Quadratic(P.H, np.full((2, 1), SINGLE)),              # became infinity
    lambda: ft.Quadratic([[[1e308]]], [[1e308]]),
    lambda: ft.Quadratic.from_linear(P.H, P.b, offset=[[0]]),
    lambda: ft.derive(ft.GeneralRule(1, 1, w=["1/3"] * 3), P, ft.Full()),
    lambda: ft.Chain(sets=3, matrix=[[1]]),
    lambda: ft.Chain(sets=[[1.5]], matrix=[[1]]),                    # was rounded to client 1
    lambda: ft.Replay([0]),
    lambda: ft.Markov("1/2", ["1/2"], 2),
    lambda: ft.WithReplacement(10**9),
    lambda: ft.WithReplacement(1, ()),
    lambda: ft.Weighted(1, [1, 2], replace="no"),                    # a text is true
    lambda: ft.Residual([[[1]]], 1, [[[1]]], [[0]], [[0]]),
    lambda: ft.Network(int, [[[1]]], [[0]]),
    lambda: ft.Modular(4),                                           # no field
    lambda: ft.Field(""),
    lambda: ft.Torch("meta"),
    lambda: ft.derive(ft.FedAvg(1, 1), P, ft.Full(), domain=ft.Torch()),
    lambda: ft.derive(1, P, ft.Full()),
    lambda: ft.optimum("x"),
    lambda: ft.run(ft.FedAvg(1, 1), P, ft.Full(), 1, checkpoint="x" * 10**4),
    lambda: ft.run(ft.FedAvg(1, 1), P, ft.Full(), 1, metrics="x"),
    lambda: ft.linearise(ft.FedAvg(1, 1), P, ft.Full(), tolerance=None),
    lambda: ft.linearise(ft.AsyncFedED("1/20", 1), P, ft.Full()),    # floor has no derivative: RuntimeError
    lambda: ft.FLOAT.array([1, np.ma.masked]),                       # a warning, and NaN
    lambda: ft.equal([1, [2]], [1, 2]),
    lambda: ft.induction(1, 2),
    lambda: ft.finding(np.zeros(2), kind="gap"),
    lambda: ft.finding(None, kind="gap"),
    lambda: ft.finding("f"),                                         # TypeError
    lambda: ft.finding("f", kind="gap", sort=1),
    lambda: ft.Finding("f", np.array(["gap", "remark"])),            # an array has no truth value
    lambda: ft.Finding("f", "gap", at="i"),                          # would be looked up letter by letter
    lambda: ft.claim("c", on=np.array(2)),
    lambda: ft.claim("c", on=Endless()),
    lambda: ft.claim("c", needs=np.array(2)),
    lambda: ft.claim("c", rejects=np.array(2)),
    lambda: ft.read_ridge(3, "c", "t"),                              # TypeError
    lambda: ft.read_ridge(None, "c", "t"),
    lambda: ft.read_ridge("a" * 10**5, "c", "t"),                    # a message of 200000 characters
    lambda: ft.stable_steps(ft.FedAvg(1, 1), P, ft.Full(), points=10**9),
    lambda: ft.stable_steps(ft.FedAvg(1, 1), P, ft.Full(), measure=np.array(["mean", "mean"])),
    lambda: ft.stable_steps(ft.FedAvg(1, 1), P, ft.Full(), certify=np.zeros(2)),
    lambda: ft.compare([ft.FedAvg(1, 1)], P, ft.Full(), measure=np.zeros(2)),
    lambda: ft.compare([ft.FedAvg(1, 1)], P, ft.Full(), measure=False, stable=np.zeros(2)),
    lambda: ft.compare([ft.FedAvg(1, 1)], P, ft.Full(), measure=False, stable={"FedAvg": 3}),
    lambda: ft.run(ft.FedAvg(1, 1), P, ft.Full(), 1, tail=float("nan")),
    lambda: ft.run(ft.FedAvg(1, 1), P, ft.Full(), 1, tail=[1]),
    lambda: ft.Markov("1/2", 0, 11),                                 # gigabytes
    lambda: ft.assert_linear_rate(calls.operator(), at_most=1, kind=["mean"]),      # TypeError
    lambda: ft.assert_claim("a", calls.paper(), word=np.zeros(2)),
    lambda: ft.read_ridge(f"{calls.paper()}/table.csv", "c", "t", features=3),
    lambda: ft.read_ridge(f"{calls.paper()}/table.csv", "c", "t", features=[["f"]]),
    lambda: ft.read_ridge(f"{calls.paper()}/table.csv", "c", ["t"]),
    lambda: ft.read_ridge(f"{calls.paper()}/table.csv", "c", "t", standardise=np.zeros(2)),
    lambda: ft.read_ridge(f"{calls.paper()}/table.csv", "c", "t", intercept=np.zeros(2)),
    lambda: ft.identify(calls.plain, 10**9, 1),
    lambda: ft.identify(calls.plain, 900, 900),
    lambda: ft.identify(calls.plain, 2, 1, rounds=10**9),
    lambda: ft.identify(calls.plain, 2, 1, seed=-1),
    lambda: ft.identify(calls.plain, 2, 1, bugs=3),
    lambda: ft.identify(calls.plain, 2, 1, bugs=[3]),
    lambda: ft.worst_ratio([[0, 0], [1, 0]], [[2, 0], [0, 1]]),      # ValueError; one triangle was read of floats
    lambda: ft.worst_ratio([[1.0, 0], [0, 1]], [[2.0, 0.5], [0, 1]]),
])
def test_refused_in_words(call):
    with pytest.raises(ft.BadInput) as error:
        call()
    calls.refusal(error.value)


def test_the_tail_is_named():
    with pytest.raises(ft.BadInput, match=r"^tail = nan"):
        ft.run(ft.FedAvg(1, 1), P, ft.Full(), 1, tail=float("nan"))


def test_the_largest_chain_knows_its_stationary_law():
    """By elimination of 2^n equations it took minutes from 8 clients on."""
    law = ft.Markov(["1/3"] * 8, "1/7", 8)
    assert law.inclusion(8) == [Fraction(1, 3)] * 8
    assert law.stationary() == list(law.initial)


def test_a_stated_start_that_is_not_stationary_does_not_become_the_stationary_law():
    law = ft.Chain(sets=[[0], [1]], matrix=[["1/2", "1/2"], [1, 0]], initial=(1, 0))
    assert law.stationary() == [Fraction(2, 3), Fraction(1, 3)]


def test_numpy_truth_values_are_truth_values():
    table = ft.compare([ft.FedAvg("1/20", 1)], P, ft.Full(), measure=np.False_, stable=np.False_)
    assert table.replicates == 0


def test_overflow_is_no_nan():
    with pytest.raises(ft.CertificateFailed, match="range of float64"):
        ft.derive(ft.FedAvg(1e308, 3), P, ft.Full())


def test_a_message_is_one_short_line():
    with pytest.raises(ft.BadInput) as error:
        ft.FedAvg("a\n" * 10**5, 1)
    assert len(str(error.value)) < 1000 and "\n" not in str(error.value)


# ---- found by comparing with the oracle ---------------------------------------------------------------------------
HEAVY = [1 - 1e-9, 6e-10, 4e-10]


@pytest.mark.parametrize("domain", [ft.FLOAT, ft.RATIONAL], ids=str)
@pytest.mark.parametrize("absent", [ft.Cyclic([[]]), ft.Replay([([], 1), ([], 1)])], ids=["cyclic", "replayed"])
def test_weights_of_no_step_at_all_are_refused(absent, domain):
    """A division by zero, and NaN in floats."""
    with pytest.raises(ft.BadInput, match="makes no step") as error:
        ft.surrogate_weights(ft.FedAvg(1, None if absent.per_mode_steps else 1), absent, 2, domain=domain)
    calls.refusal(error.value)


def test_a_client_of_nearly_all_weight_keeps_memories_derivable():
    """Memories of the others were read off differences at a slope of 10^9: refused, or without a correct digit."""
    p = ft.Quadratic([[[1.01]], [[2]], [[0.3]]], [[0.5], [-2], [7]], HEAVY)
    for algorithm in (ft.VRLSGD(0.1, (1, 2, 1)), ft.Scaffold(0.1, 2), ft.Focus(0.1, 2)):
        op = ft.derive(algorithm, p, ft.Uniform(2))
        exact = op.exact()
        assert np.abs(op.reach.V.astype(float)).max() <= 1024
        assert np.allclose(op.fixed_point().state, exact.fixed_point().state.astype(float), rtol=1e-9, atol=1e-9)
        assert abs(op.rate() - exact.rate()) < 1e-9 and abs(op.mean_square_rate() - exact.mean_square_rate()) < 1e-9


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_unit_of_length_costs_no_digits(unit):
    """Columns of a map of far optima were differences of two large numbers."""
    H = [[[2.0, 0.1], [0.1, 0.5]], [[0.7, 0], [0, 3.0]]]
    near, far = (ft.derive(ft.Mifa(0.1, (2, 3)), ft.Quadratic(H, np.array([[1, 2], [3, -1]]) * s, [0.3, 0.7]), ft.Uniform(1),
                           noise=s) for s in (1, unit))
    assert np.allclose(far.fixed_point().x / unit, near.fixed_point().x, rtol=1e-13, atol=0)
    assert abs(far.rate() / near.rate() - 1) < 1e-13
    assert np.allclose(far.stationary().covariance / unit**2, near.stationary().covariance, rtol=1e-11, atol=0)


def test_a_floor_of_a_certain_schedule_is_that_of_its_mean():
    """Rounding left a variance of -2e-33, which was refused."""
    p = ft.Quadratic.from_linear([[[7.578857798272263, 2.705732750170614], [2.705732750170614, 7.330035119733888]]],
                                 [[-1.419158170522555, -2.854075310577266]])
    op = ft.derive(ft.FedVarp(0.039358310156711596, server_lr=1.121800268682367), p, ft.Replay([([0], 1), ([], 2)]))
    assert 0 <= op.floor() < 1e-25


def test_edge_weights_may_be_floats():
    """Residues of rounded sums were compared exactly, so that every graph of floats was refused."""
    graph = np.array([[0.1, 0.25, 0.05], [0.25, 0.2, 0.03], [0.05, 0.03, 0.04]])
    p = ft.Quadratic([[[1]], [[2]], [[3]]], [[0], [1], [2]], graph.sum(1))
    algorithm = ft.NeighbourAveraging(0.1, 2, beta=0.7, graph=graph)
    op = ft.derive(algorithm, p, ft.Full())
    assert abs(op.fixed_point().x[0] - float(op.exact().fixed_point().x[0])) < 1e-12
    other = ft.Quadratic(p.H, p.c, [0.4, 0.4, 0.2])
    for domain in (ft.FLOAT, ft.RATIONAL):
        with pytest.raises(ft.BadInput, match="row sums"):
            ft.derive(algorithm, other, ft.Full(), domain=domain)


# ---- files that are none; pipes and links stand for devices, which no test may touch ------------------------------
def written(kind, path):
    """Something written to a path by each of our writers."""
    if kind == "trace":
        return calls.trace().save(path.with_suffix(""))
    table = ft.compare([ft.FedAvg("1/20", 1)], P, ft.Full(), measure=False, stable=False)
    return getattr(table, f"to_{kind}")(path)


@pytest.mark.parametrize(("kind", "suffix"), [("trace", ".npz"), ("trace", ".json"), ("csv", ""), ("html", "")])
def test_a_pipe_or_device_is_not_replaced_by_a_file(kind, suffix, tmp_path):
    """A file was renamed over it: `--csv /dev/null`, given by root, took that device from everybody."""
    path = tmp_path / f"pipe{suffix}"
    os.mkfifo(path)
    with pytest.raises(ft.BadInput, match="cannot be written") as error:
        written(kind, path)
    calls.refusal(error.value)
    assert path.is_fifo()


@pytest.mark.parametrize("option", ["--csv", "--html", "--picture"])
def test_a_pipe_is_refused_before_the_work(option, tmp_path, capsys):
    from fltheory.cli import main
    (tmp_path / "t.csv").write_text("c,t,f\na,1,2\na,2,1\nb,3,5\nb,1,1\n")
    pipe = tmp_path / "pipe.png"
    os.mkfifo(pipe)
    assert main(["predict", str(tmp_path / "t.csv"), "--client", "c", "--target", "t", option, str(pipe)]) == 2
    said = capsys.readouterr()
    assert "not a file" in said.err and not said.out and pipe.is_fifo()


def test_a_link_is_followed(tmp_path):
    (tmp_path / "file.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "file.csv")
    written("csv", tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "file.csv").read_text() != "old"


def test_a_table_that_is_a_device_is_refused(monkeypatch, tmp_path):
    """One that never ends was read until the memory was full."""
    (tmp_path / "t.csv").write_text("c,t\n1,2\n")
    kind = os.stat_result((stat.S_IFCHR | 0o666, *os.stat(tmp_path / "t.csv")[1:]))
    monkeypatch.setattr("fltheory.workbench.table.os.stat", lambda path, *a, **k: kind)
    with pytest.raises(ft.BadInput, match="device"):
        ft.read_ridge(tmp_path / "t.csv", "c", "t")


@pytest.mark.parametrize("ask", [lambda law: law.support(200), lambda law: ft.Ages(law, 2, 200).chain()], ids=["support", "ages"])
def test_a_law_of_many_clients_is_named_briefly(ask):
    """The message held the numbers of all of them."""
    with pytest.raises(ft.TooLarge) as error:
        ask(ft.Bernoulli([0.123456789012345] * 200, steps=[1] * 200))
    calls.refusal(error.value)
    assert len(str(error.value)) < 800
