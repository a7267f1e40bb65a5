"""Statements for every Hessian between two numbers: against sympy's root counting, grids, and matrices that do not commute."""
import itertools
import random
from fractions import Fraction as Q

import numpy as np
import pytest

import fltheory as ft
from fltheory.core.errors import BadInput, TooLarge
from fltheory.core.evidence import FALSIFIED, HOLDS
from fltheory.core.numbers.arrays import spread

F = ft.Field("h g")
h, g = F.symbols


def by_sympy(r, low, high, strict):
    """Whether r >= 0 (> 0) on [low, high], by sympy's own real roots and signs between them."""
    import sympy
    t = sympy.symbols("h")
    top = sympy.numer(sympy.together(sympy.sympify(str(r))))
    bottom = sympy.denom(sympy.together(sympy.sympify(str(r))))
    low, high = (sympy.Rational(v.numerator, v.denominator) for v in (low, high))
    roots = sympy.Poly(top, t).intervals(eps=sympy.Rational(1, 10**6)) if top.has(t) else []
    ends = [low, *(v for (pair, _) in roots for v in pair if low < v < high), high]
    points = sorted({*ends, *((a + b) / 2 for a, b in itertools.pairwise(ends))})
    signs = [sympy.sign((top / bottom).subs(t, v)) for v in points]
    count = sympy.Poly(top, t).count_roots(low, high) if top.has(t) else int(top == 0)
    return all(s >= 0 for s in signs) and not (strict and count)


def test_bounds_against_sympy_and_a_grid():
    drawn, words = random.Random(5), []
    for _ in range(40):
        top = sum(drawn.randint(-3, 3) * h**k for k in range(drawn.randint(1, 5)))
        r = top / (h**2 + drawn.randint(1, 3))
        low = Q(drawn.randint(-4, 2), 2)
        high, strict = low + Q(drawn.randint(0, 5), 2), drawn.random() < 0.5
        best = ft.supremum(r, low, high).value
        grid = max(float(ft.fraction(str(r.substitute(h=low + (high - low) * Q(k, 200))))) for k in range(201)) if r != 0 else 0
        assert grid <= float(best) + 1e-9 and float(best) - grid < 0.05 * (1 + abs(grid))
        for bound in (Q(drawn.randint(-2, 3)), *([best.rational] if best.rational is not None else [])):
            found = ft.for_all_spectra(r, low, high, (-10**6, bound), strict=strict)
            assert (found.status == HOLDS) == by_sympy(bound - r, low, high, strict)
            assert found.evidence == "symbolic"
            words.append(found.status)
    assert min(words.count(HOLDS), words.count(FALSIFIED)) > 5


def test_touching_is_decided():
    r = 1 - (h - ft.fraction("1/3"))**2
    assert ft.for_all_spectra(r, 0, 1, 1).status == HOLDS
    assert ft.for_all_spectra(r, 0, 1, 1, strict=True).status == FALSIFIED
    assert ft.for_all_spectra(r, 0, 1, 1 - Q(1, 10**40)).status == FALSIFIED
    assert ft.for_all_spectra(r, Q(1, 3) + Q(1, 10**30), 1, 1, strict=True).status == HOLDS
    irrational = h**3 - h                                # |r| = 2/sqrt(27) at 1/sqrt(3)
    edge = 2 / ft.root(27)
    assert ft.supremum(irrational, 0, 1, absolute=True).value == edge
    assert ft.for_all_spectra(irrational, 0, 1, edge).status == HOLDS
    assert ft.for_all_spectra(irrational, 0, 1, edge, strict=True).status == FALSIFIED
    assert ft.for_all_spectra(irrational, 0, 1, edge - Q(1, 10**30)).status == FALSIFIED
    assert ft.for_all_spectra(h, 2, 2, 2).status == HOLDS       # an interval of one point


def test_where_it_is_attained():
    found = ft.supremum(h**3 - h, -1, 1, absolute=True)
    assert [at["h"] for at in found.at] == [-1 / ft.root(3), 1 / ft.root(3)]
    assert "violated at h = 4" in ft.for_all_spectra(h, 1, 4, 3).detail
    assert ft.for_all_spectra(h, 1, 4, 4).detail == "supremum at h = 4"
    assert ft.supremum(Q(3), 0, 1).value == 3 and ft.for_all_spectra(-3, 0, 1, 3).status == HOLDS


