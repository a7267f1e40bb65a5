"""Real roots are isolated: against sympy's counting, with rational roots at ends, midpoints and beside each other."""
import itertools
import random
from fractions import Fraction as Q

import pytest

from fltheory.core.numbers.linalg.polynomials import isolated, primitive, sign


@pytest.mark.parametrize("seed", range(6))
def test_isolated_against_sympy(seed):
    import sympy
    drawn, t = random.Random(seed), sympy.symbols("t")
    for _ in range(10):
        roots = {Q(drawn.randint(-8, 8), drawn.choice([1, 2, 4, 3])) for _ in range(drawn.randint(1, 5))}
        p = sympy.Integer(1)
        for v in roots:
            p = p * (t - sympy.Rational(v.numerator, v.denominator))
        p = sympy.Poly(p * (t**3 - drawn.randint(2, 9) * t + 1) * (t**2 + 1), t)
        p = sympy.Poly(sympy.prod([f for f, _ in p.factor_list()[1]]), t)
        coefficients = primitive([Q(int(c.p), int(c.q)) for c in reversed(p.all_coeffs())])
        low = Q(drawn.randint(-8, 4), 2)
        high = low + Q(drawn.randint(0, 12), 2)
        found = isolated(coefficients, low, high)
        a, b = (sympy.Rational(v.numerator, v.denominator) for v in (low, high))
        assert len(found) == p.count_roots(a, b)
        assert all(x[1] <= y[0] for x, y in itertools.pairwise(found))
        for x, y in found:
            ends = sign(coefficients, x), sign(coefficients, y)
            assert low <= x <= y <= high and (ends == (0, 0) if x == y else ends[0] * ends[1] == -1)
