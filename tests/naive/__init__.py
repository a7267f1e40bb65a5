"""Slow twins of the algorithms: plain loops over Python lists, laid out like the papers' pseudo-code.

They use whatever numbers they are given.  With Fractions everywhere every result is exact; a division of
two ints would give a float, so convert integer data with `vectors.exact` first.
"""