def test_bounds_that_depend_on_the_curvature_and_pairs():
    r = 1 / (1 + h)
    assert ft.for_all_spectra(r, 0, 5, 1 - h / 2 + h**2 / 2).status == HOLDS
    assert ft.for_all_spectra(r, 0, 5, 1 - h / 2).status == FALSIFIED
    assert ft.for_all_spectra(r, 0, 5, (Q(1, 6), 1)).status == HOLDS
    assert ft.for_all_spectra(r, 0, 5, (Q(1, 5), 1)).status == FALSIFIED
    assert ft.for_all_spectra(r, 0, 5, ft.Terms(a=Q(1, 2), b=Q(1, 2))).terms == {"a": Q(1, 2), "b": Q(1, 2)}


def test_pairs_at_their_ends():
    assert ft.for_all_spectra(h, 1, 1, (1, 1)).status == HOLDS and ft.for_all_spectra(h, 1, 2, (1, 1)).status == FALSIFIED
    assert ft.for_all_spectra(h, 1, 1, (1, 1), strict=True).status == FALSIFIED
    assert ft.for_all_spectra(h, 1, 2, (-ft.root(2), ft.root(5))).status == HOLDS
    assert ft.for_all_spectra(h, 1, 2, [h, h + 1]).status == HOLDS            # both ends may depend on the curvature


def test_several_matrices_that_do_not_commute():
    r = (1 - h / 4)**3 / 3 + (1 - g / 4)**2 * Q(2, 3)
    best = ft.supremum(r, {"h": 1, "g": 2}, {"h": 6, "g": 4}, absolute=True)
    assert best.value == Q(27, 64) / 3 + Q(1, 4) * Q(2, 3)
    rng, worst = np.random.default_rng(0), 0
    for _ in range(200):
        A, B = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
        H, G = A @ np.diag(rng.uniform(1, 6, 3)) @ A.T, B @ np.diag(rng.uniform(2, 4, 3)) @ B.T
        one = np.eye(3)
        M = np.linalg.matrix_power(one - H / 4, 3) / 3 + np.linalg.matrix_power(one - G / 4, 2) * 2 / 3
        worst = max(worst, np.abs(np.linalg.eigvalsh(M)).max())
    assert 0.6 * float(best.value) < worst <= float(best.value)
    with pytest.raises(BadInput, match="no sum of functions"):
        ft.supremum(h * g, 0, 1)


@pytest.mark.parametrize(("shift", "low", "high"), [(10, 13, 16), (-10, -7, -4), (0, 3, 6), (-5, -2, 1)])
def test_what_is_common_to_several_parts_counts_once(shift, low, high):
    """h + 2 g + shift lies in [low, high] where h and g lie in [1, 2]; both ends are attained."""
    r, most = h + 2 * g + shift, max(-low, high)
    assert ft.supremum(r, 1, 2).value == high and ft.supremum(r, 1, 2, absolute=True).value == most
    near = ft.root(2) / 10**9
    for bound in (most, (low, high), most + near, (low - near, high + near)):
        assert ft.for_all_spectra(r, 1, 2, bound).status == HOLDS
    for bound in (most - Q(1, 10**9), (low + Q(1, 10**9), high), (low, high - Q(1, 10**9)), most - near, (low + near, high)):
        assert ft.for_all_spectra(r, 1, 2, bound).status == FALSIFIED


def test_hundreds_of_local_steps():
    r = ft.round_function(ft.FedAvg("1/4", 300), ft.Quadratic([[[h]]], [[0]]), ft.Full())
    assert ft.for_all_spectra(r, 1, 4, Q(3, 4)**300).status == HOLDS
    assert ft.for_all_spectra(r, 1, 4, Q(3, 4)**300 * (1 - Q(1, 10**30))).status == FALSIFIED


