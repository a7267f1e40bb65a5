"""Linear algebra generic over scalars: every exact type, definiteness and spectra for rationals.

The one part of the engine that a paper's formulas may import.
"""
from fltheory.core.numbers.linalg.algebraic import LARGEST, Algebraic, root
from fltheory.core.numbers.linalg.definite import (charpoly_radius, is_positive_definite, largest_eigenvalue_bound,
                                                   smallest_eigenvalue_bound)
from fltheory.core.numbers.linalg.elimination import (determinant, identity, inverse, matmul, nullspace, power, rank,
                                                      rref, solve, trace)
from fltheory.core.numbers.linalg.entries import cleared, integer_matrix, to_fmpq_matrix, to_fractions, weighted_squares
from fltheory.core.numbers.linalg.radius import Eigenvalue, spectral_radius
from fltheory.core.numbers.residues import rational_reconstruct

__all__ = ["LARGEST", "Algebraic", "Eigenvalue", "charpoly_radius", "cleared", "determinant", "identity",
           "integer_matrix", "inverse", "is_positive_definite", "largest_eigenvalue_bound", "matmul", "nullspace",
           "power", "rank", "rational_reconstruct", "root", "rref", "smallest_eigenvalue_bound", "solve",
           "spectral_radius", "to_fmpq_matrix", "to_fractions", "trace", "weighted_squares"]
