"""Back from residues to rationals."""

import math
from fractions import Fraction


def rational_reconstruct(value, modulus):
    """The Fraction n/m with n = m * value modulo `modulus` and 2 n**2, 2 m**2 < modulus, or None.

    There is at most one (Wang's algorithm with balanced bounds).  value is any int, modulus an int >= 2;
    raises ValueError for a smaller modulus.
    """
    if modulus < 2:
        raise ValueError(f"modulus is {modulus}; it must be at least 2; pass the product of the primes")
    bound = math.isqrt((modulus - 1) // 2)  # 2 * bound**2 < modulus strictly, or two could fit
    r0, r1, t0, t1 = modulus, value % modulus, 0, 1
    while r1 > bound:
        q = r0 // r1
        r0, r1, t0, t1 = r1, r0 - q * r1, t1, t0 - q * t1
    if abs(t1) > bound or math.gcd(r1, t1) != 1:
        return None
    return Fraction(r1, t1)