def test_the_round_as_coded():
    one = ft.Quadratic([[[h]]], [[0]])
    assert ft.round_function(ft.FedAvg("1/4", 3), one, ft.Full()) == (1 - h / 4)**3
    two = ft.Quadratic([[[h]], [[g]]], [[0], [1]], ["1/3", "2/3"])
    assert ft.round_function(ft.FedAvg("1/4", (3, 2)), two, ft.Full()) == (1 - h / 4)**3 / 3 + (1 - g / 4)**2 * Q(2, 3)
    assert ft.round_function(ft.FedAvg("1/4", 1), two, ft.Bernoulli(["1/2", "1/2"])).names == ("h", "g")
    fixed = ft.Quadratic([[[h]], [[2]]], [[0], [1]])
    assert ft.round_function(ft.FedAvg("1/4", 1), fixed, ft.Full()) == 1 - h / 8 - Q(1, 4)


class FirstOnly(ft.FedAvg):
    """Moves the first coordinate only."""

    def server(self, x, cohort, draw, change, mass):
        keep = np.array([1] + [0] * (x.shape[-1] - 1), dtype=object)
        return x + keep * (super().server(x, cohort, draw, change, mass) - x)


class Coordinates(ft.FedAvg):
    """Every coordinate steps as if the others were 0: a function of H where H is diagonal."""

    def round(self, problem, s, draw):
        cohort = problem.at(draw.who)
        g = sum(e * cohort.grad(spread(s.x * e, draw.who)) for e in np.eye(s.x.shape[-1], dtype=int))
        return type(s)(s.x - self.lr * (draw.present[..., None] * g).sum(-2))


@pytest.mark.parametrize(("call", "words"), [
    (lambda: ft.supremum(1 / h, -1, 1), "pole"), (lambda: ft.supremum(1 / (h - 1), 0, 1), "pole"),
    (lambda: ft.supremum(1 / (h**2 - 2), 1, 2), "pole"), (lambda: ft.supremum(h, 2, 1), "at most high"),
    (lambda: ft.supremum(0.5, 0, 1), "rational"), (lambda: ft.supremum(h, {"g": 1}, 2), "every symbol"),
    (lambda: ft.for_all_spectra(h, 0, "x", 1), "rational"), (lambda: ft.for_all_spectra(h, 0, 1, None), "bound"),
    (lambda: ft.for_all_spectra(h, g, 1, 2), "low"),
    (lambda: ft.for_all_spectra(h, 0, 1, (1, 0)), r"bound = \(1, 0\): least is at most most. Exchange"),
    (lambda: ft.for_all_spectra(h, 0, 1, (ft.root(2), 1)), "least is at most most"),
    (lambda: ft.for_all_spectra(h, 0, 1, (0, -1 / ft.root(2))), "least is at most most"),
    *[(lambda b=b: ft.for_all_spectra(h, 0, 1, b), "bound = .*a number, or a pair .least, most.*Give") for b in (
        [1], (0,), (), (0, 1, 2), [[0, 1]], {0: 1}, {0, 1}, np.array([0, 1]), np.array([1]))],
    (lambda: ft.for_all_spectra(h, 0, 1, (0, None)), "most = None"), (lambda: ft.for_all_spectra(h, 0, 1, ("x", 1)), "least = 'x'"),
    (lambda: ft.for_all_spectra(h, 0, 1, float("nan")), "bound = nan"), (lambda: ft.for_all_spectra(h, 0, 1, (0, 1j)), "most = 1j"),
    (lambda: ft.for_all_spectra(1 / h, 0, 1, 1), "^r = '1/h': has a pole in the interval, at h = 0"),
    (lambda: ft.for_all_spectra(1 / h, -1, 1, (0, 1)), "^r = '1/h': has a pole"),
    (lambda: ft.for_all_spectra(1 / h, -1, 1, ft.root(2)), "^r = '1/h': has a pole"),
    (lambda: ft.for_all_spectra(h, 0, 1, 2 / h), "^bound = '2/h': has a pole"),
    (lambda: ft.for_all_spectra(h, 0, 1, (-1 / (2 * h - 1), 2)), r"^bound = '-?1/.*': has a pole in the interval, at h = 0.5"),
    (lambda: ft.for_all_spectra(h * g, 0, 1, 1), "^r = 'h[*]g': is no sum"),
    (lambda: ft.for_all_spectra(h, 0, 1, 2 + h * g), "^bound = 'h[*]g . 2': is no sum"),
    (lambda: ft.for_all_spectra(h, 0, 1, ft.Field("k").symbols[0]), "of one field|from one Field"),
    (lambda: ft.for_all_spectra("h", 0, 1, 1), "^r = 'h'"), (lambda: ft.for_all_spectra(None, 0, 1, 1), "^r = None"),
    (lambda: ft.for_all_spectra(0.5, 0, 1, 1), "^r = 0.5"), (lambda: ft.for_all_spectra(float("nan"), 0, 1, 1), "^r = nan"),
    (lambda: ft.supremum(h, 0, 1, absolute="no"), "absolute = 'no': is True or False"),
    (lambda: ft.supremum(h, 0, 1, absolute=float("nan")), "absolute = nan: is True or False"),
    (lambda: ft.for_all_spectra(h, 0, 1, 1, strict="no"), "strict = 'no': is True or False"),
    (lambda: ft.round_function(FirstOnly("1/4", 1), ft.Quadratic([[[h]]], [[0]]), ft.Full()), "no function"),
    (lambda: ft.round_function(Coordinates("1/4", 1), ft.Quadratic([[[h]]], [[0]]), ft.Full()), "no function"),
    (lambda: ft.round_function(ft.FedAvg("1/4", 1), ft.Quadratic([[[1]]], [[0]]), ft.Full()), "symbols"),
    (lambda: ft.round_function(ft.FedAvg("1/4", 1), ft.Quadratic([[[h * h]]], [[0]]), ft.Full()), "symbol or a rational"),
    (lambda: ft.round_function(ft.FedAvg(g, 1), ft.Quadratic([[[h]]], [[0]]), ft.Full()), "number"),
])
def test_refused(call, words):
    with pytest.raises(BadInput, match=words):
        call()


