"""The coded round as a function of the Hessian: read off scalar clients in symbols, confirmed on dense matrices."""
from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from fltheory.analysis.spectra import separated
from fltheory.core.errors import TooLarge, refuse
from fltheory.core.kinds import Algorithm, Law
from fltheory.core.laws.base import RandomSteps
from fltheory.core.numbers import linalg
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.linalg.entries import as_fraction
from fltheory.core.numbers.linalg.polynomials import of_matrix, polynomial
from fltheory.core.numbers.scalars import RATIONAL, Field
from fltheory.core.operators.setting import prepare
from fltheory.core.problems.quadratic import Quadratic
from fltheory.core.records import count
from fltheory.derivation import derive

CONFIRMED = (2, 3)   # dimensions
MOST = 500           # local steps over all rounds: about the degree of the function
SOMEWHERE = Fraction(1009, 977)   # where the parts of a sum are told apart: no pole of a round lies there by chance


def round_function(algorithm: Algorithm, problem: Quadratic, law: Law, rounds: int = 1) -> Symbolic:
    """r with E x_T - x* = r(H) (x_0 - x*) after T = rounds >= 1 coded rounds, as a rational function of the curvature symbols.

    problem: scalar clients (d = 1) whose Hessians are symbols of an `ft.Field` or rationals; every other number is rational. The
    coded round is derived once in these symbols, and on dense rational Hessians without common axes in dimensions 2 and 3, where
    its matrix must be r of the matrices exactly: a rule that works coordinate by coordinate does not pass. Of several Hessians r is
    a sum of functions of one each. Raises BadInput where r is no such function, NotAffine, TooLarge beyond 500 local steps.
    """
    if not isinstance(problem, Quadratic) or problem.d != 1 or not isinstance(problem.native, Field):
        refuse("problem", problem, "has scalar clients whose curvatures are symbols of an ft.Field",
               "For example ft.Quadratic([[[h]]], [[0]]) with h, = ft.Field('h').symbols.")
    rounds = count(1)(rounds, "rounds")
    prepared = prepare(algorithm, problem, law, None)
    steps = max(int(v) for mode in range(prepared.modes) for v in np.ravel(_most(prepared.steps_of(problem.n, mode))))
    if rounds * steps > MOST:
        raise TooLarge(f"{rounds} rounds of {steps} local steps have degree {rounds * steps} or so, and at most {MOST} "
                       "are made. Take fewer rounds: contraction factors multiply")
    op = derive(algorithm, problem, law, domain=problem.native)
    r = op.round_matrix(rounds)[0][0, 0]
    dice = random.Random(1)
    for d in CONFIRMED:
        _confirm(algorithm, problem, law, rounds, r, problem.native, d, dice)
    return r


def _most(steps):
    """Local steps, the most of them where they are drawn."""
    return [k for _, k in steps.choices] if isinstance(steps, RandomSteps) else steps


def _confirm(algorithm: Algorithm, problem: Quadratic, law: Law, rounds, r, field, d, dice):
    symbols = {v: _symmetric(d, dice) for v in field.symbols}
    eye = np.array([[Fraction(int(i == j)) for j in range(d)] for i in range(d)], dtype=object)
    matrices = []
    for v in (field.scalar(h) for h in problem.H[:, 0, 0]):
        plain = all(not any(powers) for part in v.terms() for powers, _ in part)
        if v not in symbols and not plain:
            refuse("problem.H", str(v), "a curvature is a symbol or a rational number", "Introduce a symbol for it.")
        matrices.append(symbols[v] if v in symbols else as_fraction(v.terms()[0][0][1] / v.terms()[1][0][1] if v != 0 else 0) * eye)
    try:
        dense = Quadratic(matrices, [[0] * d] * problem.n, [as_fraction(_plain(p)) for p in problem.weights])
    except TypeError:
        refuse("problem.weights", str(problem.weights), "weights are rational numbers here", "Put numbers in.")
    coded = derive(algorithm, dense, law, domain=RATIONAL).round_matrix(rounds)[0]
    stated = _of_matrices(r, dict(zip(field.names, symbols.values(), strict=True)), eye)
    if not (coded == stated).all():
        refuse("algorithm", type(algorithm).__name__, f"its coded round in dimension {d} is no function of the Hessians: r = {r}",
               "State what holds in one dimension only.")


def _of_matrices(r, matrices, eye):
    """The sum of functions r at symmetric matrices, {symbol: matrix}."""
    parts, offset = separated(r, SOMEWHERE, SOMEWHERE)
    total = offset * eye
    for part in parts:
        H = linalg.to_fmpq_matrix(matrices[part.name])
        value = of_matrix(polynomial(part.top), H) * of_matrix(polynomial(part.bottom), H).inv()
        total = total + linalg.to_fractions(np.array(value.tolist(), dtype=object).reshape(eye.shape))
    return total


def _plain(p):
    return p.terms()[0][0][1] / p.terms()[1][0][1] if isinstance(p, Symbolic) else p


def _symmetric(d, dice):
    A = np.array([[Fraction(dice.randint(-9, 9), 64) for _ in range(d)] for _ in range(d)], dtype=object)
    diagonal = [[Fraction(int(i == j) * (64 + dice.randint(0, 30)), 64) for j in range(d)] for i in range(d)]
    return A + A.T + np.array(diagonal, dtype=object)
