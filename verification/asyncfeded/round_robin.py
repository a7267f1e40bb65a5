"""Clients on the line that arrive in turn: the period map in balls, its derivative, and boxes that a run never leaves.

Client i moves by q_i (b_i - y) from y, q_i = 1 - (1 - eta h_i)^K. Before an arrival the state is the last m models z_1..z_m of
the server, z_1 that of the client whose turn it is: it is replaced by z_m + eta_g q_i (b_i - z_1), where
gamma = |z_m - z_1|/|q_i (b_i - z_1)|.
"""
from fractions import Fraction as Q
from typing import Any, NamedTuple

import fltheory as ft


class Robin(NamedTuple):
    """q: a ball per client, which may hold many numbers of steps; b: its minimiser; all of them balls."""

    q: Any
    b: Any
    lam: Any
    eps: Any

    @classmethod
    def of(cls, q, b, lam, eps, bits=200):
        ball = ft.Balls(bits).scalar
        return cls([v if type(v).__name__ == "arb" else ball(v) for v in q], [ball(v) for v in b], ball(lam), ball(eps))

    def parts(self, i, y, x):
        """(signs of b - y and of x - y, |Delta|, |x - y|), the signs decided."""
        towards, away = self.b[i] - y, x - y
        if towards.contains(0) or away.contains(0):
            raise ft.CertificateFailed(f"client {i}: a sign is not decided on the box")
        signs = (1 if v > 0 else -1 for v in (towards, away))
        return (*signs, self.q[i] * abs(towards), abs(away))

    def gamma(self, i, y, x):
        _, _, length, distance = self.parts(i, y, x)
        return distance / length

    def arrive(self, i, y, x):
        """The server's next model."""
        sign, _, length, distance = self.parts(i, y, x)
        return x + sign * self.lam * length * length / (distance + self.eps * length)

    def slopes(self, i, y, x):
        """Derivatives of the next model in y and in x."""
        sign, side, length, distance = self.parts(i, y, x)
        below = (distance + self.eps * length) ** 2
        own = self.lam * length * (2 * distance + self.eps * length) / below
        late = self.lam * length * length / below
        return -self.q[i] * own + sign * side * late, 1 - sign * side * late


def trapped(robin, first, models, radius, most=60):
    """[(client, server's model after its arrival, its gamma)] of one pass, as enclosures in which every later arrival lies, pass
    after pass: the box of this radius around the last m models is mapped into itself by the passes' arrivals, a multiple of m.

    By the mean value form, for every q that the balls hold. Raises CertificateFailed where no such pass of at most `most` arrivals
    is found.
    """
    import flint
    m, zero = len(robin.b), flint.arb(0)
    radius = ft.Balls(200).scalar(radius)
    centre = [flint.arb(v.mid()) for v in models]
    if any(not (abs(v - c) < radius) for v, c in zip(models, centre, strict=True)):
        raise ft.CertificateFailed(f"the models are not known to {radius}")
    z, box = list(centre), [c + flint.arb(0, radius) for c in centre]
    J, out = [[flint.arb(int(j == k)) for j in range(m)] for k in range(m)], []
    for t in range(1, most + 1):
        i = (first + t - 1) % m
        dy, dx = robin.slopes(i, box[0], box[-1])
        row = [dy * u + dx * v for u, v in zip(J[0], J[-1], strict=True)]
        new, gamma = robin.arrive(i, z[0], z[-1]), robin.gamma(i, box[0], box[-1])
        z, J = [*z[1:], new], [*J[1:], row]
        reach = sum((abs(v) for v in row), zero) * radius
        box = [*box[1:], new + flint.arb(0, reach.upper())]
        out.append((i, box[-1], gamma))
        if t % m == 0 and all(abs(z[k] - centre[k]) + sum((abs(v) for v in J[k]), zero) * radius < radius for k in range(m)):
            return out
    raise ft.CertificateFailed(f"the box of radius {radius} is not seen to be mapped into itself by {most} arrivals")


def last_models(run, m):
    """The state of the twin after its last arrival: the client whose turn it is, and the last m models of the server.

    Raises CertificateFailed unless the last m arrivals are those of the m clients in turn.
    """
    last = run[-m:]
    if any(s.client != (last[0].client + k) % m for k, s in enumerate(last)):
        raise ft.CertificateFailed("the last arrivals are not in turn")
    return (last[-1].client + 1) % m, [s.after for s in last]


def low(ball):
    """A rational below all numbers of the ball."""
    return _rational(ball.lower())


def high(ball):
    return _rational(ball.upper())


def _rational(exact):
    mantissa, exponent = exact.mid().man_exp()
    return Q(int(mantissa)) * Q(2) ** int(exponent)


def away(ball, point):
    """A rational >= 0 below the distance of every number of the ball from the point."""
    return max(low(abs(ball - ft.Balls(200).scalar(point))), Q(0))


def factors(coefficients, bits=200):
    """Absolute values, as balls, of the roots of a polynomial, coefficients lowest first."""
    import flint
    ball = ft.Balls(bits).scalar
    poly = flint.acb_poly([flint.acb(v if type(v).__name__ == "arb" else ball(v)) for v in coefficients])
    return [abs(v) for v in poly.roots(tol=flint.arb(2) ** -60)]
