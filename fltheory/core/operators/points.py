"""Where rounds end: the points and laws that operators return."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class FixedPoint:
    """x (d,): the server model; state: the flat state (D,) it belongs to; names: its coordinates."""

    x: np.ndarray
    state: np.ndarray
    names: Any


@dataclass(frozen=True)
class Stationary:
    """Stationary law of the server model: mean (d,), covariance (d, d)."""

    mean: np.ndarray
    covariance: np.ndarray
