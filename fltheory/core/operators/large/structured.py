"""`derive(method="structured")`: the operator of a problem whose matrices cannot be listed."""
from __future__ import annotations

import functools

import numpy as np

from fltheory.core.errors import TooLarge, refuse
from fltheory.core.operators.large import size
from fltheory.core.operators.large.accuracy import Accuracy
from fltheory.core.operators.large.alone import Clients
from fltheory.core.operators.large.conserved import Conserved
from fltheory.core.operators.large.first import FirstMoments
from fltheory.core.operators.large.presence import MeanRound
from fltheory.core.operators.points import FixedPoint
from fltheory.core.operators.probe import layout
from fltheory.core.operators.setting import ranged
from fltheory.core.records import count
from fltheory.core.scalars import FLOAT, declare


class Structured:
    """What `Operator` answers, for thousands of clients: the mean round as a function, the clients' maps one at a time, in floats.

    Only `derive` makes it. `accuracy()` says of every number how it was checked; what has no structured route raises TooLarge.
    """

    method, domain, start = "structured", FLOAT, "init"

    def __init__(self, algorithm, problem, law, noise):
        self.algorithm, self.problem, self.law, self.noise = algorithm, problem, law, noise
        self._mean = MeanRound(algorithm, problem, law)
        self._clients = Clients(self._mean)
        self._conserved = Conserved(self._clients)
        self._found = {}

    # ---- description -----------------------------------------------------------------------------------
    @property
    def dimension(self) -> int:
        """Number of coordinates of the full state."""
        return self._mean.D

    @property
    def reachable(self) -> int:
        """Dimension left by the conserved quantities: an upper bound on that of what the state can reach."""
        return self._mean.D - self._conserved.count * self._mean.d

    def invariants(self) -> list[str]:
        """Conserved quantities in closed form, one for each coordinate; beyond a dozen clients the middle ones are left out."""
        return self._conserved.equations(self._first.zero)

    def accuracy(self) -> Accuracy:
        """What is known about the fixed point, the rate, and every other number asked for so far."""
        self.fixed_point()
        self.rate()
        return Accuracy(tuple(self._found[k] for k in ("fixed_point", "rate", "mean_square_rate", "floor") if k in self._found))

    # ---- first moments ---------------------------------------------------------------------------------
    @functools.cached_property
    def _first(self):
        return FirstMoments(self._mean, self._conserved)

    @functools.cached_property
    def _point(self):
        point = self._first.fixed_point()
        self._found["fixed_point"] = self._first.known_point(point)
        return point

    @ranged
    def fixed_point(self):
        """Fixed point of the mean round from this start. Raises NoFixedPoint if it is not unique, CertificateFailed where the
        solver does not converge."""
        state = self._point.state
        return FixedPoint(self._model(state), state, Names(self._mean.layout))

    def _model(self, z):
        return self._mean.algorithm.model(self._mean.layout.unflatten(z))

    @functools.cached_property
    def _rate(self):
        found = self._first.rate()
        self._found["rate"] = found
        return found

    @ranged
    def rate(self) -> float:
        """Contraction factor of the mean per round on reachable states; `accuracy()` says whether it is an estimate."""
        return self._rate.value

    @ranged
    def after(self, x0, rounds=1):
        """E of the server model (d,) after some rounds >= 0 from x0 (d,)."""
        return self._model(self._states(x0, rounds)[-1])

    def means(self, x0, rounds):
        """E of the server model (rounds + 1, d) before rounds 0, 1, .., rounds from x0 (d,)."""
        return self._model(self._states(x0, rounds))

    def _states(self, x0, rounds):
        rounds = count(0)(rounds, "rounds")
        x0 = declare(x0, "x0")
        if x0.shape != (self.problem.d,):
            refuse("x0.shape", x0.shape, f"one server model of shape ({self.problem.d},)", "Give d numbers.")
        z = self._mean.start(FLOAT.array(x0))
        out = [z]
        for _ in range(rounds):
            out.append(self._mean(out[-1]))
        return np.stack(out)

    # ---- what has no structured route ------------------------------------------------------------------
    def exact(self):
        """Refused: rationals need listed matrices."""
        raise self._beyond("rational arithmetic")

    def in_domain(self, domain):
        """Itself in FLOAT; refused elsewhere."""
        if domain is FLOAT:
            return self
        raise self._beyond(f"arithmetic in {domain}")

    def certify(self, width=1e-2):
        """Refused: certificates are rational."""
        raise self._beyond("a certificate")

    def mean_map(self):
        """Refused: the mean round is a function here."""
        raise self._beyond("the matrix of the mean round")

    def _beyond(self, what):
        return TooLarge(f"{what} has no structured route: {type(self.algorithm).__name__} has a state of {self.dimension} "
                        f"numbers for {self.problem.n} clients. Use method='dense' with fewer clients or coordinates")

    def __repr__(self):
        known = "; ".join(f"{f.name} {f.value:.8g} ({f.check.split(',')[0].split(';')[0]})" for f in self._found.values())
        return (f"Structured({type(self.algorithm).__name__}, {self.problem.n} clients, {self.dimension} coordinates"
                f"{': ' + known if known else ''})")

    def _repr_html_(self):
        return (f"<p>{type(self.algorithm).__name__}, {self.problem.n} clients, a state of {self.dimension} numbers, structured</p>"
                f"{self.accuracy()._repr_html_()}")


class Names:
    """Names of coordinates, made where they are read: a million texts are not listed for nobody."""

    def __init__(self, lay):
        self._lay, self._made = lay, None

    def __len__(self):
        return self._lay.size

    def __iter__(self):
        return iter(self._all())

    def __getitem__(self, k):
        return self._all()[k]

    def _all(self):
        if self._made is None:
            self._made = tuple(self._lay.names())
        return self._made


def structured(algorithm, problem, law) -> Structured:
    """As `derive`, without lists; law: prepared. Raises BadInput, NotAffine, TooLarge."""
    if not problem.quadratic:
        refuse("problem", type(problem).__name__, "has no affine rounds", "Use ft.linearise, or ft.run.")
    if problem.personal:
        refuse("problem", type(problem).__name__, "has personal parameters, and the structured operator covers one model for all",
               "Use method='dense', or ft.run.")
    D = layout(algorithm.to(FLOAT), problem.to(FLOAT)).size
    size.check(f"fixed point and rate of {type(algorithm).__name__} with a state of {D} numbers", size.first_bytes(D),
               "use a method without memories, fewer clients or coordinates, or ft.run")
    return Structured(algorithm, problem, law, law.noise)


__all__ = ["Structured", "structured"]
