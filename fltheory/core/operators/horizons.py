"""The mean after many rounds: powers of one round, or of one period of modes that act in turn, by squaring.

A round takes (pi, m), the chances of the modes and the means there, to (P pi, C pi + M m); composed by its three matrices, a
power that leaves the range of float64 spoils no zero of P. Exact numbers grow by a fixed number of digits every round: what would
have too many is refused once their growth is seen, after about a thousandth of the work.
"""
from __future__ import annotations

import numpy as np

from fltheory.core.errors import TooLarge
from fltheory.core.kinds import Operator
from fltheory.core.numbers import linalg
from fltheory.core.numbers.elements import Symbolic
from fltheory.core.numbers.linalg.entries import flint_name
from fltheory.core.numbers.scalars import FLOAT, RATIONAL, Field

FEW = 64              # rounds that are taken one at a time
LISTED = 600          # unknowns of a chain of modes whose powers are matrices
STEPS = 2 * 10**6     # rounds times modes that are taken one at a time: a quarter of a minute
MOST_BITS = 332_000   # of a number: 100,000 decimal digits
MOST_TERMS = 2 * 10**7   # bits of all terms of a rational function
SEEN = 20_000         # bits from which growth is steady
REMEDIES = {True: "Ask op.in_domain(ft.FLOAT), op.in_domain(ft.Balls(256)) for enclosures, or fewer rounds",
            False: "Put numbers in for symbols, or ask for fewer rounds"}