def test_too_large_critical_points_are_refused_and_the_bound_is_decided_all_the_same():
    r = (h**201 + 3 * h**100 + h) / 10
    with pytest.raises(TooLarge, match="degree"):
        ft.supremum(r, 0, 1)
    assert ft.for_all_spectra(r, 0, 1, Q(1, 2)).status == HOLDS
    assert ft.for_all_spectra(r, 0, 1, Q(1, 2) - Q(1, 10**9)).status == FALSIFIED


def half_the_step(algorithm):
    """The step is halved."""
    return ft.FedAvg(ft.fraction(algorithm.lr) / 2, algorithm.steps)


def test_a_claim_is_proved_for_every_hessian():
    on = [ft.Instance(f"{steps} steps", ft.Quadratic([[[h]]], [[0]]), ft.FedAvg("1/4", steps), ft.Full(), domain=F, low=1, high=4)
          for steps in (1, 2, 3)]

    @ft.claim("every-hessian", on=on, rejects=[half_the_step], covers={"d": "all"},
              domain="one client, every H with I <= H <= 4 I, eta = 1/4")
    def every(i):
        """With eta = 1/L a round contracts by (1 - eta mu)^tau at least."""
        r = ft.round_function(i.algorithm, i.problem, i.law)
        return ft.for_all_spectra(r, i.low, i.high, (1 - i.eta * i.low) ** i.taus[0])
    verdict = every.check()
    assert verdict.word == "PROVED" and verdict.evidence == "symbolic"
    assert [m.status for m in verdict.mutants] == ["killed"]
    from fltheory.verdicts.deciding.proved_domain import covered, label
    assert label("PROVED", covered(every, "PROVED")) == "PROVED for n = 1; tau = 1 to 3 and all d"


def test_what_would_take_minutes_is_refused_before_it_begins():
    (x,) = ft.Field("x").symbols
    problem = ft.Quadratic([[[x]]], [[0]])
    for call in (lambda: ft.for_all_spectra(x**501, 0, 1, 1), lambda: ft.supremum(x**20000, 0, 2), lambda: ft.root(2, 10**12),
                 lambda: ft.root("1/3", 151), lambda: ft.round_function(ft.FedAvg("1/4", 501), problem, ft.Full()),
                 lambda: ft.round_function(ft.FedAvg("1/4", 1), problem, ft.Full(), 10**6)):
        with pytest.raises(ft.TooLarge):
            call()
    assert ft.for_all_spectra(x**500, 0, 1, 1).status == HOLDS and ft.root(2**150, 150) == 2
    for rounds in (0, True, "2", -1):
        with pytest.raises(ft.BadInput, match="rounds"):
            ft.round_function(ft.FedAvg("1/4", 1), problem, ft.Full(), rounds)
