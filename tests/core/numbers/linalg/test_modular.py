"""Rational numbers from their residues."""
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fltheory.core.numbers import linalg
from tests.core.numbers.linalg.matrices import F, quick


@quick
@given(st.integers(-(10**9), 10**9), st.integers(1, 10**9))
def test_reconstruction_inverts_reduction(n, m):
    p = 2**61 - 1
    x = F(n, m)
    assert max(abs(x.numerator), x.denominator) <= math.isqrt(p // 2)
    assert linalg.rational_reconstruct(x.numerator * pow(x.denominator, -1, p), p) == x


@pytest.mark.parametrize("modulus", [2, 8, 9, 18, 30, 97, 101])
def test_reconstruction_is_complete_and_sound(modulus):
    bound = math.isqrt((modulus - 1) // 2)
    for value in range(modulus):
        expected = {
            F(n, m)
            for m in range(1, bound + 1)
            for n in range(-bound, bound + 1)
            if math.gcd(m, modulus) == 1 and (n - m * value) % modulus == 0
        }
        assert len(expected) <= 1
        assert linalg.rational_reconstruct(value, modulus) == (expected.pop() if expected else None)


def test_reconstruction_edges():
    assert linalg.rational_reconstruct(0, 101) == 0
    assert linalg.rational_reconstruct(-1, 101) == -1
    with pytest.raises(ValueError, match="at least 2"):
        linalg.rational_reconstruct(3, 1)
