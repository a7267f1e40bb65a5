"""Assertions for test files: each compares one number or word of the theory and fails with a table.

Numbers are compared exactly (rationals), as floats to 1e-9, or by intervals of runs at a stated level; what cannot be
decided fails as inconclusive. Bad arguments raise BadInput, never AssertionError.
"""
from fltheory.workbench.assertions.floors import assert_floor
from fltheory.workbench.assertions.points import assert_bias, assert_fixed_point
from fltheory.workbench.assertions.rates import assert_linear_rate

__all__ = ["assert_bias", "assert_fixed_point", "assert_floor", "assert_linear_rate"]