class Rounds:
    """`rounds` rounds of an operator as one map (pi (J,), m (J, r)) -> the same after them; powers are made once, for all starts.

    Raises TooLarge for exact numbers beyond 100,000 digits, and for chains whose modes are too many for powers.
    """

    def __init__(self, op: Operator, rounds):
        self.op, self.moments, self.rounds = op, op.moments, rounds
        self._powers: dict = {}

    def __call__(self, pi, m):
        moments = self.moments
        if moments.size == 0:
            return pi, m
        pi, m, remaining = self._stepped(pi, m, min(self.rounds, FEW), self.rounds)
        if remaining == 0:
            return pi, m
        if moments.cycle:
            if remaining >= moments.period:
                pi, m = self._periods(pi, m, remaining // moments.period)
                remaining %= moments.period
            most = remaining
        elif moments.modes * (moments.size + 1) <= LISTED:
            P, C, M = self._power(None, remaining)
            new = _times(C, pi) + _times(M, m.reshape(-1))
            if self._finite(new):
                return _times(P, pi), new.reshape(m.shape)
            most = min(remaining, STEPS)
        else:
            most = remaining
            if remaining * moments.modes > STEPS:
                raise self._too_many(remaining)
        pi, m, remaining = self._stepped(pi, m, most, remaining)
        if remaining:
            raise self._too_many(remaining)
        return pi, m

    def _too_many(self, remaining):
        return TooLarge(f"{remaining} rounds of {self.moments.modes} modes would be taken one at a time, and at most {STEPS} modes "
                        "are. Ask for fewer rounds; op.fixed_point() is where stable rounds end, op.rate() says how fast")

    def _finite(self, array):
        """A power beyond 1.8e308 says nothing where the start has nothing of its direction: rounds one at a time do."""
        return self.op.domain is not FLOAT or np.isfinite(array).all()

    def _stepped(self, pi, m, steps, remaining):
        """(pi, m, rounds left) after so many steps; of rounds that repeat every other time nothing is left at once."""
        past, floats = [], self.op.domain is FLOAT
        for k in range(1, steps + 1):
            past = [*past[-1:], (pi, m)]
            pi, m = self.moments.mean_step(pi, m)
            remaining -= 1
            if floats and np.isnan(m).any():
                return pi, m, 0
            if len(past) == 2 and np.array_equal(m, past[0][1]) and np.array_equal(pi, past[0][0]):
                return (*(self.moments.mean_step(pi, m) if remaining % 2 else (pi, m)), 0)
            if k % FEW == 0:
                self._grown(m, k, remaining)
        return pi, m, remaining

    # ---- powers ----------------------------------------------------------------------------------------
    def _periods(self, pi, m, periods):
        """Whole periods of modes that act in turn, of each mode in which the chain may stand."""
        m = m.copy()
        for k, q in enumerate(pi):
            if not q == 0:
                _, C, M = self._power(k, periods)
                new = C[:, 0] * q + _times(M, m[k])
                if not self._finite(new):
                    new = self._one_by_one(k, q, m[k], periods)
                m[k] = new
        return pi, m

    def _one_by_one(self, k, q, v, periods):
        _, C, M = self._round(k)
        for _ in range(min(periods, STEPS)):
            old, v = v, C[:, 0] * q + _times(M, v)
            if np.array_equal(old, v) or np.isnan(v).any():
                return v
        if periods > STEPS:
            raise self._too_many(periods * self.moments.period)
        return v

    def _round(self, k):
        """(P, C, M) of one round; of one period that begins after mode k."""
        moments = self.moments
        if k is None:
            chain, M = moments._matrix(), moments.mean_matrix()
            pushes = [chain[:, j] * c[:, None] for j, (_, c) in enumerate(mix.mean() for mix in moments.mixtures)]
            return chain.T, np.concatenate(pushes), M
        at = moments.cycle.index(k) + 1
        one = linalg.identity(1, moments.mixtures[0].zero)
        out = None
        for count, j in enumerate((*moments.cycle[at:], *moments.cycle[:at]), 1):
            M, c = moments.mixtures[j].mean()
            out = (one, c[:, None], M) if out is None else _after((one, c[:, None], M), out)
            self._grown(out[2], count, self.rounds - count)
        return out

    def _power(self, k, times):
        """(P, C, M) of `_round(k)` so many times."""
        if (k, times) not in self._powers:
            self._powers[k, times] = self._squared(k, times)
        return self._powers[k, times]

    def _squared(self, k, times):
        power, out, passed, each = self._round(k), None, 1, 1 if k is None else self.moments.period
        while times:
            if times & 1:
                out = power if out is None else _after(power, out)
            times >>= 1
            if times:
                power, passed = self._stored(_after(power, power)), 2 * passed
                for part in power[1:]:
                    self._grown(part, passed * each, self.rounds - passed * each)
        return out

    def _stored(self, power):
        """In floats, the chances of the modes still sum to 1: a rounding error would be raised to the power, too."""
        P, C, M = power
        return (P / P.sum(0), C, M) if self.op.domain is FLOAT else power

    def _grown(self, array, passed, remaining):
        check_growth(self.op.domain, array, passed, remaining)


def check_growth(domain, array, passed, remaining):
    """Refuse exact numbers (an array, after `passed` rounds) that are too long, or would be after the rounds that remain."""
    rational = domain is RATIONAL
    if not rational and not isinstance(domain, Field):
        return
    bits, most = max(map(size, array.reshape(-1)), default=0), MOST_BITS if rational else MOST_TERMS
    if bits > most or (bits > SEEN and bits * (1 + remaining / passed) > most):
        digits = 3 * bits * (passed + remaining) // passed // 10
        raise TooLarge(f"{passed + remaining} exact rounds end in {'numbers' if rational else 'rational functions'} of about "
                       f"10^{len(str(digits)) - 1} digits ({3 * bits // 10} after {passed} rounds), and at most {3 * most // 10} "
                       f"are written. {REMEDIES[rational]}")


def size(value) -> int:
    """Bits of an exact number, of a rational function those of all its terms."""
    if isinstance(value, Symbolic):
        return sum(64 + c.numerator.bit_length() + c.denominator.bit_length() for part in value.terms() for _, c in part)
    if flint_name(value) == "fmpq":
        return max(int(value.p).bit_length(), int(value.q).bit_length())
    return 0


def _after(later, earlier):
    (P, C, M), (Q, D, N) = later, earlier
    return linalg.matmul(P, Q), linalg.matmul(C, Q) + linalg.matmul(M, D), linalg.matmul(M, N)


def _times(A, v):
    return (A * v).sum(-1)
