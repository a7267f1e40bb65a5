"""How many eigenvalues of the mean round lie outside a circle: the winding number of a determinant of the server's size.

With the clients' blocks E_i eliminated, det(l - M) = det S(l) prod_i det(l - E_i), where the matrix S(l) of size ds is
l - M_ss - sum_i M_si (l - E_i)^-1 M_is. Along |l| = r the argument of det S / (l - 1)^k turns once for every eigenvalue outside
that is no conserved one: k of those stand at 1, close to the circle, and unless they are divided out the argument turns k/2 times
within an angle of 1 - r, which any grid misses silently. Slopes at both ends of a step say what it must turn; where that fails the
step is halved.
"""
from __future__ import annotations

import numpy as np

POINTS, MOST = 128, 3000    # on half a circle
TURN = 0.3                  # largest difference of a step's turn from its slopes' mean
STEEP = 2.0                 # largest turn that slopes foretell
WORK = 2e12                 # multiplications


class WindingNumber:
    """Of the mean map (an Arrow) with k conserved eigenvalues at 1."""

    def __init__(self, arrow, conserved, divide=True):
        self.k, self.divide = conserved, divide
        n, dc, ds = arrow.cs.shape
        self.ss, self.ds = arrow.ss, ds
        E, U = np.linalg.eig(arrow.cc)
        L = arrow.sc.reshape(ds, n, dc).transpose(1, 0, 2) @ U
        self.L, self.R = L.transpose(1, 0, 2).reshape(ds, -1), np.linalg.solve(U, arrow.cs).reshape(-1, ds)
        self.poles = E.reshape(-1)

    def outside(self, r):
        """(count of eigenvalues with modulus > r besides the conserved ones, whether every step was controlled)."""
        angles = list(np.linspace(0, np.pi, POINTS + 1))
        arguments = [self._argument(r, t) for t in angles]
        total, j, sure = 0.0, 0, True
        while j < len(angles) - 1:
            step = angles[j + 1] - angles[j]
            (a, slope_a), (b, slope_b) = arguments[j], arguments[j + 1]
            turn = np.angle(b / a)
            wild = abs(turn - step * (slope_a + slope_b) / 2) > TURN or step * max(abs(slope_a), abs(slope_b)) > STEEP
            if wild and self.divide:
                if len(angles) < MOST:
                    middle = (angles[j] + angles[j + 1]) / 2
                    angles.insert(j + 1, middle)
                    arguments.insert(j + 1, self._argument(r, middle))
                    continue
                sure = False
            total, j = total + turn, j + 1
        inside = total / np.pi                     # both halves of the circle: zeros inside, less poles
        count = self.ds - (self.k if self.divide else 0) - inside + (np.abs(self.poles) > r).sum()
        return count, sure and abs(count - round(count)) < 1e-3

    def _argument(self, r, angle):
        """(det S / (l - 1)^k on the unit circle, slope of its argument) at l = r e^{i angle}."""
        at = r * np.exp(1j * angle)
        w = 1 / (at - self.poles)
        S = at * np.eye(self.ds) - self.ss - (self.L * w) @ self.R
        dS = np.eye(self.ds) + (self.L * w**2) @ self.R
        k = self.k if self.divide else 0
        slope = np.real(at * (np.trace(np.linalg.solve(S, dS)) - k / (at - 1)))
        return np.linalg.slogdet(S)[0] * np.exp(-1j * k * np.angle(at - 1)), slope
