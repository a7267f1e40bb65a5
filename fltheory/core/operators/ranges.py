"""Numbers that leave the range of float64 are refused in words."""
from __future__ import annotations

import functools
from dataclasses import is_dataclass

import numpy as np

from fltheory.core.errors import CertificateFailed, FLTheoryError, refuse
from fltheory.core.scalars import FLOAT, RATIONAL


def ranged(method):
    """A method whose numbers left the range of float64 says so, instead of warning and returning NaN."""
    @functools.wraps(method)
    def checked(self, *args, **options):
        try:
            with np.errstate(all="ignore"):
                value = method(self, *args, **options)
        except FLTheoryError:
            raise
        except (TypeError, np.linalg.LinAlgError, ArithmeticError, ValueError, RuntimeError) as error:
            if self.domain not in (FLOAT, RATIONAL):
                refuse("domain", self.domain, f"{method.__name__} has no value in this arithmetic ({error})",
                       "Ask op.in_domain(ft.FLOAT).")
            raise overflow(self.algorithm, self.domain) from None
        parts = vars(value).values() if is_dataclass(value) else [value]
        for v in parts:
            if np.asarray(v).dtype == np.float64 and np.isnan(v).any():
                raise overflow(self.algorithm, self.domain)
        return value
    return checked


def overflow(algorithm, domain=FLOAT):
    remedy = "work exactly (domain=ft.RATIONAL)" if domain is not RATIONAL else "ask op.certify(), which needs no floats"
    return CertificateFailed(f"{type(algorithm).__name__}: numbers left the range of float64 (1.8e308). Use a smaller step "
                             f"size, rescale the problem, or {remedy}")


__all__ = ["overflow", "ranged"]
