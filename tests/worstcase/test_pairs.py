"""Worst cases of rounds with personal parameters: two blocks, conditions of Assumption 1, known constants."""
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.worstcase.classes import SmoothBlocks
from fltheory.worstcase.gram import Point
from fltheory.worstcase.pairs import PairGram

pytest.importorskip("flint")


def slope(s):
    """|grad F|^2 before the round."""
    shared, own = s.grad_pairs(s.x, s.before.theta)
    return s.square((s.problem.p[..., None] * shared).sum(-2)) + sum(
        (s.square(g) for g in own[1:]), s.square(own[0])) * Q(1, len(own) ** 2)


def change(s):
    """F after the round minus F before it."""
    return s.joint_value(s.after.x, s.after.theta) - s.joint_value(s.x, s.before.theta)


def certified(n, K, convex=True, share=1):
    """c in F(x') - F(x) <= -c eta K |grad F|^2 of FedResSGD at eta = share/(gamma K), lambda = eta/N: certified from below."""
    eta = Q(share) / K
    found = ft.certified_over(
        ft.FedResSgd(eta, K, eta / n), ft.SmoothBlocks(1, convex), clients=n, start=lambda s: {"theta": s.vectors("theta")},
        left=lambda s: change(s) + slope(s) * (eta * K), tight="rest", terms={"rest": (eta * K, slope)})
    assert found.status == "HOLDS"
    return 1 - found.lhs / (eta * K)


@pytest.mark.parametrize(("n", "K", "convex", "least"), [(1, 1, True, 0.3202), (1, 1, False, 0.2816), (2, 2, True, 0.3931)])
def test_descent_of_a_round_is_certified_close_to_what_quadratics_reach(n, K, convex, least):
    found = certified(n, K, convex)
    assert found >= least
    if not convex:
        return
    best = min(ratio(n, K, a, b, c, start) for a in (0.2, 0.5, 0.9) for b in (0.2, 0.4) for c in (0.3, 0.6, 0.9)
               for start in (-2.0, -0.5, 0.5, 2.0) if b * b <= a * c and max(a, c) ** 2 + b * b <= 1)
    assert found <= best


def ratio(n, K, a, b, c, start):
    """The c of one quadratic, by the coded round in floats."""
    problem = ft.Residual([[[a]]] * n, [[[b]]] * n, [[[c]]] * n, [[0.0]] * n, [[0.0]] * n).to(ft.FLOAT)
    algorithm = ft.FedResSgd(1 / K, K, 1 / (n * K))
    state = algorithm.init(problem, np.array([1.0]))._replace(theta=np.full((n, 1), start))
    after = algorithm.round(problem, state, ft.everyone(n, K))
    gw, gt = problem.at().grad_pair(np.ones((1, 1)), state.theta)
    slope = float(gw.mean()) ** 2 + float((gt**2).sum()) / n**2
    return float(problem.joint_value(state.x, state.theta) - problem.joint_value(after.x, after.theta)) / slope


def test_conditions_hold_for_functions_of_the_class():
    """Sums of Huber losses of w + theta and others, at pairs that share a part and at pairs that do not."""
    rng, rows = np.random.default_rng(5), np.array([[0.6, 0.5], [0.3, -0.5], [-0.1, 0.4]])
    columns = [sum(np.outer(r, r) for r, k in zip(rows, kept, strict=True) if k) + np.zeros((2, 2))
               for kept in np.ndindex(2, 2, 2)]
    gamma = max(np.linalg.norm(H[:, j]) for H in columns for j in (0, 1))
    kind = SmoothBlocks(Q(gamma).limit_denominator(10**6) + Q(1, 10**5))
    for _ in range(30):
        w, t = rng.normal(0, 3, 2), rng.normal(0, 3, 2)
        points = []
        for z in ((w[0], t[0]), (w[0], t[1]), (w[1], t[1])):
            r = rows @ np.array(z)
            clipped = np.clip(r, -1, 1)
            value = float((clipped * (r - clipped / 2)).sum())
            points.append(Point(np.array(z), rows.T @ clipped, value, set(), None))
        for condition in kind.in_blocks(points, lambda u: (u * np.array([1, 0]), u * np.array([0, 1]))):
            form = condition.form
            assert number(form) <= 1e-9


def number(form):
    """A form of explicit vectors; values stand in its constant."""
    return float(form.constant) + sum(float(c) * float(np.dot(u, v)) for c, u, v in form.terms)


def test_the_two_parts_are_orthogonal_and_recorded_once():
    gram = PairGram([SmoothBlocks()], size=16)
    w, theta = gram.leaf("x0"), gram.free("theta")
    shared, own = gram.grad_pairs(w, theta)
    again, _ = gram.grad_pairs(w, theta)
    assert (shared == again).all()
    assert [len(b) for b in gram.blocks()] == [2, 2]
    first, second = (np.asarray(gram.coordinates(v)[0], dtype=object) for v in (shared[0], own[0]))
    assert not (second != 0).any()
    assert (first != 0).any()


@pytest.mark.parametrize("algorithm", [ft.FedResAvg("1/9", 2, personal_lr="1/9"), ft.FedResNaive("1/9", 2, personal_lr="1/9"),
                                       ft.FedResSgd("1/9", 2, personal_lr="1/9")], ids=lambda a: type(a).__name__)
def test_every_residual_round_has_a_worst_case(algorithm):
    found = ft.worst_case(algorithm, ft.SmoothBlocks(), clients=2, initial=lambda s: sum(
        (s.square(g) for g in np.concatenate(s.grad_pairs(s.x, s.before.theta))[1:]), s.square(s.x)) <= 1, measure=change)
    assert found.status == "Solved"
    assert found.recheck()
    with pytest.raises(ft.BadInput, match="personal parameters"):
        _ = found.witness


def test_what_has_no_meaning_is_refused():
    sgd = ft.FedResSgd("1/9", 2, personal_lr="1/9")
    with pytest.raises(ft.BadInput, match="one by one"):
        ft.worst_case(sgd, ft.SmoothBlocks(), counts=[3], initial=lambda s: s.square(s.x) <= 1, measure=lambda s: s.square(s.next))
    with pytest.raises(ft.BadInput, match="in pairs"):
        ft.worst_case(sgd, ft.SmoothBlocks(), clients=1)
    with pytest.raises(ft.BadInput, match="shared and personal"):
        ft.worst_case(ft.FedAvg("1/9", 2), ft.SmoothBlocks(), clients=1)
    with pytest.raises(ft.BadInput, match="positive"):
        ft.SmoothBlocks(0)
