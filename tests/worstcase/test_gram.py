"""Rounds on abstract vectors say what the same rounds do on real ones, and identical clients may be counted."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.algorithms.base import advance
from fltheory.core.errors import TooLarge
from fltheory.core.numbers.scalars import RATIONAL, fraction
from fltheory.core.operators.setting import prepare
from fltheory.worstcase.gram import LARGEST, Gram, built
from fltheory.worstcase.quadratic_forms import square

pytest.importorskip("flint")

LR = Q(1, 7)
REAL = ft.Quadratic([[[2, 1], [1, 2]], [[1, 0], [0, -1]], [["3/5", "1/5"], ["1/5", "4/5"]]], [[1, 0], [0, 2], [-1, "-2/3"]],
                    ["1/2", "1/3", "1/6"])
METHODS = [
    ft.FedAvg(LR, (2, 3, 1)), ft.FedProx(LR, 2, mu="3/2"), ft.FedNova(LR, (2, 3, 1)), ft.FedNova(LR, 2, solver=ft.Momentum("1/3")),
    ft.GeneralRule(LR, (1, 2, 2), tau_eff=2, w=["1/4", "1/4", "1/2"]), ft.FedNovaVR(LR, 2), ft.VRLSGD(LR, 2), ft.Scaffold(LR, 2),
    ft.Scaffold(LR, (1, 2, 3), option=1, server_lr="1/2"), ft.Focus(LR, 2), ft.Focus(LR, 2, init="warm"), ft.Mifa(LR, 2),
    ft.LocalSgd(LR, 2), ft.FedVarp(LR, 2), ft.ServerMomentum(LR, 2), ft.FedAu(LR, 2), ft.FedAwe(LR, 2),
]


def outcomes(algorithm, problem, law, x0, rounds):
    """States after every sequence of outcomes, in one order."""
    states = [algorithm.init(problem, x0)]
    for _ in range(rounds):
        states = [advance(algorithm, problem, s, draw) for s in states for _, draw in law.support(problem.n, 0)]
    return states


def rational(values):
    return RATIONAL.array(np.array([*map(Q, values), None], dtype=object)[:-1])


def substituted(gram, real, x0):
    """Values (leaves, d) of all leaves on a real problem, found in the order in which they were made."""
    zero = rational([0] * real.d)
    values = [zero] * gram.d
    values[0] = x0
    points = sorted((p for found in gram.points for p in found.values()), key=lambda p: min(p.leaves))
    owner = {id(p): i for i, found in enumerate(gram.points) for p in found.values()}
    for point in points:
        (leaf,) = point.leaves
        x = sum((c * v for c, v in zip(point.x, values, strict=True)), zero)
        gradient = real.grad(np.broadcast_to(x, (real.n, real.d)).copy())[owner[id(point)]]
        rest = sum((c * v for k, (c, v) in enumerate(zip(point.gradient, values, strict=True)) if k != leaf), zero)
        values[leaf] = (gradient - rest) / point.gradient[leaf]
    return np.array(values, dtype=object)


@pytest.mark.parametrize("law", [ft.Full(), ft.Uniform(2)], ids=["full", "uniform"])
@pytest.mark.parametrize("method", METHODS, ids=lambda a: type(a).__name__)
def test_a_replay_on_a_quadratic_agrees_term_by_term(method, law):
    if not (method.partial or isinstance(law, ft.Full)):
        pytest.skip("full participation alone")
    real, x0 = REAL.to(RATIONAL), rational([3, -2])
    law, algorithm = prepare(method, REAL, law, None), method.to(RATIONAL)

    def run(size):
        gram = Gram([ft.Smooth(3)] * 3, REAL.weights, size=size)
        return gram, outcomes(algorithm, gram, law, gram.leaf("x0"), 2 if isinstance(law, ft.Full) else 1)
    gram, abstract = built(run)
    values = substituted(gram, real, x0)
    direct = outcomes(algorithm, real, law, x0, 2 if isinstance(law, ft.Full) else 1)
    assert len(abstract) == len(direct)
    for ours, true in zip(abstract, direct, strict=True):
        for name, leaf, other in zip(ours._fields, ours, true, strict=True):
            if leaf.shape[-1:] == (gram.d,):
                assert (leaf @ values == other).all(), name


def test_the_same_point_is_the_same_gradient():
    gram = Gram([ft.SmoothConvex(1)], size=8)
    x = gram.leaf("x0")
    first, again = gram.point(0, x), gram.point(0, x + 0 * x)
    assert first is again and len(gram.leaves) == 2
    assert gram.point(0, x + first.gradient) is not first


def test_points_that_nothing_feels_are_left_out():
    gram = Gram([ft.SmoothConvex(1)], size=8)
    x = gram.leaf("x0")
    first = gram.point(0, x)
    gram.point(0, x - first.gradient)
    assert [len(p) for p in gram.live([square(x)])] == [0]
    assert [len(p) for p in gram.live([square(first.gradient)])] == [1]


def test_too_many_leaves_are_refused():
    def greedy(size):
        gram = Gram([ft.SmoothConvex(1)], size=size)
        return [gram.leaf("v") for _ in range(LARGEST + 1)]
    with pytest.raises(TooLarge, match="fewer clients"):
        built(greedy)


def test_counted_clients_sum_to_means():
    gram = Gram([ft.SmoothConvex(1), ft.SmoothConvex(2)], counts=(3, 5), size=16)
    x = gram.leaf("x0")
    g = gram.grad(x[None] + 0 * gram.p[..., None])
    total = (gram.p[..., None] * g).sum(-2)
    assert [fraction(c) for c in total if c != 0] == [Q(3, 8), Q(5, 8)]
    assert {gram.leaves[k][0] for k, c in enumerate(total) if c != 0} == {"mean"}
